/* Matrix instructions: mma.sync, wmma.mma, movmatrix, with the bits of an H200.
 *
 * A register of a fragment is a block of 8 rows of A (columns of B) by 128 bits along k: lane 4g + t holds the t-th 32
 * bits of row g, so a register row in memory is the block itself, row by row.  Blocks are widened, and D is computed
 * 8 rows by 8 columns at a time.
 *
 * Float sums as tensor cores do them (found by holding models against tests/golden): the products of one step along k
 * (16 of f16 and bf16, 8 of tf32, less if k is less) and C are exact; each is cut, towards zero, to a multiple of
 * 2^(e - 25), where e is the largest of their exponents, an exponent of a product being the sum of its factors'; the sum
 * of what is left is exact, and is cut to f32, or rounded to nearest for f16.  Numbers of 8 bits are widened to f16 and
 * go through two steps: the lower two of each four along k, then the upper two, from zero; C is added last as f32.
 * Integers are multiplied in pairs along k, as 16-bit numbers into s32.
 */
#include "alu_lane.h"
#include "alu_matrix.h"

enum { MAX_SIDE = 4, MAX_K = 32 };	/* blocks along m and n; words along k: an f32 each, or two integers */

struct shape { unsigned m, n, k, unit; };	/* blocks of 8 along m and n, blocks of `unit` words along k */

typedef u32 block_rows[8][MAX_K];
typedef u32 block_columns[MAX_K][8];
struct operands {
	block_rows a[MAX_SIDE];
	block_columns b[MAX_SIDE];
	/* The exponent of each float, times 2^23; NOTHING for 0.  Sums of two are exponents of products. */
	block_rows a_power[MAX_SIDE];
	block_columns b_power[MAX_SIDE];
	bool far;			/* a number so large, small or not finite that this would leave the range of f32 */
	u32 least;			/* the exponent's field of the subnormals of the type */
} __attribute__((aligned(64)));

#define NOTHING 0xc0000000u
#define ONE (127u << 23)		/* the exponent's field of 1 */

static bool is_small_float(enum matrix_type t) { return t == MATRIX_E4M3 || t == MATRIX_E5M2; }
static unsigned words(enum matrix_type t) { return t == MATRIX_TF32 ? 4 : t == MATRIX_S4 || t == MATRIX_U4 ? 16 : 8; }

/* ---- vectors ---- */

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
#define V_MAXI(x, y) _mm256_max_epi32(x, y)
#define V_AND(x, y) _mm256_and_si256(x, y)
#define V_OR(x, y) _mm256_or_si256(x, y)
#define V_ANDNOT(x, y) _mm256_andnot_si256(x, y)
#define V_ALL (-1)
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
INLINE __m128i max_s32(__m128i x, __m128i y)
{
	__m128i more = _mm_cmpgt_epi32(x, y);
	return _mm_or_si128(_mm_and_si128(more, x), _mm_andnot_si128(more, y));
}
#define V_MAXI(x, y) max_s32(x, y)
#define V_AND(x, y) _mm_and_si128(x, y)
#define V_OR(x, y) _mm_or_si128(x, y)
#define V_ANDNOT(x, y) _mm_andnot_si128(x, y)
#define V_ALL 0xffff
#endif

/* ---- a register as words: row g of `unit` words goes to out + g * stride ---- */

INLINE void widen_f16(u32 *out, unsigned stride, const unsigned char *row)
{
	const u16 *h = (const u16 *)row;
	for (unsigned g = 0; g < 8; g++)
#ifdef __F16C__
		_mm256_store_ps((float *)(out + g * stride), _mm256_cvtph_ps(_mm_load_si128((const __m128i *)(h + 8 * g))));
#else
		for (unsigned k = 0; k < 8; k++)
			out[g * stride + k] = bits_of(half_to_f32(h[8 * g + k]));
#endif
}
INLINE void widen_bf16(u32 *out, unsigned stride, const unsigned char *row)
{
	const u16 *h = (const u16 *)row;
	for (unsigned g = 0; g < 8; g++)
		for (unsigned k = 0; k < 8; k++)
			out[g * stride + k] = (u32)h[8 * g + k] << 16;
}
/* The lower 13 bits are not looked at. */
INLINE void widen_tf32(u32 *out, unsigned stride, const unsigned char *row)
{
	const u32 *w = (const u32 *)row;
	for (unsigned g = 0; g < 8; g++)
		for (unsigned k = 0; k < 4; k++)
			out[g * stride + k] = w[4 * g + k] & 0xffffe000;
}
INLINE void widen_bytes(u32 *out, unsigned stride, const unsigned char *row, bool is_signed)
{
	for (unsigned g = 0; g < 8; g++) {
		u16 *to = (u16 *)(out + g * stride);
		if (is_signed)
			for (unsigned k = 0; k < 16; k++)
				to[k] = (u16)(int8_t)row[16 * g + k];
		else
			for (unsigned k = 0; k < 16; k++)
				to[k] = row[16 * g + k];
	}
}
INLINE void widen_nibbles(u32 *out, unsigned stride, const unsigned char *row, bool is_signed)
{
	const u32 flip = is_signed ? 8 : 0;
	for (unsigned g = 0; g < 8; g++)
		for (unsigned k = 0; k < 16; k++) {
			u32 b = row[16 * g + k], low = ((b & 15) ^ flip) - flip, high = (b >> 4 ^ flip) - flip;
			out[g * stride + k] = (low & 0xffff) | high << 16;
		}
}
static void widen(u32 *out, unsigned stride, const unsigned char *row, enum matrix_type t)
{
	switch (t) {
	case MATRIX_BF16: widen_bf16(out, stride, row); break;
	case MATRIX_TF32: widen_tf32(out, stride, row); break;
	case MATRIX_S8: case MATRIX_U8: widen_bytes(out, stride, row, t == MATRIX_S8); break;
	case MATRIX_S4: case MATRIX_U4: widen_nibbles(out, stride, row, t == MATRIX_S4); break;
	default: widen_f16(out, stride, row); break;
	}
}

/* The lower or the upper two of each four 8-bit floats, as a register of f16. */
INLINE uint32_t f16_of_byte(uint32_t b, bool e4m3)
{
	uint32_t m = b & 0x7f, sign = (b & 0x80) << 8;
	uint32_t sub = m == 0 ? 0 : (bits_of((float)(int32_t)m * 0x1p-9f) - (112u << 23)) >> 13;
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

/* Exponents of n floats, a multiple of WIDTH; true if one is out of 2^-30 .. 2^33. */
INLINE bool powers(u32 *out, const u32 *v, unsigned n, u32 least)
{
	const veci low = V(set1_epi32)((int32_t)least), one = V(set1_epi32)(ONE), nothing = V(set1_epi32)((int32_t)NOTHING);
	veci far = V_ZERO();
	for (unsigned k = 0; k < n; k += WIDTH) {
		veci u = V_LOADI(v + k), e = V_AND(u, V(set1_epi32)(0x7f800000));
		veci zero = V(cmpeq_epi32)(V(add_epi32)(u, u), V_ZERO());
		veci away = V_AND(V(sub_epi32)(e, V(set1_epi32)(0x30800000)), V(set1_epi32)((int32_t)0xe0000000));
		far = V_OR(far, V_ANDNOT(zero, away));
		e = V(sub_epi32)(V_MAXI(e, low), one);
		V_STOREI(out + k, V_OR(V_AND(zero, nothing), V_ANDNOT(zero, e)));
	}
	return V(movemask_epi8)(V(cmpeq_epi32)(far, V_ZERO())) != V_ALL;
}

/* Eight columns by `unit` along k, turned. */
static void turn(u32 (*out)[8], const u32 *words_in, unsigned unit)
{
	const float *w = (const float *)words_in;
	for (unsigned k = 0; k < unit; k += 4)
		for (unsigned g = 0; g < 8; g += 4) {
			__m128 x0 = _mm_load_ps(w + (g + 0) * unit + k), x1 = _mm_load_ps(w + (g + 1) * unit + k);
			__m128 x2 = _mm_load_ps(w + (g + 2) * unit + k), x3 = _mm_load_ps(w + (g + 3) * unit + k);
			_MM_TRANSPOSE4_PS(x0, x1, x2, x3);
			_mm_store_ps((float *)&out[k + 0][g], x0);
			_mm_store_ps((float *)&out[k + 1][g], x1);
			_mm_store_ps((float *)&out[k + 2][g], x2);
			_mm_store_ps((float *)&out[k + 3][g], x3);
		}
}

/* Registers of A or B as they are, or a half of them unpacked. */
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
	const unsigned k = s.k * s.unit;
	for (unsigned deep = 0, r = 0; deep < s.k; deep++)
		for (unsigned block = 0; block < s.m; block++, r++)
			widen(&o->a[block][0][deep * s.unit], MAX_K, source_row(from, r, room), from->type);
	for (unsigned row = 0; floats && row < 8 * s.m; row++) {
		u32 *v = o->a[row / 8][row % 8];
		if (k < 8)	/* m16n8k4: half a vector is nothing */
			memset(v + k, 0, (8 - k) * sizeof *v);
		o->far |= k == 16 ? powers(o->a_power[row / 8][row % 8], v, 16, o->least) : powers(o->a_power[row / 8][row % 8], v, 8, o->least);
	}
}
static void take_b(struct operands *o, const struct source *from, struct shape s, bool floats)
{
	u32 room[32] __attribute__((aligned(64))), w[128] __attribute__((aligned(64)));
	for (unsigned block = 0, r = 0; block < s.n; block++) {
		for (unsigned deep = 0; deep < s.k; deep++, r++) {
			widen(w, s.unit, source_row(from, r, room), from->type);
			turn(&o->b[block][deep * s.unit], w, s.unit);
		}
		if (floats)
			o->far |= powers(o->b_power[block][0], o->b[block][0], 8 * s.k * s.unit, o->least);
	}
}

/* ---- integers ---- */

/* sum = the sum over k of a b, in pairs. */
static void multiply(u32 *sum, const block_rows a, const block_columns b, unsigned k)
{
	for (unsigned row = 0; row < 8; row += 4)
		for (unsigned j = 0; j < 8; j += WIDTH) {
			veci s0 = V_ZERO(), s1 = V_ZERO(), s2 = V_ZERO(), s3 = V_ZERO();
			for (unsigned i = 0; i < k; i++) {
				veci y = V_LOADI(&b[i][j]);
				s0 = V(add_epi32)(s0, V(madd_epi16)(V(set1_epi32)((int32_t)a[row][i]), y));
				s1 = V(add_epi32)(s1, V(madd_epi16)(V(set1_epi32)((int32_t)a[row + 1][i]), y));
				s2 = V(add_epi32)(s2, V(madd_epi16)(V(set1_epi32)((int32_t)a[row + 2][i]), y));
				s3 = V(add_epi32)(s3, V(madd_epi16)(V(set1_epi32)((int32_t)a[row + 3][i]), y));
			}
			V_STOREI(sum + 8 * row + j, s0);
			V_STOREI(sum + 8 * row + 8 + j, s1);
			V_STOREI(sum + 8 * row + 16 + j, s2);
			V_STOREI(sum + 8 * row + 24 + j, s3);
		}
}
INLINE u32 add_s32(u32 x, u32 c, bool clamp)
{
	u32 r = x + c;
	bool over = (int32_t)((r ^ c) & (r ^ x)) < 0;
	return clamp && over ? 0x7fffffff + (c >> 31) : r;
}

/* ---- floats ---- */

/* What a step leaves of an element: (sum0 + sum1) 2^-25 power. */
struct cut { int32_t sum0[64], sum1[64]; float power[64]; } __attribute__((aligned(64)));

/* One row of D by WIDTH columns from column j on; k <= 16.  Two sums, that neither leaves 32 bits. */
INLINE void cut_row(struct cut *out, const u32 *a, const u32 *a_power, const u32 (*b)[8], const u32 (*b_power)[8],
		    const float *c, unsigned row, unsigned j, unsigned k)
{
	const vec cv = V(load_ps)(c + 8 * row + j);
	veci top = V(add_epi32)(V_AND(V_BITS(cv), V(set1_epi32)(0x7f800000)), V(set1_epi32)(-(int32_t)ONE));
	_Pragma("GCC unroll 16")
	for (unsigned i = 0; i < k; i++)
		top = V_MAXI(top, V(add_epi32)(V(set1_epi32)((int32_t)a_power[i]), V_LOADI(b_power[i] + j)));
	/* 2^25 / power */
	const vec scale = V_FLOAT(V(sub_epi32)(V(set1_epi32)((int32_t)((279u << 23) - ONE)), top));
	veci sum0 = V(cvttps_epi32)(V(mul_ps)(cv, scale)), sum1 = V_ZERO();
	_Pragma("GCC unroll 8")
	for (unsigned i = 0; i < k; i += 2) {
		vec p = V(mul_ps)(V_FLOAT(V(set1_epi32)((int32_t)a[i])), V_FLOAT(V_LOADI(b[i] + j)));
		vec q = V(mul_ps)(V_FLOAT(V(set1_epi32)((int32_t)a[i + 1])), V_FLOAT(V_LOADI(b[i + 1] + j)));
		sum0 = V(add_epi32)(sum0, V(cvttps_epi32)(V(mul_ps)(p, scale)));
		sum1 = V(add_epi32)(sum1, V(cvttps_epi32)(V(mul_ps)(q, scale)));
	}
	V_STOREI(out->sum0 + 8 * row + j, sum0);
	V_STOREI(out->sum1 + 8 * row + j, sum1);
	V(store_ps)(out->power + 8 * row + j, V_FLOAT(V(add_epi32)(top, V(set1_epi32)(ONE))));
}
INLINE void cut_block(struct cut *out, const block_rows a, const block_rows a_power, const u32 (*b)[8], const u32 (*b_power)[8],
		      const float *c, unsigned from, unsigned k)
{
	for (unsigned row = 0; row < 8; row++)
		for (unsigned j = 0; j < 8; j += WIDTH)
			cut_row(out, a[row] + from, a_power[row] + from, b, b_power, c, row, j, k);
}
/* To f32: cut, or with half set, rounded to odd, so that rounding to f16 is the only rounding. */
INLINE void join(float *d, const struct cut *s, bool half)
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
		return (int64_t)((uint64_t)m << -down);
	return down > 62 ? 0 : m < 0 ? -(-m >> down) : m >> down;
}
static float far_sum(const f32 *a, const f32 (*b)[8], float c, unsigned k, int least, bool half)
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

static void take_c(unsigned char *regs, u32 *c, const uint32_t *rows, enum matrix_sum type)
{
	if (type == SUM_F16) {
		const u16 *h = (const u16 *)ROW(u32, rows[0]);
		for (unsigned i = 0; i < 64; i++)
			c[i] = bits_of(half_to_f32(h[i]));
		return;
	}
	const u32 *x = ROW(u32, rows[0]), *y = ROW(u32, rows[1]);
	for (unsigned i = 0; i < 32; i++) {
		c[2 * i] = x[i];
		c[2 * i + 1] = y[i];
	}
}
/* Out of 2^-60 .. 2^61. */
static bool c_is_far(const u32 *c)
{
	u32 far = 0;
	for (unsigned i = 0; i < 64; i++) {
		u32 u = c[i] & 0x7fffffff;
		far |= (u - 0x21800000 >= 0x5e000000u - 0x21800000) & (u != 0);
	}
	return far;
}
static void put_d(unsigned char *regs, const u32 *bits, const uint32_t *d, enum matrix_sum type)
{
	if (type == SUM_F16) {
		const float *sum = (const float *)bits;
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
	const int least = o->least ? -14 : -126;
	struct cut cut;
	for (unsigned from = 0; from < k; from += 16) {
		const unsigned step = k - from < 16 ? k - from : 16;
		const u32 (*b)[8] = (const u32 (*)[8])o->b[n] + from, (*bp)[8] = (const u32 (*)[8])o->b_power[n] + from;
		if (far) {
			for (unsigned i = 0; i < 64; i++)
				c[i] = canon(far_sum((const f32 *)o->a[m][i / 8] + from, (const f32 (*)[8])&b[0][i % 8], c[i], step, least, half));
			continue;
		}
		if (step == 16)
			cut_block(&cut, o->a[m], o->a_power[m], b, bp, c, from, 16);
		else if (step == 8)
			cut_block(&cut, o->a[m], o->a_power[m], b, bp, c, from, 8);
		else
			cut_block(&cut, o->a[m], o->a_power[m], b, bp, c, from, 4);
		if (half)
			join(c, &cut, true);
		else
			join(c, &cut, false);
	}
}

struct mma { enum matrix_type a, b; enum matrix_sum c, d; const uint32_t *ar, *br, *cr, *dr; struct shape s; unsigned nc, nd; };
static struct mma mma_of(const struct alu_insn *in)
{
	const uint32_t imm = in->imm;
	struct mma x = { .a = imm >> MATRIX_A_SHIFT & 15, .b = imm >> MATRIX_B_SHIFT & 15,
			 .c = imm >> MATRIX_C_SHIFT & 3, .d = imm >> MATRIX_D_SHIFT & 3,
			 .s = { imm >> MATRIX_M_SHIFT & 7, imm >> MATRIX_N_SHIFT & 7, imm >> MATRIX_K_SHIFT & 7, 0 } };
	x.s.unit = words(x.a);
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
	struct operands o;
	o.far = false;
	o.least = x->a == MATRIX_F16 ? ONE - (14u << 23) : 0;
	take_a(&o, &(struct source){ regs, x->ar, x->a, false }, x->s, true);
	take_b(&o, &(struct source){ regs, x->br, x->b, false }, x->s, true);
	for (unsigned i = 0; i < blocks; i++) {
		take_c(regs, (u32 *)sum[i], x->cr + x->nc * i, x->c);
		float_block(sum[i], &o, i % x->s.m, i / x->s.m, k, o.far || c_is_far((u32 *)sum[i]), x->d == SUM_F16);
	}
}
/* Two steps from zero, then C. */
static void mma_bytes(unsigned char *regs, const struct mma *x, float (*sum)[64])
{
	const unsigned blocks = x->s.m * x->s.n, k = x->s.k * x->s.unit;
	struct operands o;
	float c[64] __attribute__((aligned(64)));
	memset(sum, 0, blocks * sizeof *sum);
	for (unsigned upper = 0; upper < 2; upper++) {
		o.far = false;
		o.least = ONE - (14u << 23);
		take_a(&o, &(struct source){ regs, x->ar, x->a, upper }, x->s, true);
		take_b(&o, &(struct source){ regs, x->br, x->b, upper }, x->s, true);
		for (unsigned i = 0; i < blocks; i++)
			float_block(sum[i], &o, i % x->s.m, i / x->s.m, k, o.far, false);
	}
	for (unsigned i = 0; i < blocks; i++) {
		take_c(regs, (u32 *)c, x->cr + x->nc * i, x->c);
		for (unsigned j = 0; j < 64; j++)
			sum[i][j] = canon(sum[i][j] + c[j]);
	}
}
static void mma_int(unsigned char *regs, const struct mma *x, float (*sum)[64], bool clamp)
{
	const unsigned blocks = x->s.m * x->s.n, k = x->s.k * x->s.unit;
	struct operands o;
	u32 c[64] __attribute__((aligned(64)));
	take_a(&o, &(struct source){ regs, x->ar, x->a, false }, x->s, false);
	take_b(&o, &(struct source){ regs, x->br, x->b, false }, x->s, false);
	for (unsigned i = 0; i < blocks; i++) {
		u32 *out = (u32 *)sum[i];
		take_c(regs, c, x->cr + 2 * i, SUM_S32);
		multiply(out, o.a[i % x->s.m], o.b[i / x->s.m], k);
		for (unsigned j = 0; j < 64; j++)
			out[j] = add_s32(out[j], c[j], clamp);
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
		put_d(regs, (const u32 *)sum[i], x.dr + x.nd * i, x.d);
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
