/* Races on emulated memory: what is one and what is not, in shared and in global memory, within a block and between
 * blocks. */
#include "tests/unit/mem_world.h"

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
	SAYS("warp 2 wrote byte 0x140, warp 3 read it with no barrier between");
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
	SAYS("read byte 0x0, warp 0 wrote it");
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
		SAYS("warp 1 wrote byte 0x7, warp 0 read it");
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
	SAYS("did an atomic on byte 0x0, warp 0 read it");
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
	SAYS("warp 0 wrote byte 0x0, warp 2 read it");
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
			SAYS("warp 0 wrote byte 4 of scratch (4096 bytes), warp 3 of the same block read it");
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
		{everyone_writes_its_number, 64, "block (0, 0, 0) and another block write different values to byte 64 of y (4096 bytes), and nothing"},
		{accumulates, 8, "block (0, 0, 0) writes byte 8 of y (4096 bytes) and another block reads it"},
		{reads_the_neighbours, 4, "block (0, 0, 0) reads byte 4 of y (4096 bytes) and another block writes it"},
		{bytes_that_meet, 6, "block (3, 0, 0) and another block write different values"},
		{mixed, 400, "block (1, 0, 0) does an atomic on byte 400 of y (4096 bytes) and another block writes it"},
		{atomics_and_a_reader, 0, "block (0, 0, 0) does an atomic on byte 0 of y (4096 bytes) and another block reads it"},
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

/* Random accesses of four blocks to 16 bytes, some of them sharing words, against the definition. */
struct scatter { uint64_t g; unsigned seed; uint8_t read[4][16], wrote[4][16], added[4][16], value[4][16]; };

static void scatters(struct world *w, unsigned block, void *arg)
{
	struct scatter *s = arg;
	unsigned seed = s->seed + block;
	for (unsigned n = (unsigned)rand_r(&seed) % 3; n; n--) {
		unsigned verb = (unsigned)rand_r(&seed) % 3, bytes = verb == 2 ? 4 : 1u << rand_r(&seed) % 3;
		unsigned at = (unsigned)rand_r(&seed) % (16 / bytes) * bytes, v = 1 + (unsigned)rand_r(&seed) % 2;
		struct mem_op op = op_of(G, bytes, 1, bytes == 4 ? PTX_T_U32 : PTX_T_U8, verb);
		struct row r[8] = {{{verb == 2 ? 0 : v * 0x01010101}}};
		uint64_t addr[LANES];
		line_up(addr, s->g + at, 0);
		w->c.warp = 0;
		if (verb == 0)
			OK(load_at(w, 0, &op, addr, 1, r));
		else if (verb == 1)
			OK(store_at(w, 0, &op, addr, 1, r));
		else
			CHECK_EQ(mem_atomic(&w->c, &op, w->sites, addr, 1, NULL, (const void *const[]){r}, NULL), 0);
		uint8_t *set = verb == 0 ? s->read[block] : verb == 1 ? s->wrote[block] : s->added[block];
		memset(set + at, 1, bytes);
		if (verb == 1)
			memset(s->value[block] + at, (int)v, bytes);
	}
}

static bool scatter_races(const struct scatter *s)
{
	for (unsigned a = 0; a < 4; a++)
		for (unsigned b = 0; b < 4; b++)
			for (unsigned i = 0; i < 16 && a != b; i++)
				if ((s->wrote[a][i] && (s->read[b][i] || s->added[b][i])) || (s->added[a][i] && s->read[b][i]) ||
				    (s->wrote[a][i] && s->wrote[b][i] && s->value[a][i] != s->value[b][i]))
					return true;
	return false;
}

TEST_WITHIN(blocks_that_share_words, 60)
{
	struct mem *m = device();
	uint64_t g;
	unsigned races = 0, seed = 3;
	CHECK_EQ(mem_alloc(m, 16, MEM_ZERO, "y", &g), 0);
	for (unsigned k = 0; k < 3000; k++) {
		struct scatter s = {.g = g, .seed = 4 * k};
		unsigned order[4] = {0, 1, 2, 3};
		for (unsigned i = 3; i; i--) {
			unsigned j = (unsigned)rand_r(&seed) % (i + 1), t = order[i];
			order[i] = order[j];
			order[j] = t;
		}
		struct fault f;
		uint32_t sites[2];
		int raced = blocks(m, order, 4, scatters, &s, &f, sites);
		CHECK_MSG((raced == -1) == scatter_races(&s), "scatter %u: %d: %s", k, raced, raced ? f.detail : "");
		races += raced == -1;
	}
	CHECK(races > 300 && races < 2700);
	mem_free(m);
}

/* ---- races against their definition ---- */

/* Every byte with every warp's last times, and a vector clock a warp. */
enum { W = 4, BYTES = 32 };
struct model {
	uint8_t value[BYTES];
	bool written[BYTES];
	uint32_t w[BYTES][W], a[BYTES][W], r[BYTES][W], clock[W][W];
};

static void model_new(struct model *m)
{
	memset(m, 0, sizeof *m);
	for (unsigned i = 0; i < W; i++)
		m->clock[i][i] = 1;
}

static void model_barrier(struct model *m, uint32_t arrived, uint32_t waited)
{
	uint32_t all[W] = {0};
	for (unsigned i = 0; i < W; i++)
		for (unsigned u = 0; u < W && arrived >> i & 1; u++)
			all[u] = m->clock[i][u] > all[u] ? m->clock[i][u] : all[u];
	for (unsigned i = 0; i < W; i++)
		for (unsigned u = 0; u < W && waited >> i & 1; u++)
			m->clock[i][u] = m->clock[i][u] > all[u] ? m->clock[i][u] : all[u];
	for (unsigned i = 0; i < W; i++)
		m->clock[i][i] += arrived >> i & 1;
}

enum verb { READ_IT, WRITE_IT, ADD_IT, READ_VOLATILE, WRITE_VOLATILE, VERBS };

/* 0 fine, 1 race, 2 never written */
static int model_access(struct model *m, enum verb v, unsigned warp, unsigned at, unsigned size, const uint8_t *data)
{
	bool wants = v == READ_IT || v == ADD_IT || v == READ_VOLATILE, plain = v == READ_IT || v == WRITE_IT;
	bool writes = v == WRITE_IT || v == ADD_IT || v == WRITE_VOLATILE;
	for (unsigned i = at; i < at + size; i++) {
		if (wants && !m->written[i])
			return 2;
		for (unsigned u = 0; u < W; u++) {
			uint32_t seen = m->clock[warp][u];
			if (u == warp)
				continue;
			if (m->w[i][u] > seen && !(v == WRITE_IT && data[i - at] == m->value[i]))
				return 1;
			if (plain && m->a[i][u] > seen)
				return 1;
			if (writes && m->r[i][u] > seen)
				return 1;
		}
	}
	for (unsigned i = at; i < at + size; i++) {
		uint32_t now = m->clock[warp][warp];
		if (v == READ_IT)
			m->r[i][warp] = now;
		if (v == WRITE_IT)
			m->w[i][warp] = now;
		if (v == ADD_IT || v == WRITE_VOLATILE)
			m->a[i][warp] = now;
		m->written[i] |= writes;
		if (v == WRITE_IT || v == WRITE_VOLATILE)
			m->value[i] = data[i - at];
	}
	return 0;
}

static int real_access(struct world *w, enum ptx_space space, uint64_t base, enum verb v, unsigned warp, unsigned at, unsigned size,
		       unsigned lanes, const uint8_t *data)
{
	unsigned each = size / lanes;
	struct mem_op op = op_of(space, each, 1, each == 4 ? PTX_T_U32 : PTX_T_B16, 4);
	struct row r[8] = {{{0}}};
	uint64_t addr[LANES];
	line_up(addr, base + at, each);
	for (unsigned i = 0; i < lanes; i++)
		memcpy(&r[0].v[i], data + i * each, each);
	if (v == READ_VOLATILE || v == WRITE_VOLATILE)
		op.flags = MEM_VOLATILE;
	uint32_t mask = lanes == LANES ? ALL : (1u << lanes) - 1;
	w->c.warp = warp;
	if (v == READ_IT || v == READ_VOLATILE)
		return load_at(w, warp, &op, addr, mask, r);
	if (v != ADD_IT)
		return store_at(w, warp, &op, addr, mask, r);
	memset(r, 0, sizeof r);			/* adding 0 keeps the model's values right */
	return mem_atomic(&w->c, &op, w->sites, addr, mask, NULL, (const void *const[]){r}, NULL);
}

/* Random accesses of four warps until one races, then anew.  partial: barriers of some warps too; such a block knows the
 * order exactly only if its first barrier is one, so without early_partial it may miss races, but never invents one. */
static void compare_races(enum ptx_space space, bool partial, bool early_partial, unsigned rounds, unsigned seed)
{
	struct world *w = world(BYTES, W);
	uint64_t base = space == G ? alloc(w, BYTES, 0, "g") : 0;
	unsigned races = 0, clean = 0;
	for (unsigned round = 0; round < rounds; round++) {
		struct model m;
		model_new(&m);
		mem_block_reset(w->c.block);
		mem_launch_end(w->m, NULL, NULL);
		if (space == G)
			mem_mark_unwritten(w->m, base, BYTES);
		mem_launch_begin(w->m, 0, GRID);
		if (early_partial) {
			mem_barrier(w->c.block, 1, 1);
			model_barrier(&m, 1, 1);
		}
		unsigned calm = 4 + (unsigned)rand_r(&seed) % 24;
		for (unsigned step = 0; step < 200; step++) {
			if ((unsigned)rand_r(&seed) % calm == 0) {
				uint32_t arrived = 0xf, waited = 0xf;
				if (partial && rand_r(&seed) % 3) {
					arrived = (uint32_t)rand_r(&seed) & 0xf;
					waited = arrived & (uint32_t)rand_r(&seed);
				}
				mem_barrier(w->c.block, arrived, waited);
				model_barrier(&m, arrived, waited);
				if (early_partial && arrived == 0xf && waited == 0xf) {
					mem_barrier(w->c.block, 1, 1);
					model_barrier(&m, 1, 1);
				}
			}
			enum verb v = (enum verb)((unsigned)rand_r(&seed) % 100 < 80 ? rand_r(&seed) % 2 : rand_r(&seed) % VERBS);
			unsigned warp = (unsigned)rand_r(&seed) % W, each = v == ADD_IT ? 4 : 1u << rand_r(&seed) % 3, lanes = 1, at;
			if (rand_r(&seed) % 8 == 0)
				lanes = BYTES / each < LANES ? BYTES / each : LANES;
			at = lanes > 1 ? 0 : (unsigned)rand_r(&seed) % (BYTES / each) * each;
			uint8_t data[BYTES];
			memset(data, rand_r(&seed) % 3, sizeof data);
			struct model before = m;
			int want = model_access(&m, v, warp, at, each * lanes, data);
			int got = real_access(w, space, base, v, warp, at, each * lanes, lanes, data);
			int kind = got == 0 ? 0 : w->c.fault.kind == FAULT_RACE_SHARED || w->c.fault.kind == FAULT_RACE_GLOBAL ? 1 : 2;
			bool exact = !partial || early_partial;
			/* an access may be both; which is told depends on the byte that is looked at first */
			CHECK_MSG(!want == !kind || (!exact && !kind), "round %u step %u: warp %u verb %d at %u, %u x %u: %d, expected %d: %s",
				  round, step, warp, v, at, lanes, each, kind, want, w->c.fault.detail);
			clean += !want;
			races += want == 1;
			if (want == 2 && kind)
				m = before;
			if (want == 1 || kind == 1 || (want && lanes > 1))
				break;
		}
	}
	CHECK(races > rounds / 10 && clean > rounds);
	leave(w);
}

TEST_WITHIN(races_in_shared_memory, 60) { compare_races(S, false, false, 4000, 1); }
TEST_WITHIN(races_in_shared_memory_with_barriers_of_some_warps, 60) { compare_races(S, true, true, 4000, 2); }
TEST_WITHIN(races_in_shared_memory_with_late_barriers_of_some_warps, 60) { compare_races(S, true, false, 4000, 3); }
TEST_WITHIN(races_in_global_memory, 60) { compare_races(G, false, false, 4000, 4); }
TEST_WITHIN(races_in_global_memory_with_barriers_of_some_warps, 60) { compare_races(G, true, true, 4000, 5); }
