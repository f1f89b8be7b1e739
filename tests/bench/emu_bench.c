/* Speed of the emulated GPU: warp-instructions a second of the textbook INT4 GEMV, from a .ptx file.
 *
 *	emu_bench FILE.ptx [N [K [host threads]]]
 *
 * The file's first kernel has the parameters (W, scales, zeros, x, y, N, K); blocks are of 128 threads, a warp a row,
 * with 4 K bytes of dynamic shared memory.  The result is checked against float64.
 */
#include "sandbox/ptx/emu.h"
#include "sandbox/base/buf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Processor time of all host threads: what else the machine does is not counted. */
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "emu_bench: %s\n", what);
	exit(1);
}

static uint32_t next_random(void)
{
	static uint64_t s = 88172645463325252ull;
	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)(s >> 16);
}

struct problem {
	uint32_t n, k;
	uint64_t w, scales, zeros, x, y;
	uint32_t *hw;
	float *hs, *hz, *hx, *hy;
};

static void *place(struct mem *m, uint64_t bytes, unsigned flags, const char *name, uint64_t *addr)
{
	const char *why = "";
	if (mem_alloc(m, bytes, flags, name, addr) < 0)
		fail("out of device memory");
	void *p = mem_host(m, *addr, bytes, &why);
	if (!p)
		fail(why);
	return p;
}

static void make(struct mem *m, struct problem *p)
{
	size_t n = p->n, k = p->k;
	p->hw = place(m, n * k / 2, MEM_READ_ONLY, "W", &p->w);
	p->hs = place(m, n * k / 32, MEM_READ_ONLY, "scales", &p->scales);
	p->hz = place(m, n * k / 32, MEM_READ_ONLY, "zeros", &p->zeros);
	p->hx = place(m, k * 4, MEM_READ_ONLY, "x", &p->x);
	p->hy = place(m, n * 4, 0, "y", &p->y);
	for (size_t i = 0; i < n * k / 8; i++)
		p->hw[i] = next_random();
	for (size_t i = 0; i < n * k / 128; i++) {
		p->hs[i] = (float)(next_random() % 1000 + 1) / 10000;
		p->hz[i] = (float)(next_random() % 16);
	}
	for (size_t i = 0; i < k; i++)
		p->hx[i] = (float)(int)(next_random() % 2001 - 1000) / 500;
}

static double worst_error(const struct problem *p)
{
	double worst = 0;
	for (size_t r = 0; r < p->n; r += 97) {
		double sum = 0, magnitude = 0;
		for (size_t c = 0; c < p->k; c++) {
			size_t g = r * (p->k / 128) + c / 128;
			double q = p->hw[(r * p->k + c) / 8] >> 4 * (c % 8) & 15, t = (q - p->hz[g]) * p->hs[g] * p->hx[c];
			sum += t;
			magnitude += fabs(t);
		}
		double error = fabs(p->hy[r] - sum) / magnitude;
		worst = error > worst ? error : worst;
	}
	return worst;
}

int main(int argc, char **argv)
{
	struct err e = {0};
	struct buf text = {0};
	struct profile profile;
	struct problem p = {.n = argc > 2 ? (uint32_t)atoi(argv[2]) : 4096, .k = argc > 3 ? (uint32_t)atoi(argv[3]) : 4096};
	struct emu_options o = {.threads = argc > 4 ? (unsigned)atoi(argv[4]) : 1, .memory = 1ull << 32, .checks = !getenv("NO_CHECKS")};
	if (argc < 2)
		fail("usage: emu_bench FILE.ptx [N [K [host threads]]]");
	if (profile_load("h200", &profile, &e) < 0 || buf_read_file(&text, argv[1], 64 << 20, &e) < 0)
		fail(e.text);
	struct emu *g = emu_open(&profile, &o, &e);
	struct emu_module *m = g ? emu_load(g, text.data, text.size, NULL, 0, &e) : NULL;
	if (!m)
		fail(e.text);
	make(emu_mem(g), &p);
	struct { uint64_t w, scales, zeros, x, y; uint32_t n, k; } params = {p.w, p.scales, p.zeros, p.x, p.y, p.n, p.k};
	struct emu_launch l = {.kernel = emu_kernel_at(m, 0), .grid = {(p.n + 3) / 4, 1, 1}, .block = {128, 1, 1}, .shared_dynamic = 4 * p.k,
			       .params = &params};
	double best = 0;
	struct emu_report r;
	for (int i = 0; i < 7; i++) {
		double t = now();
		if (emu_launch(g, &l, &r, &e) < 0)
			fail(e.text);
		double speed = (double)r.counters.instructions / (now() - t);
		best = speed > best ? speed : best;
		if (r.fault.kind) {
			fprintf(stderr, "emu_bench: %s in %s (%s:%u): %s\n", fault_name(r.fault.kind), r.fault.kernel, r.fault.file,
				r.fault.line, r.fault.detail);
			return 1;
		}
		if (i < 6)
			emu_report_free(&r);
	}
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		if (*counter_at(&r.counters, i))
			printf("%-24s %12llu %s\n", counter_name(i), (unsigned long long)*counter_at(&r.counters, i), counter_unit(i));
	printf("modelled %.2f us (%s), worst error %.2g of the sum of magnitudes\n", r.modelled.time_us, limiter_name(r.modelled.limiter),
	       worst_error(&p));
	printf("emu_bench %.1f million warp-instructions/s and core (%u host threads)\n", best / 1e6, o.threads);
	emu_report_free(&r);
	emu_unload(g, m);
	emu_close(g);
	buf_free(&text);
	return 0;
}
