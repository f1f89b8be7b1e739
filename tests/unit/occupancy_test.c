/* Resident blocks, against the CUDA occupancy calculator's rules. */
#include "test.h"

#include "../../sandbox/ptx/model.h"

#include <stdlib.h>

static struct profile device(const char *id)
{
	struct profile p;
	struct err e = {0};

	CHECK(setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 1) == 0);
	CHECK_MSG(profile_load(id, &p, &e) == 0, "%s", e.text);
	return p;
}

static struct occupancy of(const char *id, uint32_t threads, uint32_t registers, uint32_t shared)
{
	struct profile p = device(id);
	struct launch_shape s = {{100000, 1, 1}, {threads, 1, 1}, registers, shared, 0};
	struct occupancy o;

	occupancy_of(&p, &s, &o);
	return o;
}

TEST(small_kernels_are_limited_by_blocks_or_threads)
{
	struct occupancy o = of("h200", 32, 16, 0);

	CHECK_EQ(o.blocks_per_sm, 32);
	CHECK_EQ(o.warps_per_sm, 32);
	CHECK_STR(o.limit, "blocks");
	o = of("h200", 1024, 32, 0);
	CHECK_EQ(o.blocks_per_sm, 2);
	CHECK_STR(o.limit, "threads");
	CHECK_EQ(of("rtx4090", 1024, 32, 0).blocks_per_sm, 1);
	CHECK_EQ(of("rtx4090", 256, 32, 0).warps_per_sm, 48);
	CHECK_EQ(of("t4", 256, 32, 0).warps_per_sm, 32);
}

TEST(a_partial_warp_counts_whole)
{
	CHECK_EQ(of("h200", 33, 32, 0).warps_per_sm, 64);
	CHECK_EQ(of("h200", 33, 32, 0).blocks_per_sm, 32);
	CHECK_EQ(of("h200", 97, 32, 0).blocks_per_sm, 16);
}

TEST(registers_are_given_by_warp_and_scheduler)
{
	/* 33 registers take 40 a thread: 1280 a warp, 12 warps in a scheduler's 16384 */
	struct occupancy o = of("h200", 128, 33, 0);

	CHECK_EQ(o.blocks_per_sm, 12);
	CHECK_STR(o.limit, "registers");
	CHECK_EQ(of("h200", 128, 32, 0).blocks_per_sm, 16);
	CHECK_EQ(of("a100", 256, 128, 0).blocks_per_sm, 2);
	CHECK_EQ(of("h200", 64, 255, 0).blocks_per_sm, 4);
	o = of("h200", 1024, 128, 0);
	CHECK_EQ(o.blocks_per_sm, 0);
	CHECK_STR(o.limit, "registers");
	o = of("h200", 32, 256, 0);
	CHECK_EQ(o.blocks_per_sm, 0);
	CHECK_STR(o.limit, "registers per thread");
}

TEST(shared_memory_is_given_in_units_with_the_drivers_part)
{
	struct occupancy o = of("h200", 128, 32, 16384);

	CHECK_EQ(o.shared_per_block, 16384 + 1024);
	CHECK_EQ(o.blocks_per_sm, 13);
	CHECK_STR(o.limit, "shared memory");
	CHECK_EQ(of("h200", 128, 32, 232448).blocks_per_sm, 1);
	CHECK_EQ(of("h200", 128, 32, 232449).blocks_per_sm, 0);
	CHECK_EQ(of("h200", 128, 32, 1).shared_per_block, 1024 + 128);
	CHECK_EQ(of("t4", 128, 32, 1).shared_per_block, 256);
	CHECK_EQ(of("t4", 128, 32, 32768).blocks_per_sm, 2);
	CHECK_EQ(of("rtx4090", 128, 32, 49152).blocks_per_sm, 2);
}

TEST(the_cache_is_what_shared_memory_leaves)
{
	struct profile p = device("h200");
	struct launch_shape s = {{100000, 1, 1}, {128, 1, 1}, 32, 0, 0};
	struct occupancy o;

	occupancy_of(&p, &s, &o);		/* 16 blocks of 1 KB for the driver: 16 KB carved out */
	CHECK_EQ(o.l1_bytes_per_sm, (256 - 16) << 10);
	CHECK_EQ(o.l1_bytes_per_block, 15 << 10);
	s.shared_dynamic = 100 << 10;
	occupancy_of(&p, &s, &o);		/* 2 blocks of 101 KB: 228 KB */
	CHECK_EQ(o.blocks_per_sm, 2);
	CHECK_EQ(o.l1_bytes_per_sm, 28 << 10);
	s.shared_dynamic = 0;
	s.grid[0] = 40;				/* fewer blocks than SMs: one has the cache to itself */
	occupancy_of(&p, &s, &o);
	CHECK_EQ(o.l1_bytes_per_block, (256 - 16) << 10);
}

TEST(impossible_blocks)
{
	CHECK_EQ(of("h200", 1025, 16, 0).blocks_per_sm, 0);
	CHECK_STR(of("h200", 1025, 16, 0).limit, "threads");
	CHECK_EQ(of("h200", 0, 16, 0).blocks_per_sm, 0);
}
