/* Lowering of barriers and of what the lanes of a warp do together: shfl, vote, match, redux, elect, activemask. */
#include "lower_func.h"
#include "exec_ops.h"

/* ---- block barriers ---- */

static int emit_barrier(struct lower *l, const struct ptx_insn *in, const struct barrier_op *b, const struct ptx_operand *d)
{
	struct insn *to = lower_emit(l, K_BARRIER);
	to->detail = lower_detail(l, b, sizeof *b);
	to->d = d ? lower_row(l, d, b->d_pred ? 1 : 32) : NO_ROW;
	to = &l->code[l->n_code - 1];
	lower_guard(l, in, to);
	return 1;
}

static int lower_warp_barrier(struct lower *l, const struct ptx_insn *in)
{
	if (in->n_ops != 1)
		return lower_unsupported(l, in);
	struct collective_op c = {.what = C_WARP_SYNC, .d = NO_ROW, .d2 = NO_ROW, .a = NO_ROW, .b = NO_ROW, .c = NO_ROW};
	c.member = lower_row(l, &in->ops[0], 32);
	struct insn *to = lower_emit(l, K_COLLECTIVE);
	to->detail = lower_detail(l, &c, sizeof c);
	lower_guard(l, in, to);
	return 1;
}

/* barrier.cluster with one block a cluster: arrive does nothing, wait waits for the block. */
static int lower_cluster_barrier(struct lower *l, const struct ptx_insn *in)
{
	if (ptx_has(in, PTX_MOD_ARRIVE)) {
		lower_emit(l, K_NOP);
		return 1;
	}
	struct barrier_op b = {.aligned = ptx_has(in, PTX_MOD_ALIGNED), .count = NO_ROW, .source = NO_ROW, .cluster = true};
	b.id = const_row(l, const_value(l, 0, 32));
	return emit_barrier(l, in, &b, NULL);
}

static int lower_barrier(struct lower *l, const struct ptx_insn *in)
{
	if (ptx_has(in, PTX_MOD_WARP))
		return lower_warp_barrier(l, in);
	if (in->op == PTX_BARRIER && ptx_has(in, PTX_MOD_CLUSTER))
		return lower_cluster_barrier(l, in);
	bool red = ptx_has(in, PTX_MOD_RED);
	unsigned first = red ? 1 : 0, n = in->n_ops - first - (red ? 1 : 0);
	struct barrier_op b = {.arrive = ptx_has(in, PTX_MOD_ARRIVE), .count = NO_ROW, .source = NO_ROW};
	b.aligned = in->op == PTX_BAR || ptx_has(in, PTX_MOD_ALIGNED);
	if (in->n_ops < first + 1 || n < 1 || n > 2 || (b.arrive && n != 2))
		return lower_unsupported(l, in);
	b.id = lower_row(l, &in->ops[first], 32);
	if (n == 2)
		b.count = lower_row(l, &in->ops[first + 1], 32);
	if (red) {
		const struct ptx_operand *p = &in->ops[in->n_ops - 1];
		b.reduce = ptx_has(in, PTX_MOD_POPC) ? 1 : ptx_has(in, PTX_MOD_AND) ? 2 : 3;
		b.source = lower_row(l, p, 1);
		b.source_not = p->kind == PTX_O_REG && p->neg;
		b.d_pred = lower_width(l, &in->ops[0]) == 1;
	}
	return emit_barrier(l, in, &b, red ? &in->ops[0] : NULL);
}

/* ---- collectives ---- */

static const struct collective_op no_rows = {.d = NO_ROW, .d2 = NO_ROW, .a = NO_ROW, .b = NO_ROW, .c = NO_ROW, .member = NO_ROW};

static int emit_collective(struct lower *l, const struct ptx_insn *in, const struct collective_op *c)
{
	l->pipes[l->current] = PIPE_INT;
	struct insn *to = lower_emit(l, K_COLLECTIVE);
	to->detail = lower_detail(l, c, sizeof *c);
	lower_guard(l, in, to);
	return 1;
}

static void set_destination(struct lower *l, const struct ptx_operand *o, struct collective_op *c)
{
	if (o->kind == PTX_O_PAIR) {
		struct ptx_operand r = {.kind = PTX_O_REG, .reg = o->reg}, p = {.kind = PTX_O_REG, .reg = o->reg2};
		c->d = o->reg >= 0 ? lower_row(l, &r, 32) : NO_ROW;
		c->d2 = o->reg2 >= 0 ? lower_row(l, &p, 1) : NO_ROW;
	} else {
		c->d = lower_row(l, o, 32);
	}
}

static int lower_shfl(struct lower *l, const struct ptx_insn *in)
{
	struct collective_op c = no_rows;
	bool sync = ptx_has(in, PTX_MOD_SYNC);
	if (in->n_ops != (sync ? 5 : 4))
		return lower_unsupported(l, in);
	c.what = ptx_has(in, PTX_MOD_UP) ? C_SHFL_UP : ptx_has(in, PTX_MOD_DOWN) ? C_SHFL_DOWN : ptx_has(in, PTX_MOD_BFLY) ? C_SHFL_BFLY
													      : C_SHFL_IDX;
	set_destination(l, &in->ops[0], &c);
	c.a = lower_row(l, &in->ops[1], 32);
	c.b = lower_row(l, &in->ops[2], 32);
	c.c = lower_row(l, &in->ops[3], 32);
	c.unsynced = !sync;
	if (sync)
		c.member = lower_row(l, &in->ops[4], 32);
	return emit_collective(l, in, &c);
}

static int lower_vote(struct lower *l, const struct ptx_insn *in)
{
	struct collective_op c = no_rows;
	bool sync = ptx_has(in, PTX_MOD_SYNC);
	if (in->n_ops != (sync ? 3 : 2))
		return lower_unsupported(l, in);
	c.what = ptx_has(in, PTX_MOD_ALL) ? C_VOTE_ALL : ptx_has(in, PTX_MOD_ANY) ? C_VOTE_ANY : ptx_has(in, PTX_MOD_UNI) ? C_VOTE_UNI
													    : C_VOTE_BALLOT;
	c.d = lower_row(l, &in->ops[0], c.what == C_VOTE_BALLOT ? 32 : 1);
	c.a = lower_row(l, &in->ops[1], 1);
	c.source_not = in->ops[1].kind == PTX_O_REG && in->ops[1].neg;
	c.unsynced = !sync;
	if (sync)
		c.member = lower_row(l, &in->ops[2], 32);
	return emit_collective(l, in, &c);
}

static int lower_match(struct lower *l, const struct ptx_insn *in)
{
	struct collective_op c = no_rows;
	if (in->n_ops != 3 || in->n_types < 1)
		return lower_unsupported(l, in);
	c.what = ptx_has(in, PTX_MOD_ALL) ? C_MATCH_ALL : C_MATCH_ANY;
	c.bits = (uint8_t)ptx_type_bits(in->types[0]);
	set_destination(l, &in->ops[0], &c);
	c.a = lower_row(l, &in->ops[1], c.bits);
	c.member = lower_row(l, &in->ops[2], 32);
	return emit_collective(l, in, &c);
}

static int lower_redux(struct lower *l, const struct ptx_insn *in)
{
	struct collective_op c = no_rows;
	if (in->n_ops != 3 || in->n_types < 1)
		return lower_unsupported(l, in);
	bool is_float = in->types[0] == PTX_T_F32, is_unsigned = in->types[0] == PTX_T_U32;
	bool min = ptx_has(in, PTX_MOD_MIN), max = ptx_has(in, PTX_MOD_MAX);
	if (is_float && !min && !max)
		return lower_unsupported(l, in);
	if (min)
		c.what = is_float ? C_REDUX_FMIN : is_unsigned ? C_REDUX_UMIN : C_REDUX_MIN;
	else if (max)
		c.what = is_float ? C_REDUX_FMAX : is_unsigned ? C_REDUX_UMAX : C_REDUX_MAX;
	else
		c.what = ptx_has(in, PTX_MOD_ADD) ? C_REDUX_ADD : ptx_has(in, PTX_MOD_AND) ? C_REDUX_AND : ptx_has(in, PTX_MOD_OR) ? C_REDUX_OR
														     : C_REDUX_XOR;
	c.nan = ptx_has(in, PTX_MOD_NAN);
	c.absolute = ptx_has(in, PTX_MOD_ABS);
	c.d = lower_row(l, &in->ops[0], 32);
	c.a = lower_row(l, &in->ops[1], 32);
	c.member = lower_row(l, &in->ops[2], 32);
	return emit_collective(l, in, &c);
}

static int lower_elect(struct lower *l, const struct ptx_insn *in)
{
	struct collective_op c = no_rows;
	if (in->n_ops != 2)
		return lower_unsupported(l, in);
	c.what = C_ELECT;
	set_destination(l, &in->ops[0], &c);
	c.member = lower_row(l, &in->ops[1], 32);
	return emit_collective(l, in, &c);
}

static int lower_activemask(struct lower *l, const struct ptx_insn *in)
{
	if (in->n_ops != 1 || lower_width(l, &in->ops[0]) != 32)
		return lower_unsupported(l, in);
	l->pipes[l->current] = PIPE_INT;
	struct insn *to = lower_emit(l, K_OP);
	to->op = exec_activemask;
	to->d = lower_row(l, &in->ops[0], 32);
	to = &l->code[l->n_code - 1];
	lower_guard(l, in, to);
	return 1;
}

int lower_sync(struct lower *l, const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_BAR:
	case PTX_BARRIER:
		return lower_barrier(l, in);
	case PTX_SHFL:
		return lower_shfl(l, in);
	case PTX_VOTE:
		return lower_vote(l, in);
	case PTX_MATCH:
		return lower_match(l, in);
	case PTX_REDUX:
		return lower_redux(l, in);
	case PTX_ELECT:
		return lower_elect(l, in);
	case PTX_ACTIVEMASK:
		return lower_activemask(l, in);
	default:
		return 0;
	}
}
