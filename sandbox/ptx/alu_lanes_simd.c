/* Video instructions on lanes: four bytes or two halves at a time, and the scalar forms. */
#include "alu_lane.h"

INLINE int32_t part(uint32_t x, unsigned at, unsigned bits, bool is_signed)
{
	uint32_t up = x << (32 - bits - at);
	return is_signed ? (int32_t)up >> (32 - bits) : (int32_t)(up >> (32 - bits));
}
INLINE bool holds(int32_t a, int32_t b, uint32_t cmp)
{
	switch (cmp) {
	case CMP_EQ: return a == b;
	case CMP_NE: return a != b;
	case CMP_LT: return a < b;
	case CMP_LE: return a <= b;
	case CMP_GT: return a > b;
	default: return a >= b;
	}
}
INLINE int32_t combine(int32_t a, int32_t b, uint32_t imm)
{
	switch (imm & 15) {
	case SIMD_ADD: return a + b;
	case SIMD_SUB: return a - b;
	case SIMD_AVRG: return (a + b + (a + b >= 0)) >> 1;
	case SIMD_ABSDIFF: return a > b ? a - b : b - a;
	case SIMD_MIN: return a < b ? a : b;
	case SIMD_MAX: return a > b ? a : b;
	default: return holds(a, b, imm >> SIMD_CMP_SHIFT & 15);
	}
}
INLINE uint32_t simd(uint32_t a, uint32_t b, uint32_t c, uint32_t imm, unsigned bits)
{
	const bool d_signed = imm & SIMD_D_SIGNED;
	const int32_t high = d_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1, low = d_signed ? -high - 1 : 0;
	uint32_t packed = 0, sum = c;
	for (unsigned at = 0; at < 32; at += bits) {
		int32_t r = combine(part(a, at, bits, imm & SIMD_A_SIGNED), part(b, at, bits, imm & SIMD_B_SIGNED), imm);
		if (imm & SIMD_SAT)
			r = r < low ? low : r > high ? high : r;
		sum += (uint32_t)r;
		packed |= ((uint32_t)r & ((1u << bits) - 1)) << at;
	}
	return imm & SIMD_ACCUMULATE ? sum : packed;
}
HANDLER(simd4)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			d[i] = simd(a[i], b[i], c[i], in->imm, 8);
}
HANDLER(simd2)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			d[i] = simd(a[i], b[i], c[i], in->imm, 16);
}
/* vabsdiff4.u32.u32.u32 with and without .add: what __vabsdiffu4 and __vsadu4 are. */
#define BYTE(x, k) ((x) >> 8 * (k) & 0xff)
#define APART(k) (BYTE(a[i], k) > BYTE(b[i], k) ? BYTE(a[i], k) - BYTE(b[i], k) : BYTE(b[i], k) - BYTE(a[i], k))
LANES32(vabsdiff4_u, APART(0) | APART(1) << 8 | APART(2) << 16 | APART(3) << 24)
LANES32(vsad4_u, c[i] + APART(0) + APART(1) + APART(2) + APART(3))

/* ---- scalar forms on whole registers: 34-bit intermediate results; imm as above, with the second operation ---- */

INLINE int64_t whole(uint32_t x, bool is_signed) { return is_signed ? (int64_t)(int32_t)x : (int64_t)x; }
INLINE uint32_t scalar(uint32_t a, uint32_t b, uint32_t c, uint32_t imm)
{
	const bool d_signed = imm & SIMD_D_SIGNED;
	int64_t x = whole(a, imm & SIMD_A_SIGNED), y = whole(b, imm & SIMD_B_SIGNED), r;
	switch (imm & 15) {
	case SIMD_ADD: r = x + y; break;
	case SIMD_SUB: r = x - y; break;
	case SIMD_ABSDIFF: r = x > y ? x - y : y - x; break;
	case SIMD_MIN: r = x < y ? x : y; break;
	default: r = x > y ? x : y; break;
	}
	if (imm & SIMD_SAT) {
		int64_t high = d_signed ? INT32_MAX : UINT32_MAX, low = d_signed ? INT32_MIN : 0;
		r = r < low ? low : r > high ? high : r;
	}
	return (uint32_t)r + (imm & SIMD_ACCUMULATE ? c : 0);
}
HANDLER(simd1)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			d[i] = scalar(a[i], b[i], c[i], in->imm);
}
