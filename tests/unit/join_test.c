/* Loads from shared memory that ptxas makes one of are counted as one: what is joined and what is not.  The figures are those of
 * the loads that ptxas 13.0 makes of the same kernels for sm_90.
 */
#include "test.h"
#include "sandbox/ptx/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One warp; %r1: its lane, %r2: s + 32 * (lane / 4), which is a multiple of 32 as s is one of `align`. */
static struct counters run(const char *align, const char *size, const char *body)
{
	static const char frame[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 16 .b8 d[];\n"
		".visible .entry k(.param .u64 out)\n{ .reg .pred %%p<4>; .reg .b32 %%r<60>; .reg .b64 %%rd<4>;\n"
		".shared .align 4 .b8 before[%s]; .shared .align %s .b8 s[2048];\n"
		"mov.u32 %%r1, %%tid.x; mov.u32 %%r3, s; shr.u32 %%r4, %%r1, 2; shl.b32 %%r5, %%r4, 5; add.u32 %%r2, %%r3, %%r5;\n"
		"mov.u32 %%r6, 0; mov.u32 %%r7, before; st.shared.u32 [%%r7], %%r6; mov.u32 %%r8, 0;\n"
		"FILL: shl.b32 %%r9, %%r8, 7; shl.b32 %%r10, %%r1, 2; add.u32 %%r9, %%r9, %%r10; add.u32 %%r9, %%r9, %%r3;\n"
		"st.shared.u32 [%%r9], %%r1; add.u32 %%r8, %%r8, 1; setp.lt.u32 %%p1, %%r8, 16; @%%p1 bra FILL; bar.sync 0;\n"
		"%s\nret; }\n";
	char text[4096];
	struct profile p;
	struct err e = {0};
	struct emu_report r;
	struct emu_options o = {.threads = 1, .memory = 1 << 24, .checks = true};
	snprintf(text, sizeof text, frame, size, align, body);
	setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 0);
	CHECK_MSG(profile_load("h200", &p, &e) == 0, "%s", e.text);
	struct emu *g = emu_open(&p, &o, &e);
	CHECK_MSG(g != NULL, "%s", e.text);
	struct emu_module *m = emu_load(g, text, strlen(text), NULL, 0, &e);
	CHECK_MSG(m != NULL, "%s", e.text);
	uint64_t out = 0;
	struct emu_launch l = {.kernel = emu_kernel_at(m, 0), .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = &out};
	CHECK_MSG(emu_launch(g, &l, &r, &e) == 0, "%s", e.text);
	CHECK_MSG(r.fault.kind == FAULT_NONE, "%s", r.fault.detail);
	struct counters c = r.counters;
	emu_report_free(&r);
	emu_unload(g, m);
	emu_close(g);
	return c;
}

static void check_counts(const struct counters *c, unsigned requests, unsigned wavefronts, unsigned conflicts)
{
	CHECK_EQ(c->shared_load_requests, requests);
	CHECK_EQ(c->shared_load_wavefronts, wavefronts);
	CHECK_EQ(c->shared_load_conflicts, conflicts);
}

#define ROW "ld.shared.u32 %r20, [%r2]; ld.shared.u32 %r21, [%r2+4]; ld.shared.u32 %r22, [%r2+8]; ld.shared.u32 %r23, [%r2+12];\n"

/* A quad of lanes reads a row of 32 bytes, as a fragment of a tensor core is read: each word alone has a conflict, four words
 * at once have none. */
TEST(four_words_are_one_load)
{
	struct counters c = run("16", "16", ROW);
	check_counts(&c, 1, 2, 0);
	c = run("16", "16", "ld.shared.u32 %r20, [%r2];");
	check_counts(&c, 1, 2, 1);
	c = run("16", "16", "ld.shared.u32 %r20, [%r2+4]; ld.shared.v2.u32 {%r22, %r23}, [%r2+8]; add.u32 %r30, %r20, %r22;\n"
			    "ld.shared.u32 %r21, [%r2];");
	check_counts(&c, 1, 2, 0);
	c = run("16", "16", "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r2]; ld.shared.v4.u32 {%r24, %r25, %r26, %r27}, [%r2+16];");
	check_counts(&c, 2, 4, 0);
}

TEST(two_words_are_one_load)
{
	struct counters c = run("16", "16", "ld.shared.u32 %r20, [%r2+4]; ld.shared.u32 %r21, [%r2];");
	check_counts(&c, 1, 2, 1);		/* pairs of lanes agree: one pass, and rows 4 apart meet in a bank */
	c = run("16", "16", "ld.shared.u32 %r20, [s+4]; ld.shared.u32 %r21, [s];");
	check_counts(&c, 1, 1, 0);
	c = run("16", "16", ROW "ld.shared.u32 %r24, [%r2+16]; ld.shared.u32 %r25, [%r2+20];");
	check_counts(&c, 2, 4, 1);
}

TEST(what_is_not_known_to_be_aligned_stays)
{
	/* s lies behind 4 bytes: at 4 */
	struct counters c = run("4", "4", ROW);
	check_counts(&c, 4, 8, 4);
	c = run("4", "16", ROW);
	check_counts(&c, 1, 2, 0);
	/* a pair in the middle is aligned, but the row does not begin there */
	c = run("16", "16", "ld.shared.u32 %r20, [%r2+4]; ld.shared.u32 %r21, [%r2+8]; ld.shared.u32 %r22, [%r2+12];");
	check_counts(&c, 3, 6, 3);
	/* a word each */
	c = run("16", "16", "shl.b32 %r40, %r1, 2; add.u32 %r40, %r40, %r3; ld.shared.u32 %r20, [%r40]; ld.shared.u32 %r21, [%r40+4];");
	check_counts(&c, 2, 2, 0);
	/* what memory gave may be anything */
	c = run("16", "16", "ld.shared.u32 %r40, [s]; add.u32 %r40, %r40, %r3; ld.shared.u32 %r20, [%r40]; ld.shared.u32 %r21, [%r40+4];");
	check_counts(&c, 3, 3, 0);
}

TEST(loads_are_not_moved_across_what_may_write)
{
	static const char *const between[] = {
		"st.shared.u32 [%r3+1024], %r6;", "bar.sync 0;", "red.shared.add.u32 [%r3+1024], %r6;", "membar.cta;",
		"add.u32 %r2, %r2, 0;", "BLOCK: setp.gt.u32 %p2, %r8, 99; @%p2 bra BLOCK;",
	};
	for (unsigned i = 0; i < sizeof between / sizeof *between; i++) {
		char body[400];
		snprintf(body, sizeof body, "ld.shared.u32 %%r20, [%%r2]; %s ld.shared.u32 %%r21, [%%r2+4];", between[i]);
		struct counters c = run("16", "16", body);
		check_counts(&c, 2, 4, 2);
	}
}
