/* A small emulated device with one block, and warps' accesses in a line each, for the tests of the memory. */
#ifndef TESTS_MEM_WORLD_H
#define TESTS_MEM_WORLD_H

#include "sandbox/ptx/mem.h"
#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, SITES = 64 };
#define ALL 0xffffffffu

struct row { uint32_t v[LANES] __attribute__((aligned(64))); };
struct row64 { uint64_t v[LANES] __attribute__((aligned(64))); };

/* One device, one block. */
struct world {
	struct mem *m;
	struct mem_ctx c;
	struct counters n;
	struct mem_site sites[SITES];
};

static const uint32_t GRID[3] = {1000, 1, 1};

static inline struct mem *device(void)
{
	struct err e = {0};
	struct mem *m = mem_new(&(struct mem_options){.limit = 64 << 20, .checks = true}, &e);
	CHECK_MSG(m, "%s", e.text);
	return m;
}

static inline void enter(struct world *w, struct mem *m, uint32_t shared, uint32_t local, uint32_t warps, uint32_t block)
{
	memset(w, 0, sizeof *w);
	w->m = m;
	w->c = (struct mem_ctx){.mem = m, .block = mem_block_new(m, shared, local, warps), .counters = &w->n,
				.block_linear = block, .block_index = {block, 0, 0}, .block_dim = {32 * warps, 1, 1}, .sites = w->sites};
}

static inline struct world *world(uint32_t shared, uint32_t warps)
{
	static struct world w;
	enter(&w, device(), shared, 64, warps, 0);
	mem_launch_begin(w.m, 0, GRID);
	return &w;
}

static inline void leave(struct world *w)
{
	mem_block_free(w->c.block);
	mem_free(w->m);
}

static inline uint64_t alloc(struct world *w, uint64_t size, unsigned flags, const char *name)
{
	uint64_t addr;
	CHECK_EQ(mem_alloc(w->m, size, flags, name, &addr), 0);
	return addr;
}

static inline struct mem_op op_of(enum ptx_space space, unsigned bytes, unsigned n, enum ptx_type type, uint32_t site)
{
	return (struct mem_op){.space = (uint8_t)space, .bytes = (uint8_t)bytes, .n = (uint8_t)n, .type = (uint8_t)type, .site = site};
}

/* address of lane i: base + i * stride */
static inline void line_up(uint64_t *addr, uint64_t base, int64_t stride)
{
	for (unsigned i = 0; i < LANES; i++)
		addr[i] = base + (uint64_t)(stride * i);
}

static inline int load_at(struct world *w, uint32_t warp, const struct mem_op *op, const uint64_t *addr, uint32_t mask, struct row *r)
{
	void *rows[8];
	for (unsigned i = 0; i < 8; i++)
		rows[i] = r + i;
	w->c.warp = warp;
	return mem_load(&w->c, op, &w->sites[op->site], addr, mask, rows);
}

static inline int store_at(struct world *w, uint32_t warp, const struct mem_op *op, const uint64_t *addr, uint32_t mask, const struct row *r)
{
	const void *rows[8];
	for (unsigned i = 0; i < 8; i++)
		rows[i] = r + i;
	w->c.warp = warp;
	return mem_store(&w->c, op, &w->sites[op->site], addr, mask, rows);
}

/* A warp reads or writes 4 bytes a lane. */
static inline int ld(struct world *w, enum ptx_space space, uint32_t warp, uint64_t base, int64_t stride, uint32_t mask)
{
	struct mem_op op = op_of(space, 4, 1, PTX_T_U32, 1);
	uint64_t addr[LANES];
	struct row r[8];
	line_up(addr, base, stride);
	return load_at(w, warp, &op, addr, mask, r);
}

static inline int st_value(struct world *w, enum ptx_space space, uint32_t warp, uint64_t base, int64_t stride, uint32_t mask, uint32_t v)
{
	struct mem_op op = op_of(space, 4, 1, PTX_T_U32, 2);
	uint64_t addr[LANES];
	struct row r[8];
	line_up(addr, base, stride);
	for (unsigned i = 0; i < LANES; i++)
		r[0].v[i] = stride ? v + i : v;
	return store_at(w, warp, &op, addr, mask, r);
}

static inline int st(struct world *w, enum ptx_space space, uint32_t warp, uint64_t base, int64_t stride, uint32_t mask)
{
	return st_value(w, space, warp, base, stride, mask, 1000 * warp + 7);
}

static inline int add_to(struct world *w, enum ptx_space space, uint32_t warp, uint64_t base, int64_t stride, uint32_t mask)
{
	struct mem_op op = op_of(space, 4, 1, PTX_T_U32, 3);
	uint64_t addr[LANES];
	struct row r = {{0}};
	line_up(addr, base, stride);
	for (unsigned i = 0; i < LANES; i++)
		r.v[i] = 1;
	w->c.warp = warp;
	return mem_atomic(&w->c, &op, &w->sites[3], addr, mask, NULL, (const void *const[]){&r}, NULL);
}

#define G PTX_SPACE_GLOBAL
#define S PTX_SPACE_SHARED
#define OK(call) CHECK_MSG((call) == 0, "%s: %s", #call, w->c.fault.detail)
#define FAULTS(call, what)                                                                             \
	do {                                                                                           \
		CHECK_MSG((call) == -1, "%s succeeded", #call);                                        \
		CHECK_MSG(w->c.fault.kind == FAULT_##what, "%s: %s", fault_name(w->c.fault.kind), w->c.fault.detail); \
	} while (0)
#define SAYS(text) CHECK_MSG(strstr(w->c.fault.detail, text), "\"%s\" is not in \"%s\"", text, w->c.fault.detail)

static inline void barrier(struct world *w)
{
	mem_barrier(w->c.block, ~0u, ~0u);
}

#endif
