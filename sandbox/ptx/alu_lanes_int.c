/* Integer arithmetic on lanes: add, sub, mul, mad, carries, division, min and max, dot products. */
#include "alu_lane.h"

#define S(x) ((int32_t)(x))
#define SL(x) ((int64_t)(x))
#define H(x) ((int32_t)(int16_t)(x))		/* a 16-bit value, sign-extended */

LANES32(add_u32, a[i] + b[i])
LANES32(sub_u32, a[i] - b[i])
LANES32(mul_lo_u32, a[i] * b[i])
LANES32(mad_lo_u32, a[i] * b[i] + c[i])
LANES64(add_u64, a[i] + b[i])
LANES64(sub_u64, a[i] - b[i])
LANES64(mul_lo_u64, a[i] * b[i])
LANES64(mad_lo_u64, a[i] * b[i] + c[i])
LANES32(add_u16, (a[i] + b[i]) & 0xffff)
LANES32(sub_u16, (a[i] - b[i]) & 0xffff)
LANES32(mul_lo_u16, (a[i] * b[i]) & 0xffff)
LANES32(mad_lo_u16, (a[i] * b[i] + c[i]) & 0xffff)
LANES32(add_u16x2, ((a[i] & 0xffff0000) + (b[i] & 0xffff0000)) | ((a[i] + b[i]) & 0xffff))

/* Signed saturation: overflow when the sign of the result differs from what both operands say. */
INLINE uint32_t add_sat(uint32_t a, uint32_t b)
{
	uint32_t r = a + b;
	return S((a ^ r) & (b ^ r)) < 0 ? 0x7fffffff + (a >> 31) : r;
}
INLINE uint32_t sub_sat(uint32_t a, uint32_t b)
{
	uint32_t r = a - b;
	return S((a ^ b) & (a ^ r)) < 0 ? 0x7fffffff + (a >> 31) : r;
}
INLINE uint32_t hi_u32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)a * b >> 32); }
INLINE uint32_t hi_s32(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)(SL(S(a)) * S(b)) >> 32); }
INLINE uint64_t hi_u64(uint64_t a, uint64_t b) { return (uint64_t)((unsigned __int128)a * b >> 64); }
INLINE uint64_t hi_s64(uint64_t a, uint64_t b) { return (uint64_t)((__int128)SL(a) * SL(b) >> 64); }

LANES32(add_sat_s32, add_sat(a[i], b[i]))
LANES32(sub_sat_s32, sub_sat(a[i], b[i]))
LANES32(mul_hi_u32, hi_u32(a[i], b[i]))
LANES32(mul_hi_s32, hi_s32(a[i], b[i]))
LANES32(mad_hi_u32, hi_u32(a[i], b[i]) + c[i])
LANES32(mad_hi_s32, hi_s32(a[i], b[i]) + c[i])
LANES32(mad_hi_sat_s32, add_sat(hi_s32(a[i], b[i]), c[i]))
LANES64(mul_hi_u64, hi_u64(a[i], b[i]))
LANES64(mul_hi_s64, hi_s64(a[i], b[i]))
LANES64(mad_hi_u64, hi_u64(a[i], b[i]) + c[i])
LANES64(mad_hi_s64, hi_s64(a[i], b[i]) + c[i])
LANES32(mul_hi_u16, a[i] * b[i] >> 16)
LANES32(mul_hi_s16, (uint32_t)(H(a[i]) * H(b[i])) >> 16)
LANES32(mad_hi_u16, ((a[i] * b[i] >> 16) + c[i]) & 0xffff)
LANES32(mad_hi_s16, (((uint32_t)(H(a[i]) * H(b[i])) >> 16) + c[i]) & 0xffff)

LANES(mul_wide_u32, u64, u32, u32, u64, (uint64_t)a[i] * b[i])
LANES(mul_wide_s32, u64, s32, s32, u64, (uint64_t)(SL(a[i]) * b[i]))
LANES(mad_wide_u32, u64, u32, u32, u64, (uint64_t)a[i] * b[i] + c[i])
LANES(mad_wide_s32, u64, s32, s32, u64, (uint64_t)(SL(a[i]) * b[i]) + c[i])
LANES32(mul_wide_u16, a[i] * b[i])
LANES32(mul_wide_s16, (uint32_t)(H(a[i]) * H(b[i])))
LANES32(mad_wide_u16, a[i] * b[i] + c[i])
LANES32(mad_wide_s16, (uint32_t)(H(a[i]) * H(b[i])) + c[i])

/* 24-bit factors: low 24 bits, extended.  .hi is bits 47..16 of the 48-bit product. */
INLINE int32_t ext24(uint32_t x) { return S(x << 8) >> 8; }
INLINE uint32_t hi24u(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)(a & 0xffffff) * (b & 0xffffff) >> 16); }
INLINE uint32_t hi24s(uint32_t a, uint32_t b) { return (uint32_t)((uint64_t)(SL(ext24(a)) * ext24(b)) >> 16); }

LANES32(mul24_lo_u32, (a[i] & 0xffffff) * (b[i] & 0xffffff))
LANES32(mul24_lo_s32, (uint32_t)ext24(a[i]) * (uint32_t)ext24(b[i]))
LANES32(mul24_hi_u32, hi24u(a[i], b[i]))
LANES32(mul24_hi_s32, hi24s(a[i], b[i]))
LANES32(mad24_lo_u32, (a[i] & 0xffffff) * (b[i] & 0xffffff) + c[i])
LANES32(mad24_lo_s32, (uint32_t)ext24(a[i]) * (uint32_t)ext24(b[i]) + c[i])
LANES32(mad24_hi_u32, hi24u(a[i], b[i]) + c[i])
LANES32(mad24_hi_s32, hi24s(a[i], b[i]) + c[i])
LANES32(mad24_hi_sat_s32, add_sat(hi24s(a[i], b[i]), c[i]))

/* ---- carries ----
 * CC.CF is a predicate row.  As in hardware a subtraction adds the complement: CF is set if there was no borrow.
 * x + y + carry, both steps may carry. */

#define CARRY(name, T, X, Y, SUB)					\
HANDLER(name)								\
{									\
	T *d = ROW(T, in->d);						\
	const T *a = ROW(T, in->a), *b = ROW(T, in->b), *c = ROW(T, in->c); \
	uint32_t carry = in->imm & IMM_CARRY_IN ? PRED(in->cc) : SUB ? ~0u : 0, out = 0; \
	(void)c;							\
	for (int i = 0; i < 32; i++) {					\
		T x = X, y = SUB ? ~(Y) : (Y), k = carry >> i & 1;	\
		T r = x + y, s = r + k;					\
		out |= (uint32_t)(r < x || s < k) << i;			\
		d[i] = mask >> i & 1 ? s : d[i];			\
	}								\
	if (in->imm & IMM_CARRY_OUT)					\
		put_pred(regs, in->cc, mask, out);			\
}
CARRY(addc_u32, u32, a[i], b[i], 0)
CARRY(subc_u32, u32, a[i], b[i], 1)
CARRY(addc_u64, u64, a[i], b[i], 0)
CARRY(subc_u64, u64, a[i], b[i], 1)
CARRY(madc_lo_u32, u32, a[i] * b[i], c[i], 0)
CARRY(madc_hi_u32, u32, hi_u32(a[i], b[i]), c[i], 0)
CARRY(madc_hi_s32, u32, hi_s32(a[i], b[i]), c[i], 0)
CARRY(madc_lo_u64, u64, a[i] * b[i], c[i], 0)
CARRY(madc_hi_u64, u64, hi_u64(a[i], b[i]), c[i], 0)
CARRY(madc_hi_s64, u64, hi_s64(a[i], b[i]), c[i], 0)

/* ---- division ----
 * By zero all ones; the host must not trap, nor on the smallest integer divided by -1, which wraps. */

INLINE uint32_t div_u(uint32_t a, uint32_t b) { return b ? a / b : 0xffffffff; }
INLINE uint32_t rem_u(uint32_t a, uint32_t b) { return b ? a % b : 0xffffffff; }
INLINE uint32_t div_s(int32_t a, int32_t b)
{
	return b == 0 ? 0xffffffff : b == -1 ? 0 - (uint32_t)a : (uint32_t)(a / b);
}
INLINE uint32_t rem_s(int32_t a, int32_t b)
{
	return b == 0 ? 0xffffffff : b == -1 ? 0 : (uint32_t)(a % b);
}
INLINE uint64_t div_ul(uint64_t a, uint64_t b) { return b == 0 ? ~0ull : (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b; }
INLINE uint64_t rem_ul(uint64_t a, uint64_t b) { return b == 0 ? ~0ull : (a | b) >> 32 ? a % b : (uint32_t)a % (uint32_t)b; }
INLINE uint64_t div_sl(int64_t a, int64_t b)
{
	return b == 0 ? ~0ull : b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}
INLINE uint64_t rem_sl(int64_t a, int64_t b)
{
	return b == 0 ? ~0ull : b == -1 ? 0 : (uint64_t)(a % b);
}

/* Quotients of 32-bit integers are exact in double: the nearest double of a/b reaches the next integer only if a/b
 * is that integer.  Signed only converts well to vectors, so unsigned goes by way of an offset. */
#ifdef __AVX2__
INLINE double of_u32(uint32_t x) { return (double)S(x ^ 0x80000000) + 0x1p31; }
INLINE uint32_t quick_div_u(uint32_t a, uint32_t b)
{
	double q = __builtin_trunc(of_u32(a) / of_u32(b ? b : 1));
	uint32_t r = (uint32_t)S(q - 0x1p31) ^ 0x80000000;
	return b ? r : 0xffffffff;
}
INLINE uint32_t quick_div_s(int32_t a, int32_t b)
{
	double q = (double)a / (double)(b ? b : 1);
	uint32_t r = (uint32_t)S(q < 0x1p31 ? q : -0x1p31);
	return b ? r : 0xffffffff;
}
#else
#define quick_div_u div_u
#define quick_div_s div_s
#endif
LANES32(div_u32, quick_div_u(a[i], b[i]))
LANES32(div_s32, quick_div_s(S(a[i]), S(b[i])))
#ifdef __AVX2__
LANES32(rem_u32, b[i] ? a[i] - quick_div_u(a[i], b[i]) * b[i] : 0xffffffff)
LANES32(rem_s32, b[i] ? a[i] - quick_div_s(S(a[i]), S(b[i])) * b[i] : 0xffffffff)
#else
LANES32(rem_u32, rem_u(a[i], b[i]))
LANES32(rem_s32, rem_s(S(a[i]), S(b[i])))
#endif
LANES64(div_u64, div_ul(a[i], b[i]))
LANES64(rem_u64, rem_ul(a[i], b[i]))
LANES64(div_s64, div_sl(SL(a[i]), SL(b[i])))
LANES64(rem_s64, rem_sl(SL(a[i]), SL(b[i])))
LANES32(div_u16, div_u(a[i], b[i]) & 0xffff)
LANES32(rem_u16, rem_u(a[i], b[i]) & 0xffff)
LANES32(div_s16, div_s(H(a[i]), H(b[i])) & 0xffff)
LANES32(rem_s16, rem_s(H(a[i]), H(b[i])) & 0xffff)

/* ---- min, max, abs, neg, sad ---- */

#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
LANES32(min_u32, MIN(a[i], b[i]))
LANES32(max_u32, MAX(a[i], b[i]))
LANES32(min_s32, (uint32_t)MIN(S(a[i]), S(b[i])))
LANES32(max_s32, (uint32_t)MAX(S(a[i]), S(b[i])))
LANES32(min_relu_s32, (uint32_t)MAX(MIN(S(a[i]), S(b[i])), 0))
LANES32(max_relu_s32, (uint32_t)MAX(MAX(S(a[i]), S(b[i])), 0))
LANES64(min_u64, MIN(a[i], b[i]))
LANES64(max_u64, MAX(a[i], b[i]))
LANES64(min_s64, (uint64_t)MIN(SL(a[i]), SL(b[i])))
LANES64(max_s64, (uint64_t)MAX(SL(a[i]), SL(b[i])))
LANES32(min_s16, (uint32_t)MIN(H(a[i]), H(b[i])) & 0xffff)
LANES32(max_s16, (uint32_t)MAX(H(a[i]), H(b[i])) & 0xffff)

#define LOW(x) ((x) & 0xffff)
#define PACK(low, high) (((uint32_t)(low) & 0xffff) | (uint32_t)(high) << 16)
LANES32(min_u16x2, PACK(MIN(LOW(a[i]), LOW(b[i])), MIN(a[i] >> 16, b[i] >> 16)))
LANES32(max_u16x2, PACK(MAX(LOW(a[i]), LOW(b[i])), MAX(a[i] >> 16, b[i] >> 16)))
LANES32(min_s16x2, PACK(MIN(H(a[i]), H(b[i])), MIN(S(a[i]) >> 16, S(b[i]) >> 16)))
LANES32(max_s16x2, PACK(MAX(H(a[i]), H(b[i])), MAX(S(a[i]) >> 16, S(b[i]) >> 16)))
LANES32(min_relu_s16x2, PACK(MAX(MIN(H(a[i]), H(b[i])), 0), MAX(MIN(S(a[i]) >> 16, S(b[i]) >> 16), 0)))
LANES32(max_relu_s16x2, PACK(MAX(MAX(H(a[i]), H(b[i])), 0), MAX(MAX(S(a[i]) >> 16, S(b[i]) >> 16), 0)))

LANES32(abs_s32, S(a[i]) < 0 ? 0 - a[i] : a[i])
LANES64(abs_s64, SL(a[i]) < 0 ? 0 - a[i] : a[i])
LANES32(abs_s16, (a[i] & 0x8000 ? 0 - a[i] : a[i]) & 0xffff)
LANES32(neg_s32, 0 - a[i])
LANES64(neg_s64, 0 - a[i])
LANES32(neg_s16, (0 - a[i]) & 0xffff)

LANES32(sad_u32, c[i] + (a[i] < b[i] ? b[i] - a[i] : a[i] - b[i]))
LANES32(sad_s32, c[i] + (S(a[i]) < S(b[i]) ? b[i] - a[i] : a[i] - b[i]))
LANES64(sad_u64, c[i] + (a[i] < b[i] ? b[i] - a[i] : a[i] - b[i]))
LANES64(sad_s64, c[i] + (SL(a[i]) < SL(b[i]) ? b[i] - a[i] : a[i] - b[i]))
LANES32(sad_u16, (c[i] + (a[i] < b[i] ? b[i] - a[i] : a[i] - b[i])) & 0xffff)
LANES32(sad_s16, (c[i] + (H(a[i]) < H(b[i]) ? b[i] - a[i] : a[i] - b[i])) & 0xffff)

/* ---- dot products ----
 * Byte or half k of a lane, extended by its type: shifted to the top, then down. */

#define BYTE_S(x, k) ((int32_t)((x) << (24 - 8 * (k))) >> 24)
#define BYTE_U(x, k) ((int32_t)((x) >> 8 * (k) & 0xff))
#define DOT4(A, B) (c[i] + (uint32_t)(A(a[i], 0) * B(b[i], 0) + A(a[i], 1) * B(b[i], 1) + A(a[i], 2) * B(b[i], 2) \
				      + A(a[i], 3) * B(b[i], 3)))
LANES32(dp4a_uu, DOT4(BYTE_U, BYTE_U))
LANES32(dp4a_us, DOT4(BYTE_U, BYTE_S))
LANES32(dp4a_su, DOT4(BYTE_S, BYTE_U))
LANES32(dp4a_ss, DOT4(BYTE_S, BYTE_S))

/* dp2a: two halves of a by bytes 0, 1 (.lo) or 2, 3 (.hi) of b. */
#define DOT2(A0, A1, B) (c[i] + (uint32_t)(A0) * (uint32_t)B(b[i] >> high, 0) + (uint32_t)(A1) * (uint32_t)B(b[i] >> high, 1))
#define DP2A(name, A0, A1, B)						\
HANDLER(name)								\
{									\
	u32 *d = ROW(u32, in->d);					\
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c); \
	const uint32_t high = in->imm & IMM_HIGH ? 16 : 0;		\
	STORE(u32, DOT2(A0, A1, B));					\
}
DP2A(dp2a_uu, LOW(a[i]), a[i] >> 16, BYTE_U)
DP2A(dp2a_us, LOW(a[i]), a[i] >> 16, BYTE_S)
DP2A(dp2a_su, H(a[i]), S(a[i]) >> 16, BYTE_U)
DP2A(dp2a_ss, H(a[i]), S(a[i]) >> 16, BYTE_S)
