/* A parsed instruction as PTX text again: for messages and listings. */
#include "../base/buf.h"
#include "ptx.h"

#include <inttypes.h>
#include <string.h>

static void print_operand(struct buf *b, const struct ptx_func *f, const struct ptx_operand *o);

static void print_reg(struct buf *b, const struct ptx_func *f, int32_t reg)
{
	if (reg < 0 || (uint32_t)reg >= f->n_regs)
		buf_addc(b, '_');
	else
		buf_adds(b, f->regs[reg].name);
}

static void print_selector(struct buf *b, uint32_t n)
{
	if (!n)
		return;
	buf_adds(b, PTX_SELECT_HALVES(n) ? ".h" : ".b");
	for (uint32_t i = PTX_SELECT_COUNT(n); i-- > 0;)
		buf_printf(b, "%u", PTX_SELECT_PART(n, i));
}

static void print_offset(struct buf *b, uint64_t imm)
{
	if (imm)
		buf_printf(b, "%+" PRId64, (int64_t)imm);
}

static void print_elements(struct buf *b, const struct ptx_func *f, const struct ptx_operand *o, const char *brackets)
{
	buf_addc(b, brackets[0]);
	for (uint32_t i = 0; i < o->n; i++) {
		if (i)
			buf_adds(b, ", ");
		print_operand(b, f, &o->elems[i]);
	}
	buf_addc(b, brackets[1]);
}

static void print_memory(struct buf *b, const struct ptx_func *f, const struct ptx_operand *o)
{
	buf_addc(b, '[');
	if (o->reg >= 0)
		print_reg(b, f, o->reg);
	else if (o->var && !o->n)
		buf_adds(b, o->var->name);
	if (o->reg < 0 && !o->var)
		buf_printf(b, "%" PRId64, (int64_t)o->imm);
	else
		print_offset(b, o->imm);
	if (o->n) {
		buf_adds(b, ", ");
		print_elements(b, f, o, "{}");
	}
	buf_addc(b, ']');
}

static const char *sreg_name(unsigned id)
{
	static const char *const names[] = {
#define SREG(id, text, bits) "%" text,
#include "ptx_sregs.def"
#undef SREG
	};
	return id < PTX_SREGS ? names[id] : "?";
}

static void print_operand(struct buf *b, const struct ptx_func *f, const struct ptx_operand *o)
{
	switch ((enum ptx_operand_kind)o->kind) {
	case PTX_O_REG:
		if (o->neg)
			buf_addc(b, (uint32_t)o->reg < f->n_regs && f->regs[o->reg].type == PTX_T_PRED ? '!' : '-');
		print_reg(b, f, o->reg);
		print_selector(b, o->n);
		break;
	case PTX_O_PAIR:
		print_reg(b, f, o->reg);
		buf_addc(b, '|');
		print_reg(b, f, o->reg2);
		break;
	case PTX_O_SINK:
		buf_addc(b, '_');
		break;
	case PTX_O_INT:
		buf_printf(b, "%" PRId64, (int64_t)o->imm);
		break;
	case PTX_O_F32:
		buf_printf(b, "0f%08" PRIX64, o->imm);
		break;
	case PTX_O_F64:
		buf_printf(b, "0d%016" PRIX64, o->imm);
		break;
	case PTX_O_SREG:
		buf_adds(b, sreg_name(o->sreg));
		break;
	case PTX_O_VAR:
		buf_adds(b, o->var->name);
		print_offset(b, o->imm);
		break;
	case PTX_O_FUNC:
		buf_adds(b, o->func->name);
		break;
	case PTX_O_MEM:
		print_memory(b, f, o);
		break;
	case PTX_O_LABEL:
		buf_printf(b, "L%u", o->target);
		break;
	case PTX_O_TABLE:
		buf_adds(b, o->table->name);
		break;
	case PTX_O_VEC:
		print_elements(b, f, o, "{}");
		break;
	case PTX_O_LIST:
		print_elements(b, f, o, "()");
		break;
	}
}

/* Columns of wgmma's D: 64 rows by n over 128 threads are n/2 values each, two to a register if they are f16. */
static unsigned wgmma_columns(const struct ptx_insn *in)
{
	unsigned n = in->n_ops && in->ops[0].kind == PTX_O_VEC ? in->ops[0].n * 2 : 0;
	return in->n_types && in->types[0] == PTX_T_F16 ? n * 2 : n;
}

static void print_mods(struct buf *b, const struct ptx_insn *in)
{
	for (unsigned i = 0; i < in->n_mods; i++) {
		const char *name = ptx_mod_name(in->mods[i]);
		if (!strncmp(name, "m64nX", 5))
			buf_printf(b, ".m64n%u%s", wgmma_columns(in), name + 5);
		else
			buf_printf(b, ".%s", name);
	}
}

static void print_types(struct buf *b, const struct ptx_insn *in)
{
	for (unsigned i = 0; i < in->n_types; i++)
		buf_printf(b, ".%s", ptx_type_name(in->types[i]));
}

/* Suffixes stand before types but in the video instructions. */
static bool types_first(const struct ptx_insn *in)
{
	const char *name = ptx_op_name(in->op);
	return name[0] == 'v' && in->op != PTX_VOTE;
}

char *ptx_print_insn(const struct ptx_func *f, const struct ptx_insn *in, struct arena *a)
{
	struct buf b = {0};

	if (in->guard >= 0) {
		buf_adds(&b, in->guard_not ? "@!" : "@");
		print_reg(&b, f, in->guard);
		buf_addc(&b, ' ');
	}
	buf_adds(&b, ptx_op_name(in->op));
	if (types_first(in))
		print_types(&b, in);
	print_mods(&b, in);
	if (!types_first(in))
		print_types(&b, in);
	for (unsigned i = 0; i < in->n_ops; i++) {
		buf_adds(&b, i ? ", " : " ");
		print_operand(&b, f, &in->ops[i]);
	}
	buf_addc(&b, ';');
	char *text = arena_strndup(a, b.data, b.size);
	buf_free(&b);
	return text;
}

/* Whether an instruction without a state space means a generic address. */
static bool takes_generic(const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_LD: case PTX_LDU: case PTX_ST: case PTX_ATOM: case PTX_RED: case PTX_PREFETCH: case PTX_PREFETCHU:
	case PTX_LDMATRIX: case PTX_STMATRIX: case PTX_MBARRIER: case PTX_MULTIMEM: case PTX_APPLYPRIORITY:
	case PTX_DISCARD:
		return true;
	case PTX_WMMA:
		return ptx_has(in, PTX_MOD_LOAD) || ptx_has(in, PTX_MOD_STORE);
	default:
		return false;
	}
}

enum ptx_space ptx_insn_space(const struct ptx_insn *in)
{
	for (unsigned i = 0; i < in->n_mods; i++) {
		switch (in->mods[i]) {
		case PTX_MOD_GLOBAL:
			return PTX_SPACE_GLOBAL;
		case PTX_MOD_SHARED: case PTX_MOD_SHARED_CTA: case PTX_MOD_SHARED_CLUSTER:
			return PTX_SPACE_SHARED;
		case PTX_MOD_CONST:
			return PTX_SPACE_CONST;
		case PTX_MOD_LOCAL:
			return PTX_SPACE_LOCAL;
		case PTX_MOD_PARAM: case PTX_MOD_PARAM_ENTRY: case PTX_MOD_PARAM_FUNC:
			return PTX_SPACE_PARAM;
		default:
			break;
		}
	}
	return takes_generic(in) ? PTX_SPACE_GENERIC : PTX_SPACE_NONE;
}
