/* Handlers of floating-point instructions. */
#include "alu_form.h"

#define T(name) PTX_T_##name

/* Handlers of one operation in all types; NO_FN where there is none. */
struct family { int f32, f32_ftz, f32_any, f64, f64_any, f16, f16_any, f16x2, f16x2_any, bf16, bf16x2, bf16_any, bf16x2_any; };

static int arithmetic(struct form *s, const struct family *f, unsigned operands, bool relu)
{
	enum ptx_type t = form_t(s, 0);
	if (s->in->n_types != 1)
		return NO_FN;
	uint32_t round = form_round(s);
	s->imm = round << IMM_ROUND_SHIFT;
	switch (t) {
	case T(F32):
		s->pipe = PIPE_FP32;
		s->imm |= form_flag(s, PTX_MOD_FTZ, IMM_FTZ) | form_flag(s, PTX_MOD_SAT, IMM_SAT);
		if (round != ROUND_NEAREST || s->imm & IMM_SAT || (s->imm & IMM_FTZ && f->f32_ftz == NO_FN))
			return form_same(s, f->f32_any, t, operands);
		return form_same(s, s->imm & IMM_FTZ ? f->f32_ftz : f->f32, t, operands);
	case T(F64):
		s->pipe = PIPE_FP64;
		return form_same(s, round == ROUND_NEAREST ? f->f64 : f->f64_any, t, operands);
	case T(F16): case T(F16X2):
		s->pipe = PIPE_FP16;
		s->imm |= form_flag(s, PTX_MOD_FTZ, IMM_FTZ) | form_flag(s, PTX_MOD_SAT, IMM_SAT);
		break;
	case T(BF16): case T(BF16X2):
		s->pipe = PIPE_FP16;
		break;
	default:
		return NO_FN;
	}
	if (round != ROUND_NEAREST)
		return NO_FN;
	if (relu)
		s->imm |= form_flag(s, PTX_MOD_RELU, IMM_RELU);
	bool any = s->imm & (IMM_FTZ | IMM_SAT | IMM_RELU);
	if (t == T(F16) || t == T(F16X2))
		return form_same(s, t == T(F16) ? any ? f->f16_any : f->f16 : any ? f->f16x2_any : f->f16x2, t, operands);
	int id = t == T(BF16) ? any ? f->bf16_any : f->bf16 : any ? f->bf16x2_any : f->bf16x2;
	return form_same(s, id, t, operands);
}

static bool is_float(const struct form *s)
{
	switch (form_t(s, 0)) {
	case T(F16): case T(F16X2): case T(BF16): case T(BF16X2): case T(F32): case T(F64): return true;
	default: return false;
	}
}

#define FAMILY(op) { ALU_##op##_f32, ALU_##op##_ftz_f32, ALU_##op##_f32_any, ALU_##op##_f64, ALU_##op##_f64_any, \
		     ALU_##op##_f16, ALU_##op##_f16_any, ALU_##op##_f16x2, ALU_##op##_f16x2_any, ALU_##op##_bf16, ALU_##op##_bf16x2, NO_FN, NO_FN }
#define SINGLES(op) { ALU_##op##_f32, NO_FN, ALU_##op##_f32_any, ALU_##op##_f64, ALU_##op##_f64_any, \
		      NO_FN, NO_FN, NO_FN, NO_FN, NO_FN, NO_FN, NO_FN, NO_FN }
int choose_add(struct form *s)
{
	static const struct family f = FAMILY(add);
	return is_float(s) ? arithmetic(s, &f, 3, false) : choose_add_int(s);
}
int choose_sub(struct form *s)
{
	static const struct family f = FAMILY(sub);
	return is_float(s) ? arithmetic(s, &f, 3, false) : choose_sub_int(s);
}
int choose_mul(struct form *s)
{
	static const struct family f = FAMILY(mul);
	return is_float(s) ? arithmetic(s, &f, 3, false) : choose_mul_int(s);
}
int choose_fma(struct form *s)
{
	static const struct family f = { ALU_fma_f32, ALU_fma_ftz_f32, ALU_fma_f32_any, ALU_fma_f64, ALU_fma_f64_any, ALU_fma_f16,
					 ALU_fma_f16_any, ALU_fma_f16x2, ALU_fma_f16x2_any, ALU_fma_bf16, ALU_fma_bf16x2,
					 ALU_fma_bf16_any, ALU_fma_bf16x2_any };
	return arithmetic(s, &f, 4, true);
}
int choose_mad(struct form *s)
{
	static const struct family f = FAMILY(fma);
	if (form_t(s, 0) == T(F32) || form_t(s, 0) == T(F64))
		return arithmetic(s, &f, 4, false);
	return choose_mad_int(s);
}

static int approximate(struct form *s, int id, unsigned operands)
{
	if (s->in->n_types != 1 || form_t(s, 0) != T(F32))
		return NO_FN;
	s->pipe = PIPE_SFU;
	s->imm = form_flag(s, PTX_MOD_FTZ, IMM_FTZ);
	return form_same(s, id, T(F32), operands);
}
int choose_div(struct form *s)
{
	static const struct family f = SINGLES(div);
	if (!is_float(s))
		return choose_div_int(s);
	if (has(s, PTX_MOD_APPROX))
		return approximate(s, ALU_div_approx, 3);
	if (has(s, PTX_MOD_FULL))
		return approximate(s, ALU_div_full, 3);
	return arithmetic(s, &f, 3, false);
}
int choose_rcp(struct form *s)
{
	static const struct family f = SINGLES(rcp);
	if (!has(s, PTX_MOD_APPROX))
		return arithmetic(s, &f, 2, false);
	if (form_t(s, 0) == T(F64) && has(s, PTX_MOD_FTZ)) {
		s->pipe = PIPE_SFU;
		return form_is(s, ALU_rcp_approx_ftz_f64, "DD");
	}
	return approximate(s, ALU_rcp_approx, 2);
}
int choose_sqrt(struct form *s)
{
	static const struct family f = SINGLES(sqrt);
	return has(s, PTX_MOD_APPROX) ? approximate(s, ALU_sqrt_approx, 2) : arithmetic(s, &f, 2, false);
}
int choose_rsqrt(struct form *s)
{
	if (!has(s, PTX_MOD_APPROX))
		return NO_FN;
	if (form_t(s, 0) == T(F64)) {
		s->pipe = PIPE_SFU;
		return form_is(s, has(s, PTX_MOD_FTZ) ? ALU_rsqrt_approx_ftz_f64 : ALU_rsqrt_approx_f64, "DD");
	}
	return approximate(s, ALU_rsqrt_approx, 2);
}

/* ex2, lg2, sin, cos, tanh. */
int choose_sfu(struct form *s)
{
	static const uint8_t halves[] = { T(F16), T(F16X2), T(BF16), T(BF16X2) };
	static const int ex2[] = { ALU_ex2_f16, ALU_ex2_f16x2, ALU_ex2_bf16, ALU_ex2_bf16x2 };
	static const int ex2_ftz[] = { ALU_ex2_f16_any, ALU_ex2_f16x2_any };
	static const int tanh[] = { ALU_tanh_f16, ALU_tanh_f16x2, ALU_tanh_bf16, ALU_tanh_bf16x2 };
	if (!has(s, PTX_MOD_APPROX))
		return NO_FN;
	int t = form_type(s, 4, halves);
	if (t >= 0 && (s->in->op == PTX_EX2 || s->in->op == PTX_TANH)) {
		s->pipe = PIPE_SFU;
		if (s->in->op == PTX_TANH)
			return form_same(s, tanh[t], form_t(s, 0), 2);
		s->imm = form_flag(s, PTX_MOD_FTZ, IMM_FTZ);
		return form_same(s, t < 2 && s->imm ? ex2_ftz[t] : ex2[t], form_t(s, 0), 2);
	}
	switch (s->in->op) {
	case PTX_EX2: return approximate(s, ALU_ex2_approx, 2);
	case PTX_LG2: return approximate(s, ALU_lg2_approx, 2);
	case PTX_SIN: return approximate(s, ALU_sin_approx, 2);
	case PTX_COS: return approximate(s, ALU_cos_approx, 2);
	default: return approximate(s, ALU_tanh_approx, 2);
	}
}

/* ---- min, max, abs, neg ---- */

int choose_minmax(struct form *s)
{
	static const uint8_t halves[] = { T(F16), T(F16X2), T(BF16), T(BF16X2) };
	static const int half_ids[] = { ALU_minmax_f16, ALU_minmax_f16x2, ALU_minmax_bf16, ALU_minmax_bf16x2 };
	bool max = s->in->op == PTX_MAX;
	if (!is_float(s))
		return choose_minmax_int(s);
	if (s->in->n_types != 1)
		return NO_FN;
	if (form_t(s, 0) == T(F64))
		return form_is(s, max ? ALU_max_f64 : ALU_min_f64, "DDD");
	s->imm = (max ? IMM_MAX : 0) | form_flag(s, PTX_MOD_NAN, IMM_NAN);
	if (has(s, PTX_MOD_XORSIGN)) {
		if (!has(s, PTX_MOD_ABS))
			return NO_FN;
		s->imm |= IMM_XORSIGN;
	}
	int t = form_type(s, 4, halves);
	if (t >= 0) {
		s->pipe = PIPE_FP16;
		s->imm |= t < 2 ? form_flag(s, PTX_MOD_FTZ, IMM_FTZ) : 0;
		return form_same(s, half_ids[t], form_t(s, 0), 3);
	}
	s->imm |= form_flag(s, PTX_MOD_FTZ, IMM_FTZ);
	if (s->in->n_ops == 4) {
		s->imm |= IMM_THREE;
		return form_is(s, ALU_minmax_f32_any, "FFFF");
	}
	if (s->imm & (IMM_NAN | IMM_XORSIGN))
		return form_is(s, ALU_minmax_f32_any, "FFF");
	if (s->imm & IMM_FTZ)
		return form_is(s, max ? ALU_max_ftz_f32 : ALU_min_ftz_f32, "FFF");
	return form_is(s, max ? ALU_max_f32 : ALU_min_f32, "FFF");
}

int choose_abs(struct form *s)
{
	static const uint8_t halves[] = { T(F16), T(F16X2), T(BF16), T(BF16X2) };
	static const int abs_ids[] = { ALU_abs_f16, ALU_abs_f16x2, ALU_abs_bf16, ALU_abs_bf16x2 };
	static const int neg_ids[] = { ALU_neg_f16, ALU_neg_f16x2, ALU_neg_bf16, ALU_neg_bf16x2 };
	bool neg = s->in->op == PTX_NEG;
	if (!is_float(s))
		return choose_abs_int(s);
	if (s->in->n_types != 1)
		return NO_FN;
	switch (form_t(s, 0)) {
	case T(F64):
		s->pipe = PIPE_FP64;
		return form_is(s, neg ? ALU_neg_f64 : ALU_abs_f64, "DD");
	case T(F32):
		s->pipe = PIPE_FP32;
		if (has(s, PTX_MOD_FTZ))
			return form_is(s, neg ? ALU_neg_ftz_f32 : ALU_abs_ftz_f32, "FF");
		return form_is(s, neg ? ALU_neg_f32 : ALU_abs_f32, "FF");
	case T(F16): case T(F16X2):
		s->imm = form_flag(s, PTX_MOD_FTZ, IMM_FTZ);
		break;
	default:
		break;
	}
	int t = form_type(s, 4, halves);
	s->pipe = PIPE_FP16;
	return form_same(s, neg ? neg_ids[t] : abs_ids[t], form_t(s, 0), 2);
}

int choose_testp(struct form *s)
{
	static const uint16_t classes[] = { PTX_MOD_FINITE, PTX_MOD_INFINITE, PTX_MOD_NUMBER, PTX_MOD_NOTANUMBER, PTX_MOD_NORMAL,
					    PTX_MOD_SUBNORMAL };
	static const uint8_t types[] = { T(F32), T(F64) };
	int t = form_type(s, 2, types);
	for (uint32_t i = 0; t >= 0 && i < 6; i++)
		if (has(s, classes[i])) {
			s->imm = i;
			return t ? form_is(s, ALU_testp_f64, "pD") : form_is(s, ALU_testp_f32, "pF");
		}
	return NO_FN;
}
int choose_copysign(struct form *s)
{
	static const uint8_t types[] = { T(F32), T(F64) };
	int t = form_type(s, 2, types);
	return t < 0 ? NO_FN : t ? form_is(s, ALU_copysign_f64, "DDD") : form_is(s, ALU_copysign_f32, "FFF");
}
