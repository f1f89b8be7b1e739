/* Block barriers: bar.sync, bar.arrive, bar.red and barrier.*, sixteen to a block.
 *
 * A warp arrives when all its lanes that have not exited are at the barrier.  A round is complete when as many warps
 * have arrived as its count says; without a count, when all warps that live have.  Lanes of one warp at different
 * aligned barriers are what hardware calls undefined: a fault that names both places.
 */
#include "exec.h"

#include <stdio.h>
#include <string.h>

static const struct barrier_op *op_at(const struct block *b, uint32_t pc)
{
	return b->launch->program->code[pc].detail;
}

static int mixed(struct exec *x, const struct split *a, const struct split *b)
{
	char first[96], second[96];
	x->at = x->code + a->pc;
	return exec_fault(x, FAULT_DIVERGENT_BARRIER, a->mask, "lanes 0x%08x of the warp are at the barrier at %s, lanes 0x%08x at the one at %s",
			  a->mask, exec_place(x->launch, a->pc, first, sizeof first), b->mask,
			  exec_place(x->launch, b->pc, second, sizeof second));
}

/* Lanes of the warp that wait at barrier `id`, or -1 if they contradict each other. */
static int waiting_lanes(struct exec *x, unsigned id, uint32_t *lanes)
{
	const struct warp *w = x->warp;
	const struct split *first = NULL;
	*lanes = 0;
	for (uint32_t i = 0; i < w->n_splits; i++) {
		const struct split *s = &w->splits[i];
		if (s->state != SPLIT_AT_BARRIER)
			continue;
		if (!first)
			first = s;
		bool aligned = op_at(x->block, s->pc)->aligned || op_at(x->block, first->pc)->aligned;
		if (s->pc != first->pc && aligned)
			return mixed(x, first, s);
		if (s->barrier == id)
			*lanes |= s->mask;
	}
	return 0;
}

/* ---- rounds ---- */

static void give_results(struct block *b, const struct barrier *r, struct warp *w, struct split *s)
{
	const struct insn *in = &b->launch->program->code[s->pc];
	const struct barrier_op *op = in->detail;
	if (!op->reduce || in->d == NO_ROW)
		return;
	uint32_t count = r->ones_count;
	bool holds = op->reduce == 2 ? r->ones_count == r->lanes_count : count > 0;
	uint32_t *d = (uint32_t *)(w->regs + s->frame + in->d);
	if (op->d_pred) {
		*d = (*d & ~s->mask) | (holds ? s->mask : 0);
		return;
	}
	for (uint32_t m = s->mask; m; m &= m - 1)
		d[__builtin_ctz(m)] = op->reduce == 1 ? count : holds;
}

static void release(struct block *b, unsigned id)
{
	struct barrier *r = &b->barriers[id];
	uint32_t gone = r->expected ? 0 : ~b->live_warps;
	if (b->n_warps < 32)
		gone &= (1u << b->n_warps) - 1;
	mem_barrier(b->memory, r->arrived | gone, r->waiting | gone);
	for (uint32_t m = r->waiting; m; m &= m - 1) {
		struct warp *w = &b->warps[__builtin_ctz(m)];
		w->counted &= (uint16_t)~(1u << id);
		for (uint32_t i = 0; i < w->n_splits; i++) {
			struct split *s = &w->splits[i];
			if (s->state != SPLIT_AT_BARRIER || s->barrier != id)
				continue;
			give_results(b, r, w, s);
			s->state = SPLIT_READY;
			s->pc++;
		}
	}
	*r = (struct barrier){0};
}

static void try_release(struct block *b, unsigned id)
{
	const struct barrier *r = &b->barriers[id];
	if (r->open && (r->expected ? r->count >= r->expected : !(b->live_warps & ~r->arrived)))
		release(b, id);
}

/* The value that all lanes of mask have in a row. */
static int uniform(struct exec *x, uint32_t row, uint32_t mask, const char *what, uint32_t *value)
{
	const uint32_t *v = (const uint32_t *)(x->regs + row);
	*value = v[__builtin_ctz(mask)];
	for (uint32_t m = mask; m; m &= m - 1)
		if (v[__builtin_ctz(m)] != *value)
			return exec_fault(x, FAULT_DIVERGENT_BARRIER, m, "lanes of a warp give the barrier different %s: %u and %u", what, *value,
					  v[__builtin_ctz(m)]);
	return 0;
}

static int open_round(struct exec *x, struct barrier *r, const struct barrier_op *op, const struct split *s)
{
	char place[96];
	uint32_t expected = 0;
	x->regs = x->warp->regs + s->frame;
	if (op->count != NO_ROW && uniform(x, op->count, s->mask, "counts", &expected) < 0)
		return -1;
	if (op->count != NO_ROW && (expected == 0 || expected % 32 || expected > 1024))
		return exec_fault(x, FAULT_BAD_INSTRUCTION, s->mask, "a barrier for %u threads: the count must be a multiple of 32", expected);
	expected /= 32;
	if (!r->open) {
		*r = (struct barrier){.open = true, .expected = expected, .reduce = op->reduce, .pc = s->pc};
		return 0;
	}
	if (r->expected != expected || r->reduce != op->reduce)
		return exec_fault(x, FAULT_DIVERGENT_BARRIER, s->mask, "this barrier and the one at %s have the same number, but %s",
				  exec_place(x->launch, r->pc, place, sizeof place),
				  r->expected != expected ? "another count" : "another operation");
	return 0;
}

static void add_predicates(struct exec *x, struct barrier *r, unsigned id)
{
	const struct warp *w = x->warp;
	for (uint32_t i = 0; i < w->n_splits; i++) {
		const struct split *s = &w->splits[i];
		if (s->state != SPLIT_AT_BARRIER || s->barrier != id)
			continue;
		const struct barrier_op *op = op_at(x->block, s->pc);
		uint32_t p = *(const uint32_t *)(w->regs + s->frame + op->source);
		r->lanes_count += (uint32_t)__builtin_popcount(s->mask);
		r->ones_count += (uint32_t)__builtin_popcount((op->source_not ? ~p : p) & s->mask);
	}
}

/* All lanes of the warp are there. */
static int count_warp(struct exec *x, unsigned id)
{
	struct block *b = x->block;
	struct warp *w = x->warp;
	struct barrier *r = &b->barriers[id];
	struct split *s = NULL;
	for (uint32_t i = 0; i < w->n_splits && !s; i++)
		if (w->splits[i].state == SPLIT_AT_BARRIER && w->splits[i].barrier == id)
			s = &w->splits[i];
	const struct barrier_op *op = op_at(b, s->pc);
	x->at = x->code + s->pc;
	if (open_round(x, r, op, s) < 0)
		return -1;
	r->arrived |= 1u << w->index;
	r->count++;
	if (r->reduce)
		add_predicates(x, r, id);
	if (!op->arrive) {
		r->waiting |= 1u << w->index;
		w->counted |= (uint16_t)(1u << id);
	} else {
		for (uint32_t i = 0; i < w->n_splits; i++) {
			if (w->splits[i].state != SPLIT_AT_BARRIER || w->splits[i].barrier != id)
				continue;
			w->splits[i].state = SPLIT_READY;
			w->splits[i].pc++;
		}
	}
	try_release(b, id);
	return 0;
}

static int check_warp(struct exec *x, unsigned id)
{
	uint32_t lanes;
	if (waiting_lanes(x, id, &lanes) < 0)
		return -1;
	if (lanes == 0 || lanes != x->warp->live || x->warp->counted >> id & 1)
		return 0;
	return count_warp(x, id);
}

int sync_arrive(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct barrier_op *op = in->detail;
	uint32_t id;
	if (uniform(x, op->id, mask, "numbers", &id) < 0)
		return -1;
	if (id >= BARRIERS)
		return exec_fault(x, FAULT_BAD_INSTRUCTION, mask, "barrier %u: there are 16, from 0", id);
	exec_part(x, mask);
	x->split->state = SPLIT_AT_BARRIER;
	x->split->barrier = (uint8_t)id;
	x->split->pc = (uint32_t)(in - x->code);
	return check_warp(x, id);
}

int sync_lanes_left(struct exec *x)
{
	const struct insn *at = x->at;
	for (unsigned id = 0; id < BARRIERS; id++) {
		if (x->warp->live && check_warp(x, id) < 0)
			return -1;
		if (!x->warp->live)
			try_release(x->block, id);
	}
	x->at = at;
	return 0;
}

/* ---- nothing can move ---- */

static void describe_split(const struct block *b, const struct warp *w, const struct split *s, char *text, size_t size)
{
	char place[96];
	exec_place(b->launch, s->pc, place, sizeof place);
	if (s->state == SPLIT_AT_BARRIER)
		snprintf(text, size, "warp %u lanes 0x%08x wait at barrier %u (%s)", w->index, s->mask, s->barrier, place);
	else
		snprintf(text, size, "warp %u lanes 0x%08x wait in %s with mask 0x%08x (%s)", w->index, s->mask, collective_name(s->what),
			 s->members, place);
}

/* A collective waits for lanes of its own warp that stand elsewhere: the mask is wrong.  Else it is a deadlock. */
void sync_describe_stall(struct block *b)
{
	struct fault *f = &b->ctx.fault;
	const struct split *worst = NULL;
	const struct warp *of = NULL;
	char text[160];
	size_t at = 0;
	memset(f, 0, sizeof *f);
	for (uint32_t i = 0; i < b->n_warps; i++)
		for (uint32_t k = 0; k < b->warps[i].n_splits; k++) {
			const struct split *s = &b->warps[i].splits[k];
			if (!worst || (worst->state != SPLIT_AT_COLLECTIVE && s->state == SPLIT_AT_COLLECTIVE)) {
				worst = s;
				of = &b->warps[i];
			}
		}
	if (!worst)
		BUG("a block stalls without a waiting split");
	f->kind = worst->state == SPLIT_AT_COLLECTIVE ? FAULT_BAD_MASK : FAULT_DEADLOCK;
	describe_split(b, of, worst, text, sizeof text);
	at += (size_t)snprintf(f->detail, sizeof f->detail, "nothing can go on: %s", text);
	for (uint32_t i = 0; i < b->n_warps; i++)
		for (uint32_t k = 0; k < b->warps[i].n_splits; k++) {
			if (&b->warps[i].splits[k] == worst)
				continue;
			describe_split(b, &b->warps[i], &b->warps[i].splits[k], text, sizeof text);
			if (at + strlen(text) + 8 < sizeof f->detail)
				at += (size_t)snprintf(f->detail + at, sizeof f->detail - at, "; %s", text);
		}
	exec_fault_thread(b, of, worst->mask);
	exec_fault_place(b, worst->pc);
}
