/* Emulated memory: allocations, accesses, counts, races, atomics, cp.async, matrices. */
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

static struct mem *device(void)
{
	struct err e = {0};
	struct mem *m = mem_new(&(struct mem_options){.limit = 64 << 20, .checks = true}, &e);
	CHECK_MSG(m, "%s", e.text);
	return m;
}

static void enter(struct world *w, struct mem *m, uint32_t shared, uint32_t local, uint32_t warps, uint32_t block)
{
	memset(w, 0, sizeof *w);
	w->m = m;
	w->c = (struct mem_ctx){.mem = m, .block = mem_block_new(m, shared, local, warps), .counters = &w->n,
				.block_linear = block, .block_index = {block, 0, 0}, .block_dim = {32 * warps, 1, 1}, .sites = w->sites};
}

static struct world *world(uint32_t shared, uint32_t warps)
{
	static struct world w;
	enter(&w, device(), shared, 64, warps, 0);
	mem_launch_begin(w.m, 0, GRID);
	return &w;
}

static void leave(struct world *w)
{
	mem_block_free(w->c.block);
	mem_free(w->m);
}

static uint64_t alloc(struct world *w, uint64_t size, unsigned flags, const char *name)
{
	uint64_t addr;
	CHECK_EQ(mem_alloc(w->m, size, flags, name, &addr), 0);
	return addr;
}

static struct mem_op op_of(enum ptx_space space, unsigned bytes, unsigned n, enum ptx_type type, uint32_t site)
{
	return (struct mem_op){.space = (uint8_t)space, .bytes = (uint8_t)bytes, .n = (uint8_t)n, .type = (uint8_t)type, .site = site};
}

/* address of lane i: base + i * stride */
static void line_up(uint64_t *addr, uint64_t base, int64_t stride)
{
	for (unsigned i = 0; i < LANES; i++)
		addr[i] = base + (uint64_t)(stride * i);
}

static int load_at(struct world *w, uint32_t warp, const struct mem_op *op, const uint64_t *addr, uint32_t mask, struct row *r)
{
	void *rows[8];
	for (unsigned i = 0; i < 8; i++)
		rows[i] = r + i;
	w->c.warp = warp;
	return mem_load(&w->c, op, &w->sites[op->site], addr, mask, rows);
}

static int store_at(struct world *w, uint32_t warp, const struct mem_op *op, const uint64_t *addr, uint32_t mask, const struct row *r)
{
	const void *rows[8];
	for (unsigned i = 0; i < 8; i++)
		rows[i] = r + i;
	w->c.warp = warp;
	return mem_store(&w->c, op, &w->sites[op->site], addr, mask, rows);
}

/* A warp reads or writes 4 bytes a lane. */
static int ld(struct world *w, enum ptx_space space, uint32_t warp, uint64_t base, int64_t stride, uint32_t mask)
{
	struct mem_op op = op_of(space, 4, 1, PTX_T_U32, 1);
	uint64_t addr[LANES];
	struct row r[8];
	line_up(addr, base, stride);
	return load_at(w, warp, &op, addr, mask, r);
}

static int st_value(struct world *w, enum ptx_space space, uint32_t warp, uint64_t base, int64_t stride, uint32_t mask, uint32_t v)
{
	struct mem_op op = op_of(space, 4, 1, PTX_T_U32, 2);
	uint64_t addr[LANES];
	struct row r[8];
	line_up(addr, base, stride);
	for (unsigned i = 0; i < LANES; i++)
		r[0].v[i] = stride ? v + i : v;
	return store_at(w, warp, &op, addr, mask, r);
}

static int st(struct world *w, enum ptx_space space, uint32_t warp, uint64_t base, int64_t stride, uint32_t mask)
{
	return st_value(w, space, warp, base, stride, mask, 1000 * warp + 7);
}

static int add_to(struct world *w, enum ptx_space space, uint32_t warp, uint64_t base, int64_t stride, uint32_t mask)
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

static void barrier(struct world *w)
{
	mem_barrier(w->c.block, ~0u, ~0u);
}

/* ---- allocations ---- */

TEST(allocations_are_apart_and_aligned)
{
	struct world *w = world(0, 1);
	uint64_t a = alloc(w, 100, 0, "a"), b = alloc(w, 5000, MEM_ZERO, "b");
	const char *why;
	CHECK_EQ(a % 256, 0);
	CHECK_EQ(b % 256, 0);
	CHECK(b >= a + 100 + 256);
	CHECK(mem_host(w->m, a, 100, &why));
	CHECK(!mem_host(w->m, a, 101, &why));
	CHECK(!mem_host(w->m, a + 200, 1, &why));
	CHECK_EQ(mem_used(w->m), 5100);
	CHECK_EQ(mem_release(w->m, a + 4), -1);
	CHECK_EQ(mem_release(w->m, a), 0);
	CHECK_EQ(mem_release(w->m, a), -1);
	CHECK_EQ(mem_used(w->m), 5000);
	leave(w);
}

TEST(more_than_the_limit_is_refused)
{
	struct world *w = world(0, 1);
	uint64_t a, b;
	CHECK_EQ(mem_alloc(w->m, (64 << 20) + 1, 0, NULL, &a), -1);
	CHECK_EQ(mem_alloc(w->m, UINT64_MAX - 100, 0, NULL, &a), -1);
	CHECK_EQ(mem_alloc(w->m, 40 << 20, 0, NULL, &a), 0);
	CHECK_EQ(mem_alloc(w->m, 40 << 20, 0, NULL, &b), -1);
	CHECK_EQ(mem_release(w->m, a), 0);
	CHECK_EQ(mem_alloc(w->m, 40 << 20, 0, NULL, &b), 0);
	leave(w);
}

TEST(released_memory_is_used_again_only_when_all_else_is)
{
	struct world *w = world(0, 1);
	uint64_t first = alloc(w, 1 << 20, 0, "first"), a = first;
	const char *why;
	*(uint32_t *)mem_host(w->m, a, 4, &why) = 77;
	bool again = false;
	for (unsigned i = 0; i < 100000 && !again; i++) {
		CHECK_EQ(mem_release(w->m, a), 0);
		a = alloc(w, 32 << 20, 0, "next");
		again = a <= first;
		CHECK(again || a > first);
		CHECK_EQ(*(uint32_t *)mem_host(w->m, a, 4, &why), 0);
	}
	CHECK(again);
	leave(w);
}

TEST(written_marks)
{
	struct world *w = world(0, 1);
	uint64_t a = alloc(w, 1000, 0, "a"), first;
	CHECK(!mem_is_written(w->m, a, 1000, &first));
	CHECK_EQ(first, 0);
	mem_mark_written(w->m, a + 300, 100);
	CHECK(mem_is_written(w->m, a + 300, 100, &first));
	CHECK(!mem_is_written(w->m, a + 300, 101, &first));
	CHECK_EQ(first, 100);
	mem_mark_written(w->m, a, 300);
	CHECK(mem_is_written(w->m, a, 400, &first));
	mem_mark_unwritten(w->m, a + 17, 3);
	CHECK(!mem_is_written(w->m, a, 400, &first));
	CHECK_EQ(first, 17);
	CHECK(mem_is_written(w->m, a + 20, 380, &first));
	mem_mark_written(w->m, a, 1000);
	CHECK(mem_is_written(w->m, a, 1000, &first));
	mem_mark_unwritten(w->m, a, 1000);
	CHECK(!mem_is_written(w->m, a + 999, 1, &first));
	uint64_t z = alloc(w, 64, MEM_ZERO, "z");
	CHECK(mem_is_written(w->m, z, 64, &first));
	leave(w);
}

TEST(descriptions)
{
	struct world *w = world(0, 1);
	char text[200];
	uint64_t a = alloc(w, 1028, 0, "y"), b = alloc(w, 64, 0, NULL);
	mem_describe(w->m, a + 1032, 4, text, sizeof text);
	CHECK_STR(text, "4 bytes past the end of y (1028 bytes)");
	mem_describe(w->m, a + 1028, 4, text, sizeof text);
	CHECK_STR(text, "just past the end of y (1028 bytes)");
	mem_describe(w->m, a + 1024, 16, text, sizeof text);
	CHECK_STR(text, "at offset 1024 of y (1028 bytes), 12 bytes past its end");
	mem_describe(w->m, b - 8, 4, text, sizeof text);
	CHECK_STR(text, "8 bytes before the start of an allocation of 64 bytes");
	mem_release(w->m, a);
	mem_describe(w->m, a + 8, 4, text, sizeof text);
	CHECK_STR(text, "at offset 8 of freed memory, once y (1028 bytes)");
	mem_describe(w->m, 0, 4, text, sizeof text);
	CHECK_STR(text, "at a null pointer");
	mem_describe(w->m, 0x4c2b30, 4, text, sizeof text);
	CHECK(strstr(text, "no device memory"));
	leave(w);
}

/* ---- loads and stores: data ---- */

/* A load against the plain definition, for every shape, mask and space. */
static uint64_t expected(const unsigned char *p, const struct mem_op *op, unsigned e)
{
	uint64_t v = 0;
	memcpy(&v, p, op->bytes);
	bool sign = op->type == PTX_T_S8 || op->type == PTX_T_S16 || op->type == PTX_T_S32;
	if (sign && v >> (8 * op->bytes - 1) & 1)
		v |= ~0ull << (8 * op->bytes - 1);
	if (op->narrow >> e & 1)
		v &= 0xffff;
	return op->wide >> e & 1 ? v : (uint32_t)v;
}

static void check_load(struct world *w, const struct mem_op *op, const uint64_t *addr, uint32_t mask,
		       const unsigned char *memory, uint64_t origin)
{
	struct row64 r[8];
	void *rows[8];
	memset(r, 0x5a, sizeof r);
	for (unsigned e = 0; e < op->n; e++)
		rows[e] = &r[e];
	CHECK_MSG(mem_load(&w->c, op, &w->sites[op->site], addr, mask, rows) == 0, "%s", w->c.fault.detail);
	for (unsigned e = 0; e < op->n; e++)
		for (unsigned i = 0; i < LANES; i++) {
			uint64_t got = op->wide >> e & 1 ? r[e].v[i] : ((uint32_t *)&r[e])[i], poison = op->wide >> e & 1 ? 0x5a5a5a5a5a5a5a5a : 0x5a5a5a5a;
			uint64_t want = mask >> i & 1 ? expected(memory + (addr[i] - origin) + e * op->bytes, op, e) : poison;
			CHECK_MSG(got == want, "%u bytes x %u, mask %x, lane %u element %u: %llx, expected %llx", op->bytes, op->n, mask, i, e,
				  (unsigned long long)got, (unsigned long long)want);
		}
}

static const struct { uint8_t bytes, n, type, wide, narrow; } SHAPES[] = {
	{1, 1, PTX_T_U8, 0, 1}, {1, 1, PTX_T_S8, 0, 1}, {1, 1, PTX_T_S8, 0, 0}, {1, 1, PTX_T_S8, 1, 0}, {1, 4, PTX_T_U8, 0, 15},
	{2, 1, PTX_T_B16, 0, 1}, {2, 1, PTX_T_S16, 0, 0}, {2, 1, PTX_T_S16, 0, 1}, {2, 2, PTX_T_U16, 0, 3}, {2, 4, PTX_T_B16, 0, 15},
	{2, 8, PTX_T_B16, 0, 255}, {4, 1, PTX_T_F32, 0, 0}, {4, 1, PTX_T_S32, 1, 0}, {4, 1, PTX_T_U32, 1, 0}, {4, 2, PTX_T_F32, 0, 0},
	{4, 4, PTX_T_U32, 0, 0}, {4, 8, PTX_T_B32, 0, 0}, {8, 1, PTX_T_U64, 1, 0}, {8, 2, PTX_T_F64, 3, 0}, {8, 4, PTX_T_B64, 15, 0},
};

static void patterns(uint64_t *addr, unsigned k, uint64_t base, unsigned size)
{
	static const int strides[] = {1, 0, 2, 3, 5, 8, 17, 33, 0, 0, 0, 0};
	for (unsigned i = 0; i < LANES; i++)
		switch (k) {
		case 8:
			addr[i] = base + (31 - i) * size;
			break;
		case 9:
			addr[i] = base + (i * 7 + 3) % 32 * size;
			break;
		case 10:
			addr[i] = base + (i / 4 * 20 + i % 4) * size;
			break;
		case 11:
			addr[i] = base + i / 8 * size;
			break;
		default:
			addr[i] = base + (uint64_t)strides[k] * i * size;
		}
}

TEST(loads_of_every_shape_pattern_and_mask)
{
	static const uint32_t masks[] = {ALL, 1, 0x80000000, 0xffff, 0x55555555, 0x00ff00f0, 0x7fffffff};
	struct world *w = world(40960, 1);
	uint64_t g = alloc(w, 40960, MEM_READ_ONLY, "in");
	const char *why;
	unsigned char *memory = mem_host(w->m, g, 40960, &why);
	for (unsigned i = 0; i < 40960; i++)
		memory[i] = (unsigned char)(i * 37 + i / 256 * 11);
	struct row words;
	for (unsigned at = 0; at < 40960; at += 128) {
		struct mem_op op = op_of(S, 4, 1, PTX_T_U32, 0);
		uint64_t addr[LANES];
		line_up(addr, at, 4);
		memcpy(words.v, memory + at, 128);
		OK(store_at(w, 0, &op, addr, ALL, &words));
	}
	for (unsigned s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++)
		for (unsigned k = 0; k < 12; k++)
			for (unsigned m = 0; m < 7; m++) {
				struct mem_op op = op_of(G, SHAPES[s].bytes, SHAPES[s].n, SHAPES[s].type, s);
				op.wide = SHAPES[s].wide;
				op.narrow = SHAPES[s].narrow;
				uint64_t addr[LANES];
				patterns(addr, k, g + 64, op.bytes * op.n);
				check_load(w, &op, addr, masks[m], memory, g);
				op.space = PTX_SPACE_GENERIC;
				check_load(w, &op, addr, masks[m], memory, g);
				patterns(addr, k, 64, op.bytes * op.n);
				op.space = S;
				check_load(w, &op, addr, masks[m], memory, 0);
				op.space = PTX_SPACE_GENERIC;
				patterns(addr, k, MEM_SHARED_BASE + 64, op.bytes * op.n);
				check_load(w, &op, addr, masks[m], memory, MEM_SHARED_BASE);
			}
	leave(w);
}

TEST(stores_of_every_shape_pattern_and_mask)
{
	static const uint32_t masks[] = {ALL, 4, 0xffff0000, 0x33333333};
	struct world *w = world(16384, 1);
	uint64_t g = alloc(w, 40960, MEM_ZERO, "out");
	const char *why;
	unsigned char *memory = mem_host(w->m, g, 40960, &why), image[40960];
	struct row64 r[8];
	const void *rows[8];
	for (unsigned e = 0; e < 8; e++) {
		rows[e] = &r[e];
		for (unsigned i = 0; i < LANES; i++)
			r[e].v[i] = (i * 8 + e + 1) * 0x9e3779b97f4a7c15ull;
	}
	for (unsigned s = 0; s < sizeof SHAPES / sizeof *SHAPES; s++)
		for (unsigned k = 0; k < 11; k++)
			for (unsigned m = 0; m < 4; m++) {
				if (k == 1)		/* all to one address: tested with races */
					continue;
				struct mem_op op = op_of(G, SHAPES[s].bytes, SHAPES[s].n, SHAPES[s].type, s);
				op.wide = SHAPES[s].wide;
				uint64_t addr[LANES];
				patterns(addr, k, g + 64, op.bytes * op.n);
				memset(memory, 0, 40960);
				memset(image, 0, sizeof image);
				CHECK_MSG(mem_store(&w->c, &op, w->sites, addr, masks[m], rows) == 0, "%s", w->c.fault.detail);
				for (unsigned i = 0; i < LANES; i++)
					for (unsigned e = 0; e < op.n && masks[m] >> i & 1; e++)
						memcpy(image + (addr[i] - g) + e * op.bytes,
						       op.wide >> e & 1 ? (void *)&r[e].v[i] : (void *)&((uint32_t *)&r[e])[i], op.bytes);
				CHECK_MSG(!memcmp(memory, image, sizeof image), "shape %u pattern %u mask %x", s, k, masks[m]);
			}
	leave(w);
}

TEST(sinks_take_nothing)
{
	struct world *w = world(0, 1);
	uint64_t g = alloc(w, 512, MEM_ZERO, "in"), addr[LANES];
	struct mem_op op = op_of(G, 4, 4, PTX_T_U32, 0);
	struct row r[2];
	line_up(addr, g, 16);
	CHECK_EQ(mem_load(&w->c, &op, w->sites, addr, ALL, (void *const[]){&r[0], NULL, NULL, &r[1]}), 0);
	CHECK_EQ(mem_load(&w->c, &op, w->sites, addr, 0xff, (void *const[]){NULL, &r[0], NULL, NULL}), 0);
	leave(w);
}

TEST(generic_lanes_in_several_spaces)
{
	struct world *w = world(256, 1);
	uint64_t g = alloc(w, 128, MEM_ZERO, "g"), addr[LANES];
	struct mem_op op = op_of(PTX_SPACE_GENERIC, 4, 1, PTX_T_U32, 0);
	struct row r[8], back[8];
	for (unsigned i = 0; i < LANES; i++) {
		addr[i] = i % 3 == 0 ? g + 4 * i : i % 3 == 1 ? MEM_SHARED_BASE + 4 * i : MEM_LOCAL_BASE + 8;
		r[0].v[i] = 100 + i;
	}
	OK(store_at(w, 0, &op, addr, ALL, r));
	OK(load_at(w, 0, &op, addr, ALL, back));
	for (unsigned i = 0; i < LANES; i++)
		CHECK_EQ(back[0].v[i], 100 + i);
	addr[4] = 16;
	FAULTS(load_at(w, 0, &op, addr, ALL, back), WRONG_SPACE);
	leave(w);
}

TEST(local_memory_is_each_threads_own)
{
	struct world *w = world(0, 2);
	struct mem_op op = op_of(PTX_SPACE_LOCAL, 8, 2, PTX_T_U64, 0);
	op.wide = 3;
	struct row64 r[2], back[2];
	uint64_t addr[LANES];
	for (uint32_t warp = 0; warp < 2; warp++)
		for (unsigned at = 0; at < 64; at += 16) {
			for (unsigned i = 0; i < LANES; i++) {
				addr[i] = at;
				r[0].v[i] = 1000 * warp + 100 * at + i;
				r[1].v[i] = ~r[0].v[i];
			}
			w->c.warp = warp;
			CHECK_EQ(mem_store(&w->c, &op, w->sites, addr, ALL, (const void *const[]){&r[0], &r[1]}), 0);
		}
	for (unsigned i = 0; i < LANES; i++)
		addr[i] = i % 4 * 16;
	w->c.warp = 1;
	CHECK_EQ(mem_load(&w->c, &op, w->sites, addr, ALL, (void *const[]){&back[0], &back[1]}), 0);
	for (unsigned i = 0; i < LANES; i++) {
		CHECK_EQ(back[0].v[i], 1000 + 100 * (i % 4 * 16) + i);
		CHECK_EQ(back[1].v[i], ~back[0].v[i]);
	}
	line_up(addr, 64, 0);
	FAULTS(mem_load(&w->c, &op, w->sites, addr, ALL, (void *const[]){&back[0], &back[1]}), OUT_OF_BOUNDS);
	SAYS("16-byte read at offset 64 of local memory (64 bytes a thread)");
	mem_block_reset(w->c.block);
	line_up(addr, 16, 0);
	CHECK_EQ(mem_load(&w->c, &op, w->sites, addr, ALL, (void *const[]){&back[0], &back[1]}), 0);
	CHECK_EQ(back[0].v[5], 0);
	leave(w);
}

/* ---- faults of single accesses ---- */

TEST(bounds)
{
	struct world *w = world(100, 2);
	uint64_t g = alloc(w, 8192, MEM_READ_ONLY, "Wq");
	OK(ld(w, G, 0, g + 8192 - 128, 4, ALL));
	FAULTS(ld(w, G, 1, g + 8192 - 124, 4, ALL), OUT_OF_BOUNDS);
	SAYS("4-byte read just past the end of Wq (8192 bytes)");
	CHECK_EQ(w->c.fault.thread[0], 63);
	CHECK_EQ(w->c.fault.address, g + 8192);
	CHECK_EQ(w->c.fault.bytes, 4);
	OK(ld(w, G, 1, g + 8192 - 124, 4, 0x7fffffff));
	FAULTS(ld(w, G, 0, g + 8196, 4, 8), OUT_OF_BOUNDS);
	SAYS("4-byte read 16 bytes past the end of Wq (8192 bytes)");
	FAULTS(ld(w, G, 0, g + 16, -4, ALL), OUT_OF_BOUNDS);
	SAYS("4 bytes before the start of Wq");
	FAULTS(ld(w, G, 0, 0, 4, ALL), WRONG_SPACE);
	SAYS("null pointer");
	FAULTS(ld(w, G, 0, UINT64_MAX - 3, 0, ALL), WRONG_SPACE);
	FAULTS(st(w, G, 0, g, 4, ALL), READ_ONLY);
	SAYS("Wq");
	OK(st(w, S, 0, 0, 4, 0x1ffffff));
	FAULTS(st(w, S, 0, 0, 4, ALL), OUT_OF_BOUNDS);
	SAYS("offset 100 of shared memory (100 bytes a block)");
	OK(ld(w, S, 0, 0x100000000ull + 96, 0, 1));		/* offsets have 32 bits */
	uint64_t f = alloc(w, 64, MEM_ZERO, "tmp");
	OK(ld(w, G, 0, f, 0, ALL));
	mem_release(w->m, f);
	FAULTS(ld(w, G, 0, f, 0, ALL), USE_AFTER_FREE);
	SAYS("freed memory, once tmp (64 bytes)");
	leave(w);
}

TEST(a_lane_in_each_of_several_allocations)
{
	struct world *w = world(0, 1);
	uint64_t base[LANES];
	const char *why;
	struct mem_op op = op_of(G, 4, 1, PTX_T_U32, 0);
	struct row r[8];
	for (unsigned i = 0; i < LANES; i++) {
		base[i] = alloc(w, 4, i % 2 ? MEM_ZERO : MEM_READ_ONLY, "cell");
		*(uint32_t *)mem_host(w->m, base[i], 4, &why) = i * i;
	}
	OK(load_at(w, 0, &op, base, ALL, r));
	for (unsigned i = 0; i < LANES; i++)
		CHECK_EQ(r[0].v[i], i * i);
	FAULTS(store_at(w, 0, &op, base, ALL, r), READ_ONLY);
	OK(store_at(w, 0, &op, base, 0xaaaaaaaa, r));
	base[9] += 4;
	FAULTS(load_at(w, 0, &op, base, ALL, r), OUT_OF_BOUNDS);
	CHECK_EQ(w->c.fault.thread[0], 9);
	leave(w);
}

TEST(alignment)
{
	struct world *w = world(1024, 1);
	uint64_t g = alloc(w, 4096, MEM_ZERO, "x"), addr[LANES];
	struct mem_op op = op_of(G, 4, 4, PTX_T_F32, 0);
	struct row r[8];
	line_up(addr, g + 4, 16);
	FAULTS(load_at(w, 0, &op, addr, ALL, r), MISALIGNED);
	SAYS("16-byte read");
	SAYS("a multiple of 4 only");
	line_up(addr, g, 16);
	addr[7] += 8;
	FAULTS(store_at(w, 0, &op, addr, ALL, r), MISALIGNED);
	CHECK_EQ(w->c.fault.thread[0], 7);
	OK(load_at(w, 0, &op, addr, ~(1u << 7), r));
	op = op_of(S, 2, 1, PTX_T_B16, 0);
	line_up(addr, 1, 2);
	FAULTS(store_at(w, 0, &op, addr, ALL, r), MISALIGNED);
	leave(w);
}

TEST(reads_of_what_was_never_written)
{
	struct world *w = world(256, 2);
	uint64_t y = alloc(w, 256, 0, "y"), first;
	FAULTS(ld(w, G, 0, y, 4, ALL), UNINITIALISED_GLOBAL);
	SAYS("4-byte read at offset 0 of y (256 bytes): they were never written");
	OK(st(w, G, 0, y, 4, ALL));
	OK(ld(w, G, 0, y, 4, ALL));
	FAULTS(ld(w, G, 0, y + 4, 4, ALL), UNINITIALISED_GLOBAL);
	CHECK_EQ(w->c.fault.thread[0], 31);
	FAULTS(add_to(w, G, 0, y + 128, 0, 1), UNINITIALISED_GLOBAL);
	FAULTS(ld(w, S, 0, 16, 4, 1), UNINITIALISED_SHARED);
	struct mem_op half = op_of(S, 2, 1, PTX_T_B16, 0);
	struct row r[8] = {{{0}}};
	uint64_t addr[LANES];
	line_up(addr, 16, 2);
	OK(store_at(w, 0, &half, addr, 1, r));
	OK(load_at(w, 0, &half, addr, 1, r));
	FAULTS(ld(w, S, 0, 16, 4, 1), UNINITIALISED_SHARED);
	SAYS("byte 18 was never written");
	OK(store_at(w, 0, &half, addr, 2, r));
	OK(ld(w, S, 0, 16, 4, 1));
	mem_block_reset(w->c.block);
	FAULTS(ld(w, S, 0, 16, 4, 1), UNINITIALISED_SHARED);
	CHECK_EQ(mem_launch_end(w->m, NULL, NULL), 0);
	CHECK(mem_is_written(w->m, y, 128, &first));
	CHECK(!mem_is_written(w->m, y, 256, &first));
	CHECK_EQ(first, 128);
	mem_launch_begin(w->m, 0, GRID);
	OK(ld(w, G, 1, y, 4, ALL));
	leave(w);
}

/* ---- counts ---- */

static unsigned sectors_of(struct world *w, unsigned bytes, unsigned n, uint64_t base, int64_t stride, uint32_t mask)
{
	struct mem_op op = op_of(G, bytes, n, PTX_T_U32, 5);
	uint64_t addr[LANES], before = w->n.global_load_sectors, site = w->sites[5].sectors;
	struct row r[16];
	line_up(addr, base, stride);
	OK(load_at(w, 0, &op, addr, mask, r));
	CHECK_EQ(w->n.global_load_sectors - before, w->sites[5].sectors - site);
	return (unsigned)(w->n.global_load_sectors - before);
}

TEST(sectors)
{
	struct world *w = world(0, 1);
	uint64_t g = alloc(w, 65536, MEM_READ_ONLY, "x");
	CHECK_EQ(sectors_of(w, 4, 1, g, 4, ALL), 4);
	CHECK_EQ(sectors_of(w, 4, 1, g + 4, 4, ALL), 5);
	CHECK_EQ(sectors_of(w, 4, 4, g, 16, ALL), 16);
	CHECK_EQ(sectors_of(w, 4, 4, g + 16, 16, ALL), 17);
	CHECK_EQ(sectors_of(w, 4, 1, g, 0, ALL), 1);
	CHECK_EQ(sectors_of(w, 4, 1, g, 32, ALL), 32);
	CHECK_EQ(sectors_of(w, 4, 1, g, 8, ALL), 8);
	CHECK_EQ(sectors_of(w, 4, 1, g + 124, -4, ALL), 4);
	CHECK_EQ(sectors_of(w, 1, 1, g, 1, ALL), 1);
	CHECK_EQ(sectors_of(w, 1, 1, g + 31, 1, ALL), 2);
	CHECK_EQ(sectors_of(w, 2, 1, g, 2, ALL), 2);
	CHECK_EQ(sectors_of(w, 4, 1, g, 4, 1), 1);
	CHECK_EQ(sectors_of(w, 4, 1, g, 4, 0xff), 1);
	CHECK_EQ(sectors_of(w, 4, 1, g, 4, 0x1ff), 2);
	CHECK_EQ(sectors_of(w, 4, 1, g, 4, 0x80000001), 2);
	CHECK_EQ(sectors_of(w, 4, 1, g, 1024, ALL), 32);
	CHECK_EQ(sectors_of(w, 4, 1, g, 1024, ALL), 32);
	CHECK_EQ(w->n.global_load_requests, 17);
	leave(w);
}

/* Closed forms and memory of patterns against a count from the definition. */
TEST(sectors_of_random_patterns)
{
	struct world *w = world(0, 1);
	uint64_t g = alloc(w, 65536, MEM_READ_ONLY, "x");
	unsigned seed = 1;
	for (unsigned round = 0; round < 3000; round++) {
		struct mem_op op = op_of(G, 4, 1, PTX_T_U32, round % 3);
		uint64_t addr[LANES], before = w->n.global_load_sectors;
		uint32_t mask = round % 2 ? ALL : (uint32_t)rand_r(&seed) | 1;
		unsigned span = 8u << rand_r(&seed) % 10, stride = 4 * (unsigned)(rand_r(&seed) % 40);
		for (unsigned i = 0; i < LANES; i++)
			addr[i] = g + 4 * (uint64_t)(round % 5 ? (unsigned)rand_r(&seed) % span : round % 7 + i * stride / 4);
		struct row r[8];
		OK(load_at(w, 0, &op, addr, mask, r));
		static uint8_t seen[2048];
		unsigned sectors = 0;
		memset(seen, 0, sizeof seen);
		for (unsigned i = 0; i < LANES; i++)
			if (mask >> i & 1) {
				sectors += !seen[(addr[i] - g) / 32];
				seen[(addr[i] - g) / 32] = 1;
			}
		CHECK_EQ(w->n.global_load_sectors - before, sectors);
	}
	leave(w);
}

/* Wavefronts and conflicts as ncu counts them on an H200 (l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld and _st,
 * l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld and _st). */
static const struct bank_case {
	unsigned bytes, n;
	uint32_t mask;
	unsigned group, modulo, step, inner;	/* offset of lane i: i / group % modulo * step + i % group * inner */
	unsigned load, load_conflicts, store, store_conflicts;
} BANK_CASES[] = {
	{4, 1, ALL, 1, 32, 4, 0, 1, 0, 1, 0},
	{4, 1, ALL, 32, 1, 0, 0, 1, 0, 1, 0},
	{4, 1, ALL, 1, 32, 8, 0, 2, 1, 2, 1},
	{4, 1, ALL, 1, 32, 16, 0, 4, 3, 4, 3},
	{4, 1, ALL, 1, 32, 128, 0, 32, 31, 32, 31},
	{4, 1, ALL, 1, 32, 132, 0, 1, 0, 1, 0},
	{4, 1, 0xff, 1, 32, 128, 0, 8, 7, 8, 7},
	{4, 1, ALL, 4, 8, 272, 4, 1, 0, 1, 0},
	{4, 1, ALL, 4, 8, 64, 4, 4, 3, 4, 3},
	{1, 1, ALL, 1, 32, 1, 0, 1, 0, 1, 0},
	{1, 1, ALL, 1, 32, 4, 0, 1, 0, 1, 0},
	{1, 1, ALL, 1, 32, 128, 0, 32, 31, 32, 31},
	{4, 2, ALL, 1, 32, 8, 0, 2, 0, 2, 0},
	{4, 2, ALL, 32, 1, 0, 0, 1, 0, 2, 0},
	{4, 2, ALL, 2, 16, 8, 0, 1, 0, 2, 0},
	{4, 2, ALL, 1, 16, 8, 0, 2, 0, 2, 0},
	{4, 2, ALL, 4, 8, 8, 0, 1, 0, 2, 0},
	{4, 2, ALL, 1, 32, 16, 0, 4, 2, 4, 2},
	{4, 2, ALL, 1, 32, 256, 0, 32, 30, 32, 30},
	{4, 2, 0xffff, 1, 32, 8, 0, 1, 0, 1, 0},
	{4, 2, 0xff00ff, 1, 32, 8, 0, 2, 0, 2, 0},
	{4, 4, ALL, 1, 32, 16, 0, 4, 0, 4, 0},
	{4, 4, ALL, 32, 1, 0, 0, 2, 0, 4, 0},
	{4, 4, ALL, 2, 16, 16, 0, 2, 0, 4, 0},
	{4, 4, ALL, 4, 8, 16, 0, 2, 0, 4, 0},
	{4, 4, ALL, 8, 4, 16, 0, 2, 0, 4, 0},
	{4, 4, ALL, 1, 8, 16, 0, 4, 0, 4, 0},
	{4, 4, ALL, 1, 16, 16, 0, 4, 0, 4, 0},
	{4, 4, ALL, 1, 4, 16, 0, 4, 0, 4, 0},
	{4, 4, ALL, 1, 2, 16, 0, 2, 0, 4, 0},
	{4, 4, ALL, 1, 32, 32, 0, 8, 4, 8, 4},
	{4, 4, ALL, 1, 32, 64, 0, 16, 12, 16, 12},
	{4, 4, ALL, 1, 32, 128, 0, 32, 28, 32, 28},
	{4, 4, ALL, 1, 32, 144, 0, 4, 0, 4, 0},
	{4, 4, ALL, 2, 16, 32, 0, 4, 2, 4, 0},
	{4, 4, 0xff, 1, 32, 16, 0, 1, 0, 1, 0},
	{4, 4, 1, 1, 32, 16, 0, 1, 0, 1, 0},
	{4, 4, 0x101, 1, 32, 16, 0, 2, 1, 2, 0},
	{4, 4, 0x01010101, 1, 32, 16, 0, 4, 2, 4, 0},
	{4, 4, 0x0f0f0f0f, 1, 32, 16, 0, 4, 0, 4, 0},
	{4, 4, 0x03030303, 8, 4, 32, 16, 2, 0, 4, 0},
};

static void case_addresses(const struct bank_case *b, uint64_t base, uint64_t *addr)
{
	for (unsigned i = 0; i < LANES; i++)
		addr[i] = base + i / b->group % b->modulo * b->step + i % b->group * b->inner;
}

TEST(bank_conflicts)
{
	struct world *w = world(8192, 1);
	struct row r[8] = {{{0}}};
	for (unsigned at = 0; at < 8192; at += 128)
		OK(st(w, S, 0, at, 4, ALL));
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < sizeof BANK_CASES / sizeof *BANK_CASES; i++) {
			const struct bank_case *b = &BANK_CASES[i];
			struct mem_op op = op_of(S, b->bytes, b->n, PTX_T_U32, 6);
			struct counters n = w->n;
			uint64_t addr[LANES];
			case_addresses(b, 0, addr);
			OK(load_at(w, 0, &op, addr, b->mask, r));
			memset(r, 0, sizeof r);
			OK(store_at(w, 0, &op, addr, b->mask, r));
			unsigned load = (unsigned)(w->n.shared_load_wavefronts - n.shared_load_wavefronts);
			unsigned store = (unsigned)(w->n.shared_store_wavefronts - n.shared_store_wavefronts);
			unsigned lc = (unsigned)(w->n.shared_load_conflicts - n.shared_load_conflicts);
			unsigned sc = (unsigned)(w->n.shared_store_conflicts - n.shared_store_conflicts);
			CHECK_MSG(load == b->load && lc == b->load_conflicts, "case %u: load %u wavefronts, %u conflicts", i, load, lc);
			CHECK_MSG(store == b->store && sc == b->store_conflicts, "case %u: store %u wavefronts, %u conflicts", i, store, sc);
		}
	leave(w);
}

/* Wavefronts of loads from global memory (l1tex__data_pipe_lsu_wavefronts, less those of the kernel's frame). */
TEST(global_wavefronts)
{
	static const struct { unsigned bank_case, waves; } cases[] = {
		{0, 1}, {1, 1}, {2, 2}, {3, 4}, {4, 32}, {5, 8}, {6, 8}, {7, 2}, {8, 4}, {9, 1}, {10, 1}, {11, 32}, {12, 2}, {13, 2},
		{14, 2}, {15, 2}, {17, 4}, {18, 32}, {19, 1}, {20, 2}, {21, 4}, {22, 4}, {24, 4}, {30, 8}, {31, 16}, {32, 32}, {35, 1},
		{36, 1}, {37, 2}, {38, 4}, {39, 4}, {40, 4},
	};
	struct world *w = world(0, 1);
	uint64_t g = alloc(w, 8192, MEM_READ_ONLY, "x"), addr[LANES];
	struct row r[8];
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct bank_case *b = &BANK_CASES[cases[i].bank_case];
		struct mem_op op = op_of(G, b->bytes, b->n, PTX_T_U32, 6);
		uint64_t before = w->n.l1_wavefronts;
		case_addresses(b, g, addr);
		OK(load_at(w, 0, &op, addr, b->mask, r));
		CHECK_MSG(w->n.l1_wavefronts - before == cases[i].waves, "case %u: %llu wavefronts", cases[i].bank_case,
			  (unsigned long long)(w->n.l1_wavefronts - before));
	}
	leave(w);
}

TEST(local_sectors)
{
	struct world *w = world(0, 1);
	struct mem_op op = op_of(PTX_SPACE_LOCAL, 4, 1, PTX_T_U32, 0);
	uint64_t addr[LANES];
	struct row r[8] = {{{0}}};
	line_up(addr, 8, 0);
	OK(store_at(w, 0, &op, addr, ALL, r));
	CHECK_EQ(w->n.local_store_sectors, 4);
	op.n = 4;
	line_up(addr, 16, 0);
	OK(load_at(w, 0, &op, addr, ALL, r));
	CHECK_EQ(w->n.local_load_sectors, 16);
	op.n = 1;
	for (unsigned i = 0; i < LANES; i++)
		addr[i] = i % 16 * 4;
	OK(load_at(w, 0, &op, addr, ALL, r));
	CHECK_EQ(w->n.local_load_sectors, 16 + 32);
	leave(w);
}

TEST(traffic_by_name)
{
	struct world *w = world(0, 1);
	struct mem_traffic t[4];
	uint64_t a = alloc(w, 4096, MEM_READ_ONLY, "W"), b = alloc(w, 4096, MEM_ZERO, "y");
	alloc(w, 64, 0, NULL);
	OK(ld(w, G, 0, a, 4, ALL));
	OK(ld(w, G, 0, a, 32, ALL));
	OK(st(w, G, 0, b, 4, ALL));
	OK(add_to(w, G, 0, b, 4, 1));
	mem_block_reset(w->c.block);
	CHECK_EQ(mem_traffic(w->m, t, 4), 2);
	CHECK_STR(t[0].name, "W");
	CHECK_EQ(t[0].size, 4096);
	CHECK_EQ(t[0].load_bytes, 36 * 32);
	CHECK_EQ(t[0].store_bytes, 0);
	CHECK_STR(t[1].name, "y");
	CHECK_EQ(t[1].load_bytes, 32);
	CHECK_EQ(t[1].store_bytes, 5 * 32);
	mem_traffic_reset(w->m);
	mem_traffic(w->m, t, 4);
	CHECK_EQ(t[0].load_bytes, 0);
	leave(w);
}

/* ---- shared memory: order ---- */

TEST(reduction_with_barriers)
{
	struct world *w = world(1024, 8);
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t warp = 0; warp < 8; warp++)
			OK(st(w, S, warp, 128 * warp, 4, ALL));
		for (unsigned half = 4; half; half /= 2) {
			barrier(w);
			for (uint32_t warp = 0; warp < half; warp++) {
				OK(ld(w, S, warp, 128 * warp, 4, ALL));
				OK(ld(w, S, warp, 128 * (warp + half), 4, ALL));
				OK(st(w, S, warp, 128 * warp, 4, ALL));
			}
		}
		barrier(w);
		for (uint32_t warp = 0; warp < 8; warp++)
			OK(ld(w, S, warp, 0, 0, ALL));
		barrier(w);
	}
	leave(w);
}

TEST(missing_barrier_after_a_cooperative_load)
{
	struct world *w = world(1024, 8);
	for (uint32_t warp = 0; warp < 8; warp++)
		OK(st(w, S, warp, 128 * warp, 4, ALL));
	OK(ld(w, S, 2, 256, 4, ALL));
	FAULTS(ld(w, S, 3, 256 + 64, 4, ALL), RACE_SHARED);
	SAYS("race on shared memory byte 0x140: warp 2 wrote it, warp 3 read it with no barrier between");
	CHECK_EQ(w->c.other_site, 2);
	leave(w);
}

TEST(missing_barrier_before_the_tile_is_overwritten)
{
	struct world *w = world(1024, 4);
	OK(st(w, S, 0, 0, 4, ALL));
	barrier(w);
	for (uint32_t warp = 0; warp < 4; warp++)
		OK(ld(w, S, warp, 0, 4, ALL));
	FAULTS(st(w, S, 0, 0, 4, ALL), RACE_SHARED);
	SAYS("read it, warp 0 wrote it");
	CHECK_EQ(w->c.other_site, 1);
	leave(w);
}

TEST(double_buffering)
{
	struct world *w = world(2048, 8);
	for (uint32_t warp = 0; warp < 8; warp++)
		OK(st(w, S, warp, 128 * warp, 4, ALL));
	barrier(w);
	for (unsigned k = 1; k < 5000; k++) {
		for (uint32_t warp = 0; warp < 8; warp++) {
			OK(st(w, S, warp, (k & 1) * 1024 + 128 * warp, 4, ALL));
			OK(ld(w, S, warp, (~k & 1) * 1024 + 128 * (7 - warp), 4, ALL));
			OK(ld(w, S, warp, (~k & 1) * 1024, 0, ALL));
		}
		barrier(w);
	}
	leave(w);
}

TEST(different_bytes_of_a_word_do_not_race)
{
	struct world *w = world(128, 4);
	struct row r[8] = {{{0}}};
	struct mem_op byte = op_of(S, 1, 1, PTX_T_U8, 0), half = op_of(S, 2, 1, PTX_T_U16, 0);
	uint64_t addr[LANES];
	for (unsigned round = 0; round < 2; round++) {
		for (uint32_t warp = 0; warp < 4; warp++) {
			line_up(addr, warp, 4);
			OK(store_at(w, warp, &byte, addr, ALL, r));
			OK(load_at(w, warp, &byte, addr, ALL, r));
		}
		barrier(w);
		for (uint32_t warp = 0; warp < 4; warp++)
			OK(ld(w, S, warp, 0, 4, ALL));
		barrier(w);
		for (uint32_t warp = 0; warp < 2; warp++) {
			line_up(addr, 2 * warp, 4);
			OK(load_at(w, warp, &half, addr, ALL, r));
			OK(store_at(w, warp, &half, addr, ALL, r));
		}
		line_up(addr, 3, 4);
		FAULTS(load_at(w, 0, &byte, addr, 2, r), RACE_SHARED);
		SAYS("byte 0x7: warp 1 wrote it");
		barrier(w);
	}
	leave(w);
}

TEST(one_warp_orders_itself)
{
	struct world *w = world(256, 2);
	struct mem_op op = op_of(S, 4, 1, PTX_T_F32, 0);
	op.flags = MEM_VOLATILE;
	struct row r[8] = {{{0}}};
	uint64_t addr[LANES];
	OK(st(w, S, 0, 0, 4, ALL));
	OK(st(w, S, 0, 128, 4, ALL));
	for (unsigned s = 16; s; s /= 2) {
		line_up(addr, 4 * s, 4);
		OK(load_at(w, 0, &op, addr, ALL, r));
		line_up(addr, 0, 4);
		OK(load_at(w, 0, &op, addr, ALL, r));
		OK(store_at(w, 0, &op, addr, ALL, r));
	}
	OK(ld(w, S, 0, 0, 0, 1));
	FAULTS(ld(w, S, 1, 0, 0, 1), RACE_SHARED);
	leave(w);
}

TEST(lanes_of_one_store)
{
	struct world *w = world(256, 1);
	uint64_t g = alloc(w, 256, MEM_ZERO, "y");
	OK(st(w, S, 0, 8, 0, ALL));			/* equal values */
	OK(st(w, G, 0, g, 0, ALL));
	struct mem_op op = op_of(S, 4, 1, PTX_T_U32, 9);
	struct row r[8];
	uint64_t addr[LANES];
	for (unsigned i = 0; i < LANES; i++) {
		addr[i] = i % 31 * 4;
		r[0].v[i] = i;
	}
	FAULTS(store_at(w, 0, &op, addr, ALL, r), RACE_SHARED);
	SAYS("lanes 0 and 31 of warp 0 write different values");
	OK(store_at(w, 0, &op, addr, 0x7fffffff, r));
	r[0].v[31] = 0;
	OK(store_at(w, 0, &op, addr, ALL, r));
	op.space = G;
	line_up(addr, g, 0);
	FAULTS(store_at(w, 0, &op, addr, ALL, r), RACE_GLOBAL);
	leave(w);
}

TEST(equal_values_from_several_warps)
{
	struct world *w = world(256, 4);
	for (uint32_t warp = 0; warp < 4; warp++)
		OK(st_value(w, S, warp, 16, 0, 1, 5));
	FAULTS(st_value(w, S, 0, 16, 0, 1, 6), RACE_SHARED);
	barrier(w);
	for (uint32_t warp = 0; warp < 4; warp++)
		OK(ld(w, S, warp, 16, 0, ALL));
	leave(w);
}

TEST(shared_atomics)
{
	struct world *w = world(256, 4);
	struct row r[8];
	struct mem_op op = op_of(S, 4, 1, PTX_T_U32, 1);
	uint64_t addr[LANES];
	OK(st_value(w, S, 0, 0, 0, 1, 0));
	FAULTS(add_to(w, S, 1, 0, 0, ALL), RACE_SHARED);
	barrier(w);
	for (uint32_t warp = 0; warp < 4; warp++)
		OK(add_to(w, S, warp, 0, 0, ALL));
	FAULTS(ld(w, S, 0, 0, 0, 1), RACE_SHARED);
	SAYS("did an atomic on it");
	barrier(w);
	line_up(addr, 0, 0);
	OK(load_at(w, 3, &op, addr, 1, r));
	CHECK_EQ(r[0].v[0], 128);
	OK(add_to(w, S, 3, 0, 0, 1));
	FAULTS(add_to(w, S, 2, 0, 0, 1), RACE_SHARED);	/* warp 3 has read it */
	leave(w);
}

TEST(named_barriers_hand_over_a_tile)
{
	struct world *w = world(1024, 4);
	/* warps 0, 1 produce; 2, 3 consume.  full: producers arrive, consumers wait.  empty: the other way round. */
	for (unsigned k = 0; k < 50; k++) {
		uint32_t tile = k % 2 * 512;
		OK(st(w, S, 0, tile, 4, ALL));
		OK(st(w, S, 1, tile + 128, 4, ALL));
		mem_barrier(w->c.block, 0xf, 0xc);
		OK(ld(w, S, 2, tile, 4, ALL));
		OK(ld(w, S, 3, tile, 4, ALL));
		OK(ld(w, S, 3, tile + 128, 4, ALL));
		if (k == 20)
			FAULTS(st(w, S, 0, tile, 4, ALL), RACE_SHARED);
		mem_barrier(w->c.block, 0xf, 0x3);
	}
	OK(st(w, S, 0, 0, 4, ALL));
	FAULTS(ld(w, S, 2, 0, 4, ALL), RACE_SHARED);
	barrier(w);
	OK(ld(w, S, 1, 0, 4, ALL));
	leave(w);
}

TEST(a_barrier_of_some_warps_orders_those_only)
{
	struct world *w = world(1024, 4);
	OK(st(w, S, 0, 0, 4, ALL));
	OK(ld(w, S, 0, 0, 4, ALL));
	mem_barrier(w->c.block, 0x3, 0x3);
	OK(ld(w, S, 1, 0, 4, ALL));
	FAULTS(ld(w, S, 2, 0, 4, ALL), RACE_SHARED);
	SAYS("warp 0 wrote it, warp 2 read it");
	OK(st(w, S, 2, 128, 4, ALL));
	mem_barrier(w->c.block, 0x6, 0x6);
	OK(ld(w, S, 2, 0, 4, ALL));			/* by way of warp 1 */
	FAULTS(ld(w, S, 3, 128, 4, ALL), RACE_SHARED);
	OK(ld(w, S, 1, 128, 4, ALL));
	leave(w);
}

TEST(release_and_acquire)
{
	struct world *w = world(1024, 3);
	OK(st(w, S, 0, 0, 4, ALL));
	mem_release_clock(w->c.block, 0, 77);
	OK(st(w, S, 0, 128, 4, ALL));
	mem_acquire_clock(w->c.block, 1, 78);
	FAULTS(ld(w, S, 1, 0, 4, ALL), RACE_SHARED);
	mem_acquire_clock(w->c.block, 2, 77);
	OK(ld(w, S, 2, 0, 4, ALL));
	FAULTS(ld(w, S, 2, 128, 4, ALL), RACE_SHARED);	/* written after the release */
	leave(w);
}

/* ---- global memory: order ---- */

TEST(global_scratch_of_one_block)
{
	struct world *w = world(0, 4);
	uint64_t g = alloc(w, 4096, 0, "scratch");
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t warp = 0; warp < 4; warp++)
			OK(st(w, G, warp, g + 128 * warp, 4, ALL));
		if (round == 2) {
			FAULTS(ld(w, G, 3, g + 4, 4, ALL), RACE_GLOBAL);
			SAYS("race on byte 4 of scratch (4096 bytes): warp 0 wrote it, warp 3 of the same block read it");
			CHECK_EQ(w->c.other_site, 2);
		}
		barrier(w);
		for (uint32_t warp = 0; warp < 4; warp++)
			OK(ld(w, G, warp, g + 128 * (3 - warp), 4, ALL));
		if (round == 1)
			FAULTS(st(w, G, 0, g, 4, ALL), RACE_GLOBAL);
		barrier(w);
	}
	mem_block_reset(w->c.block);
	CHECK_EQ(mem_launch_end(w->m, NULL, NULL), 0);
	leave(w);
}

TEST(global_named_barriers)
{
	struct world *w = world(0, 4);
	uint64_t g = alloc(w, 4096, 0, "scratch");
	for (unsigned k = 0; k < 200; k++) {
		OK(st(w, G, 0, g, 4, ALL));
		OK(st(w, G, 1, g + 64, 4, 0xffff0000));
		mem_barrier(w->c.block, 0xf, 0xc);
		OK(ld(w, G, 2, g, 4, ALL));
		OK(ld(w, G, 3, g + 4, 4, ALL & ~(1u << 31)));
		if (k == 100)
			FAULTS(st(w, G, 0, g, 4, ALL), RACE_GLOBAL);
		mem_barrier(w->c.block, 0xf, 0x3);
	}
	leave(w);
}

TEST(accumulation_by_several_warps_without_atomics)
{
	struct world *w = world(0, 2);
	uint64_t g = alloc(w, 64, MEM_ZERO, "sum");
	OK(ld(w, G, 0, g, 0, 1));
	OK(st(w, G, 0, g, 0, 1));
	FAULTS(ld(w, G, 1, g, 0, 1), RACE_GLOBAL);
	leave(w);
}

/* Blocks run in the order given; each does `body`.  The race at the end of the launch, if any, goes to f. */
static int blocks(struct mem *m, const unsigned *order, unsigned n, void (*body)(struct world *w, unsigned block, void *arg),
		  void *arg, struct fault *f, uint32_t sites[2])
{
	mem_launch_begin(m, 0, GRID);
	for (unsigned i = 0; i < n; i++) {
		struct world w;
		enter(&w, m, 0, 0, 1, order[i]);
		body(&w, order[i], arg);
		mem_block_free(w.c.block);
	}
	return mem_launch_end(m, f, sites);
}

static void one_element_each(struct world *w, unsigned block, void *arg)
{
	OK(st_value(w, G, 0, *(uint64_t *)arg + 4 * block, 0, 1, block));
}

static void one_byte_each(struct world *w, unsigned block, void *arg)
{
	struct mem_op op = op_of(G, 1, 1, PTX_T_U8, 2);
	struct row r[8] = {{{block}}};
	uint64_t addr[LANES];
	line_up(addr, *(uint64_t *)arg + block, 0);
	OK(store_at(w, 0, &op, addr, 1, r));
	OK(load_at(w, 0, &op, addr, 1, r));
}

static void in_place(struct world *w, unsigned block, void *arg)
{
	OK(ld(w, G, 0, *(uint64_t *)arg + 20 * block, 4, 0x1f));
	OK(st(w, G, 0, *(uint64_t *)arg + 20 * block, 4, 0x1f));
}

static void everyone_reads(struct world *w, unsigned block, void *arg)
{
	(void)block;
	OK(ld(w, G, 0, *(uint64_t *)arg, 4, ALL));
}

static void everyone_adds(struct world *w, unsigned block, void *arg)
{
	(void)block;
	OK(add_to(w, G, 0, *(uint64_t *)arg, 0, ALL));
}

static void everyone_sets_a_flag(struct world *w, unsigned block, void *arg)
{
	(void)block;
	OK(st_value(w, G, 0, *(uint64_t *)arg, 0, 1, 1));
}

TEST(blocks_that_do_not_race)
{
	static const unsigned order[] = {3, 0, 7, 1, 2, 6, 5, 4};
	struct mem *m = device();
	uint64_t g, first;
	CHECK_EQ(mem_alloc(m, 4096, MEM_ZERO, "y", &g), 0);
	CHECK_EQ(blocks(m, order, 8, one_element_each, &g, NULL, NULL), 0);
	CHECK_EQ(blocks(m, order, 8, one_byte_each, &g, NULL, NULL), 0);
	CHECK_EQ(blocks(m, order, 8, in_place, &g, NULL, NULL), 0);
	CHECK_EQ(blocks(m, order, 8, everyone_reads, &g, NULL, NULL), 0);
	CHECK_EQ(blocks(m, order, 8, everyone_adds, &g, NULL, NULL), 0);
	CHECK_EQ(blocks(m, order, 8, everyone_sets_a_flag, &g, NULL, NULL), 0);
	uint64_t u;
	CHECK_EQ(mem_alloc(m, 32, 0, "u", &u), 0);
	CHECK_EQ(blocks(m, order, 8, one_element_each, &u, NULL, NULL), 0);
	CHECK(mem_is_written(m, u, 32, &first));
	mem_mark_unwritten(m, u, 32);
	CHECK_EQ(blocks(m, order, 7, one_byte_each, &u, NULL, NULL), 0);
	CHECK(!mem_is_written(m, u, 32, &first));
	CHECK_EQ(first, 4);
	mem_free(m);
}

static void everyone_writes_its_number(struct world *w, unsigned block, void *arg)
{
	OK(st_value(w, G, 0, *(uint64_t *)arg + 64, 0, 1, block));
}

static void accumulates(struct world *w, unsigned block, void *arg)
{
	OK(ld(w, G, 0, *(uint64_t *)arg + 8 + 4 * (block % 2), 0, 1));
	OK(st(w, G, 0, *(uint64_t *)arg + 8 + 4 * (block % 2), 0, 1));
}

static void reads_the_neighbours(struct world *w, unsigned block, void *arg)
{
	OK(st_value(w, G, 0, *(uint64_t *)arg + 4 * block, 0, 1, 3));
	OK(ld(w, G, 0, *(uint64_t *)arg + 4 * (block + 1), 0, 1));
}

static void bytes_that_meet(struct world *w, unsigned block, void *arg)
{
	struct mem_op op = op_of(G, 2, 1, PTX_T_U16, 2);
	struct row r[8] = {{{block * 0x101}}};
	uint64_t addr[LANES];
	line_up(addr, *(uint64_t *)arg + (block == 5 ? 6 : 2 * block), 0);
	OK(store_at(w, 0, &op, addr, 1, r));
}

static void mixed(struct world *w, unsigned block, void *arg)
{
	uint64_t g = *(uint64_t *)arg + 400;
	if (block == 4)
		OK(st(w, G, 0, g, 0, 1));
	else if (block % 2)
		OK(add_to(w, G, 0, g, 0, 1));
}

static void atomics_and_a_reader(struct world *w, unsigned block, void *arg)
{
	if (block == 6)
		OK(ld(w, G, 0, *(uint64_t *)arg, 0, 1));
	else
		OK(add_to(w, G, 0, *(uint64_t *)arg, 0, 1));
}

TEST(blocks_that_race_do_so_in_every_order)
{
	static const struct {
		void (*body)(struct world *, unsigned, void *);
		unsigned offset;
		const char *says;
	} cases[] = {
		{everyone_writes_its_number, 64, "race on byte 64 of y (4096 bytes): block (0, 0, 0) and another block write different values"},
		{accumulates, 8, "block (0, 0, 0) writes it and another block reads it"},
		{reads_the_neighbours, 4, "block (0, 0, 0) reads it and another block writes it"},
		{bytes_that_meet, 6, "block (3, 0, 0) and another block write different values"},
		{mixed, 400, "block (1, 0, 0) does an atomic on it and another block writes it"},
		{atomics_and_a_reader, 0, "block (0, 0, 0) does an atomic on it and another block reads it"},
	};
	struct mem *m = device();
	uint64_t g;
	unsigned seed = 5;
	CHECK_EQ(mem_alloc(m, 4096, MEM_ZERO, "y", &g), 0);
	for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++)
		for (unsigned round = 0; round < 20; round++) {
			unsigned order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
			for (unsigned i = 7; i; i--) {
				unsigned j = (unsigned)rand_r(&seed) % (i + 1), t = order[i];
				order[i] = order[j];
				order[j] = t;
			}
			struct fault f;
			uint32_t sites[2];
			CHECK_MSG(blocks(m, order, 8, cases[k].body, &g, &f, sites) == -1, "case %u, round %u: no race", k, round);
			CHECK_EQ(f.kind, FAULT_RACE_GLOBAL);
			CHECK_MSG(f.address == g + cases[k].offset, "case %u: at offset %llu", k, (unsigned long long)(f.address - g));
			CHECK_MSG(strstr(f.detail, cases[k].says), "case %u: %s", k, f.detail);
			CHECK(sites[0] == 2 || sites[0] == 3);
		}
	CHECK_EQ(blocks(m, (unsigned[]){0, 1}, 2, everyone_reads, &g, NULL, NULL), 0);
	mem_free(m);
}

/* All subsets of deeds of three blocks on one word, against the definition. */
struct deeds { unsigned of[3]; uint64_t g; };

static void do_deeds(struct world *w, unsigned block, void *arg)
{
	struct deeds *d = arg;
	unsigned did = d->of[block];
	if (did & 1)
		OK(ld(w, G, 0, d->g, 0, 1));
	if (did & 2)
		OK(st_value(w, G, 0, d->g, 0, 1, did & 8 ? 11 : 22));
	if (did & 4)
		OK(add_to(w, G, 0, d->g, 0, 1));
}

static bool should_race(const struct deeds *d)
{
	for (unsigned a = 0; a < 3; a++)
		for (unsigned b = 0; b < 3; b++) {
			unsigned x = d->of[a], y = d->of[b];
			if (a == b)
				continue;
			if ((x & 2 && y & 5) || (x & 4 && y & 1) || (x & 2 && y & 2 && (x ^ y) & 8))
				return true;
		}
	return false;
}

TEST_WITHIN(every_set_of_deeds, 60)
{
	static const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct mem *m = device();
	struct deeds d;
	CHECK_EQ(mem_alloc(m, 64, MEM_ZERO, "y", &d.g), 0);
	for (unsigned k = 0; k < 4096; k++) {
		d.of[0] = k & 15;
		d.of[1] = k >> 4 & 15;
		d.of[2] = k >> 8;
		struct fault f;
		uint32_t sites[2];
		int raced = blocks(m, orders[k % 6], 3, do_deeds, &d, &f, sites);
		CHECK_MSG((raced == -1) == should_race(&d), "deeds %u %u %u: %d", d.of[0], d.of[1], d.of[2], raced);
	}
	mem_free(m);
}

TEST(launches_that_communicate)
{
	struct mem *m = device();
	struct world a, b, *w = &a;
	uint64_t g, first;
	CHECK_EQ(mem_alloc(m, 256, 0, "y", &g), 0);
	mem_launch_begin(m, MEM_COMMUNICATES, GRID);
	enter(&a, m, 0, 0, 1, 0);
	enter(&b, m, 0, 0, 1, 1);
	FAULTS(ld(&a, G, 0, g, 4, ALL), UNINITIALISED_GLOBAL);
	OK(st(&b, G, 0, g, 4, ALL));
	OK(ld(&a, G, 0, g, 4, ALL));
	OK(st(&a, G, 0, g, 4, ALL));
	mem_block_free(a.c.block);
	mem_block_free(b.c.block);
	CHECK_EQ(mem_launch_end(m, NULL, NULL), 0);
	CHECK(mem_is_written(m, g, 128, &first));
	CHECK(!mem_is_written(m, g, 256, &first));
	mem_free(m);
}

static void reads_what_another_block_writes(struct world *w, unsigned block, void *arg)
{
	uint64_t g = *(uint64_t *)arg;
	if (block == 0)
		OK(st(w, G, 0, g, 4, ALL));
	else
		FAULTS(ld(w, G, 0, g, 4, ALL), UNINITIALISED_GLOBAL);
}

TEST(what_other_blocks_wrote_is_not_there_yet)
{
	struct mem *m = device();
	uint64_t g;
	CHECK_EQ(mem_alloc(m, 256, 0, "y", &g), 0);
	blocks(m, (unsigned[]){0, 1}, 2, reads_what_another_block_writes, &g, NULL, NULL);
	mem_mark_unwritten(m, g, 256);
	blocks(m, (unsigned[]){1, 0}, 2, reads_what_another_block_writes, &g, NULL, NULL);
	mem_free(m);
}

TEST(a_block_that_touches_more_lines_than_its_table_holds)
{
	struct world *w = world(0, 1);
	uint64_t size = 4 << 20, g = alloc(w, size, 0, "big"), first;
	for (uint64_t at = 0; at < size; at += 4096)
		OK(st(w, G, 0, g + at, 128, ALL));
	for (uint64_t at = 0; at < size; at += 4096)
		OK(ld(w, G, 0, g + at, 128, ALL));
	mem_block_reset(w->c.block);
	CHECK_EQ(mem_launch_end(w->m, NULL, NULL), 0);
	CHECK(!mem_is_written(w->m, g, size, &first));
	CHECK_EQ(first, 4);
	leave(w);
}

struct thread_arg { struct mem *m; uint64_t sum, out; unsigned first; };

static void *run_blocks(void *p)
{
	struct thread_arg *a = p;
	for (unsigned block = a->first; block < 400; block += 2) {
		struct world local, *w = &local;
		enter(w, a->m, 0, 0, 2, block);
		for (uint32_t warp = 0; warp < 2; warp++) {
			OK(add_to(w, G, warp, a->sum, 0, ALL));
			OK(st_value(w, G, warp, a->out + 256 * block + 128 * warp, 4, ALL, block));
			OK(ld(w, G, warp, a->out + 256 * block + 128 * warp, 4, ALL));
		}
		OK(st_value(w, G, 0, a->sum + 64, 0, 1, 9));
		mem_block_free(w->c.block);
	}
	return NULL;
}

TEST(blocks_on_several_host_threads)
{
	struct mem *m = device();
	struct thread_arg a[2] = {{.m = m, .first = 0}, {.m = m, .first = 1}};
	const char *why;
	uint64_t sum, out, first;
	CHECK_EQ(mem_alloc(m, 128, MEM_ZERO, "sum", &sum), 0);
	CHECK_EQ(mem_alloc(m, 400 * 256, 0, "out", &out), 0);
	a[0].sum = a[1].sum = sum;
	a[0].out = a[1].out = out;
	mem_launch_begin(m, 0, GRID);
	pthread_t t[2];
	for (unsigned i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, run_blocks, &a[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(mem_launch_end(m, NULL, NULL), 0);
	CHECK_EQ(*(uint32_t *)mem_host(m, sum, 4, &why), 400 * 64);
	CHECK(mem_is_written(m, out, 400 * 256, &first));
	mem_free(m);
}

/* ---- atomics ---- */

static uint64_t atomic_one(struct world *w, enum ptx_space space, enum mem_atom atom, enum ptx_type type, unsigned bytes, uint64_t old,
			   uint64_t b, uint64_t c)
{
	static uint64_t g;
	const char *why;
	if (!g)
		g = alloc(w, 64, MEM_ZERO, "cell");
	uint64_t addr[LANES], now = 0, at = space == G ? g : 0;
	struct row64 d = {{0}}, rb = {{b}}, rc = {{c}};
	line_up(addr, at, 0);
	struct mem_op op = op_of(space, bytes, 1, type, 0), put = op_of(space, 8, 1, PTX_T_U64, 0);
	put.wide = 1;
	struct row64 value = {{old}};
	CHECK_EQ(mem_store(&w->c, &put, w->sites, addr, 1, (const void *const[]){&value}), 0);
	op.wide = bytes == 8;
	op.atom = (uint8_t)atom;
	CHECK_MSG(mem_atomic(&w->c, &op, w->sites, addr, 1, (void *const[]){&d}, (const void *const[]){&rb}, (const void *const[]){&rc}) == 0,
		  "%s", w->c.fault.detail);
	CHECK_EQ(bytes == 8 ? d.v[0] : (uint32_t)d.v[0], bytes == 8 ? old : old & ((1ull << 8 * bytes) - 1));
	if (space == G) {
		memcpy(&now, mem_host(w->m, g, bytes, &why), bytes);
	} else {
		CHECK_EQ(mem_load(&w->c, &put, w->sites, addr, 1, (void *const[]){&d}), 0);
		memcpy(&now, &d.v[0], bytes);
	}
	return now;
}

TEST(atomic_operations)
{
	static const struct { enum mem_atom atom; enum ptx_type type; unsigned bytes; uint64_t old, b, c, now; } cases[] = {
		{ATOM_ADD, PTX_T_U32, 4, 0xffffffff, 2, 0, 1},
		{ATOM_ADD, PTX_T_U64, 8, 0xffffffff, 2, 0, 0x100000001},
		{ATOM_ADD, PTX_T_S32, 4, 5, (uint32_t)-7, 0, (uint32_t)-2},
		{ATOM_MIN, PTX_T_S32, 4, (uint32_t)-1, 1, 0, (uint32_t)-1},
		{ATOM_MIN, PTX_T_U32, 4, (uint32_t)-1, 1, 0, 1},
		{ATOM_MAX, PTX_T_S64, 8, (uint64_t)-1, 1, 0, 1},
		{ATOM_MAX, PTX_T_U64, 8, (uint64_t)-1, 1, 0, (uint64_t)-1},
		{ATOM_INC, PTX_T_U32, 4, 3, 3, 0, 0},
		{ATOM_INC, PTX_T_U32, 4, 2, 3, 0, 3},
		{ATOM_DEC, PTX_T_U32, 4, 0, 3, 0, 3},
		{ATOM_DEC, PTX_T_U32, 4, 4, 3, 0, 3},
		{ATOM_DEC, PTX_T_U32, 4, 3, 3, 0, 2},
		{ATOM_AND, PTX_T_B32, 4, 0xc, 0xa, 0, 8},
		{ATOM_OR, PTX_T_B64, 8, 0xc, 0xa, 0, 0xe},
		{ATOM_XOR, PTX_T_B32, 4, 0xc, 0xa, 0, 6},
		{ATOM_EXCH, PTX_T_B64, 8, 0xc, ~0ull, 0, ~0ull},
		{ATOM_CAS, PTX_T_B32, 4, 7, 7, 9, 9},
		{ATOM_CAS, PTX_T_B32, 4, 7, 8, 9, 7},
		{ATOM_CAS, PTX_T_B16, 2, 0x12345678, 0x5678, 0x9abc, 0x9abc},
		{ATOM_CAS, PTX_T_B64, 8, 1ull << 40, 1ull << 40, 3, 3},
		{ATOM_ADD, PTX_T_F32, 4, 0x3f800000, 0x40000000, 0, 0x40400000},
		{ATOM_ADD, PTX_T_F32, 4, 0x7f800000, 0xff800000, 0, 0x7fffffff},
		{ATOM_ADD, PTX_T_F64, 8, 0x3ff0000000000000, 0x4000000000000000, 0, 0x4008000000000000},
		{ATOM_ADD, PTX_T_F16, 2, 0x3c00, 0x4000, 0, 0x4200},
		{ATOM_ADD, PTX_T_BF16, 2, 0x3f80, 0x4000, 0, 0x4040},
		{ATOM_ADD, PTX_T_F16X2, 4, 0x3c004000, 0x40003c00, 0, 0x42004200},
		{ATOM_ADD, PTX_T_BF16X2, 4, 0x3f804000, 0x40003f80, 0, 0x40404040},
		{ATOM_MIN, PTX_T_F16, 2, 0x3c00, 0x7e00, 0, 0x3c00},
		{ATOM_MIN, PTX_T_F16X2, 4, 0x3c000000, 0x40008000, 0, 0x3c008000},
		{ATOM_MAX, PTX_T_BF16X2, 4, 0x3f80c000, 0x4000bf80, 0, 0x4000bf80},
	};
	struct world *w = world(64, 1);
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		for (unsigned s = 0; s < 2; s++) {
			uint64_t now = atomic_one(w, s ? S : G, cases[i].atom, cases[i].type, cases[i].bytes, cases[i].old, cases[i].b,
						  cases[i].c);
			CHECK_MSG(now == cases[i].now, "case %u: %llx, expected %llx", i, (unsigned long long)now,
				  (unsigned long long)cases[i].now);
		}
	/* subnormals: flushed in global memory, kept in shared memory */
	CHECK_EQ(atomic_one(w, G, ATOM_ADD, PTX_T_F32, 4, 1, 1, 0), 0);
	CHECK_EQ(atomic_one(w, G, ATOM_ADD, PTX_T_F32, 4, 0x80000001, 0x80000001, 0), 0x80000000);
	CHECK_EQ(atomic_one(w, S, ATOM_ADD, PTX_T_F32, 4, 1, 1, 0), 2);
	leave(w);
}

TEST(lanes_of_an_atomic_go_in_order)
{
	struct world *w = world(64, 1);
	uint64_t g = alloc(w, 64, MEM_ZERO, "n"), addr[LANES];
	struct row d, one, seven[2], back[2];
	struct mem_op op = op_of(G, 4, 1, PTX_T_U32, 0);
	line_up(addr, g, 0);
	for (unsigned i = 0; i < LANES; i++)
		one.v[i] = 1;
	CHECK_EQ(mem_atomic(&w->c, &op, w->sites, addr, 0xfffffff0, (void *const[]){&d}, (const void *const[]){&one}, NULL), 0);
	for (unsigned i = 4; i < LANES; i++)
		CHECK_EQ(d.v[i], i - 4);
	op.n = 2;
	op.type = PTX_T_F32;
	for (unsigned i = 0; i < LANES; i++) {
		seven[0].v[i] = 0x3f800000;
		seven[1].v[i] = 0x40000000;
	}
	line_up(addr, g + 8, 0);
	CHECK_EQ(mem_atomic(&w->c, &op, w->sites, addr, ALL, (void *const[]){&back[0], &back[1]},
			    (const void *const[]){&seven[0], &seven[1]}, NULL), 0);
	CHECK_EQ(back[1].v[31], 0x42780000);		/* 62 */
	CHECK_EQ(w->n.global_atomic_requests, 2);
	CHECK_EQ(w->n.global_atomic_lanes, 28 + 32);
	addr[0] = MEM_LOCAL_BASE;
	op.space = PTX_SPACE_GENERIC;
	FAULTS(mem_atomic(&w->c, &op, w->sites, addr, 1, NULL, (const void *const[]){&seven[0], &seven[1]}, NULL), WRONG_SPACE);
	leave(w);
}

/* ---- cp.async ---- */

static int copy(struct world *w, uint32_t warp, uint64_t to, uint64_t from, unsigned n, const uint32_t *sizes, uint32_t mask)
{
	uint64_t dst[LANES], src[LANES];
	line_up(dst, to, n);
	line_up(src, from, n);
	w->c.warp = warp;
	return mem_async_copy(&w->c, &w->sites[7], dst, src, mask, n, sizes, 0);
}

TEST(cp_async_pipeline)
{
	struct world *w = world(4 * 2048, 4);
	uint64_t g = alloc(w, 128 * 2048, MEM_READ_ONLY, "A");
	const char *why;
	uint32_t *a = mem_host(w->m, g, 128 * 2048, &why);
	for (unsigned i = 0; i < 128 * 512; i++)
		a[i] = i;
	struct mem_op op = op_of(S, 4, 1, PTX_T_U32, 1);
	for (unsigned stages = 2; stages <= 4; stages++) {
		for (unsigned s = 0; s < stages - 1; s++)
			for (uint32_t warp = 0; warp < 4; warp++) {
				OK(copy(w, warp, 2048 * s + 512 * warp, g + 2048 * s + 512 * warp, 16, NULL, ALL));
				mem_async_commit(&w->c, ALL);
			}
		for (unsigned k = 0; k < 40; k++) {
			unsigned tile = k % stages, next = (k + stages - 1) % stages;
			for (uint32_t warp = 0; warp < 4; warp++) {
				w->c.warp = warp;
				mem_async_wait(&w->c, ALL, stages - 2, false);
			}
			barrier(w);
			for (uint32_t warp = 0; warp < 4; warp++) {
				struct row r[8];
				uint64_t addr[LANES];
				line_up(addr, 2048 * tile + 512 * (3 - warp), 4);
				OK(load_at(w, warp, &op, addr, ALL, r));
				for (unsigned i = 0; i < LANES; i++)
					CHECK_EQ(r[0].v[i], 512 * k + 128 * (3 - warp) + i);
				OK(copy(w, warp, 2048 * next + 512 * warp, g + 2048 * (k + stages - 1) + 512 * warp, 16, NULL, ALL));
				mem_async_commit(&w->c, ALL);
			}
		}
		for (uint32_t warp = 0; warp < 4; warp++) {
			w->c.warp = warp;
			mem_async_wait(&w->c, ALL, 0, true);
		}
		barrier(w);
	}
	leave(w);
}

TEST(cp_async_that_is_not_waited_for)
{
	struct world *w = world(2048, 2);
	uint64_t g = alloc(w, 2048, MEM_READ_ONLY, "A");
	OK(copy(w, 0, 0, g, 16, NULL, ALL));
	mem_async_commit(&w->c, ALL);
	FAULTS(ld(w, S, 0, 0, 4, ALL), ASYNC_NOT_WAITED);
	SAYS("cp.async");
	CHECK_EQ(w->c.other_site, 7);
	barrier(w);
	FAULTS(ld(w, S, 1, 0, 4, ALL), ASYNC_NOT_WAITED);
	FAULTS(st(w, S, 0, 0, 4, ALL), RACE_SHARED);
	w->c.warp = 0;
	mem_async_wait(&w->c, ALL, 1, false);
	FAULTS(ld(w, S, 0, 0, 4, ALL), ASYNC_NOT_WAITED);
	mem_async_wait(&w->c, 0xffff, 0, false);		/* these lanes' bytes only */
	OK(ld(w, S, 0, 0, 4, ALL));
	FAULTS(ld(w, S, 0, 256, 4, ALL), ASYNC_NOT_WAITED);
	w->c.warp = 0;
	mem_async_wait(&w->c, ALL, 0, false);
	OK(ld(w, S, 0, 256, 4, ALL));
	FAULTS(ld(w, S, 1, 256, 4, ALL), RACE_SHARED);		/* another warp needs a barrier too */
	barrier(w);
	OK(ld(w, S, 1, 256, 4, ALL));
	FAULTS(copy(w, 0, 256, g, 16, NULL, ALL), RACE_SHARED);	/* while warp 1 may read */
	leave(w);
}

TEST(cp_async_uncommitted_and_zero_fill)
{
	struct world *w = world(2048, 1);
	uint64_t g = alloc(w, 520, MEM_READ_ONLY, "A");
	const char *why;
	memset(mem_host(w->m, g, 520, &why), 0x11, 520);
	uint32_t sizes[LANES];
	for (unsigned i = 0; i < LANES; i++)
		sizes[i] = i % 4 == 3 ? 0 : i % 4 == 2 ? 8 : 16;
	OK(copy(w, 0, 0, g, 16, sizes, ALL));
	mem_async_wait(&w->c, ALL, 0, false);			/* no group yet: nothing arrives */
	FAULTS(ld(w, S, 0, 0, 4, 1), ASYNC_NOT_WAITED);
	mem_async_wait(&w->c, ALL, 0, true);
	struct mem_op op = op_of(S, 4, 4, PTX_T_U32, 1);
	struct row r[8];
	uint64_t addr[LANES];
	line_up(addr, 0, 16);
	OK(load_at(w, 0, &op, addr, ALL, r));
	for (unsigned i = 0; i < LANES; i++)
		for (unsigned e = 0; e < 4; e++)
			CHECK_EQ(r[e].v[i], 4 * e < sizes[i] ? 0x11111111 : 0);
	/* bytes that are not read may lie outside */
	for (unsigned i = 0; i < LANES; i++)
		sizes[i] = 8;
	OK(copy(w, 0, 1024, g + 512, 16, sizes, 1));
	OK(copy(w, 0, 1536, 0, 16, (uint32_t[LANES]){0}, ALL));
	sizes[0] = 12;
	FAULTS(copy(w, 0, 1280, g + 512, 16, sizes, 1), OUT_OF_BOUNDS);
	sizes[0] = 17;
	FAULTS(copy(w, 0, 1280, g, 16, sizes, 1), BAD_INSTRUCTION);
	FAULTS(copy(w, 0, 1280, g + 8, 16, NULL, 1), MISALIGNED);
	FAULTS(copy(w, 0, 2040, g, 16, NULL, 1), MISALIGNED);
	FAULTS(copy(w, 0, 2048, g, 16, NULL, 1), OUT_OF_BOUNDS);
	leave(w);
}

/* ---- matrices ---- */

TEST(matrices)
{
	struct world *w = world(4096, 2);
	struct mem_op op = op_of(S, 2, 1, PTX_T_B16, 0);
	struct row r[8];
	uint64_t addr[LANES];
	for (unsigned i = 0; i < 32 * 40; i += 32) {		/* element (row, column) at 80 * row + 2 * column: row * 40 + column */
		for (unsigned k = 0; k < LANES; k++)
			r[0].v[k] = i + k;
		line_up(addr, 2 * i, 2);
		OK(store_at(w, 0, &op, addr, ALL, r));
	}
	for (unsigned count = 1; count <= 4; count *= 2)
		for (unsigned transpose = 0; transpose < 2; transpose++) {
			struct row out[4];
			memset(out, 0x77, sizeof out);
			for (unsigned i = 0; i < LANES; i++)
				addr[i] = 80 * (i % 16) + 16 * (i / 16);
			uint64_t waves = w->n.shared_load_wavefronts;
			CHECK_EQ(mem_matrix_load(&w->c, w->sites, addr, count, transpose,
						 (uint32_t *const[]){out[0].v, out[1].v, out[2].v, out[3].v}), 0);
			CHECK_EQ(w->n.shared_load_wavefronts - waves, count);	/* rows 80 bytes apart don't conflict */
			for (unsigned m = 0; m < count; m++)
				for (unsigned t = 0; t < LANES; t++) {
					unsigned row = t / 4, column = t % 4 * 2;
					unsigned lo = transpose ? column * 40 + row : row * 40 + column;
					unsigned hi = transpose ? (column + 1) * 40 + row : row * 40 + column + 1;
					unsigned origin = m % 2 * 8 * 40 + m / 2 * 8;
					CHECK_EQ(out[m].v[t], (lo + origin) | (hi + origin) << 16);
				}
		}
	line_up(addr, 0, 0);		/* one row for all: still a pass for each matrix */
	struct row same[4];
	uint64_t waves = w->n.shared_load_wavefronts;
	CHECK_EQ(mem_matrix_load(&w->c, w->sites, addr, 4, false, (uint32_t *const[]){same[0].v, same[1].v, same[2].v, same[3].v}), 0);
	CHECK_EQ(w->n.shared_load_wavefronts - waves, 4);
	/* store and load are inverse */
	struct row in[4], back[4];
	for (unsigned m = 0; m < 4; m++)
		for (unsigned t = 0; t < LANES; t++)
			in[m].v[t] = m * 0x1000 + t * 0x10001;
	for (unsigned transpose = 0; transpose < 2; transpose++) {
		line_up(addr, 0, 16);
		CHECK_EQ(mem_matrix_store(&w->c, w->sites, addr, 4, transpose,
					  (const uint32_t *const[]){in[0].v, in[1].v, in[2].v, in[3].v}), 0);
		CHECK_EQ(mem_matrix_load(&w->c, w->sites, addr, 4, transpose,
					 (uint32_t *const[]){back[0].v, back[1].v, back[2].v, back[3].v}), 0);
		CHECK(!memcmp(in, back, sizeof in));
	}
	w->c.warp = 1;
	FAULTS(mem_matrix_load(&w->c, w->sites, addr, 1, false, (uint32_t *const[]){back[0].v}), RACE_SHARED);
	addr[3] += 8;
	FAULTS(mem_matrix_load(&w->c, w->sites, addr, 1, false, (uint32_t *const[]){back[0].v}), MISALIGNED);
	addr[3] = 4096;
	FAULTS(mem_matrix_load(&w->c, w->sites, addr, 1, false, (uint32_t *const[]){back[0].v}), OUT_OF_BOUNDS);
	leave(w);
}

/* ---- names ---- */

TEST(names)
{
	CHECK_STR(fault_name(FAULT_OUT_OF_BOUNDS), "out-of-bounds access");
	CHECK_STR(fault_verdict(FAULT_OUT_OF_BOUNDS), "IMA");
	CHECK_STR(fault_verdict(FAULT_KINDS), "SE");
	struct counters a = {.lanes = 3}, sum = {.lanes = 4};
	counters_add(&sum, &a);
	CHECK_EQ(sum.lanes, 7);
	CHECK_STR(counter_name(COUNTER_lanes), "lanes");
	CHECK_EQ(*counter_at(&sum, COUNTER_lanes), 7);
}
