/* The L1 and L2 models: what hits, what goes on, and that counts are exact. */
#include "test.h"

#include "../../sandbox/ptx/model.h"

#include <stdlib.h>
#include <string.h>

static struct profile device(void)
{
	struct profile p;
	struct err e = {0};

	CHECK(setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 1) == 0);
	CHECK_MSG(profile_load("h200", &p, &e) == 0, "%s", e.text);
	return p;
}

TEST(l1_finds_sectors_that_it_loaded)
{
	struct l1 *l = l1_new();
	struct trace t = {0};

	l1_begin(l, 16 << 10, &t);
	CHECK_EQ(l1_load(l, 7, 0x3, true), 0);
	CHECK_EQ(l1_load(l, 7, 0x6, true), 0x2);
	CHECK_EQ(l1_load(l, 7, 0xf, true), 0x7);
	CHECK_EQ(l1_load(l, 7, 0xf, true), 0xf);
	CHECK_EQ(t.n, 1);
	CHECK_EQ(t.entries[0].line, 7);
	CHECK_EQ(t.entries[0].sectors, 0xf);
	CHECK_EQ(l1_load(l, 7, 0xf, false), 0);		/* past L1 */
	CHECK_EQ(t.entries[1].write, TRACE_READ_PAST_L1);
	l1_begin(l, 16 << 10, &t);			/* the next block starts cold */
	CHECK_EQ(l1_load(l, 7, 0xf, true), 0);
	l1_free(l);
	free(t.entries);
}

TEST(l1_loads_that_pass_do_not_allocate)
{
	struct l1 *l = l1_new();
	struct trace t = {0};

	l1_begin(l, 16 << 10, &t);
	CHECK_EQ(l1_load(l, 1, 0xf, false), 0);
	CHECK_EQ(l1_load(l, 1, 0xf, true), 0);
	l1_store(l, 2, 0xf);
	CHECK_EQ(l1_load(l, 2, 0xf, true), 0);
	l1_atomic(l, 2, 0x1);
	CHECK_EQ(l1_load(l, 2, 0xf, true), 0xe);
	l1_begin(l, 0, &t);				/* no cache at all */
	CHECK_EQ(l1_load(l, 1, 1, true), 0);
	CHECK_EQ(l1_load(l, 1, 1, true), 0);
	l1_free(l);
	free(t.entries);
}

TEST(l1_holds_its_capacity)
{
	struct l1 *l = l1_new();
	struct trace t = {0};
	unsigned hits = 0, lines = (16 << 10) / 128;

	l1_begin(l, 16 << 10, &t);
	for (unsigned pass = 0; pass < 4; pass++)
		for (unsigned i = 0; i < lines / 2; i++)
			hits += l1_load(l, i, 0xf, true) == 0xf;
	CHECK_EQ(hits, 3 * (lines / 2));		/* half full: all stay */
	hits = 0;
	l1_begin(l, 16 << 10, &t);
	for (unsigned pass = 0; pass < 4; pass++)
		for (unsigned i = 0; i < lines * 4; i++)
			hits += l1_load(l, i, 0xf, true) == 0xf;
	CHECK_EQ(hits, 0);				/* LRU, and four times too much in turn */
	l1_free(l);
	free(t.entries);
}

TEST(l1_forgets_between_many_blocks)
{
	struct l1 *l = l1_new();
	struct trace t = {0};

	for (unsigned i = 0; i < 5000000; i++) {	/* more than the blocks that tags can tell apart */
		l1_begin(l, 2048, &t);
		t.n = 0;
		CHECK_EQ(l1_load(l, 3, 1, true), 0);
	}
	l1_free(l);
	free(t.entries);
}

static struct trace blocks[300];

static struct trace *const *all_blocks(unsigned n)
{
	static struct trace *list[300];

	for (unsigned i = 0; i < n; i++)
		list[i] = &blocks[i];
	return list;
}

static void load(unsigned block, uint64_t from, uint64_t lines, struct counters *c)
{
	struct l1 *l = l1_new();

	l1_begin(l, 8 << 10, &blocks[block]);
	for (uint64_t i = from; i < from + lines; i++) {
		l1_request(l);
		c->global_load_sectors += 4;
		c->global_load_requests++;
		c->l1_hit_sectors += (unsigned)__builtin_popcount(l1_load(l, i, 0xf, true));
	}
	l1_free(l);
}

TEST(a_cold_stream_comes_from_dram_once)
{
	struct profile p = device();
	struct l2 *l = l2_new(&p);
	struct counters c = {0};

	l2_begin(l, 128 << 10);
	for (unsigned i = 0; i < 4; i++)
		load(i, 1000 * i, 1000, &c);
	l2_replay(l, all_blocks(4), 4, &c);
	CHECK_EQ(c.l2_read_sectors, 16000);
	CHECK_EQ(c.l2_hit_sectors, 0);
	CHECK_EQ(c.dram_read_bytes, 4 * 1000 * 128);
	CHECK_EQ(c.l2_load_requests, 4000);
	CHECK_EQ(c.dram_load_requests, 4000);
	CHECK_EQ(blocks[0].n, 0);
	load(0, 0, 1000, &c);				/* again: it is in L2 (the L1 it had was SM 0's: too small) */
	l2_begin(l, 0);
	l2_replay(l, all_blocks(1), 1, &c);
	CHECK_EQ(c.l2_read_sectors, 20000);
	CHECK_EQ(c.l2_hit_sectors, 4000);
	CHECK_EQ(c.dram_load_requests, 4000);
	l2_flush(l);
	load(0, 0, 10, &c);
	l2_replay(l, all_blocks(1), 1, &c);
	CHECK_EQ(c.dram_read_bytes, 4010 * 128);
	l2_free(l);
}

TEST(blocks_of_an_sm_share_its_l1)
{
	struct profile p = device();
	struct l2 *l = l2_new(&p);
	struct counters c = {0};

	/* 264 blocks on 132 SMs read the same 16 KB: each SM fetches it once, from L2 after the first */
	l2_begin(l, 128 << 10);
	for (unsigned i = 0; i < 264; i++)
		load(i, 0, 128, &c);
	l2_replay(l, all_blocks(264), 264, &c);
	CHECK_EQ(c.l2_read_sectors, 132 * 128 * 4);
	CHECK_EQ(c.l1_neighbour_sectors, 132 * 128 * 4);
	CHECK_EQ(c.l1_hit_sectors, 132 * 128 * 4);
	CHECK_EQ(c.dram_read_bytes, 16 << 10);
	CHECK_EQ(c.l2_load_requests, 264 * 128);
	l2_free(l);
}

TEST(l2_writes_back_what_is_dirty)
{
	struct profile p = device();
	struct l2 *l = l2_new(&p);
	struct l1 *a = l1_new();
	struct counters c = {0};

	l2_begin(l, 0);
	l1_begin(a, 0, &blocks[0]);
	for (unsigned i = 0; i < 100; i++)
		l1_store(a, i, 0x3);
	for (unsigned i = 0; i < 100; i++)
		l1_atomic(a, 1000 + i % 10, 0x8);
	l2_replay(l, all_blocks(1), 1, &c);
	CHECK_EQ(c.l2_write_sectors, 200 + 100);
	CHECK_EQ(c.l2_read_sectors, 0);
	CHECK_EQ(c.dram_read_bytes, 10 * 32);		/* the atomics' old values */
	CHECK_EQ(c.dram_write_bytes, 0);
	l2_write_back(l, &c);
	CHECK_EQ(c.dram_write_bytes, (200 + 10) * 32);
	l2_write_back(l, &c);
	CHECK_EQ(c.dram_write_bytes, (200 + 10) * 32);
	l1_free(a);
	l2_free(l);
}

TEST(l2_evicts_when_it_is_full)
{
	struct profile p = device();
	struct counters c = {0};

	p.l2_bytes = 1 << 20;
	struct l2 *l = l2_new(&p);
	struct l1 *a = l1_new();
	l2_begin(l, 0);
	l1_begin(a, 0, &blocks[0]);
	for (unsigned i = 0; i < 4 * 8192; i++)		/* 4 MB written */
		l1_store(a, i, 0xf);
	l2_replay(l, all_blocks(1), 1, &c);
	CHECK(c.dram_write_bytes >= 3 << 20);
	l2_write_back(l, &c);
	CHECK_EQ(c.dram_write_bytes, 4 << 20);
	l1_free(a);
	l2_free(l);
}
