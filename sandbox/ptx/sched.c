/* Blocks over host threads.
 *
 * A launch runs in waves of as many blocks as the GPU has room for.  Blocks of a kernel that cannot talk to each other
 * are dealt out to host threads in order; each leaves a trace of what passed L1, and after the wave the traces are
 * replayed into L2 in canonical order.  Blocks of other kernels take turns on one host thread: a block runs until it has
 * nothing to do but look at what others may change, then the next one does.
 *
 * The fault reported is that of the lowest block: blocks below one with a fault run on, those above stop.  Counters
 * are those of the waves before the one with the fault.
 */
#include "emu_int.h"
#include "endless.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- per host thread ---- */

static void *need(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p)
		BUG("out of memory");
	return p;
}

void sched_fit(struct emu *g, const struct program *p)
{
	if (!g->workers)
		g->workers = need(g->options.threads, sizeof *g->workers);
	if (g->fitted == p)
		return;
	for (unsigned i = 0; i < g->options.threads; i++) {
		struct worker *w = &g->workers[i];
		free(w->tally);
		free(w->diverged);
		free(w->sites);
		free(w->plans);
		w->plans = NULL;
		w->tally = need(p->n_code + 1u, sizeof *w->tally);
		w->diverged = need(p->n_code + 1u, sizeof *w->diverged);
		w->sites = need(p->n_sites, sizeof *w->sites);
	}
	g->fitted = p;
}

void sched_free(struct emu *g)
{
	for (unsigned i = 0; g->workers && i < g->options.threads; i++) {
		free(g->workers[i].tally);
		free(g->workers[i].diverged);
		free(g->workers[i].sites);
		free(g->workers[i].plans);
		block_free(g->workers[i].block);
	}
	free(g->workers);
	g->workers = NULL;
	g->fitted = NULL;
}

static void clear_worker(struct worker *w, const struct launch *l)
{
	const struct emu_kernel *k = l->kernel;
	memset(&w->counters, 0, sizeof w->counters);
	for (uint32_t i = 0; i < k->n_reach; i++) {
		const struct lowered *f = l->program->funcs[k->reach[i]];
		memset(w->tally + f->first, 0, f->n * sizeof *w->tally);
		memset(w->diverged + f->first, 0, f->n * sizeof *w->diverged);
		memset(w->sites + f->first_site, 0, f->n_sites * sizeof *w->sites);
	}
	w->launch = l;
}

/* Add what the worker counted to the launch's totals, and clear it. */
static void fold(struct worker *w, const struct launch *l, struct totals *t)
{
	counters_add(&t->counters, &w->counters);
	for (uint32_t i = 0; i < l->kernel->n_reach; i++) {
		const struct lowered *f = l->program->funcs[l->kernel->reach[i]];
		for (uint32_t k = f->first; k < f->first + f->n; k++) {
			t->tally[k].n += w->tally[k].n;
			t->tally[k].lanes += w->tally[k].lanes;
			t->diverged[k] += w->diverged[k];
		}
		uint64_t *sum = (uint64_t *)(t->sites + f->first_site), *add = (uint64_t *)(w->sites + f->first_site);
		for (size_t k = 0; k < f->n_sites * (sizeof *t->sites / sizeof *sum); k++)
			sum[k] += add[k];
	}
	clear_worker(w, l);
}

/* ---- one wave ---- */

struct outcome {			/* of one block */
	struct trace trace;
	struct buf text;
	uint64_t executed;
	struct fault *fault;		/* or NULL */
};

/* A block costs the budget more than its instructions: a grid of millions that do nothing ends too. */
enum { BLOCK_COST = 500 };

/* Waves of blocks that take turns are longer than what is resident, as there the next block starts when one ends. */
enum { SLICED_WAVES = 8 };

struct wave {
	struct emu *emu;
	struct launch *launch;
	uint64_t first, end;
	struct outcome *outcomes;	/* end - first */
	_Atomic uint64_t next, spent;
};

static void note_fault(struct launch *l, uint64_t block)
{
	uint64_t lowest = l->lowest_fault;
	while (block < lowest && !atomic_compare_exchange_weak(&l->lowest_fault, &lowest, block))
		;
}

static void finish_block(struct wave *v, struct block *b, enum ran r)
{
	struct outcome *o = &v->outcomes[b->linear - v->first];
	o->text = b->text;
	b->text = (struct buf){0};
	o->executed = b->executed + BLOCK_COST;
	if (r == RAN_FAULT && !b->abandoned) {
		o->fault = need(1, sizeof *o->fault);
		*o->fault = b->ctx.fault;
		note_fault(v->launch, b->linear);
	}
	/* The budget ends at one of the blocks that have begun: find_fault says which. */
	if (atomic_fetch_add(&v->spent, o->executed) + o->executed > v->launch->budget)
		v->next = v->end;
	block_end(b);
}

static void run_blocks(struct wave *v, struct worker *w)
{
	uint64_t i;
	if (!w->block)
		w->block = block_new();
	while ((i = v->next++) < v->end) {
		if (i > v->launch->lowest_fault)
			continue;
		block_begin(w->block, w, i, &v->outcomes[i - v->first].trace);
		finish_block(v, w->block, block_run(w->block));
	}
}

struct helper {
	struct wave *wave;
	struct worker *worker;
	pthread_t thread;
	bool running;
};

static void *help(void *arg)
{
	struct helper *h = arg;
	run_blocks(h->wave, h->worker);
	return NULL;
}

static void run_wave(struct wave *v)
{
	struct emu *g = v->emu;
	struct helper helpers[64] = {0};
	uint64_t blocks = v->end - v->first;
	unsigned n = g->options.threads < 64 ? g->options.threads : 64;
	v->next = v->first;
	for (unsigned i = 1; i < n && i < blocks; i++) {
		helpers[i] = (struct helper){.wave = v, .worker = &g->workers[i]};
		helpers[i].running = pthread_create(&helpers[i].thread, NULL, help, &helpers[i]) == 0;
	}
	run_blocks(v, &g->workers[0]);
	for (unsigned i = 1; i < n; i++)
		if (helpers[i].running)
			pthread_join(helpers[i].thread, NULL);
}

/* ---- blocks that take turns ---- */

struct turns {
	struct wave *wave;
	struct block **resident, **spare;
	uint32_t n_resident, n_spare, room;
	uint64_t spent;
};

static struct block *take_block(struct turns *t, struct worker *w)
{
	if (t->n_spare)
		return t->spare[--t->n_spare];
	if (w->block) {
		struct block *b = w->block;
		w->block = NULL;
		return b;
	}
	return block_new();
}

/* Blocks wait for each other, and the budget is spent: the one that waits now is named. */
static enum ran spend(struct turns *t, struct block *b, enum ran r, uint64_t n)
{
	t->spent += n;
	if (r != RAN_YIELDED || t->spent <= t->wave->launch->budget)
		return r;
	const struct warp *w = NULL;
	for (uint32_t i = 0; i < b->n_warps && !w; i++)
		if (b->warps[i].live)
			w = &b->warps[i];
	memset(&b->ctx.fault, 0, sizeof b->ctx.fault);
	b->ctx.fault.kind = FAULT_BUDGET;
	snprintf(b->ctx.fault.detail, sizeof b->ctx.fault.detail, "still running, with other blocks, after %llu warp-instructions",
		 (unsigned long long)t->spent);
	exec_fault_thread(b, w, w->splits[0].mask);
	exec_fault_place(b, w->splits[0].pc);
	return RAN_FAULT;
}

/* True: the block is still there. */
static bool take_turn(struct turns *t, struct block *b)
{
	uint64_t before = b->executed;
	enum ran r = block_run(b);
	r = spend(t, b, r, b->executed - before);
	if (r == RAN_YIELDED)
		return true;
	finish_block(t->wave, b, r);
	t->spare[t->n_spare++] = b;
	return false;
}

/* All had their turn.  One that never ends, and all others with it, is done with. */
static void end_sweep(struct turns *t, uint64_t next)
{
	struct launch *l = t->wave->launch;
	struct block *b = endless_sweep(l->grid_watch, t->resident, t->n_resident, l->n_blocks - next, t->n_resident < t->room);
	uint32_t kept = 0;
	if (!b)
		return;
	finish_block(t->wave, b, RAN_FAULT);
	for (uint32_t i = 0; i < t->n_resident; i++)
		if (t->resident[i] != b)
			t->resident[kept++] = t->resident[i];
	t->n_resident = kept;
	t->spare[t->n_spare++] = b;
}

static void run_turns(struct wave *v, uint32_t room)
{
	struct worker *w = &v->emu->workers[0];
	uint64_t next = v->first;
	struct grid_watch watch = {0};
	struct turns t = {.wave = v, .room = room};
	v->launch->grid_watch = &watch;
	t.resident = need(room, sizeof *t.resident);
	t.spare = need(room, sizeof *t.spare);
	while ((next < v->end || t.n_resident) && v->launch->lowest_fault == UINT64_MAX) {
		if (next < v->end && t.n_resident < room) {
			struct block *b = take_block(&t, w);
			block_begin(b, w, next, &v->outcomes[next - v->first].trace);
			next++;
			if (take_turn(&t, b))
				t.resident[t.n_resident++] = b;
			continue;
		}
		uint32_t kept = 0;
		for (uint32_t i = 0; i < t.n_resident; i++)
			if (take_turn(&t, t.resident[i]))
				t.resident[kept++] = t.resident[i];
		t.n_resident = kept;
		end_sweep(&t, next);
	}
	v->launch->grid_watch = NULL;
	for (uint32_t i = 0; i < t.n_resident; i++) {
		block_end(t.resident[i]);
		block_free(t.resident[i]);
	}
	for (uint32_t i = 0; i < t.n_spare; i++) {
		if (!w->block)
			w->block = t.spare[i];
		else
			block_free(t.spare[i]);
	}
	free(t.resident);
	free(t.spare);
}

/* ---- a launch ---- */

static void over_budget(struct wave *v, uint64_t block, struct fault *f)
{
	struct emu_kernel_info info;
	const struct launch *l = v->launch;
	emu_kernel_info(l->kernel, &info);
	memset(f, 0, sizeof *f);
	f->kind = FAULT_BUDGET;
	f->has_thread = 1;
	f->block[0] = (uint32_t)(block % l->grid[0]);
	f->block[1] = (uint32_t)(block / l->grid[0] % l->grid[1]);
	f->block[2] = (uint32_t)(block / l->grid[0] / l->grid[1]);
	memcpy(f->kernel, info.pretty, sizeof f->kernel);
	snprintf(f->detail, sizeof f->detail, "the launch takes more than %llu warp-instructions (a block counts for %d more)",
		 (unsigned long long)v->emu->options.budget, BLOCK_COST);
}

/* The first block, in order, that has a fault or with which the budget is spent. */
static bool find_fault(struct wave *v, struct fault *f)
{
	uint64_t left = v->launch->budget;
	for (uint64_t i = v->first; i < v->end; i++) {
		struct outcome *o = &v->outcomes[i - v->first];
		if (o->fault) {
			*f = *o->fault;
			v->end = i + 1;
			return true;
		}
		if (o->executed > left) {
			over_budget(v, i, f);
			v->end = i + 1;
			return true;
		}
		left -= o->executed;
	}
	v->launch->budget = left;
	return false;
}

static void print_texts(struct wave *v, uint64_t *printed)
{
	enum { MAX_TEXT = 1 << 20 };		/* as the FIFO of the real runtime */
	const struct emu_options *o = &v->emu->options;
	for (uint64_t i = v->first; i < v->end; i++) {
		struct buf *b = &v->outcomes[i - v->first].text;
		size_t n = b->size;
		if (*printed + n > MAX_TEXT)
			n = MAX_TEXT - *printed;
		if (n && o->print)
			o->print(o->user, b->data, n);
		*printed += n;
	}
}

static void replay(struct wave *v, uint64_t n_blocks, uint32_t resident, struct counters *c)
{
	for (uint64_t at = 0; at < n_blocks; at += resident) {
		unsigned n = (unsigned)(n_blocks - at < resident ? n_blocks - at : resident);
		struct trace **traces = need(n, sizeof *traces);
		for (unsigned i = 0; i < n; i++)
			traces[i] = &v->outcomes[at + i].trace;
		l2_replay(v->emu->l2, traces, n, c);
		free(traces);
	}
}

static void free_outcomes(struct wave *v, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		free(v->outcomes[i].trace.entries);
		buf_free(&v->outcomes[i].text);
		free(v->outcomes[i].fault);
	}
	free(v->outcomes);
}

void sched_run(struct emu *g, struct launch *l, uint32_t resident, struct totals *t, struct fault *f)
{
	uint64_t printed = 0;
	bool failed = false;
	unsigned used = l->sliced ? 1 : g->options.threads;
	for (unsigned i = 0; i < used; i++)
		clear_worker(&g->workers[i], l);
	for (uint64_t at = 0; at < l->n_blocks && !failed;) {
		uint64_t most = l->sliced ? (uint64_t)resident * SLICED_WAVES : resident, n = l->n_blocks - at < most ? l->n_blocks - at : most;
		struct wave v = {.emu = g, .launch = l, .first = at, .end = at + n, .outcomes = need(n, sizeof *v.outcomes)};
		if (l->sliced)
			run_turns(&v, resident < n ? resident : (uint32_t)n);
		else
			run_wave(&v);
		failed = find_fault(&v, f);
		print_texts(&v, &printed);
		if (!failed) {
			replay(&v, n, resident, &t->counters);
			for (unsigned i = 0; i < used; i++)
				fold(&g->workers[i], l, t);
		}
		free_outcomes(&v, n);
		at += n;
	}
}
