/* Emulated memory: atomics, cp.async, ldmatrix and stmatrix. */
#include "tests/unit/mem_world.h"

/* ---- atomics ---- */

static uint64_t atomic_one(struct world *w, enum ptx_space space, enum mem_atom atom, enum ptx_type type, unsigned bytes, uint64_t old,
			   uint64_t b, uint64_t c)
{
	static uint64_t g;
	const char *why;
	if (!g)
		g = alloc(w, 64, MEM_ZERO, "cell");
	uint64_t addr[LANES], now = 0, at = space == G ? g : 0;
	struct row64 d = {{0}}, rb = {{b}}, rc = {{c}};
	line_up(addr, at, 0);
	struct mem_op op = op_of(space, bytes, 1, type, 0), put = op_of(space, 8, 1, PTX_T_U64, 0);
	put.wide = 1;
	struct row64 value = {{old}};
	CHECK_EQ(mem_store(&w->c, &put, w->sites, addr, 1, (const void *const[]){&value}), 0);
	op.wide = bytes == 8;
	op.atom = (uint8_t)atom;
	CHECK_MSG(mem_atomic(&w->c, &op, w->sites, addr, 1, (void *const[]){&d}, (const void *const[]){&rb}, (const void *const[]){&rc}) == 0,
		  "%s", w->c.fault.detail);
	CHECK_EQ(bytes == 8 ? d.v[0] : (uint32_t)d.v[0], bytes == 8 ? old : old & ((1ull << 8 * bytes) - 1));
	if (space == G) {
		memcpy(&now, mem_host(w->m, g, bytes, &why), bytes);
	} else {
		CHECK_EQ(mem_load(&w->c, &put, w->sites, addr, 1, (void *const[]){&d}), 0);
		memcpy(&now, &d.v[0], bytes);
	}
	return now;
}

TEST(atomic_operations)
{
	static const struct { enum mem_atom atom; enum ptx_type type; unsigned bytes; uint64_t old, b, c, now; } cases[] = {
		{ATOM_ADD, PTX_T_U32, 4, 0xffffffff, 2, 0, 1},
		{ATOM_ADD, PTX_T_U64, 8, 0xffffffff, 2, 0, 0x100000001},
		{ATOM_ADD, PTX_T_S32, 4, 5, (uint32_t)-7, 0, (uint32_t)-2},
		{ATOM_MIN, PTX_T_S32, 4, (uint32_t)-1, 1, 0, (uint32_t)-1},
		{ATOM_MIN, PTX_T_U32, 4, (uint32_t)-1, 1, 0, 1},
		{ATOM_MAX, PTX_T_S64, 8, (uint64_t)-1, 1, 0, 1},
		{ATOM_MAX, PTX_T_U64, 8, (uint64_t)-1, 1, 0, (uint64_t)-1},
		{ATOM_INC, PTX_T_U32, 4, 3, 3, 0, 0},
		{ATOM_INC, PTX_T_U32, 4, 2, 3, 0, 3},
		{ATOM_DEC, PTX_T_U32, 4, 0, 3, 0, 3},
		{ATOM_DEC, PTX_T_U32, 4, 4, 3, 0, 3},
		{ATOM_DEC, PTX_T_U32, 4, 3, 3, 0, 2},
		{ATOM_AND, PTX_T_B32, 4, 0xc, 0xa, 0, 8},
		{ATOM_OR, PTX_T_B64, 8, 0xc, 0xa, 0, 0xe},
		{ATOM_XOR, PTX_T_B32, 4, 0xc, 0xa, 0, 6},
		{ATOM_EXCH, PTX_T_B64, 8, 0xc, ~0ull, 0, ~0ull},
		{ATOM_CAS, PTX_T_B32, 4, 7, 7, 9, 9},
		{ATOM_CAS, PTX_T_B32, 4, 7, 8, 9, 7},
		{ATOM_CAS, PTX_T_B16, 2, 0x12345678, 0x5678, 0x9abc, 0x9abc},
		{ATOM_CAS, PTX_T_B64, 8, 1ull << 40, 1ull << 40, 3, 3},
		{ATOM_ADD, PTX_T_F32, 4, 0x3f800000, 0x40000000, 0, 0x40400000},
		{ATOM_ADD, PTX_T_F32, 4, 0x7f800000, 0xff800000, 0, 0x7fffffff},
		{ATOM_ADD, PTX_T_F64, 8, 0x3ff0000000000000, 0x4000000000000000, 0, 0x4008000000000000},
		{ATOM_ADD, PTX_T_F16, 2, 0x3c00, 0x4000, 0, 0x4200},
		{ATOM_ADD, PTX_T_BF16, 2, 0x3f80, 0x4000, 0, 0x4040},
		{ATOM_ADD, PTX_T_F16X2, 4, 0x3c004000, 0x40003c00, 0, 0x42004200},
		{ATOM_ADD, PTX_T_BF16X2, 4, 0x3f804000, 0x40003f80, 0, 0x40404040},
		{ATOM_MIN, PTX_T_F16, 2, 0x3c00, 0x7e00, 0, 0x3c00},
		{ATOM_MIN, PTX_T_F16X2, 4, 0x3c000000, 0x40008000, 0, 0x3c008000},
		{ATOM_MAX, PTX_T_BF16X2, 4, 0x3f80c000, 0x4000bf80, 0, 0x4000bf80},
	};
	struct world *w = world(64, 1);
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		for (unsigned s = 0; s < 2; s++) {
			uint64_t now = atomic_one(w, s ? S : G, cases[i].atom, cases[i].type, cases[i].bytes, cases[i].old, cases[i].b,
						  cases[i].c);
			CHECK_MSG(now == cases[i].now, "case %u: %llx, expected %llx", i, (unsigned long long)now,
				  (unsigned long long)cases[i].now);
		}
	/* subnormals: flushed in global memory, kept in shared memory */
	CHECK_EQ(atomic_one(w, G, ATOM_ADD, PTX_T_F32, 4, 1, 1, 0), 0);
	CHECK_EQ(atomic_one(w, G, ATOM_ADD, PTX_T_F32, 4, 0x80000001, 0x80000001, 0), 0x80000000);
	CHECK_EQ(atomic_one(w, S, ATOM_ADD, PTX_T_F32, 4, 1, 1, 0), 2);
	leave(w);
}

TEST(lanes_of_an_atomic_go_in_order)
{
	struct world *w = world(64, 1);
	uint64_t g = alloc(w, 64, MEM_ZERO, "n"), addr[LANES];
	struct row d, one, seven[2], back[2];
	struct mem_op op = op_of(G, 4, 1, PTX_T_U32, 0);
	line_up(addr, g, 0);
	for (unsigned i = 0; i < LANES; i++)
		one.v[i] = 1;
	CHECK_EQ(mem_atomic(&w->c, &op, w->sites, addr, 0xfffffff0, (void *const[]){&d}, (const void *const[]){&one}, NULL), 0);
	for (unsigned i = 4; i < LANES; i++)
		CHECK_EQ(d.v[i], i - 4);
	op.n = 2;
	op.type = PTX_T_F32;
	for (unsigned i = 0; i < LANES; i++) {
		seven[0].v[i] = 0x3f800000;
		seven[1].v[i] = 0x40000000;
	}
	line_up(addr, g + 8, 0);
	CHECK_EQ(mem_atomic(&w->c, &op, w->sites, addr, ALL, (void *const[]){&back[0], &back[1]},
			    (const void *const[]){&seven[0], &seven[1]}, NULL), 0);
	CHECK_EQ(back[1].v[31], 0x42780000);		/* 62 */
	CHECK_EQ(w->n.global_atomic_requests, 2);
	CHECK_EQ(w->n.global_atomic_lanes, 28 + 32);
	addr[0] = MEM_LOCAL_BASE;
	op.space = PTX_SPACE_GENERIC;
	FAULTS(mem_atomic(&w->c, &op, w->sites, addr, 1, NULL, (const void *const[]){&seven[0], &seven[1]}, NULL), WRONG_SPACE);
	leave(w);
}

/* ---- cp.async ---- */

static int copy(struct world *w, uint32_t warp, uint64_t to, uint64_t from, unsigned n, const uint32_t *sizes, uint32_t mask)
{
	uint64_t dst[LANES], src[LANES];
	line_up(dst, to, n);
	line_up(src, from, n);
	w->c.warp = warp;
	return mem_async_copy(&w->c, &w->sites[7], dst, src, mask, n, sizes, 0);
}

TEST(cp_async_pipeline)
{
	struct world *w = world(4 * 2048, 4);
	uint64_t g = alloc(w, 128 * 2048, MEM_READ_ONLY, "A");
	const char *why;
	uint32_t *a = mem_host(w->m, g, 128 * 2048, &why);
	for (unsigned i = 0; i < 128 * 512; i++)
		a[i] = i;
	struct mem_op op = op_of(S, 4, 1, PTX_T_U32, 1);
	for (unsigned stages = 2; stages <= 4; stages++) {
		for (unsigned s = 0; s < stages - 1; s++)
			for (uint32_t warp = 0; warp < 4; warp++) {
				OK(copy(w, warp, 2048 * s + 512 * warp, g + 2048 * s + 512 * warp, 16, NULL, ALL));
				mem_async_commit(&w->c, ALL);
			}
		for (unsigned k = 0; k < 40; k++) {
			unsigned tile = k % stages, next = (k + stages - 1) % stages;
			for (uint32_t warp = 0; warp < 4; warp++) {
				w->c.warp = warp;
				mem_async_wait(&w->c, ALL, stages - 2, false);
			}
			barrier(w);
			for (uint32_t warp = 0; warp < 4; warp++) {
				struct row r[8];
				uint64_t addr[LANES];
				line_up(addr, 2048 * tile + 512 * (3 - warp), 4);
				OK(load_at(w, warp, &op, addr, ALL, r));
				for (unsigned i = 0; i < LANES; i++)
					CHECK_EQ(r[0].v[i], 512 * k + 128 * (3 - warp) + i);
				OK(copy(w, warp, 2048 * next + 512 * warp, g + 2048 * (k + stages - 1) + 512 * warp, 16, NULL, ALL));
				mem_async_commit(&w->c, ALL);
			}
		}
		for (uint32_t warp = 0; warp < 4; warp++) {
			w->c.warp = warp;
			mem_async_wait(&w->c, ALL, 0, true);
		}
		barrier(w);
	}
	leave(w);
}

/* ncu counts none of it as a store. */
TEST(cp_async_is_no_store)
{
	struct world *w = world(4096, 1);
	uint64_t g = alloc(w, 512, MEM_READ_ONLY, "A");
	OK(copy(w, 0, 0, g, 16, NULL, ALL));
	OK(copy(w, 0, 1024, g, 4, NULL, ALL));
	mem_async_wait(&w->c, ALL, 0, true);
	CHECK_EQ(w->n.shared_copy_wavefronts, 4 + 1);
	CHECK_EQ(w->n.shared_store_requests, 0);
	CHECK_EQ(w->n.shared_store_wavefronts, 0);
	CHECK_EQ(w->n.shared_store_conflicts, 0);
	CHECK_EQ(w->n.global_load_requests, 2);
	leave(w);
}

TEST(cp_async_that_is_not_waited_for)
{
	struct world *w = world(2048, 2);
	uint64_t g = alloc(w, 2048, MEM_READ_ONLY, "A");
	OK(copy(w, 0, 0, g, 16, NULL, ALL));
	mem_async_commit(&w->c, ALL);
	FAULTS(ld(w, S, 0, 0, 4, ALL), ASYNC_NOT_WAITED);
	SAYS("cp.async");
	CHECK_EQ(w->c.other_site, 7);
	barrier(w);
	FAULTS(ld(w, S, 1, 0, 4, ALL), ASYNC_NOT_WAITED);
	FAULTS(st(w, S, 0, 0, 4, ALL), RACE_SHARED);
	w->c.warp = 0;
	mem_async_wait(&w->c, ALL, 1, false);
	FAULTS(ld(w, S, 0, 0, 4, ALL), ASYNC_NOT_WAITED);
	mem_async_wait(&w->c, 0xffff, 0, false);		/* these lanes' bytes only */
	OK(ld(w, S, 0, 0, 4, ALL));
	FAULTS(ld(w, S, 0, 256, 4, ALL), ASYNC_NOT_WAITED);
	w->c.warp = 0;
	mem_async_wait(&w->c, ALL, 0, false);
	OK(ld(w, S, 0, 256, 4, ALL));
	FAULTS(ld(w, S, 1, 256, 4, ALL), RACE_SHARED);		/* another warp needs a barrier too */
	barrier(w);
	OK(ld(w, S, 1, 256, 4, ALL));
	FAULTS(copy(w, 0, 256, g, 16, NULL, ALL), RACE_SHARED);	/* while warp 1 may read */
	leave(w);
}

TEST(cp_async_uncommitted_and_zero_fill)
{
	struct world *w = world(2048, 1);
	uint64_t g = alloc(w, 520, MEM_READ_ONLY, "A");
	const char *why;
	memset(mem_host(w->m, g, 520, &why), 0x11, 520);
	uint32_t sizes[LANES];
	for (unsigned i = 0; i < LANES; i++)
		sizes[i] = i % 4 == 3 ? 0 : i % 4 == 2 ? 8 : 16;
	OK(copy(w, 0, 0, g, 16, sizes, ALL));
	mem_async_wait(&w->c, ALL, 0, false);			/* no group yet: nothing arrives */
	FAULTS(ld(w, S, 0, 0, 4, 1), ASYNC_NOT_WAITED);
	mem_async_wait(&w->c, ALL, 0, true);
	struct mem_op op = op_of(S, 4, 4, PTX_T_U32, 1);
	struct row r[8];
	uint64_t addr[LANES];
	line_up(addr, 0, 16);
	OK(load_at(w, 0, &op, addr, ALL, r));
	for (unsigned i = 0; i < LANES; i++)
		for (unsigned e = 0; e < 4; e++)
			CHECK_EQ(r[e].v[i], 4 * e < sizes[i] ? 0x11111111 : 0);
	/* bytes that are not read may lie outside */
	for (unsigned i = 0; i < LANES; i++)
		sizes[i] = 8;
	OK(copy(w, 0, 1024, g + 512, 16, sizes, 1));
	OK(copy(w, 0, 1536, 0, 16, (uint32_t[LANES]){0}, ALL));
	sizes[0] = 12;
	FAULTS(copy(w, 0, 1280, g + 512, 16, sizes, 1), OUT_OF_BOUNDS);
	sizes[0] = 17;
	FAULTS(copy(w, 0, 1280, g, 16, sizes, 1), BAD_INSTRUCTION);
	FAULTS(copy(w, 0, 1280, g + 8, 16, NULL, 1), MISALIGNED);
	FAULTS(copy(w, 0, 2040, g, 16, NULL, 1), MISALIGNED);
	FAULTS(copy(w, 0, 2048, g, 16, NULL, 1), OUT_OF_BOUNDS);
	leave(w);
}

/* ---- matrices ---- */

TEST(matrices)
{
	struct world *w = world(4096, 2);
	struct mem_op op = op_of(S, 2, 1, PTX_T_B16, 0);
	struct row r[8];
	uint64_t addr[LANES];
	for (unsigned i = 0; i < 32 * 40; i += 32) {		/* element (row, column) at 80 * row + 2 * column: row * 40 + column */
		for (unsigned k = 0; k < LANES; k++)
			r[0].v[k] = i + k;
		line_up(addr, 2 * i, 2);
		OK(store_at(w, 0, &op, addr, ALL, r));
	}
	for (unsigned count = 1; count <= 4; count *= 2)
		for (unsigned transpose = 0; transpose < 2; transpose++) {
			struct row out[4];
			memset(out, 0x77, sizeof out);
			for (unsigned i = 0; i < LANES; i++)
				addr[i] = 80 * (i % 16) + 16 * (i / 16);
			uint64_t waves = w->n.shared_load_wavefronts;
			CHECK_EQ(mem_matrix_load(&w->c, w->sites, addr, count, transpose,
						 (uint32_t *const[]){out[0].v, out[1].v, out[2].v, out[3].v}), 0);
			CHECK_EQ(w->n.shared_load_wavefronts - waves, count);	/* rows 80 bytes apart don't conflict */
			for (unsigned m = 0; m < count; m++)
				for (unsigned t = 0; t < LANES; t++) {
					unsigned row = t / 4, column = t % 4 * 2;
					unsigned lo = transpose ? column * 40 + row : row * 40 + column;
					unsigned hi = transpose ? (column + 1) * 40 + row : row * 40 + column + 1;
					unsigned origin = m % 2 * 8 * 40 + m / 2 * 8;
					CHECK_EQ(out[m].v[t], (lo + origin) | (hi + origin) << 16);
				}
		}
	line_up(addr, 0, 0);		/* one row for all: still a pass for each matrix */
	struct row same[4];
	uint64_t waves = w->n.shared_load_wavefronts;
	CHECK_EQ(mem_matrix_load(&w->c, w->sites, addr, 4, false, (uint32_t *const[]){same[0].v, same[1].v, same[2].v, same[3].v}), 0);
	CHECK_EQ(w->n.shared_load_wavefronts - waves, 4);
	/* store and load are inverse */
	struct row in[4], back[4];
	for (unsigned m = 0; m < 4; m++)
		for (unsigned t = 0; t < LANES; t++)
			in[m].v[t] = m * 0x1000 + t * 0x10001;
	for (unsigned transpose = 0; transpose < 2; transpose++) {
		line_up(addr, 0, 16);
		CHECK_EQ(mem_matrix_store(&w->c, w->sites, addr, 4, transpose,
					  (const uint32_t *const[]){in[0].v, in[1].v, in[2].v, in[3].v}), 0);
		CHECK_EQ(mem_matrix_load(&w->c, w->sites, addr, 4, transpose,
					 (uint32_t *const[]){back[0].v, back[1].v, back[2].v, back[3].v}), 0);
		CHECK(!memcmp(in, back, sizeof in));
	}
	w->c.warp = 1;
	FAULTS(mem_matrix_load(&w->c, w->sites, addr, 1, false, (uint32_t *const[]){back[0].v}), RACE_SHARED);
	addr[3] += 8;
	FAULTS(mem_matrix_load(&w->c, w->sites, addr, 1, false, (uint32_t *const[]){back[0].v}), MISALIGNED);
	addr[3] = 4096;
	FAULTS(mem_matrix_load(&w->c, w->sites, addr, 1, false, (uint32_t *const[]){back[0].v}), OUT_OF_BOUNDS);
	leave(w);
}
