/* ldmatrix and stmatrix: 8x8 matrices of 16-bit elements, a 16-byte row at each of eight lanes' addresses.
 *
 * Thread t of the warp holds, of each matrix, the elements (t / 4, 2 * (t % 4)) and the one to its right; transposed, those
 * of the transposed matrix.  Each matrix takes one pass through shared memory.
 */
#include "mem_state.h"

enum { ROWS = 8, ROW_BYTES = 16 };

/* The lanes that give addresses, as 16-byte accesses of shared memory. */
static int row_lanes(struct mem_ctx *c, const uint64_t *addr, unsigned count, bool write, uint32_t site, struct lanes *l)
{
	uint64_t at[LANES];
	for (unsigned i = 0; i < LANES; i++)
		at[i] = addr[i] - MEM_SHARED_BASE < MEM_WINDOW ? addr[i] - MEM_SHARED_BASE : addr[i];
	uint32_t mask = count == 4 ? ALL_LANES : (1u << count * ROWS) - 1;
	mem_lanes_again(c->block, l, memcpy(l->filled, at, sizeof at), mask, ROW_BYTES, site);
	return mem_check_shared(c, l, write);
}

static uint16_t *element(uint16_t (*m)[ROWS], unsigned lane, unsigned i, bool transpose)
{
	unsigned row = lane / 4, column = lane % 4 * 2 + i;
	return transpose ? &m[column][row] : &m[row][column];
}

int mem_matrix_load(struct mem_ctx *c, struct mem_site *site, const uint64_t *addr, unsigned count, bool transpose,
		    uint32_t *const *rows)
{
	struct mem_block *b = c->block;
	uint32_t index = mem_site_index(c, site);
	struct lanes l;
	if (row_lanes(c, addr, count, false, index, &l) < 0 ||
	    (b->wtag && mem_tags_access(c, &l, index, ACCESS_READ, NULL) < 0))
		return -1;
	for (unsigned k = 0; k < count; k++) {
		uint16_t m[ROWS][ROWS];
		for (unsigned i = 0; i < ROWS; i++)
			memcpy(m[i], b->shared + lane_address(&l, k * ROWS + i), ROW_BYTES);
		for (unsigned lane = 0; lane < LANES && rows[k]; lane++)
			rows[k][lane] = *element(m, lane, 0, transpose) | (uint32_t)*element(m, lane, 1, transpose) << 16;
	}
	mem_count_shared(c, site, &l, index, ACCESS_MATRIX);
	return 0;
}

int mem_matrix_store(struct mem_ctx *c, struct mem_site *site, const uint64_t *addr, unsigned count, bool transpose,
		     const uint32_t *const *rows)
{
	struct mem_block *b = c->block;
	uint32_t index = mem_site_index(c, site), data[4][LANES] = {{0}};
	uint16_t m[4][ROWS][ROWS];
	struct lanes l;
	if (row_lanes(c, addr, count, true, index, &l) < 0)
		return -1;
	for (unsigned k = 0; k < count; k++)
		for (unsigned lane = 0; lane < LANES; lane++) {
			*element(m[k], lane, 0, transpose) = (uint16_t)rows[k][lane];
			*element(m[k], lane, 1, transpose) = (uint16_t)(rows[k][lane] >> 16);
		}
	for (unsigned lane = 0; lane < count * ROWS; lane++)
		for (unsigned e = 0; e < 4; e++)
			memcpy(&data[e][lane], &m[lane / ROWS][lane % ROWS][2 * e], 4);
	struct mem_op op = {.bytes = 4, .n = 4, .type = PTX_T_B32};
	struct stored s = {&op, (const void *const[]){data[0], data[1], data[2], data[3]}};
	if (b->wtag && mem_tags_access(c, &l, index, ACCESS_WRITE, &s) < 0)
		return -1;
	mem_move_out(&l, (uintptr_t)b->shared, &op, s.rows);
	mem_count_shared(c, site, &l, index, ACCESS_WRITE);
	return 0;
}
