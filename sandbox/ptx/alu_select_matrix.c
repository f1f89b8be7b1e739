/* Handlers of mma, wmma.mma and movmatrix, and the map of wmma's fragments. */
#include "alu_form.h"
#include "alu_matrix.h"

#include <stdio.h>
#include <string.h>

#define T(name) PTX_T_##name

/* ---- fragments ---- */

/* Bits of an element; a register holds a block of 8 by 128 bits. */
static unsigned element_bits(enum ptx_type t)
{
	switch (t) {
	case T(TF32): return 32;
	case T(E4M3): case T(E5M2): return 8;
	default: return ptx_type_bits(t);
	}
}
static unsigned per_lane(enum ptx_type t) { return element_bits(t) == 64 ? 1 : 32 / element_bits(t); }

static unsigned matrix_elements(enum alu_fragment f, unsigned m, unsigned n, unsigned k)
{
	return (f == FRAGMENT_A ? m * k : f == FRAGMENT_B ? n * k : m * n) / 32;
}
/* A and B of f16 have 16 elements a lane whatever the shape: smaller matrices are held several times. */
unsigned alu_wmma_elements(enum alu_fragment f, enum ptx_type t, unsigned m, unsigned n, unsigned k)
{
	return f != FRAGMENT_C && t == T(F16) ? 16 : matrix_elements(f, m, n, k);
}
void alu_wmma_coord(enum alu_fragment f, enum ptx_type t, unsigned m, unsigned n, unsigned k, unsigned lane, unsigned i,
		    unsigned *row, unsigned *column)
{
	unsigned g = lane / 4, l = lane % 4, e = f == FRAGMENT_C ? 2 : per_lane(t);
	i %= matrix_elements(f, m, n, k);
	unsigned block = i / e, along = l * e + i % e;
	switch (f) {
	case FRAGMENT_A:
		*row = block % (m / 8) * 8 + g;
		*column = block / (m / 8) * 4 * e + along;
		break;
	case FRAGMENT_B: {
		unsigned deep = k / (4 * e);
		*row = block % deep * 4 * e + along;
		*column = block / deep * 8 + g;
		break;
	}
	case FRAGMENT_C:
		*row = block % (m / 8) * 8 + g;
		*column = block / (m / 8) * 8 + along;
		break;
	}
}

/* ---- shapes ---- */

struct dimensions { unsigned m, n, k; };
static bool dimensions(struct form *s, struct dimensions *d)
{
	static const struct { uint16_t mod; uint8_t m, n, k; } shapes[] = {
		{ PTX_MOD_M8N8K4, 8, 8, 4 }, { PTX_MOD_M8N8K16, 8, 8, 16 }, { PTX_MOD_M8N8K32, 8, 8, 32 }, { PTX_MOD_M16N8K4, 16, 8, 4 },
		{ PTX_MOD_M16N8K8, 16, 8, 8 }, { PTX_MOD_M16N8K16, 16, 8, 16 }, { PTX_MOD_M16N8K32, 16, 8, 32 },
		{ PTX_MOD_M16N8K64, 16, 8, 64 }, { PTX_MOD_M16N16K8, 16, 16, 8 }, { PTX_MOD_M16N16K16, 16, 16, 16 },
		{ PTX_MOD_M8N32K16, 8, 32, 16 }, { PTX_MOD_M32N8K16, 32, 8, 16 },
	};
	for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
		if (has(s, shapes[i].mod)) {
			*d = (struct dimensions){ shapes[i].m, shapes[i].n, shapes[i].k };
			return true;
		}
	return false;
}

static int matrix_type(enum ptx_type t)
{
	switch (t) {
	case T(F16): return MATRIX_F16;
	case T(BF16): return MATRIX_BF16;
	case T(TF32): return MATRIX_TF32;
	case T(E4M3): return MATRIX_E4M3;
	case T(E5M2): return MATRIX_E5M2;
	case T(S8): return MATRIX_S8;
	case T(U8): return MATRIX_U8;
	case T(S4): return MATRIX_S4;
	case T(U4): return MATRIX_U4;
	default: return -1;
	}
}
static int sum_type(enum ptx_type t) { return t == T(F32) ? SUM_F32 : t == T(F16) ? SUM_F16 : t == T(S32) ? SUM_S32 : -1; }

/* Types that go together: both of one width and sort, sums of the sort's. */
static bool types_agree(enum ptx_type a, enum ptx_type b, enum ptx_type c, enum ptx_type d)
{
	int ta = matrix_type(a), tb = matrix_type(b), tc = sum_type(c), td = sum_type(d);
	if (ta < 0 || tb < 0 || tc < 0 || td < 0)
		return false;
	bool mixed = (ta == MATRIX_E4M3 && tb == MATRIX_E5M2) || (ta == MATRIX_E5M2 && tb == MATRIX_E4M3);
	if (ta >= MATRIX_S8)
		return tc == SUM_S32 && td == SUM_S32 && tb >= MATRIX_S8 && element_bits(a) == element_bits(b);
	if ((ta != tb && !mixed) || tc == SUM_S32 || td == SUM_S32)
		return false;
	return ta == MATRIX_F16 || ta >= MATRIX_E4M3 || (tc == SUM_F32 && td == SUM_F32);
}

/* Vector operands must have the registers that the shape asks for; one register may stand without braces. */
static bool counts_agree(struct form *s, const unsigned counts[4])
{
	const struct ptx_insn *in = s->in;
	if (in->n_ops != 4)
		return false;
	for (unsigned i = 0; i < 4; i++)
		if ((in->ops[i].kind == PTX_O_VEC ? in->ops[i].n : 1) != counts[i]) {
			s->why = "an operand has not the number of registers that the shape asks for";
			return false;
		}
	return true;
}

static int matrix(struct form *s, const struct dimensions *x, enum ptx_type d, enum ptx_type a, enum ptx_type b, enum ptx_type c,
		  bool repeated)
{
	unsigned unit = 4 * per_lane(a), deep = x->k / unit, m = x->m / 8, n = x->n / 8;
	if (!types_agree(a, b, c, d) || !deep || x->k % unit)
		return NO_FN;
	unsigned a_regs = repeated ? 8 : m * deep, b_regs = repeated ? 8 : n * deep;
	unsigned counts[4] = { m * n * (d == T(F16) ? 1 : 2), a_regs, b_regs, m * n * (c == T(F16) ? 1 : 2) };
	if (!counts_agree(s, counts))
		return NO_FN;
	s->imm = (uint32_t)matrix_type(a) << MATRIX_A_SHIFT | (uint32_t)matrix_type(b) << MATRIX_B_SHIFT
		 | (uint32_t)sum_type(c) << MATRIX_C_SHIFT | (uint32_t)sum_type(d) << MATRIX_D_SHIFT | m << MATRIX_M_SHIFT
		 | n << MATRIX_N_SHIFT | deep << MATRIX_K_SHIFT | a_regs << MATRIX_A_REGS_SHIFT | b_regs << MATRIX_B_REGS_SHIFT;
	if (sum_type(d) == SUM_S32)
		s->imm |= form_flag(s, PTX_MOD_SATFINITE, MATRIX_SATFINITE);
	s->tensor_flops = 2 * x->m * x->n * x->k;
	return form_is(s, ALU_mma, "*r*r*r*r");
}

/* In the text a float may stand for any accumulator register, of f32 or b32. */
int choose_mma(struct form *s)
{
	struct dimensions x;
	enum ptx_type d = form_t(s, 0), a = form_t(s, 1), b = form_t(s, 2), c = form_t(s, 3);
	s->pipe = PIPE_TENSOR;
	s->whole_warp = true;
	if (!has(s, PTX_MOD_SYNC) || !has(s, PTX_MOD_ALIGNED) || !has(s, PTX_MOD_ROW) || !has(s, PTX_MOD_COL) || s->in->n_types != 4
	    || !dimensions(s, &x))
		return NO_FN;
	if (a == T(F64) && b == T(F64) && c == T(F64) && d == T(F64) && x.m == 8 && x.k == 4) {
		static const unsigned counts[4] = { 2, 1, 1, 2 };
		s->tensor_flops = 2 * 8 * 8 * 4;
		has(s, PTX_MOD_RN);
		return counts_agree(s, counts) ? form_is(s, ALU_mma_f64, "*l*l*l*l") : NO_FN;
	}
	if (x.m == 8 && a == T(F16))	/* m8n8k4 of Volta: four quads, another layout */
		return NO_FN;
	return matrix(s, &x, d, a, b, c, false);
}

/* wmma.mma.sync.aligned.row.col.shape.d.c (f16), .d.a.b.c (others).  Fragments are in our layout whatever .row and .col
 * say: the loads have seen to it. */
int choose_wmma(struct form *s)
{
	struct dimensions x;
	s->pipe = PIPE_TENSOR;
	s->whole_warp = true;
	if (!has(s, PTX_MOD_MMA) || !has(s, PTX_MOD_SYNC) || !has(s, PTX_MOD_ALIGNED) || !dimensions(s, &x))
		return NO_FN;
	has(s, PTX_MOD_ROW);
	has(s, PTX_MOD_COL);
	if (s->in->n_types == 2)
		return matrix(s, &x, form_t(s, 0), T(F16), T(F16), form_t(s, 1), true);
	enum ptx_type d = form_t(s, 0), a = form_t(s, 1), b = form_t(s, 2), c = form_t(s, 3);
	if (s->in->n_types != 4)
		return NO_FN;
	if (a == T(F64) && b == T(F64) && c == T(F64) && d == T(F64) && x.m == 8 && x.k == 4) {
		static const unsigned counts[4] = { 2, 1, 1, 2 };
		s->tensor_flops = 2 * 8 * 8 * 4;
		has(s, PTX_MOD_RN);
		return counts_agree(s, counts) ? form_is(s, ALU_mma_f64, "*l*l*l*l") : NO_FN;
	}
	return matrix(s, &x, d, a, b, c, a == T(F16));
}

int choose_movmatrix(struct form *s)
{
	s->pipe = PIPE_MEMORY;
	s->whole_warp = true;
	if (!has(s, PTX_MOD_SYNC) || !has(s, PTX_MOD_ALIGNED) || !has(s, PTX_MOD_M8N8) || !has(s, PTX_MOD_TRANS)
	    || form_t(s, 0) != T(B16))
		return NO_FN;
	return form_is(s, ALU_movmatrix, "rr");
}
