/* Proofs that a loop never ends: see endless.h. */
#include "endless.h"
#include "exec_ops.h"
#include "slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A window opens when a power of two of shares is used up, and lasts for some more shares or for a number of turns, four times
 * as many from window to window: so kernels that take long are watched for a small part of it. */
enum { WINDOW_SHARES = 4, FIRST_TURNS = 1024, MOST_DOUBLINGS = 16, GRACE = 16 };
enum { MAX_RUNS = 256, KNOWN = 64, MAX_LESSONS = 32, SPACES = 2 /* global, shared: those that others see */ };

struct endless {
	uint32_t window;
	bool gave_up;			/* in this window */
	uint32_t turns, most_turns;

	/* the code that ran */
	struct code_run *runs, known[KNOWN];
	uint32_t n_runs, room_runs, lessons;
	uint8_t spaces[SLICE_SPACES];	/* see slice_make */
	bool unlearned;			/* some of it the slice doesn't know */
	struct slice slice;

	/* the state it is held against */
	bool taken;
	struct split splits[32];
	uint32_t n_splits;
	unsigned char *values;
	size_t n_values, room_values;
	uint32_t since, limit;		/* turns since then; when the next is taken */
	uint64_t changes[SPACES];	/* what had changed until then */
	bool wrote, wrote_local;	/* since then it changed memory that others see; its own */
	uint32_t ran;			/* lanes that ran since then */
	uint32_t outer, outer_from, outer_turns;	/* since then: the jump furthest back, where it is, how often */

	/* what is proved */
	uint32_t forever, waiting;	/* lanes */
	uint8_t reads;			/* what those that wait wait for */
	uint64_t proved_at[SPACES];	/* no change since */
	uint32_t from, period, lanes;	/* the place, turns and lanes of the circle that was proved first */

	struct { uint64_t lo, hi; bool read_only; } allocation;	/* looked at last */
};

/* ---- changes of memory ---- */

static uint64_t *changes_of(struct block *b, unsigned space)
{
	return space == 0 && b->launch->grid_watch ? &b->launch->grid_watch->changes : &b->changes[space];
}

static void change(struct block *b, uint8_t spaces)
{
	for (unsigned i = 0; i < SPACES; i++)
		if (spaces >> i & 1)
			++*changes_of(b, i);
}

void endless_changed(struct exec *x)
{
	change(x->block, SLICE_GLOBAL | SLICE_SHARED);
}

static bool unchanged(struct block *b, uint8_t spaces, const uint64_t *since)
{
	for (unsigned i = 0; i < SPACES; i++)
		if (spaces >> i & 1 && *changes_of(b, i) != since[i])
			return false;
	return true;
}

/* ---- windows ---- */

/* The number of the window that is open after n shares; 0: none. */
static uint32_t window_after(uint32_t n)
{
	uint32_t k = n ? 31 - (uint32_t)__builtin_clz(n) : 0;
	return n && n - (1u << k) < WINDOW_SHARES ? k + 1 : 0;
}

static uint32_t window_of(const struct block *b)
{
	return b->launch->grid_watch ? b->launch->grid_watch->window : b->window;
}

static void forget(struct endless *e)
{
	free(e->runs);
	free(e->values);
	slice_free(&e->slice);
	free(e);
}

static void open_window(struct endless *e, uint32_t window)
{
	uint32_t doublings = 2 * (window - 1) < MOST_DOUBLINGS ? 2 * (window - 1) : MOST_DOUBLINGS;
	free(e->runs);
	free(e->values);
	slice_free(&e->slice);
	*e = (struct endless){.window = window, .most_turns = (uint32_t)FIRST_TURNS << doublings};
	memset(e->known, 0xff, sizeof e->known);
}

struct endless *endless_begin(struct block *b, struct warp *w)
{
	uint32_t window = window_of(b);
	if (!window && w->endless) {
		forget(w->endless);
		w->endless = NULL;
	}
	if (window && !w->endless) {
		w->endless = calloc(1, sizeof *w->endless);
		if (!w->endless)
			BUG("out of memory");
	}
	struct endless *e = w->endless;
	if (e && e->window != window)
		open_window(e, window);
	if (e && !e->gave_up)
		return e;
	change(b, SLICE_GLOBAL | SLICE_SHARED);
	return NULL;
}

void endless_end(struct block *b)
{
	for (uint32_t i = 0; i < b->n_warps; i++) {
		if (b->warps[i].endless)
			forget(b->warps[i].endless);
		b->warps[i].endless = NULL;
	}
}

static bool give_up(struct exec *x)
{
	x->watch->gave_up = true;
	x->watch = NULL;
	endless_changed(x);
	return false;
}

/* ---- the code that ran ---- */

static void add_run(struct endless *e, struct code_run r)
{
	for (uint32_t i = 0; i < e->n_runs; i++)
		if (e->runs[i].from == r.from && e->runs[i].to >= r.to)
			return;
	e->unlearned = true;
	if (e->n_runs == MAX_RUNS)
		return;
	if (e->n_runs == e->room_runs) {
		e->room_runs = e->room_runs ? 2 * e->room_runs : 8;
		e->runs = realloc(e->runs, e->room_runs * sizeof *e->runs);
		if (!e->runs)
			BUG("out of memory");
	}
	e->runs[e->n_runs++] = r;
}

void endless_ran(struct exec *x)
{
	struct endless *e = x->watch;
	struct code_run r = {(uint32_t)(x->entered - x->code), (uint32_t)(x->at - x->code)};
	struct code_run *known = &e->known[r.from % KNOWN];
	e->ran |= x->split->mask;
	if (known->from == r.from && known->to == r.to)
		return;
	*known = r;
	add_run(e, r);
}

static bool learn(struct exec *x)
{
	struct endless *e = x->watch;
	if (++e->lessons > MAX_LESSONS || e->n_runs == MAX_RUNS)
		return false;
	e->unlearned = false;
	return slice_make(&e->slice, x->launch->program, e->runs, e->n_runs, e->spaces);
}

/* ---- states ---- */

/* The values of a split's registers that decide, one register after another. */
static size_t row_bytes(const struct slice_reg *r)
{
	return r->bits == 1 ? sizeof(uint32_t) : 4 * (size_t)r->bits;
}

/* Its rows are of the slice's function: else it has not run since the window opened. */
static bool is_of(const struct endless *e, const struct split *s)
{
	return s->pc - e->slice.f->first < e->slice.f->n;
}

/* Where a walk over these rows is, of the warp's splits in turn. */
struct walk { uint32_t split, reg; };

/* The next row, whose it is and which; NULL: that was the last. */
static const unsigned char *next_row(const struct exec *x, struct walk *at, const struct split **s, const struct slice_reg **r)
{
	const struct slice *slice = &x->watch->slice;
	const struct warp *w = x->warp;
	for (; at->split < w->n_splits; at->split++, at->reg = 0) {
		*s = &w->splits[at->split];
		if (!is_of(x->watch, *s))
			continue;
		uint32_t position = slice_position(slice, (*s)->pc);
		while (at->reg < slice->n) {
			*r = &slice->regs[at->reg++];
			if (slice_lives(*r, position))
				return w->regs + (*s)->frame + (*r)->row;
		}
	}
	return NULL;
}

static void take(struct exec *x)
{
	struct endless *e = x->watch;
	const struct warp *w = x->warp;
	const struct split *s;
	const struct slice_reg *r;
	const unsigned char *row;
	e->n_values = 0;
	for (struct walk at = {0}; (row = next_row(x, &at, &s, &r)); e->n_values += row_bytes(r)) {
		if (e->n_values + row_bytes(r) > e->room_values) {
			e->room_values = 2 * (e->n_values + row_bytes(r));
			e->values = realloc(e->values, e->room_values);
			if (!e->values)
				BUG("out of memory");
		}
		memcpy(e->values + e->n_values, row, row_bytes(r));
	}
	memcpy(e->splits, w->splits, w->n_splits * sizeof *w->splits);
	e->n_splits = w->n_splits;
	e->taken = true;
	e->since = 0;
	e->wrote = e->wrote_local = false;
	e->ran = 0;
	e->outer = UINT32_MAX;
	for (unsigned i = 0; i < SPACES; i++)
		e->changes[i] = *changes_of(x->block, i);
}

static bool same_row(const unsigned char *a, const unsigned char *b, unsigned bits, uint32_t mask)
{
	size_t size = bits / 8;
	if (bits == 1) {
		uint32_t p, q;
		memcpy(&p, a, sizeof p);
		memcpy(&q, b, sizeof q);
		return !((p ^ q) & mask);
	}
	if (mask == ~0u)
		return !memcmp(a, b, 32 * size);
	unsigned parts = bits == 128 ? 2 : 1;
	size /= parts;
	for (unsigned k = 0; k < parts; k++)
		for (uint32_t m = mask; m; m &= m - 1) {
			size_t at = (32 * k + (unsigned)__builtin_ctz(m)) * size;
			if (memcmp(a + at, b + at, size))
				return false;
		}
	return true;
}

static bool same_split(const struct split *a, const struct split *b)
{
	return a->mask == b->mask && a->pc == b->pc && a->frame == b->frame && a->state == b->state &&
	       (a->state == SPLIT_READY || (a->barrier == b->barrier && a->what == b->what && a->members == b->members));
}

static bool same(const struct exec *x)
{
	const struct endless *e = x->watch;
	const struct warp *w = x->warp;
	const unsigned char *value = e->values, *row;
	const struct split *s;
	const struct slice_reg *r;
	if (!e->taken || w->n_splits != e->n_splits)
		return false;
	for (uint32_t i = 0; i < w->n_splits; i++)
		if (!same_split(&w->splits[i], &e->splits[i]))
			return false;
	for (struct walk at = {0}; (row = next_row(x, &at, &s, &r)); value += row_bytes(r))
		if (!same_row(value, row, r->bits, s->mask))
			return false;
	return true;
}

/* ---- proofs ---- */

static bool waits_still(struct block *b, const struct endless *e)
{
	return e->waiting && unchanged(b, e->reads, e->proved_at);
}

static void note_circle(struct exec *x)
{
	struct endless *e = x->watch;
	e->from = e->outer == UINT32_MAX ? (uint32_t)(x->at - x->code) : e->outer_from;
	e->period = e->outer == UINT32_MAX ? 1 : e->outer_turns;
	e->lanes = e->ran;
}

static void prove_forever(struct exec *x)
{
	struct endless *e = x->watch;
	if (!e->forever)
		note_circle(x);
	e->forever |= e->ran;
}

static void prove_waiting(struct exec *x)
{
	struct endless *e = x->watch;
	bool more = waits_still(x->block, e);
	if (!more && !e->forever)
		note_circle(x);
	e->waiting = (more ? e->waiting : 0) | e->ran;
	e->reads = (uint8_t)((more ? e->reads : 0) | (e->slice.reads & (SLICE_GLOBAL | SLICE_SHARED)));
	for (unsigned i = 0; i < SPACES; i++)
		e->proved_at[i] = *changes_of(x->block, i);
}

/* The state is what it was. */
static bool prove(struct exec *x)
{
	struct endless *e = x->watch;
	struct block *b = x->block;
	uint8_t reads = e->slice.reads;
	bool alone = b->launch->grid_watch || b->launch->n_blocks == 1;	/* global memory has no writers that we don't see */
	if (reads & e->slice.writes || (reads & SLICE_GLOBAL && !alone))
		return give_up(x);
	bool holds = unchanged(b, reads, e->changes) && !(reads & SLICE_LOCAL && e->wrote_local);
	if (holds && reads & (SLICE_GLOBAL | SLICE_SHARED))
		prove_waiting(x);
	else if (holds)
		prove_forever(x);
	if (holds)
		e->turns = 0;
	take(x);
	return holds;
}

static void note_jump(struct endless *e, uint32_t from, uint32_t target)
{
	if (target > from || target > e->outer)
		return;
	if (target < e->outer)
		e->outer_turns = 0;
	e->outer = target;
	e->outer_from = from;
	e->outer_turns++;
}

bool endless_turn(struct exec *x, uint32_t target)
{
	struct endless *e = x->watch;
	if (++e->turns > e->most_turns)
		return give_up(x);
	if (e->unlearned) {
		if (!learn(x))
			return give_up(x);
		take(x);
		e->limit = 1;
		return false;
	}
	note_jump(e, (uint32_t)(x->at - x->code), target);
	if (same(x))
		return prove(x);
	if (++e->since >= e->limit) {
		e->limit *= 2;
		take(x);
	}
	return false;
}

/* ---- accesses ---- */

static const unsigned char *global_at(struct exec *x, uint64_t addr, uint64_t bytes)
{
	const char *why;
	return mem_host(emu_mem(x->launch->emu), addr, bytes, &why);
}

static bool may_change(struct exec *x, uint64_t addr)
{
	struct endless *e = x->watch;
	if (addr - e->allocation.lo >= e->allocation.hi - e->allocation.lo) {
		if (!mem_range(emu_mem(x->launch->emu), addr, &e->allocation.lo, &e->allocation.hi, &e->allocation.read_only))
			return true;
	}
	return !e->allocation.read_only;
}

static uint8_t space_of(struct exec *x, enum ptx_space space, uint64_t addr, bool write)
{
	switch (space) {
	case PTX_SPACE_SHARED:
		return SLICE_SHARED;
	case PTX_SPACE_LOCAL:
		return SLICE_LOCAL;
	case PTX_SPACE_GENERIC:
		if (addr - MEM_SHARED_BASE < MEM_WINDOW)
			return SLICE_SHARED;
		if (addr - MEM_LOCAL_BASE < MEM_WINDOW)
			return SLICE_LOCAL;
		break;
	default:
		break;
	}
	return write || may_change(x, addr) ? SLICE_GLOBAL : 0;
}

/* The spaces that the lanes touch; those of loads that never change don't count.  (What ld.global.nc reads must not change; but it
 * is read anew each time here, whatever has been written there.) */
static uint8_t touch(struct exec *x, const struct insn *in, const uint64_t *addr, uint32_t mask, bool write)
{
	struct endless *e = x->watch;
	const struct access *a = in->detail;
	uint8_t spaces = 0, *seen = &e->spaces[(in - x->code) % SLICE_SPACES];
	bool fixed = a->op.space == PTX_SPACE_SHARED || a->op.space == PTX_SPACE_LOCAL || (a->op.space == PTX_SPACE_GLOBAL && write);
	if (in->op == exec_mbarrier_wait)
		spaces = SLICE_SHARED;
	else if (in->op == exec_load && (a->op.space == PTX_SPACE_CONST || a->op.space == PTX_SPACE_PARAM))
		return 0;
	else
		for (uint32_t m = mask; m && !(fixed && spaces); m &= m - 1)
			spaces |= space_of(x, a->op.space, addr[__builtin_ctz(m)], write);
	e->unlearned |= spaces & ~*seen;
	*seen |= spaces;
	return spaces;
}

struct before {
	uint32_t bytes;			/* a lane */
	const unsigned char *at[32];
	unsigned char was[32][64];
};

/* False: it cannot be said what stands there. */
static bool look(struct exec *x, const struct insn *in, const uint64_t *addr, uint32_t mask, struct before *o)
{
	const struct access *a = in->detail;
	o->bytes = in->op == exec_mbarrier_wait ? 8 : (uint32_t)a->op.bytes * a->op.n;
	if (o->bytes > sizeof o->was[0])
		return false;
	for (uint32_t m = mask; m; m &= m - 1) {
		int i = __builtin_ctz(m);
		uint64_t at = addr[i] - MEM_SHARED_BASE < MEM_WINDOW ? addr[i] - MEM_SHARED_BASE : addr[i];
		bool shared = in->op == exec_mbarrier_wait || a->op.space == PTX_SPACE_SHARED || at != addr[i];
		o->at[i] = shared ? mem_shared_at(x->block->memory, at, o->bytes) : global_at(x, at, o->bytes);
		if (!o->at[i])
			return false;
		memcpy(o->was[i], o->at[i], o->bytes);
	}
	return true;
}

static bool differs(const struct before *o, uint32_t mask)
{
	for (uint32_t m = mask; m; m &= m - 1)
		if (memcmp(o->at[__builtin_ctz(m)], o->was[__builtin_ctz(m)], o->bytes))
			return true;
	return false;
}

static int write_op(struct exec *x, const struct insn *in, uint32_t mask, const uint64_t *addr)
{
	struct endless *e = x->watch;
	struct before o;
	uint8_t spaces = touch(x, in, addr, mask, true);
	e->wrote_local |= spaces & SLICE_LOCAL;
	/* who has changed something since the state was taken, changes all that it writes: to look would cost too much */
	bool looks = !e->wrote && !(spaces & SLICE_LOCAL) && look(x, in, addr, mask, &o);
	int r = in->op(x, in, mask);
	if (looks && r == 0 && !differs(&o, mask))
		return 0;
	e->wrote |= spaces & (SLICE_GLOBAL | SLICE_SHARED);
	change(x->block, spaces);
	return r;
}

/* Those that change no memory. */
static bool only_reads(const struct insn *in)
{
	return in->op == exec_clock || in->op == exec_cvta || in->op == exec_isspacep || in->op == exec_activemask ||
	       in->op == exec_param_load || in->op == exec_mbarrier_pending || in->op == exec_async_commit;
}

int endless_op(struct exec *x, const struct insn *in, uint32_t mask)
{
	uint64_t addr[32] __attribute__((aligned(64)));
	bool read = in->op == exec_load, write = in->op == exec_store || in->op == exec_atomic || in->op == exec_mbarrier_wait;
	if (!x->watch)
		return in->op(x, in, mask);
	if (read || write) {
		const struct access *a = in->detail;
		exec_addresses(x->regs, a->address, a->address_bits, a->offset, addr);
		if (write)
			return write_op(x, in, mask, addr);
		touch(x, in, addr, mask, false);
	} else if (!only_reads(in)) {
		endless_changed(x);
	}
	return in->op(x, in, mask);
}

/* ---- verdicts ---- */

struct standing {			/* of a block */
	bool any, forever;
	bool still;			/* all that could move waits or runs for ever */
	const struct warp *warp;	/* the first of those that run for ever; else of those that wait */
};

static bool stands(struct block *b, const struct warp *w, uint32_t *lanes)
{
	const struct endless *e = w->endless;
	*lanes = e ? e->forever | (waits_still(b, e) ? e->waiting : 0) : 0;
	return *lanes != 0;
}

static struct standing stand(struct block *b)
{
	struct standing s = {.still = true};
	bool barriers = false;
	uint32_t lanes;
	for (uint32_t i = 0; i < b->n_warps; i++) {
		const struct warp *w = &b->warps[i];
		if (!w->live || !stands(b, w, &lanes))
			continue;
		bool forever = w->endless->forever != 0;
		if (!s.any || (forever && !s.forever))
			s.warp = w;
		s.any = true;
		s.forever |= forever;
		barriers |= w->endless->slice.barriers;
	}
	for (uint32_t i = 0; i < b->n_warps; i++) {
		const struct warp *w = &b->warps[i];
		stands(b, w, &lanes);
		for (uint32_t k = 0; k < w->n_splits && w->live; k++) {
			const struct split *p = &w->splits[k];
			bool could_move = p->state == SPLIT_READY || (p->state == SPLIT_AT_BARRIER && barriers);
			s.still &= !could_move || !(p->mask & ~lanes);
		}
	}
	return s;
}

static const char *awaited(uint8_t spaces)
{
	return spaces == SLICE_GLOBAL ? "global" : spaces == SLICE_SHARED ? "shared" : "shared or global";
}

static uint32_t line_of(const struct launch *l, uint32_t pc)
{
	const struct ptx_insn *in = lower_origin(l->program, pc, NULL);
	return in && in->loc ? l->program->module->locs[in->loc].line : 0;
}

/* Is the circle one turn of the loop in the source too?  Compilers put several into one, with a condition for each. */
static bool is_one_turn(const struct launch *l, const struct endless *e)
{
	uint32_t line = line_of(l, e->from);
	bool one = e->period <= 1;
	for (uint32_t i = 0; i < e->n_runs && one; i++)
		for (uint32_t pc = e->runs[i].from; pc <= e->runs[i].to; pc++) {
			const struct insn *in = &l->program->code[pc];
			one &= pc == e->from || in->kind != K_BRA || in->guard == NO_ROW || line_of(l, pc) != line;
		}
	return one;
}

/* others: why nobody will write what it waits for. */
static void describe(struct block *b, const struct warp *w, const char *others)
{
	const struct endless *e = w->endless;
	struct fault *f = &b->ctx.fault;
	memset(f, 0, sizeof *f);
	f->kind = FAULT_ENDLESS;
	if (!e->forever)
		snprintf(f->detail, sizeof f->detail, "it waits for a change of %s memory that never comes: %s", awaited(e->reads), others);
	else if (is_one_turn(b->launch, e))
		snprintf(f->detail, sizeof f->detail, "nothing that decides whether it goes on changes from one turn to the next");
	else
		snprintf(f->detail, sizeof f->detail, "what decides whether it goes on takes the same values over and over");
	b->ctx.other_site = MEM_NO_SITE;
	exec_fault_thread(b, w, e->lanes);
	exec_fault_place(b, e->from);
}

bool endless_round(struct block *b)
{
	struct standing s = {0};
	b->shares++;
	if (b->window)
		s = stand(b);
	if (s.any && (s.still || (s.forever && ++b->grace > GRACE))) {
		describe(b, s.warp, b->launch->n_blocks == 1 ? "all other threads of the launch have ended or wait as well (here, one launch runs at a time)"
							      : "all other threads of the block have ended or wait as well");
		return true;
	}
	uint32_t window = window_after(b->shares);
	b->window = window || !s.any ? window : b->window;
	return false;
}

static void describe_grid(struct block *b, const struct warp *w, uint32_t n, uint64_t left)
{
	char others[160];
	if (left)
		snprintf(others, sizeof others, "the %u blocks that run have all threads waiting, and %llu more begin only when one of these ends", n,
			 (unsigned long long)left);
	else
		snprintf(others, sizeof others, "all other threads of the launch have ended or wait as well (here, one launch runs at a time)");
	describe(b, w, others);
}

struct block *endless_sweep(struct grid_watch *g, struct block *const *resident, uint32_t n, uint64_t left, bool room)
{
	struct block *first = NULL;
	const struct warp *warp = NULL;
	bool still = !left || !room, forever = false;
	for (uint32_t i = 0; i < n && g->window; i++) {
		struct standing s = stand(resident[i]);
		still &= s.any && s.still;
		if (s.any && (!first || (s.forever && !forever))) {
			first = resident[i];
			warp = s.warp;
			forever = s.forever;
		}
	}
	g->sweeps++;
	if (first && (still || (forever && ++g->grace > GRACE))) {
		describe_grid(first, warp, n, left);
		return first;
	}
	uint32_t window = window_after(g->sweeps);
	g->window = window || !first ? window : g->window;
	return NULL;
}
