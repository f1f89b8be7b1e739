/* f16 and bf16 arithmetic on lanes, alone and in pairs: computed in f32, rounded once. */
#include "alu_approx.h"

/* Lanes go through in chunks of n, a constant: 8 stay in registers, where conversions are single instructions; else
 * all 32, a loop a step. */
#define EACH_N _Pragma("GCC ivdep") for (int i = 0; i < n; i++)

/* ---- in and out ---- */

/* The 16-bit floats at bit `shift` of each lane, as f32. */
INLINE void load_f16(float *out, const u32 *in, int shift, int n)
{
#ifdef __F16C__
	for (int i = 0; i < n; i += 8) {
		__m256i w = _mm256_load_si256((const __m256i *)(in + i));
		w = shift ? _mm256_srli_epi32(w, 16) : _mm256_and_si256(w, _mm256_set1_epi32(0xffff));
		__m128i h = _mm_packus_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
		_mm256_store_ps(out + i, _mm256_cvtph_ps(h));
	}
#else
	EACH_N out[i] = half_to_f32(in[i] >> shift & 0xffff);
#endif
}
INLINE void load_bf16(float *out, const u32 *in, int shift, int n)
{
	EACH_N out[i] = f32_of(in[i] >> shift << 16);
}
/* Rounded into bits shift.. of each lane; NaN is canonical before.  With shift 16 the lower half stays. */
INLINE void put_f16(uint32_t *out, const float *v, int shift, int n)
{
#ifdef __F16C__
	for (int i = 0; i < n; i += 8) {
		__m128i h = _mm256_cvtps_ph(_mm256_load_ps(v + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
		__m256i w = _mm256_slli_epi32(_mm256_cvtepu16_epi32(h), shift);
		if (shift)
			w = _mm256_or_si256(w, _mm256_load_si256((const __m256i *)(out + i)));
		_mm256_store_si256((__m256i *)(out + i), w);
	}
#else
	EACH_N out[i] = (shift ? out[i] : 0) | half_of_f32(v[i]) << shift;
#endif
}
INLINE void put_bf16(uint32_t *out, const float *v, int shift, int n)
{
	EACH_N out[i] = (shift ? out[i] : 0) | bf16_of_f32(v[i]) << shift;
}

/* What comes after the operation, before it is rounded.  .ftz of f16: what is below the least normal number even when
 * rounded to 11 bits with no bound of the exponent: 2^-14 (1 - 2^-12). */
enum { TINY_F16 = 0x387ff000, LEAST_F16 = 0x38800000 };
INLINE void finish(float *v, uint32_t imm, int n)
{
	EACH_N v[i] = canon(v[i]);
	if (imm & IMM_FTZ)
		EACH_N v[i] = flush_if(v[i], TINY_F16);
	if (imm & IMM_SAT)
		EACH_N v[i] = saturate(v[i]);
	if (imm & IMM_RELU)
		EACH_N v[i] = v[i] < 0 || v[i] == 0 ? 0.0f : v[i];
}

/* ---- operations ---- */

enum half_op { HALF_ADD, HALF_SUB, HALF_MUL, HALF_FMA, HALF_EX2, HALF_TANH };

/* p + z rounded to odd, that is cut, with the last bit set if anything was cut off: another rounding, to fewer bits, is
 * then as the only one. */
INLINE float add_odd(float p, float z)
{
	float s = p + z, back = s - p, rest = (p - (s - back)) + (z - back);
	uint32_t u = bits_of(s), inexact = __builtin_fabsf(rest) > 0 ? 0xffffffff : 0;
	uint32_t over = (uint32_t)((int32_t)(bits_of(rest) ^ u) >> 31);
	return f32_of((u + (over & inexact)) | inexact >> 31);
}
/* The product of two bf16 is exact in f32, as that of two f16, unless it leaves the range of f32. */
INLINE float fma_bf16_far(float x, float y, float z)
{
	double p = (double)x * y, s = p + z, back = s - p, rest = (p - (s - back)) + (z - back);
	uint64_t w = bits64_of(s), away64 = 1 - 2 * ((bits64_of(rest) ^ w) >> 63);
	double t = f64_of(w + ((rest < 0 || rest > 0) && !(w & 1) ? away64 : 0));
	float f = (float)t;
	double left = t - (double)f;
	uint32_t u = bits_of(f), away = 1 - 2 * (uint32_t)((bits64_of(left) >> 63) ^ (u >> 31));
	return f32_of(u + ((left < 0 || left > 0) && !(u & 1) ? away : 0));
}
/* All ones if the product is not 0 and not of ordinary size: 2^-100 .. 2^127. */
INLINE int32_t far_product(float x, float y)
{
	int32_t m = (int32_t)(bits_of(x * y) & 0x7fffffff), far = m < 0x0d800000 ? -1 : m >= 0x7f000000 ? -1 : 0;
	far = x == 0 ? 0 : far;
	return y == 0 ? 0 : far;
}
static __attribute__((noinline, cold)) void all_far(float *r, const float *x, const float *y, const float *z)
{
	for (int i = 0; i < 32; i++)
		r[i] = fma_bf16_far(x[i], y[i], z[i]);
}
INLINE void fma_bf16(float *r, const float *x, const float *y, const float *z)
{
	int32_t far = 0;
	EACH r[i] = add_odd(x[i] * y[i], z[i]);
	EACH far |= far_product(x[i], y[i]);
	if (far)
		all_far(r, x, y, z);
}
INLINE void operate(float *r, const float *x, float *y, float *z, enum half_op op, bool bf, int n)
{
	switch (op) {
	case HALF_ADD: EACH_N r[i] = x[i] + y[i]; break;
	case HALF_SUB: EACH_N r[i] = x[i] - y[i]; break;
	case HALF_MUL:
		if (bf) {
			EACH_N z[i] = -0.0f;
			fma_bf16(r, x, y, z);
		} else {
			EACH_N r[i] = x[i] * y[i];
		}
		break;
	case HALF_FMA:
		if (bf)
			fma_bf16(r, x, y, z);
		else
			EACH_N r[i] = add_odd(x[i] * y[i], z[i]);
		break;
	case HALF_EX2: EACH_N r[i] = approx_ex2(bf ? flush(x[i]) : x[i]); break;
	case HALF_TANH: EACH_N r[i] = approx_tanh(x[i]); break;
	}
}

/* One chunk, from and to memory. */
INLINE void half_chunk(u32 *out, const u32 *a, const u32 *b, const u32 *c, enum half_op op, bool bf, int pairs, uint32_t imm, int n)
{
	float x[32] __attribute__((aligned(64))), y[32] __attribute__((aligned(64))), z[32] __attribute__((aligned(64))),
	      r[32] __attribute__((aligned(64)));
	uint32_t v[32] __attribute__((aligned(64)));
	_Pragma("GCC unroll 2")
	for (int shift = 0; shift < 16 * pairs; shift += 16) {
		bf ? load_bf16(x, a, shift, n) : load_f16(x, a, shift, n);
		if (op <= HALF_FMA)
			bf ? load_bf16(y, b, shift, n) : load_f16(y, b, shift, n);
		if (op == HALF_FMA)
			bf ? load_bf16(z, c, shift, n) : load_f16(z, c, shift, n);
		if (imm & IMM_FTZ) {
			EACH_N x[i] = flush_if(x[i], LEAST_F16);
			if (op <= HALF_FMA)
				EACH_N y[i] = flush_if(y[i], LEAST_F16);
			if (op == HALF_FMA)
				EACH_N z[i] = flush_if(z[i], LEAST_F16);
		}
		operate(r, x, y, z, op, bf, n);
		finish(r, imm, n);
		bf ? put_bf16(v, r, shift, n) : put_f16(v, r, shift, n);
	}
	EACH_N out[i] = v[i];
}
INLINE void half(unsigned char *regs, const struct alu_insn *in, uint32_t mask, enum half_op op, bool bf, int pairs, uint32_t imm)
{
	u32 *d = ROW(u32, in->d), room[32] __attribute__((aligned(64))), *out = mask == ~0u ? d : room;
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	const int n = bf || op > HALF_FMA ? 32 : 8;
	for (int i = 0; i < 32; i += n)
		half_chunk(out + i, a + i, b + i, c + i, op, bf, pairs, imm, n);
	if (mask != ~0u)
		EACH d[i] = mask & lane_bit[i] ? room[i] : d[i];
}
/* Without modifiers, and with any. */
#define BOTH(name, op, bf, pairs, flags)				\
	HANDLER(name) { half(regs, in, mask, op, bf, pairs, 0); }	\
	HANDLER(name##_any) { half(regs, in, mask, op, bf, pairs, in->imm & (flags)); }
#define HALF(name, op)							\
	BOTH(name##_f16, op, false, 1, IMM_FTZ | IMM_SAT | IMM_RELU)	\
	BOTH(name##_f16x2, op, false, 2, IMM_FTZ | IMM_SAT | IMM_RELU)
HALF(add, HALF_ADD)
HALF(sub, HALF_SUB)
HALF(mul, HALF_MUL)
HALF(fma, HALF_FMA)
BOTH(fma_bf16, HALF_FMA, true, 1, IMM_RELU)
BOTH(fma_bf16x2, HALF_FMA, true, 2, IMM_RELU)
#define PLAIN(name, op, bf, pairs) HANDLER(name) { half(regs, in, mask, op, bf, pairs, 0); }
PLAIN(add_bf16, HALF_ADD, true, 1)
PLAIN(add_bf16x2, HALF_ADD, true, 2)
PLAIN(sub_bf16, HALF_SUB, true, 1)
PLAIN(sub_bf16x2, HALF_SUB, true, 2)
PLAIN(mul_bf16, HALF_MUL, true, 1)
PLAIN(mul_bf16x2, HALF_MUL, true, 2)
PLAIN(tanh_f16, HALF_TANH, false, 1)
PLAIN(tanh_f16x2, HALF_TANH, false, 2)
PLAIN(tanh_bf16, HALF_TANH, true, 1)
PLAIN(tanh_bf16x2, HALF_TANH, true, 2)
PLAIN(ex2_bf16, HALF_EX2, true, 1)
PLAIN(ex2_bf16x2, HALF_EX2, true, 2)
BOTH(ex2_f16, HALF_EX2, false, 1, IMM_FTZ)
BOTH(ex2_f16x2, HALF_EX2, false, 2, IMM_FTZ)

/* ---- min, max: on the bits ---- */

#define INFINITY_F16 0x7c00u
#define INFINITY_BF16 0x7f80u
/* a, b: 16 bits; as min and max of f32. */
INLINE uint32_t pick16(uint32_t a, uint32_t b, uint32_t infinity, uint32_t imm)
{
	const uint32_t sign = imm & IMM_XORSIGN ? 0x8000 : 0, flip = imm & IMM_MAX ? 0xffffffff : 0;
	uint32_t to = (a ^ b) & sign, p = a & ~sign, q = b & ~sign;
	uint32_t nan_p = (p & 0x7fff) > infinity, nan_q = (q & 0x7fff) > infinity;
	int32_t x = order(p << 16) ^ (int32_t)flip, y = order(q << 16) ^ (int32_t)flip;
	uint32_t r = x < y ? p : q;
	r = nan_p ? q : nan_q ? p : r;
	uint32_t bad = imm & IMM_NAN ? nan_p | nan_q : nan_p & nan_q;
	return bad ? 0x7fff : r | to;
}
INLINE uint32_t flush16(uint32_t h, uint32_t limit) { return (h & 0x7fff) < limit ? h & 0x8000 : h; }
#define PICK(name, infinity, pairs)					\
HANDLER(name)								\
{									\
	u32 *d = ROW(u32, in->d);					\
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b);		\
	const uint32_t imm = in->imm, limit = imm & IMM_FTZ ? 0x0400 : 0; \
	uint32_t v[32] __attribute__((aligned(64)));			\
	EACH v[i] = pick16(flush16(a[i] & 0xffff, limit), flush16(b[i] & 0xffff, limit), infinity, imm); \
	if ((pairs) > 1)						\
		EACH v[i] |= pick16(flush16(a[i] >> 16, limit), flush16(b[i] >> 16, limit), infinity, imm) << 16; \
	STORE(u32, v[i]);						\
}
PICK(minmax_f16, INFINITY_F16, 1)
PICK(minmax_f16x2, INFINITY_F16, 2)
PICK(minmax_bf16, INFINITY_BF16, 1)
PICK(minmax_bf16x2, INFINITY_BF16, 2)

/* ---- abs, neg ---- */

INLINE uint32_t sign16(uint32_t h, uint32_t infinity, uint32_t limit, uint32_t keep, uint32_t flip)
{
	return (h & 0x7fff) > infinity ? 0x7fff : (flush16(h, limit) & keep) ^ flip;
}
#define SIGN(name, infinity, keep, flip, pairs)				\
HANDLER(name)								\
{									\
	u32 *d = ROW(u32, in->d);					\
	const u32 *a = ROW(u32, in->a);					\
	const uint32_t limit = in->imm & IMM_FTZ ? 0x0400 : 0;		\
	if ((pairs) > 1)						\
		STORE(u32, sign16(a[i] & 0xffff, infinity, limit, keep, flip) \
			   | sign16(a[i] >> 16, infinity, limit, keep, flip) << 16); \
	else								\
		STORE(u32, sign16(a[i] & 0xffff, infinity, limit, keep, flip)); \
}
SIGN(abs_f16, INFINITY_F16, 0x7fff, 0, 1)
SIGN(abs_f16x2, INFINITY_F16, 0x7fff, 0, 2)
SIGN(neg_f16, INFINITY_F16, 0xffff, 0x8000, 1)
SIGN(neg_f16x2, INFINITY_F16, 0xffff, 0x8000, 2)
SIGN(abs_bf16, INFINITY_BF16, 0x7fff, 0, 1)
SIGN(abs_bf16x2, INFINITY_BF16, 0x7fff, 0, 2)
SIGN(neg_bf16, INFINITY_BF16, 0xffff, 0x8000, 1)
SIGN(neg_bf16x2, INFINITY_BF16, 0xffff, 0x8000, 2)
