/* Handlers of mov, selp, slct, setp and set. */
#include "alu_form.h"
#include "alu_compare_kind.h"

#define T(name) PTX_T_##name

/* ---- mov ---- */

/* log2 of the bits of one of n elements that fill `total` bits; -1 if they can't. */
static int element_log2(unsigned total, unsigned n)
{
	for (int k = 3; k <= 6; k++)
		if ((1u << k) * n == total)
			return k;
	return -1;
}
static const char *element_kinds(bool pack, int log2, unsigned total)
{
	/* [pack][log2 of an element - 3][16, 32, 64 bits] */
	static const char *const kinds[2][4][3] = {
		{ { "*hh", "*hr", "*hl" }, { "", "*hr", "*hl" }, { "", "", "*rl" }, { "", "", "" } },
		{ { "h*h", "r*h", "l*h" }, { "", "r*h", "l*h" }, { "", "", "l*r" }, { "", "", "" } },
	};
	if (total == 128)
		return log2 == 6 ? pack ? "q*l" : "*lq" : log2 == 5 ? pack ? "q*r" : "*rq" : pack ? "q*h" : "*hq";
	return kinds[pack][log2 - 3][total == 16 ? 0 : total == 32 ? 1 : 2];
}
static int mov_vector(struct form *s, bool pack, unsigned n)
{
	unsigned total = ptx_type_bits(form_t(s, 0));
	int log2 = element_log2(total, n);
	if (n < 2 || log2 < 0 || form_kind(form_t(s, 0)) == 'p')
		return NO_FN;
	form_is(s, 0, element_kinds(pack, log2, total));
	if (n == 2 && total == 32)
		return pack ? ALU_pack_2x16 : ALU_unpack_2x16;
	if (n == 2 && total == 64)
		return pack ? ALU_pack_2x32 : ALU_unpack_2x32;
	s->imm = (uint32_t)log2 | n << 8;
	return pack ? ALU_pack_any : ALU_unpack_any;
}
static unsigned sreg_bits(uint16_t r)
{
	static const uint8_t bits[] = {
#define SREG(id, text, n) n,
#include "ptx_sregs.def"
#undef SREG
	};
	return r < PTX_SREGS ? bits[r] : 0;
}
int choose_mov(struct form *s)
{
	const struct ptx_insn *in = s->in;
	if (in->n_types != 1 || in->n_ops != 2)
		return NO_FN;
	if (in->ops[0].kind == PTX_O_VEC)
		return mov_vector(s, false, in->ops[0].n);
	if (in->ops[1].kind == PTX_O_VEC)
		return mov_vector(s, true, in->ops[1].n);
	char k = form_kind(form_t(s, 0));
	unsigned special = in->ops[1].kind == PTX_O_SREG ? sreg_bits(in->ops[1].sreg) : 0;
	if (special == 64 && k == 'r')
		return form_is(s, ALU_mov_b32_wide, "rl");
	if (special == 32 && k == 'l') {
		s->imm = 0x64;		/* u64 of u32 */
		return form_is(s, ALU_cvt_wide_u_u, "lr");
	}
	if (special == 32 && k == 'h')
		return form_is(s, ALU_mov_b16, "hr");
	switch (k) {
	case 'p': return form_is(s, ALU_mov_pred, "pp");
	case 'q': return form_is(s, ALU_mov_b128, "qq");
	case 'l': case 'D': return form_same(s, ALU_mov_b64, form_t(s, 0), 2);
	default: return form_same(s, ALU_mov_b32, form_t(s, 0), 2);
	}
}

/* ---- selp, slct ---- */

int choose_selp(struct form *s)
{
	char k = form_kind(form_t(s, 0));
	if (s->in->n_types != 1 || k == 'p' || k == 'q')
		return NO_FN;
	bool wide = k == 'l' || k == 'D';
	char kinds[] = { k, k, k, 'p', 0 };
	return form_is(s, wide ? ALU_selp_b64 : ALU_selp_b32, kinds);
}
int choose_slct(struct form *s)
{
	char k = form_kind(form_t(s, 0));
	bool by_float = form_t(s, 1) == T(F32), wide = k == 'l' || k == 'D';
	if (s->in->n_types != 2 || k == 'p' || k == 'q' || (!by_float && form_t(s, 1) != T(S32)))
		return NO_FN;
	char kinds[] = { k, k, k, by_float ? 'F' : 'r', 0 };
	if (by_float)
		s->imm = form_flag(s, PTX_MOD_FTZ, IMM_FTZ);
	return form_is(s, by_float ? wide ? ALU_slct_b64_f32 : ALU_slct_b32_f32 : wide ? ALU_slct_b64_s32 : ALU_slct_b32_s32, kinds);
}

/* ---- setp, set ---- */

/* The comparison; unsigned ones (.lo, .hs, ...) are those of u types.  -1: none. */
static int comparison(struct form *s, bool is_float, bool is_unsigned)
{
	static const struct { uint16_t mod; uint8_t cmp; bool ints, floats; } table[] = {
		{ PTX_MOD_EQ, CMP_EQ, 1, 1 }, { PTX_MOD_NE, CMP_NE, 1, 1 }, { PTX_MOD_LT, CMP_LT, 1, 1 }, { PTX_MOD_LE, CMP_LE, 1, 1 },
		{ PTX_MOD_GT, CMP_GT, 1, 1 }, { PTX_MOD_GE, CMP_GE, 1, 1 }, { PTX_MOD_LO, CMP_LT, 1, 0 }, { PTX_MOD_LS, CMP_LE, 1, 0 },
		{ PTX_MOD_HI, CMP_GT, 1, 0 }, { PTX_MOD_HS, CMP_GE, 1, 0 }, { PTX_MOD_EQU, CMP_EQU, 0, 1 },
		{ PTX_MOD_NEU, CMP_NEU, 0, 1 }, { PTX_MOD_LTU, CMP_LTU, 0, 1 }, { PTX_MOD_LEU, CMP_LEU, 0, 1 },
		{ PTX_MOD_GTU, CMP_GTU, 0, 1 }, { PTX_MOD_GEU, CMP_GEU, 0, 1 }, { PTX_MOD_NUM, CMP_NUM, 0, 1 },
		{ PTX_MOD_ISNAN, CMP_ISNAN, 0, 1 },
	};
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++) {
		bool names_unsigned = table[i].ints && !table[i].floats;
		if (is_float ? table[i].floats : table[i].ints && (is_unsigned || !names_unsigned))
			if (has(s, table[i].mod))
				return table[i].cmp;
	}
	return -1;
}
struct comparand { enum ptx_type type; uint32_t kind; bool is_float, is_unsigned; char letter; };
static const struct comparand comparands[] = {
	{ T(S32), COMPARE_S32, false, false, 'r' }, { T(U32), COMPARE_U32, false, true, 'r' }, { T(B32), COMPARE_U32, false, true, 'r' },
	{ T(S64), COMPARE_S64, false, false, 'l' }, { T(U64), COMPARE_U64, false, true, 'l' }, { T(B64), COMPARE_U64, false, true, 'l' },
	{ T(S16), COMPARE_S16, false, false, 'h' }, { T(U16), COMPARE_U32, false, true, 'h' }, { T(B16), COMPARE_U32, false, true, 'h' },
	{ T(F32), COMPARE_F32, true, false, 'F' }, { T(F64), COMPARE_F64, true, false, 'D' }, { T(F16), COMPARE_F16, true, false, 'H' },
	{ T(BF16), COMPARE_BF16, true, false, 'B' }, { T(F16X2), COMPARE_F16X2, true, false, 'r' },
	{ T(BF16X2), COMPARE_BF16X2, true, false, 'r' },
};
/* Fills s->imm but for what is written; NULL: no such comparison. */
static const struct comparand *compare(struct form *s, enum ptx_type t)
{
	const struct comparand *c = NULL;
	for (unsigned i = 0; i < sizeof comparands / sizeof *comparands; i++)
		if (comparands[i].type == t)
			c = &comparands[i];
	if (!c)
		return NULL;
	int cmp = comparison(s, c->is_float, c->is_unsigned);
	if (cmp < 0)
		return NULL;
	uint32_t how = has(s, PTX_MOD_AND) ? BOOL_AND : has(s, PTX_MOD_OR) ? BOOL_OR : has(s, PTX_MOD_XOR) ? BOOL_XOR : BOOL_NONE;
	s->imm = c->kind | (uint32_t)cmp << IMM_CMP_SHIFT | how << IMM_BOOL_SHIFT;
	if (c->kind == COMPARE_F32 || c->kind == COMPARE_F16 || c->kind == COMPARE_F16X2)
		s->imm |= form_flag(s, PTX_MOD_FTZ, IMM_FTZ);
	return c;
}
static int quick_setp(uint32_t imm)
{
	static const int s32[] = { ALU_setp_eq_s32, ALU_setp_ne_s32, ALU_setp_lt_s32, ALU_setp_le_s32, ALU_setp_gt_s32, ALU_setp_ge_s32 };
	static const int u32[] = { ALU_setp_eq_u32, ALU_setp_ne_u32, ALU_setp_lt_u32, ALU_setp_le_u32, ALU_setp_gt_u32, ALU_setp_ge_u32 };
	static const int f32[] = { ALU_setp_eq_f32, ALU_setp_any, ALU_setp_lt_f32, ALU_setp_le_f32, ALU_setp_gt_f32, ALU_setp_ge_f32 };
	uint32_t cmp = imm >> IMM_CMP_SHIFT & 15;
	bool is_eq = cmp == CMP_EQ, is_ne = cmp == CMP_NE;
	switch (imm & COMPARE_KIND) {
	case COMPARE_S32: return s32[cmp];
	case COMPARE_U32: return u32[cmp];
	case COMPARE_F32:
		if (imm & IMM_FTZ)
			return ALU_setp_any;
		return cmp <= CMP_GE ? f32[cmp] : cmp == CMP_NEU ? ALU_setp_neu_f32 : ALU_setp_any;
	case COMPARE_S64:
		return is_eq ? ALU_setp_eq_b64 : is_ne ? ALU_setp_ne_b64 : cmp == CMP_LT ? ALU_setp_lt_s64 :
		       cmp == CMP_GE ? ALU_setp_ge_s64 : ALU_setp_any;
	case COMPARE_U64:
		return is_eq ? ALU_setp_eq_b64 : is_ne ? ALU_setp_ne_b64 : cmp == CMP_LT ? ALU_setp_lt_u64 :
		       cmp == CMP_GE ? ALU_setp_ge_u64 : ALU_setp_any;
	default:
		return ALU_setp_any;
	}
}
int choose_setp(struct form *s)
{
	const struct ptx_insn *in = s->in;
	const struct comparand *c = in->n_types == 1 ? compare(s, form_t(s, 0)) : NULL;
	if (!c || in->n_ops < 3)
		return NO_FN;
	bool joined = s->imm >> IMM_BOOL_SHIFT & 3, pair = in->ops[0].kind == PTX_O_PAIR;
	char kinds[8], *k = kinds;
	if (pair) {
		s->imm |= IMM_Q;
		*k++ = 'P';
	}
	*k++ = 'p', *k++ = c->letter, *k++ = c->letter;
	if (joined)
		*k++ = 'p';
	*k = 0;
	return form_is(s, quick_setp(s->imm), kinds);
}
int choose_set(struct form *s)
{
	const struct comparand *c = s->in->n_types == 2 ? compare(s, form_t(s, 1)) : NULL;
	if (!c)
		return NO_FN;
	bool packed = c->kind == COMPARE_F16X2 || c->kind == COMPARE_BF16X2;
	uint32_t value;
	char d = 'r';
	switch (form_t(s, 0)) {
	case T(U32): case T(S32): value = TRUE_ONES32; break;
	case T(F32): value = TRUE_F32; break;
	case T(U16): case T(S16): value = TRUE_ONES16, d = 'h'; break;
	case T(F16): value = TRUE_F16, d = 'h'; break;
	case T(BF16): value = TRUE_BF16, d = 'h'; break;
	case T(F16X2): value = TRUE_F16; break;
	case T(BF16X2): value = TRUE_BF16; break;
	default: return NO_FN;
	}
	bool packed_d = form_t(s, 0) == T(F16X2) || form_t(s, 0) == T(BF16X2);
	if (packed != packed_d && !(packed && d == 'r' && value == TRUE_ONES32))
		return NO_FN;
	s->imm |= value << IMM_TRUE_SHIFT;
	char kinds[] = { d, c->letter, c->letter, s->imm >> IMM_BOOL_SHIFT & 3 ? 'p' : 0, 0 };
	return form_is(s, ALU_set_any, kinds);
}
