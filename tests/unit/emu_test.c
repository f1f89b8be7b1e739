/* The emulated GPU from outside: loading, refusal, launches that cannot be, symbols, resets, reports by line, text, and
 * the same bits for any number of host threads.
 */
#include "test.h"
#include "sandbox/base/buf.h"
#include "sandbox/ptx/emu.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = ".version 8.0\n.target sm_80\n.address_size 64\n";

struct fixture {
	struct emu *g;
	struct emu_module *m;
	struct err e;
	struct buf text;
};

static void keep(void *user, const char *text, size_t size)
{
	buf_add(user, text, size);
}

static void open_gpu(struct fixture *f, unsigned threads, uint64_t budget)
{
	struct profile p;
	memset(f, 0, sizeof *f);
	setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 0);
	CHECK_MSG(profile_load("h200", &p, &f->e) == 0, "%s", f->e.text);
	struct emu_options o = {.threads = threads, .memory = 1 << 26, .budget = budget, .checks = true, .print = keep, .user = &f->text};
	f->g = emu_open(&p, &o, &f->e);
	CHECK_MSG(f->g != NULL, "%s", f->e.text);
}

static struct emu_module *load(struct fixture *f, const char *body)
{
	struct buf b = {0};
	buf_adds(&b, head);
	buf_adds(&b, body);
	f->m = emu_load(f->g, b.data, b.size, NULL, 0, &f->e);
	buf_free(&b);
	return f->m;
}

static void close_gpu(struct fixture *f)
{
	emu_unload(f->g, f->m);
	emu_close(f->g);
	buf_free(&f->text);
}

static uint64_t place(struct fixture *f, size_t size, unsigned flags, const char *name)
{
	uint64_t addr = 0;
	CHECK_EQ(mem_alloc(emu_mem(f->g), size, flags, name, &addr), 0);
	return addr;
}

static void *host(struct fixture *f, uint64_t addr, size_t size)
{
	const char *why = "";
	void *p = mem_host(emu_mem(f->g), addr, size, &why);
	CHECK_MSG(p != NULL, "%s", why);
	return p;
}

static void launch(struct fixture *f, const char *kernel, uint32_t grid, uint32_t block, uint32_t shared, const void *params,
		   struct emu_report *r)
{
	struct emu_launch l = {.kernel = emu_kernel_find(f->m, kernel), .grid = {grid, 1, 1}, .block = {block, 1, 1}, .shared_dynamic = shared,
			       .params = params};
	CHECK_MSG(l.kernel != NULL, "no kernel %s", kernel);
	CHECK_MSG(emu_launch(f->g, &l, r, &f->e) == 0, "%s", f->e.text);
}

static const char store_tid[] =
	".visible .entry _Z5storePji(.param .u64 p, .param .u32 n)\n"
	"{ .reg .pred %q; .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
	".loc 1 3 0\n"
	"ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];\n"
	"mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x;\n"
	".loc 1 4 0\n"
	"mad.lo.u32 %r5, %r3, %r4, %r2;\n"
	"setp.ge.u32 %q, %r5, %r1;\n"
	"@%q bra END;\n"
	".loc 1 5 0\n"
	"mul.wide.u32 %rd2, %r5, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5;\n"
	"END: ret; }\n"
	".file 1 \"store.cu\"\n";

static const char look_up[] =
	".const .align 4 .b32 table[32] = {1, 2, 3};\n"
	".visible .entry look_up(.param .u32 mask)\n"
	"{ .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"
	"ld.param.u32 %r1, [mask]; mov.u32 %r2, %tid.x; and.b32 %r2, %r2, %r1;\n"
	"mov.u64 %rd1, table; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;\n"
	"ld.const.u32 %r3, [%rd3]; ld.const.u32 %r4, [table+4];\n"
	"ret; }\n";

/* One pass for each address; what stands at a place known to the compiler is an operand. */
TEST(passes_of_constant_memory)
{
	static const uint32_t masks[] = {0, 1, 3, 5, 31}, passes[] = {1, 2, 4, 4, 32};
	struct fixture f;
	open_gpu(&f, 1, 0);
	CHECK_MSG(load(&f, look_up) != NULL, "%s", f.e.text);
	for (unsigned i = 0; i < sizeof masks / sizeof *masks; i++) {
		struct emu_report r = {0};
		launch(&f, "look_up", 1, 32, 0, &masks[i], &r);
		CHECK_EQ(r.fault.kind, FAULT_NONE);
		CHECK_EQ(r.counters.constant_load_requests, 1);
		CHECK_EQ(r.counters.constant_load_passes, passes[i]);
		CHECK_EQ(r.counters.global_load_requests, 0);
		emu_report_free(&r);
	}
	close_gpu(&f);
}

TEST(kernel_is_described)
{
	struct fixture f;
	struct emu_kernel_info i;
	open_gpu(&f, 1, 0);
	CHECK_MSG(load(&f, store_tid) != NULL, "%s", f.e.text);
	CHECK_EQ(emu_kernel_count(f.m), 1);
	CHECK(emu_kernel_find(f.m, "nobody") == NULL);
	CHECK(emu_kernel_at(f.m, 1) == NULL);
	emu_kernel_info(emu_kernel_at(f.m, 0), &i);
	CHECK_STR(i.name, "_Z5storePji");
	CHECK_STR(i.pretty, "store");
	CHECK_EQ(i.n_params, 2);
	CHECK_EQ(i.params[1].offset, 8);
	CHECK_EQ(i.params[1].size, 4);
	CHECK_EQ(i.param_bytes, 12);
	CHECK_EQ(i.shared_static, 0);
	CHECK(i.registers >= 16 && i.registers <= 255);
	close_gpu(&f);
}

TEST(figures_of_ptxas_are_taken)
{
	struct fixture f;
	struct emu_kernel_info i;
	struct emu_resources r = {.name = "_Z5storePji", .registers = 77};
	struct buf b = {0};
	open_gpu(&f, 1, 0);
	buf_adds(&b, head);
	buf_adds(&b, store_tid);
	f.m = emu_load(f.g, b.data, b.size, &r, 1, &f.e);
	CHECK_MSG(f.m != NULL, "%s", f.e.text);
	emu_kernel_info(emu_kernel_at(f.m, 0), &i);
	CHECK_EQ(i.registers, 77);
	CHECK(emu_occupancy(f.g, emu_kernel_at(f.m, 0), 1024, 0) == 0 || emu_occupancy(f.g, emu_kernel_at(f.m, 0), 256, 0) >= 1);
	CHECK_EQ(emu_occupancy(f.g, emu_kernel_at(f.m, 0), 4096, 0), 0);
	buf_free(&b);
	close_gpu(&f);
}

TEST(lines_add_up)
{
	struct fixture f;
	struct emu_report r;
	open_gpu(&f, 1, 0);
	CHECK_MSG(load(&f, store_tid) != NULL, "%s", f.e.text);
	struct { uint64_t p; uint32_t n; } params = {place(&f, 4000, 0, "y"), 1000};
	launch(&f, "_Z5storePji", 8, 128, 0, &params, &r);
	CHECK_EQ(r.fault.kind, FAULT_NONE);
	uint32_t *y = host(&f, params.p, 4000);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_EQ(y[i], i);
	/* 32 warps: 5 + 3 instructions and the ret, 3 more in the 32 that have a lane below 1000 */
	CHECK_EQ(r.counters.instructions, 32 * (5 + 3 + 3 + 1));
	CHECK_EQ(r.counters.lanes, 1024 * (5 + 3 + 1) + 1000 * 3);
	CHECK_EQ(r.counters.branches, 32);
	CHECK_EQ(r.counters.divergent_branches, 1);
	CHECK_EQ(r.counters.global_store_requests, 32);
	CHECK_EQ(r.counters.global_store_sectors, 125);
	CHECK_EQ(r.counters.global_store_bytes, 4000);
	CHECK_EQ(r.n_lines, 3);
	struct counters sum = {0};
	for (size_t i = 0; i < r.n_lines; i++) {
		CHECK_STR(r.lines[i].file, "store.cu");
		CHECK_EQ(r.lines[i].line, 3 + i);
		counters_add(&sum, &r.lines[i].counters);
	}
	CHECK_EQ(sum.instructions, r.counters.instructions);
	CHECK_EQ(sum.lanes, r.counters.lanes);
	CHECK_EQ(sum.issue_int, r.counters.issue_int);
	CHECK_EQ(r.lines[2].counters.global_store_sectors, 125);
	CHECK_EQ(r.lines[1].counters.divergent_branches, 1);
	emu_report_free(&r);
	close_gpu(&f);
}

static void check_bad(struct fixture *f, struct emu_launch l, const char *says)
{
	struct emu_report r;
	CHECK_EQ(emu_launch(f->g, &l, &r, &f->e), 0);
	CHECK_EQ(r.fault.kind, FAULT_BAD_LAUNCH);
	CHECK_STR(r.fault.kernel, "store");
	CHECK_MSG(strstr(r.fault.detail, says) != NULL, "the fault says \"%s\", not \"%s\"", r.fault.detail, says);
	CHECK_EQ(r.counters.instructions, 0);
	emu_report_free(&r);
}

TEST(launches_that_cannot_be)
{
	struct fixture f;
	open_gpu(&f, 1, 0);
	CHECK_MSG(load(&f, store_tid) != NULL, "%s", f.e.text);
	struct { uint64_t p; uint32_t n; } params = {0, 0};
	const struct emu_launch ok = {.kernel = emu_kernel_at(f.m, 0), .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = &params};
	struct emu_launch l = ok;
	l.grid[0] = 0;
	check_bad(&f, l, "0 x 1 x 1 blocks");
	l = ok;
	l.block[1] = 0;
	check_bad(&f, l, "32 x 0 x 1 threads");
	l = ok;
	l.block[0] = 1025;
	check_bad(&f, l, "block dimension x is 1025");
	l = ok;
	l.block[0] = l.block[1] = 64;
	check_bad(&f, l, "4096 threads a block");
	l = ok;
	l.grid[2] = 65536;
	check_bad(&f, l, "grid dimension z is 65536");
	l = ok;
	l.shared_dynamic = 1 << 20;
	check_bad(&f, l, "bytes of shared memory");
	l = ok;
	l.cooperative = true;
	l.grid[0] = 1 << 20;
	check_bad(&f, l, "cooperative launch of 1048576 blocks");
	close_gpu(&f);
}

TEST(symbols_and_reset)
{
	struct fixture f;
	struct emu_report r;
	uint64_t addr, size;
	open_gpu(&f, 1, 0);
	CHECK_MSG(load(&f, ".global .align 4 .u32 counts[4] = {5, 6, 7, 8};\n.const .align 4 .u32 step = 3;\n"
			   ".visible .entry bump()\n{ .reg .b32 %r<4>;\n"
			   "ld.const.u32 %r1, [step]; red.global.add.u32 [counts+4], %r1; ret; }\n") != NULL, "%s", f.e.text);
	CHECK_EQ(emu_symbol(f.m, "counts", &addr, &size), 0);
	CHECK_EQ(size, 16);
	CHECK_EQ(emu_symbol(f.m, "nothing", &addr, &size), -1);
	launch(&f, "bump", 2, 32, 0, NULL, &r);
	CHECK_EQ(r.fault.kind, FAULT_NONE);
	CHECK_EQ(((uint32_t *)host(&f, addr, 16))[1], 6 + 3 * 64);
	CHECK_EQ(r.counters.global_atomic_lanes, 64);
	emu_report_free(&r);
	emu_reset(f.g, f.m);
	CHECK_EQ(emu_symbol(f.m, "counts", &addr, &size), 0);
	CHECK_EQ(((uint32_t *)host(&f, addr, 16))[1], 6);
	launch(&f, "bump", 1, 32, 0, NULL, &r);
	CHECK_EQ(r.fault.kind, FAULT_NONE);
	CHECK_EQ(emu_symbol(f.m, "counts", &addr, &size), 0);
	CHECK_EQ(((uint32_t *)host(&f, addr, 16))[1], 6 + 3 * 32);
	emu_report_free(&r);
	close_gpu(&f);
}

TEST(bad_ptx_is_refused)
{
	struct fixture f;
	open_gpu(&f, 1, 0);
	CHECK(load(&f, ".visible .entry k() { frobnicate.u32; ret; }") == NULL);
	CHECK_EQ(f.e.kind, ERR_INPUT);
	CHECK(strstr(f.e.text, "frobnicate") != NULL);
	CHECK(load(&f, ".visible .entry k() { .reg .b32 %r<3>;\n.loc 1 42 1\nwgmma.fence.sync.aligned;\nret; }\n.file 1 \"a/b/gemm.cu\"\n") == NULL);
	CHECK_EQ(f.e.kind, ERR_INPUT);
	CHECK_MSG(strstr(f.e.text, "gemm.cu:42: wgmma") != NULL, "%s", f.e.text);
	CHECK(load(&f, ".extern .func nobody();\n.visible .entry k() { call nobody, (); ret; }\n") == NULL);
	CHECK_MSG(strstr(f.e.text, "nobody") != NULL, "%s", f.e.text);
	CHECK_EQ(mem_used(emu_mem(f.g)), 0);
	close_gpu(&f);
}

/* Blocks of very different lengths, with shuffles, barriers and conflicts. */
static const char uneven[] =
	".visible .entry uneven(.param .u64 out)\n"
	"{ .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<6>; .shared .align 4 .u32 s[64];\n"
	".loc 1 10 0\n"
	"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
	"mul.lo.u32 %r3, %r2, 7; rem.u32 %r3, %r3, 13; mov.u32 %r4, 0; mov.u32 %r5, s; shl.b32 %r6, %r1, 2; add.u32 %r5, %r5, %r6;\n"
	"LOOP: .loc 1 11 0\n"
	"st.shared.u32 [%r5], %r4; bar.sync 0; xor.b32 %r7, %r6, 252; mov.u32 %r8, s; add.u32 %r8, %r8, %r7; ld.shared.u32 %r9, [%r8];\n"
	"bar.sync 0; add.u32 %r4, %r9, %r1;\n"
	"setp.eq.u32 %p1, %r3, 0; sub.u32 %r3, %r3, 1; @!%p1 bra LOOP;\n"
	".loc 1 12 0\n"
	"shfl.sync.bfly.b32 %r10, %r4, 5, 31, 0xffffffff; add.u32 %r4, %r4, %r10;\n"
	"mad.lo.u32 %r11, %r2, 64, %r1; mul.wide.u32 %rd2, %r11, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r4; ret; }\n"
	".file 1 \"uneven.cu\"\n";

static void run_uneven(unsigned threads, uint32_t *out, struct emu_report *r)
{
	struct fixture f;
	enum { BLOCKS = 3000, BYTES = BLOCKS * 256 };
	open_gpu(&f, threads, 0);
	CHECK_MSG(load(&f, uneven) != NULL, "%s", f.e.text);
	uint64_t addr = place(&f, BYTES, 0, "out");
	launch(&f, "uneven", BLOCKS, 64, 0, &addr, r);
	CHECK_MSG(r->fault.kind == FAULT_NONE, "%s", r->fault.detail);
	memcpy(out, host(&f, addr, BYTES), BYTES);
	for (size_t i = 0; i < r->n_lines; i++)
		r->lines[i].file = "";		/* belongs to the module */
	close_gpu(&f);
}

TEST_WITHIN(same_bits_for_any_number_of_threads, 60)
{
	static uint32_t first[3000 * 64], other[3000 * 64];
	static const unsigned counts[] = {2, 5};
	struct emu_report a, b;
	run_uneven(1, first, &a);
	for (int i = 0; i < 2; i++) {
		run_uneven(counts[i], other, &b);
		CHECK(memcmp(first, other, sizeof first) == 0);
		CHECK(memcmp(&a.counters, &b.counters, sizeof a.counters) == 0);
		CHECK(memcmp(&a.modelled, &b.modelled, sizeof a.modelled) == 0);
		CHECK_EQ(a.n_lines, b.n_lines);
		for (size_t k = 0; k < a.n_lines; k++)
			CHECK(memcmp(&a.lines[k].counters, &b.lines[k].counters, sizeof(struct counters)) == 0);
		emu_report_free(&b);
	}
	emu_report_free(&a);
}

/* Every block from 700 on has a fault; the lowest is reported, and no counter depends on who ran what. */
static void run_faulty(unsigned threads, struct emu_report *r)
{
	struct fixture f;
	open_gpu(&f, threads, 0);
	CHECK_MSG(load(&f, store_tid) != NULL, "%s", f.e.text);
	struct { uint64_t p; uint32_t n; } params = {place(&f, 700 * 128, 0, "y"), 1 << 30};
	launch(&f, "_Z5storePji", 9000, 32, 0, &params, r);
	close_gpu(&f);
}

TEST(lowest_block_is_to_blame)
{
	struct emu_report a, b;
	run_faulty(1, &a);
	CHECK_EQ(a.fault.kind, FAULT_OUT_OF_BOUNDS);
	CHECK_EQ(a.fault.block[0], 700);
	CHECK_EQ(a.fault.thread[0], 0);
	CHECK_EQ(a.fault.line, 5);
	CHECK_STR(a.fault.file, "store.cu");
	CHECK_STR(a.fault.kernel, "store");
	for (unsigned t = 2; t < 6; t += 3) {
		run_faulty(t, &b);
		CHECK(memcmp(&a.fault, &b.fault, sizeof a.fault) == 0);
		CHECK(memcmp(&a.counters, &b.counters, sizeof a.counters) == 0);
		emu_report_free(&b);
	}
	emu_report_free(&a);
}

static void run_budget(unsigned threads, uint64_t budget, struct emu_report *r)
{
	static uint32_t out[3000 * 64];
	struct fixture f;
	(void)out;
	open_gpu(&f, threads, budget);
	CHECK_MSG(load(&f, uneven) != NULL, "%s", f.e.text);
	uint64_t addr = place(&f, 3000 * 256, 0, "out");
	launch(&f, "uneven", 3000, 64, 0, &addr, r);
	close_gpu(&f);
}

TEST(budget_ends_at_the_same_block)
{
	struct emu_report a, b;
	run_budget(1, 300000, &a);
	CHECK_EQ(a.fault.kind, FAULT_BUDGET);
	CHECK(a.fault.block[0] > 100 && a.fault.block[0] < 2999);
	run_budget(4, 300000, &b);
	CHECK(memcmp(&a.fault, &b.fault, sizeof a.fault) == 0);
	emu_report_free(&a);
	emu_report_free(&b);
	run_budget(2, 1ull << 40, &a);
	CHECK_EQ(a.fault.kind, FAULT_NONE);
	emu_report_free(&a);
}

TEST(launches_follow_each_other)
{
	struct fixture f;
	struct emu_report r;
	open_gpu(&f, 2, 0);
	CHECK_MSG(load(&f, store_tid) != NULL, "%s", f.e.text);
	struct { uint64_t p; uint32_t n; } params = {place(&f, 4096, 0, "y"), 0};
	for (uint32_t i = 0; i < 50; i++) {
		params.n = 20 * i;
		launch(&f, "_Z5storePji", 1 + i % 5 * 8, 32 + 32 * (i % 3), 0, &params, &r);
		CHECK_EQ(r.fault.kind, FAULT_NONE);
		uint32_t threads = (1 + i % 5 * 8) * (32 + 32 * (i % 3));
		CHECK_EQ(r.counters.global_store_bytes, 4 * (threads < params.n ? threads : params.n));
		emu_report_free(&r);
	}
	/* after a fault the emulated GPU itself can go on */
	params.n = 1 << 20;
	launch(&f, "_Z5storePji", 64, 64, 0, &params, &r);
	CHECK_EQ(r.fault.kind, FAULT_OUT_OF_BOUNDS);
	emu_report_free(&r);
	params.n = 64;
	launch(&f, "_Z5storePji", 64, 64, 0, &params, &r);
	CHECK_EQ(r.fault.kind, FAULT_NONE);
	emu_report_free(&r);
	close_gpu(&f);
}

TEST(two_modules_take_turns)
{
	struct fixture f;
	struct emu_report r;
	open_gpu(&f, 1, 0);
	struct emu_module *a = load(&f, store_tid), *b = load(&f, uneven);
	CHECK(a && b);
	uint64_t out = place(&f, 4096, 0, "out");
	struct { uint64_t p; uint32_t n; } params = {out, 64};
	for (int i = 0; i < 3; i++) {
		f.m = a;
		launch(&f, "_Z5storePji", 1, 64, 0, &params, &r);
		CHECK_EQ(r.counters.global_store_bytes, 256);
		emu_report_free(&r);
		f.m = b;
		launch(&f, "uneven", 2, 64, 0, &out, &r);
		CHECK_EQ(r.counters.global_store_bytes, 512);
		emu_report_free(&r);
	}
	emu_unload(f.g, a);
	launch(&f, "uneven", 1, 64, 0, &out, &r);
	CHECK_EQ(r.fault.kind, FAULT_NONE);
	emu_report_free(&r);
	close_gpu(&f);
}
