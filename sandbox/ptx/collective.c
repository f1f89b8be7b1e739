/* What the lanes of a warp do together: shuffles, votes, matches, reductions, __syncwarp, matrix instructions.
 *
 * A collective is a rendezvous of the lanes that its member mask names and that have not exited; they may come from
 * different places in the code.  Mostly all of them are here already: then it is done at once.  Else the lanes that
 * came wait as a split, until the last one arrives.  Lanes that read from one which takes no part get POISON, as the
 * value is undefined on hardware.
 */
#include "exec.h"

#include <math.h>
#include <string.h>

#define POISON 0x7fffdeadu

/* Built for AVX2 and plain x86-64, chosen when the program starts. */
#ifdef __clang__		/* see MEM_FAST */
#define FAST
#else
#define FAST __attribute__((target_clones("avx2", "default")))
#endif

static const char *const names[] = {
	[C_SHFL_UP] = "shfl.up", [C_SHFL_DOWN] = "shfl.down", [C_SHFL_BFLY] = "shfl.bfly", [C_SHFL_IDX] = "shfl.idx",
	[C_VOTE_ALL] = "vote.all", [C_VOTE_ANY] = "vote.any", [C_VOTE_UNI] = "vote.uni", [C_VOTE_BALLOT] = "vote.ballot",
	[C_MATCH_ANY] = "match.any", [C_MATCH_ALL] = "match.all", [C_REDUX_ADD] = "redux.add", [C_REDUX_MIN] = "redux.min",
	[C_REDUX_MAX] = "redux.max", [C_REDUX_UMIN] = "redux.min", [C_REDUX_UMAX] = "redux.max", [C_REDUX_AND] = "redux.and",
	[C_REDUX_OR] = "redux.or", [C_REDUX_XOR] = "redux.xor", [C_REDUX_FMIN] = "redux.min", [C_REDUX_FMAX] = "redux.max",
	[C_WARP_SYNC] = "__syncwarp", [C_ELECT] = "elect", [C_WHOLE] = "a matrix instruction"
};

const char *collective_name(unsigned what)
{
	return names[what];
}

/* The values of the lanes that take part, and the results. */
struct gather {
	uint32_t lanes, members;
	uint32_t a[32], b[32], c[32];
	uint64_t wide[32];		/* match.b64 */
	uint32_t ones;			/* predicates */
	uint32_t d[32], p;
};

static void collect_row(uint32_t *to, const uint32_t *row, uint32_t lanes)
{
	if (row && lanes == ~0u)
		memcpy(to, row, 32 * sizeof *to);
	else if (row)
		for (uint32_t m = lanes; m; m &= m - 1)
			to[__builtin_ctz(m)] = row[__builtin_ctz(m)];
}

static void collect(struct gather *g, const struct collective_op *op, const unsigned char *regs, uint32_t lanes)
{
	const uint32_t *a = op->a == NO_ROW ? NULL : (const uint32_t *)(regs + op->a);
	const uint32_t *b = op->b == NO_ROW ? NULL : (const uint32_t *)(regs + op->b);
	const uint32_t *c = op->c == NO_ROW ? NULL : (const uint32_t *)(regs + op->c);
	if (op->what >= C_VOTE_ALL && op->what <= C_VOTE_BALLOT) {
		g->ones |= (op->source_not ? ~*a : *a) & lanes;
		return;
	}
	if (op->what == C_MATCH_ANY || op->what == C_MATCH_ALL) {
		for (uint32_t m = lanes; m; m &= m - 1) {
			int i = __builtin_ctz(m);
			g->wide[i] = op->bits == 64 ? ((const uint64_t *)a)[i] : a[i];
		}
		return;
	}
	collect_row(g->a, a, lanes);
	collect_row(g->b, b, lanes);
	collect_row(g->c, c, lanes);
}

static void deliver(const struct gather *g, const struct collective_op *op, unsigned char *regs, uint32_t lanes)
{
	bool to_pred = op->what >= C_VOTE_ALL && op->what < C_VOTE_BALLOT;
	uint32_t *p = to_pred && op->d != NO_ROW ? (uint32_t *)(regs + op->d) : op->d2 != NO_ROW ? (uint32_t *)(regs + op->d2) : NULL;
	if (p)
		*p = (*p & ~lanes) | (g->p & lanes);
	if (to_pred || op->d == NO_ROW)
		return;
	uint32_t *d = (uint32_t *)(regs + op->d);
	if (lanes == ~0u) {
		memcpy(d, g->d, sizeof g->d);
		return;
	}
	for (uint32_t m = lanes; m; m &= m - 1)
		d[__builtin_ctz(m)] = g->d[__builtin_ctz(m)];
}

/* ---- the operations ---- */

/* what is a constant where this is expanded. */
static inline __attribute__((always_inline)) void shuffle_as(struct gather *g, unsigned what)
{
	int32_t from[32];
	uint32_t inside[32], p = 0;
	for (int i = 0; i < 32; i++) {
		int b = (int)(g->b[i] & 31), clamp = (int)(g->c[i] & 31), segment = (int)(g->c[i] >> 8 & 31);
		int high = (i & segment) | (clamp & ~segment), low = i & segment;
		from[i] = what == C_SHFL_UP ? i - b : what == C_SHFL_DOWN ? i + b : what == C_SHFL_BFLY ? i ^ b : low | (b & ~segment);
		int in = what == C_SHFL_UP ? from[i] >= high : from[i] <= high;
		from[i] = in ? from[i] & 31 : i;
		inside[i] = (uint32_t)in << i;
	}
	for (int i = 0; i < 32; i++)
		p |= inside[i];
	for (int i = 0; i < 32; i++)
		g->d[i] = g->a[from[i]];
	for (int i = 0; i < 32 && g->lanes != ~0u; i++)
		if (!(g->lanes >> from[i] & 1))
			g->d[i] = POISON;
	g->p |= p;
}

FAST static void shuffle(struct gather *g, unsigned what)
{
	switch (what) {
	case C_SHFL_UP:
		shuffle_as(g, C_SHFL_UP);
		break;
	case C_SHFL_DOWN:
		shuffle_as(g, C_SHFL_DOWN);
		break;
	case C_SHFL_BFLY:
		shuffle_as(g, C_SHFL_BFLY);
		break;
	default:
		shuffle_as(g, C_SHFL_IDX);
	}
}

static void match(struct gather *g, unsigned what)
{
	uint32_t all = g->lanes;
	for (uint32_t m = g->lanes; m; m &= m - 1) {
		int i = __builtin_ctz(m);
		uint32_t same = 0;
		for (uint32_t o = g->lanes; o; o &= o - 1)
			if (g->wide[__builtin_ctz(o)] == g->wide[i])
				same |= o & -o;
		g->d[i] = same;
		all &= same;
	}
	if (what == C_MATCH_ANY)
		return;
	bool equal = all == g->lanes;
	for (int i = 0; i < 32; i++)
		g->d[i] = equal ? g->lanes : 0;
	g->p = equal ? ~0u : 0;
}

static float float_of(uint32_t u)
{
	float f;
	memcpy(&f, &u, sizeof f);
	return f;
}

static uint32_t reduce_float(uint32_t x, uint32_t y, bool max, bool nan)
{
	float a = float_of(x), b = float_of(y);
	if (isnan(a) || isnan(b))
		return nan || (isnan(a) && isnan(b)) ? 0x7fffffff : isnan(a) ? y : x;
	if (a == b)
		return max ? x & y : x | y;	/* of the zeros: -0 < +0 */
	return (a > b) == max ? x : y;
}

static uint32_t reduce_pair(unsigned what, uint32_t x, uint32_t y, bool nan)
{
	switch (what) {
	case C_REDUX_ADD:
		return x + y;
	case C_REDUX_MIN:
		return (int32_t)x < (int32_t)y ? x : y;
	case C_REDUX_MAX:
		return (int32_t)x > (int32_t)y ? x : y;
	case C_REDUX_UMIN:
		return x < y ? x : y;
	case C_REDUX_UMAX:
		return x > y ? x : y;
	case C_REDUX_AND:
		return x & y;
	case C_REDUX_OR:
		return x | y;
	case C_REDUX_XOR:
		return x ^ y;
	default:
		return reduce_float(x, y, what == C_REDUX_FMAX, nan);
	}
}

static void reduce(struct gather *g, const struct collective_op *op)
{
	uint32_t sum = 0;
	bool first = true;
	for (uint32_t m = g->lanes; m; m &= m - 1) {
		uint32_t v = g->a[__builtin_ctz(m)];
		if (op->absolute)
			v &= 0x7fffffff;
		sum = first ? v : reduce_pair(op->what, sum, v, op->nan);
		first = false;
	}
	for (int i = 0; i < 32; i++)
		g->d[i] = sum;
}

static void perform(struct gather *g, const struct collective_op *op)
{
	uint32_t leader = (uint32_t)__builtin_ctz(g->lanes);
	switch (op->what) {
	case C_SHFL_UP:
	case C_SHFL_DOWN:
	case C_SHFL_BFLY:
	case C_SHFL_IDX:
		shuffle(g, op->what);
		break;
	case C_VOTE_ALL:
		g->p = g->ones == g->lanes ? ~0u : 0;
		break;
	case C_VOTE_ANY:
		g->p = g->ones ? ~0u : 0;
		break;
	case C_VOTE_UNI:
		g->p = g->ones == g->lanes || g->ones == 0 ? ~0u : 0;
		break;
	case C_VOTE_BALLOT:
		for (int i = 0; i < 32; i++)
			g->d[i] = g->ones;
		break;
	case C_MATCH_ANY:
	case C_MATCH_ALL:
		match(g, op->what);
		break;
	case C_ELECT:
		for (int i = 0; i < 32; i++)
			g->d[i] = leader;
		g->p = 1u << leader;
		break;
	case C_WARP_SYNC:
		break;
	default:
		reduce(g, op);
	}
}

/* ---- at once ---- */

static int run_whole(struct exec *x, const struct collective_op *op)
{
	if (op->inner->kind == K_ALU) {
		op->inner->alu.fn(x->regs, &op->inner->alu, ~0u);
		return 0;
	}
	return op->inner->op(x, op->inner, ~0u);
}

/* The member mask that all lanes of `mask` name, or 0: they differ. */
static uint32_t common_members(const unsigned char *regs, const struct collective_op *op, uint32_t mask)
{
	const uint32_t *v = (const uint32_t *)(regs + op->member);
	uint32_t first = v[__builtin_ctz(mask)], different = 0;
	if (mask == ~0u) {
		for (int i = 0; i < 32; i++)
			different |= v[i] ^ first;
		return different ? 0 : first;
	}
	for (uint32_t m = mask; m; m &= m - 1)
		if (v[__builtin_ctz(m)] != first)
			return 0;
	return first;
}

int collective_at_once(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct collective_op *op = in->detail;
	if (op->what == C_WHOLE) {
		if (mask != ~0u)
			return 0;
		return run_whole(x, op) < 0 ? -1 : 1;
	}
	if (!op->unsynced) {
		uint32_t members = common_members(x->regs, op, mask);
		if ((members & x->warp->live) != mask)
			return 0;
		if (op->what == C_WARP_SYNC)
			return 1;
	}
	struct gather g = {.lanes = mask};
	collect(&g, op, x->regs, mask);
	perform(&g, op);
	deliver(&g, op, x->regs, mask);
	return 1;
}

/* ---- rendezvous ---- */

static const struct collective_op *op_of(const struct exec *x, const struct split *s)
{
	return x->code[s->pc].detail;
}

static bool meets(const struct split *s, const struct split *with)
{
	return s->state == SPLIT_AT_COLLECTIVE && s->members == with->members && s->what == with->what &&
	       (s->what != C_WHOLE || s->pc == with->pc);
}

static int complete_whole(struct exec *x, struct split *with)
{
	if (x->warp->live != ~0u)
		return exec_fault(x, FAULT_BAD_MASK, with->mask,
				  "a matrix instruction needs all 32 lanes of the warp, of which lanes 0x%08x are not there", ~x->warp->live);
	x->regs = x->warp->regs + with->frame;
	return run_whole(x, op_of(x, with));
}

/* Do it if all have come; then they go on. */
static int try_complete(struct exec *x, const struct split *with)
{
	struct warp *w = x->warp;
	struct split key = *with;
	uint32_t lanes = 0;
	for (uint32_t i = 0; i < w->n_splits; i++)
		if (meets(&w->splits[i], &key))
			lanes |= w->splits[i].mask;
	if ((key.members & w->live) & ~lanes)
		return 0;
	x->at = x->code + key.pc;
	if (key.what == C_WHOLE && complete_whole(x, &key) < 0)
		return -1;
	struct gather g = {.lanes = lanes};
	if (key.what != C_WHOLE) {
		for (uint32_t i = 0; i < w->n_splits; i++)
			if (meets(&w->splits[i], &key))
				collect(&g, op_of(x, &w->splits[i]), w->regs + w->splits[i].frame, w->splits[i].mask);
		perform(&g, op_of(x, &key));
	}
	for (uint32_t i = 0; i < w->n_splits; i++) {
		struct split *s = &w->splits[i];
		if (!meets(s, &key))
			continue;
		if (key.what != C_WHOLE)
			deliver(&g, op_of(x, s), w->regs + s->frame, s->mask);
		s->state = SPLIT_READY;
		s->pc++;
	}
	return 0;
}

static void wait_here(struct exec *x, const struct collective_op *op, uint32_t members)
{
	struct split *s = x->split;
	s->pc = (uint32_t)(x->at - x->code);
	s->state = SPLIT_AT_COLLECTIVE;
	s->what = op->what;
	s->members = members;
}

int collective_arrive(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct collective_op *op = in->detail;
	struct split *all;
	exec_part(x, mask);
	all = x->split;
	if (op->what == C_WHOLE) {
		wait_here(x, op, ~0u);
		return try_complete(x, all);
	}
	if (op->unsynced) {
		int r = collective_at_once(x, in, mask);
		all->pc = (uint32_t)(in - x->code) + 1;
		return r < 0 ? -1 : 0;
	}
	const uint32_t *member = (const uint32_t *)(x->regs + op->member);
	struct split arrived[32];
	uint32_t n = 0;
	while (mask) {
		uint32_t members = member[__builtin_ctz(mask)], group = 0;
		for (uint32_t m = mask; m; m &= m - 1)
			if (member[__builtin_ctz(m)] == members)
				group |= m & -m;
		if (group & ~members)
			return exec_fault(x, FAULT_BAD_MASK, group & ~members, "%s with mask 0x%08x that does not name the calling lane %d",
					  names[op->what], members, __builtin_ctz(group & ~members));
		x->split = group == all->mask ? all : warp_split(x->warp, all);
		if (x->split != all) {
			x->split->mask = group;
			all->mask &= ~group;
		}
		wait_here(x, op, members);
		arrived[n++] = *x->split;
		mask &= ~group;
	}
	for (uint32_t i = 0; i < n; i++)
		if (try_complete(x, &arrived[i]) < 0)
			return -1;
	return 0;
}

/* Lanes have exited: others may have waited for them alone. */
int collective_lanes_left(struct exec *x)
{
	struct warp *w = x->warp;
	for (uint32_t i = 0; i < w->n_splits; i++)
		if (w->splits[i].state == SPLIT_AT_COLLECTIVE && try_complete(x, &w->splits[i]) < 0)
			return -1;
	return 0;
}
