/* Control flow of a function: basic blocks, what is reachable, dominators. */
#include "lower_func.h"

#include <string.h>

static bool ends_block(const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_BRA:
	case PTX_BRX:
	case PTX_RET:
	case PTX_EXIT:
	case PTX_TRAP:
		return true;
	default:
		return false;
	}
}

static const struct ptx_table *branch_targets(const struct ptx_insn *in)
{
	for (unsigned i = 0; i < in->n_ops; i++)
		if (in->ops[i].kind == PTX_O_TABLE)
			return in->ops[i].table;
	return NULL;
}

static void mark_leaders(const struct ptx_func *f, unsigned char *leader)
{
	leader[0] = 1;
	for (uint32_t i = 0; i < f->n_insns; i++) {
		const struct ptx_insn *in = &f->insns[i];
		if (ends_block(in))
			leader[i + 1] = 1;
		if (in->op == PTX_BRA && in->n_ops > 0 && in->ops[0].kind == PTX_O_LABEL)
			leader[in->ops[0].target] = 1;
		const struct ptx_table *t = in->op == PTX_BRX ? branch_targets(in) : NULL;
		for (uint32_t k = 0; t && k < t->n; k++)
			leader[t->targets[k]] = 1;
	}
}

/* The block that begins at instruction `at`; n_blocks: the end of the function. */
static uint32_t block_at(const struct lower *l, uint32_t at)
{
	return at >= l->f->n_insns ? l->flow.n_blocks : l->flow.block_of[at];
}

static void add_succ(struct lower *l, struct flow_block *b, uint32_t at)
{
	uint32_t s = block_at(l, at);
	if (s < l->flow.n_blocks)
		b->succ[b->n_succ++] = s;
}

static void link_block(struct lower *l, struct flow_block *b)
{
	const struct ptx_insn *in = &l->f->insns[b->end - 1];
	const struct ptx_table *t = in->op == PTX_BRX ? branch_targets(in) : NULL;
	b->succ = arena_new_array(l->scratch, uint32_t, 2 + (t ? t->n : 0));
	if (in->op == PTX_BRA && in->n_ops > 0)
		add_succ(l, b, in->ops[0].target);
	for (uint32_t k = 0; t && k < t->n; k++)
		add_succ(l, b, t->targets[k]);
	if (!ends_block(in) || in->guard >= 0)
		add_succ(l, b, b->end);
}

/* Reverse postorder by a depth-first walk with a stack of its own. */
static void order_blocks(struct lower *l)
{
	struct flow *f = &l->flow;
	uint32_t *stack = arena_new_array(l->scratch, uint32_t, f->n_blocks + 1);
	uint32_t *next = arena_new_array(l->scratch, uint32_t, f->n_blocks + 1);
	uint32_t depth = 0, at = f->n_blocks;
	f->order = arena_new_array(l->scratch, uint32_t, f->n_blocks + 1);
	stack[depth++] = 0;
	f->blocks[0].reachable = true;
	while (depth) {
		uint32_t b = stack[depth - 1];
		struct flow_block *p = &f->blocks[b];
		if (next[b] < p->n_succ) {
			uint32_t s = p->succ[next[b]++];
			if (!f->blocks[s].reachable) {
				f->blocks[s].reachable = true;
				stack[depth++] = s;
			}
		} else {
			f->order[--at] = b;
			depth--;
		}
	}
	f->n_order = f->n_blocks - at;
	memmove(f->order, f->order + at, f->n_order * sizeof f->order[0]);
}

static uint32_t intersect(const struct flow *f, const uint32_t *position, uint32_t a, uint32_t b, uint64_t *steps)
{
	while (a != b) {
		for (; position[a] > position[b]; ++*steps)
			a = f->blocks[a].idom;
		for (; position[b] > position[a]; ++*steps)
			b = f->blocks[b].idom;
	}
	return a;
}

/* For hostile text: the entry dominates all, and nobody else is said to. */
static void flatten_dominators(struct flow *f)
{
	for (uint32_t i = 0; i < f->n_order; i++)
		f->blocks[f->order[i]].idom = 0;
}

/* Immediate dominators by iteration over the reverse postorder. */
static void find_dominators(struct lower *l, const uint32_t *position)
{
	struct flow *f = &l->flow;
	const uint32_t none = UINT32_MAX;
	const uint64_t most = 1000 + 200 * (uint64_t)f->n_blocks;	/* compilers' code takes a few a block */
	uint64_t steps = 0;
	bool changed = true;
	for (uint32_t i = 0; i < f->n_blocks; i++)
		f->blocks[i].idom = none;
	f->blocks[0].idom = 0;
	while (changed && steps < most) {
		changed = false;
		for (uint32_t i = 0; i < f->n_order && steps < most; i++) {
			uint32_t b = f->order[i];
			if (f->blocks[b].idom == none)
				continue;
			steps++;
			for (uint32_t k = 0; k < f->blocks[b].n_succ; k++) {
				uint32_t s = f->blocks[b].succ[k];
				if (s == 0)
					continue;
				uint32_t d = f->blocks[s].idom == none ? b : intersect(f, position, f->blocks[s].idom, b, &steps);
				if (d != f->blocks[s].idom) {
					f->blocks[s].idom = d;
					changed = true;
				}
			}
		}
	}
	if (steps >= most)
		flatten_dominators(f);
}

/* Number the dominator tree so that a dominates b if b's interval lies in a's.  Children follow their parent in
 * reverse postorder, so one pass back counts subtrees and one pass forth hands out numbers. */
static void number_dominators(struct lower *l)
{
	struct flow *f = &l->flow;
	uint32_t *size = arena_new_array(l->scratch, uint32_t, f->n_blocks);
	for (uint32_t i = f->n_order; i-- > 0;) {
		uint32_t b = f->order[i];
		size[b]++;
		if (b)
			size[f->blocks[b].idom] += size[b];
	}
	uint32_t *used = arena_new_array(l->scratch, uint32_t, f->n_blocks);
	for (uint32_t i = 0; i < f->n_order; i++) {
		uint32_t b = f->order[i], d = f->blocks[b].idom;
		f->blocks[b].enter = b ? f->blocks[d].enter + 1 + used[d] : 0;
		f->blocks[b].leave = f->blocks[b].enter + size[b];
		if (b)
			used[d] += size[b];
	}
}

bool flow_dominates(const struct flow *f, uint32_t a, uint32_t b)
{
	return f->blocks[a].enter <= f->blocks[b].enter && f->blocks[b].leave <= f->blocks[a].leave;
}

void flow_build(struct lower *l)
{
	const struct ptx_func *f = l->f;
	struct flow *w = &l->flow;
	unsigned char *leader = arena_alloc(l->scratch, f->n_insns + 1);
	mark_leaders(f, leader);
	for (uint32_t i = 0; i < f->n_insns; i++)
		w->n_blocks += leader[i];
	w->blocks = arena_new_array(l->scratch, struct flow_block, w->n_blocks);
	w->block_of = arena_new_array(l->scratch, uint32_t, f->n_insns);
	uint32_t b = UINT32_MAX;
	for (uint32_t i = 0; i < f->n_insns; i++) {
		if (leader[i])
			w->blocks[++b].first = i;
		w->block_of[i] = b;
		w->blocks[b].end = i + 1;
	}
	for (b = 0; b < w->n_blocks; b++)
		link_block(l, &w->blocks[b]);
	order_blocks(l);
	uint32_t *position = arena_new_array(l->scratch, uint32_t, w->n_blocks);
	for (uint32_t i = 0; i < w->n_order; i++)
		position[w->order[i]] = i;
	find_dominators(l, position);
	number_dominators(l);
}
