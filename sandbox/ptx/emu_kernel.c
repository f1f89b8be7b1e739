/* A kernel as the loader sees it: names, parameters, what it can reach, where its shared variables lie. */
#include "emu_int.h"

#include "../base/pretty_name.h"

#include <stdlib.h>
#include <stdio.h>
#include <string.h>

enum { RECURSION_STACK = 1 << 20, RECURSION_LOCAL = 16 << 10, MAX_LOCAL = 512 << 10, DEFAULT_MAX_THREADS = 1024,
       MAX_DEPTH = 2000, MAX_PARAMS = 32764, MAX_SHARED = 4096 };

/* ---- what it reaches ---- */

struct walk {
	const struct program *p;
	uint8_t *state;			/* 0 not met, 1 on the way, 2 done */
	uint64_t *stack, *local;	/* bytes below and with each function */
	bool recursive;
	uint32_t depth;
	bool too_deep;
	uint64_t steps;			/* from functions to those that a pointer may call */
	uint32_t *reach;		/* what was met, in order */
	struct emu_kernel *k;
};
static const uint64_t MAX_STEPS = 50 * 1000 * 1000;

static bool addressed(const struct program *p, uint32_t index)
{
	return p->funcs[index] && !p->funcs[index]->func->is_entry;
}

static void visit(struct walk *w, uint32_t index);

static void visit_callee(struct walk *w, uint32_t index, uint64_t *stack, uint64_t *local)
{
	if (!w->p->funcs[index])
		return;
	if (w->state[index] == 1) {
		w->recursive = true;
		return;
	}
	if (w->state[index] == 0 && w->depth < MAX_DEPTH)
		visit(w, index);
	w->too_deep |= w->state[index] == 0;
	if (w->stack[index] > *stack)
		*stack = w->stack[index];
	if (w->local[index] > *local)
		*local = w->local[index];
}

static void visit(struct walk *w, uint32_t index)
{
	const struct lowered *f = w->p->funcs[index];
	uint64_t stack = 0, local = 0;
	w->state[index] = 1;
	w->depth++;
	w->reach[w->k->n_reach++] = index;
	w->k->communicates |= f->communicates;
	w->k->fences |= f->fences;
	w->k->uses_heap |= f->uses_heap;
	for (uint32_t i = 0; i < f->n_callees; i++)
		visit_callee(w, f->callees[i]->index, &stack, &local);
	for (uint32_t i = 0; f->calls_indirect && i < w->p->n_funcs && w->steps < MAX_STEPS; i++, w->steps++)
		if (addressed(w->p, i))
			visit_callee(w, i, &stack, &local);
	w->state[index] = 2;
	w->depth--;
	w->stack[index] = stack + f->frame_bytes;
	w->local[index] = local + ((f->local_bytes + 15u) & ~15u) + (f->has_alloca ? ALLOCA_ROOM : 0);
}

static int find_reach(struct emu_kernel *k, struct arena *a, struct err *e)
{
	const struct program *p = k->module->program;
	struct arena *scratch = arena_new();
	struct walk w = {.p = p, .k = k};
	w.state = arena_alloc(scratch, p->n_funcs);
	w.stack = arena_new_array(scratch, uint64_t, p->n_funcs);
	w.local = arena_new_array(scratch, uint64_t, p->n_funcs);
	w.reach = arena_new_array(scratch, uint32_t, p->n_funcs);
	visit(&w, k->entry->index);
	k->reach = arena_dup(a, w.reach, k->n_reach * sizeof *k->reach);
	uint64_t stack = w.stack[k->entry->index] + (w.recursive ? RECURSION_STACK : 0);
	uint64_t local = w.local[k->entry->index] + (w.recursive ? RECURSION_LOCAL : 0);
	arena_free(scratch);
	if (w.too_deep)
		return err_input(e, "%s calls functions more than %d deep", k->info.pretty, MAX_DEPTH);
	if (w.steps >= MAX_STEPS)
		return err_input(e, "%s has too many functions that call others through pointers", k->info.pretty);
	if (local > MAX_LOCAL)
		return err_input(e, "%s needs %llu bytes of local memory a thread; the device has %u", k->info.pretty, (unsigned long long)local,
				 (unsigned)MAX_LOCAL);
	if (stack > 64u << 20)
		return err_input(e, "%s needs %llu bytes of registers a warp: more than the emulated device has", k->info.pretty,
				 (unsigned long long)stack);
	k->stack_bytes = (uint32_t)stack;
	k->info.local_bytes = (uint32_t)local;
	return 0;
}

/* ---- shared memory ---- */

static uint32_t align_up(uint64_t at, uint32_t align)
{
	return (uint32_t)((at + align - 1) / align * align);
}

static bool has_place(const struct emu_kernel *k, const struct ptx_var *v)
{
	for (uint32_t i = 0; i < k->n_shared; i++)
		if (k->shared[i].var == v)
			return true;
	return false;
}

static int place_shared(struct emu_kernel *k, struct arena *a, struct err *e)
{
	const struct program *p = k->module->program;
	uint32_t n = 0;
	uint64_t at = 0;
	for (uint32_t i = 0; i < k->n_reach; i++)
		n += p->funcs[k->reach[i]]->n_shared;
	if (n > MAX_SHARED)
		return err_input(e, "%s has %u shared variables; at most %d are supported", k->info.pretty, n, MAX_SHARED);
	k->shared = arena_new_array(a, struct shared_place, n + 1);
	k->dynamic_align = 16;
	for (int dynamic = 0; dynamic < 2; dynamic++) {
		if (dynamic)
			k->info.shared_static = (uint32_t)at;
		for (uint32_t i = 0; i < k->n_reach; i++) {
			const struct lowered *f = p->funcs[k->reach[i]];
			for (uint32_t s = 0; s < f->n_shared; s++) {
				const struct ptx_var *v = f->shared[s];
				uint32_t align = v->align ? v->align : 1;
				if ((v->size == 0) != dynamic || has_place(k, v))
					continue;
				if (dynamic && align > k->dynamic_align)
					k->dynamic_align = align;
				at = dynamic ? at : align_up(at, align);
				k->shared[k->n_shared++] = (struct shared_place){v, (uint32_t)at};
				at += v->size;
				if (at > MEM_WINDOW)
					return err_input(e, "%s: too much shared memory", k->info.pretty);
			}
		}
	}
	for (uint32_t i = 0; i < k->n_shared; i++)
		if (k->shared[i].var->size == 0)
			k->shared[i].offset = align_up(k->info.shared_static, k->dynamic_align);
	return 0;
}

/* ---- all of it ---- */

static void set_params(struct emu_kernel *k, struct arena *a)
{
	const struct ptx_func *f = k->entry->func;
	struct emu_param *params = arena_new_array(a, struct emu_param, f->n_params + 1);
	for (uint32_t i = 0; i < f->n_params; i++) {
		params[i].offset = (uint32_t)f->params[i].address;
		params[i].size = (uint32_t)f->params[i].size;
	}
	k->info.params = params;
	k->info.n_params = f->n_params;
	k->info.param_bytes = (uint32_t)f->param_bytes;
}

int kernel_prepare(struct emu_kernel *k, const struct emu_resources *r, size_t n, struct err *e)
{
	const struct ptx_func *f = k->entry->func;
	struct arena *a = k->module->arena;
	k->info.name = f->name;
	pretty_name(k->info.name, k->info.pretty, sizeof k->info.pretty);
	if (f->param_bytes > MAX_PARAMS)
		return err_input(e, "%s has %llu bytes of parameters; a kernel has at most %d", k->info.pretty,
				 (unsigned long long)f->param_bytes, MAX_PARAMS);
	set_params(k, a);
	if (find_reach(k, a, e) < 0 || place_shared(k, a, e) < 0)
		return -1;
	uint32_t regs = k->entry->registers + 8;
	k->info.registers = regs < 16 ? 16 : regs > 255 ? 255 : regs;
	k->info.max_threads = DEFAULT_MAX_THREADS;
	if (f->reqntid[0])
		k->info.max_threads = f->reqntid[0] * (f->reqntid[1] ? f->reqntid[1] : 1) * (f->reqntid[2] ? f->reqntid[2] : 1);
	else if (f->maxntid[0])
		k->info.max_threads = f->maxntid[0] * (f->maxntid[1] ? f->maxntid[1] : 1) * (f->maxntid[2] ? f->maxntid[2] : 1);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(r[i].name, f->name))
			continue;
		k->info.registers = r[i].registers > 0 ? (uint32_t)r[i].registers : k->info.registers;
	}
	return 0;
}
