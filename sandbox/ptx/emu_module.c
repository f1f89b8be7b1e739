/* Loading of modules: variables in device memory, kernels by name; the heap of device malloc. */
#include "emu_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- variables ---- */

static bool has_memory(const struct ptx_var *v)
{
	return v->space == PTX_SPACE_GLOBAL || v->space == PTX_SPACE_CONST;
}

static int place_var(struct emu *g, struct ptx_var *v, struct err *e)
{
	unsigned flags = MEM_INITIALISED | MEM_ZERO | (v->space == PTX_SPACE_CONST ? MEM_READ_ONLY : 0);
	if (v->is_extern && v->size == 0)
		return err_input(e, "variable %s is declared extern and defined nowhere", v->name);
	if (mem_alloc(g->mem, v->size ? v->size : 1, flags, v->name, &v->address) < 0)
		return err_input(e, "variable %s (%llu bytes) does not fit into the device's memory", v->name, (unsigned long long)v->size);
	return 0;
}

static uint64_t reloc_value(const struct ptx_reloc *r)
{
	uint64_t base = r->var ? r->var->address : r->func ? func_address(r->func->index) : 0;
	if (r->generic && r->var && r->var->space == PTX_SPACE_SHARED)
		base += MEM_SHARED_BASE;
	return base + (uint64_t)r->addend;
}

static void write_var(struct emu *g, const struct ptx_var *v)
{
	const char *why;
	unsigned char *to = mem_host(g->mem, v->address, v->size, &why);
	if (!to)
		return;
	if (v->init)
		memcpy(to, v->init, v->size);
	else
		memset(to, 0, v->size);
	for (uint32_t i = 0; i < v->n_relocs; i++) {
		const struct ptx_reloc *r = &v->relocs[i];
		uint64_t value = reloc_value(r);
		if (r->offset + r->width <= v->size)
			memcpy(to + r->offset, &value, r->width);
	}
	mem_mark_written(g->mem, v->address, v->size);
}

static int place_vars(struct emu *g, struct emu_module *m, struct err *e)
{
	for (uint32_t i = 0; i < m->ptx->n_vars; i++)
		if (has_memory(m->ptx->vars[i]) && place_var(g, m->ptx->vars[i], e) < 0)
			return -1;
	if (mem_alloc(g->mem, m->param_bytes + 1, MEM_READ_ONLY | MEM_INITIALISED | MEM_ZERO, "kernel parameters", &m->param_address) < 0)
		return err_input(e, "the device's memory is full");
	for (uint32_t i = 0; i < m->ptx->n_vars; i++)
		if (has_memory(m->ptx->vars[i]))
			write_var(g, m->ptx->vars[i]);
	return 0;
}

static void release_vars(struct emu *g, struct emu_module *m)
{
	for (uint32_t i = 0; i < m->ptx->n_vars; i++)
		if (has_memory(m->ptx->vars[i]) && m->ptx->vars[i]->address)
			mem_release(g->mem, m->ptx->vars[i]->address);
	if (m->param_address)
		mem_release(g->mem, m->param_address);
}

void emu_reset(struct emu *g, struct emu_module *m)
{
	mem_release_all(g->mem);
	g->n_heap = 0;
	g->heap_used = 0;
	g->workspace = 0;
	g->launches_before = g->launches;
	l2_flush(g->l2);
	if (m && place_vars(g, m, NULL) < 0)
		BUG("the variables of a module no longer fit into device memory");
}

int emu_symbol(const struct emu_module *m, const char *name, uint64_t *addr, uint64_t *size)
{
	const struct ptx_var *v = ptx_find_var(m->ptx, name);
	if (!v || !has_memory(v))
		return -1;
	*addr = v->address;
	*size = v->size;
	return 0;
}

/* ---- modules ---- */

static int prepare_kernels(struct emu_module *m, const struct emu_resources *r, size_t n, struct err *e)
{
	for (uint32_t i = 0; i < m->ptx->n_funcs; i++)
		m->n_kernels += m->ptx->funcs[i]->is_entry;
	if (m->n_kernels > EMU_KERNELS_MAX)
		return err_input(e, "the module has %u kernels; at most %d are supported", m->n_kernels, EMU_KERNELS_MAX);
	m->kernels = arena_new_array(m->arena, struct emu_kernel, m->n_kernels + 1);
	for (uint32_t i = 0, k = 0; i < m->ptx->n_funcs; i++) {
		if (!m->ptx->funcs[i]->is_entry)
			continue;
		m->kernels[k].module = m;
		m->kernels[k].entry = m->program->funcs[i];
		if (kernel_prepare(&m->kernels[k], r, n, e) < 0)
			return -1;
		if (m->kernels[k].info.param_bytes > m->param_bytes)
			m->param_bytes = m->kernels[k].info.param_bytes;
		k++;
	}
	return 0;
}

struct emu_module *emu_load(struct emu *g, const char *ptx, size_t size, const struct emu_resources *r, size_t n, struct err *e)
{
	struct arena *a = arena_new();
	struct emu_module *m = arena_alloc(a, sizeof *m);
	m->arena = a;
	m->emu = g;
	m->ptx = ptx_parse(ptx, size, a, e);
	if (m->ptx)
		m->program = lower_module(m->ptx, a, e);
	if (!m->program || prepare_kernels(m, r, n, e) < 0) {
		arena_free(a);
		return NULL;
	}
	if (place_vars(g, m, e) < 0) {
		release_vars(g, m);
		arena_free(a);
		return NULL;
	}
	return m;
}

void emu_unload(struct emu *g, struct emu_module *m)
{
	if (!m)
		return;
	if (g->fitted == m->program)
		sched_free(g);
	release_vars(g, m);
	arena_free(m->arena);
}

unsigned emu_kernel_count(const struct emu_module *m)
{
	return m->n_kernels;
}

const struct emu_kernel *emu_kernel_at(const struct emu_module *m, unsigned i)
{
	return i < m->n_kernels ? &m->kernels[i] : NULL;
}

const struct emu_kernel *emu_kernel_find(const struct emu_module *m, const char *mangled)
{
	for (unsigned i = 0; i < m->n_kernels; i++)
		if (!strcmp(m->kernels[i].info.name, mangled))
			return &m->kernels[i];
	return NULL;
}

void emu_kernel_info(const struct emu_kernel *k, struct emu_kernel_info *out)
{
	*out = k->info;
}

/* ---- device malloc ---- */

enum { HEAP_LIMIT = 8 << 20 };		/* as cudaLimitMallocHeapSize by default */

uint64_t emu_heap_alloc(struct emu *g, uint64_t size)
{
	uint64_t addr;
	if (size == 0 || size > HEAP_LIMIT || g->heap_used + size > HEAP_LIMIT)
		return 0;
	if (g->n_heap == g->room_heap) {
		size_t room = g->room_heap ? 2 * g->room_heap : 64;
		void *more = realloc(g->heap, room * sizeof *g->heap);
		if (!more)
			return 0;
		g->heap = more;
		g->room_heap = room;
	}
	if (mem_alloc(g->mem, size, 0, "device malloc", &addr) < 0)
		return 0;
	g->heap[g->n_heap].addr = addr;
	g->heap[g->n_heap++].size = size;
	g->heap_used += size;
	return addr;
}

int emu_heap_free(struct emu *g, uint64_t addr)
{
	for (size_t i = 0; i < g->n_heap; i++) {
		if (g->heap[i].addr != addr)
			continue;
		g->heap_used -= g->heap[i].size;
		g->heap[i] = g->heap[--g->n_heap];
		return mem_release(g->mem, addr);
	}
	return -1;
}
