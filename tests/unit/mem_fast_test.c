/* The short ways of the emulated memory give what the long ways give: the same accesses twice, once by the short way,
 * once where it is barred, and everything that can be seen must be equal. */
#include "tests/unit/mem_world.h"

static uint32_t next_random(void)
{
	static uint64_t s = 88172645463325252ull;
	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)(s >> 16);
}

static uint32_t below(uint32_t n)
{
	return next_random() % n;
}

/* What an access of 32 lanes is. */
struct try {
	enum { LOAD, STORE, ATOMIC, BARRIER, PART_BARRIER } kind;
	struct mem_op op;
	uint32_t warp, mask;
	uint64_t addr[LANES];
	struct row data[8];
};

static int perform(struct world *w, struct try *t)
{
	const void *add[] = {t->data};
	memset(&w->c.fault, 0, sizeof w->c.fault);
	w->c.other_site = MEM_NO_SITE;
	switch (t->kind) {
	case LOAD:
		return load_at(w, t->warp, &t->op, t->addr, t->mask, t->data);
	case STORE:
		return store_at(w, t->warp, &t->op, t->addr, t->mask, t->data);
	case ATOMIC:
		w->c.warp = t->warp;
		return mem_atomic(&w->c, &t->op, &w->sites[t->op.site], t->addr, t->mask, NULL, add, NULL);
	case BARRIER:
		barrier(w);
		return 0;
	default:
		mem_barrier(w->c.block, 3, 3);
		return 0;
	}
}

static void check_equal(struct world *a, struct world *b, const struct try *x, const struct try *y, int ra, int rb)
{
	const struct fault *f = &a->c.fault, *g = &b->c.fault;
	CHECK_EQ(ra, rb);
	CHECK_STR(f->detail, g->detail);
	CHECK_EQ(f->kind, g->kind);
	CHECK_EQ(f->address, g->address);
	CHECK_EQ(f->thread[0], g->thread[0]);
	CHECK_EQ(a->c.other_site, b->c.other_site);
	CHECK(!memcmp(x->data, y->data, sizeof x->data));
	CHECK(!memcmp(&a->n, &b->n, sizeof a->n));
	CHECK(!memcmp(a->sites, b->sites, sizeof a->sites));
}

/* ---- reads of shared memory that are put off ---- */

enum { BYTES = 1024, SCRATCH = BYTES, WARPS = 4 };

/* A store ends the putting off: to a word of its own, counted elsewhere. */
static void bar_putting_off(struct world *w)
{
	static struct counters other;
	static struct mem_site sites[SITES];
	struct mem_op op = op_of(S, 4, 1, PTX_T_U32, 63);
	struct row r = {{0}};
	uint64_t addr[LANES];
	const void *rows[] = {&r};
	line_up(addr, SCRATCH, 0);
	w->c.counters = &other;
	w->c.warp = 0;
	CHECK_EQ(mem_store(&w->c, &op, &sites[63], addr, 1, rows), 0);
	w->c.counters = &w->n;
}

static void random_shared(struct try *t)
{
	static const uint8_t bytes[] = {1, 2, 4, 4, 4, 8}, types[] = {0, PTX_T_U8, PTX_T_U16, 0, PTX_T_U32, 0, 0, 0, PTX_T_U64};
	uint32_t dice = below(100);
	memset(t, 0, sizeof *t);
	t->kind = dice < 80 ? LOAD : dice < 90 ? STORE : dice < 92 ? ATOMIC : dice < 99 ? BARRIER : PART_BARRIER;
	unsigned b = t->kind == ATOMIC ? 4 : bytes[below(6)], n = b == 4 && t->kind != ATOMIC ? 1u << below(3) : 1, size = b * n;
	t->op = op_of(S, b, n, types[b], below(40));
	t->op.wide = b == 8;
	t->op.flags = below(40) ? 0 : MEM_VOLATILE;
	t->warp = below(WARPS);
	t->mask = below(3) ? ALL : next_random() | 1u << below(32);
	uint32_t stride = below(4) == 0 ? 0 : below(3) ? size : size * (1 + below(3)), base = below(BYTES / size) * size;
	for (unsigned i = 0; i < LANES; i++)
		t->addr[i] = (base + i * stride) % BYTES;
	if (!below(6))
		for (unsigned i = 0; i < LANES; i++)
			t->addr[i] = below(BYTES / size) * size;
	for (unsigned i = 0; i < LANES; i++)		/* lanes of one store that meet agree mostly */
		for (unsigned e = 0; e < 8; e++)
			t->data[e].v[i] = below(10) ? 5 : i;
}

/* Warp 0 has written all of it, or all but a few words. */
static void fill_shared(struct world *w, uint32_t holes)
{
	for (uint32_t at = 0; at < BYTES; at += 4)
		if (!holes || at / 4 % holes)
			OK(st_value(w, S, 0, at, 0, 1, at));
	barrier(w);
}

static void one_trial(uint32_t holes)
{
	static struct world a, b;
	struct try x, y;
	struct mem *m = device();
	enter(&a, m, BYTES + 64, 0, WARPS, 0);
	enter(&b, m, BYTES + 64, 0, WARPS, 0);
	fill_shared(&a, holes);
	fill_shared(&b, holes);
	bar_putting_off(&b);
	for (int i = 0, ra = 0; i < 60 && !ra; i++) {
		random_shared(&x);
		y = x;
		ra = perform(&a, &x);
		int rb = perform(&b, &y);
		check_equal(&a, &b, &x, &y, ra, rb);
		if (x.kind == BARRIER)
			bar_putting_off(&b);
	}
	mem_block_free(a.c.block);
	mem_block_free(b.c.block);
	mem_free(m);
}

TEST(reads_put_off_change_nothing)
{
	for (unsigned i = 0; i < 1500; i++)
		one_trial(i % 3 ? 0 : 1 + below(200));
}

/* A tile whose rows of 160 bytes end in 32 that nobody writes. */
static struct world *padded_tile(void)
{
	struct world *w = world(32 * 160, 2);
	for (uint32_t row = 0; row < 32; row++)
		OK(st(w, S, 0, 160 * row, 4, ALL));
	barrier(w);
	return w;
}

TEST(holes_stay_unwritten)
{
	struct world *w = padded_tile();
	for (unsigned i = 0; i < 3; i++) {
		OK(ld(w, S, 1, 124, 160, ALL));
		OK(ld(w, S, 1, 124, 160, ALL));
		FAULTS(ld(w, S, 1, 128, 160, ALL), UNINITIALISED_SHARED);
		FAULTS(ld(w, S, 0, 4, 4, ALL), UNINITIALISED_SHARED);
		SAYS("at offset 128");
		barrier(w);
	}
	leave(w);
}

/* A proof is one of where the lanes are, whichever instruction it is: of no other stride or place. */
TEST(proofs_are_of_one_stride)
{
	struct world *w = padded_tile();		/* 32 words of 40 are written */
	barrier(w);
	for (unsigned i = 0; i < 2; i++) {
		OK(ld(w, S, 1, 0, 160, ALL));
		OK(ld(w, S, 1, 124, 160, ALL));
		OK(ld(w, S, 1, 124, 0, ALL));
		OK(ld(w, S, 1, 124, 0, 5));
		FAULTS(ld(w, S, 1, 128, 160, ALL), UNINITIALISED_SHARED);
		FAULTS(ld(w, S, 1, 128, 0, ALL), UNINITIALISED_SHARED);
		FAULTS(ld(w, S, 1, 124, 4, ALL), UNINITIALISED_SHARED);
		FAULTS(ld(w, S, 1, 31 * 160 + 28, -156, ALL), UNINITIALISED_SHARED);
		barrier(w);
		OK(ld(w, S, 0, 4, 164, 1));
	}
	leave(w);
}

/* What was proved sound is so no more when a copy is on its way to it. */
TEST(proofs_end_when_a_copy_begins)
{
	struct world *w = padded_tile();
	uint64_t g = alloc(w, 256, MEM_READ_ONLY, "x"), src[LANES], dst[LANES];
	for (unsigned i = 0; i < 2; i++) {
		OK(ld(w, S, 1, 64, 160, ALL));
		OK(ld(w, S, 1, 0, 4, ALL));
		barrier(w);
	}
	line_up(src, g, 4);
	line_up(dst, 64, 160);
	w->c.warp = 0;
	CHECK_EQ(mem_async_copy(&w->c, &w->sites[5], dst, src, 1u << 0 | 1u << 7, 4, NULL, 0), 0);
	barrier(w);
	FAULTS(ld(w, S, 1, 64, 160, ALL), ASYNC_NOT_WAITED);
	FAULTS(ld(w, S, 1, 0, 4, ALL), ASYNC_NOT_WAITED);
	w->c.warp = 0;
	mem_async_wait(&w->c, ALL, 0, true);
	FAULTS(ld(w, S, 1, 64, 160, ALL), RACE_SHARED);
	barrier(w);
	OK(ld(w, S, 1, 64, 160, ALL));
	leave(w);
}

/* More reads than the log holds: the first reader is still named. */
TEST(many_reads_before_a_write)
{
	struct world *w = world(1024, 4);
	struct mem_op op = op_of(S, 4, 1, PTX_T_U32, 17);
	struct row r[8];
	uint64_t addr[LANES];
	OK(st(w, S, 0, 0, 4, ALL));
	OK(st(w, S, 0, 128, 4, ALL));
	barrier(w);
	line_up(addr, 64, 4);
	OK(load_at(w, 3, &op, addr, ALL, r));
	for (unsigned i = 0; i < 40000; i++)
		OK(ld(w, S, 1 + i % 2, 128, 4, ALL));
	OK(st(w, S, 1, 0, 4, 0xff));
	FAULTS(st(w, S, 1, 0, 4, ALL), RACE_SHARED);
	SAYS("warp 3 read byte 0x40, warp 1 wrote it");
	CHECK_EQ(w->c.other_site, 17);
	leave(w);
}

/* ---- lanes that lie as they did ---- */

static uint64_t whole, input;

/* One of a few shapes, so that they repeat, somewhere in or around the two allocations. */
static void random_global(struct try *t)
{
	static const uint8_t bytes[] = {1, 2, 4, 4, 8}, types[] = {0, PTX_T_S8, PTX_T_U16, 0, PTX_T_U32, 0, 0, 0, PTX_T_U64};
	static const int64_t strides[] = {0, 1, 2, 4, 8, 16, 32, 128, -4, -16, 1ll << 33};
	unsigned b = bytes[below(5)], n = b == 4 ? 1u << below(3) : 1, shape = below(16);
	memset(t, 0, sizeof *t);
	t->kind = below(4) ? LOAD : STORE;
	t->op = op_of(below(2) ? G : PTX_SPACE_GENERIC, b, n, types[b], 1);
	t->op.wide = b == 8;
	t->mask = below(4) ? ALL : next_random() | 1;
	uint64_t base = (below(2) ? whole : input) + below(8) * 16 + (below(20) ? 0 : below(16));
	if (!below(10))
		base += 4096 - 64 * below(5);
	if (!below(40))
		base = below(2) ? 0ull - 64 : below(64);
	line_up(t->addr, base, strides[shape < 11 ? shape : 0]);
	for (unsigned i = 0; i < LANES && shape >= 11; i++)
		t->addr[i] += shape == 11 ? i / 16 * 4 : shape == 12 ? (i * 7 % 32) * 4 : shape == 13 ? (i ^ 1) * 16 : i % 8 * 16;
	for (unsigned i = 0; i < LANES; i++)
		for (unsigned e = 0; e < 8; e++)
			t->data[e].v[i] = 9;
}

TEST(lanes_that_lie_as_last_time)
{
	static struct world a, b;
	struct mem *m = device();
	unsigned faults = 0;
	enter(&a, m, 64, 0, 1, 0);
	enter(&b, m, 64, 0, 1, 0);
	whole = alloc(&a, 4096, MEM_ZERO | MEM_INITIALISED, "whole");
	input = alloc(&a, 4096, MEM_READ_ONLY, "input");
	mem_launch_begin(m, 0, GRID);
	for (unsigned i = 0; i < 20000; i++) {
		struct try x, y;
		random_global(&x);
		y = x;
		mem_block_free(b.c.block);			/* one that knows no shape */
		b.c.block = mem_block_new(m, 64, 0, 1);
		int ra = perform(&a, &x), rb = perform(&b, &y);
		check_equal(&a, &b, &x, &y, ra, rb);
		faults += ra != 0;
	}
	CHECK_MSG(faults > 500 && faults < 15000, "%u faults", faults);
	mem_block_free(a.c.block);
	mem_block_free(b.c.block);
	mem_free(m);
}
