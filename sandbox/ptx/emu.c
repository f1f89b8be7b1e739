/* The emulated GPU from outside: open and close, launches. */
#include "emu_int.h"

#include "../base/cores.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HOST_THREADS = 64, WORKSPACE_BYTES = 256 };
#define DEFAULT_BUDGET 20000000000ull

struct emu *emu_open(const struct profile *p, const struct emu_options *o, struct err *e)
{
	struct emu *g = calloc(1, sizeof *g);
	if (!g) {
		err_system(e, "out of memory");
		return NULL;
	}
	g->profile = *p;
	g->options = *o;
	if (g->options.threads == 0)
		g->options.threads = host_cores();
	if (g->options.threads > MAX_HOST_THREADS)
		g->options.threads = MAX_HOST_THREADS;
	if (g->options.budget == 0)
		g->options.budget = DEFAULT_BUDGET;
	g->mem = mem_new(&(struct mem_options){.limit = o->memory, .checks = o->checks}, e);
	if (!g->mem) {
		free(g);
		return NULL;
	}
	g->l2 = l2_new(p);
	return g;
}

void emu_close(struct emu *g)
{
	if (!g)
		return;
	sched_free(g);
	mem_free(g->mem);
	l2_free(g->l2);
	free(g->heap);
	free(g);
}

const struct profile *emu_profile(const struct emu *g)
{
	return &g->profile;
}

struct mem *emu_mem(struct emu *g)
{
	return g->mem;
}

void emu_flush_caches(struct emu *g)
{
	l2_flush(g->l2);
}

/* ---- what a launch may be ---- */

static uint32_t shared_bytes(const struct emu_kernel *k, uint32_t dynamic)
{
	uint32_t at = k->info.shared_static;
	if (dynamic)
		at = (at + k->dynamic_align - 1) / k->dynamic_align * k->dynamic_align;
	return at + dynamic;
}

static void shape_of(const struct emu_kernel *k, const uint32_t grid[3], const uint32_t block[3], uint32_t dynamic, struct launch_shape *s)
{
	*s = (struct launch_shape){.registers = k->info.registers, .shared_static = k->info.shared_static, .shared_dynamic = dynamic};
	for (int i = 0; i < 3; i++) {
		s->grid[i] = grid[i];
		s->block[i] = block[i];
	}
}

uint32_t emu_occupancy(const struct emu *g, const struct emu_kernel *k, uint32_t threads, uint32_t shared_dynamic)
{
	struct launch_shape s;
	struct occupancy o;
	if (threads == 0 || threads > g->profile.max_threads_per_block)
		return 0;
	shape_of(k, (const uint32_t[]){1, 1, 1}, (const uint32_t[]){threads, 1, 1}, shared_dynamic, &s);
	occupancy_of(&g->profile, &s, &o);
	return o.blocks_per_sm;
}

static int refuse(struct emu_report *out, const struct emu_kernel *k, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static int refuse(struct emu_report *out, const struct emu_kernel *k, const char *fmt, ...)
{
	struct fault *f = &out->fault;
	va_list ap;
	memset(f, 0, sizeof *f);
	f->kind = FAULT_BAD_LAUNCH;
	memcpy(f->kernel, k->info.pretty, sizeof f->kernel);
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof f->detail, fmt, ap);
	va_end(ap);
	return -1;
}

static int check_shape(const struct emu *g, const struct emu_launch *l, struct emu_report *out)
{
	static const uint32_t max_grid[3] = {0x7fffffff, 65535, 65535}, max_block[3] = {1024, 1024, 64};
	const struct emu_kernel *k = l->kernel;
	uint64_t threads = 1;
	for (int i = 0; i < 3; i++) {
		if (l->grid[i] == 0 || l->block[i] == 0)
			return refuse(out, k, "a launch of %u x %u x %u blocks of %u x %u x %u threads", l->grid[0], l->grid[1], l->grid[2],
				      l->block[0], l->block[1], l->block[2]);
		if (l->grid[i] > max_grid[i])
			return refuse(out, k, "grid dimension %c is %u; the device has at most %u", "xyz"[i], l->grid[i], max_grid[i]);
		if (l->block[i] > max_block[i])
			return refuse(out, k, "block dimension %c is %u; the device has at most %u", "xyz"[i], l->block[i], max_block[i]);
		threads *= l->block[i];
	}
	if (threads > g->profile.max_threads_per_block)
		return refuse(out, k, "%llu threads a block; the device has at most %u", (unsigned long long)threads,
			      g->profile.max_threads_per_block);
	if (threads > k->info.max_threads)
		return refuse(out, k, "%llu threads a block; the kernel is made for at most %u (__launch_bounds__)", (unsigned long long)threads,
			      k->info.max_threads);
	if (shared_bytes(k, l->shared_dynamic) > g->profile.shared_per_block)
		return refuse(out, k, "%u bytes of shared memory a block; the device has at most %u", shared_bytes(k, l->shared_dynamic),
			      g->profile.shared_per_block);
	return 0;
}

static int check_residency(const struct emu *g, const struct emu_launch *l, struct emu_report *out, uint32_t *resident)
{
	struct launch_shape s;
	shape_of(l->kernel, l->grid, l->block, l->shared_dynamic, &s);
	occupancy_of(&g->profile, &s, &out->occupancy);
	if (out->occupancy.blocks_per_sm == 0)
		return refuse(out, l->kernel, "no block fits on a multiprocessor: too many %s", out->occupancy.limit);
	uint64_t room = (uint64_t)out->occupancy.blocks_per_sm * g->profile.sms;
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	if (l->cooperative && blocks > room)
		return refuse(out, l->kernel, "a cooperative launch of %llu blocks; %llu can be resident at once", (unsigned long long)blocks,
			      (unsigned long long)room);
	*resident = (uint32_t)room;
	return 0;
}

/* ---- constants of a launch ---- */

static uint64_t launch_sreg(const struct launch *l, uint64_t sreg, uint64_t workspace)
{
	const struct profile *p = emu_profile(l->emu);
	switch (sreg) {
	case PTX_SREG_NTID_X:
	case PTX_SREG_NTID_Y:
	case PTX_SREG_NTID_Z:
		return l->block[sreg - PTX_SREG_NTID_X];
	case PTX_SREG_NCTAID_X:
	case PTX_SREG_NCTAID_Y:
	case PTX_SREG_NCTAID_Z:
		return l->grid[sreg - PTX_SREG_NCTAID_X];
	case PTX_SREG_NCLUSTERID_X:
	case PTX_SREG_NCLUSTERID_Y:
	case PTX_SREG_NCLUSTERID_Z:
		return l->grid[sreg - PTX_SREG_NCLUSTERID_X];
	case PTX_SREG_CLUSTER_NCTAID_X:
	case PTX_SREG_CLUSTER_NCTAID_Y:
	case PTX_SREG_CLUSTER_NCTAID_Z:
	case PTX_SREG_CLUSTER_NCTARANK:
		return 1;
	case PTX_SREG_NWARPID:
		return p->max_threads_per_sm / 32;
	case PTX_SREG_NSMID:
		return p->sms;
	case PTX_SREG_GRIDID:
		return l->id - l->emu->launches_before;
	case PTX_SREG_TOTAL_SMEM_SIZE:
	case PTX_SREG_AGGR_SMEM_SIZE:
		return l->shared_bytes;
	case PTX_SREG_DYNAMIC_SMEM_SIZE:
		return l->shared_dynamic;
	case PTX_SREG_ENVREG1:
		return workspace >> 32;
	case PTX_SREG_ENVREG2:
		return workspace & 0xffffffff;
	default:
		return 0;
	}
}

static uint64_t param_value(const struct constant *c, const unsigned char *params)
{
	uint64_t v = 0;
	memcpy(&v, params + c->value, c->size);
	unsigned shift = 64 - 8u * c->size;
	return c->sign ? (uint64_t)((int64_t)(v << shift) >> shift) : v;
}

static uint64_t constant_in_launch(const struct launch *l, const struct constant *c, const unsigned char *params, uint64_t workspace)
{
	const struct emu_kernel *k = l->kernel;
	switch ((enum constant_kind)c->kind) {
	case CONST_VALUE:
		return c->value;
	case CONST_SREG:
		return launch_sreg(l, c->value, workspace);
	case CONST_VAR:
		for (uint32_t i = 0; i < k->n_shared; i++)
			if (k->shared[i].var == c->var)
				return k->shared[i].offset + c->value;
		return c->var->address + c->value;
	case CONST_PARAM:
		return param_value(c, params);
	case CONST_PARAM_ADDRESS:
		return l->param_address + c->value;
	case CONST_FUNC:
		return func_address((uint32_t)c->value);
	case CONST_LOCAL:
		return 0;
	}
	return 0;
}

static void set_values(struct launch *l, const unsigned char *params, uint64_t workspace, struct arena *a)
{
	const struct emu_kernel *k = l->kernel;
	uint64_t **values = arena_new_array(a, uint64_t *, l->program->n_funcs);
	for (uint32_t i = 0; i < k->n_reach; i++) {
		const struct lowered *f = l->program->funcs[k->reach[i]];
		values[f->index] = arena_new_array(a, uint64_t, f->n_constants + 1);
		for (uint32_t c = 0; c < f->n_constants; c++)
			values[f->index][c] = constant_in_launch(l, &f->constants[c], params, workspace);
	}
	l->values = values;
}

/* ---- launches ---- */

/* grid.sync of cooperative groups counts arrivals in a workspace whose address the kernel finds in %envreg1 and 2. */
static int make_workspace(struct emu *g, struct err *e)
{
	const char *why;
	void *at = g->workspace ? mem_host(g->mem, g->workspace, WORKSPACE_BYTES, &why) : NULL;
	if (!at) {
		if (mem_alloc(g->mem, WORKSPACE_BYTES, MEM_INITIALISED | MEM_ZERO, "grid workspace", &g->workspace) < 0)
			return err_system(e, "no device memory for the workspace of a cooperative launch");
		at = mem_host(g->mem, g->workspace, WORKSPACE_BYTES, &why);
	}
	memset(at, 0, WORKSPACE_BYTES);
	mem_mark_written(g->mem, g->workspace, WORKSPACE_BYTES);
	return 0;
}

static void describe(struct emu *g, const struct emu_launch *in, const struct emu_report *out, struct launch *l)
{
	const struct emu_kernel *k = in->kernel;
	l->emu = g;
	l->program = k->module->program;
	l->entry = k->entry;
	l->kernel = k;
	l->threads = in->block[0] * in->block[1] * in->block[2];
	l->n_warps = (l->threads + 31) / 32;
	l->n_blocks = (uint64_t)in->grid[0] * in->grid[1] * in->grid[2];
	for (int i = 0; i < 3; i++) {
		l->grid[i] = in->grid[i];
		l->block[i] = in->block[i];
	}
	l->shared_static = k->info.shared_static;
	l->shared_dynamic = in->shared_dynamic;
	l->shared_bytes = shared_bytes(k, in->shared_dynamic);
	l->local_bytes = k->info.local_bytes;
	l->param_address = k->module->param_address;
	l->id = ++g->launches;
	l->stack_bytes = k->stack_bytes;
	l->l1_bytes = out->occupancy.l1_bytes_per_block;
	l->sms = g->profile.sms;
	l->budget = g->options.budget;
	l->sliced = k->communicates || in->cooperative;
	l->lowest_fault = UINT64_MAX;
}

static void store_params(struct emu *g, const struct emu_launch *in)
{
	const char *why;
	uint32_t n = in->kernel->info.param_bytes;
	void *to = n ? mem_host(g->mem, in->kernel->module->param_address, n, &why) : NULL;
	if (to)
		memcpy(to, in->params, n);
}

static void new_totals(struct totals *t, const struct program *p)
{
	t->tally = calloc(p->n_code + 1u, sizeof *t->tally);
	t->diverged = calloc(p->n_code + 1u, sizeof *t->diverged);
	t->sites = calloc(p->n_sites + 1u, sizeof *t->sites);
	if (!t->tally || !t->diverged || !t->sites)
		BUG("out of memory");
}

static void free_totals(struct totals *t)
{
	free(t->tally);
	free(t->diverged);
	free(t->sites);
}

/* Blocks raced with each other: that comes out when all have run. */
static void place_race(const struct launch *l, struct fault *f, const uint32_t sites[2])
{
	struct block at = {.launch = l};
	uint32_t pc = sites[0] == MEM_NO_SITE ? UINT32_MAX : exec_site_pc(l, sites[0]);
	at.ctx.fault = *f;
	at.ctx.other_site = sites[1];
	if (pc != UINT32_MAX)
		exec_fault_place(&at, pc);
	*f = at.ctx.fault;
}

int emu_launch(struct emu *g, const struct emu_launch *in, struct emu_report *out, struct err *e)
{
	struct launch l = {0};
	struct totals t = {0};
	uint32_t resident = 0, sites[2];
	memset(out, 0, sizeof *out);
	if (check_shape(g, in, out) < 0 || check_residency(g, in, out, &resident) < 0)
		return 0;
	if (in->cooperative && make_workspace(g, e) < 0)
		return -1;
	struct arena *a = arena_new();
	describe(g, in, out, &l);
	store_params(g, in);
	set_values(&l, in->params, in->cooperative ? g->workspace : 0, a);
	sched_fit(g, l.program);
	new_totals(&t, l.program);
	mem_launch_begin(g->mem, in->kernel->fences || in->cooperative ? MEM_COMMUNICATES : 0, l.grid);
	l2_begin(g->l2, out->occupancy.l1_bytes_per_sm);
	sched_run(g, &l, resident, &t, &out->fault);
	struct fault race = {0};
	if (mem_launch_end(g->mem, &race, sites) < 0 && out->fault.kind == FAULT_NONE) {
		out->fault = race;
		place_race(&l, &out->fault, sites);
	}
	l2_write_back(g->l2, &t.counters);
	report_make(&l, &t, out);
	struct launch_shape s;
	shape_of(in->kernel, in->grid, in->block, in->shared_dynamic, &s);
	model_time(&g->profile, &s, &out->occupancy, &out->counters, &out->modelled);
	free_totals(&t);
	arena_free(a);
	return 0;
}

void emu_report_free(struct emu_report *r)
{
	free(r->lines);
	r->lines = NULL;
	r->n_lines = 0;
}
