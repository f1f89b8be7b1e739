/* Logic and bit fields on lanes: and, or, xor, shifts, lop3, prmt, bfe, bfi and their kin. */
#include "alu_lane.h"

#define S(x) ((int32_t)(x))

LANES32(and_b32, a[i] & b[i])
LANES32(or_b32, a[i] | b[i])
LANES32(xor_b32, a[i] ^ b[i])
LANES32(not_b32, ~a[i])
LANES32(not_b16, ~a[i] & 0xffff)
LANES32(cnot_b32, a[i] == 0)
LANES64(and_b64, a[i] & b[i])
LANES64(or_b64, a[i] | b[i])
LANES64(xor_b64, a[i] ^ b[i])
LANES64(not_b64, ~a[i])
LANES64(cnot_b64, a[i] == 0)

#define PRED_A (PRED(in->a) ^ (in->imm & IMM_NOT_A ? ~0u : 0))
#define PRED_B (PRED(in->b) ^ (in->imm & IMM_NOT_B ? ~0u : 0))
HANDLER(and_pred) { put_pred(regs, in->d, mask, PRED_A & PRED_B); }
HANDLER(or_pred) { put_pred(regs, in->d, mask, PRED_A | PRED_B); }
HANDLER(xor_pred) { put_pred(regs, in->d, mask, PRED_A ^ PRED_B); }
HANDLER(not_pred) { put_pred(regs, in->d, mask, ~PRED_A); }

/* ---- shifts: amounts are u32 and clamp ---- */

INLINE uint32_t shl(uint32_t x, uint32_t n) { return n > 31 ? 0 : x << (n & 31); }
INLINE uint32_t shr(uint32_t x, uint32_t n) { return n > 31 ? 0 : x >> (n & 31); }
INLINE uint32_t sar(uint32_t x, uint32_t n) { return (uint32_t)(S(x) >> (n > 31 ? 31 : n)); }
INLINE uint64_t shl64(uint64_t x, uint64_t n) { return n > 63 ? 0 : x << (n & 63); }
INLINE uint64_t shr64(uint64_t x, uint64_t n) { return n > 63 ? 0 : x >> (n & 63); }
INLINE uint64_t sar64(uint64_t x, uint64_t n) { return (uint64_t)((int64_t)x >> (n > 63 ? 63 : n)); }

LANES32(shl_b32, shl(a[i], b[i]))
LANES32(shr_u32, shr(a[i], b[i]))
LANES32(shr_s32, sar(a[i], b[i]))
LANES32(shl_b16, shl(a[i], b[i]) & 0xffff)
LANES32(shr_s16, sar((uint32_t)(int16_t)a[i], b[i]) & 0xffff)
LANES(shl_b64, u64, u64, u32, u64, shl64(a[i], b[i]))
LANES(shr_u64, u64, u64, u32, u64, shr64(a[i], b[i]))
LANES(shr_s64, u64, u64, u32, u64, sar64(a[i], b[i]))

/* shf: the 64 bits b:a shifted, c by its low five bits or clamped at 32. */
LANES32(shf_l_wrap, shl(b[i], c[i] & 31) | shr(a[i], 32 - (c[i] & 31)))
LANES32(shf_r_wrap, shr(a[i], c[i] & 31) | shl(b[i], 32 - (c[i] & 31)))
LANES32(shf_l_clamp, c[i] > 31 ? a[i] : shl(b[i], c[i]) | shr(a[i], 32 - c[i]))
LANES32(shf_r_clamp, c[i] > 31 ? b[i] : shr(a[i], c[i]) | shl(b[i], 32 - c[i]))

/* ---- lop3: bit (a<<2 | b<<1 | c) of the table ---- */

LANES32(lop3_and3, a[i] & b[i] & c[i])
LANES32(lop3_or3, a[i] | b[i] | c[i])
LANES32(lop3_xor3, a[i] ^ b[i] ^ c[i])
LANES32(lop3_and_or, (a[i] & b[i]) | c[i])
LANES32(lop3_and_xor, (a[i] & b[i]) ^ c[i])
LANES32(lop3_or_and, (a[i] | b[i]) & c[i])
LANES32(lop3_or_of_and, a[i] | (b[i] & c[i]))
LANES32(lop3_select, (a[i] & b[i]) | (~a[i] & c[i]))
LANES32(lop3_andn, a[i] & ~b[i])

/* A table as a tree of selections: by c between eight constants, then by b, then by a. */
struct lut { uint32_t low[4], flip[4]; };
INLINE struct lut lut_of(uint32_t table)
{
	struct lut l;
	for (int k = 0; k < 4; k++) {
		l.low[k] = 0 - (table >> 2 * k & 1);
		l.flip[k] = l.low[k] ^ (0 - (table >> (2 * k + 1) & 1));
	}
	return l;
}
INLINE uint32_t choose(uint32_t by, uint32_t zero, uint32_t one) { return zero ^ (by & (zero ^ one)); }
INLINE uint32_t lop3(const struct lut *l, uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t f0 = l->low[0] ^ (c & l->flip[0]), f1 = l->low[1] ^ (c & l->flip[1]);
	uint32_t f2 = l->low[2] ^ (c & l->flip[2]), f3 = l->low[3] ^ (c & l->flip[3]);
	return choose(a, choose(b, f0, f1), choose(b, f2, f3));
}
HANDLER(lop3_any)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	const struct lut l = lut_of(in->imm >> IMM_BYTE_SHIFT);
	STORE(u32, lop3(&l, a[i], b[i], c[i]));
}
/* lop3.or.b32 d|p, a, b, c, table, q: p = (d != 0) or q.  Rows: d, p, a, b, c, table, q. */
HANDLER(lop3_pred)
{
	const uint32_t *r = in->rows;
	const u32 *a = ROW(u32, r[2]), *b = ROW(u32, r[3]), *c = ROW(u32, r[4]);
	const struct lut l = lut_of(in->imm >> IMM_BYTE_SHIFT);
	uint32_t v[32] __attribute__((aligned(64))), p, q = PRED(r[6]) ^ (in->imm & IMM_NOT_C ? ~0u : 0);
	EACH v[i] = lop3(&l, a[i], b[i], c[i]);
	WHERE(p, v[i] != 0);
	switch (in->imm >> IMM_BOOL_SHIFT & 3) {
	case BOOL_AND: p &= q; break;
	case BOOL_OR: p |= q; break;
	default: p ^= q; break;
	}
	if (r[0] != ALU_SINK) {
		u32 *d = ROW(u32, r[0]);
		STORE(u32, v[i]);
	}
	put_pred(regs, r[1], mask, p);
}

/* ---- prmt ---- */

/* Four bytes of the eight b:a, one a nibble of sel; its top bit takes the byte's sign instead. */
INLINE uint32_t permute(uint32_t a, uint32_t b, uint32_t sel)
{
	uint32_t r = 0;
	for (int k = 0; k < 4; k++) {
		uint32_t n = sel >> 4 * k, from = n & 4 ? b : a, byte = from >> 8 * (n & 3) & 0xff;
		byte = n & 8 ? 0xff & (0 - (byte >> 7)) : byte;
		r |= byte << 8 * k;
	}
	return r;
}
#ifdef __AVX2__
/* Where in its 128 bits the bytes of a lane begin. */
#define PLACE _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c, 0, 0x04040404, 0x08080808, 0x0c0c0c0c)
INLINE __m256i permute8(__m256i a, __m256i b, __m256i sel)
{
	const __m256i place = PLACE;
	__m256i x = _mm256_and_si256(sel, _mm256_set1_epi32(0xffff));
	x = _mm256_and_si256(_mm256_or_si256(x, _mm256_slli_epi32(x, 8)), _mm256_set1_epi32(0x00ff00ff));
	x = _mm256_and_si256(_mm256_or_si256(x, _mm256_slli_epi32(x, 4)), _mm256_set1_epi32(0x0f0f0f0f));
	__m256i at = _mm256_or_si256(_mm256_and_si256(x, _mm256_set1_epi8(3)), place);
	__m256i not_a = _mm256_slli_epi32(_mm256_and_si256(x, _mm256_set1_epi8(4)), 5);
	__m256i not_b = _mm256_xor_si256(not_a, _mm256_set1_epi8((char)0x80));
	__m256i r = _mm256_or_si256(_mm256_shuffle_epi8(a, _mm256_or_si256(at, not_a)),
				    _mm256_shuffle_epi8(b, _mm256_or_si256(at, not_b)));
	__m256i sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), r);
	return _mm256_blendv_epi8(r, sign, _mm256_slli_epi32(x, 4));
}
HANDLER(prmt_b32)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	uint32_t v[32] __attribute__((aligned(64)));
	for (int i = 0; i < 32; i += 8) {
		__m256i r = permute8(_mm256_load_si256((const __m256i *)(a + i)), _mm256_load_si256((const __m256i *)(b + i)),
				     _mm256_load_si256((const __m256i *)(c + i)));
		_mm256_store_si256((__m256i *)(v + i), r);
	}
	STORE(u32, v[i]);
}
/* The selector in imm, without signs. */
HANDLER(prmt_imm)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b);
	const uint32_t sel = in->imm;
	const uint32_t x = (sel & 7) | (sel & 0x70) << 4 | (sel & 0x700) << 8 | (sel & 0x7000) << 12;
	const __m256i at = _mm256_or_si256(_mm256_set1_epi32((int32_t)(x & 0x03030303)), PLACE);
	const __m256i from_a = _mm256_or_si256(at, _mm256_set1_epi32((int32_t)((x & 0x04040404) << 5)));
	const __m256i from_b = _mm256_xor_si256(from_a, _mm256_set1_epi8((char)0x80));
	uint32_t room[32] __attribute__((aligned(64)));
	u32 *out = mask == ~0u ? d : room;
	for (int i = 0; i < 32; i += 8) {
		__m256i p = _mm256_shuffle_epi8(_mm256_load_si256((const __m256i *)(a + i)), from_a);
		__m256i q = _mm256_shuffle_epi8(_mm256_load_si256((const __m256i *)(b + i)), from_b);
		_mm256_store_si256((__m256i *)(out + i), _mm256_or_si256(p, q));
	}
	if (mask != ~0u)
		EACH d[i] = mask & lane_bit[i] ? room[i] : d[i];
}
#else
LANES32(prmt_b32, permute(a[i], b[i], c[i]))
LANES32(prmt_imm, permute(a[i], b[i], imm))
#endif

/* The other modes are tables by the two low bits of c. */
static const uint16_t prmt_modes[6][4] = {
	[PRMT_F4E] = { 0x3210, 0x4321, 0x5432, 0x6543 },
	[PRMT_B4E] = { 0x5670, 0x6701, 0x7012, 0x0123 },
	[PRMT_RC8] = { 0x0000, 0x1111, 0x2222, 0x3333 },
	[PRMT_ECL] = { 0x3210, 0x3211, 0x3222, 0x3333 },
	[PRMT_ECR] = { 0x0000, 0x1110, 0x2210, 0x3210 },
	[PRMT_RC16] = { 0x1010, 0x3232, 0x1010, 0x3232 },
};
HANDLER(prmt_mode)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	const uint16_t *m = prmt_modes[in->imm >> IMM_BYTE_SHIFT];
	STORE(u32, permute(a[i], b[i], m[c[i] & 3]));
}

/* ---- bit fields: position and length modulo 256 for 32 bits; clamped for 64 ---- */

INLINE uint32_t ones(uint32_t n) { return n > 31 ? 0xffffffff : (1u << (n & 31)) - 1; }
INLINE uint64_t ones64(uint64_t n) { return n > 63 ? ~0ull : (1ull << (n & 63)) - 1; }

INLINE uint32_t bfe_s(uint32_t a, uint32_t pos, uint32_t len)
{
	uint32_t top = pos + len - 1 > 31 ? 31 : pos + len - 1, down = 31 - top + pos;
	uint32_t r = (uint32_t)(S(a << (31 - top)) >> (down > 31 ? 31 : down));
	return len ? r : 0;
}
INLINE uint64_t bfe_s64(uint64_t a, uint64_t pos, uint64_t len)
{
	uint64_t top = pos + len - 1 > 63 ? 63 : pos + len - 1, down = 63 - top + pos;
	uint64_t r = (uint64_t)((int64_t)(a << (63 - top)) >> (down > 63 ? 63 : down));
	return len ? r : 0;
}
LANES32(bfe_u32, shr(a[i], b[i] & 0xff) & ones(c[i] & 0xff))
LANES32(bfe_s32, bfe_s(a[i], b[i] & 0xff, c[i] & 0xff))
LANES(bfe_u64, u64, u64, u32, u32, shr64(a[i], b[i]) & ones64(c[i]))
LANES(bfe_s64, u64, u64, u32, u32, bfe_s64(a[i], b[i], c[i]))

/* Rows: d, a (the field), b (what it goes into), position, length. */
HANDLER(bfi_b32)
{
	const uint32_t *r = in->rows;
	u32 *d = ROW(u32, r[0]);
	const u32 *a = ROW(u32, r[1]), *b = ROW(u32, r[2]), *c = ROW(u32, r[3]), *e = ROW(u32, r[4]);
	STORE(u32, choose(shl(ones(e[i] & 0xff), c[i] & 0xff), b[i], shl(a[i], c[i] & 0xff)));
}
INLINE uint64_t insert64(uint64_t field, uint64_t into, uint64_t pos, uint64_t len)
{
	uint64_t m = shl64(ones64(len), pos);
	return (into & ~m) | (shl64(field, pos) & m);
}
HANDLER(bfi_b64)
{
	const uint32_t *r = in->rows;
	u64 *d = ROW(u64, r[0]);
	const u64 *a = ROW(u64, r[1]), *b = ROW(u64, r[2]);
	const u32 *c = ROW(u32, r[3]), *e = ROW(u32, r[4]);
	STORE(u64, insert64(a[i], b[i], c[i], e[i]));
}

/* ---- counting and finding ---- */

INLINE uint32_t popc(uint32_t x)
{
	x -= x >> 1 & 0x55555555;
	x = (x & 0x33333333) + (x >> 2 & 0x33333333);
	x = (x + (x >> 4)) & 0x0f0f0f0f;
	return x * 0x01010101 >> 24;
}
INLINE uint32_t clz(uint32_t x)
{
	x |= x >> 1, x |= x >> 2, x |= x >> 4, x |= x >> 8, x |= x >> 16;
	return popc(~x);
}
INLINE uint32_t clz64(uint64_t x) { return x >> 32 ? clz((uint32_t)(x >> 32)) : 32 + clz((uint32_t)x); }
INLINE uint32_t brev(uint32_t x)
{
	x = (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
	x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
	x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
	return x >> 24 | (x >> 8 & 0xff00) | (x & 0xff00) << 8 | x << 24;
}
/* The most significant bit that is not a sign bit: its place, or how far from the top with .shiftamt. */
INLINE uint32_t find(uint32_t x, uint32_t imm)
{
	uint32_t v = imm & IMM_SIGNED && S(x) < 0 ? ~x : x, z = clz(v);
	return v ? imm & IMM_SHIFTAMT ? z : 31 - z : 0xffffffff;
}
INLINE uint32_t find64(uint64_t x, uint32_t imm)
{
	uint64_t v = imm & IMM_SIGNED && (int64_t)x < 0 ? ~x : x;
	uint32_t z = clz64(v);
	return v ? imm & IMM_SHIFTAMT ? z : 63 - z : 0xffffffff;
}
LANES32(popc_b32, popc(a[i]))
LANES(popc_b64, u32, u64, u32, u32, popc((uint32_t)a[i]) + popc((uint32_t)(a[i] >> 32)))
LANES32(clz_b32, clz(a[i]))
LANES(clz_b64, u32, u64, u32, u32, clz64(a[i]))
LANES32(brev_b32, brev(a[i]))
LANES64(brev_b64, (uint64_t)brev((uint32_t)a[i]) << 32 | brev((uint32_t)(a[i] >> 32)))
LANES32(bfind_32, find(a[i], imm))
LANES(bfind_64, u32, u64, u32, u32, find64(a[i], imm))

/* bmsk: c ones from bit a on. */
LANES32(bmsk_clamp, shl(ones(b[i]), a[i]))
LANES32(bmsk_wrap, ones(b[i] & 31) << (a[i] & 31))

/* szext: the low b bits extended by zeros or by their top bit. */
INLINE uint32_t extend(uint32_t x, uint32_t n, uint32_t imm)
{
	uint32_t m = ones(n), sign = n == 0 || n > 31 ? 0 : x >> ((n - 1) & 31) & 1;
	return n > 31 ? x : (x & m) | (imm & IMM_SIGNED && sign ? ~m : 0);
}
LANES32(szext, extend(a[i], imm & IMM_WRAP ? b[i] & 31 : b[i], imm))

/* fns: the place of the |n|-th set bit of a from bit `base` on, up (n > 0) or down (n < 0); n = 0: base itself. */
static uint32_t find_nth(uint32_t m, uint32_t base, int32_t n)
{
	if (base > 31)
		return 0xffffffff;
	if (n == 0)
		return m >> base & 1 ? base : 0xffffffff;
	int step = n > 0 ? 1 : -1;
	int64_t left = n > 0 ? n : -(int64_t)n;
	for (int k = (int)base; k >= 0 && k < 32; k += step)
		if (m >> k & 1 && --left == 0)
			return (uint32_t)k;
	return 0xffffffff;
}
HANDLER(fns_b32)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b), *c = ROW(u32, in->c);
	for (int i = 0; i < 32; i++)
		if (mask >> i & 1)
			d[i] = find_nth(a[i], b[i], S(c[i]));
}
