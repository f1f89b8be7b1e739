/* Lowering of branches, calls and returns; places of parameters and local variables in a frame. */
#include "lower_func.h"
#include "exec_ops.h"

#include <string.h>

enum { MAX_ALIGN = 128 };

/* ---- the frame's parameter area and local memory ---- */

static uint32_t room_of(const struct ptx_var *v)
{
	return (uint32_t)((v->size + 3) & ~3ull);
}

struct mention {
	struct lower *l;
	uint32_t insn, *first, *last;
};

static void note_mention(struct mention *m, const struct ptx_operand *o)
{
	if (o->kind == PTX_O_LIST || o->kind == PTX_O_VEC) {
		for (uint32_t i = 0; i < o->n; i++)
			note_mention(m, &o->elems[i]);
		return;
	}
	const struct ptx_var *v = o->kind == PTX_O_MEM || o->kind == PTX_O_VAR ? o->var : NULL;
	if (!v || v->space != PTX_SPACE_PARAM || v->index >= m->l->f->n_vars || m->l->f->vars[v->index] != v)
		return;
	if (m->first[v->index] > m->insn)
		m->first[v->index] = m->insn;
	m->last[v->index] = m->insn;
}

/* .param variables of a call live for a few instructions of one block: the next call's take their place. */
static uint32_t place_call_params(struct lower *l, uint32_t at)
{
	uint32_t n = l->f->n_vars, high = at;
	struct mention m = {.l = l, .first = arena_new_array(l->scratch, uint32_t, n + 1), .last = arena_new_array(l->scratch, uint32_t, n + 1)};
	memset(m.first, 0xff, sizeof(uint32_t) * n);
	for (m.insn = 0; m.insn < l->f->n_insns; m.insn++)
		for (unsigned i = 0; i < l->f->insns[m.insn].n_ops; i++)
			note_mention(&m, &l->f->insns[m.insn].ops[i]);
	for (int pass = 0; pass < 2; pass++) {
		uint32_t cursor = at, until = 0;
		for (uint32_t i = 0; i < n; i++) {
			const struct ptx_var *v = l->f->vars[i];
			if (v->space != PTX_SPACE_PARAM || m.first[i] == UINT32_MAX)
				continue;
			bool brief = l->flow.block_of[m.first[i]] == l->flow.block_of[m.last[i]];
			if (brief != (pass == 1))
				continue;
			if (pass == 1 && m.first[i] > until)
				cursor = at;
			l->var_place[i] = cursor;
			cursor += room_of(v);
			if (m.last[i] > until)
				until = m.last[i];
			if (cursor > high)
				high = cursor;
		}
		if (pass == 0)
			at = cursor;
	}
	return high;
}

static uint32_t place_locals(struct lower *l)
{
	uint64_t at = 0;
	for (uint32_t i = 0; i < l->f->n_vars; i++) {
		const struct ptx_var *v = l->f->vars[i];
		if (v->space != PTX_SPACE_LOCAL)
			continue;
		uint32_t align = v->align && v->align <= MAX_ALIGN ? v->align : 16;
		at = (at + align - 1) / align * align;
		l->var_place[i] = (uint32_t)at;
		at += v->size;
		if (at > MEM_WINDOW)
			at = MEM_WINDOW;
	}
	return (uint32_t)((at + 15) & ~15ull);
}

void lower_params(struct lower *l)
{
	struct lowered *o = l->out;
	const struct ptx_func *f = l->f;
	uint32_t place = 0;
	l->var_place = arena_new_array(l->scratch, uint32_t, f->n_vars + 1);
	o->header_bytes = f->is_entry ? 0 : 3 * ROW32;
	o->param_area = o->header_bytes;
	if (!f->is_entry) {
		uint32_t *params = arena_new_array(l->arena, uint32_t, f->n_params + 1), *rets = arena_new_array(l->arena, uint32_t, f->n_rets + 1);
		for (uint32_t i = 0; i < f->n_params; place += room_of(&f->params[i]), i++)
			params[i] = place;
		o->ret_place = place;
		for (uint32_t i = 0; i < f->n_rets; place += room_of(&f->rets[i]), i++)
			rets[i] = place;
		o->param_place = params;
		o->ret_places = rets;
	}
	place = place_call_params(l, place);
	l->frame_end = o->param_area + 32ull * place;
	o->local_bytes = place_locals(l);
}

/* ---- branches ---- */

static int lower_branch(struct lower *l, const struct ptx_insn *in)
{
	if (in->n_ops != 1 || in->ops[0].kind != PTX_O_LABEL)
		return lower_unsupported(l, in);
	struct insn *to = lower_emit(l, K_BRA);
	to->target = in->ops[0].target;
	lower_guard(l, in, to);
	return 1;
}

static int lower_table_branch(struct lower *l, const struct ptx_insn *in)
{
	const struct ptx_table *t = in->n_ops == 2 && in->ops[1].kind == PTX_O_TABLE ? in->ops[1].table : NULL;
	if (!t || !t->targets || t->n == 0 || lower_width(l, &in->ops[0]) != 32)
		return lower_unsupported(l, in);
	uint32_t row = lower_row(l, &in->ops[0], 32);
	struct branch_table table = {.n = t->n, .targets = t->targets};
	struct insn *to = lower_emit(l, K_BRX);
	to->a = row;
	to->detail = lower_detail(l, &table, sizeof table);
	lower_guard(l, in, to);
	return 1;
}

/* ---- calls ---- */

static const struct { const char *name; uint8_t fn, args, rets; } externs[] = {
	{"vprintf", EXTERN_VPRINTF, 2, 1},
	{"__assertfail", EXTERN_ASSERTFAIL, 5, 0},
	{"malloc", EXTERN_MALLOC, 1, 1},
	{"free", EXTERN_FREE, 1, 0},
};

struct call_parts {
	const struct ptx_operand *rets, *args, *target;
	const struct ptx_table *prototype;
};

static int split_call(struct lower *l, const struct ptx_insn *in, struct call_parts *p)
{
	*p = (struct call_parts){0};
	for (unsigned i = 0; i < in->n_ops; i++) {
		const struct ptx_operand *o = &in->ops[i];
		if (o->kind == PTX_O_LIST && !p->target)
			p->rets = o;
		else if (o->kind == PTX_O_LIST)
			p->args = o;
		else if (o->kind == PTX_O_FUNC || o->kind == PTX_O_REG)
			p->target = o;
		else if (o->kind == PTX_O_TABLE)
			p->prototype = o->table;
		else
			return lower_unsupported(l, in);
	}
	return p->target ? 0 : lower_unsupported(l, in);
}

/* Moves for the variables of a list, one after another as the callee has them; -1 if one is no .param variable of ours. */
static int make_moves(struct lower *l, const struct ptx_insn *in, const struct ptx_operand *list, const struct move **out, uint32_t *n)
{
	*n = list ? list->n : 0;
	struct move *moves = arena_new_array(l->arena, struct move, *n + 1);
	uint32_t place = 0;
	for (uint32_t i = 0; i < *n; i++) {
		const struct ptx_operand *o = &list->elems[i];
		const struct ptx_var *v = o->kind == PTX_O_VAR || o->kind == PTX_O_MEM ? o->var : NULL;
		if (!v || v->space != PTX_SPACE_PARAM)
			return lower_fail(l, in, "a call passes .param variables only");
		if (v->index >= l->f->n_vars || l->f->vars[v->index] != v)
			return lower_fail(l, in, "a parameter of the caller is passed on: copy it to a .param variable");
		moves[i] = (struct move){.from = l->var_place[v->index], .to = place, .n = room_of(v)};
		place += room_of(v);
	}
	*out = moves;
	return 0;
}

static int check_arguments(struct lower *l, const struct ptx_insn *in, const struct ptx_func *f, const struct call_op *c)
{
	if (f->n_params != c->n_args || f->n_rets != c->n_rets)
		return lower_fail(l, in, "%s takes %u parameters and gives %u results", f->name, f->n_params, f->n_rets);
	for (uint32_t i = 0; i < c->n_args; i++)
		if (room_of(&f->params[i]) != c->args[i].n)
			return lower_fail(l, in, "parameter %u of %s has another size", i + 1, f->name);
	for (uint32_t i = 0; i < c->n_rets; i++)
		if (room_of(&f->rets[i]) != c->rets[i].n)
			return lower_fail(l, in, "the result of %s has another size", f->name);
	return 0;
}

static int lower_extern(struct lower *l, const struct ptx_insn *in, const struct ptx_func *f, struct call_op *c)
{
	for (size_t i = 0; i < sizeof externs / sizeof externs[0]; i++) {
		if (strcmp(f->name, externs[i].name))
			continue;
		if (c->n_args != externs[i].args || c->n_rets > externs[i].rets)
			return lower_fail(l, in, "%s: wrong number of arguments", f->name);
		c->external = externs[i].fn;
		if (c->external == EXTERN_MALLOC || c->external == EXTERN_FREE)
			l->out->uses_heap = l->out->communicates = true;
		struct insn *to = lower_emit(l, K_EXTERN);
		to->aux = l->out->param_area;
		to->detail = lower_detail(l, c, sizeof *c);
		lower_guard(l, in, to);
		return 1;
	}
	return lower_fail(l, in, "%s has no body: a call of a function that the emulated device doesn't have", f->name);
}

static int lower_call(struct lower *l, const struct ptx_insn *in)
{
	struct call_parts p;
	struct call_op c = {0};
	if (split_call(l, in, &p) < 0 || make_moves(l, in, p.args, &c.args, &c.n_args) < 0 ||
	    make_moves(l, in, p.rets, &c.rets, &c.n_rets) < 0)
		return -1;
	if (p.target->kind == PTX_O_FUNC) {
		struct ptx_func *f = p.target->func;
		if (check_arguments(l, in, f, &c) < 0)
			return -1;
		if (f->is_extern)
			return lower_extern(l, in, f, &c);
		lower_callee(l, f);
		struct insn *to = lower_emit(l, K_CALL);
		to->aux = l->out->param_area;
		to->aux2 = f->index;
		to->a = NO_ROW;
		to->detail = lower_detail(l, &c, sizeof c);
		lower_guard(l, in, to);
		return 1;
	}
	if (lower_width(l, p.target) != 64)
		return lower_unsupported(l, in);
	l->out->calls_indirect = true;
	for (uint32_t i = 0; p.prototype && i < p.prototype->n && p.prototype->funcs; i++)
		lower_callee(l, p.prototype->funcs[i]);
	uint32_t row = lower_row(l, p.target, 64);
	struct insn *to = lower_emit(l, K_CALL);
	to->aux = l->out->param_area;
	to->a = row;
	to->detail = lower_detail(l, &c, sizeof c);
	lower_guard(l, in, to);
	return 1;
}

/* ---- ends ---- */

static int lower_end(struct lower *l, const struct ptx_insn *in)
{
	bool exits = in->op == PTX_EXIT || l->f->is_entry;
	lower_guard(l, in, lower_emit(l, exits ? K_EXIT : K_RET));
	return 1;
}

static int lower_stop(struct lower *l, const struct ptx_insn *in, exec_op *op)
{
	struct insn *to = lower_emit(l, K_OP);
	to->op = op;
	lower_guard(l, in, to);
	return 1;
}

static int lower_fence(struct lower *l, const struct ptx_insn *in)
{
	bool narrow = ptx_has(in, PTX_MOD_CTA) || ptx_has(in, PTX_MOD_CLUSTER) || ptx_has(in, PTX_MOD_PROXY) ||
		      ptx_has(in, PTX_MOD_MBARRIER_INIT) || ptx_has(in, PTX_MOD_SYNC_RESTRICT_SHARED_CTA) ||
		      ptx_has(in, PTX_MOD_SYNC_RESTRICT_SHARED_CLUSTER);
	if (!narrow)
		l->out->communicates = l->out->fences = true;
	lower_emit(l, K_NOP);
	return 1;
}

int lower_control(struct lower *l, const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_BRA:
		return lower_branch(l, in);
	case PTX_BRX:
		return lower_table_branch(l, in);
	case PTX_CALL:
		return lower_call(l, in);
	case PTX_RET:
	case PTX_EXIT:
		return lower_end(l, in);
	case PTX_TRAP:
		return lower_stop(l, in, exec_trap);
	case PTX_BRKPT:
		return lower_stop(l, in, exec_brkpt);
	case PTX_MEMBAR:
	case PTX_FENCE:
		return lower_fence(l, in);
	case PTX_NANOSLEEP:
		lower_guard(l, in, lower_emit(l, K_NANOSLEEP));
		return 1;
	case PTX_GRIDDEPCONTROL:
	case PTX_SETMAXNREG:
	case PTX_PMEVENT:
		lower_emit(l, K_NOP);
		return 1;
	default:
		return 0;
	}
}
