/* Handlers of integer, logic and bit instructions. */
#include "alu_form.h"

#define T(name) PTX_T_##name
static const uint8_t six[] = { T(U32), T(S32), T(U64), T(S64), T(U16), T(S16) };
#define FIRST_SIX(s) form_type(s, 6, six)

/* ---- carries ---- */

static void carry(struct form *s, bool in, bool out)
{
	s->uses_carry = in;
	s->sets_carry = out;
	s->imm |= (in ? IMM_CARRY_IN : 0) | (out ? IMM_CARRY_OUT : 0);
}

/* addc, subc, madc. */
int choose_carry(struct form *s)
{
	const uint8_t types[] = { T(U32), T(S32), T(U64), T(S64), T(B32), T(B64) };
	int t = form_type(s, 6, types);
	if (t < 0)
		return NO_FN;
	bool wide = t == 2 || t == 3 || t == 5;
	carry(s, true, has(s, PTX_MOD_CC));
	switch (s->in->op) {
	case PTX_ADDC: return form_is(s, wide ? ALU_addc_u64 : ALU_addc_u32, wide ? "lll" : "rrr");
	case PTX_SUBC: return form_is(s, wide ? ALU_subc_u64 : ALU_subc_u32, wide ? "lll" : "rrr");
	default: break;
	}
	const char *kinds = wide ? "llll" : "rrrr";
	if (has(s, PTX_MOD_LO))
		return form_is(s, wide ? ALU_madc_lo_u64 : ALU_madc_lo_u32, kinds);
	if (!has(s, PTX_MOD_HI))
		return NO_FN;
	bool is_signed = t == 1 || t == 3;
	return form_is(s, wide ? is_signed ? ALU_madc_hi_s64 : ALU_madc_hi_u64 : is_signed ? ALU_madc_hi_s32 : ALU_madc_hi_u32, kinds);
}

/* ---- add, sub: what floats have left ---- */

static int add_int(struct form *s, const int plain[3], int sat, int with_carry32, int with_carry64, int packed)
{
	int t = FIRST_SIX(s);
	if (form_t(s, 0) == T(U16X2) || form_t(s, 0) == T(S16X2))
		return packed < 0 ? NO_FN : form_is(s, packed, "rrr");
	if (t < 0)
		return NO_FN;
	if (t == 1 && has(s, PTX_MOD_SAT))
		return form_is(s, sat, "rrr");
	if (t < 4 && has(s, PTX_MOD_CC)) {
		carry(s, false, true);
		return form_is(s, t < 2 ? with_carry32 : with_carry64, t < 2 ? "rrr" : "lll");
	}
	return form_same(s, plain[t / 2], form_t(s, 0), 3);
}
int choose_add_int(struct form *s)
{
	static const int plain[] = { ALU_add_u32, ALU_add_u64, ALU_add_u16 };
	return add_int(s, plain, ALU_add_sat_s32, ALU_addc_u32, ALU_addc_u64, ALU_add_u16x2);
}
int choose_sub_int(struct form *s)
{
	static const int plain[] = { ALU_sub_u32, ALU_sub_u64, ALU_sub_u16 };
	return add_int(s, plain, ALU_sub_sat_s32, ALU_subc_u32, ALU_subc_u64, -1);
}

/* ---- mul, mad ---- */

int choose_mul_int(struct form *s)
{
	static const int high[] = { ALU_mul_hi_u32, ALU_mul_hi_s32, ALU_mul_hi_u64, ALU_mul_hi_s64, ALU_mul_hi_u16, ALU_mul_hi_s16 };
	static const int low[] = { ALU_mul_lo_u32, ALU_mul_lo_u64, ALU_mul_lo_u16 };
	static const int wide[] = { ALU_mul_wide_u32, ALU_mul_wide_s32, NO_FN, NO_FN, ALU_mul_wide_u16, ALU_mul_wide_s16 };
	int t = FIRST_SIX(s);
	if (t < 0)
		return NO_FN;
	if (has(s, PTX_MOD_WIDE))
		return form_is(s, wide[t], t < 2 ? "lrr" : "rhh");
	if (has(s, PTX_MOD_HI))
		return form_same(s, high[t], form_t(s, 0), 3);
	return has(s, PTX_MOD_LO) ? form_same(s, low[t / 2], form_t(s, 0), 3) : NO_FN;
}

int choose_mad_int(struct form *s)
{
	static const int high[] = { ALU_mad_hi_u32, ALU_mad_hi_s32, ALU_mad_hi_u64, ALU_mad_hi_s64, ALU_mad_hi_u16, ALU_mad_hi_s16 };
	static const int low[] = { ALU_mad_lo_u32, ALU_mad_lo_u64, ALU_mad_lo_u16 };
	static const int wide[] = { ALU_mad_wide_u32, ALU_mad_wide_s32, NO_FN, NO_FN, ALU_mad_wide_u16, ALU_mad_wide_s16 };
	static const int high_carry[] = { ALU_madc_hi_u32, ALU_madc_hi_s32, ALU_madc_hi_u64, ALU_madc_hi_s64 };
	static const int low_carry[] = { ALU_madc_lo_u32, ALU_madc_lo_u64 };
	int t = FIRST_SIX(s);
	if (t < 0)
		return NO_FN;
	if (has(s, PTX_MOD_WIDE))
		return form_is(s, wide[t], t < 2 ? "lrrl" : "rhhr");
	bool hi = has(s, PTX_MOD_HI);
	if (!hi && !has(s, PTX_MOD_LO))
		return NO_FN;
	if (t < 4 && has(s, PTX_MOD_CC)) {
		carry(s, false, true);
		return form_same(s, hi ? high_carry[t] : low_carry[t / 2], form_t(s, 0), 4);
	}
	if (hi && t == 1 && has(s, PTX_MOD_SAT))
		return form_is(s, ALU_mad_hi_sat_s32, "rrrr");
	return form_same(s, hi ? high[t] : low[t / 2], form_t(s, 0), 4);
}

int choose_mul24(struct form *s)
{
	static const int ids[2][2][2] = {
		{ { ALU_mul24_lo_u32, ALU_mul24_lo_s32 }, { ALU_mul24_hi_u32, ALU_mul24_hi_s32 } },
		{ { ALU_mad24_lo_u32, ALU_mad24_lo_s32 }, { ALU_mad24_hi_u32, ALU_mad24_hi_s32 } },
	};
	int t = form_type(s, 2, six), mad = s->in->op == PTX_MAD24;
	bool hi = has(s, PTX_MOD_HI);
	if (t < 0 || (!hi && !has(s, PTX_MOD_LO)))
		return NO_FN;
	if (mad && hi && t == 1 && has(s, PTX_MOD_SAT))
		return form_is(s, ALU_mad24_hi_sat_s32, "rrrr");
	return form_is(s, ids[mad][hi][t], mad ? "rrrr" : "rrr");
}

/* ---- div, rem, min, max, abs, neg, sad, dot products ---- */

int choose_div_int(struct form *s)
{
	static const int ids[] = { ALU_div_u32, ALU_div_s32, ALU_div_u64, ALU_div_s64, ALU_div_u16, ALU_div_s16 };
	int t = FIRST_SIX(s);
	return t < 0 ? NO_FN : form_same(s, ids[t], form_t(s, 0), 3);
}
int choose_rem(struct form *s)
{
	static const int ids[] = { ALU_rem_u32, ALU_rem_s32, ALU_rem_u64, ALU_rem_s64, ALU_rem_u16, ALU_rem_s16 };
	int t = FIRST_SIX(s);
	return t < 0 ? NO_FN : form_same(s, ids[t], form_t(s, 0), 3);
}

int choose_minmax_int(struct form *s)
{
	static const int ids[2][6] = {
		{ ALU_min_u32, ALU_min_s32, ALU_min_u64, ALU_min_s64, ALU_min_u32, ALU_min_s16 },
		{ ALU_max_u32, ALU_max_s32, ALU_max_u64, ALU_max_s64, ALU_max_u32, ALU_max_s16 },
	};
	bool max = s->in->op == PTX_MAX;
	if (s->in->n_types == 1 && form_t(s, 0) == T(U16X2))
		return form_is(s, max ? ALU_max_u16x2 : ALU_min_u16x2, "rrr");
	if (s->in->n_types == 1 && form_t(s, 0) == T(S16X2)) {
		if (has(s, PTX_MOD_RELU))
			return form_is(s, max ? ALU_max_relu_s16x2 : ALU_min_relu_s16x2, "rrr");
		return form_is(s, max ? ALU_max_s16x2 : ALU_min_s16x2, "rrr");
	}
	int t = FIRST_SIX(s);
	if (t < 0)
		return NO_FN;
	if (t == 1 && has(s, PTX_MOD_RELU))
		return form_is(s, max ? ALU_max_relu_s32 : ALU_min_relu_s32, "rrr");
	return form_same(s, ids[max][t], form_t(s, 0), 3);
}

int choose_abs_int(struct form *s)
{
	static const uint8_t types[] = { T(S32), T(S64), T(S16) };
	static const int ids[2][3] = { { ALU_abs_s32, ALU_abs_s64, ALU_abs_s16 }, { ALU_neg_s32, ALU_neg_s64, ALU_neg_s16 } };
	int t = form_type(s, 3, types);
	return t < 0 ? NO_FN : form_same(s, ids[s->in->op == PTX_NEG][t], form_t(s, 0), 2);
}

int choose_sad(struct form *s)
{
	static const int ids[] = { ALU_sad_u32, ALU_sad_s32, ALU_sad_u64, ALU_sad_s64, ALU_sad_u16, ALU_sad_s16 };
	int t = FIRST_SIX(s);
	return t < 0 ? NO_FN : form_same(s, ids[t], form_t(s, 0), 4);
}

int choose_dp(struct form *s)
{
	static const int four[2][2] = { { ALU_dp4a_uu, ALU_dp4a_us }, { ALU_dp4a_su, ALU_dp4a_ss } };
	static const int two[2][2] = { { ALU_dp2a_uu, ALU_dp2a_us }, { ALU_dp2a_su, ALU_dp2a_ss } };
	enum ptx_type a = form_t(s, 0), b = form_t(s, 1);
	if (s->in->n_types != 2 || (a != T(U32) && a != T(S32)) || (b != T(U32) && b != T(S32)))
		return NO_FN;
	if (s->in->op == PTX_DP4A)
		return form_is(s, four[a == T(S32)][b == T(S32)], "rrrr");
	if (!has(s, PTX_MOD_LO) && !has(s, PTX_MOD_HI))
		return NO_FN;
	s->imm = form_flag(s, PTX_MOD_HI, IMM_HIGH);
	return form_is(s, two[a == T(S32)][b == T(S32)], "rrrr");
}

/* ---- logic ---- */

int choose_logic(struct form *s)
{
	static const uint8_t types[] = { T(B32), T(B64), T(B16), T(PRED) };
	static const int ids[3][4] = {
		{ ALU_and_b32, ALU_and_b64, ALU_and_b32, ALU_and_pred },
		{ ALU_or_b32, ALU_or_b64, ALU_or_b32, ALU_or_pred },
		{ ALU_xor_b32, ALU_xor_b64, ALU_xor_b32, ALU_xor_pred },
	};
	int t = form_type(s, 4, types), op = s->in->op == PTX_AND ? 0 : s->in->op == PTX_OR ? 1 : 2;
	return t < 0 ? NO_FN : form_same(s, ids[op][t], form_t(s, 0), 3);
}
int choose_not(struct form *s)
{
	static const uint8_t types[] = { T(B32), T(B64), T(B16), T(PRED) };
	static const int ids[2][4] = { { ALU_not_b32, ALU_not_b64, ALU_not_b16, ALU_not_pred },
				       { ALU_cnot_b32, ALU_cnot_b64, ALU_cnot_b32, NO_FN } };
	int t = form_type(s, 4, types);
	return t < 0 ? NO_FN : form_same(s, ids[s->in->op == PTX_CNOT][t], form_t(s, 0), 2);
}

int choose_shift(struct form *s)
{
	static const uint8_t left[] = { T(B32), T(B64), T(B16) };
	static const int left_ids[] = { ALU_shl_b32, ALU_shl_b64, ALU_shl_b16 };
	static const uint8_t right[] = { T(U32), T(S32), T(U64), T(S64), T(U16), T(S16), T(B32), T(B64), T(B16) };
	static const int right_ids[] = { ALU_shr_u32, ALU_shr_s32, ALU_shr_u64, ALU_shr_s64, ALU_shr_u32, ALU_shr_s16,
					 ALU_shr_u32, ALU_shr_u64, ALU_shr_u32 };
	int t = s->in->op == PTX_SHL ? form_type(s, 3, left) : form_type(s, 9, right);
	if (t < 0)
		return NO_FN;
	char k = form_kind(form_t(s, 0));
	return form_is(s, s->in->op == PTX_SHL ? left_ids[t] : right_ids[t], k == 'l' ? "llr" : k == 'h' ? "hhr" : "rrr");
}

int choose_shf(struct form *s)
{
	bool left = has(s, PTX_MOD_L), clamp = has(s, PTX_MOD_CLAMP);
	if (form_t(s, 0) != T(B32) || (!left && !has(s, PTX_MOD_R)) || (!clamp && !has(s, PTX_MOD_WRAP)))
		return NO_FN;
	if (left)
		return form_is(s, clamp ? ALU_shf_l_clamp : ALU_shf_l_wrap, "rrrr");
	return form_is(s, clamp ? ALU_shf_r_clamp : ALU_shf_r_wrap, "rrrr");
}

int choose_lop3(struct form *s)
{
	static const struct { uint8_t table; int id; } common[] = {
		{ 0x80, ALU_lop3_and3 }, { 0xfe, ALU_lop3_or3 }, { 0x96, ALU_lop3_xor3 }, { 0xea, ALU_lop3_and_or },
		{ 0x6a, ALU_lop3_and_xor }, { 0xa8, ALU_lop3_or_and }, { 0xf8, ALU_lop3_or_of_and }, { 0xca, ALU_lop3_select },
		{ 0x30, ALU_lop3_andn },
	};
	const struct ptx_insn *in = s->in;
	if (form_t(s, 0) != T(B32) || in->n_ops < 5 || in->ops[4].kind != PTX_O_INT || in->ops[4].imm > 255)
		return NO_FN;
	uint32_t table = (uint32_t)in->ops[4].imm;
	s->imm = table << IMM_BYTE_SHIFT;
	uint32_t how = has(s, PTX_MOD_AND) ? BOOL_AND : has(s, PTX_MOD_OR) ? BOOL_OR : has(s, PTX_MOD_XOR) ? BOOL_XOR : BOOL_NONE;
	if (how != BOOL_NONE) {
		s->imm |= how << IMM_BOOL_SHIFT;
		return form_is(s, ALU_lop3_pred, "Prrrrxp");
	}
	form_is(s, 0, "rrrrx");
	for (unsigned i = 0; i < sizeof common / sizeof *common; i++)
		if (common[i].table == table)
			return common[i].id;
	return ALU_lop3_any;
}

int choose_prmt(struct form *s)
{
	static const uint16_t modes[] = { PTX_MOD_F4E, PTX_MOD_B4E, PTX_MOD_RC8, PTX_MOD_ECL, PTX_MOD_ECR, PTX_MOD_RC16 };
	if (form_t(s, 0) != T(B32))
		return NO_FN;
	for (uint32_t i = 0; i < 6; i++)
		if (has(s, modes[i])) {
			s->imm = i << IMM_BYTE_SHIFT;
			return form_is(s, ALU_prmt_mode, "rrrr");
		}
	const struct ptx_operand *sel = s->in->n_ops == 4 ? &s->in->ops[3] : NULL;
	if (sel && sel->kind == PTX_O_INT && !(sel->imm & 0x8888)) {
		s->imm = sel->imm & 0x7777;
		return form_is(s, ALU_prmt_imm, "rrrr");
	}
	return form_is(s, ALU_prmt_b32, "rrrr");
}

/* ---- bit fields ---- */

int choose_bfe(struct form *s)
{
	static const int ids[] = { ALU_bfe_u32, ALU_bfe_s32, ALU_bfe_u64, ALU_bfe_s64 };
	int t = form_type(s, 4, six);
	return t < 0 ? NO_FN : form_is(s, ids[t], t < 2 ? "rrrr" : "llrr");
}
int choose_bfi(struct form *s)
{
	static const uint8_t types[] = { T(B32), T(B64) };
	int t = form_type(s, 2, types);
	return t < 0 ? NO_FN : t ? form_is(s, ALU_bfi_b64, "lllrr") : form_is(s, ALU_bfi_b32, "rrrrr");
}
/* bfind, popc, clz, brev. */
int choose_count(struct form *s)
{
	static const uint8_t bits[] = { T(B32), T(B64) };
	s->pipe = PIPE_SFU;
	if (s->in->op == PTX_BFIND) {
		int t = form_type(s, 4, six);
		if (t < 0)
			return NO_FN;
		s->imm = form_flag(s, PTX_MOD_SHIFTAMT, IMM_SHIFTAMT) | (t & 1 ? IMM_SIGNED : 0);
		return form_is(s, t < 2 ? ALU_bfind_32 : ALU_bfind_64, t < 2 ? "rr" : "rl");
	}
	int t = form_type(s, 2, bits);
	if (t < 0)
		return NO_FN;
	switch (s->in->op) {
	case PTX_POPC: return form_is(s, t ? ALU_popc_b64 : ALU_popc_b32, t ? "rl" : "rr");
	case PTX_CLZ: return form_is(s, t ? ALU_clz_b64 : ALU_clz_b32, t ? "rl" : "rr");
	default: return form_is(s, t ? ALU_brev_b64 : ALU_brev_b32, t ? "ll" : "rr");
	}
}
int choose_bmsk(struct form *s)
{
	bool clamp = has(s, PTX_MOD_CLAMP);
	if (form_t(s, 0) != T(B32) || (!clamp && !has(s, PTX_MOD_WRAP)))
		return NO_FN;
	return form_is(s, clamp ? ALU_bmsk_clamp : ALU_bmsk_wrap, "rrr");
}
int choose_szext(struct form *s)
{
	int t = form_type(s, 2, six);
	s->imm = form_flag(s, PTX_MOD_WRAP, IMM_WRAP) | (t == 1 ? IMM_SIGNED : 0);
	has(s, PTX_MOD_CLAMP);
	return t < 0 ? NO_FN : form_is(s, ALU_szext, "rrr");
}
int choose_fns(struct form *s) { return form_t(s, 0) == T(B32) ? form_is(s, ALU_fns_b32, "rrrr") : NO_FN; }

/* ---- video ---- */

/* The pair of a video op and its lanes: 1, 2 or 4. */
static enum alu_simd video_op(uint16_t op, unsigned *lanes)
{
	switch (op) {
	case PTX_VADD: *lanes = 1; return SIMD_ADD;
	case PTX_VADD2: *lanes = 2; return SIMD_ADD;
	case PTX_VADD4: *lanes = 4; return SIMD_ADD;
	case PTX_VSUB: *lanes = 1; return SIMD_SUB;
	case PTX_VSUB2: *lanes = 2; return SIMD_SUB;
	case PTX_VSUB4: *lanes = 4; return SIMD_SUB;
	case PTX_VAVRG2: *lanes = 2; return SIMD_AVRG;
	case PTX_VAVRG4: *lanes = 4; return SIMD_AVRG;
	case PTX_VABSDIFF: *lanes = 1; return SIMD_ABSDIFF;
	case PTX_VABSDIFF2: *lanes = 2; return SIMD_ABSDIFF;
	case PTX_VABSDIFF4: *lanes = 4; return SIMD_ABSDIFF;
	case PTX_VMIN: *lanes = 1; return SIMD_MIN;
	case PTX_VMIN2: *lanes = 2; return SIMD_MIN;
	case PTX_VMIN4: *lanes = 4; return SIMD_MIN;
	case PTX_VMAX: *lanes = 1; return SIMD_MAX;
	case PTX_VMAX2: *lanes = 2; return SIMD_MAX;
	case PTX_VMAX4: *lanes = 4; return SIMD_MAX;
	case PTX_VSET: *lanes = 1; return SIMD_SET;
	case PTX_VSHL: *lanes = 1; return SIMD_SHL;
	case PTX_VSHR: *lanes = 1; return SIMD_SHR;
	case PTX_VMAD: *lanes = 1; return SIMD_MAD;
	case PTX_VSET2: *lanes = 2; return SIMD_SET;
	default: *lanes = 4; return SIMD_SET;
	}
}
int choose_video(struct form *s)
{
	static const uint16_t compare[] = { PTX_MOD_EQ, PTX_MOD_NE, PTX_MOD_LT, PTX_MOD_LE, PTX_MOD_GT, PTX_MOD_GE };
	unsigned lanes;
	enum alu_simd op = video_op(s->in->op, &lanes);
	/* vset names the types of a and b alone */
	unsigned first = op == SIMD_SET ? 0 : 1;
	uint32_t d = op == SIMD_SET ? 0 : form_t(s, 0) == T(S32), a = form_t(s, first) == T(S32), b = form_t(s, first + 1) == T(S32);
	if (s->in->n_types != first + 2)
		return NO_FN;
	for (unsigned i = 0; i < s->in->n_types; i++)
		if (form_t(s, i) != T(U32) && form_t(s, i) != T(S32))
			return NO_FN;
	s->imm = op | (a ? SIMD_A_SIGNED : 0) | (b ? SIMD_B_SIGNED : 0) | (d ? SIMD_D_SIGNED : 0);
	s->imm |= form_flag(s, PTX_MOD_SAT, SIMD_SAT);
	if (op == SIMD_SET) {
		bool found = false;
		for (uint32_t i = 0; i < 6; i++)
			if (has(s, compare[i])) {
				s->imm |= i << SIMD_CMP_SHIFT;
				found = true;
			}
		if (!found)
			return NO_FN;
	}
	if (op == SIMD_MAD) {
		s->imm |= has(s, PTX_MOD_SHR7) ? 7 << SIMD_CMP_SHIFT : has(s, PTX_MOD_SHR15) ? 15 << SIMD_CMP_SHIFT : 0;
		return has(s, PTX_MOD_PO) ? NO_FN : form_is(s, ALU_simd1, "rrrr");
	}
	if (op == SIMD_SHL || op == SIMD_SHR) {
		bool wrap = has(s, PTX_MOD_WRAP);
		if (!wrap && !has(s, PTX_MOD_CLAMP))
			return NO_FN;
		s->imm |= wrap ? SIMD_WRAP : 0;
	}
	bool add = has(s, PTX_MOD_ADD);
	s->imm |= add ? SIMD_ACCUMULATE : 0;
	if (lanes == 1) {
		uint32_t then = add ? SIMD_ACCUMULATE : has(s, PTX_MOD_MIN) ? SIMD_THEN_MIN : has(s, PTX_MOD_MAX) ? SIMD_THEN_MAX : 0;
		s->imm |= then;
		if ((then == SIMD_THEN_MIN || then == SIMD_THEN_MAX) && !d) {
			s->why = "hardware takes the minimum and maximum of u32 for something else";
			return NO_FN;
		}
		return form_is(s, ALU_simd1, then ? "rrrr" : "rrr");
	}
	if (op == SIMD_ABSDIFF && lanes == 4 && !a && !b && !(s->imm & SIMD_SAT))
		return form_is(s, add ? ALU_vsad4_u : ALU_vabsdiff4_u, "rrrr");
	return form_is(s, lanes == 4 ? ALU_simd4 : ALU_simd2, "rrrr");
}
