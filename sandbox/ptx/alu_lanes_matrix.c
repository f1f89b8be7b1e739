/* Matrix instructions: mma.sync, wmma.mma, movmatrix.
 *
 * A register of a fragment is a block of 8 rows of A (columns of B) by 128 bits along k: lane 4g + t holds the t-th 32
 * bits of row g, so a register row in memory is the block itself, row by row.  Blocks are widened to f32, and D is
 * computed 8 rows by 8 columns at a time, a vector a row.
 *
 * Sums.  Products of two elements of up to 11 significant bits are exact in f32.  For each element of D they are added
 * in the order of k, each sum rounded to nearest, starting from zero; the sum is added to C last, as tensor cores add
 * the accumulator to a block of products.  Products of integers and their sums stay below 2^24 and are exact.
 */
#include "alu_lane.h"
#include "alu_cvt.h"
#include "alu_matrix.h"

enum { MAX_SIDE = 32, MAX_K = 64 };

typedef float row8 __attribute__((vector_size(32), may_alias));

struct shape { unsigned m, n, k, unit; };	/* blocks of 8 along m and n, blocks of `unit` elements along k */

INLINE struct shape shape_of(uint32_t imm, unsigned unit)
{
	return (struct shape){ imm >> MATRIX_M_SHIFT & 7, imm >> MATRIX_N_SHIFT & 7, imm >> MATRIX_K_SHIFT & 7, unit };
}
static unsigned per_register(enum matrix_type t)
{
	return t <= MATRIX_BF16 ? 8 : t == MATRIX_TF32 ? 4 : t <= MATRIX_U8 ? 16 : 32;
}

/* ---- a register as f32, in memory order ---- */

static void widen_half(float *out, const unsigned char *row)
{
	const u16 *h = (const u16 *)row;
#ifdef __F16C__
	for (int i = 0; i < 64; i += 8)
		_mm256_store_ps(out + i, _mm256_cvtph_ps(_mm_load_si128((const __m128i *)(h + i))));
#else
	for (int i = 0; i < 64; i++)
		out[i] = half_to_f32(h[i]);
#endif
}
static void widen(float *out, const unsigned char *row, enum matrix_type t)
{
	const u16 *h = (const u16 *)row;
	const u32 *w = (const u32 *)row;
	switch (t) {
	case MATRIX_F16:
		widen_half(out, row);
		break;
	case MATRIX_BF16:
		for (int i = 0; i < 64; i++)
			out[i] = bf16_to_f32(h[i]);
		break;
	case MATRIX_TF32:	/* the lower 13 bits are not looked at */
		for (int i = 0; i < 32; i++)
			out[i] = f32_of(w[i] & 0xffffe000);
		break;
	case MATRIX_E5M2:
		for (int i = 0; i < 128; i++)
			out[i] = half_to_f32((uint32_t)row[i] << 8);
		break;
	case MATRIX_E4M3:	/* as f32 with the exponent's bias 120 too low */
		for (int i = 0; i < 128; i++) {
			uint32_t b = row[i], m = b & 0x7f;
			uint32_t u = m < 8 ? bits_of((float)(int32_t)m * 0x1p-9f) : (m << 20) + (120u << 23);
			out[i] = f32_of((m == 0x7f ? NAN32 : u) | (b & 0x80) << 24);
		}
		break;
	case MATRIX_S8:
		for (int i = 0; i < 128; i++)
			out[i] = (float)(int8_t)row[i];
		break;
	case MATRIX_U8:
		for (int i = 0; i < 128; i++)
			out[i] = (float)row[i];
		break;
	case MATRIX_S4:
		for (int i = 0; i < 128; i++) {
			out[2 * i] = (float)((int8_t)(row[i] << 4) >> 4);
			out[2 * i + 1] = (float)((int8_t)row[i] >> 4);
		}
		break;
	default:
		for (int i = 0; i < 128; i++) {
			out[2 * i] = (float)(row[i] & 15);
			out[2 * i + 1] = (float)(row[i] >> 4);
		}
		break;
	}
}

/* ---- operands ---- */

struct operands {
	float a[MAX_SIDE / 8][8][MAX_K] __attribute__((aligned(64)));	/* by block of m: rows */
	float b[MAX_SIDE / 8][MAX_K][8] __attribute__((aligned(64)));	/* by block of n: rows along k */
};

static void take_a(struct operands *o, const unsigned char *regs, const uint32_t *rows, struct shape s, enum matrix_type t)
{
	float w[256] __attribute__((aligned(64)));
	for (unsigned r = 0; r < s.m * s.k; r++) {
		unsigned at = r / s.m * s.unit;
		widen(w, regs + rows[r], t);
		for (unsigned g = 0; g < 8; g++)
			memcpy(&o->a[r % s.m][g][at], &w[g * s.unit], s.unit * sizeof(float));
	}
}

/* Eight columns by `unit` along k, turned. */
static void turn(float (*out)[8], const float *w, unsigned unit)
{
#ifdef __AVX2__
	for (unsigned k = 0; k < unit; k += 4)
		for (unsigned g = 0; g < 8; g += 4) {
			__m128 x0 = _mm_load_ps(w + (g + 0) * unit + k), x1 = _mm_load_ps(w + (g + 1) * unit + k);
			__m128 x2 = _mm_load_ps(w + (g + 2) * unit + k), x3 = _mm_load_ps(w + (g + 3) * unit + k);
			_MM_TRANSPOSE4_PS(x0, x1, x2, x3);
			_mm_store_ps(&out[k + 0][g], x0);
			_mm_store_ps(&out[k + 1][g], x1);
			_mm_store_ps(&out[k + 2][g], x2);
			_mm_store_ps(&out[k + 3][g], x3);
		}
#else
	for (unsigned k = 0; k < unit; k++)
		for (unsigned g = 0; g < 8; g++)
			out[k][g] = w[g * unit + k];
#endif
}
static void take_b(struct operands *o, const unsigned char *regs, const uint32_t *rows, struct shape s, enum matrix_type t)
{
	float w[256] __attribute__((aligned(64)));
	for (unsigned r = 0; r < s.n * s.k; r++) {
		widen(w, regs + rows[r], t);
		turn(&o->b[r / s.k][r % s.k * s.unit], w, s.unit);
	}
}

/* sum[i] = the sum over k of a[i][k] b[k]. */
static void multiply(row8 *restrict sum, const float (*restrict a)[MAX_K], const float (*restrict b)[8], unsigned k)
{
	row8 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
	for (unsigned i = 0; i < k; i++) {
		row8 r = *(const row8 *)b[i];
		s0 += a[0][i] * r, s1 += a[1][i] * r, s2 += a[2][i] * r, s3 += a[3][i] * r;
		s4 += a[4][i] * r, s5 += a[5][i] * r, s6 += a[6][i] * r, s7 += a[7][i] * r;
	}
	sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3, sum[4] = s4, sum[5] = s5, sum[6] = s6, sum[7] = s7;
}

/* ---- accumulators: element j of a pair is column 2t + j of row g, so a block's pairs are in the order of lanes ----
 * Two steps, for D may lie in the rows of C in any order. */

INLINE uint32_t add_s32(float sum, uint32_t c, bool clamp)
{
	int64_t r = (int64_t)(int32_t)sum + (int32_t)c;
	return clamp ? (uint32_t)(r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r) : (uint32_t)(int32_t)sum + c;
}
/* sum = bits of sum + c. */
static void add_block(unsigned char *regs, float *sum, const uint32_t *c, enum matrix_sum type, bool clamp)
{
	u32 *out = (u32 *)sum;
	if (type == SUM_F16) {
		const u16 *h = (const u16 *)ROW(u32, c[0]);
		for (int i = 0; i < 64; i++)
			sum[i] = canon(sum[i] + half_to_f32(h[i]));
		return;
	}
	for (unsigned j = 0; j < 2; j++) {
		const u32 *in = ROW(u32, c[j]);
		if (type == SUM_S32)
			EACH out[2 * i + j] = add_s32(sum[2 * i + j], in[i], clamp);
		else
			EACH sum[2 * i + j] = canon(sum[2 * i + j] + f32_of(in[i]));
	}
}
static void put_block(unsigned char *regs, const float *sum, const uint32_t *d, enum matrix_sum type)
{
	const u32 *bits = (const u32 *)sum;
	if (type == SUM_F16) {
		u32 *out = ROW(u32, d[0]);
		EACH out[i] = half_of_f32(sum[2 * i]) | half_of_f32(sum[2 * i + 1]) << 16;
		return;
	}
	for (unsigned j = 0; j < 2; j++) {
		u32 *out = ROW(u32, d[j]);
		EACH out[i] = bits[2 * i + j];
	}
}

/* Rows: D, A, B, C in the order of the text.  Blocks of D go through the rows of the matrix first. */
HANDLER(mma)
{
	const uint32_t imm = in->imm;
	const enum matrix_type ta = imm >> MATRIX_A_SHIFT & 15, tb = imm >> MATRIX_B_SHIFT & 15;
	const enum matrix_sum tc = imm >> MATRIX_C_SHIFT & 3, td = imm >> MATRIX_D_SHIFT & 3;
	const struct shape s = shape_of(imm, per_register(ta));
	const unsigned blocks = s.m * s.n, nd = td == SUM_F16 ? 1 : 2, nc = tc == SUM_F16 ? 1 : 2;
	const uint32_t *d = in->rows, *a = d + nd * blocks, *b = a + (imm >> MATRIX_A_REGS_SHIFT & 15);
	const uint32_t *c = b + (imm >> MATRIX_B_REGS_SHIFT & 15);
	struct operands o;
	float sums[MAX_SIDE / 8 * 2][64] __attribute__((aligned(64)));
	(void)mask;
	take_a(&o, regs, a, s, ta);
	take_b(&o, regs, b, s, tb);
	for (unsigned i = 0; i < blocks; i++) {
		multiply((row8 *)sums[i], (const float (*)[MAX_K])o.a[i % s.m], (const float (*)[8])o.b[i / s.m], s.k * s.unit);
		add_block(regs, sums[i], c + nc * i, tc, imm & MATRIX_SATFINITE);
	}
	for (unsigned i = 0; i < blocks; i++)
		put_block(regs, sums[i], d + nd * i, td);
}

/* m8n8k4 in f64: one element of A (8 by 4) and B (4 by 8), a pair of C and D a lane.  Fused, in the order of k. */
HANDLER(mma_f64)
{
	const uint32_t *r = in->rows;
	const f64 *a = ROW(f64, r[2]), *b = ROW(f64, r[3]);
	double v[64];
	(void)mask;
	for (int i = 0; i < 64; i++) {
		int row = i / 8, column = i % 8;
		double sum = ROW(f64, r[4 + (column & 1)])[4 * row + column / 2];
		for (int k = 0; k < 4; k++)
			sum = __builtin_fma(a[4 * row + k], b[4 * column + k], sum);
		v[i] = canon64(sum, 0, 0, 0);
	}
	for (int i = 0; i < 64; i++)
		ROW(f64, r[i & 1])[i / 2] = v[i];
}

/* The rows of an 8 by 8 matrix of 16-bit elements, two a lane, become its columns. */
HANDLER(movmatrix)
{
	u32 *d = ROW(u32, in->d);
	const u16 *a = (const u16 *)ROW(u32, in->a);
	uint32_t v[32];
	(void)mask;
	for (unsigned i = 0; i < 32; i++) {
		unsigned row = i / 4, column = i % 4 * 2;
		v[i] = a[8 * column + row] | (uint32_t)a[8 * (column + 1) + row] << 16;
	}
	memcpy(d, v, sizeof v);
}
