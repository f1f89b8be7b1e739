/* Data between memory and register rows.
 *
 * Three shapes are worth code of their own: all lanes side by side in memory, one address for all, and (for 16 bytes a
 * lane) lanes anywhere.  The rest goes lane by lane.
 */
#include "mem_state.h"

typedef uint32_t quad __attribute__((vector_size(16), aligned(4)));
typedef uint32_t octet __attribute__((vector_size(32), aligned(1), may_alias));
typedef uint64_t pair __attribute__((vector_size(16), aligned(8)));

/* Destination of an element that nobody wants. */
static _Thread_local unsigned char sink[2 * LANES * 8] __attribute__((aligned(64)));

#define EACH_LANE(lane, mask) \
	for (uint32_t rest_ = (mask), lane; rest_ && ((lane = (uint32_t)__builtin_ctz(rest_)), 1); rest_ &= rest_ - 1)

/* ---- extension of narrow loads ---- */

MEM_INLINE bool is_signed(const struct mem_op *op)
{
	return op->type == PTX_T_S8 || op->type == PTX_T_S16 || op->type == PTX_T_S32;
}

/* A value of op->bytes (at most 8) as the row keeps it. */
MEM_INLINE uint64_t extend(const struct mem_op *op, unsigned element, uint64_t v)
{
	if (op->bytes < 8 && is_signed(op)) {
		unsigned shift = 64 - 8u * op->bytes;
		v = (uint64_t)((int64_t)(v << shift) >> shift);
	}
	if (op->narrow >> element & 1)
		v &= 0xffff;
	return v;
}

MEM_INLINE uint64_t fetch(const unsigned char *p, unsigned bytes)
{
	uint16_t h;
	uint32_t w;
	uint64_t d;
	switch (bytes) {
	case 1:
		return *p;
	case 2:
		memcpy(&h, p, 2);
		return h;
	case 4:
		memcpy(&w, p, 4);
		return w;
	default:
		memcpy(&d, p, 8);
		return d;
	}
}

/* ---- loads ---- */

/* Element `e` of every lane of mask; bytes is a constant where this is expanded. */
MEM_INLINE void load_element(const struct lanes *l, uintptr_t memory, const struct mem_op *op, unsigned e,
			     unsigned bytes, void *row)
{
	bool wide = op->wide >> e & 1;
	uint32_t *r32 = row;
	uint64_t *r64 = row;
	if (bytes >= 4 && !wide) {
		EACH_LANE(i, l->mask)
			memcpy(&r32[i], mem_from(memory, lane_address(l, i)) + e * bytes, 4);
	} else if (bytes == 8) {
		EACH_LANE(i, l->mask)
			memcpy(&r64[i], mem_from(memory, lane_address(l, i)) + e * bytes, 8);
	} else {
		EACH_LANE(i, l->mask) {
			uint64_t v = extend(op, e, fetch(mem_from(memory, lane_address(l, i)) + e * bytes, bytes));
			if (wide)
				r64[i] = v;
			else
				r32[i] = (uint32_t)v;
		}
	}
}

static void load_wide_element(const struct lanes *l, uintptr_t memory, unsigned e, uint64_t *row)
{
	EACH_LANE(i, l->mask) {
		memcpy(&row[i], mem_from(memory, lane_address(l, i)) + e * 16, 8);
		memcpy(&row[LANES + i], mem_from(memory, lane_address(l, i)) + e * 16 + 8, 8);
	}
}

static void load_lanes(const struct lanes *l, uintptr_t memory, const struct mem_op *op, void *const *rows)
{
	for (unsigned e = 0; e < op->n; e++) {
		if (!rows[e])
			continue;
		switch (op->bytes) {
		case 1:
			load_element(l, memory, op, e, 1, rows[e]);
			break;
		case 2:
			load_element(l, memory, op, e, 2, rows[e]);
			break;
		case 4:
			load_element(l, memory, op, e, 4, rows[e]);
			break;
		case 8:
			load_element(l, memory, op, e, 8, rows[e]);
			break;
		default:
			load_wide_element(l, memory, e, rows[e]);
		}
	}
}

/* All lanes, one 32-bit element each, anywhere: the usual gather. */
MEM_INLINE void load_words(const struct lanes *l, uintptr_t memory, uint32_t *row)
{
	const unsigned char *p = mem_from(memory, l->base);
	if (l->strided)
#pragma GCC unroll 4
		for (unsigned i = 0; i < LANES; i++, p += (int64_t)l->stride)
			memcpy(&row[i], p, 4);
	else
#pragma GCC unroll 4
		for (unsigned i = 0; i < LANES; i++)
			memcpy(&row[i], mem_from(memory, l->addr[i]), 4);
}

/* n times 32 bytes, without a call. */
MEM_INLINE void copy(void *to, const void *from, unsigned n)
{
#pragma GCC unroll 8
	for (unsigned i = 0; i < n; i++)
		((octet *)to)[i] = ((const octet *)from)[i];
}

MEM_INLINE void splat32(uint32_t *row, uint32_t v, uint32_t mask)
{
	for (unsigned i = 0; i < LANES; i++)
		row[i] = mask >> i & 1 ? v : row[i];
}

MEM_INLINE void splat64(uint64_t *row, uint64_t v, uint32_t mask)
{
	for (unsigned i = 0; i < LANES; i++)
		row[i] = mask >> i & 1 ? v : row[i];
}

MEM_INLINE void splat(void *row, bool wide, uint64_t v, uint32_t mask)
{
	if (!(mask & (mask - 1))) {
		unsigned i = first_lane(mask);
		if (wide)
			((uint64_t *)row)[i] = v;
		else
			((uint32_t *)row)[i] = (uint32_t)v;
	} else if (wide) {
		if (mask == ALL_LANES)
			for (unsigned i = 0; i < LANES; i++)
				((uint64_t *)row)[i] = v;
		else
			splat64(row, v, mask);
	} else if (mask == ALL_LANES) {
		for (unsigned i = 0; i < LANES; i++)
			((uint32_t *)row)[i] = (uint32_t)v;
	} else {
		splat32(row, (uint32_t)v, mask);
	}
}

MEM_INLINE void load_uniform(const unsigned char *p, const struct mem_op *op, uint32_t mask, void *const *rows)
{
	for (unsigned e = 0; e < op->n; e++, p += op->bytes) {
		if (!rows[e])
			continue;
		if (op->bytes == 16) {
			splat(rows[e], true, fetch(p, 8), mask);
			splat((uint64_t *)rows[e] + LANES, true, fetch(p + 8, 8), mask);
		} else {
			splat(rows[e], op->wide >> e & 1, extend(op, e, fetch(p, op->bytes)), mask);
		}
	}
}

MEM_INLINE void transpose4(quad a, quad b, quad c, quad d, uint32_t *const r[4], unsigned lane)
{
	quad t0 = __builtin_shufflevector(a, b, 0, 4, 1, 5), t1 = __builtin_shufflevector(c, d, 0, 4, 1, 5);
	quad t2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), t3 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
	*(quad *)(r[0] + lane) = __builtin_shufflevector(t0, t1, 0, 1, 4, 5);
	*(quad *)(r[1] + lane) = __builtin_shufflevector(t0, t1, 2, 3, 6, 7);
	*(quad *)(r[2] + lane) = __builtin_shufflevector(t2, t3, 0, 1, 4, 5);
	*(quad *)(r[3] + lane) = __builtin_shufflevector(t2, t3, 2, 3, 6, 7);
}

/* Four 32-bit elements, all lanes, evenly spaced or anywhere. */
MEM_INLINE void load_v4_strided(const unsigned char *p, int64_t s, void *const *rows)
{
	uint32_t *r[4];
	for (unsigned e = 0; e < 4; e++)
		r[e] = rows[e] ? rows[e] : (void *)sink;
	for (unsigned i = 0; i < LANES; i += 4, p += 4 * s)
		transpose4(*(const quad *)p, *(const quad *)(p + s), *(const quad *)(p + 2 * s), *(const quad *)(p + 3 * s), r, i);
}

MEM_INLINE void load_v4(uintptr_t memory, const uint64_t *addr, void *const *rows)
{
	uint32_t *r[4];
	for (unsigned e = 0; e < 4; e++)
		r[e] = rows[e] ? rows[e] : (void *)sink;
	for (unsigned i = 0; i < LANES; i += 4)
		transpose4(*(const quad *)mem_from(memory, addr[i]), *(const quad *)mem_from(memory, addr[i + 1]),
			   *(const quad *)mem_from(memory, addr[i + 2]), *(const quad *)mem_from(memory, addr[i + 3]), r, i);
}

MEM_INLINE void load_v2(const unsigned char *p, void *const *rows)
{
	uint32_t *x = rows[0] ? rows[0] : (void *)sink, *y = rows[1] ? rows[1] : (void *)sink;
	for (unsigned i = 0; i < LANES; i += 4, p += 32) {
		quad a = *(const quad *)p, b = *(const quad *)(p + 16);
		*(quad *)(x + i) = __builtin_shufflevector(a, b, 0, 2, 4, 6);
		*(quad *)(y + i) = __builtin_shufflevector(a, b, 1, 3, 5, 7);
	}
}

MEM_INLINE void load_v2_wide(const unsigned char *p, uint64_t *x, uint64_t *y)
{
	for (unsigned i = 0; i < LANES; i += 2, p += 32) {
		pair a = *(const pair *)p, b = *(const pair *)(p + 16);
		*(pair *)(x + i) = __builtin_shufflevector(a, b, 0, 2);
		*(pair *)(y + i) = __builtin_shufflevector(a, b, 1, 3);
	}
}

MEM_INLINE void load_narrow(const unsigned char *p, const struct mem_op *op, uint32_t *row)
{
	uint32_t keep = op->narrow & 1 ? 0xffff : 0xffffffff;
	if (op->bytes == 1 && is_signed(op))
		for (unsigned i = 0; i < LANES; i++)
			row[i] = (uint32_t)(int8_t)p[i] & keep;
	else if (op->bytes == 1)
		for (unsigned i = 0; i < LANES; i++)
			row[i] = p[i];
	else if (is_signed(op))
		for (unsigned i = 0; i < LANES; i++)
			row[i] = (uint32_t)(int16_t)fetch(p + 2 * i, 2) & keep;
	else
		for (unsigned i = 0; i < LANES; i++)
			row[i] = (uint16_t)fetch(p + 2 * i, 2);
}

/* All lanes side by side.  False: not one of the usual shapes. */
MEM_INLINE bool load_contiguous(const unsigned char *p, const struct mem_op *op, void *const *rows)
{
	if (op->n == 1 && rows[0]) {
		if (op->bytes == 4 && !op->wide)
			copy(rows[0], p, 4);
		else if (op->bytes == 8 && op->wide)
			copy(rows[0], p, 8);
		else if (op->bytes == 16)
			load_v2_wide(p, rows[0], (uint64_t *)rows[0] + LANES);
		else if (op->bytes <= 2 && !op->wide)
			load_narrow(p, op, rows[0]);
		else
			return false;
		return true;
	}
	if (op->n == 4 && op->bytes == 4 && !op->wide) {
		load_v4_strided(p, 16, rows);
		return true;
	}
	if (op->n == 2 && op->bytes == 4 && !op->wide) {
		load_v2(p, rows);
		return true;
	}
	if (op->n == 2 && op->bytes == 8 && op->wide == 3 && rows[0] && rows[1]) {
		load_v2_wide(p, rows[0], rows[1]);
		return true;
	}
	return false;
}

MEM_FAST bool mem_move_run(const unsigned char *p, uint64_t stride, const struct mem_op *op, void *const *rows)
{
	if (stride)
		return load_contiguous(p, op, rows);
	load_uniform(p, op, ALL_LANES, rows);
	return true;
}

MEM_FAST void mem_move_in(const struct lanes *l, uintptr_t memory, const struct mem_op *op, void *const *rows)
{
	bool all = l->mask == ALL_LANES;
	if (l->strided && !l->stride)
		load_uniform(mem_from(memory, l->base), op, l->mask, rows);
	else if (all && l->strided && l->stride == l->size && load_contiguous(mem_from(memory, l->base), op, rows))
		return;
	else if (all && op->n == 4 && op->bytes == 4 && !op->wide && l->strided)
		load_v4_strided(mem_from(memory, l->base), (int64_t)l->stride, rows);
	else if (all && op->n == 4 && op->bytes == 4 && !op->wide)
		load_v4(memory, l->addr, rows);
	else if (all && op->n == 1 && op->bytes == 4 && !op->wide && rows[0])
		load_words(l, memory, rows[0]);
	else
		load_lanes(l, memory, op, rows);
}

/* ---- stores ---- */

/* Element e of every lane of mask to `to`, `step` bytes a lane; bytes is a constant where this is expanded. */
MEM_INLINE void store_element(const struct lanes *l, uintptr_t memory, const struct mem_op *op, unsigned e,
			      unsigned bytes, const void *row)
{
	const unsigned char *r = row;
	unsigned width = op->wide >> e & 1 || bytes == 8 ? 8 : 4;
	EACH_LANE(i, l->mask)
		memcpy(mem_from(memory, lane_address(l, i)) + e * bytes, r + i * width, bytes);
}

static void store_lanes(const struct lanes *l, uintptr_t memory, const struct mem_op *op, const void *const *rows)
{
	for (unsigned e = 0; e < op->n; e++) {
		const uint64_t *wide = rows[e];
		switch (op->bytes) {
		case 1:
			store_element(l, memory, op, e, 1, rows[e]);
			break;
		case 2:
			store_element(l, memory, op, e, 2, rows[e]);
			break;
		case 4:
			store_element(l, memory, op, e, 4, rows[e]);
			break;
		case 8:
			store_element(l, memory, op, e, 8, rows[e]);
			break;
		default:
			EACH_LANE(i, l->mask) {
				memcpy(mem_from(memory, lane_address(l, i)) + e * 16, &wide[i], 8);
				memcpy(mem_from(memory, lane_address(l, i)) + e * 16 + 8, &wide[LANES + i], 8);
			}
		}
	}
}

MEM_INLINE void gather_v4(unsigned char *p, const void *const *rows)
{
	for (unsigned i = 0; i < LANES; i += 4, p += 64) {
		quad a = *(const quad *)((const uint32_t *)rows[0] + i), b = *(const quad *)((const uint32_t *)rows[1] + i);
		quad c = *(const quad *)((const uint32_t *)rows[2] + i), d = *(const quad *)((const uint32_t *)rows[3] + i);
		uint32_t *const out[4] = {(uint32_t *)p, (uint32_t *)p + 4, (uint32_t *)p + 8, (uint32_t *)p + 12};
		transpose4(a, b, c, d, out, 0);
	}
}

/* All lanes side by side at p.  False: not one of the usual shapes. */
MEM_INLINE bool store_contiguous(unsigned char *p, const struct mem_op *op, const void *const *rows)
{
	const uint32_t *row = rows[0];
	if (op->n == 4 && op->bytes == 4 && !op->wide)
		gather_v4(p, rows);
	else if (op->n != 1)
		return false;
	else if (op->bytes == 4 && !op->wide)
		copy(p, row, 4);
	else if (op->bytes == 8 && op->wide)
		copy(p, row, 8);
	else if (op->bytes == 2 && !op->wide)
		for (unsigned i = 0; i < LANES; i++) {
			uint16_t h = (uint16_t)row[i];
			memcpy(p + 2 * i, &h, 2);
		}
	else if (op->bytes == 1 && !op->wide)
		for (unsigned i = 0; i < LANES; i++)
			p[i] = (unsigned char)row[i];
	else
		return false;
	return true;
}

MEM_FAST void mem_move_out(const struct lanes *l, uintptr_t memory, const struct mem_op *op, const void *const *rows)
{
	bool contiguous = l->strided && l->mask == ALL_LANES && l->stride == l->size;
	if (!contiguous || !store_contiguous(mem_from(memory, l->base), op, rows))
		store_lanes(l, memory, op, rows);
}

MEM_FAST void mem_gather(const struct mem_op *op, uint32_t mask, const void *const *rows, unsigned char *out)
{
	unsigned size = (unsigned)op->bytes * op->n;
	struct lanes l;
	l.strided = true;
	l.base = 0;
	l.stride = size;
	l.mask = mask;
	if (mask != ALL_LANES || !store_contiguous(out, op, rows))
		store_lanes(&l, (uintptr_t)out, op, rows);
}
