/* Comparisons of every type, for setp and set.  A part of alu_lanes_move.c. */
#ifndef PTX_ALU_COMPARE_H
#define PTX_ALU_COMPARE_H

#include "alu_compare_kind.h"
#include "alu_lane.h"

/* The truth of a comparison, joined with predicate c. */
INLINE uint32_t combine(unsigned char *regs, const struct alu_insn *in, uint32_t t)
{
	const uint32_t how = in->imm >> IMM_BOOL_SHIFT & 3;
	if (how == BOOL_NONE)
		return t;
	uint32_t c = PRED(in->c) ^ (in->imm & IMM_NOT_C ? ~0u : 0);
	return how == BOOL_AND ? t & c : how == BOOL_OR ? t | c : t ^ c;
}

/* p = t op c, q = !t op c. */
INLINE void setp_end(unsigned char *regs, const struct alu_insn *in, uint32_t mask, uint32_t t)
{
	uint32_t p = combine(regs, in, t), q = in->imm & IMM_Q ? combine(regs, in, ~t) : 0;
	put_pred(regs, in->d, mask, p);
	if (in->imm & IMM_Q)
		put_pred(regs, in->d2, mask, q);
}

/* x and y are expressions in i. */
#define COMPARE_INTS(bits, x, y)					\
	switch (cmp) {							\
	case CMP_EQ: WHERE(bits, (x) == (y)); break;			\
	case CMP_NE: WHERE(bits, (x) != (y)); break;			\
	case CMP_LT: WHERE(bits, (x) < (y)); break;			\
	case CMP_LE: WHERE(bits, (x) <= (y)); break;			\
	case CMP_GT: WHERE(bits, (x) > (y)); break;			\
	default: WHERE(bits, (x) >= (y)); break;			\
	}
#define COMPARE_FLOATS(bits, x, y)					\
	switch (cmp) {							\
	case CMP_EQ: WHERE(bits, (x) == (y)); break;			\
	case CMP_NE: WHERE(bits, (x) < (y) || (x) > (y)); break;	\
	case CMP_LT: WHERE(bits, (x) < (y)); break;			\
	case CMP_LE: WHERE(bits, (x) <= (y)); break;			\
	case CMP_GT: WHERE(bits, (x) > (y)); break;			\
	case CMP_GE: WHERE(bits, (x) >= (y)); break;			\
	case CMP_EQU: WHERE(bits, !((x) < (y) || (x) > (y))); break;	\
	case CMP_NEU: WHERE(bits, (x) != (y)); break;			\
	case CMP_LTU: WHERE(bits, !((x) >= (y))); break;		\
	case CMP_LEU: WHERE(bits, !((x) > (y))); break;			\
	case CMP_GTU: WHERE(bits, !((x) <= (y))); break;		\
	case CMP_GEU: WHERE(bits, !((x) < (y))); break;			\
	case CMP_NUM: WHERE(bits, (x) == (x) && (y) == (y)); break;	\
	default: WHERE(bits, (x) != (x) || (y) != (y)); break;		\
	}

static inline uint32_t compare_f32(const f32 *a, const f32 *b, uint32_t cmp)
{
	uint32_t t;
	COMPARE_FLOATS(t, a[i], b[i])
	return t;
}

/* A row of 16-bit floats from bit `shift` of each lane, as f32; subnormals of f16 flushed by .ftz. */
static inline void widen_f16(f32 *out, const u32 *in, uint32_t shift, uint32_t imm)
{
	const uint32_t limit = imm & IMM_FTZ ? 0x0400 : 0;
	EACH {
		uint32_t h = in[i] >> shift & 0xffff;
		out[i] = half_to_f32((h & 0x7fff) < limit ? h & 0x8000 : h);
	}
}
static inline void widen_bf16(f32 *out, const u32 *in, uint32_t shift)
{
	EACH out[i] = bf16_to_f32(in[i] >> shift & 0xffff);
}
static inline uint32_t compare_halves(const u32 *a, const u32 *b, uint32_t shift, bool bf, uint32_t imm)
{
	f32 x[32] __attribute__((aligned(64))), y[32] __attribute__((aligned(64)));
	if (bf) {
		widen_bf16(x, a, shift);
		widen_bf16(y, b, shift);
	} else {
		widen_f16(x, a, shift, imm);
		widen_f16(y, b, shift, imm);
	}
	return compare_f32(x, y, imm >> IMM_CMP_SHIFT & 15);
}

static inline uint32_t compare_flushed(const f32 *a, const f32 *b, uint32_t imm)
{
	f32 x[32] __attribute__((aligned(64))), y[32] __attribute__((aligned(64)));
	const uint32_t limit = flush_limit(imm);
	EACH x[i] = flush_if(a[i], limit);
	EACH y[i] = flush_if(b[i], limit);
	return compare_f32(x, y, imm >> IMM_CMP_SHIFT & 15);
}

/* Any comparison; *high is the truth of the upper halves of packed types. */
static uint32_t compare_any(unsigned char *regs, const struct alu_insn *in, uint32_t *high)
{
	const uint32_t cmp = in->imm >> IMM_CMP_SHIFT & 15, kind = in->imm & COMPARE_KIND;
	const s32 *as = ROW(s32, in->a), *bs = ROW(s32, in->b);
	const u32 *au = ROW(u32, in->a), *bu = ROW(u32, in->b);
	const s64 *al = ROW(s64, in->a), *bl = ROW(s64, in->b);
	const u64 *aul = ROW(u64, in->a), *bul = ROW(u64, in->b);
	const f64 *ad = ROW(f64, in->a), *bd = ROW(f64, in->b);
	uint32_t t = 0;
	switch (kind) {
	case COMPARE_S32: COMPARE_INTS(t, as[i], bs[i]) break;
	case COMPARE_U32: COMPARE_INTS(t, au[i], bu[i]) break;
	case COMPARE_S64: COMPARE_INTS(t, al[i], bl[i]) break;
	case COMPARE_U64: COMPARE_INTS(t, aul[i], bul[i]) break;
	case COMPARE_S16: COMPARE_INTS(t, (int16_t)as[i], (int16_t)bs[i]) break;
	case COMPARE_F32: t = compare_flushed(ROW(f32, in->a), ROW(f32, in->b), in->imm); break;
	case COMPARE_F64: COMPARE_FLOATS(t, ad[i], bd[i]) break;
	case COMPARE_F16X2: *high = compare_halves(au, bu, 16, false, in->imm); /* fall through */
	case COMPARE_F16: t = compare_halves(au, bu, 0, false, in->imm); break;
	case COMPARE_BF16X2: *high = compare_halves(au, bu, 16, true, in->imm); /* fall through */
	default: t = compare_halves(au, bu, 0, true, in->imm); break;
	}
	return t;
}

#endif
