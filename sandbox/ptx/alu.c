/* Choosing handlers: which build runs, which handler an instruction gets, how its operands are stored.
 *
 * A chooser (alu_select_*.c) decides by operation, types and modifiers.  What it leaves over is refused: a modifier that
 * it did not ask for, an operand of another kind or width.  So a handler never touches a row that is narrower than it
 * thinks, whatever text came in.
 */
#include "alu_form.h"

#include "../base/buf.h"
#include "../base/cleanup.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

/* ---- builds ---- */

#define FN(name) alu_fn alu_plain_##name, alu_avx2_##name, alu_avx512_##name;
#include "alu_fns.def"
#undef FN
static alu_fn *const plain_fns[ALU_FNS] = {
#define FN(name) alu_plain_##name,
#include "alu_fns.def"
#undef FN
};
static alu_fn *const avx2_fns[ALU_FNS] = {
#define FN(name) alu_avx2_##name,
#include "alu_fns.def"
#undef FN
};
static alu_fn *const avx512_fns[ALU_FNS] = {
#define FN(name) alu_avx512_##name,
#include "alu_fns.def"
#undef FN
};
static const struct build { const char *name; alu_fn *const *fns; } builds[] = {
	{ "plain", plain_fns }, { "avx2", avx2_fns }, { "avx512", avx512_fns },
};

/* F16C and LZCNT, which not every compiler's __builtin_cpu_supports() knows. */
static bool converts_and_counts(void)
{
	unsigned a, b, c = 0, d, extended = 0;
	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C && __get_cpuid(0x80000001, &a, &b, &extended, &d) && extended & bit_LZCNT;
}

static bool runs(const struct build *b)
{
	__builtin_cpu_init();
	if (b->fns == plain_fns)
		return true;
	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")
		    && converts_and_counts();
	if (b->fns == avx2_fns)
		return avx2;
	return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
	       && __builtin_cpu_supports("avx512vl");
}
static const struct build *build(void)
{
	const char *wish = getenv("JUDGE_ISA");
	const struct build *best = &builds[0];
	for (unsigned i = 0; i < 3; i++)
		if (runs(&builds[i])) {
			best = &builds[i];
			if (wish && strcmp(wish, best->name) == 0)
				return best;
		}
	return best;
}
const char *alu_isa(void) { return build()->name; }

/* ---- choosers ---- */

static alu_chooser *chooser(const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_ADD: return choose_add;
	case PTX_SUB: return choose_sub;
	case PTX_MUL: return choose_mul;
	case PTX_MAD: return choose_mad;
	case PTX_FMA: return choose_fma;
	case PTX_MUL24: case PTX_MAD24: return choose_mul24;
	case PTX_ADDC: case PTX_SUBC: case PTX_MADC: return choose_carry;
	case PTX_DIV: return choose_div;
	case PTX_REM: return choose_rem;
	case PTX_MIN: case PTX_MAX: return choose_minmax;
	case PTX_ABS: case PTX_NEG: return choose_abs;
	case PTX_SAD: return choose_sad;
	case PTX_DP4A: case PTX_DP2A: return choose_dp;
	case PTX_RCP: return choose_rcp;
	case PTX_SQRT: return choose_sqrt;
	case PTX_RSQRT: return choose_rsqrt;
	case PTX_EX2: case PTX_LG2: case PTX_SIN: case PTX_COS: case PTX_TANH: return choose_sfu;
	case PTX_AND: case PTX_OR: case PTX_XOR: return choose_logic;
	case PTX_NOT: case PTX_CNOT: return choose_not;
	case PTX_SHL: case PTX_SHR: return choose_shift;
	case PTX_SHF: return choose_shf;
	case PTX_LOP3: return choose_lop3;
	case PTX_PRMT: return choose_prmt;
	case PTX_BFE: return choose_bfe;
	case PTX_BFI: return choose_bfi;
	case PTX_BFIND: case PTX_POPC: case PTX_CLZ: case PTX_BREV: return choose_count;
	case PTX_BMSK: return choose_bmsk;
	case PTX_SZEXT: return choose_szext;
	case PTX_FNS: return choose_fns;
	case PTX_MOV: return choose_mov;
	case PTX_SELP: return choose_selp;
	case PTX_SLCT: return choose_slct;
	case PTX_SETP: return choose_setp;
	case PTX_SET: return choose_set;
	case PTX_TESTP: return choose_testp;
	case PTX_COPYSIGN: return choose_copysign;
	case PTX_CVT: return choose_cvt;
	case PTX_VADD: case PTX_VADD2: case PTX_VADD4: case PTX_VSUB: case PTX_VSUB2: case PTX_VSUB4: case PTX_VAVRG2: case PTX_VAVRG4:
	case PTX_VABSDIFF: case PTX_VABSDIFF2: case PTX_VABSDIFF4: case PTX_VMIN: case PTX_VMIN2: case PTX_VMIN4: case PTX_VMAX:
	case PTX_VMAX2: case PTX_VMAX4: case PTX_VSET: case PTX_VSET2: case PTX_VSET4: case PTX_VSHL: case PTX_VSHR: case PTX_VMAD: return choose_video;
	case PTX_MMA: return choose_mma;
	case PTX_WMMA: return ptx_has(in, PTX_MOD_MMA) ? choose_wmma : NULL;
	case PTX_MOVMATRIX: return choose_movmatrix;
	default: return NULL;
	}
}
bool alu_handles(const struct ptx_insn *in) { return chooser(in) != NULL; }

/* ---- operands against kinds ---- */

static unsigned kind_bits(char k)
{
	switch (k) {
	case 'p': return 1;
	case 'h': case 'H': case 'B': return 16;
	case 'l': case 'D': return 64;
	case 'q': return 128;
	default: return 32;
	}
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
static int reg_is(const struct form *s, int32_t reg, char k, unsigned operand, struct err *e)
{
	unsigned want = kind_bits(k), bits = ptx_type_bits(s->f->regs[reg].type);
	if (bits == 8)		/* .b8 registers are rows as those of 16 bits */
		bits = 16;
	if (bits != want)
		return err_input(e, "operand %u, register %s, has %u bits, but %u are wanted", operand + 1, s->f->regs[reg].name,
				 ptx_type_bits(s->f->regs[reg].type), want);
	return 0;
}
/* One operand or element.  `sink`: `_` is allowed. */
static int operand_is(struct form *s, const struct ptx_operand *o, char k, unsigned i, bool destination, bool sink, struct err *e)
{
	static const uint32_t negations[] = { 0, IMM_NOT_A, IMM_NOT_B, IMM_NOT_C };
	if (o->neg) {
		if (k != 'p' || destination || o->kind != PTX_O_REG)
			return err_input(e, "operand %u can't be negated", i + 1);
		s->imm |= i < 4 ? negations[i] : IMM_NOT_C;
	}
	switch (o->kind) {
	case PTX_O_REG:
		return k == 'x' ? err_input(e, "operand %u must be a number", i + 1) : reg_is(s, o->reg, k, i, e);
	case PTX_O_SINK:
		return sink ? 0 : err_input(e, "operand %u can't be _", i + 1);
	case PTX_O_INT: case PTX_O_F32: case PTX_O_F64:
		return destination ? err_input(e, "operand %u must be a register", i + 1) : 0;
	case PTX_O_VAR: case PTX_O_FUNC:
		return destination || kind_bits(k) < 32 ? err_input(e, "operand %u can't be an address", i + 1) : 0;
	case PTX_O_SREG: {
		unsigned bits = sreg_bits(o->sreg), want = kind_bits(k) == 16 && s->in->op == PTX_MOV ? 32 : kind_bits(k);
		return destination || bits != want ? err_input(e, "operand %u, a special register, has %u bits", i + 1, bits) : 0;
	}
	default:
		return err_input(e, "operand %u must be a register or a number", i + 1);
	}
}
/* d|p: `_` for either, both none means nothing is left to do, which is legal. */
static int pair_is(struct form *s, const struct ptx_operand *o, char first, struct err *e)
{
	if (o->kind != PTX_O_PAIR)
		return err_input(e, "operand 1 must be a pair");
	if (o->reg >= 0 && reg_is(s, o->reg, first, 0, e) < 0)
		return -1;
	return o->reg2 >= 0 ? reg_is(s, o->reg2, 'p', 0, e) : 0;
}
static int operands_are(struct form *s, struct err *e)
{
	const struct ptx_insn *in = s->in;
	const char *k = s->kinds;
	for (unsigned i = 0; i < in->n_ops; i++, k++) {
		const struct ptx_operand *o = &in->ops[i];
		if (!*k)
			return err_input(e, "there are %u operands too many", in->n_ops - i);
		if (*k == 'P') {
			if (pair_is(s, o, *++k, e) < 0)
				return -1;
			continue;
		}
		if (*k == '*') {
			k++;
			if (o->kind != PTX_O_VEC) {
				if (operand_is(s, o, *k, i, i == 0, false, e) < 0)
					return -1;
				continue;
			}
			for (unsigned j = 0; j < o->n; j++)
				if (operand_is(s, &o->elems[j], *k, i, i == 0, i == 0 && in->op == PTX_MOV, e) < 0)
					return -1;
			continue;
		}
		if (operand_is(s, o, *k, i, i == 0, false, e) < 0)
			return -1;
	}
	return *k ? err_input(e, "an operand is missing") : 0;
}

/* ---- the choice ---- */

static void add_name(struct buf *b, const struct ptx_insn *in)
{
	buf_adds(b, ptx_op_name(in->op));
	for (unsigned i = 0; i < in->n_mods; i++)
		buf_printf(b, ".%s", ptx_mod_name(in->mods[i]));
	for (unsigned i = 0; i < in->n_types; i++)
		buf_printf(b, ".%s", ptx_type_name(in->types[i]));
}
static int refuse(const struct ptx_insn *in, struct err *e, const char *why)
{
	CLEANUP_BUF struct buf b = {0};
	add_name(&b, in);
	return err_input(e, "line %u: %s is not supported%s%s", in->ptx_line, buf_str(&b), *why ? ": " : "", why);
}
static int choose(struct form *s, struct err *e)
{
	const struct ptx_insn *in = s->in;
	alu_chooser *c = chooser(in);
	if (!c)
		BUG("%s is not the alu's", ptx_op_name(in->op));
	if (in->n_ops == 0)
		return refuse(in, e, "it has no operands"), NO_FN;
	int id = c(s);
	if (id == NO_FN)
		return refuse(in, e, s->why ? s->why : ""), NO_FN;
	for (unsigned i = 0; i < in->n_mods; i++)
		if (!(s->seen[in->mods[i] >> 6] >> (in->mods[i] & 63) & 1)) {
			char why[64];
			snprintf(why, sizeof why, ".%s has no meaning here", ptx_mod_name(in->mods[i]));
			return refuse(in, e, why), NO_FN;
		}
	return id;
}
int alu_select(const struct ptx_func *f, const struct ptx_insn *in, struct alu_choice *out, struct err *e)
{
	struct form s = { .f = f, .in = in, .pipe = PIPE_INT };
	int id = choose(&s, e);
	if (id == NO_FN)
		return -1;
	if (operands_are(&s, e) < 0) {
		CLEANUP_BUF struct buf b = {0};
		add_name(&b, in);
		return err_wrap(e, "line %u: %s", in->ptx_line, buf_str(&b));
	}
	*out = (struct alu_choice){ .fn = build()->fns[id], .imm = s.imm, .pipe = s.pipe, .tensor_flops = s.tensor_flops,
				    .uses_carry = s.uses_carry, .sets_carry = s.sets_carry, .whole_warp = s.whole_warp };
	return 0;
}

/* The kind of operand i; 0 if the instruction can't be chosen. */
static char kind_of(const struct ptx_func *f, const struct ptx_insn *in, unsigned i)
{
	struct form s = { .f = f, .in = in };
	if (choose(&s, NULL) == NO_FN)
		return 0;
	const char *k = s.kinds;
	for (unsigned n = 0; *k; n++, k++) {
		if (*k == '*' || *k == 'P')
			k++;
		if (n == i)
			return *k;
	}
	return 0;
}
unsigned alu_operand_bits(const struct ptx_func *f, const struct ptx_insn *in, unsigned i, unsigned j)
{
	const struct ptx_operand *o = &in->ops[i];
	if (o->kind == PTX_O_VEC)
		o = &o->elems[j];
	unsigned bits;
	if (o->kind == PTX_O_REG)
		bits = ptx_type_bits(f->regs[o->reg].type);
	else if (o->kind == PTX_O_PAIR)
		return j ? 1 : o->reg < 0 ? 32 : alu_operand_bits(f, &(struct ptx_insn){ .ops = &(struct ptx_operand){
				.kind = PTX_O_REG, .reg = o->reg } }, 0, 0);
	else if (o->kind == PTX_O_SREG)
		bits = sreg_bits(o->sreg);
	else
		bits = kind_bits(kind_of(f, in, i));
	return bits == 1 ? 1 : bits <= 32 ? 32 : bits;
}

/* ---- literals ---- */

static float literal_f32(const struct ptx_operand *o)
{
	if (o->kind == PTX_O_INT)
		return (float)(int64_t)o->imm;
	uint32_t u = (uint32_t)o->imm;
	float f;
	double d;
	memcpy(&f, &u, 4);
	memcpy(&d, &o->imm, 8);
	return o->kind == PTX_O_F32 ? f : (float)d;
}
static double literal_f64(const struct ptx_operand *o)
{
	double d;
	memcpy(&d, &o->imm, 8);
	return o->kind == PTX_O_F64 ? d : o->kind == PTX_O_INT ? (double)(int64_t)o->imm : (double)literal_f32(o);
}
uint64_t alu_immediate(const struct ptx_func *f, const struct ptx_insn *in, unsigned i, unsigned j)
{
	const struct ptx_operand *o = &in->ops[i];
	if (o->kind == PTX_O_VEC)
		o = &o->elems[j];
	float x;
	double d;
	uint32_t u;
	uint64_t w;
	switch (kind_of(f, in, i)) {
	case 'p': return o->imm ? 0xffffffff : 0;
	case 'F':
		x = literal_f32(o);
		memcpy(&u, &x, 4);
		return u;
	case 'D':
		d = literal_f64(o);
		memcpy(&w, &d, 8);
		return w;
	/* 16-bit literals are written as integers */
	case 'H': return o->kind == PTX_O_INT ? o->imm & 0xffff : alu_f32_to_f16(literal_f32(o));
	case 'B': return o->kind == PTX_O_INT ? o->imm & 0xffff : alu_f32_to_bf16(literal_f32(o));
	case 'h': return o->imm & 0xffff;
	case 'l': case 'q': return o->imm;
	default: return (uint32_t)o->imm;
	}
}
