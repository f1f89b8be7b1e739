/* Matrix instructions: mma.sync, wmma.mma, movmatrix, with the bits of an H200.
 *
 * A register of a fragment is a block of 8 rows of A (columns of B) by 128 bits along k: lane 4g + t holds the t-th 32
 * bits of row g, so a register row in memory is the block itself, row by row.  Blocks are widened to f32, and D is
 * computed 8 rows by 8 columns at a time.
 *
 * Float sums as tensor cores do them (found by holding models against tests/golden): the products of one step along k
 * (16 of f16 and bf16, 8 of tf32, less if k is less) and C are exact; each is cut, towards zero, to a multiple of
 * 2^(e - 25), where e is the largest of their exponents, an exponent of a product being the sum of its factors'; the sum
 * of what is left is exact, and is cut to f32, or rounded to nearest for f16.  Numbers of 8 bits are widened to f16 and
 * go through two steps: the lower two of each four along k, then the upper two, from zero; C is added last as f32.
 * Integer products and their sums stay below 2^24 and are exact in f32; C is added as s32.
 */
#include "alu_lane.h"
#include "alu_matrix.h"

enum { MAX_SIDE = 4, MAX_K = 64 };	/* blocks along m and n; elements along k */

struct shape { unsigned m, n, k, unit; };	/* blocks of 8 along m and n, blocks of `unit` elements along k */

typedef float block_rows[8][MAX_K];
typedef float block_columns[MAX_K][8];
struct operands {
	block_rows a[MAX_SIDE];
	block_columns b[MAX_SIDE];
	/* the power of two below each number, 0 for 0: its exponent, and the exponents of products by multiplication */
	block_rows a_power[MAX_SIDE];
	block_columns b_power[MAX_SIDE];
	bool far;			/* a number so large, small or not finite that this would leave the range of f32 */
	float least;			/* power of the subnormals of the type */
} __attribute__((aligned(64)));

static unsigned per_register(enum matrix_type t)
{
	return t <= MATRIX_BF16 ? 8 : t == MATRIX_TF32 ? 4 : t <= MATRIX_U8 ? 16 : 32;
}
static bool is_small_float(enum matrix_type t) { return t == MATRIX_E4M3 || t == MATRIX_E5M2; }

/* ---- a register as f32: row g of `unit` elements goes to out + g * stride ---- */

static void widen_f16(float *out, unsigned stride, const unsigned char *row)
{
	const u16 *h = (const u16 *)row;
	for (unsigned g = 0; g < 8; g++)
#ifdef __F16C__
		_mm256_store_ps(out + g * stride, _mm256_cvtph_ps(_mm_load_si128((const __m128i *)(h + 8 * g))));
#else
		for (unsigned k = 0; k < 8; k++)
			out[g * stride + k] = half_to_f32(h[8 * g + k]);
#endif
}
static void widen_wide(float *out, unsigned stride, const unsigned char *row, bool tf32)
{
	const u16 *h = (const u16 *)row;
	const u32 *w = (const u32 *)row;
	for (unsigned g = 0; g < 8; g++)
		if (tf32)	/* the lower 13 bits are not looked at */
			for (unsigned k = 0; k < 4; k++)
				out[g * stride + k] = f32_of(w[4 * g + k] & 0xffffe000);
		else
			for (unsigned k = 0; k < 8; k++)
				out[g * stride + k] = bf16_to_f32(h[8 * g + k]);
}
static void widen_bytes(float *out, unsigned stride, const unsigned char *row, bool is_signed)
{
	for (unsigned g = 0; g < 8; g++)
		if (is_signed)
			for (unsigned k = 0; k < 16; k++)
				out[g * stride + k] = (float)(int8_t)row[16 * g + k];
		else
			for (unsigned k = 0; k < 16; k++)
				out[g * stride + k] = (float)row[16 * g + k];
}
static void widen_nibbles(float *out, unsigned stride, const unsigned char *row, bool is_signed)
{
	for (unsigned g = 0; g < 8; g++)
		for (unsigned k = 0; k < 16; k++) {
			int32_t b = row[16 * g + k], low = b & 15, high = b >> 4;
			out[g * stride + 2 * k] = (float)(is_signed ? (low ^ 8) - 8 : low);
			out[g * stride + 2 * k + 1] = (float)(is_signed ? (high ^ 8) - 8 : high);
		}
}
static void widen(float *out, unsigned stride, const unsigned char *row, enum matrix_type t)
{
	switch (t) {
	case MATRIX_BF16: case MATRIX_TF32: widen_wide(out, stride, row, t == MATRIX_TF32); break;
	case MATRIX_S8: case MATRIX_U8: widen_bytes(out, stride, row, t == MATRIX_S8); break;
	case MATRIX_S4: case MATRIX_U4: widen_nibbles(out, stride, row, t == MATRIX_S4); break;
	default: widen_f16(out, stride, row); break;
	}
}

/* The lower or the upper two of each four 8-bit floats, as a register of f16. */
INLINE uint32_t f16_of_byte(uint32_t b, bool e4m3)
{
	uint32_t m = b & 0x7f, sign = (b & 0x80) << 8;
	uint32_t sub = half_of_f32((float)(int32_t)m * 0x1p-9f);
	if (e4m3)
		return m == 0x7f ? 0x7fff : sign | (m < 8 ? sub : (m << 7) + (8 << 10));
	return m > 0x7c ? 0x7fff : b << 8;
}
static void unpack_bytes(u32 *out, const unsigned char *row, bool upper, bool e4m3)
{
	const u32 *w = (const u32 *)row;
	EACH {
		uint32_t x = w[i] >> (upper ? 16 : 0);
		out[i] = f16_of_byte(x & 0xff, e4m3) | f16_of_byte(x >> 8 & 0xff, e4m3) << 16;
	}
}

/* ---- operands ---- */

/* Powers of n numbers; true if one is out of range. */
INLINE bool powers(float *out, const float *v, unsigned n, float least)
{
	uint32_t far = 0;
	for (unsigned k = 0; k < n; k++) {
		uint32_t u = bits_of(v[k]) & 0x7fffffff, e = u & 0x7f800000;
		far |= (e - 0x30800000 > 0x4e000000u - 0x30800000) & (u != 0);	/* 2^-30 .. 2^29 */
		float p = f32_of(e);
		out[k] = u == 0 ? 0 : p < least ? least : p;
	}
	return far;
}

/* Eight columns by `unit` along k, turned. */
static void turn(float (*out)[8], const float *w, unsigned unit)
{
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
}

/* Registers of A and B as they are, or a half of them unpacked. */
struct source { const unsigned char *regs; const uint32_t *rows; enum matrix_type type; bool upper; };
static const unsigned char *source_row(const struct source *s, unsigned r, u32 room[32])
{
	const unsigned char *row = s->regs + s->rows[r];
	if (!is_small_float(s->type))
		return row;
	unpack_bytes(room, row, s->upper, s->type == MATRIX_E4M3);
	return (const unsigned char *)room;
}
static void take_a(struct operands *o, const struct source *from, struct shape s, bool floats)
{
	u32 room[32] __attribute__((aligned(64)));
	for (unsigned deep = 0, r = 0; deep < s.k; deep++)
		for (unsigned block = 0; block < s.m; block++, r++) {
			widen(&o->a[block][0][deep * s.unit], MAX_K, source_row(from, r, room), from->type);
			for (unsigned g = 0; floats && g < 8; g++)
				o->far |= powers(&o->a_power[block][g][deep * s.unit], &o->a[block][g][deep * s.unit], s.unit, o->least);
		}
}
static void take_b(struct operands *o, const struct source *from, struct shape s, bool floats)
{
	u32 room[32] __attribute__((aligned(64)));
	float w[256] __attribute__((aligned(64)));
	for (unsigned block = 0, r = 0; block < s.n; block++)
		for (unsigned deep = 0; deep < s.k; deep++, r++) {
			float (*to)[8] = &o->b[block][deep * s.unit];
			widen(w, s.unit, source_row(from, r, room), from->type);
			turn(to, w, s.unit);
			if (floats)
				o->far |= powers(o->b_power[block][deep * s.unit], to[0], 8 * s.unit, o->least);
		}
}

/* ---- integers ---- */

typedef float row8 __attribute__((vector_size(32), may_alias));

/* sum[i] = the sum over k of a[i][k] b[k]. */
static void multiply(float *out, const block_rows a, const block_columns b, unsigned k)
{
	row8 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0}, *sum = (row8 *)out;
	for (unsigned i = 0; i < k; i++) {
		row8 r = *(const row8 *)b[i];
		s0 += a[0][i] * r, s1 += a[1][i] * r, s2 += a[2][i] * r, s3 += a[3][i] * r;
		s4 += a[4][i] * r, s5 += a[5][i] * r, s6 += a[6][i] * r, s7 += a[7][i] * r;
	}
	sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3, sum[4] = s4, sum[5] = s5, sum[6] = s6, sum[7] = s7;
}
INLINE uint32_t add_s32(float sum, uint32_t c, bool clamp)
{
	int32_t x = (int32_t)sum;
	uint32_t r = (uint32_t)x + c;
	bool over = (int32_t)((r ^ c) & (r ^ (uint32_t)x)) < 0;
	return clamp && over ? 0x7fffffff + (c >> 31) : r;
}

/* ---- floats ---- */

#ifdef __AVX2__
enum { WIDTH = 8 };
typedef __m256 vec;
typedef __m256i veci;
#define V(name) _mm256_##name
#define V_BITS(x) _mm256_castps_si256(x)
#define V_FLOAT(x) _mm256_castsi256_ps(x)
#define V_LOADI(p) _mm256_load_si256((const __m256i *)(p))
#define V_STOREI(p, x) _mm256_store_si256((__m256i *)(p), x)
#define V_ZERO() _mm256_setzero_si256()
#else
enum { WIDTH = 4 };
typedef __m128 vec;
typedef __m128i veci;
#define V(name) _mm_##name
#define V_BITS(x) _mm_castps_si128(x)
#define V_FLOAT(x) _mm_castsi128_ps(x)
#define V_LOADI(p) _mm_load_si128((const __m128i *)(p))
#define V_STOREI(p, x) _mm_store_si128((__m128i *)(p), x)
#define V_ZERO() _mm_setzero_si128()
#endif

/* What a step leaves of an element: (sum0 + sum1) 2^-25 power. */
struct cut { int32_t sum0[64], sum1[64]; float power[64]; } __attribute__((aligned(64)));

/* One row of D by WIDTH columns from column j on; k <= 16.  Two sums, that neither leaves 32 bits. */
INLINE void cut_row(struct cut *out, const float *a, const float *a_power, const float (*b)[8], const float (*b_power)[8],
		    const float *c, unsigned row, unsigned j, unsigned k)
{
	vec cv = V(load_ps)(c + 8 * row + j);
	vec power = V_FLOAT(V(set1_epi32)(0x7f800000));
	power = V(and_ps)(cv, power);
	for (unsigned i = 0; i < k; i++)
		power = V(max_ps)(power, V(mul_ps)(V(set1_ps)(a_power[i]), V(load_ps)(b_power[i] + j)));
	/* 2^25 / power */
	vec scale = V_FLOAT(V(sub_epi32)(V(set1_epi32)((int32_t)(279u << 23)), V_BITS(power)));
	veci sum0 = V(cvttps_epi32)(V(mul_ps)(cv, scale)), sum1 = V_ZERO();
	for (unsigned i = 0; i < k; i += 2) {
		vec p = V(mul_ps)(V(set1_ps)(a[i]), V(load_ps)(b[i] + j)), q = V(mul_ps)(V(set1_ps)(a[i + 1]), V(load_ps)(b[i + 1] + j));
		sum0 = V(add_epi32)(sum0, V(cvttps_epi32)(V(mul_ps)(p, scale)));
		sum1 = V(add_epi32)(sum1, V(cvttps_epi32)(V(mul_ps)(q, scale)));
	}
	V_STOREI(out->sum0 + 8 * row + j, sum0);
	V_STOREI(out->sum1 + 8 * row + j, sum1);
	V(store_ps)(out->power + 8 * row + j, power);
}
INLINE void cut_block(struct cut *out, const block_rows a, const block_rows a_power, const float (*b)[8], const float (*b_power)[8],
		      const float *c, unsigned from, unsigned k)
{
	for (unsigned row = 0; row < 8; row++)
		for (unsigned j = 0; j < 8; j += WIDTH)
			cut_row(out, a[row] + from, a_power[row] + from, b, b_power, c, row, j, k);
}
/* To f32: cut, or with half set, rounded to odd, so that rounding to f16 is the only rounding. */
static void join(float *d, const struct cut *s, bool half)
{
	const uint64_t low = (1ull << 29) - 1;
	for (unsigned i = 0; i < 64; i++) {
		uint64_t u = bits64_of((double)s->sum0[i] + (double)s->sum1[i]);
		uint64_t odd = half && u & low ? low + 1 : 0;
		d[i] = (float)(f64_of((u & ~low) | odd) * ((double)s->power[i] * 0x1p-25));
	}
}

/* The same for one element, whatever the numbers. */
struct term { int64_t significand; int exponent, power; };
INLINE struct term term_of(float x, int least)
{
	uint32_t u = bits_of(x), e = u >> 23 & 0xff;
	int64_t m = (u & 0x7fffff) | (e ? 0x800000 : 0);
	int exponent = (int)(e ? e : 1) - 150, power = exponent + 23;
	return (struct term){ u >> 31 ? -m : m, exponent, power < least ? least : power };
}
static int64_t cut_term(int64_t m, int exponent, int unit)
{
	int down = unit - exponent;
	if (down <= 0)
		return m << -down;
	return down > 62 ? 0 : m < 0 ? -(-m >> down) : m >> down;
}
static float far_sum(const float *a, const float (*b)[8], float c, unsigned k, int least, bool half)
{
	struct term t[17] = { [16] = term_of(c, -126) };
	double plain = c;
	int top = t[16].significand ? t[16].power : -1000;
	for (unsigned i = 0; i < k; i++) {
		struct term x = term_of(a[i], least), y = term_of(b[i][0], least);
		t[i] = (struct term){ x.significand * y.significand, x.exponent + y.exponent, x.power + y.power };
		plain += (double)a[i] * b[i][0];
		if (t[i].significand && t[i].power > top)
			top = t[i].power;
	}
	if (plain - plain != 0)		/* infinite or not a number */
		return (float)plain;
	int64_t sum = 0;
	for (unsigned i = 0; i < 17; i++)
		if (t[i].significand)
			sum += cut_term(t[i].significand, t[i].exponent, top - 25);
	/* to 24 bits, less below the least normal number */
	int64_t m = sum < 0 ? -sum : sum, rest = 0;
	int width = m ? 64 - __builtin_clzll((uint64_t)m) : 0, drop = width - 24, unit = top - 25;
	drop = drop < -149 - unit ? -149 - unit : drop;
	if (drop > 0) {
		rest = drop > 62 ? m : m & ((1ll << drop) - 1);
		m = drop > 62 ? 0 : m >> drop;
		unit += drop;
	}
	if (half && rest)
		m |= 1;
	return (float)ldexp((double)(sum < 0 ? -m : m), unit);
}

/* ---- C and D: element j of a pair is column 2t + j of row g, so a block's pairs are in the order of lanes ---- */

static bool take_c(unsigned char *regs, float *c, const uint32_t *rows, enum matrix_sum type)
{
	uint32_t far = 0;
	if (type == SUM_F16) {
		const u16 *h = (const u16 *)ROW(u32, rows[0]);
		for (unsigned i = 0; i < 64; i++)
			c[i] = half_to_f32(h[i]);
	} else {
		const u32 *x = ROW(u32, rows[0]), *y = ROW(u32, rows[1]);
		u32 *out = (u32 *)c;
		for (unsigned i = 0; i < 32; i++) {
			out[2 * i] = x[i];
			out[2 * i + 1] = y[i];
		}
	}
	for (unsigned i = 0; i < 64; i++) {
		uint32_t u = bits_of(c[i]) & 0x7fffffff;
		far |= (u - 0x21800000 >= 0x5e000000u - 0x21800000) & (u != 0);	/* 2^-60 .. 2^61 */
	}
	return far;
}
static void put_d(unsigned char *regs, const float *sum, const uint32_t *d, enum matrix_sum type)
{
	const u32 *bits = (const u32 *)sum;
	if (type == SUM_F16) {
		u32 *out = ROW(u32, d[0]);
		EACH out[i] = half_of_f32(canon(sum[2 * i])) | half_of_f32(canon(sum[2 * i + 1])) << 16;
		return;
	}
	u32 *x = ROW(u32, d[0]), *y = ROW(u32, d[1]);
	for (unsigned i = 0; i < 32; i++) {
		x[i] = bits[2 * i];
		y[i] = bits[2 * i + 1];
	}
}

/* ---- mma ---- */

/* A block of D from C, over all of k by steps. */
static void float_block(float *c, const struct operands *o, unsigned m, unsigned n, unsigned k, bool far, bool half)
{
	const int least = o->least > 0 ? -14 : -126;
	struct cut cut;
	for (unsigned from = 0; from < k; from += 16) {
		unsigned step = k - from < 16 ? k - from : 16;
		if (far) {
			for (unsigned i = 0; i < 64; i++)
				c[i] = canon(far_sum(o->a[m][i / 8] + from, (const float (*)[8])&o->b[n][from][i % 8], c[i], step, least, half));
			continue;
		}
		const float (*b)[8] = (const float (*)[8])o->b[n] + from, (*bp)[8] = (const float (*)[8])o->b_power[n] + from;
		if (step == 16)
			cut_block(&cut, o->a[m], o->a_power[m], b, bp, c, from, 16);
		else if (step == 8)
			cut_block(&cut, o->a[m], o->a_power[m], b, bp, c, from, 8);
		else
			cut_block(&cut, o->a[m], o->a_power[m], b, bp, c, from, 4);
		join(c, &cut, half);
	}
}

struct mma { enum matrix_type a, b; enum matrix_sum c, d; const uint32_t *ar, *br, *cr, *dr; struct shape s; unsigned nc, nd; };
static struct mma mma_of(const struct alu_insn *in)
{
	const uint32_t imm = in->imm;
	struct mma x = { .a = imm >> MATRIX_A_SHIFT & 15, .b = imm >> MATRIX_B_SHIFT & 15,
			 .c = imm >> MATRIX_C_SHIFT & 3, .d = imm >> MATRIX_D_SHIFT & 3,
			 .s = { imm >> MATRIX_M_SHIFT & 7, imm >> MATRIX_N_SHIFT & 7, imm >> MATRIX_K_SHIFT & 7, 0 } };
	x.s.unit = is_small_float(x.a) ? 8 : per_register(x.a);
	x.nc = x.c == SUM_F16 ? 1 : 2;
	x.nd = x.d == SUM_F16 ? 1 : 2;
	x.dr = in->rows;
	x.ar = x.dr + x.nd * x.s.m * x.s.n;
	x.br = x.ar + (imm >> MATRIX_A_REGS_SHIFT & 15);
	x.cr = x.br + (imm >> MATRIX_B_REGS_SHIFT & 15);
	return x;
}
static void mma_float(unsigned char *regs, const struct mma *x, float (*sum)[64])
{
	const unsigned blocks = x->s.m * x->s.n, k = x->s.k * x->s.unit;
	struct operands o __attribute__((aligned(64)));
	o.far = false;
	o.least = x->a == MATRIX_F16 || is_small_float(x->a) ? 0x1p-14f : 0;
	take_a(&o, &(struct source){ regs, x->ar, x->a, false }, x->s, true);
	take_b(&o, &(struct source){ regs, x->br, x->b, false }, x->s, true);
	for (unsigned i = 0; i < blocks; i++) {
		bool far = take_c(regs, sum[i], x->cr + x->nc * i, x->c);
		float_block(sum[i], &o, i % x->s.m, i / x->s.m, k, far | o.far, x->d == SUM_F16);
	}
}
/* Two steps from zero, then C. */
static void mma_bytes(unsigned char *regs, const struct mma *x, float (*sum)[64])
{
	const unsigned blocks = x->s.m * x->s.n, k = x->s.k * x->s.unit;
	struct operands o __attribute__((aligned(64)));
	float c[64] __attribute__((aligned(64)));
	memset(sum, 0, blocks * sizeof *sum);
	for (unsigned upper = 0; upper < 2; upper++) {
		o.far = false;
		o.least = 0x1p-14f;
		take_a(&o, &(struct source){ regs, x->ar, x->a, upper }, x->s, true);
		take_b(&o, &(struct source){ regs, x->br, x->b, upper }, x->s, true);
		for (unsigned i = 0; i < blocks; i++)
			float_block(sum[i], &o, i % x->s.m, i / x->s.m, k, o.far, false);
	}
	for (unsigned i = 0; i < blocks; i++) {
		take_c(regs, c, x->cr + x->nc * i, x->c);
		for (unsigned j = 0; j < 64; j++)
			sum[i][j] = canon(sum[i][j] + c[j]);
	}
}
static void mma_int(unsigned char *regs, const struct mma *x, float (*sum)[64], bool clamp)
{
	const unsigned blocks = x->s.m * x->s.n, k = x->s.k * x->s.unit;
	struct operands o __attribute__((aligned(64)));
	float c[64] __attribute__((aligned(64)));
	take_a(&o, &(struct source){ regs, x->ar, x->a, false }, x->s, false);
	take_b(&o, &(struct source){ regs, x->br, x->b, false }, x->s, false);
	for (unsigned i = 0; i < blocks; i++) {
		const u32 *bits = (const u32 *)c;
		u32 *out = (u32 *)sum[i];
		take_c(regs, c, x->cr + 2 * i, SUM_S32);
		multiply(sum[i], o.a[i % x->s.m], o.b[i / x->s.m], k);
		for (unsigned j = 0; j < 64; j++)
			out[j] = add_s32(sum[i][j], bits[j], clamp);
	}
}
/* Rows: D, A, B, C in the order of the text.  Blocks of D go through the rows of the matrix first.  D is written when
 * all is read: it may lie in the rows of any source. */
HANDLER(mma)
{
	const struct mma x = mma_of(in);
	float sum[2 * MAX_SIDE][64] __attribute__((aligned(64)));
	(void)mask;
	if (x.d == SUM_S32)
		mma_int(regs, &x, sum, in->imm & MATRIX_SATFINITE);
	else if (is_small_float(x.a))
		mma_bytes(regs, &x, sum);
	else
		mma_float(regs, &x, sum);
	for (unsigned i = 0; i < x.s.m * x.s.n; i++)
		put_d(regs, sum[i], x.dr + x.nd * i, x.d);
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
