/* Speed of the emulated memory: nanoseconds of one warp-level access with all checks, counts and the L1 model, for the
 * shapes that kernels are made of.  Each figure is the best of several rounds. */
#include "sandbox/ptx/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LANES = 32, ROUNDS = 40, N = 4000, SITES = 64, SPAN = 32 << 10, PLACES = 16 };

struct bench {
	struct mem *m;
	struct mem_ctx c;
	struct counters counters;
	struct trace trace;
	struct mem_site sites[SITES];
	uint64_t in, out;
	uint32_t rows[8][64] __attribute__((aligned(64)));
};

/* Nanoseconds of a processor cycle now, by a chain of multiplications of three cycles each: on a busy machine the clock
 * tells little. */
static double cycle_ns(void)
{
	enum { CHAIN = 20000 };
	struct timespec a, z;
	uint64_t x = 3;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (unsigned i = 0; i < CHAIN; i++)
		__asm__ volatile("imul %0, %0" : "+r"(x));
	clock_gettime(CLOCK_MONOTONIC, &z);
	return ((double)(z.tv_sec - a.tv_sec) * 1e9 + (double)(z.tv_nsec - a.tv_nsec)) / (3.0 * CHAIN);
}

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum verb { LOAD, STORE, ATOMIC };

struct shape {
	const char *name;
	enum verb verb;
	bool global, read_only;
	uint8_t bytes, n;
	int stride;			/* bytes between lanes */
	int move;			/* bytes from one access to the next */
	bool fragment;			/* lanes as an mma fragment lies: 8 rows of 4 */
	uint32_t mask;
	uint8_t atom, type;
};

static const struct shape shapes[] = {
	{"ld.global.f32, side by side, read-only", LOAD, true, true, 4, 1, 4, 128, false, ~0u, 0, PTX_T_F32},
	{"ld.global.v4.u32, side by side, read-only", LOAD, true, true, 4, 4, 16, 512, false, ~0u, 0, PTX_T_U32},
	{"ld.global.u32, one address, read-only", LOAD, true, true, 4, 1, 0, 4, false, ~0u, 0, PTX_T_U32},
	{"ld.global.u8, side by side, read-only", LOAD, true, true, 1, 1, 1, 32, false, ~0u, 0, PTX_T_U8},
	{"ld.global.f32, 512 bytes apart, read-only", LOAD, true, true, 4, 1, 512, 4, false, ~0u, 0, PTX_T_F32},
	{"ld.global.f32, side by side, read-write", LOAD, true, false, 4, 1, 4, 128, false, ~0u, 0, PTX_T_F32},
	{"ld.global.f32, 512 bytes apart, read-write", LOAD, true, false, 4, 1, 512, 4, false, ~0u, 0, PTX_T_F32},
	{"st.global.f32, side by side", STORE, true, false, 4, 1, 4, 128, false, ~0u, 0, PTX_T_F32},
	{"st.global.f32, one lane", STORE, true, false, 4, 1, 0, 4, false, 1, 0, PTX_T_F32},
	{"red.global.add.u32, side by side", ATOMIC, true, false, 4, 1, 4, 128, false, ~0u, ATOM_ADD, PTX_T_U32},
	{"ld.shared.f32, side by side", LOAD, false, false, 4, 1, 4, 128, false, ~0u, 0, PTX_T_F32},
	{"ld.shared.f32, one address", LOAD, false, false, 4, 1, 0, 4, false, ~0u, 0, PTX_T_F32},
	{"ld.shared.v4.f32, side by side", LOAD, false, false, 4, 4, 16, 512, false, ~0u, 0, PTX_T_F32},
	{"ld.shared.v4.f32, one address", LOAD, false, false, 4, 4, 0, 16, false, ~0u, 0, PTX_T_F32},
	{"ld.shared.f32, 132 bytes apart", LOAD, false, false, 4, 1, 132, 4, false, ~0u, 0, PTX_T_F32},
	{"ld.shared.b32, mma fragment", LOAD, false, false, 4, 1, 0, 16, true, ~0u, 0, PTX_T_B32},
	{"ld.shared.u8, 33 bytes apart", LOAD, false, false, 1, 1, 33, 1, false, ~0u, 0, PTX_T_U8},
	{"st.shared.f32, side by side", STORE, false, false, 4, 1, 4, 128, false, ~0u, 0, PTX_T_F32},
	{"st.shared.v4.f32, side by side", STORE, false, false, 4, 4, 16, 512, false, ~0u, 0, PTX_T_F32},
	{"st.shared.f32, 132 bytes apart", STORE, false, false, 4, 1, 132, 4, false, ~0u, 0, PTX_T_F32},
	{"st.shared.b16, side by side", STORE, false, false, 2, 1, 2, 64, false, ~0u, 0, PTX_T_B16},
	{"red.shared.add.u32, side by side", ATOMIC, false, false, 4, 1, 4, 128, false, ~0u, ATOM_ADD, PTX_T_U32},
};

static void access(struct bench *b, const struct shape *s, const struct mem_op *op, const uint64_t *addr)
{
	void *rows[8];
	for (unsigned i = 0; i < 8; i++)
		rows[i] = b->rows[i];
	struct mem_site *site = &b->sites[op->site];
	int rc = s->verb == LOAD    ? mem_load(&b->c, op, site, addr, s->mask, rows)
		 : s->verb == STORE ? mem_store(&b->c, op, site, addr, s->mask, (const void *const *)rows)
				    : mem_atomic(&b->c, op, site, addr, s->mask, NULL, (const void *const *)rows, NULL);
	if (rc < 0) {
		fprintf(stderr, "mem_bench: %s: %s\n", s->name, b->c.fault.detail);
		exit(1);
	}
}

static double round_of(struct bench *b, const struct shape *s, uint32_t site)
{
	struct mem_op op = {.space = s->global ? PTX_SPACE_GLOBAL : PTX_SPACE_SHARED, .bytes = s->bytes, .n = s->n,
			    .type = s->type, .atom = s->atom, .site = site};
	uint64_t base = !s->global ? 0 : s->read_only ? b->in : b->out, delta[LANES];
	for (unsigned i = 0; i < LANES; i++)
		delta[i] = s->fragment ? i / 4 * 272 + i % 4 * 4 : (uint64_t)(i * s->stride);
	static uint64_t addr[PLACES][LANES] __attribute__((aligned(64)));
	for (unsigned k = 0; k < PLACES; k++)
		for (unsigned i = 0; i < LANES; i++)
			addr[k][i] = base + k * s->move % (SPAN - delta[LANES - 1] - 32) + delta[i];
	double start = now_ns();
	for (unsigned k = 0; k < N; k++) {
		access(b, s, &op, addr[k % PLACES]);
		if (k % 256 == 0)
			mem_barrier(b->c.block, 0xff, 0xff);
		b->trace.n = 0;
	}
	double ns = (now_ns() - start) / N;
	b->c.block_linear++;
	return ns;
}

static void write_all(struct bench *b)
{
	struct mem_op op = {.space = PTX_SPACE_SHARED, .bytes = 4, .n = 1, .type = PTX_T_U32};
	for (uint64_t at = 0; at < SPAN; at += 128) {
		uint64_t addr[LANES];
		const void *rows[1] = {b->rows[0]};
		for (unsigned i = 0; i < LANES; i++)
			addr[i] = at + 4 * i;
		mem_store(&b->c, &op, b->sites, addr, ~0u, rows);
	}
	mem_barrier(b->c.block, 0xff, 0xff);
}

/* usage: mem_bench [WORD]: only shapes whose name has the word in it */
int main(int argc, char **argv)
{
	static struct bench b;
	struct err e;
	struct mem_options o = {.limit = 1 << 24, .checks = true};
	b.m = mem_new(&o, &e);
	if (!b.m) {
		fprintf(stderr, "mem_bench: %s\n", e.text);
		return 1;
	}
	mem_alloc(b.m, SPAN, MEM_READ_ONLY, "in", &b.in);
	mem_alloc(b.m, SPAN, MEM_ZERO, "out", &b.out);
	b.c = (struct mem_ctx){.mem = b.m, .block = mem_block_new(b.m, SPAN, 0, 8), .counters = &b.counters, .l1 = l1_new(),
			       .block_dim = {256, 1, 1}, .sites = b.sites};
	l1_begin(b.c.l1, 64 << 10, &b.trace);
	mem_launch_begin(b.m, 0, (const uint32_t[3]){1 << 20, 1, 1});
	write_all(&b);
	printf("memory accesses of a warp, each: nanoseconds, cycles (best of %d rounds)\n", ROUNDS);
	for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		double best = 1e9, cycle = 1e9;
		if (argc > 1 && !strstr(shapes[i].name, argv[1]))
			continue;
		for (unsigned k = 0; k < ROUNDS; k++) {
			double ns = round_of(&b, &shapes[i], i), c = cycle_ns();
			best = ns < best ? ns : best;
			cycle = c < cycle ? c : cycle;
		}
		mem_block_reset(b.c.block);
		write_all(&b);
		printf("  %-46s %7.1f %7.0f\n", shapes[i].name, best, best / cycle);
	}
	return 0;
}
