/* Nanoseconds a warp instruction for the handlers that matter, all lanes and half of them. */
#include "tests/unit/alu_run.h"

#include <time.h>

static const struct { const char *name, *text; } cases[] = {
	{ "fma.f32", "fma.rn.f32 %f1, %f2, %f3, %f1;" },
	{ "fma.ftz.f32", "fma.rn.ftz.f32 %f1, %f2, %f3, %f1;" },
	{ "mul.ftz.f32", "mul.ftz.f32 %f1, %f2, %f3;" },
	{ "add.s32", "add.s32 %r1, %r2, %r3;" },
	{ "mul.lo.s32", "mul.lo.s32 %r1, %r2, %r3;" },
	{ "mad.lo.s32", "mad.lo.s32 %r1, %r2, %r3, %r1;" },
	{ "shl.b32", "shl.b32 %r1, %r2, 4;" },
	{ "shr.s32", "shr.s32 %r1, %r2, %r3;" },
	{ "and.b32", "and.b32 %r1, %r2, 15;" },
	{ "lop3 0xf8", "lop3.b32 %r1, %r2, %r3, %r4, 0xf8;" },
	{ "lop3 0x1b", "lop3.b32 %r1, %r2, %r3, %r4, 0x1b;" },
	{ "cvt.f32.u32", "cvt.rn.f32.u32 %f1, %r2;" },
	{ "cvt.f32.s32", "cvt.rn.f32.s32 %f1, %r2;" },
	{ "cvt.rzi.s32.f32", "cvt.rzi.s32.f32 %r1, %f2;" },
	{ "cvt.s32.s8", "cvt.s32.s8 %r1, %r2;" },
	{ "cvt.f32.f16", "cvt.f32.f16 %f1, %h2;" },
	{ "cvt.f16.f32", "cvt.rn.f16.f32 %h1, %f2;" },
	{ "cvt.bf16x2.f32", "cvt.rn.bf16x2.f32 %r1, %f2, %f3;" },
	{ "cvt.f16x2.e4m3x2", "cvt.rn.f16x2.e4m3x2 %r1, %h2;" },
	{ "setp.lt.s32", "setp.lt.s32 %p1, %r2, %r3;" },
	{ "setp.and.f32", "setp.lt.and.f32 %p1, %f2, %f3, %p2;" },
	{ "selp.b32", "selp.b32 %r1, %r2, %r3, %p1;" },
	{ "mov.b32", "mov.b32 %r1, %r2;" },
	{ "bfe.u32", "bfe.u32 %r1, %r2, 4, 4;" },
	{ "add.s64", "add.s64 %l1, %l2, %l3;" },
	{ "mul.wide.s32", "mul.wide.s32 %l1, %r2, 4;" },
	{ "cvt.u64.u32", "cvt.u64.u32 %l1, %r2;" },
	{ "prmt", "prmt.b32 %r1, %r2, %r3, 0x5140;" },
	{ "mov {h,h}", "mov.b32 {%h1, %h2}, %r2;" },
	{ "fma.f16x2", "fma.rn.f16x2 %r1, %r2, %r3, %r4;" },
	{ "mul.f16x2", "mul.f16x2 %r1, %r2, %r3;" },
	{ "fma.bf16x2", "fma.rn.bf16x2 %r1, %r2, %r3, %r4;" },
	{ "dp4a", "dp4a.s32.s32 %r1, %r2, %r3, %r1;" },
	{ "max.f32", "max.f32 %f1, %f2, %f3;" },
	{ "div.s32", "div.s32 %r1, %r2, %r3;" },
	{ "rem.u32", "rem.u32 %r1, %r2, %r3;" },
	{ "div.rn.f32", "div.rn.f32 %f1, %f2, %f3;" },
	{ "ex2.ftz.f32", "ex2.approx.ftz.f32 %f1, %f2;" },
	{ "rsqrt.f32", "rsqrt.approx.f32 %f1, %f2;" },
	{ "fma.f64", "fma.rn.f64 %d1, %d2, %d3, %d1;" },
	{ "add.rz.f32", "add.rz.f32 %f1, %f2, %f3;" },
	{ "addc.u32", "addc.cc.u32 %r1, %r2, %r3;" },
	{ "mma m16n8k16 f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};" },
	{ "mma m16n8k8 tf32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};" },
	{ "mma m16n8k32 s8", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r1,%r2,%r3,%r4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, {%r1,%r2,%r3,%r4};" },
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Least of short rounds, in ns of processor time a call: others may be on the machine. */
static double measure(struct run *r, uint32_t mask)
{
	const struct alu_insn *in = &r->insns[0];
	double best = 1e9;
	for (int round = 0; round < 100; round++) {
		enum { CALLS = 500 };
		double start = now();
		for (int i = 0; i < CALLS; i++)
			in->fn(r->regs, in, mask);
		double ns = (now() - start) / CALLS;
		best = ns < best ? ns : best;
	}
	return best;
}

static void fill(struct run *r, const char *prefix, int n, uint64_t low, uint64_t step)
{
	for (int k = 1; k <= n; k++) {
		char name[8];
		snprintf(name, sizeof name, "%%%s%d", prefix, k);
		bool wide = prefix[0] == 'l' || prefix[0] == 'd';
		for (uint64_t i = 0; i < 32; i++) {
			uint64_t v = low + step * (i * 7 + (uint64_t)k * 3);
			if (wide)
				((uint64_t *)run_row(r, name))[i] = v;
			else
				((uint32_t *)run_row(r, name))[i] = (uint32_t)v;
		}
	}
}

int main(void)
{
	printf("%-18s %8s %8s   ns a warp instruction, build %s\n", "", "32 lanes", "16 lanes", alu_isa());
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *a = arena_new();
		struct err e;
		struct run *r = run_new(a, arena_printf(a, ".reg .pred %%p<4>; .reg .b16 %%h<4>; .reg .b32 %%r<8>; .reg .f32 %%f<8>;"
			".reg .b64 %%l<4>; .reg .f64 %%d<4>; %s", cases[i].text), &e);
		if (!r || r->n != 1) {
			fprintf(stderr, "%s: %s\n", cases[i].name, r ? "not one instruction" : e.text);
			return 1;
		}
		fill(r, "r", 7, 0x3c003c00, 0x00010001);
		fill(r, "h", 3, 0x3c00, 1);
		fill(r, "f", 7, 0x3f800000, 4096);
		fill(r, "l", 3, 1000, 77);
		fill(r, "d", 3, 0x3ff0000000000000, 1ull << 40);
		printf("%-18s %8.1f %8.1f\n", cases[i].name, measure(r, ~0u), measure(r, 0x0ff00ff0));
		arena_free(a);
	}
	return 0;
}
