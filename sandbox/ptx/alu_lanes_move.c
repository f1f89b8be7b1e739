/* Moving, packing, selecting and comparing lanes: mov, selp, slct, set, setp, testp, copysign. */
#include "alu_lane.h"

#include "alu_compare.h"

LANES32(mov_b32, a[i])
LANES64(mov_b64, a[i])
LANES32(mov_b16, a[i] & 0xffff)
LANES(mov_b32_wide, u32, u64, u32, u32, (uint32_t)a[i])
HANDLER(mov_pred) { put_pred(regs, in->d, mask, PRED(in->a) ^ (in->imm & IMM_NOT_A ? ~0u : 0)); }
HANDLER(mov_b128)
{
	for (uint32_t half = 0; half < 512; half += 256) {
		u64 *d = ROW(u64, in->d + half);
		const u64 *a = ROW(u64, in->a + half);
		STORE(u64, a[i]);
	}
}

/* ---- packing: rows are d, then the elements; unpacking: the elements, then a ---- */

HANDLER(pack_2x16)
{
	u32 *d = ROW(u32, in->rows[0]);
	const u32 *a = ROW(u32, in->rows[1]), *b = ROW(u32, in->rows[2]);
	STORE(u32, (a[i] & 0xffff) | b[i] << 16);
}
HANDLER(pack_2x32)
{
	u64 *d = ROW(u64, in->rows[0]);
	const u32 *a = ROW(u32, in->rows[1]), *b = ROW(u32, in->rows[2]);
	STORE(u64, a[i] | (uint64_t)b[i] << 32);
}
HANDLER(unpack_2x16)
{
	const u32 *a = ROW(u32, in->rows[2]);
	uint32_t v[32] __attribute__((aligned(64)));
	EACH v[i] = a[i];
	if (in->rows[0] != ALU_SINK) {
		u32 *d = ROW(u32, in->rows[0]);
		STORE(u32, v[i] & 0xffff);
	}
	if (in->rows[1] != ALU_SINK) {
		u32 *d = ROW(u32, in->rows[1]);
		STORE(u32, v[i] >> 16);
	}
}
HANDLER(unpack_2x32)
{
	const u64 *a = ROW(u64, in->rows[2]);
	if (in->rows[0] != ALU_SINK) {
		u32 *d = ROW(u32, in->rows[0]);
		STORE(u32, (uint32_t)a[i]);
	}
	if (in->rows[1] != ALU_SINK) {
		u32 *d = ROW(u32, in->rows[1]);
		STORE(u32, (uint32_t)(a[i] >> 32));
	}
}

/* Any other: imm is log2 of the element's bits, then << 8 the number of elements.  A row of 128 bits is two of 64. */
INLINE uint64_t element(const unsigned char *regs, uint32_t row, unsigned bits, int lane)
{
	if (bits == 64)
		return ROW(u64, row)[lane];
	return ROW(u32, row)[lane] & (bits == 32 ? 0xffffffff : (1u << bits) - 1);
}
HANDLER(pack_any)
{
	const unsigned bits = 1u << (in->imm & 0xff), n = in->imm >> 8, total = bits * n;
	for (int i = 0; i < 32; i++) {
		uint64_t v[2] = { 0, 0 };
		if (!(mask >> i & 1))
			continue;
		for (unsigned k = 0; k < n; k++)
			v[k * bits / 64] |= element(regs, in->rows[1 + k], bits, i) << (k * bits % 64);
		if (total <= 32) {
			ROW(u32, in->rows[0])[i] = (uint32_t)v[0];
		} else {
			ROW(u64, in->rows[0])[i] = v[0];
			if (total == 128)
				ROW(u64, in->rows[0] + 256)[i] = v[1];
		}
	}
}
HANDLER(unpack_any)
{
	const unsigned bits = 1u << (in->imm & 0xff), n = in->imm >> 8, total = bits * n;
	const uint32_t from = in->rows[n];
	for (int i = 0; i < 32; i++) {
		uint64_t v[2] = { 0, 0 };
		if (!(mask >> i & 1))
			continue;
		if (total <= 32) {
			v[0] = ROW(u32, from)[i];
		} else {
			v[0] = ROW(u64, from)[i];
			v[1] = total == 128 ? ROW(u64, from + 256)[i] : 0;
		}
		for (unsigned k = 0; k < n; k++) {
			uint64_t x = v[k * bits / 64] >> (k * bits % 64);
			if (in->rows[k] == ALU_SINK)
				continue;
			if (bits == 64)
				ROW(u64, in->rows[k])[i] = x;
			else
				ROW(u32, in->rows[k])[i] = (uint32_t)(x & ((1ull << bits) - 1));
		}
	}
}

/* ---- selecting ---- */

HANDLER(selp_b32)
{
	u32 *d = ROW(u32, in->d);
	const u32 *a = ROW(u32, in->a), *b = ROW(u32, in->b);
	const uint32_t p = PRED(in->c) ^ (in->imm & IMM_NOT_C ? ~0u : 0);
	STORE(u32, p & lane_bit[i] ? a[i] : b[i]);
}
HANDLER(selp_b64)
{
	u64 *d = ROW(u64, in->d);
	const u64 *a = ROW(u64, in->a), *b = ROW(u64, in->b);
	const uint64_t p = PRED(in->c) ^ (in->imm & IMM_NOT_C ? ~0u : 0);
	STORE(u64, p & lane_bit64[i] ? a[i] : b[i]);
}
LANES(slct_b32_s32, u32, u32, u32, s32, c[i] >= 0 ? a[i] : b[i])
LANES(slct_b64_s32, u64, u64, u64, s32, c[i] >= 0 ? a[i] : b[i])
LANES(slct_b32_f32, u32, u32, u32, f32, flush_if(c[i], flush_limit(imm)) >= 0 ? a[i] : b[i])
LANES(slct_b64_f32, u64, u64, u64, f32, flush_if(c[i], flush_limit(imm)) >= 0 ? a[i] : b[i])

LANES32(copysign_f32, (a[i] & 0x80000000) | (b[i] & 0x7fffffff))
LANES64(copysign_f64, (a[i] & 0x8000000000000000) | (b[i] & 0x7fffffffffffffff))

/* ---- setp ---- */

#define SETP(name, T, cmp)						\
HANDLER(setp_##name)							\
{									\
	const T *a = ROW(T, in->a), *b = ROW(T, in->b);			\
	uint32_t t;							\
	WHERE(t, cmp);							\
	setp_end(regs, in, mask, t);					\
}
#define SETP_SIX(name, T)						\
	SETP(eq_##name, T, a[i] == b[i])				\
	SETP(ne_##name, T, a[i] != b[i])				\
	SETP(lt_##name, T, a[i] < b[i])					\
	SETP(le_##name, T, a[i] <= b[i])				\
	SETP(gt_##name, T, a[i] > b[i])					\
	SETP(ge_##name, T, a[i] >= b[i])
SETP_SIX(s32, s32)
SETP_SIX(u32, u32)
SETP_SIX(f32, f32)
SETP(lt_s64, s64, a[i] < b[i])
SETP(ge_s64, s64, a[i] >= b[i])
SETP(eq_b64, u64, a[i] == b[i])
SETP(ne_b64, u64, a[i] != b[i])
SETP(lt_u64, u64, a[i] < b[i])
SETP(ge_u64, u64, a[i] >= b[i])
SETP(neu_f32, f32, a[i] != b[i])

/* The rest by a switch on the comparison. */
HANDLER(setp_any)
{
	uint32_t high = 0, t = compare_any(regs, in, &high);
	const uint32_t kind = in->imm & COMPARE_KIND;
	if (kind == COMPARE_F16X2 || kind == COMPARE_BF16X2) {
		uint32_t q = high, p = combine(regs, in, t);
		q = combine(regs, in, q);
		put_pred(regs, in->d, mask, p);
		if (in->imm & IMM_Q)
			put_pred(regs, in->d2, mask, q);
	} else {
		setp_end(regs, in, mask, t);
	}
}

/* set: the truth as a number. */
static const uint32_t set_true[] = {
	[TRUE_ONES32] = 0xffffffff, [TRUE_F32] = 0x3f800000, [TRUE_ONES16] = 0xffff, [TRUE_F16] = 0x3c00, [TRUE_BF16] = 0x3f80,
};
HANDLER(set_any)
{
	u32 *d = ROW(u32, in->d);
	const uint32_t kind = in->imm & COMPARE_KIND, value = set_true[in->imm >> IMM_TRUE_SHIFT & 7];
	uint32_t high = 0, t = combine(regs, in, compare_any(regs, in, &high));
	if (kind == COMPARE_F16X2 || kind == COMPARE_BF16X2) {
		high = combine(regs, in, high);
		STORE(u32, (t & lane_bit[i] ? value & 0xffff : 0) | (high & lane_bit[i] ? value << 16 : 0));
	} else {
		STORE(u32, t & lane_bit[i] ? value : 0);
	}
}

/* ---- testp ---- */

INLINE uint64_t in_class(uint64_t mag, uint64_t least_normal, uint64_t infinity, uint32_t class)
{
	switch (class) {
	case CLASS_FINITE: return mag < infinity;
	case CLASS_INFINITE: return mag == infinity;
	case CLASS_NUMBER: return mag <= infinity;
	case CLASS_NAN: return mag > infinity;
	case CLASS_NORMAL: return (mag >= least_normal && mag < infinity) || mag == 0;	/* as hardware has it */
	default: return mag < least_normal && mag != 0;
	}
}
HANDLER(testp_f32)
{
	const u32 *a = ROW(u32, in->a);
	uint32_t t;
	WHERE(t, in_class(a[i] & 0x7fffffff, 0x00800000, 0x7f800000, in->imm));
	put_pred(regs, in->d, mask, t);
}
HANDLER(testp_f64)
{
	const u64 *a = ROW(u64, in->a);
	uint32_t t;
	WHERE(t, in_class(a[i] & 0x7fffffffffffffff, 0x0010000000000000, 0x7ff0000000000000, in->imm));
	put_pred(regs, in->d, mask, t);
}
