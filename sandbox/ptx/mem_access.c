/* Loads and stores: which lanes, which space, bounds and alignment; then shadow, data and counts. */
#include "mem_state.h"

/* ---- lanes ---- */

typedef uint64_t four __attribute__((vector_size(32), aligned(8)));

/* Is lane i at addr[0] + i * stride, for all i? */
MEM_INLINE bool is_strided(const uint64_t *addr, uint64_t stride)
{
	four expect = {addr[0], addr[0] + stride, addr[0] + 2 * stride, addr[0] + 3 * stride};
	four step = {4 * stride, 4 * stride, 4 * stride, 4 * stride}, differs = {0};
#pragma GCC unroll 8
	for (unsigned i = 0; i < LANES; i += 4) {
		differs |= *(const four *)(addr + i) ^ expect;
		expect += step;
	}
	return !(differs[0] | differs[1] | differs[2] | differs[3]);
}

MEM_INLINE void fill_inactive(struct lanes *l, const uint64_t *addr, uint32_t mask)
{
	uint64_t stand_in = addr[first_lane(mask)];
	for (unsigned i = 0; i < LANES; i++)
		l->filled[i] = mask >> i & 1 ? addr[i] : stand_in;
	l->addr = l->filled;
}

MEM_INLINE void bound_lanes(struct lanes *l)
{
	four lo = *(const four *)l->addr, hi = lo, any = lo;
#pragma GCC unroll 7
	for (unsigned i = 4; i < LANES; i += 4) {
		four a = *(const four *)(l->addr + i), less = (four)(a < lo), more = (four)(a > hi);
		lo = (a & less) | (lo & ~less);
		hi = (a & more) | (hi & ~more);
		any |= a;
	}
	l->lo = lo[0];
	l->hi = hi[0];
	for (unsigned i = 1; i < 4; i++) {
		l->lo = lo[i] < l->lo ? lo[i] : l->lo;
		l->hi = hi[i] > l->hi ? hi[i] : l->hi;
	}
	l->bits = any[0] | any[1] | any[2] | any[3];
}

MEM_INLINE void set_strided(struct lanes *l, uint64_t base, uint64_t stride)
{
	l->strided = true;
	l->base = base;
	l->stride = stride;
	l->bits = base | stride;
}

/* Strides beyond this are no strides to us, so that base + 31 * stride says what it seems to. */
static const uint64_t FAR_STRIDE = 1ull << 32;

MEM_INLINE void make_lanes(struct lanes *l, const uint64_t *addr, uint32_t mask, uint32_t size)
{
	l->mask = mask;
	l->size = size;
	l->strided = false;
	l->shape = 0;
	l->addr = addr;
	if (mask == ALL_LANES) {
		uint64_t stride = addr[1] - addr[0], last = addr[LANES - 1];
		if (stride + FAR_STRIDE <= 2 * FAR_STRIDE && is_strided(addr, stride)) {
			l->lo = addr[0] < last ? addr[0] : last;
			l->hi = addr[0] < last ? last : addr[0];
			if (l->hi - l->lo <= LANES * FAR_STRIDE) {
				set_strided(l, addr[0], stride);
				return;
			}
		}
	} else if (!(mask & (mask - 1))) {
		l->lo = l->hi = addr[first_lane(mask)];
		set_strided(l, l->lo, 0);
		return;
	} else {
		fill_inactive(l, addr, mask);
	}
	bound_lanes(l);
	l->base = l->addr[first_lane(mask)];
	if (l->lo == l->hi)
		set_strided(l, l->lo, 0);
}

/* ---- shapes ---- */

/* A shape that would reach around the end of the address space is none, so that lo is the lowest. */
MEM_INLINE bool in_shape(const struct shape *s, const uint64_t *addr)
{
	uint64_t base = addr[0];
	if (base + s->lo > base + s->hi)
		return false;
	four from = {base, base, base, base}, differs = {0};
#pragma GCC unroll 8
	for (unsigned i = 0; i < LANES; i += 4)
		differs |= (*(const four *)(addr + i) - from) ^ *(const four *)(s->delta + i);
	return !(differs[0] | differs[1] | differs[2] | differs[3]);
}

MEM_INLINE void learn_shape(struct mem_block *b, struct shape *s, struct lanes *l, const uint64_t *addr, uint32_t site)
{
	uint64_t base = addr[0], bits = 0;
	for (unsigned i = 0; i < LANES; i++) {
		s->delta[i] = addr[i] - base;
		bits |= addr[i] - base;
	}
	s->lo = l->lo - base;
	s->hi = l->hi - base;
	s->bits = bits;
	s->strided = l->strided;
	s->site = site;
	b->n_shapes += b->n_shapes + 1 ? 1 : 2;
	s->serial = l->shape = b->n_shapes;
}

/* All lanes of an instruction. */
MEM_INLINE void make_all_lanes(struct mem_block *b, struct lanes *l, const uint64_t *addr, uint32_t size, uint32_t site)
{
	struct shape *s = &b->shapes[site % SHAPES];
	if (s->serial && s->site == site && in_shape(s, addr)) {
		l->mask = ALL_LANES;
		l->size = size;
		l->strided = s->strided;
		l->base = addr[0];
		l->stride = s->delta[1];
		l->lo = addr[0] + s->lo;
		l->hi = addr[0] + s->hi;
		l->bits = addr[0] | s->bits;
		l->shape = s->serial;
		l->addr = addr;
		return;
	}
	make_lanes(l, addr, ALL_LANES, size);
	learn_shape(b, s, l, addr, site);
}

MEM_INLINE void make_lanes_of(struct mem_ctx *c, struct lanes *l, const struct mem_op *op, const uint64_t *addr, uint32_t mask)
{
	uint32_t size = (uint32_t)op->bytes * op->n;
	if (mask == ALL_LANES)
		make_all_lanes(c->block, l, addr, size, op->site);
	else
		make_lanes(l, addr, mask, size);
}

MEM_FAST void mem_lanes(struct lanes *l, const uint64_t *addr, uint32_t mask, uint32_t size)
{
	make_lanes(l, addr, mask, size);
}

MEM_FAST void mem_lanes_again(struct mem_block *b, struct lanes *l, const uint64_t *addr, uint32_t mask, uint32_t size, uint32_t site)
{
	if (mask == ALL_LANES)
		make_all_lanes(b, l, addr, size, site);
	else
		make_lanes(l, addr, mask, size);
}

/* Change all addresses to f(address). */
static void rebase(struct lanes *l, uint64_t base, uint64_t keep)
{
	uint64_t addr[LANES];
	for (unsigned i = 0; i < LANES; i++)
		addr[i] = (lane_address(l, i) - base) & keep;
	mem_lanes(l, memcpy(l->filled, addr, sizeof addr), l->mask, l->size);
}

/* ---- windows ---- */

MEM_INLINE bool inside(uint64_t addr, uint64_t base)
{
	return addr - base < MEM_WINDOW;
}

static enum ptx_space space_of(uint64_t addr, uint64_t *base)
{
	*base = inside(addr, MEM_SHARED_BASE) ? MEM_SHARED_BASE : inside(addr, MEM_LOCAL_BASE) ? MEM_LOCAL_BASE : 0;
	return inside(addr, MEM_SHARED_BASE)  ? PTX_SPACE_SHARED
	       : inside(addr, MEM_LOCAL_BASE) ? PTX_SPACE_LOCAL
					      : PTX_SPACE_GLOBAL;
}

enum ptx_space mem_window(const uint64_t *addr, uint32_t mask, uint32_t *in, uint64_t *at)
{
	uint64_t base, other;
	enum ptx_space space = space_of(addr[first_lane(mask)], &base);
	*in = 0;
	for (uint32_t rest = mask; rest; rest &= rest - 1)
		if (space_of(addr[first_lane(rest)], &other) == space)
			*in |= rest & -rest;
	for (unsigned i = 0; i < LANES; i++)
		at[i] = addr[i] - base;
	return space;
}

/* The space of all lanes at once, their addresses made relative to it; NONE if they are in several. */
MEM_INLINE enum ptx_space resolve(struct lanes *l, enum ptx_space space)
{
	if (space != PTX_SPACE_GENERIC)
		return space;
	if (l->lo >= MEM_LOCAL_BASE + MEM_WINDOW)
		return PTX_SPACE_GLOBAL;
	uint64_t base;
	space = space_of(l->lo, &base);
	if (space == PTX_SPACE_GLOBAL)
		return l->lo == l->hi ? PTX_SPACE_GLOBAL : PTX_SPACE_NONE;
	if (!inside(l->hi, base))
		return PTX_SPACE_NONE;
	if (l->strided) {
		l->base -= base;
		l->lo -= base;
		l->hi -= base;
		l->bits = l->base | l->stride;
	} else {
		rebase(l, base, ~0ull);
	}
	return space;
}

/* ---- bounds and alignment ---- */

static const char *verb(bool write)
{
	return write ? "write" : "read";
}

static int misaligned(struct mem_ctx *c, const struct lanes *l, unsigned lane, bool write, const char *where)
{
	uint64_t addr = lane_address(l, lane);
	unsigned align = addr ? 1u << (__builtin_ctzll(addr) & 31) : 1;
	return mem_fault(c, FAULT_MISALIGNED, lane, addr, l->size,
			 "%u-byte %s at %s 0x%llx, a multiple of %u only (must be a multiple of %u)", l->size, verb(write),
			 where, (unsigned long long)addr, align, l->size);
}

static int out_of_bounds(struct mem_ctx *c, const struct lanes *l, unsigned lane, bool write, const struct mem_alloc *a)
{
	char where[200];
	uint64_t addr = lane_address(l, lane);
	mem_describe(c->mem, addr, l->size, where, sizeof where);
	enum fault_kind kind = a && !a->live ? FAULT_USE_AFTER_FREE
			       : addr - MEM_GLOBAL_BASE < c->mem->room && c->mem->n_allocs ? FAULT_OUT_OF_BOUNDS
											   : FAULT_WRONG_SPACE;
	return mem_fault(c, kind, lane, addr, l->size, "%u-byte %s %s", l->size, verb(write), where);
}

static int write_to_input(struct mem_ctx *c, const struct lanes *l, unsigned lane, const struct mem_alloc *a)
{
	char what[80];
	uint64_t addr = lane_address(l, lane);
	return mem_fault(c, FAULT_READ_ONLY, lane, addr, l->size, "%u-byte write at offset %llu of %s, which is read-only",
			 l->size, (unsigned long long)(addr - a->addr), mem_alloc_text(a, what, sizeof what));
}

static bool holds(const struct mem_alloc *a, uint64_t lo, uint64_t end)
{
	return a && a->live && lo >= a->addr && end <= a->addr + a->size && end > lo;
}

static void flush_way(struct way *w)
{
	if (w->load_sectors)
		w->alloc->load_bytes += w->load_sectors * SECTOR;
	if (w->store_sectors)
		w->alloc->store_bytes += w->store_sectors * SECTOR;
	w->load_sectors = w->store_sectors = 0;
}

void mem_flush_ways(struct mem_block *b)
{
	for (unsigned i = 0; i < WAYS; i++)
		flush_way(&b->ways[i]);
}

/* Lane by lane, for accesses that are not all in one allocation, or wrong. */
static int check_lanes(struct mem_ctx *c, const struct lanes *l, bool write, uint32_t *shadow)
{
	const struct mem_alloc *a = NULL;
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		uint64_t addr = lane_address(l, lane);
		if (addr & (l->size - 1))
			return misaligned(c, l, lane, write, "address");
		if (!holds(a, addr, addr + l->size))	/* the lane before's, mostly */
			a = mem_find_running(c->mem, addr);
		if (!holds(a, addr, addr + l->size))
			return out_of_bounds(c, l, lane, write, a);
		if (write && a->flags & MEM_READ_ONLY)
			return write_to_input(c, l, lane, a);
		if (a->flags & MEM_READ_ONLY)
			*shadow &= ~(1u << lane);
	}
	return 0;
}

/* Is all of the access in the way's allocation, and right there? */
MEM_INLINE bool way_serves(const struct way *w, const struct mem_ctx *c, const struct lanes *l, bool write)
{
	return l->lo >= w->lo && l->hi < w->hi && w->hi - l->hi >= l->size && !(l->bits & (l->size - 1)) &&
	       w->version == c->mem->version && !(write && w->read_only);
}

static int check_global_slowly(struct mem_ctx *c, const struct lanes *l, uint32_t site, bool write, uint32_t *shadow)
{
	struct way *w = &c->block->ways[site % WAYS];
	pthread_rwlock_rdlock(&c->mem->lock);
	struct mem_alloc *a = mem_find(c->mem, l->lo);
	if (holds(a, l->lo, l->hi + l->size)) {
		flush_way(w);
		*w = (struct way){.lo = a->addr, .hi = a->addr + a->size, .alloc = a, .version = c->mem->version,
				  .read_only = a->flags & MEM_READ_ONLY};
	}
	pthread_rwlock_unlock(&c->mem->lock);
	*shadow = l->mask;
	if (way_serves(w, c, l, write)) {
		*shadow = w->read_only ? 0 : l->mask;
		return 0;
	}
	return check_lanes(c, l, write, shadow);
}

MEM_INLINE int check_global(struct mem_ctx *c, const struct lanes *l, uint32_t site, bool write, uint32_t *shadow)
{
	const struct way *w = &c->block->ways[site % WAYS];
	if (way_serves(w, c, l, write)) {
		*shadow = w->read_only ? 0 : l->mask;
		return 0;
	}
	return check_global_slowly(c, l, site, write, shadow);
}

int mem_check_global(struct mem_ctx *c, const struct lanes *l, uint32_t site, bool write, uint32_t *shadow)
{
	return check_global(c, l, site, write, shadow);
}

/* Offsets in shared or local memory of `room` bytes.  They are 32-bit quantities: what is above does not count. */
static int check_window_slowly(struct mem_ctx *c, struct lanes *l, uint32_t room, bool write, bool shared)
{
	rebase(l, 0, 0xffffffff);
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		uint64_t at = lane_address(l, lane);
		if (at & (l->size - 1))
			return misaligned(c, l, lane, write, shared ? "shared-memory offset" : "local-memory offset");
		if (at + l->size > room)
			return mem_fault(c, FAULT_OUT_OF_BOUNDS, lane, at, l->size,
					 "%u-byte %s at offset %llu of %s memory (%u bytes a %s)", l->size, verb(write),
					 (unsigned long long)at, shared ? "shared" : "local", room,
					 shared ? "block" : "thread");
	}
	return 0;
}

MEM_INLINE int check_window(struct mem_ctx *c, struct lanes *l, uint32_t room, bool write, bool shared)
{
	if (l->hi < room && room - l->hi >= l->size && !(l->bits & (l->size - 1)))
		return 0;
	return check_window_slowly(c, l, room, write, shared);
}

int mem_check_shared(struct mem_ctx *c, struct lanes *l, bool write)
{
	return check_window(c, l, c->block->shared_bytes, write, true);
}

int mem_check_local(struct mem_ctx *c, struct lanes *l, bool write)
{
	return check_window(c, l, c->block->local_bytes, write, false);
}

/* ---- local memory ---- */

/* Lanes at their places in the block's memory: by warp, 16-byte unit, lane. */
static void place_local(struct mem_ctx *c, const struct lanes *l, struct lanes *placed)
{
	struct mem_block *b = c->block;
	uint64_t warp = (uint64_t)c->warp * b->local_units * LANES * 16;
	for (unsigned i = 0; i < LANES; i++) {
		uint64_t at = lane_address(l, i);
		placed->filled[i] = warp + (at / 16 * LANES + i) * 16 + at % 16;
	}
	placed->addr = placed->filled;
	placed->mask = l->mask;
	placed->size = l->size;
	placed->strided = false;
}

static void note_local_use(struct mem_block *b, uint32_t warp, const struct lanes *l)
{
	uint32_t first = (uint32_t)(l->lo / 16), end = (uint32_t)(l->hi / 16) + 1;
	uint32_t *dirty = &b->local_dirty[2 * warp];
	if (dirty[0] == dirty[1]) {
		dirty[0] = first;
		dirty[1] = end;
		return;
	}
	dirty[0] = first < dirty[0] ? first : dirty[0];
	dirty[1] = end > dirty[1] ? end : dirty[1];
}

static int load_local(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, struct lanes *l, void *const *rows)
{
	struct lanes placed;
	if (mem_check_local(c, l, false) < 0)
		return -1;
	place_local(c, l, &placed);
	mem_move_in(&placed, (uintptr_t)c->block->local, op, rows);
	mem_count_local(c, site, l, false);
	return 0;
}

static int store_local(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, struct lanes *l,
		       const void *const *rows)
{
	struct lanes placed;
	if (mem_check_local(c, l, true) < 0)
		return -1;
	note_local_use(c->block, c->warp, l);
	place_local(c, l, &placed);
	mem_move_out(&placed, (uintptr_t)c->block->local, op, rows);
	mem_count_local(c, site, l, true);
	return 0;
}

/* ---- load ---- */

static int load_mixed(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const uint64_t *addr,
		      uint32_t mask, void *const *rows)
{
	struct mem_op part = *op;
	while (mask) {
		uint32_t in;
		uint64_t at[LANES];
		part.space = (uint8_t)mem_window(addr, mask, &in, at);
		if (mem_load(c, &part, site, at, in, rows) < 0)
			return -1;
		mask &= ~in;
	}
	return 0;
}

MEM_INLINE int load_global(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const struct lanes *l,
			   void *const *rows)
{
	uint32_t shadow;
	if (check_global(c, l, op->site, false, &shadow) < 0)
		return -1;
	bool plain = l->strided && l->mask == ALL_LANES && (l->stride == l->size || !l->stride);
	if (plain && !shadow && mem_move_run(mem_at(c->mem, l->base), l->stride, op, rows)) {
		mem_count_run(c, site, l, op);
		return 0;
	}
	if (shadow && c->mem->checks && !(op->flags & MEM_UNCHECKED)) {
		enum access_kind k = op->flags & MEM_VOLATILE ? ACCESS_VOLATILE_READ : ACCESS_READ;
		if (mem_lines_access(c, l, shadow, op->site, k, NULL) < 0)
			return -1;
	}
	mem_move_in(l, mem_origin(c->mem), op, rows);
	mem_count_global(c, site, l, op->site, ACCESS_READ, op->flags);
	return 0;
}

static int load_shared(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, struct lanes *l,
		       void *const *rows)
{
	struct mem_block *b = c->block;
	if (check_window(c, l, b->shared_bytes, false, true) < 0)
		return -1;
	if (b->wtag && !(op->flags & MEM_UNCHECKED)) {
		enum access_kind k = op->flags & MEM_VOLATILE ? ACCESS_VOLATILE_READ : ACCESS_READ;
		if (mem_tags_access(c, l, op->site, k, NULL) < 0)
			return -1;
	}
	mem_move_in(l, (uintptr_t)b->shared, op, rows);
	if (op->joined == MEM_JOINED_ELSEWHERE)
		return 0;
	if (op->joined)
		l->size = op->joined;		/* beginning where it may: moving all addresses alike changes no count */
	mem_count_shared(c, site, l, op->site, ACCESS_READ);
	return 0;
}

/* How many different addresses lanes ask for. */
static unsigned distinct_addresses(const struct lanes *l)
{
	unsigned n = 0;
	if (l->strided)
		return l->stride ? (unsigned)__builtin_popcount(l->mask) : 1;
	for (uint32_t left = l->mask; left; n++) {
		uint64_t first = lane_address(l, first_lane(left));
		for (uint32_t m = left; m; m &= m - 1)
			if (lane_address(l, first_lane(m)) == first)
				left &= ~(1u << first_lane(m));
	}
	return n;
}

/* Constants and parameters.  Of the constant cache we count how often it is asked; that it can miss is left out. */
static int load_constant(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const struct lanes *l,
			 void *const *rows)
{
	uint32_t shadow;
	if (check_global(c, l, op->site, false, &shadow) < 0)
		return -1;
	mem_move_in(l, mem_origin(c->mem), op, rows);
	if (op->joined == MEM_JOINED_ELSEWHERE)
		return 0;
	unsigned passes = distinct_addresses(l);
	site->requests++;
	site->wavefronts += passes;
	c->counters->constant_load_requests++;
	c->counters->constant_load_passes += passes;
	return 0;
}

MEM_FAST int mem_load(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const uint64_t *addr,
		      uint32_t mask, void *const *rows)
{
	struct lanes l;
	if (!mask)
		return 0;
	make_lanes_of(c, &l, op, addr, mask);
	switch (resolve(&l, op->space)) {
	case PTX_SPACE_GLOBAL:
		return load_global(c, op, site, &l, rows);
	case PTX_SPACE_SHARED:
		return load_shared(c, op, site, &l, rows);
	case PTX_SPACE_LOCAL:
		return load_local(c, op, site, &l, rows);
	case PTX_SPACE_CONST:
	case PTX_SPACE_PARAM:
		return load_constant(c, op, site, &l, rows);
	default:
		return load_mixed(c, op, site, addr, mask, rows);
	}
}

/* ---- store ---- */

static int store_mixed(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const uint64_t *addr,
		       uint32_t mask, const void *const *rows)
{
	struct mem_op part = *op;
	while (mask) {
		uint32_t in;
		uint64_t at[LANES];
		part.space = (uint8_t)mem_window(addr, mask, &in, at);
		if (mem_store(c, &part, site, at, in, rows) < 0)
			return -1;
		mask &= ~in;
	}
	return 0;
}

/* Kind of a store for the shadow: those that may run beside atomics count as such. */
MEM_INLINE enum access_kind store_kind(const struct mem_op *op)
{
	return op->flags & MEM_VOLATILE ? ACCESS_VOLATILE_WRITE : ACCESS_WRITE;
}

static int store_global(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const struct lanes *l,
			const void *const *rows)
{
	uint32_t shadow;
	if (check_global(c, l, op->site, true, &shadow) < 0)
		return -1;
	if (shadow && c->mem->checks && !(op->flags & MEM_UNCHECKED)) {
		struct stored s = {op, rows};
		if (mem_lines_access(c, l, shadow, op->site, store_kind(op), &s) < 0)
			return -1;
	}
	mem_move_out(l, mem_origin(c->mem), op, rows);
	mem_count_global(c, site, l, op->site, ACCESS_WRITE, op->flags);
	return 0;
}

static int store_shared(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, struct lanes *l,
			const void *const *rows)
{
	struct mem_block *b = c->block;
	if (check_window(c, l, b->shared_bytes, true, true) < 0)
		return -1;
	if (b->wtag && !(op->flags & MEM_UNCHECKED)) {
		struct stored s = {op, rows};
		if (mem_tags_access(c, l, op->site, store_kind(op), &s) < 0)
			return -1;
	}
	mem_move_out(l, (uintptr_t)b->shared, op, rows);
	mem_count_shared(c, site, l, op->site, ACCESS_WRITE);
	return 0;
}

MEM_FAST int mem_store(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const uint64_t *addr,
		       uint32_t mask, const void *const *rows)
{
	struct lanes l;
	if (!mask)
		return 0;
	make_lanes_of(c, &l, op, addr, mask);
	switch (resolve(&l, op->space)) {
	case PTX_SPACE_GLOBAL:
	case PTX_SPACE_CONST:
	case PTX_SPACE_PARAM:
		return store_global(c, op, site, &l, rows);
	case PTX_SPACE_SHARED:
		return store_shared(c, op, site, &l, rows);
	case PTX_SPACE_LOCAL:
		return store_local(c, op, site, &l, rows);
	default:
		return store_mixed(c, op, site, addr, mask, rows);
	}
}
