/* f16 and bf16 arithmetic on lanes, alone and in pairs: computed in f32, rounded once. */
#include "alu_approx.h"

/* ---- in and out ---- */

/* The 16-bit floats at bit `shift` of each lane, as f32. */
INLINE void load_f16(float *out, const u32 *in, int shift, uint32_t limit)
{
#ifdef __F16C__
	for (int i = 0; i < 32; i += 8) {
		__m256i w = _mm256_load_si256((const __m256i *)(in + i));
		w = _mm256_and_si256(_mm256_srli_epi32(w, shift), _mm256_set1_epi32(0xffff));
		__m128i h = _mm_packus_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
		_mm256_store_ps(out + i, _mm256_cvtph_ps(h));
	}
#else
	EACH out[i] = half_to_f32(in[i] >> shift & 0xffff);
#endif
	if (limit)
		EACH out[i] = flush_if(out[i], limit);
}
INLINE void load_bf16(float *out, const u32 *in, int shift)
{
	EACH out[i] = f32_of(in[i] >> shift << 16);
}
/* Rounded into bits shift.. of each lane; NaN is canonical before.  With shift 16 the lower half stays. */
INLINE void put_f16(uint32_t *out, const float *v, int shift)
{
#ifdef __F16C__
	for (int i = 0; i < 32; i += 8) {
		__m128i h = _mm256_cvtps_ph(_mm256_load_ps(v + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
		__m256i w = _mm256_slli_epi32(_mm256_cvtepu16_epi32(h), shift);
		if (shift)
			w = _mm256_or_si256(w, _mm256_load_si256((const __m256i *)(out + i)));
		_mm256_store_si256((__m256i *)(out + i), w);
	}
#else
	EACH out[i] = (shift ? out[i] : 0) | half_of_f32(v[i]) << shift;
#endif
}
INLINE void put_bf16(uint32_t *out, const float *v, int shift)
{
	EACH out[i] = (shift ? out[i] : 0) | bf16_of_f32(v[i]) << shift;
}

/* What comes after the operation, before it is rounded.  .ftz of f16: what is below the least normal number even when
 * rounded to 11 bits with no bound of the exponent: 2^-14 (1 - 2^-12). */
enum { TINY_F16 = 0x387ff000 };
INLINE void finish(float *v, uint32_t imm, uint32_t limit)
{
	EACH v[i] = canon(v[i]);
	if (limit)
		EACH v[i] = flush_if(v[i], limit);
	if (imm & IMM_SAT)
		EACH v[i] = saturate(v[i]);
	if (imm & IMM_RELU)
		EACH v[i] = v[i] < 0 || v[i] == 0 ? 0.0f : v[i];
}

/* ---- fused multiply and add ---- */

/* p + z rounded to odd: another rounding, to fewer bits, is then as the only one. */
INLINE float add_odd(float p, float z)
{
	float s = p + z, back = s - p, rest = (p - (s - back)) + (z - back);
	uint32_t u = bits_of(s), away = 1 - 2 * ((bits_of(rest) ^ u) >> 31);
	return f32_of(u + ((rest < 0 || rest > 0) && !(u & 1) ? away : 0));
}
/* The product of two f16 is exact in f32. */
INLINE void fma_f16(float *r, const float *x, const float *y, const float *z)
{
	EACH r[i] = add_odd(x[i] * y[i], z[i]);
}
/* The product of two bf16 too, unless it leaves the range of f32. */
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
INLINE void fma_bf16(float *r, const float *x, const float *y, const float *z)
{
	uint32_t far = 0;
	EACH {
		float p = x[i] * y[i];
		uint32_t m = bits_of(p) & 0x7fffffff;
		far |= (m - 0x0d800000 >= 0x7f000000u - 0x0d800000) & (x[i] != 0) & (y[i] != 0);
		r[i] = add_odd(p, z[i]);
	}
	if (far)
		for (int i = 0; i < 32; i++)
			r[i] = fma_bf16_far(x[i], y[i], z[i]);
}

/* ---- handlers ---- */

#define HALVES float x[32] __attribute__((aligned(64))), y[32] __attribute__((aligned(64))), z[32] __attribute__((aligned(64))), \
	r[32] __attribute__((aligned(64)))

/* pairs: 16-bit halves a lane.  body computes r of x, y, z. */
#define HALF_F16(name, sources, pairs, body)				\
HANDLER(name)								\
{									\
	u32 *d = ROW(u32, in->d);					\
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c); \
	const uint32_t imm = in->imm, limit = imm & IMM_FTZ ? 0x38800000 : 0; \
	uint32_t v[32] __attribute__((aligned(64)));			\
	HALVES;								\
	(void)b; (void)c; (void)y; (void)z;				\
	_Pragma("GCC unroll 2")						\
	for (int shift = 0; shift < 16 * (pairs); shift += 16) {	\
		load_f16(x, a, shift, limit);				\
		if ((sources) > 1)					\
			load_f16(y, b, shift, limit);			\
		if ((sources) > 2)					\
			load_f16(z, c, shift, limit);			\
		body;							\
		finish(r, imm, limit ? TINY_F16 : 0);			\
		put_f16(v, r, shift);					\
	}								\
	STORE(u32, v[i]);						\
}
#define HALF_BF16(name, sources, pairs, body)				\
HANDLER(name)								\
{									\
	u32 *d = ROW(u32, in->d);					\
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c); \
	const uint32_t imm = in->imm;					\
	uint32_t v[32] __attribute__((aligned(64)));			\
	HALVES;								\
	(void)b; (void)c; (void)y; (void)z;				\
	_Pragma("GCC unroll 2")						\
	for (int shift = 0; shift < 16 * (pairs); shift += 16) {	\
		load_bf16(x, a, shift);					\
		if ((sources) > 1)					\
			load_bf16(y, b, shift);				\
		if ((sources) > 2)					\
			load_bf16(z, c, shift);				\
		body;							\
		finish(r, imm, 0);					\
		put_bf16(v, r, shift);					\
	}								\
	STORE(u32, v[i]);						\
}
#define HALF(name, sources, body)					\
	HALF_F16(name##_f16, sources, 1, body)				\
	HALF_F16(name##_f16x2, sources, 2, body)
#define BRAIN(name, sources, body)					\
	HALF_BF16(name##_bf16, sources, 1, body)			\
	HALF_BF16(name##_bf16x2, sources, 2, body)

HALF(add, 2, EACH r[i] = x[i] + y[i])
HALF(sub, 2, EACH r[i] = x[i] - y[i])
HALF(mul, 2, EACH r[i] = x[i] * y[i])
HALF(fma, 3, fma_f16(r, x, y, z))
HALF(ex2, 1, EACH r[i] = approx_ex2(x[i]))
HALF(tanh, 1, EACH r[i] = approx_tanh(x[i]))

BRAIN(add, 2, EACH r[i] = x[i] + y[i])
BRAIN(sub, 2, EACH r[i] = x[i] - y[i])
BRAIN(mul, 2, EACH z[i] = -0.0f; fma_bf16(r, x, y, z))
BRAIN(fma, 3, fma_bf16(r, x, y, z))
BRAIN(ex2, 1, EACH r[i] = approx_ex2(flush(x[i])))
BRAIN(tanh, 1, EACH r[i] = approx_tanh(x[i]))

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
