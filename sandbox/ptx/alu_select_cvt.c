/* Handlers of conversions. */
#include "alu_cvt.h"
#include "alu_form.h"

#define T(name) PTX_T_##name

static const int cvt_types[PTX_TYPES] = {
	[T(U8)] = CVT_U8 + 1, [T(S8)] = CVT_S8 + 1, [T(U16)] = CVT_U16 + 1, [T(S16)] = CVT_S16 + 1, [T(U32)] = CVT_U32 + 1,
	[T(S32)] = CVT_S32 + 1, [T(U64)] = CVT_U64 + 1, [T(S64)] = CVT_S64 + 1, [T(F16)] = CVT_F16 + 1, [T(BF16)] = CVT_BF16 + 1,
	[T(TF32)] = CVT_TF32 + 1, [T(F32)] = CVT_F32 + 1, [T(F64)] = CVT_F64 + 1, [T(F16X2)] = CVT_F16 + 1, [T(BF16X2)] = CVT_BF16 + 1,
	[T(E4M3X2)] = CVT_E4M3 + 1, [T(E5M2X2)] = CVT_E5M2 + 1, [T(E2M1X2)] = CVT_E2M1 + 1,
};

static bool is_packed(enum ptx_type t)
{
	return t == T(F16X2) || t == T(BF16X2) || t == T(E4M3X2) || t == T(E5M2X2) || t == T(E2M1X2);
}

/* Roundings into imm.  False: none was given where one must be, or of the wrong sort. */
static bool rounding(struct form *s, enum cvt_type from, enum cvt_type to)
{
	static const struct { uint16_t mod; uint8_t round; bool integral; } table[] = {
		{ PTX_MOD_RN, CVT_RN, false }, { PTX_MOD_RZ, CVT_RZ, false }, { PTX_MOD_RM, CVT_RM, false }, { PTX_MOD_RP, CVT_RP, false },
		{ PTX_MOD_RNA, CVT_RNA, false }, { PTX_MOD_RNI, CVT_RN, true }, { PTX_MOD_RZI, CVT_RZ, true },
		{ PTX_MOD_RMI, CVT_RM, true }, { PTX_MOD_RPI, CVT_RP, true },
	};
	bool float_to_int = !cvt_is_int(from) && cvt_is_int(to);
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (has(s, table[i].mod)) {
			if (cvt_is_int(to) && (cvt_is_int(from) || !table[i].integral))
				return false;
			s->imm |= (uint32_t)table[i].round << CVT_ROUND_SHIFT | (table[i].integral ? CVT_INTEGRAL : 0);
			return true;
		}
	if (!float_to_int && (cvt_is_int(from) || cvt_bits(to) >= cvt_bits(from)))
		s->imm |= CVT_RN << CVT_ROUND_SHIFT;
	else
		return cvt_is_int(from);
	return true;
}

/* ---- vector forms of single conversions; NO_FN: value by value ---- */

static int int_to_int(uint32_t imm, bool from_wide, bool to_wide)
{
	static const int small[2][2] = { { ALU_cvt_u_u, ALU_cvt_u_s }, { ALU_cvt_s_u, ALU_cvt_s_s } };
	static const int widen[2][2] = { { ALU_cvt_wide_u_u, ALU_cvt_wide_u_s }, { ALU_cvt_wide_s_u, ALU_cvt_wide_s_s } };
	static const int narrow[2][2] = { { ALU_cvt_narrow_u_u, ALU_cvt_narrow_u_s }, { ALU_cvt_narrow_s_u, ALU_cvt_narrow_s_s } };
	enum cvt_type from = cvt_from(imm), to = cvt_to(imm);
	bool from_signed = cvt_is_signed(from), to_signed = cvt_is_signed(to);
	if (imm & CVT_SAT) {
		if (from_wide || to_wide)
			return NO_FN;
		return from_signed ? ALU_cvt_sat_s : to == CVT_U32 || to_signed || cvt_bits(to) < 32 ? ALU_cvt_sat_u : NO_FN;
	}
	if (from_wide && to_wide)
		return cvt_bits(from) == 64 && cvt_bits(to) == 64 ? ALU_mov_b64 : NO_FN;
	return (from_wide ? narrow : to_wide ? widen : small)[to_signed][from_signed];
}
static int int_to_float(uint32_t imm, bool from_wide)
{
	enum cvt_type from = cvt_from(imm), to = cvt_to(imm);
	bool is_signed = cvt_is_signed(from);
	if (imm & (CVT_SAT | CVT_INTEGRAL))
		return NO_FN;
	if (from == CVT_S64 && from_wide)
		return to == CVT_F32 ? ALU_cvt_f32_s64 : to == CVT_F64 ? ALU_cvt_f64_s64 : NO_FN;
	if (from_wide)
		return NO_FN;
	switch (to) {
	case CVT_F32: return is_signed ? ALU_cvt_f32_s : ALU_cvt_f32_u;
	case CVT_F64: return is_signed ? ALU_cvt_f64_s : ALU_cvt_f64_u;
	case CVT_F16: return cvt_rounding(imm) != CVT_RN ? NO_FN : is_signed ? ALU_cvt_f16_s : ALU_cvt_f16_u;
	default: return NO_FN;
	}
}
static int float_to_int(uint32_t imm, bool to_wide)
{
	enum cvt_type from = cvt_from(imm), to = cvt_to(imm);
	if (to_wide)
		return NO_FN;
	if (from == CVT_F32)
		return to == CVT_S32 ? ALU_cvt_s32_f32 : to == CVT_U32 ? ALU_cvt_u32_f32 : cvt_bits(to) < 32 ? ALU_cvt_small_f32 : NO_FN;
	if (from == CVT_F16)
		return to == CVT_S32 ? ALU_cvt_s32_f16 : to == CVT_U32 ? ALU_cvt_u32_f16 : NO_FN;
	if (from == CVT_F64)
		return to == CVT_S32 ? ALU_cvt_s32_f64 : to == CVT_U32 ? ALU_cvt_u32_f64 : NO_FN;
	return NO_FN;
}
static int float_to_float(uint32_t imm)
{
	enum cvt_type from = cvt_from(imm), to = cvt_to(imm);
	uint32_t flags = imm & (CVT_SAT | CVT_RELU | CVT_SATFINITE | CVT_INTEGRAL | CVT_FTZ), round = cvt_rounding(imm);
	if (from == CVT_F32 && to == CVT_F32 && flags & CVT_INTEGRAL && !(flags & CVT_SAT))
		return ALU_cvt_round_f32;
	if (from == CVT_F32 && to == CVT_F32 && (flags & ~CVT_FTZ) == CVT_SAT)
		return ALU_cvt_sat_f32;
	if (from == CVT_F32 && to == CVT_F64 && !(flags & ~CVT_FTZ))
		return flags ? ALU_cvt_ftz_f64_f32 : ALU_cvt_f64_f32;
	if (from == CVT_F64 && to == CVT_F32 && !(flags & ~CVT_FTZ))
		return ALU_cvt_f32_f64;
	if (from == CVT_F16 && to == CVT_F32 && !(flags & ~CVT_FTZ))	/* no f16 is subnormal in f32 */
		return ALU_cvt_f32_f16;
	if (from == CVT_F32 && to == CVT_TF32 && !flags)
		return round == CVT_RNA ? ALU_cvt_rna_tf32 : round == CVT_RN ? ALU_cvt_rn_tf32 : NO_FN;
	if (flags || round != CVT_RN)
		return NO_FN;
	if (from == CVT_F32 && to == CVT_F16)
		return ALU_cvt_f16_f32;
	if (from == CVT_F32 && to == CVT_BF16)
		return ALU_cvt_bf16_f32;
	return from == CVT_BF16 && to == CVT_F32 ? ALU_cvt_f32_bf16 : NO_FN;	/* raw: .ftz would flush */
}

/* ---- one value ---- */

/* Bits of a register operand as declared; of an immediate, the type's own. */
static unsigned declared(const struct form *s, unsigned i, enum ptx_type t)
{
	const struct ptx_operand *o = &s->in->ops[i];
	return o->kind == PTX_O_REG ? ptx_type_bits(s->f->regs[o->reg].type) : ptx_type_bits(t) < 16 ? 16 : ptx_type_bits(t);
}
static char letter(unsigned bits) { return bits <= 16 ? 'h' : bits == 32 ? 'r' : bits == 64 ? 'l' : 'q'; }

/* Measured on an H200, conversions a cycle and SM: 64 of 32-bit integers to FP32 and between FP16 and FP32; 16, the rate of special
 * functions, of narrower integers, to integers, from integers to FP16 and of FP64.  Between integers they are plain instructions. */
static bool slow(uint32_t imm)
{
	enum cvt_type from = cvt_from(imm), to = cvt_to(imm);
	if (cvt_is_int(from) && cvt_is_int(to))
		return false;
	if (cvt_is_int(from))
		return to != CVT_F32 || cvt_bits(from) != 32;
	return cvt_is_int(to) || imm & CVT_INTEGRAL || from == CVT_F64 || to == CVT_F64;
}

static int single(struct form *s, enum ptx_type to_type, enum ptx_type from_type)
{
	enum cvt_type from = cvt_from(s->imm), to = cvt_to(s->imm);
	unsigned d = declared(s, 0, to_type), a = declared(s, 1, from_type);
	if (!rounding(s, from, to))
		return NO_FN;
	/* registers may be wider than the type, not narrower; of 8 bits there are none */
	if (d > 64 || a > 64 || d < ptx_type_bits(to_type) || a < ptx_type_bits(from_type)) {
		s->why = "a register is narrower than the type";
		return NO_FN;
	}
	bool from_wide = a == 64, to_wide = d == 64;
	s->pipe = slow(s->imm) ? PIPE_CONVERT_SLOW : PIPE_CONVERT;
	s->imm |= (from_wide ? CVT_FROM_WIDE : 0) | (to_wide ? CVT_TO_WIDE : 0) | (d <= 16 ? CVT_TO_HALF : 0);
	char kinds[] = { letter(d), letter(a), 0 };
	if (from_type == T(F32) || from_type == T(F64))
		kinds[1] = form_kind(from_type);
	bool both_int = cvt_is_int(from) && cvt_is_int(to);
	/* of the wide rows only integers are read but by their own type */
	bool plain = (from_wide == (cvt_bits(from) == 64)) && (to_wide == (cvt_bits(to) == 64));
	int id = NO_FN;
	if (both_int)
		id = int_to_int(s->imm, from_wide, to_wide);
	else if (plain && cvt_is_int(from))
		id = int_to_float(s->imm, from_wide);
	else if (plain && cvt_is_int(to))
		id = float_to_int(s->imm, to_wide);
	else if (plain)
		id = float_to_float(s->imm);
	return form_is(s, id == NO_FN ? ALU_cvt_any : id, kinds);
}

/* ---- two values ---- */

static int quick_pair(uint32_t imm)
{
	enum cvt_type from = cvt_from(imm), to = cvt_to(imm);
	bool two = !(imm & CVT_FROM_PAIR);
	if (imm & CVT_RELU || cvt_rounding(imm) != CVT_RN)
		return ALU_cvt_pair;
	if (to == CVT_E4M3 || to == CVT_E5M2) {
		bool e4 = to == CVT_E4M3;
		if (from == CVT_F32 && two)
			return e4 ? ALU_cvt_e4m3x2_f32 : ALU_cvt_e5m2x2_f32;
		return from == CVT_F16 ? e4 ? ALU_cvt_e4m3x2_f16x2 : ALU_cvt_e5m2x2_f16x2 : ALU_cvt_pair;
	}
	if (imm & CVT_SATFINITE)
		return ALU_cvt_pair;
	if (from == CVT_F32 && two)
		return to == CVT_F16 ? ALU_cvt_f16x2_f32 : to == CVT_BF16 ? ALU_cvt_bf16x2_f32 : ALU_cvt_pair;
	if (to == CVT_F16)
		return from == CVT_E4M3 ? ALU_cvt_f16x2_e4m3x2 : from == CVT_E5M2 ? ALU_cvt_f16x2_e5m2x2 : ALU_cvt_pair;
	return ALU_cvt_pair;
}
static int pair(struct form *s, enum ptx_type to_type, enum ptx_type from_type)
{
	enum cvt_type from = cvt_from(s->imm), to = cvt_to(s->imm);
	bool packed = is_packed(from_type);
	if (!is_packed(to_type) || (!packed && from_type != T(F32)) || !rounding(s, from, to) || s->imm & CVT_INTEGRAL)
		return NO_FN;
	if ((to == CVT_E4M3 || to == CVT_E5M2 || to == CVT_E2M1) && !(s->imm & CVT_SATFINITE)) {
		s->why = ".satfinite is missing";
		return NO_FN;
	}
	s->imm |= packed ? CVT_FROM_PAIR : 0;
	char kinds[4] = { letter(2 * cvt_bits(to)), packed ? letter(2 * cvt_bits(from)) : 'F', packed ? 0 : 'F', 0 };
	return form_is(s, quick_pair(s->imm), kinds);
}
/* cvt.pack.sat.T.s32.b32 d, a, b, c; 16-bit T has no c. */
static int pack(struct form *s)
{
	enum ptx_type t = form_t(s, 0), last = form_t(s, 2);
	has(s, PTX_MOD_SAT);
	if (form_t(s, 1) != T(S32) || (t != T(U16) && t != T(S16) && t != T(U8) && t != T(S8)))
		return NO_FN;
	bool halves = ptx_type_bits(t) == 16;
	if (halves != (s->in->n_types == 2) || (!halves && last != T(B32)))
		return NO_FN;
	s->imm = (uint32_t)(cvt_types[t] - 1) << CVT_TO_SHIFT;
	return form_is(s, ALU_cvt_pack, halves ? "rrr" : "rrrr");
}

int choose_cvt(struct form *s)
{
	s->pipe = PIPE_CONVERT;
	if (has(s, PTX_MOD_PACK))
		return pack(s);
	enum ptx_type to = form_t(s, 0), from = form_t(s, 1);
	if (s->in->n_types != 2 || !cvt_types[to] || !cvt_types[from] || s->in->n_ops < 2)
		return NO_FN;
	s->imm = (uint32_t)(cvt_types[from] - 1) << CVT_FROM_SHIFT | (uint32_t)(cvt_types[to] - 1) << CVT_TO_SHIFT;
	if (from == T(F32) || to == T(F32))
		s->imm |= form_flag(s, PTX_MOD_FTZ, CVT_FTZ);
	else
		has(s, PTX_MOD_FTZ);
	s->imm |= form_flag(s, PTX_MOD_RELU, CVT_RELU) | form_flag(s, PTX_MOD_SATFINITE, CVT_SATFINITE) | form_flag(s, PTX_MOD_SAT, CVT_SAT);
	return is_packed(to) || is_packed(from) ? pair(s, to, from) : single(s, to, from);
}
