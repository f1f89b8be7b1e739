/* Video instructions on lanes: four bytes or two halves at a time, and the scalar forms. */
#include "alu_lane.h"

INLINE int32_t part(uint32_t x, unsigned at, unsigned bits, bool is_signed)
{
	uint32_t up = x << (32 - bits - at);
	return is_signed ? (int32_t)up >> (32 - bits) : (int32_t)(up >> (32 - bits));
}
INLINE bool holds(int64_t a, int64_t b, uint32_t cmp)
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

/* ---- scalar forms on whole registers; imm as above.  As hardware has it, .sat of an unsigned d clamps at 0 alone ---- */

INLINE int64_t whole(uint32_t x, bool is_signed) { return is_signed ? (int64_t)(int32_t)x : (int64_t)x; }
INLINE uint32_t clamp32(int64_t r, bool is_signed)
{
	if (!is_signed)
		return r < 0 ? 0 : (uint32_t)r;
	return (uint32_t)(r < INT32_MIN ? INT32_MIN : r > INT32_MAX ? INT32_MAX : r);
}
INLINE int64_t shifted(int64_t x, uint32_t n, uint32_t imm)
{
	n = imm & SIMD_WRAP ? n & 31 : n > 32 ? 32 : n;
	return (imm & 15) == SIMD_SHL ? (int64_t)((uint64_t)x << n) : x >> n;
}
INLINE uint32_t scalar(uint32_t a, uint32_t b, uint32_t c, uint32_t imm)
{
	const bool d_signed = imm & SIMD_D_SIGNED;
	int64_t x = whole(a, imm & SIMD_A_SIGNED), y = whole(b, imm & SIMD_B_SIGNED), r;
	switch (imm & 15) {
	case SIMD_ADD: r = x + y; break;
	case SIMD_SUB: r = x - y; break;
	case SIMD_ABSDIFF: r = x > y ? x - y : y - x; break;
	case SIMD_MIN: r = x < y ? x : y; break;
	case SIMD_MAX: r = x > y ? x : y; break;
	case SIMD_SET: r = holds(x, y, imm >> SIMD_CMP_SHIFT & 15); break;
	case SIMD_MAD: {
		bool c_signed = imm & (SIMD_A_SIGNED | SIMD_B_SIGNED);
		__int128 sum = (__int128)x * y + whole(c, c_signed);
		r = (int64_t)(sum >> (imm >> SIMD_CMP_SHIFT & 15));
		return imm & SIMD_SAT ? clamp32(r, d_signed) : (uint32_t)r;
	}
	default: r = shifted(x, b, imm); break;
	}
	uint32_t v = imm & SIMD_SAT ? clamp32(r, d_signed) : (uint32_t)r;
	switch (imm & SIMD_SECOND) {
	case SIMD_ACCUMULATE: return v + c;
	case SIMD_THEN_MIN: return (int32_t)v < (int32_t)c ? v : c;
	case SIMD_THEN_MAX: return (int32_t)v > (int32_t)c ? v : c;
	default: return v;
	}
}
HANDLER(simd1)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			d[i] = scalar(a[i], b[i], c[i], in->imm);
}
