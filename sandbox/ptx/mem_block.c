/* A resident block's part of memory: shared and local memory, and the clocks that order its warps.
 *
 * As long as every barrier is one of the whole block, order is plain: what came before the last barrier is ordered before
 * everything now, what came after it is not, and one number, the interval, tells them apart.  With the first barrier of
 * some warps only, or a release, the block turns precise: each warp has a vector clock, clock[w][u] being the last time of
 * warp u that is ordered before what warp w does now, until the next barrier of the whole block makes order plain again.
 */
#include "mem_state.h"

#include <stdlib.h>
#include <sys/mman.h>

struct clock_object {
	uint64_t id;
	uint32_t clock[MAX_WARPS];
};

static size_t local_size(const struct mem_block *b)
{
	return (size_t)b->warps * b->local_units * LANES * 16;
}

static bool local_new(struct mem_block *b)
{
	b->local_units = (b->local_bytes + 15) / 16;
	b->local_dirty = calloc(2 * b->warps, sizeof *b->local_dirty);
	if (!b->local_units)
		return b->local_dirty;
	b->local = mmap(NULL, local_size(b), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->local == MAP_FAILED)
		b->local = NULL;
	return b->local && b->local_dirty;
}

struct mem_block *mem_block_new(struct mem *m, uint32_t shared, uint32_t local, uint32_t warps)
{
	if (warps > MAX_WARPS)
		BUG("a block of %u warps", warps);
	struct mem_block *b = aligned_alloc(64, (sizeof *b + 63) / 64 * 64);
	if (!b)
		BUG("out of memory");
	memset(b, 0, sizeof *b);
	b->mem = m;
	b->shared_bytes = shared;
	b->local_bytes = local;
	b->warps = warps;
	b->epoch = 1;
	b->shared = aligned_alloc(LINE, (shared + LINE) / LINE * (size_t)LINE);
	if (!b->shared || !local_new(b) || (m->checks && !mem_tags_new(b)))
		BUG("out of memory: a block of %u bytes shared, %u warps, %u bytes local a thread", shared, warps, local);
	memset(b->shared, 0, shared);
	return b;
}

static void local_reset(struct mem_block *b)
{
	for (uint32_t w = 0; w < b->warps && b->local; w++) {
		uint32_t *dirty = &b->local_dirty[2 * w];
		unsigned char *warp = b->local + (size_t)w * b->local_units * LANES * 16;
		memset(warp + (size_t)dirty[0] * LANES * 16, 0, (size_t)(dirty[1] - dirty[0]) * LANES * 16);
		dirty[0] = dirty[1] = 0;
	}
}

void mem_block_reset(struct mem_block *b)
{
	mem_lines_merge(b);
	mem_flush_ways(b);
	mem_async_reset(b);
	mem_bulk_reset(b);
	memset(b->shared, 0, b->shared_bytes);
	local_reset(b);
	if (b->wtag)
		mem_tags_reset(b);
	b->precise = false;
	b->epoch = 1;
	b->n_objects = 0;
}

void mem_block_free(struct mem_block *b)
{
	if (!b)
		return;
	mem_lines_merge(b);
	mem_lines_free(b);
	mem_flush_ways(b);
	mem_async_reset(b);
	mem_bulk_reset(b);
	free(b->async);
	mem_tags_free(b);
	if (b->local)
		munmap(b->local, local_size(b));
	free(b->local_dirty);
	free(b->objects);
	free(b->shared);
	free(b);
}

const unsigned char *mem_shared_at(const struct mem_block *b, uint64_t offset, uint32_t bytes)
{
	return bytes <= b->shared_bytes && offset <= b->shared_bytes - bytes ? b->shared + offset : NULL;
}

/* ---- order ---- */

static void turn_precise(struct mem_block *b)
{
	if (b->precise)
		return;
	mem_reads_settle(b);
	b->precise = true;
	for (uint32_t w = 0; w < b->warps; w++)
		for (uint32_t u = 0; u < b->warps; u++)
			b->clock[w][u] = b->epoch - (w != u);
}

static void join(uint32_t *into, const uint32_t *from)
{
	for (unsigned i = 0; i < MAX_WARPS; i++)
		into[i] = from[i] > into[i] ? from[i] : into[i];
}

static void new_interval(struct mem_block *b)
{
	for (uint32_t w = 0; w < b->warps && b->precise; w++)
		b->epoch = b->clock[w][w] > b->epoch ? b->clock[w][w] : b->epoch;
	b->epoch++;
	b->precise = false;
	b->n_objects = 0;
	if (b->wtag)
		mem_tags_new_interval(b);
}

static void partial_barrier(struct mem_block *b, uint32_t arrived, uint32_t waited)
{
	uint32_t all[MAX_WARPS] = {0};
	turn_precise(b);
	for (uint32_t rest = arrived; rest; rest &= rest - 1)
		join(all, b->clock[first_lane(rest)]);
	for (uint32_t rest = waited; rest; rest &= rest - 1)
		join(b->clock[first_lane(rest)], all);
	for (uint32_t rest = arrived; rest; rest &= rest - 1)
		b->clock[first_lane(rest)][first_lane(rest)]++;
}

void mem_barrier(struct mem_block *b, uint32_t arrived, uint32_t waited)
{
	uint32_t all = b->warps == MAX_WARPS ? ~0u : (1u << b->warps) - 1;
	arrived &= all;
	waited &= all;
	if (arrived == all && waited == all)
		new_interval(b);
	else
		partial_barrier(b, arrived, waited);
}

static struct clock_object *find_object(struct mem_block *b, uint64_t id)
{
	for (uint32_t i = 0; i < b->n_objects; i++)
		if (b->objects[i].id == id)
			return &b->objects[i];
	return NULL;
}

void mem_release_clock(struct mem_block *b, uint32_t warp, uint64_t object)
{
	turn_precise(b);
	struct clock_object *o = find_object(b, object);
	if (!o) {
		if (b->n_objects == b->room_objects) {
			b->room_objects = b->room_objects ? 2 * b->room_objects : 16;
			b->objects = realloc(b->objects, b->room_objects * sizeof *b->objects);
			if (!b->objects)
				BUG("out of memory");
		}
		o = &b->objects[b->n_objects++];
		memset(o, 0, sizeof *o);
		o->id = object;
	}
	join(o->clock, b->clock[warp]);
	b->clock[warp][warp]++;
}

void mem_acquire_clock(struct mem_block *b, uint32_t warp, uint64_t object)
{
	const struct clock_object *o = b->precise ? find_object(b, object) : NULL;
	if (o)
		join(b->clock[warp], o->clock);
}
