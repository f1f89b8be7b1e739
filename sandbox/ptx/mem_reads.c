/* Reads of shared memory put off.
 *
 * Reads race with nothing until somebody writes, and mostly nobody does before the next barrier: a tile is filled, then
 * used.  So from a barrier on until the first deed that is no plain read, reads are only written into a log; that deed
 * has them noted in the tags first, in their order, and a barrier of the whole block forgets them.  That leaves to check
 * whether what is read was ever written, for which lines are known that are sound: all of them written, no cp.async on
 * its way to them, no word complex.
 */
#include "mem_state.h"

#include <stdlib.h>

enum { ROOM = 1 << 16, HEAD = 5 };		/* words of the log */

/* A block whose intervals mix reads and writes gains nothing: for so many it notes at once. */
enum { PATIENCE = 15 };

enum { WARP_BITS = 8, SIZE_BITS = 8, STRIDED = 1 << (WARP_BITS + SIZE_BITS) };

bool mem_reads_new(struct mem_block *b)
{
	b->sound = calloc(b->granules * GRANULE / LINE / 64 + 1, sizeof *b->sound);
	b->log = malloc(ROOM * sizeof *b->log);
	b->puts_off = true;
	b->version = 1;
	return b->sound && b->log;
}

void mem_reads_free(struct mem_block *b)
{
	free(b->sound);
	free(b->log);
}

void mem_reads_new_interval(struct mem_block *b)
{
	b->n_log = 0;
	b->puts_off = !b->notes_at_once;
	b->notes_at_once -= b->notes_at_once > 0;
}

void mem_reads_reset(struct mem_block *b)
{
	memset(b->sound, 0, (b->granules * GRANULE / LINE / 64 + 1) * sizeof *b->sound);
	b->version++;
}

/* ---- the log ---- */

static void put(struct mem_block *b, uint32_t warp, const struct lanes *l, uint32_t site)
{
	uint32_t *e = b->log + b->n_log;
	e[0] = l->mask;
	e[1] = site;
	e[2] = warp | l->size << WARP_BITS | (l->strided ? STRIDED : 0);
	e[3] = (uint32_t)l->base;
	e[4] = (uint32_t)l->stride;
	b->n_log += HEAD;
	if (l->strided)
		return;
	for (unsigned i = 0; i < LANES; i++)
		e[HEAD + i] = (uint32_t)l->addr[i];
	b->n_log += LANES;
}

/* The entry at `at`; where the next one begins. */
static uint32_t take(const struct mem_block *b, uint32_t at, uint32_t *warp, struct lanes *l, uint32_t *site)
{
	const uint32_t *e = b->log + at;
	*warp = e[2] & ((1 << WARP_BITS) - 1);
	*site = e[1];
	l->mask = e[0];
	l->size = e[2] >> WARP_BITS & ((1 << SIZE_BITS) - 1);
	l->strided = e[2] & STRIDED;
	l->base = e[3];
	l->stride = (uint64_t)(int32_t)e[4];
	l->addr = l->filled;
	if (l->strided)
		return at + HEAD;
	for (unsigned i = 0; i < LANES; i++)
		l->filled[i] = e[HEAD + i];
	return at + HEAD + LANES;
}

static void note_all(struct mem_block *b)
{
	struct mem_ctx c = {.mem = b->mem, .block = b};
	struct lanes l;
	uint32_t site;
	for (uint32_t at = 0; at < b->n_log;) {
		at = take(b, at, &c.warp, &l, &site);
		if (mem_tags_note(&c, &l, site, ACCESS_READ, NULL) < 0)
			BUG("a read is at fault after it was done");
	}
	b->n_log = 0;
}

void mem_reads_settle(struct mem_block *b)
{
	if (!b->puts_off)
		return;
	b->puts_off = false;
	if (!b->n_log)
		return;
	b->notes_at_once = PATIENCE;
	note_all(b);
}

/* ---- soundness ---- */

MEM_INLINE bool is_sound(const struct mem_block *b, uint64_t line)
{
	return b->sound[line / 64] >> line % 64 & 1;
}

MEM_INLINE bool range_is_sound(const struct mem_block *b, uint64_t from, uint64_t end)
{
	uint64_t first = from / LINE, last = (end - 1) / LINE;
	for (uint64_t i = first / 64; i <= last / 64; i++) {
		uint64_t want = ~0ull;
		if (i == first / 64)
			want &= ~0ull << first % 64;
		if (i == last / 64)
			want &= ~0ull >> (63 - last % 64);
		if (want & ~b->sound[i])
			return false;
	}
	return true;
}

/* Look at the first lines of a range that aren't known to be sound. */
MEM_INLINE void learn(struct mem_block *b, uint64_t from, uint64_t end)
{
	enum { AT_ONCE = 8 };
	uint64_t last = (end - 1) / LINE;
	for (uint64_t line = from / LINE, n = 0; line <= last && n < AT_ONCE; line++) {
		if (is_sound(b, line))
			continue;
		n++;
		uint32_t doubt = 0;
		for (unsigned i = 0; i < LINE / GRANULE; i++)
			doubt |= mem_tags_unsound(b->wtag[line * (LINE / GRANULE) + i]);
		if (!doubt)
			b->sound[line / 64] |= 1ull << line % 64;
	}
}

/* Was all that the lanes read written, and is nothing on its way to it? */
MEM_INLINE bool lanes_are_sound(const struct mem_block *b, const struct lanes *l)
{
	uint32_t doubt = 0, first = l->mask & -l->mask;
	for (uint32_t rest = l->strided && !l->stride ? first : l->mask; rest; rest &= rest - 1) {
		uint64_t at = lane_address(l, first_lane(rest));
		const uint32_t *t = b->wtag + at / GRANULE;
		if (l->size < GRANULE)
			doubt |= mem_tags_unsound(*t | (TAG_INIT & ~(((1u << l->size) - 1) << at % GRANULE)));
		for (unsigned k = 0; k < l->size / GRANULE; k++)
			doubt |= mem_tags_unsound(t[k]);
	}
	return !doubt;
}

/* Lines with holes, as of tiles with padding, are never sound; but who reads a tile reads it again.  The lanes of a stride lie alike
 * wherever the instruction is; other shapes are known by serial. */
MEM_INLINE bool is_proved(struct mem_block *b, const struct lanes *l)
{
	uint32_t base = (uint32_t)l->base;
	uint64_t lie = l->strided ? l->stride << 1 | 1 : (uint64_t)l->shape << 1;
	struct proof *p = &b->proofs[((uint32_t)lie * 37 + base / GRANULE + base / LINE) % PROOFS];
	if (p->version == b->version && p->lie == lie && p->base == base && p->size == l->size)
		return true;
	learn(b, l->lo, l->hi + l->size);
	if (!range_is_sound(b, l->lo, l->hi + l->size) && !lanes_are_sound(b, l))
		return false;
	if (lie)
		*p = (struct proof){lie, base, l->size, b->version};
	return true;
}

MEM_FAST int mem_reads_access(struct mem_ctx *c, const struct lanes *l, uint32_t site)
{
	struct mem_block *b = c->block;
	if (!range_is_sound(b, l->lo, l->hi + l->size) && !is_proved(b, l)) {
		mem_reads_settle(b);
		return mem_tags_note(c, l, site, ACCESS_READ, NULL);
	}
	if (b->n_log + HEAD + LANES > ROOM)
		note_all(b);
	put(b, c->warp, l, site);
	return 0;
}
