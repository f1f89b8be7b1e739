/* cp.async: copies from global to shared memory that arrive when they are waited for.
 *
 * The source is read when the instruction runs, with all checks of a load; the bytes stay in the warp's queue, and the
 * destination is poison.  Every lane counts its groups: a transfer carries the number of the group that each of its lanes
 * has open, and a wait delivers, oldest first, what belongs to groups that are old enough.
 */
#include "mem_state.h"

#include <stdlib.h>

struct transfer {
	uint32_t mask;			/* lanes not yet delivered */
	uint32_t bytes, site;
	uint32_t group[LANES];
	uint32_t to[LANES];		/* offset in shared memory */
	unsigned char data[LANES][16];
};

struct async_queue {
	uint32_t open[LANES];		/* number of the group that takes the next transfers */
	struct transfer *transfers;
	uint32_t first, end, room;	/* those from first to end-1 are under way */
};

static struct async_queue *queue_of(struct mem_ctx *c)
{
	struct mem_block *b = c->block;
	if (!b->async) {
		b->async = calloc(b->warps ? b->warps : 1, sizeof *b->async);
		if (!b->async)
			BUG("out of memory");
	}
	return &b->async[c->warp];
}

void mem_async_reset(struct mem_block *b)
{
	for (uint32_t w = 0; b->async && w < b->warps; w++) {
		free(b->async[w].transfers);
		memset(&b->async[w], 0, sizeof b->async[w]);
	}
}

static struct transfer *push(struct async_queue *q)
{
	if (q->first == q->end)
		q->first = q->end = 0;
	if (q->end == q->room && q->first > q->room / 2) {
		memmove(q->transfers, q->transfers + q->first, (q->end - q->first) * sizeof *q->transfers);
		q->end -= q->first;
		q->first = 0;
	}
	if (q->end == q->room) {
		q->room = q->room ? 2 * q->room : 8;
		q->transfers = realloc(q->transfers, q->room * sizeof *q->transfers);
		if (!q->transfers)
			BUG("out of memory");
	}
	return &q->transfers[q->end++];
}

/* Relative to its window, if the address is a generic one. */
static void to_offsets(uint64_t *to, const uint64_t *addr)
{
	for (unsigned i = 0; i < LANES; i++)
		to[i] = addr[i] - MEM_SHARED_BASE < MEM_WINDOW ? addr[i] - MEM_SHARED_BASE : addr[i];
}

/* The lanes that read anything: with src-size 0 the source may be any address. */
static uint32_t reading(uint32_t mask, const uint32_t *src_bytes)
{
	for (unsigned i = 0; src_bytes && i < LANES; i++)
		if (!src_bytes[i])
			mask &= ~(1u << i);
	return mask;
}

static int check_sizes(struct mem_ctx *c, const uint64_t *dst, uint32_t mask, unsigned n, const uint32_t *src_bytes)
{
	for (uint32_t rest = mask; rest && src_bytes; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		if (src_bytes[lane] > n)
			return mem_fault(c, FAULT_BAD_INSTRUCTION, lane, dst[lane], n,
					 "cp.async of %u bytes with a src-size of %u: it must not be larger than the copy", n,
					 src_bytes[lane]);
	}
	return 0;
}

/* Check and count the part that loads; data gets it.  A lane that reads fewer bytes than n is aligned to n all the same,
 * but only what it reads has to be there. */
static int fetch(struct mem_ctx *c, struct mem_site *site, uint32_t index, const uint64_t *src, uint32_t mask, unsigned n,
		 const uint32_t *src_bytes, unsigned flags, unsigned char (*data)[16])
{
	struct lanes l;
	uint32_t whole = mask, shadow;
	for (unsigned i = 0; src_bytes && i < LANES; i++)
		if (src_bytes[i] < n)
			whole &= ~(1u << i);
	for (uint32_t rest = mask & ~whole; rest; rest &= rest - 1) {	/* byte by byte: an edge, and rare */
		unsigned lane = first_lane(rest);
		uint64_t one[LANES];
		if (src[lane] & (n - 1)) {
			mem_lanes(&l, src, 1u << lane, n);
			if (mem_check_global(c, &l, index, false, &shadow) < 0)
				return -1;
		}
		for (uint32_t k = 0; k < src_bytes[lane]; k++) {
			one[lane] = src[lane] + k;
			mem_lanes(&l, one, 1u << lane, 1);
			if (mem_check_global(c, &l, index, false, &shadow) < 0 ||
			    (shadow && c->mem->checks && mem_lines_access(c, &l, shadow, index, ACCESS_READ, NULL) < 0))
				return -1;
			data[lane][k] = *mem_at(c->mem, one[lane]);
		}
	}
	if (whole) {
		mem_lanes(&l, src, whole, n);
		if (mem_check_global(c, &l, index, false, &shadow) < 0 ||
		    (shadow && c->mem->checks && mem_lines_access(c, &l, shadow, index, ACCESS_READ, NULL) < 0))
			return -1;
		for (uint32_t rest = whole; rest; rest &= rest - 1)
			memcpy(data[first_lane(rest)], mem_at(c->mem, src[first_lane(rest)]), n);
	}
	mem_lanes(&l, src, mask, n);
	mem_count_global(c, site, &l, index, ACCESS_READ, flags);
	return 0;
}

int mem_async_copy(struct mem_ctx *c, struct mem_site *site, const uint64_t *dst, const uint64_t *src, uint32_t mask,
		   unsigned n, const uint32_t *src_bytes, unsigned flags)
{
	uint32_t index = mem_site_index(c, site), from = reading(mask, src_bytes);
	uint64_t to[LANES];
	unsigned char data[LANES][16];
	struct lanes l;
	if (!mask)
		return 0;
	to_offsets(to, dst);
	mem_lanes(&l, to, mask, n);
	if (check_sizes(c, dst, mask, n, src_bytes) < 0 || mem_check_shared(c, &l, true) < 0)
		return -1;
	memset(data, 0, sizeof data);
	if (from && fetch(c, site, index, src, from, n, src_bytes, flags, data) < 0)
		return -1;
	if (c->block->wtag && mem_tags_async_begin(c, &l, index) < 0)
		return -1;
	mem_count_shared(c, &(struct mem_site){0}, &l, index, ACCESS_COPY);
	struct async_queue *q = queue_of(c);
	struct transfer *t = push(q);
	t->mask = mask;
	t->bytes = n;
	t->site = index;
	memcpy(t->group, q->open, sizeof t->group);
	memcpy(t->data, data, sizeof t->data);
	for (unsigned i = 0; i < LANES; i++)
		t->to[i] = (uint32_t)lane_address(&l, i);
	return 0;
}

void mem_async_commit(struct mem_ctx *c, uint32_t mask)
{
	struct async_queue *q = queue_of(c);
	for (uint32_t rest = mask; rest; rest &= rest - 1)
		q->open[first_lane(rest)]++;
}

static void deliver(struct mem_ctx *c, struct transfer *t, uint32_t lanes)
{
	struct mem_block *b = c->block;
	for (uint32_t rest = lanes; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		memcpy(b->shared + t->to[lane], t->data[lane], t->bytes);
		if (b->wtag)
			mem_tags_async_end(b, c->warp, t->to[lane], t->bytes, t->site);
	}
	t->mask &= ~lanes;
}

void mem_async_wait(struct mem_ctx *c, uint32_t mask, unsigned newest, bool all)
{
	struct async_queue *q = queue_of(c);
	for (uint32_t i = q->first; i < q->end; i++) {
		struct transfer *t = &q->transfers[i];
		uint32_t due = 0;
		for (uint32_t rest = t->mask & mask; rest; rest &= rest - 1) {
			unsigned lane = first_lane(rest);
			if (all || (uint64_t)t->group[lane] + newest < q->open[lane])
				due |= 1u << lane;
		}
		deliver(c, t, due);
	}
	while (q->first < q->end && !q->transfers[q->first].mask)
		q->first++;
}
