/* Emulated memory: allocations, data of loads and stores, faults of single accesses, counts. */
#include "tests/unit/mem_world.h"

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

/* A large allocation that takes the place of small ones is whole: what was released there is forgotten. */
TEST(released_memory_inside_a_new_allocation_is_forgotten)
{
	struct world *w = world(0, 1);
	uint64_t held[4], a = 0;
	const char *why;
	bool again = false;
	for (unsigned i = 0; i < 1000 && !again; i++) {
		for (unsigned k = 0; k < 4; k++)
			held[k] = alloc(w, 256 << 10, 0, "small");
		for (unsigned k = 0; k < 4; k++)
			CHECK_EQ(mem_release(w->m, held[k]), 0);
		uint64_t before = a;
		a = alloc(w, 48 << 20, 0, "large");
		again = a < before;
		for (uint64_t at = 0; at < 48 << 20; at += 64 << 10)
			CHECK(mem_host(w->m, a + at, 64 << 10, &why));
		CHECK_EQ(mem_release(w->m, a), 0);
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
	SAYS("4-byte read at offset 0 of y (256 bytes), which was never written");
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
	SAYS("4-byte read at offset 16 of shared memory, of which byte 18 was never written; if another thread stores it, a barrier is missing in between");
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
	CHECK_EQ(mem_release(w->m, b), 0);	/* scratch that is freed was traffic all the same */
	CHECK_EQ(mem_traffic(w->m, t, 4), 3);
	CHECK_STR(t[2].name, "");
	CHECK_EQ(t[2].size, 64);
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
