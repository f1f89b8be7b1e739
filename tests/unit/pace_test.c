/* Waits and chains of a warp, from small pieces of PTX. */
#include "test.h"

#include "../../sandbox/base/buf.h"
#include "../../sandbox/ptx/pace.h"

#include <string.h>

static struct pace paces[64];

static void of(const char *body)
{
	struct buf b = {0};
	struct err e = {0};
	struct arena *a = arena_new();

	buf_printf(&b, ".version 9.0\n.target sm_90\n.address_size 64\n.shared .align 16 .b8 sm[64];\n"
		       ".visible .entry k(.param .u64 p)\n{\n.reg .pred %%p<4>; .reg .b32 %%r<20>; .reg .b64 %%rd<20>;\n"
		       ".reg .f32 %%f<20>;\n%s\n}\n", body);
	struct ptx_module *m = ptx_parse(b.data, b.size, a, &e);
	CHECK_MSG(m, "%s", e.text);
	CHECK(m->funcs[0]->n_insns < 64);
	pace_of(m->funcs[0], paces);
	buf_free(&b);
	arena_free(a);
}

TEST(independent_loads_share_a_round)
{
	of("ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd2]; ld.global.f32 %f3, [%rd3];\n"
	   "add.f32 %f4, %f1, %f2; add.f32 %f4, %f4, %f3; st.global.f32 [%rd4], %f4; ret;");
	CHECK_EQ(paces[0].rounds, 1);
	for (int i = 1; i < 7; i++)
		CHECK_EQ(paces[i].rounds + paces[i].cycles, 0);
}

TEST(loads_of_what_was_loaded_take_turns)
{
	of("ld.global.u64 %rd2, [%rd1]; ld.global.u64 %rd3, [%rd2]; ld.global.u64 %rd4, [%rd3+8];\n"
	   "st.global.u64 [%rd1], %rd4; ret;");
	CHECK_EQ(paces[0].rounds, 3);
}

TEST(stores_hold_back_loads_that_may_alias)
{
	of("ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd2], %f1; ld.global.f32 %f2, [%rd3]; st.global.f32 [%rd4], %f2; ret;");
	CHECK_EQ(paces[0].rounds, 2);
	of("ld.global.f32 %f1, [%rd1]; st.global.f32 [%rd2], %f1; ld.global.nc.f32 %f2, [%rd3]; st.global.f32 [%rd4], %f2; ret;");
	CHECK_EQ(paces[0].rounds, 1);
	of("ld.global.f32 %f1, [%rd1]; st.shared.f32 [sm], %f1; ld.global.f32 %f2, [%rd3]; st.shared.f32 [sm+4], %f2; ret;");
	CHECK_EQ(paces[0].rounds, 1);
}

TEST(barriers_part_the_work)
{
	of("ld.global.f32 %f1, [%rd1]; st.shared.f32 [sm], %f1; bar.sync 0;\n"
	   "ld.global.nc.f32 %f2, [%rd3]; st.shared.f32 [sm+4], %f2; ret;");
	CHECK_EQ(paces[0].rounds, 2);
}

TEST(a_load_used_in_another_block_has_come_by_then)
{
	of("ld.global.f32 %f1, [%rd1];\nL: add.f32 %f2, %f2, %f1; ld.global.f32 %f1, [%rd2]; @%p1 bra L; ret;");
	CHECK_EQ(paces[0].rounds, 0);
	CHECK_EQ(paces[1].rounds, 0);
}

TEST(waiting_for_all_copies_is_a_round)
{
	of("cp.async.ca.shared.global [%r1], [%rd1], 16; cp.async.commit_group; cp.async.wait_group 0; ret;");
	CHECK_EQ(paces[0].rounds, 1);
	of("cp.async.ca.shared.global [%r1], [%rd1], 16; cp.async.commit_group; cp.async.wait_group 1; ret;");
	CHECK_EQ(paces[0].rounds, 0);
}

TEST(chains_are_longer_than_the_same_work_side_by_side)
{
	of("fma.rn.f32 %f1, %f1, %f2, %f2; fma.rn.f32 %f1, %f1, %f2, %f2; fma.rn.f32 %f1, %f1, %f2, %f2; ret;");
	int chain = paces[0].cycles;
	of("fma.rn.f32 %f1, %f1, %f2, %f2; fma.rn.f32 %f3, %f3, %f2, %f2; fma.rn.f32 %f4, %f4, %f2, %f2; ret;");
	CHECK(chain >= paces[0].cycles + 8);
}

TEST(blocks_begin_at_labels_and_behind_branches)
{
	of("@%p1 bra L; add.u32 %r1, %r1, 1; L: add.u32 %r2, %r2, 1; ts: .branchtargets L, M; brx.idx %r1, ts; M: ret;");
	CHECK(paces[0].cycles && paces[1].cycles && paces[2].cycles);
	CHECK(!paces[3].cycles && paces[4].cycles);
}
