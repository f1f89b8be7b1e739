/* The executor's loop: one split of a warp runs until it ends, waits, meets another or has used up its share.
 *
 * Instructions are not counted one by one.  A split tallies where it enters a run of code and where it leaves it (see
 * struct tally); sums over the program give each instruction's count when the launch is over.
 */
#include "endless.h"
#include "exec_ops.h"

#define LIKELY(x) __builtin_expect(!!(x), 1)

enum outcome { SWITCH, YIELD, FAULT };

void exec_leave(struct exec *x)
{
	const struct insn *behind = x->at + 1;
	struct tally *in = &x->worker->tally[x->entered - x->code], *out = &x->worker->tally[behind - x->code];
	uint64_t lanes = (uint64_t)__builtin_popcount(x->split->mask), n = behind->before - x->entered->before;
	in->n++;
	in->lanes += lanes;
	out->n--;
	out->lanes -= lanes;
	x->warp->executed += n;
	x->block->executed += n;
	if (__builtin_expect(x->watch != NULL, 0))
		endless_ran(x);
}

void exec_part(struct exec *x, uint32_t mask)
{
	struct split *s = x->split;
	if (mask == s->mask)
		return;
	struct split *part = warp_split(x->warp, s);
	part->mask = mask;
	s->mask &= ~mask;
	s->pc = (uint32_t)(x->at - x->code) + 1;
	x->split = part;
}

static inline uint32_t guarded(const unsigned char *regs, const struct insn *in, uint32_t mask)
{
	if (in->guard == NO_ROW)
		return mask;
	uint32_t p = *(const uint32_t *)(regs + in->guard);
	return mask & (in->guard_not ? ~p : p);
}

static bool others_ready(const struct exec *x)
{
	for (uint32_t i = 0; i < x->warp->n_splits; i++)
		if (&x->warp->splits[i] != x->split && x->warp->splits[i].state == SPLIT_READY)
			return true;
	return false;
}

/* The share is used up.  Other warps come first, since all splits of this one may wait for them; then its other splits. */
static enum outcome give_way(struct exec *x)
{
	x->warp->effort = 0;
	if (x->launch->lowest_fault < x->block->linear) {
		x->block->abandoned = true;
		return FAULT;
	}
	if (x->block->executed > x->launch->budget) {
		exec_fault(x, FAULT_BUDGET, x->split->mask, "still running after %llu warp-instructions",
			   (unsigned long long)x->block->executed);
		return FAULT;
	}
	if (others_ready(x))
		x->split->turn++;
	return YIELD;
}

/* After what can repeat without an end: branches back, through tables, and calls, of which a tree grows without any loop. */
static enum outcome go_on(struct exec *x)
{
	if (x->watch && endless_turn(x, x->at->kind == K_BRA ? x->at->target : (uint32_t)(x->at - x->code) + 1))
		return give_way(x);
	return ++x->warp->effort >= SHARE ? give_way(x) : SWITCH;
}

static enum outcome diverge(struct exec *x, uint32_t taken, uint32_t target)
{
	struct split *s = x->split, *rest = warp_split(x->warp, s);
	uint32_t pc = (uint32_t)(x->at - x->code);
	x->worker->diverged[pc]++;
	rest->mask = s->mask & ~taken;
	rest->pc = pc + 1;
	s->mask = taken;
	s->pc = target;
	return go_on(x);
}

static enum outcome lanes_exit(struct exec *x, uint32_t m)
{
	struct warp *w = x->warp;
	exec_part(x, m);
	warp_drop(w, x->split);
	w->live &= ~m;
	if (w->live == 0)
		x->block->live_warps &= ~(1u << w->index);
	return sync_lanes_left(x) < 0 || collective_lanes_left(x) < 0 ? FAULT : SWITCH;
}

static enum outcome table_branch(struct exec *x, const struct insn *in, uint32_t m)
{
	const struct branch_table *t = in->detail;
	const uint32_t *index = (const uint32_t *)(x->regs + in->a);
	exec_part(x, m);
	struct split *s = x->split;
	for (bool first = true; m; first = false) {
		uint32_t k = index[__builtin_ctz(m)], same = 0;
		if (k >= t->n)
			return exec_fault(x, FAULT_BAD_INSTRUCTION, m & -m, "brx.idx: index %u of a table of %u", k, t->n), FAULT;
		for (uint32_t r = m; r; r &= r - 1)
			if (index[__builtin_ctz(r)] == k)
				same |= r & -r;
		struct split *to = first ? s : warp_split(x->warp, s);
		if (!first)
			x->worker->diverged[in - x->code]++;
		to->mask = same;
		to->pc = t->targets[k];
		m &= ~same;
	}
	return go_on(x);
}

/* Instructions that end the run of a split, or may. */
static enum outcome run_control(struct exec *x, const struct insn *in, uint32_t m)
{
	int r = 0;
	exec_leave(x);
	x->split->pc = (uint32_t)(in - x->code) + 1;
	if (m == 0)
		return SWITCH;
	switch (in->kind) {
	case K_EXIT:
		return lanes_exit(x, m);
	case K_BRX:
		return table_branch(x, in, m);
	case K_CALL:
		return call_enter(x, in, m) < 0 ? FAULT : go_on(x);
	case K_RET:
		r = call_return(x, m);
		break;
	case K_BARRIER:
		r = sync_arrive(x, in, m);
		break;
	case K_COLLECTIVE:
		r = collective_arrive(x, in, m);
		break;
	case K_EXTERN:
		r = call_extern(x, in, m);
		break;
	case K_NANOSLEEP:
		return give_way(x);
	default:
		BUG("instruction of kind %u", in->kind);
	}
	return r < 0 ? FAULT : SWITCH;
}

/* ldmatrix and the like are not looked into. */
static bool changes_memory(const struct insn *in)
{
	const struct collective_op *op = in->detail;
	return op->what == C_WHOLE && op->inner->kind == K_OP;
}

/* watched is a constant where this is expanded. */
static inline __attribute__((always_inline)) enum outcome run_split_as(struct exec *x, struct split *s, bool watched)
{
	const struct insn *const code = x->code;
	struct warp *w = x->warp;
	const struct insn *in = code + s->pc, *stop;
	uint32_t mask = s->mask, m, at_stop = w->n_splits > 1 ? warp_stop(w, s) : UINT32_MAX;
	unsigned char *regs = w->regs + s->frame;
	stop = at_stop == UINT32_MAX ? (const struct insn *)UINTPTR_MAX : code + at_stop;
	x->split = s;
	x->entered = in;
	x->regs = regs;
	for (;;) {
		if (LIKELY(in->kind == K_ALU)) {
			in->alu.fn(regs, &in->alu, mask);
			goto next;
		}
		switch ((enum insn_kind)in->kind) {
		case K_ALU_IF:
			m = guarded(regs, in, mask);
			if (m)
				in->alu.fn(regs, &in->alu, m);
			break;
		case K_OP:
		case K_OP_IF:
			m = guarded(regs, in, mask);
			if (m == 0)
				break;
			x->at = in;
			if (__builtin_expect((watched ? endless_op(x, in, m) : in->op(x, in, m)) < 0, 0)) {
				exec_leave(x);
				return FAULT;
			}
			if (in->spin)
				w->effort += SPIN_COST;
			break;
		case K_ALU:
		case K_NOP:
			break;
		case K_COLLECTIVE:
			m = guarded(regs, in, mask);
			x->at = in;
			if (watched && changes_memory(in))
				endless_changed(x);
			if (LIKELY(m == mask)) {
				int r = collective_at_once(x, in, m);
				if (r > 0)
					break;
				if (r < 0) {
					exec_leave(x);
					return FAULT;
				}
			}
			return run_control(x, in, m);
		case K_BRA:
			m = guarded(regs, in, mask);
			if (m == 0)
				break;
			x->at = in;
			exec_leave(x);
			if (m != mask)
				return diverge(x, m, in->target);
			in = x->entered = code + in->target;
			if (watched && x->watch && in <= x->at) {
				s->pc = (uint32_t)(in - code);
				if (endless_turn(x, s->pc))
					return give_way(x);
			}
			if (in <= x->at && ++w->effort >= SHARE) {
				s->pc = (uint32_t)(in - code);
				return give_way(x);
			}
			if (LIKELY(in < stop))
				continue;
			s->pc = (uint32_t)(in - code);
			return SWITCH;
		default:
			x->at = in;
			return run_control(x, in, guarded(regs, in, mask));
		}
next:
		if (LIKELY(++in < stop))
			continue;
		x->at = in - 1;
		exec_leave(x);
		s->pc = (uint32_t)(in - code);
		return SWITCH;
	}
}

static enum outcome run_split(struct exec *x, struct split *s)
{
	return run_split_as(x, s, false);
}

static __attribute__((noinline)) enum outcome run_split_watched(struct exec *x, struct split *s)
{
	return run_split_as(x, s, true);
}

enum ran warp_run(struct block *b, struct warp *w)
{
	struct exec x = {.worker = b->worker, .launch = b->launch, .block = b, .warp = w, .code = b->launch->program->code};
	b->ctx.warp = w->index;
	x.watch = endless_begin(b, w);
	for (;;) {
		struct split *s = warp_pick(w);
		if (!s)
			return w->live ? RAN_BLOCKED : RAN_DONE;
		switch (x.watch ? run_split_watched(&x, s) : run_split(&x, s)) {
		case SWITCH:
			break;
		case YIELD:
			return RAN_YIELDED;
		case FAULT:
			exec_fault_place(b, (uint32_t)(x.at - x.code));
			return RAN_FAULT;
		}
	}
}

/* ---- blocks ---- */

enum ran block_run(struct block *b)
{
	for (;;) {
		bool ran = false, settled = false, yielded = false;
		for (uint32_t i = 0; i < b->n_warps; i++) {
			struct warp *w = &b->warps[i];
			if (w->live == 0 || !warp_pick(w))
				continue;
			ran = true;
			enum ran r = warp_run(b, w);
			if (r == RAN_FAULT)
				return r;
			if (r == RAN_YIELDED)
				yielded = true;
			else
				settled = true;
		}
		if (b->live_warps == 0)
			return RAN_DONE;
		if (!ran) {
			sync_describe_stall(b);
			return RAN_FAULT;
		}
		if (b->launch->sliced) {
			if (!settled)
				return RAN_YIELDED;
		} else if (yielded && endless_round(b)) {
			return RAN_FAULT;
		}
	}
}
