/* The same counters, modelled time and results, to the bit: for any number of host threads, from run to run, and whatever
 * ran on the device before.
 */
#include "test.h"
#include "sandbox/ptx/emu.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* FILLER: shared memory that nobody uses, so that less is left for L1 than a block of `tiles` goes through. */
enum { FILLER = 47 << 10, TABLE = 128 << 10, OUT = 4 << 20, BLOCKS = 132 * 3 + 5, THREADS = 128 };

/* Loads that miss and hit in L1, tiles in shared memory, matrices from it. */
#define TILES \
	".visible .entry tiles(.param .u64 in, .param .u64 out)\n" \
	"{ .reg .pred %p; .reg .b32 %r<40>; .reg .f32 %f<8>; .reg .b64 %rd<8>; .shared .align 32 .b8 s[2048];\n" \
	"ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, 0;\n" \
	"shl.b32 %r5, %r1, 4; mov.u32 %r6, s; add.u32 %r7, %r6, %r5; shr.u32 %r8, %r1, 5; shl.b32 %r9, %r8, 9; add.u32 %r9, %r9, %r6;\n" \
	"mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0; mov.f32 %f4, %f0; mov.f32 %f5, %f0;\n" \
	"mov.f32 %f6, %f0; mov.f32 %f7, %f0;\n" \
	"LOOP: and.b32 %r4, %r3, 7; mad.lo.u32 %r4, %r2, 37, %r4; and.b32 %r4, %r4, 63; shl.b32 %r4, %r4, 11; add.u32 %r4, %r4, %r5;\n" \
	"cvt.u64.u32 %rd3, %r4; add.s64 %rd3, %rd3, %rd1; ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd3];\n" \
	"st.shared.v4.u32 [%r7], {%r10, %r11, %r12, %r13}; bar.sync 0;\n" \
	"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%r14, %r15, %r16, %r17, %r18, %r19, %r20, %r21}, [%r9], 16;\n" \
	"wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29}, [%r9], 16;\n" \
	"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7},\n" \
	"{%r14, %r15, %r16, %r17, %r18, %r19, %r20, %r21}, {%r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29},\n" \
	"{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}; bar.sync 0;\n" \
	"add.u32 %r3, %r3, 1; setp.lt.u32 %p, %r3, 32; @%p bra LOOP;\n" \
	"mad.lo.u32 %r30, %r2, 4, %r8; mul.wide.u32 %rd4, %r30, 1024; add.s64 %rd4, %rd4, %rd2;\n" \
	"wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd4], {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, 16; ret; }\n"

/* Lanes that part, addresses that follow from data, local memory. */
#define DIVERGENT \
	".visible .entry divergent(.param .u64 in, .param .u64 out)\n" \
	"{ .reg .pred %p<3>; .reg .b32 %r<20>; .reg .b64 %rd<8>; .local .align 4 .b8 l[64];\n" \
	"ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u64 %rd5, l;\n" \
	"mad.lo.u32 %r3, %r1, 7, %r2; rem.u32 %r3, %r3, 13; mul.lo.u32 %r4, %r2, 4099; mov.u32 %r9, %r3;\n" \
	"LOOP: setp.eq.u32 %p0, %r3, 0; @%p0 bra END; mad.lo.u32 %r4, %r4, 1664525, 1013904223; add.u32 %r4, %r4, %r1;\n" \
	"shr.u32 %r5, %r4, 9; and.b32 %r5, %r5, 32767; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd3, %rd3, %rd1; ld.global.u32 %r6, [%rd3];\n" \
	"and.b32 %r7, %r3, 15; mul.wide.u32 %rd6, %r7, 4; add.s64 %rd6, %rd6, %rd5; st.local.u32 [%rd6], %r6;\n" \
	"and.b32 %r8, %r6, 1; setp.eq.u32 %p1, %r8, 0; @%p1 bra EVEN; ld.local.u32 %r8, [%rd6]; add.u32 %r9, %r9, %r8;\n" \
	"EVEN: sub.u32 %r3, %r3, 1; bra LOOP;\n" \
	"END: mad.lo.u32 %r10, %r2, 128, %r1; mul.wide.u32 %rd7, %r10, 4; add.s64 %rd7, %rd7, %rd2; st.global.u32 [%rd7], %r9; ret; }\n"

/* Atomics on shared and global memory that give nothing back: blocks run side by side. */
#define REDS \
	".visible .entry reds(.param .u64 in, .param .u64 out)\n" \
	"{ .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %rd<8>; .shared .align 4 .u32 s[32];\n" \
	"ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r6, s;\n" \
	"and.b32 %r3, %r1, 31; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r6; mov.u32 %r5, 0; setp.gt.u32 %p, %r1, 31;\n" \
	"@!%p st.shared.u32 [%r3], %r5; bar.sync 0;\n" \
	"mad.lo.u32 %r4, %r2, 128, %r1; and.b32 %r4, %r4, 32767; mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd3, %rd1;\n" \
	"ld.global.u32 %r7, [%rd4]; and.b32 %r8, %r7, 31; shl.b32 %r8, %r8, 2; add.u32 %r8, %r8, %r6; red.shared.add.u32 [%r8], 1; bar.sync 0;\n" \
	"ld.shared.u32 %r9, [%r3]; and.b32 %r10, %r7, 4095; mul.wide.u32 %rd5, %r10, 4; add.s64 %rd5, %rd5, %rd2;\n" \
	"red.global.add.u32 [%rd5], %r9; ret; }\n"

/* Float atomics and atomics that give something back: blocks take turns. */
#define TURNS \
	".visible .entry turns(.param .u64 in, .param .u64 out)\n" \
	"{ .reg .b32 %r<12>; .reg .f32 %f<3>; .reg .b64 %rd<8>;\n" \
	"ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n" \
	"mad.lo.u32 %r4, %r2, 128, %r1; and.b32 %r5, %r4, 32767; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd4, %rd3, %rd1;\n" \
	"ld.global.u32 %r6, [%rd4]; cvt.rn.f32.u32 %f1, %r6; red.global.add.f32 [%rd2], %f1;\n" \
	"atom.global.add.u32 %r7, [%rd2+128], 1; and.b32 %r7, %r7, 32767; mul.wide.u32 %rd5, %r7, 4; add.s64 %rd5, %rd5, %rd1;\n" \
	"ld.global.u32 %r8, [%rd5]; mul.wide.u32 %rd6, %r4, 4; add.s64 %rd6, %rd6, %rd2; st.global.u32 [%rd6+256], %r8; ret; }\n"

/* cp.async, and a grid's id. */
#define COPIES \
	".visible .entry copies(.param .u64 in, .param .u64 out)\n" \
	"{ .reg .b32 %r<12>; .reg .b64 %rd<8>; .shared .align 16 .b8 s[2048];\n" \
	"ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u64 %rd7, %gridid;\n" \
	"mad.lo.u32 %r3, %r2, 97, %r1; and.b32 %r3, %r3, 8191; mul.wide.u32 %rd3, %r3, 16; add.s64 %rd3, %rd3, %rd1;\n" \
	"shl.b32 %r4, %r1, 4; mov.u32 %r5, s; add.u32 %r4, %r4, %r5;\n" \
	"cp.async.ca.shared.global [%r4], [%rd3], 16; cp.async.wait_all; bar.sync 0; xor.b32 %r4, %r4, 1008; ld.shared.u32 %r6, [%r4];\n" \
	"cvt.u32.u64 %r8, %rd7; add.u32 %r6, %r6, %r8;\n" \
	"mad.lo.u32 %r7, %r2, 128, %r1; mul.wide.u32 %rd4, %r7, 4; add.s64 %rd4, %rd4, %rd2; st.global.u32 [%rd4], %r6; ret; }\n"

static const char image[] = ".version 8.0\n.target sm_80\n.address_size 64\n" TILES DIVERGENT REDS TURNS COPIES;
static const char *const kernels[] = {"tiles", "divergent", "reds", "turns", "copies"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

struct gpu {
	struct emu *g;
	struct emu_module *m;
	struct err e;
};

struct result {
	struct counters counters;
	struct modelled modelled;
	unsigned char *out;
};

static void open_gpu(struct gpu *f, unsigned threads)
{
	struct profile p;
	struct emu_options o = {.threads = threads, .memory = 1 << 26, .checks = true};
	memset(f, 0, sizeof *f);
	setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 0);
	CHECK_MSG(profile_load("h200", &p, &f->e) == 0, "%s", f->e.text);
	f->g = emu_open(&p, &o, &f->e);
	CHECK_MSG(f->g != NULL, "%s", f->e.text);
	f->m = emu_load(f->g, image, strlen(image), NULL, 0, &f->e);
	CHECK_MSG(f->m != NULL, "%s", f->e.text);
}

static void close_gpu(struct gpu *f)
{
	emu_unload(f->g, f->m);
	emu_close(f->g);
}

static uint64_t place(struct gpu *f, size_t size, unsigned flags)
{
	uint64_t addr = 0;
	CHECK_EQ(mem_alloc(emu_mem(f->g), size, flags, NULL, &addr), 0);
	return addr;
}

static unsigned char *host(struct gpu *f, uint64_t addr, size_t size)
{
	const char *why = "";
	unsigned char *p = mem_host(emu_mem(f->g), addr, size, &why);
	CHECK_MSG(p != NULL, "%s", why);
	return p;
}

/* All kernels one after the other, with memory of their own and cold caches. */
static void run_all(struct gpu *f, struct result *results)
{
	struct { uint64_t in, out; } params = {.in = place(f, TABLE, MEM_READ_ONLY)};
	uint32_t *table = (uint32_t *)host(f, params.in, TABLE), x = 1;
	for (unsigned i = 0; i < TABLE / 4; i++)
		table[i] = (x = x * 22695477 + 1) >> 4 & 0x3bff3bff;	/* as FP16 too: finite */
	for (unsigned k = 0; k < KERNELS; k++) {
		struct emu_report r;
		params.out = place(f, OUT, MEM_INITIALISED | MEM_ZERO);
		struct emu_launch l = {.kernel = emu_kernel_find(f->m, kernels[k]), .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1},
				       .shared_dynamic = FILLER, .params = &params};
		CHECK_MSG(emu_launch(f->g, &l, &r, &f->e) == 0, "%s", f->e.text);
		CHECK_MSG(r.fault.kind == FAULT_NONE, "%s: %s", kernels[k], r.fault.detail);
		results[k] = (struct result){.counters = r.counters, .modelled = r.modelled, .out = malloc(OUT)};
		memcpy(results[k].out, host(f, params.out, OUT), OUT);
		emu_report_free(&r);
		emu_flush_caches(f->g);
	}
}

static void check_same(struct result *a, struct result *b, const char *what)
{
	for (unsigned k = 0; k < KERNELS; k++) {
		for (unsigned i = 0; i < COUNTER_COUNT; i++) {
			unsigned long long x = *counter_at(&a[k].counters, i), y = *counter_at(&b[k].counters, i);
			CHECK_MSG(x == y, "%s of %s: %llu, %s %llu", counter_name(i), kernels[k], x, what, y);
		}
		CHECK_MSG(memcmp(&a[k].modelled, &b[k].modelled, sizeof a[k].modelled) == 0, "time of %s: %.17g, %s %.17g", kernels[k],
			  a[k].modelled.time_us, what, b[k].modelled.time_us);
		CHECK_MSG(memcmp(a[k].out, b[k].out, OUT) == 0, "results of %s, %s", kernels[k], what);
		free(b[k].out);
	}
}

static void free_results(struct result *r)
{
	for (unsigned k = 0; k < KERNELS; k++)
		free(r[k].out);
}

static void check_kernels_tell(const struct result *r)
{
	/* Some loads hit and some miss, some in what a neighbour brought: else this proves little of caches. */
	CHECK(r[0].counters.l1_hit_sectors > 1000 && r[0].counters.l1_hit_sectors < r[0].counters.global_load_sectors - 1000);
	CHECK(r[0].counters.l1_neighbour_sectors > 0 && r[0].counters.issue_tensor > 0 && r[0].modelled.time_us > 0);
	CHECK(r[1].counters.divergent_branches > 1000 && r[1].counters.local_load_sectors > 1000);
	CHECK(r[2].counters.shared_atomic_requests > 1000 && r[2].counters.global_atomic_lanes == BLOCKS * THREADS);
	CHECK(r[3].counters.global_atomic_lanes == 2 * BLOCKS * THREADS);
}

TEST_WITHIN(counts_do_not_depend_on_threads, 120)
{
	static const unsigned threads[] = {1, 2, 4, 2};
	struct result first[KERNELS], again[KERNELS];
	struct gpu f;
	open_gpu(&f, 1);
	run_all(&f, first);
	check_kernels_tell(first);
	close_gpu(&f);
	for (unsigned i = 0; i < 4; i++) {
		char what[40];
		open_gpu(&f, threads[i]);
		run_all(&f, again);
		snprintf(what, sizeof what, "with %u threads", threads[i]);
		check_same(first, again, what);
		close_gpu(&f);
	}
	free_results(first);
}

TEST_WITHIN(counts_do_not_depend_on_what_ran_before, 120)
{
	struct result first[KERNELS], again[KERNELS];
	struct gpu f;
	open_gpu(&f, 2);
	run_all(&f, first);
	for (unsigned i = 0; i < 2; i++) {
		emu_reset(f.g, f.m);
		for (unsigned k = 0; k < 5 + i; k++)
			place(&f, 1000 * k + 12345, 0);
		run_all(&f, again);
		free_results(again);
		/* Lines that lie elsewhere meet others in their set: there is something to forget. */
		CHECK(first[1].counters.l1_hit_sectors != again[1].counters.l1_hit_sectors);
		emu_reset(f.g, f.m);
		run_all(&f, again);
		check_same(first, again, "after others");
	}
	free_results(first);
	close_gpu(&f);
}
