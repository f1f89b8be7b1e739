/* Constants of a function: what is the same for a whole warp, or the whole launch, from before the first instruction.
 *
 * A register whose one definition copies a constant, or another single-assignment register, is that value under
 * another name: the copy vanishes and its readers read the original's row.
 */
#include "lower_func.h"

#include <string.h>

/* ---- the table ---- */

static uint32_t hash_of(const struct constant *c)
{
	uint64_t h = c->value * 0x9e3779b97f4a7c15ull ^ (uintptr_t)c->var * 0xc2b2ae3d27d4eb4full;
	h ^= (uint64_t)c->kind << 40 ^ (uint64_t)c->bits << 48 ^ (uint64_t)c->size << 56 ^ (uint64_t)c->sign << 32;
	return (uint32_t)(h * 0x9e3779b97f4a7c15ull >> 32);
}

static bool same(const struct constant *a, const struct constant *b)
{
	return a->kind == b->kind && a->bits == b->bits && a->size == b->size && a->sign == b->sign && a->value == b->value &&
	       a->var == b->var;
}

static void grow_hash(struct lower *l)
{
	l->hash_size = l->hash_size ? 2 * l->hash_size : 256;
	l->constant_hash = arena_new_array(l->scratch, uint32_t, l->hash_size);
	for (uint32_t i = 0; i < l->n_constants; i++) {
		uint32_t at = hash_of(&l->constants[i]) & (l->hash_size - 1);
		while (l->constant_hash[at])
			at = (at + 1) & (l->hash_size - 1);
		l->constant_hash[at] = i + 1;
	}
}

uint32_t const_add(struct lower *l, const struct constant *c)
{
	if (2 * l->n_constants >= l->hash_size)
		grow_hash(l);
	uint32_t at = hash_of(c) & (l->hash_size - 1);
	for (; l->constant_hash[at]; at = (at + 1) & (l->hash_size - 1))
		if (same(&l->constants[l->constant_hash[at] - 1], c))
			return l->constant_hash[at] - 1;
	if (l->n_constants == l->room_constants) {
		l->room_constants = l->room_constants ? 2 * l->room_constants : 64;
		struct constant *more = arena_new_array(l->scratch, struct constant, l->room_constants);
		if (l->n_constants)
			memcpy(more, l->constants, l->n_constants * sizeof *more);
		l->constants = more;
	}
	l->constants[l->n_constants] = *c;
	l->constants[l->n_constants].row = NO_ROW;
	l->constant_hash[at] = ++l->n_constants;
	return l->n_constants - 1;
}

uint32_t const_value(struct lower *l, uint64_t value, unsigned bits)
{
	if (bits < 64)
		value &= (1ull << bits) - 1;
	return const_add(l, &(struct constant){.kind = CONST_VALUE, .bits = (uint8_t)bits, .value = value});
}

uint32_t const_row(struct lower *l, uint32_t index)
{
	struct constant *c = &l->constants[index];
	if (c->row == NO_ROW) {
		c->row = (uint32_t)l->frame_end;
		l->frame_end += c->bits == 1 ? 64 : c->bits <= 32 ? ROW32 : ROW64;
	}
	return c->row;
}

/* ---- what operands are constants ---- */

bool const_is_entry_param(const struct lower *l, const struct ptx_operand *o)
{
	return l->f->is_entry && (o->kind == PTX_O_MEM || o->kind == PTX_O_VAR) && o->reg < 0 && o->var &&
	       o->var->space == PTX_SPACE_PARAM && o->var->index < l->f->n_params && &l->f->params[o->var->index] == o->var;
}

static void note_shared(struct lower *l, const struct ptx_var *var)
{
	for (uint32_t i = 0; i < l->n_shared; i++)
		if (l->shared[i] == var)
			return;
	if (l->n_shared == l->room_shared) {
		l->room_shared = l->room_shared ? 2 * l->room_shared : 8;
		const struct ptx_var **more = arena_new_array(l->scratch, const struct ptx_var *, l->room_shared);
		if (l->n_shared)
			memcpy(more, l->shared, l->n_shared * sizeof *more);
		l->shared = more;
	}
	l->shared[l->n_shared++] = var;
}

uint32_t const_of_var(struct lower *l, const struct ptx_var *var, uint64_t addend, unsigned bits)
{
	struct constant c = {.kind = CONST_VAR, .bits = (uint8_t)bits, .value = addend, .var = var};
	if (var->space == PTX_SPACE_SHARED)
		note_shared(l, var);
	if (var->space == PTX_SPACE_LOCAL) {
		c.kind = CONST_LOCAL;
		c.value += l->var_place[var->index];
		c.var = NULL;
	}
	if (var->space == PTX_SPACE_PARAM) {
		c.kind = CONST_PARAM_ADDRESS;
		c.value += var->address;
		c.var = NULL;
	}
	return const_add(l, &c);
}

static bool is_clock(unsigned sreg)
{
	return sreg >= PTX_SREG_CLOCK && sreg <= PTX_SREG_GLOBALTIMER_HI;
}

/* The constant that operand o is when it is moved to a register of `bits`, or -1. */
static int64_t constant_of(struct lower *l, const struct ptx_insn *in, unsigned i, unsigned bits)
{
	const struct ptx_operand *o = &in->ops[i];
	switch (o->kind) {
	case PTX_O_INT:
	case PTX_O_F32:
	case PTX_O_F64:
		return const_value(l, alu_immediate(l->f, in, i, 0), bits);
	case PTX_O_SREG:
		if (is_clock(o->sreg))
			return -1;
		return const_add(l, &(struct constant){.kind = CONST_SREG, .bits = (uint8_t)bits, .value = o->sreg});
	case PTX_O_VAR:
		if (o->var->space == PTX_SPACE_PARAM && !const_is_entry_param(l, o))
			return -1;
		return const_of_var(l, o->var, o->imm, bits);
	case PTX_O_FUNC:
		lower_callee(l, o->func);
		return const_add(l, &(struct constant){.kind = CONST_FUNC, .bits = (uint8_t)bits, .value = o->func->index});
	default:
		return -1;
	}
}

/* ---- propagation ---- */

static bool try_alias(struct lower *l, const struct ptx_insn *in)
{
	if (in->n_ops < 2 || in->ops[0].kind != PTX_O_REG)
		return false;
	struct reg *d = &l->regs[in->ops[0].reg];
	const struct ptx_operand *s = &in->ops[1];
	if (s->kind == PTX_O_REG) {
		const struct reg *g = &l->regs[s->reg];
		if (s->neg || !d->ssa || !g->ssa || d->bits != g->bits || d->narrow != g->narrow)
			return false;
		d->alias = s->reg;
		return true;
	}
	if (d->n_defs != 1 || d->bits == 128)
		return false;
	int64_t c = constant_of(l, in, 1, d->narrow ? d->narrow : d->bits);
	if (c >= 0)
		d->constant = (int32_t)c;
	return c >= 0;
}

static bool is_identity(const struct ptx_insn *in)
{
	if (in->op == PTX_MOV)
		return in->n_ops == 2 && in->types[0] != PTX_T_B128;
	if (in->op != PTX_CVTA)
		return false;
	return !ptx_has(in, PTX_MOD_SHARED) && !ptx_has(in, PTX_MOD_SHARED_CTA) && !ptx_has(in, PTX_MOD_SHARED_CLUSTER) &&
	       !ptx_has(in, PTX_MOD_LOCAL);
}

static int64_t param_constant(struct lower *l, const struct ptx_insn *in, unsigned element, const struct reg *d)
{
	enum ptx_type t = in->n_types ? in->types[in->n_types - 1] : PTX_T_NONE;
	unsigned bytes = ptx_type_bits(t) / 8;
	const struct ptx_operand *o = &in->ops[1];
	uint64_t offset = o->var->address + o->imm + element * bytes;
	if (!bytes || bytes > 8 || offset > l->f->param_bytes || bytes > l->f->param_bytes - offset)
		return -1;
	bool sign = t == PTX_T_S8 || t == PTX_T_S16 || t == PTX_T_S32;
	return const_add(l, &(struct constant){.kind = CONST_PARAM, .bits = d->narrow ? d->narrow : d->bits, .size = (uint8_t)bytes,
					       .sign = sign, .value = offset});
}

static bool try_param(struct lower *l, const struct ptx_insn *in)
{
	if (in->op != PTX_LD || in->n_ops < 2 || ptx_insn_space(in) != PTX_SPACE_PARAM || !const_is_entry_param(l, &in->ops[1]))
		return false;
	const struct ptx_operand *o = &in->ops[0];
	const struct ptx_operand *elems = o->kind == PTX_O_VEC ? o->elems : o;
	uint32_t n = o->kind == PTX_O_VEC ? o->n : 1;
	for (uint32_t i = 0; i < n; i++) {
		if (elems[i].kind == PTX_O_SINK)
			continue;
		if (elems[i].kind != PTX_O_REG)
			return false;
		const struct reg *d = &l->regs[elems[i].reg];
		if (d->n_defs != 1 || d->bits == 128 || param_constant(l, in, i, d) < 0)
			return false;
	}
	for (uint32_t i = 0; i < n; i++)
		if (elems[i].kind == PTX_O_REG)
			l->regs[elems[i].reg].constant = (int32_t)param_constant(l, in, i, &l->regs[elems[i].reg]);
	return true;
}

void const_propagate(struct lower *l)
{
	for (uint32_t i = 0; i < l->f->n_insns; i++) {
		const struct ptx_insn *in = &l->f->insns[i];
		if (l->gone[i] || in->guard >= 0)
			continue;
		if (is_identity(in) ? try_alias(l, in) : try_param(l, in))
			l->gone[i] = 1;
	}
}
