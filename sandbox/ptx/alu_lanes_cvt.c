/* Conversions on lanes. */
#include "alu_lane.h"
#include "alu_cvt.h"

#define S(x) ((int32_t)(x))

/* ---- integers: extended by the source's type, cut by the destination's, extended again to its register ---- */

struct widths { uint32_t from, to, reg; };
INLINE uint32_t width(enum cvt_type t)
{
	return t < CVT_U16 ? 8 : t < CVT_U32 ? 16 : t < CVT_U64 ? 32 : 64;
}
INLINE uint32_t ext_s(uint32_t x, uint32_t shift) { return (uint32_t)(S(x << shift) >> shift); }
INLINE uint32_t ext_u(uint32_t x, uint32_t shift) { return x << shift >> shift; }
INLINE uint64_t ext64_s(uint64_t x, uint32_t shift) { return (uint64_t)((int64_t)(x << shift) >> shift); }
INLINE uint64_t ext64_u(uint64_t x, uint32_t shift) { return x << shift >> shift; }

/* 32-bit rows. */
#define CVT_SMALL(name, FROM, TO)					\
HANDLER(name)								\
{									\
	u32 *d = ROW(u32, in->d);					\
	const u32 *a = ROW(u32, in->a);					\
	const uint32_t from = 32 - width(cvt_from(in->imm)), to = 32 - width(cvt_to(in->imm)); \
	const uint32_t keep = in->imm & CVT_TO_HALF ? 0xffff : 0xffffffff; \
	STORE(u32, TO(FROM(a[i], from), to) & keep);			\
}
CVT_SMALL(cvt_u_u, ext_u, ext_u)
CVT_SMALL(cvt_u_s, ext_s, ext_u)		/* to, from */
CVT_SMALL(cvt_s_u, ext_u, ext_s)
CVT_SMALL(cvt_s_s, ext_s, ext_s)
#define CVT_WIDEN(name, FROM, TO)					\
HANDLER(name)								\
{									\
	u64 *d = ROW(u64, in->d);					\
	const u32 *a = ROW(u32, in->a);					\
	const uint32_t from = 32 - width(cvt_from(in->imm)), to = 64 - width(cvt_to(in->imm)); \
	STORE(u64, TO(FROM(a[i], from), to));				\
}
CVT_WIDEN(cvt_wide_u_u, ext_u, ext64_u)
CVT_WIDEN(cvt_wide_u_s, (uint64_t)(int32_t)ext_s, ext64_u)
CVT_WIDEN(cvt_wide_s_u, ext_u, ext64_s)
CVT_WIDEN(cvt_wide_s_s, (uint64_t)(int32_t)ext_s, ext64_s)
#define CVT_NARROW(name, FROM, TO)					\
HANDLER(name)								\
{									\
	u32 *d = ROW(u32, in->d);					\
	const u64 *a = ROW(u64, in->a);					\
	const uint32_t from = 64 - width(cvt_from(in->imm)), to = 32 - width(cvt_to(in->imm)); \
	const uint32_t keep = in->imm & CVT_TO_HALF ? 0xffff : 0xffffffff; \
	STORE(u32, TO((uint32_t)FROM(a[i], from), to) & keep);		\
}
CVT_NARROW(cvt_narrow_u_u, ext64_u, ext_u)
CVT_NARROW(cvt_narrow_u_s, ext64_s, ext_u)
CVT_NARROW(cvt_narrow_s_u, ext64_u, ext_s)
CVT_NARROW(cvt_narrow_s_s, ext64_s, ext_s)

/* .sat between 32-bit rows: u32 and s32 both lie in int64, the limits too. */
INLINE int32_t clamp_s(int32_t x, int32_t low, int32_t high) { return x < low ? low : x > high ? high : x; }
HANDLER(cvt_sat_s)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a);
	const enum cvt_type type = cvt_to(in->imm);
	const uint32_t from = 32 - width(cvt_from(in->imm)), n = width(type);
	const int32_t high = S(type & 1 || n == 32 ? 0x7fffffffu >> (32 - n) : (1u << n) - 1);
	const int32_t low = type & 1 ? -high - 1 : 0;
	const uint32_t keep = in->imm & CVT_TO_HALF ? 0xffff : 0xffffffff;
	STORE(u32, (uint32_t)clamp_s(S(ext_s(a[i], from)), low, high) & keep);
}
HANDLER(cvt_sat_u)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a);
	const enum cvt_type type = cvt_to(in->imm);
	const uint32_t from = 32 - width(cvt_from(in->imm)), n = width(type);
	const uint32_t high = type & 1 ? 0x7fffffffu >> (32 - n) : 0xffffffffu >> (32 - n);
	STORE(u32, ext_u(a[i], from) > high ? high : ext_u(a[i], from));
}

/* ---- integer to float ---- */

/* Both halves are exact, so the sum is the only rounding. */
INLINE float f32_of_u32(uint32_t x) { return (float)S(x >> 16) * 65536.0f + (float)S(x & 0xffff); }
INLINE double f64_of_u32(uint32_t x) { return (double)S(x ^ 0x80000000) + 0x1p31; }

#define FROM_INT(name, D, A, EXPR)					\
HANDLER(name)								\
{									\
	D *d = ROW(D, in->d);						\
	const A *a = ROW(A, in->a);					\
	const uint32_t from = 32 - width(cvt_from(in->imm)) % 64, mode = cvt_rounding(in->imm); \
	(void)from;							\
	if (mode == CVT_RN) {						\
		STORE(D, EXPR);						\
	} else {							\
		uint32_t old = round_begin(mode);			\
		STORE(D, EXPR);						\
		round_end(old);						\
	}								\
}
FROM_INT(cvt_f32_s, f32, u32, (float)S(ext_s(a[i], from)))
/* Mostly all numbers are small: then they are signed ones too. */
static __attribute__((noinline)) HANDLER(cvt_f32_u_large)
{
	f32 *d = ROW(f32, in->d);
	const u32 *a = ROW(u32, in->a);
	const uint32_t from = 32 - width(cvt_from(in->imm)) % 64;
	uint32_t old = round_begin(cvt_rounding(in->imm));
	STORE(f32, f32_of_u32(ext_u(a[i], from)));
	round_end(old);
}
HANDLER(cvt_f32_u)
{
	f32 *d = ROW(f32, in->d);
	const u32 *a = ROW(u32, in->a);
	uint32_t any = 0;
	EACH any |= a[i];
	if (any >> 31 || width(cvt_from(in->imm)) != 32 || cvt_rounding(in->imm) != CVT_RN)
		LANE_FN(cvt_f32_u_large)(regs, in, mask);
	else
		STORE(f32, (float)S(a[i]));
}
FROM_INT(cvt_f64_s, f64, u32, (double)S(ext_s(a[i], from)))
FROM_INT(cvt_f64_u, f64, u32, f64_of_u32(ext_u(a[i], from)))
FROM_INT(cvt_f32_s64, f32, s64, (float)a[i])
FROM_INT(cvt_f64_s64, f64, s64, (double)a[i])
/* Beyond 2^24 an f32 is inexact, and far beyond what f16 holds. */
LANES32(cvt_f16_s, half_of_f32((float)S(ext_s(a[i], 32 - width(cvt_from(imm))))))
LANES32(cvt_f16_u, half_of_f32(f32_of_u32(ext_u(a[i], 32 - width(cvt_from(imm))))))

/* ---- float to integer ---- */

INLINE float integral(float x, uint32_t mode)
{
	switch (mode) {
	case CVT_RN: return __builtin_rintf(x);
	case CVT_RM: return __builtin_floorf(x);
	case CVT_RP: return __builtin_ceilf(x);
	default: return __builtin_truncf(x);
	}
}
INLINE double integral64(double x, uint32_t mode)
{
	switch (mode) {
	case CVT_RN: return __builtin_rint(x);
	case CVT_RM: return __builtin_floor(x);
	case CVT_RP: return __builtin_ceil(x);
	default: return __builtin_trunc(x);
	}
}
/* x is integral. */
INLINE uint32_t s32_of(float x)
{
	uint32_t r = (uint32_t)S(x >= -0x1p31f && x < 0x1p31f ? x : -0x1p31f);
	r = x >= 0x1p31f ? 0x7fffffff : r;
	return x != x ? 0 : r;
}
INLINE uint32_t u32_of(float x)
{
	uint32_t large = x >= 0x1p31f;
	float y = large ? x - 0x1p31f : x;
	uint32_t r = (uint32_t)S(y >= 0 && y < 0x1p31f ? y : 0) ^ (large ? 0x80000000 : 0);
	return x >= 0x1p32f ? 0xffffffff : r;
}
INLINE float clampf(float x, float low, float high) { return x >= low ? x <= high ? x : high : x < low ? low : 0; }

#define BY_MODE(LOOP) do {						\
	switch (cvt_rounding(in->imm)) {				\
	case CVT_RN: LOOP(CVT_RN); break;				\
	case CVT_RM: LOOP(CVT_RM); break;				\
	case CVT_RP: LOOP(CVT_RP); break;				\
	default: LOOP(CVT_RZ); break;					\
	}								\
} while (0)
#define SETUP(D, A)							\
	D *d = ROW(D, in->d);						\
	const A *a = ROW(A, in->a);					\
	const uint32_t flush_below = in->imm & CVT_FTZ ? 0x00800000 : 0

#define LOOP_S32(mode) STORE(u32, s32_of(integral(flush_if(a[i], flush_below), mode)))
#define LOOP_U32(mode) STORE(u32, u32_of(integral(flush_if(a[i], flush_below), mode)))
#define LOOP_SMALL(mode) STORE(u32, (uint32_t)S(clampf(integral(flush_if(a[i], flush_below), mode), low, high)) & keep)
#define LOOP_F16_S32(mode) STORE(u32, s32_of(integral(half_to_f32(a[i] & 0xffff), mode)))
#define LOOP_F16_U32(mode) STORE(u32, u32_of(integral(half_to_f32(a[i] & 0xffff), mode)))
HANDLER(cvt_s32_f32) { SETUP(u32, f32); BY_MODE(LOOP_S32); }
HANDLER(cvt_u32_f32) { SETUP(u32, f32); BY_MODE(LOOP_U32); }
HANDLER(cvt_s32_f16) { SETUP(u32, u32); (void)flush_below; BY_MODE(LOOP_F16_S32); }
HANDLER(cvt_u32_f16) { SETUP(u32, u32); (void)flush_below; BY_MODE(LOOP_F16_U32); }
HANDLER(cvt_small_f32)
{
	SETUP(u32, f32);
	const enum cvt_type type = cvt_to(in->imm);
	const float high = (float)((1 << (width(type) - (type & 1))) - 1), low = type & 1 ? -high - 1 : 0;
	const uint32_t keep = in->imm & CVT_TO_HALF ? 0xffff : 0xffffffff;
	BY_MODE(LOOP_SMALL);
}

/* To 32 bits from f64: NaN is the smallest integer, or 2^31 unsigned. */
INLINE uint32_t s32_of_f64(double x)
{
	double y = x > -0x1p31 ? x < 0x1p31 ? x : 0x1p31 - 1 : -0x1p31;
	return (uint32_t)S(y);
}
INLINE uint32_t u32_of_f64(double x)
{
	double y = x != x ? 0x1p31 : x > 0 ? x < 0x1p32 ? x : 0x1p32 - 1 : 0;
	return (uint32_t)S(y - 0x1p31) ^ 0x80000000;
}
#define LOOP_S32_F64(mode) STORE(u32, s32_of_f64(integral64(a[i], mode)))
#define LOOP_U32_F64(mode) STORE(u32, u32_of_f64(integral64(a[i], mode)))
HANDLER(cvt_s32_f64) { SETUP(u32, f64); (void)flush_below; BY_MODE(LOOP_S32_F64); }
HANDLER(cvt_u32_f64) { SETUP(u32, f64); (void)flush_below; BY_MODE(LOOP_U32_F64); }

/* ---- float to float ---- */

#define LOOP_ROUND(mode) STORE(f32, canon(integral(flush_if(a[i], flush_below), mode)))
HANDLER(cvt_round_f32) { SETUP(f32, f32); BY_MODE(LOOP_ROUND); }
LANES(cvt_sat_f32, f32, f32, f32, f32, saturate(flush_if(a[i], imm & CVT_FTZ ? 0x00800000 : 0)))
/* Both ways the host keeps the payload of a NaN and makes it quiet, as the GPU. */
LANES(cvt_f64_f32, f64, f32, f32, f32, (double)a[i])
LANES(cvt_ftz_f64_f32, f64, f32, f32, f32, (double)canon(flush(a[i])))
HANDLER(cvt_f32_f64)
{
	f32 *d = ROW(f32, in->d);
	const f64 *a = ROW(f64, in->a);
	const double least = in->imm & CVT_FTZ ? 0x1p-126 : 0;	/* .ftz looks at the number before it is rounded */
	uint32_t old = round_begin(cvt_rounding(in->imm));
	STORE(f32, (float)(__builtin_fabs(a[i]) < least ? __builtin_copysign(0.0, a[i]) : a[i]));
	round_end(old);
}

#ifdef __F16C__
HANDLER(cvt_f32_f16)
{
	f32 *d = ROW(f32, in->d);
	const u32 *a = ROW(u32, in->a);
	float v[32] __attribute__((aligned(64)));
	for (int i = 0; i < 32; i += 8) {
		__m256i w = _mm256_load_si256((const __m256i *)(a + i));
		__m128i h = _mm_packus_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
		_mm256_store_ps(v + i, _mm256_cvtph_ps(h));
	}
	STORE(f32, canon(v[i]));
}
INLINE void halves(uint32_t *v, const f32 *a)
{
	for (int i = 0; i < 32; i += 8) {
		__m256 x = _mm256_load_ps((const float *)(a + i));
		x = _mm256_blendv_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(NAN32)), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
		__m128i h = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
		_mm256_store_si256((__m256i *)(v + i), _mm256_cvtepu16_epi32(h));
	}
}
#else
LANES(cvt_f32_f16, f32, u32, u32, u32, canon(half_to_f32(a[i])))
INLINE void halves(uint32_t *v, const f32 *a)
{
	EACH v[i] = half_of_f32(a[i]);
}
#endif
HANDLER(cvt_f16_f32)
{
	u32 *d = ROW(u32, in->d);
	uint32_t v[32] __attribute__((aligned(64)));
	halves(v, ROW(f32, in->a));
	STORE(u32, v[i]);
}
/* The first source goes to the upper half. */
HANDLER(cvt_f16x2_f32)
{
	u32 *d = ROW(u32, in->d);
	uint32_t v[32] __attribute__((aligned(64))), w[32] __attribute__((aligned(64)));
	halves(v, ROW(f32, in->a));
	halves(w, ROW(f32, in->b));
	STORE(u32, v[i] << 16 | w[i]);
}
LANES32(cvt_f32_bf16, a[i] << 16)
LANES(cvt_bf16_f32, u32, f32, f32, f32, bf16_of_f32(a[i]))
LANES(cvt_bf16x2_f32, u32, f32, f32, f32, bf16_of_f32(a[i]) << 16 | bf16_of_f32(b[i]))

/* Nearest, ties away from zero: half a unit added to the magnitude. */
LANES32(cvt_rna_tf32, ((a[i] & 0x7fffffff) > 0x7f800000 ? a[i] : a[i] + 0x1000) & 0xffffe000)
LANES32(cvt_rn_tf32, (a[i] & 0x7fffffff) > 0x7f800000 ? NAN32 & 0xffffe000 : (a[i] + 0xfff + (a[i] >> 13 & 1)) & 0xffffe000)

/* ---- 8-bit floats ---- */

/* Nearest even, to the largest number at most; NaN is 0x7f. */
INLINE uint32_t e4m3_of_f32(float x)
{
	uint32_t u = bits_of(x), sign = u & 0x80000000, a = u ^ sign;
	uint32_t sub = bits_of(f32_of(a) + 0x1p14f) - bits_of(0x1p14f);
	uint32_t normal = (a - ((127 - 7) << 23) + 0x7ffff + (a >> 20 & 1)) >> 20;
	uint32_t r = a < 0x3c800000 ? sub : a >= 0x43e00000 ? 0x7e : normal;
	return a > 0x7f800000 ? 0x7f : r | sign >> 24;
}
INLINE uint32_t e5m2_of_f32(float x)
{
	uint32_t u = bits_of(x), sign = u & 0x80000000, a = u ^ sign;
	uint32_t sub = bits_of(f32_of(a) + 0x1p7f) - bits_of(0x1p7f);
	uint32_t normal = (a - ((127 - 15) << 23) + 0xfffff + (a >> 21 & 1)) >> 21;
	uint32_t r = a < 0x38800000 ? sub : a >= 0x47600000 ? 0x7b : normal;
	return a > 0x7f800000 ? 0x7f : r | sign >> 24;
}
LANES(cvt_e4m3x2_f32, u32, f32, f32, f32, e4m3_of_f32(a[i]) << 8 | e4m3_of_f32(b[i]))
LANES(cvt_e5m2x2_f32, u32, f32, f32, f32, e5m2_of_f32(a[i]) << 8 | e5m2_of_f32(b[i]))
LANES32(cvt_e4m3x2_f16x2, e4m3_of_f32(half_to_f32(a[i] >> 16)) << 8 | e4m3_of_f32(half_to_f32(a[i] & 0xffff)))
LANES32(cvt_e5m2x2_f16x2, e5m2_of_f32(half_to_f32(a[i] >> 16)) << 8 | e5m2_of_f32(half_to_f32(a[i] & 0xffff)))

/* The fields of e4m3 sit in an f16 one place lower: subnormals are numbers of eighths of the least normal. */
INLINE uint32_t f16_of_e4m3(uint32_t b)
{
	uint32_t m = b & 0x7f, normal = (m << 7) + (8 << 10), sub = (bits_of((float)S(m) * 0x1p-9f) - (112u << 23)) >> 13;
	uint32_t r = S(m) < 8 ? m == 0 ? 0 : sub : normal;
	return m == 0x7f ? 0x7fff : r | (b & 0x80) << 8;
}
INLINE uint32_t f16_of_e5m2(uint32_t b) { return (b & 0x7f) > 0x7c ? 0x7fff : b << 8; }
LANES32(cvt_f16x2_e4m3x2, f16_of_e4m3(a[i] >> 8 & 0xff) << 16 | f16_of_e4m3(a[i] & 0xff))
LANES32(cvt_f16x2_e5m2x2, f16_of_e5m2(a[i] >> 8 & 0xff) << 16 | f16_of_e5m2(a[i] & 0xff))

/* ---- everything else, value by value ---- */

HANDLER(cvt_any)
{
	const uint32_t imm = in->imm;
	const enum cvt_type to = cvt_to(imm);
	const unsigned n = cvt_bits(to);
	for (int i = 0; i < 32; i++) {
		if (!(mask >> i & 1))
			continue;
		uint64_t v = cvt_one(imm & CVT_FROM_WIDE ? ROW(u64, in->a)[i] : ROW(u32, in->a)[i], imm);
		if (cvt_is_signed(to) && n < 64)
			v = ext64_s(v, 64 - n);
		if (imm & CVT_TO_WIDE)
			ROW(u64, in->d)[i] = v;
		else
			ROW(u32, in->d)[i] = (uint32_t)v & (imm & CVT_TO_HALF ? 0xffff : 0xffffffff);
	}
}
/* Two values into one register: from a and b, or from the halves of a. */
HANDLER(cvt_pair)
{
	const uint32_t imm = in->imm;
	const unsigned n = cvt_bits(cvt_to(imm)), m = cvt_bits(cvt_from(imm));
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = imm & CVT_FROM_PAIR ? a : ROW(u32, in->b);
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1) {
			uint64_t high = cvt_one(imm & CVT_FROM_PAIR ? a[i] >> m : a[i], imm), low = cvt_one(b[i], imm);
			d[i] = (uint32_t)(high << n | low);
		}
}
/* cvt.pack.sat.T.s32 d, a, b, c: a and b clamped to T, a above b; below them what fits of c. */
HANDLER(cvt_pack)
{
	u32 *d = ROW(u32, in->d);
	const s32 *a = ROW(s32, in->a), *b = ROW(s32, in->b);
	const u32 *c = ROW(u32, in->c);
	const enum cvt_type type = cvt_to(in->imm);
	const uint32_t n = cvt_bits(type), ones = (1u << n) - 1;
	const int32_t high = S(type & 1 ? ones >> 1 : ones), low = type & 1 ? -high - 1 : 0;
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1) {
			uint32_t v = ((uint32_t)clamp_s(a[i], low, high) & ones) << n | ((uint32_t)clamp_s(b[i], low, high) & ones);
			d[i] = n == 16 ? v : c[i] << 2 * n | v;
		}
}
