/* cp.async.bulk between global and shared memory.  Copies to shared memory report to an mbarrier, and arrive when someone waits there.
 *
 * The source is read when the instruction runs, with all checks of a load.  Nothing says when the bytes arrive but the mbarrier,
 * so they arrive as late as they may: when a wait finds that only they are missing.  Until then the destination is poison, and
 * who reads it without a wait, or after a wait for another phase, is told so.  They arrive as the waiting warp's writes, which is
 * ordered behind the issuing warp and, through the mbarrier, before all who wait there.
 */
#include "mem_state.h"

#include <stdlib.h>

enum { UNIT = 16, CHUNK = UNIT * LANES };

struct bulk_copy {
	struct bulk_copy *next;
	uint64_t object;
	uint32_t to, size, site;
	unsigned char data[];
};

void mem_bulk_reset(struct mem_block *b)
{
	for (struct bulk_copy *c = b->bulk, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	b->bulk = NULL;
}

bool mem_bulk_pending(const struct mem_block *b, uint64_t object)
{
	for (const struct bulk_copy *c = b->bulk; c; c = c->next)
		if (c->object == object)
			return true;
	return false;
}

bool mem_bulk_covers(const struct mem_block *b, uint64_t at)
{
	for (const struct bulk_copy *c = b->bulk; c; c = c->next)
		if (at >= c->to && at < (uint64_t)c->to + c->size)
			return true;
	return false;
}

/* The lanes at 16 bytes each from `at` on; idle ones at the first. */
static uint32_t spread(uint64_t *addr, uint64_t at, uint32_t bytes)
{
	uint32_t lanes = bytes / UNIT;
	for (unsigned i = 0; i < LANES; i++)
		addr[i] = at + UNIT * (i < lanes ? i : 0);
	return lanes == LANES ? ALL_LANES : (1u << lanes) - 1;
}

static struct mem_op operation(struct mem_ctx *c, struct mem_site *site, uint8_t space)
{
	return (struct mem_op){.space = space, .bytes = 4, .n = 4, .flags = MEM_NO_L1, .type = PTX_T_B32, .site = mem_site_index(c, site)};
}

/* Up to CHUNK bytes of the source. */
static int fetch(struct mem_ctx *c, struct mem_site *site, uint64_t src, uint32_t bytes, unsigned char *data)
{
	struct mem_op in = operation(c, site, PTX_SPACE_GLOBAL);
	uint32_t words[4][LANES] __attribute__((aligned(64)));
	uint64_t addr[LANES];
	void *rows[4] = {words[0], words[1], words[2], words[3]};
	uint32_t mask = spread(addr, src, bytes);
	if (mem_load(c, &in, site, addr, mask, rows) < 0)
		return -1;
	for (uint32_t i = 0; i < bytes / UNIT; i++)
		for (unsigned k = 0; k < 4; k++)
			memcpy(data + UNIT * i + 4 * k, &words[k][i], 4);
	return 0;
}

static int out_chunk(struct mem_ctx *c, struct mem_site *site, uint64_t dst, uint64_t src, uint32_t bytes)
{
	struct mem_op in = operation(c, site, PTX_SPACE_SHARED), out = operation(c, site, PTX_SPACE_GLOBAL);
	uint32_t words[4][LANES] __attribute__((aligned(64)));
	uint64_t from[LANES], to[LANES];
	void *rows[4] = {words[0], words[1], words[2], words[3]};
	uint32_t mask = spread(from, src, bytes);
	spread(to, dst, bytes);
	if (mem_load(c, &in, site, from, mask, rows) < 0)
		return -1;
	return mem_store(c, &out, site, to, mask, (const void *const *)rows);
}

int mem_bulk_out(struct mem_ctx *c, struct mem_site *site, uint64_t dst, uint64_t src, uint32_t size)
{
	for (uint32_t at = 0; at < size; at += CHUNK)
		if (out_chunk(c, site, dst + at, src + at, size - at < CHUNK ? size - at : CHUNK) < 0)
			return -1;
	return 0;
}

/* Up to CHUNK bytes of the destination: there, counted, and poison from now on. */
static int claim(struct mem_ctx *c, struct mem_site *site, uint64_t dst, uint32_t bytes)
{
	struct lanes l;
	uint64_t addr[LANES];
	uint32_t index = mem_site_index(c, site);
	mem_lanes(&l, addr, spread(addr, dst, bytes), UNIT);
	if (mem_check_shared(c, &l, true) < 0 || (c->block->wtag && mem_tags_async_begin(c, &l, index) < 0))
		return -1;
	mem_count_shared(c, site, &l, index, ACCESS_WRITE);
	return 0;
}

static void deliver(struct mem_ctx *c, const struct bulk_copy *copy)
{
	struct mem_block *b = c->block;
	memcpy(b->shared + copy->to, copy->data, copy->size);
	if (b->wtag)
		mem_tags_async_end(b, c->warp, copy->to, copy->size, copy->site);
}

int mem_bulk_copy(struct mem_ctx *c, struct mem_site *site, uint64_t dst, uint64_t src, uint32_t size, uint64_t object)
{
	struct mem_block *b = c->block;
	struct bulk_copy *copy;
	if (!size)
		return 1;
	for (uint32_t at = 0; at < size; at += CHUNK)		/* first: the size is not to be trusted before */
		if (claim(c, site, dst + at, size - at < CHUNK ? size - at : CHUNK) < 0)
			return -1;
	copy = malloc(sizeof *copy + size);
	if (!copy)
		BUG("out of memory");
	*copy = (struct bulk_copy){.object = object, .to = (uint32_t)dst, .size = size, .site = mem_site_index(c, site)};
	for (uint32_t at = 0; at < size; at += CHUNK)
		if (fetch(c, site, src + at, size - at < CHUNK ? size - at : CHUNK, copy->data + at) < 0) {
			free(copy);
			return -1;
		}
	if (!b->wtag) {			/* nobody would be told: no need to keep it */
		deliver(c, copy);
		free(copy);
		return 1;
	}
	struct bulk_copy **last = &b->bulk;
	while (*last)
		last = &(*last)->next;
	*last = copy;
	return 0;
}

uint32_t mem_bulk_arrive(struct mem_ctx *c, uint64_t object)
{
	uint32_t bytes = 0;
	for (struct bulk_copy **at = &c->block->bulk, *copy; (copy = *at);) {
		if (copy->object != object) {
			at = &copy->next;
			continue;
		}
		deliver(c, copy);
		bytes += copy->size;
		*at = copy->next;
		free(copy);
	}
	return bytes;
}
