/* The L2 cache: sectored, set-associative, LRU, write-back, write-allocate without a fetch (a written sector is whole:
 * L2 keeps byte masks).  What misses is DRAM traffic, in sectors of 32 bytes.
 *
 * A way is one word, line << 8 | dirty sectors << 4 | valid sectors, and a set is kept in the order of use, so that a
 * look-up touches two cache lines of the host.
 */
#include "model.h"

#include "../base/err.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 128, SECTOR = 32, TURN = 64 };

struct l2 {
	uint64_t *ways;			/* n_sets * n_ways; 0: empty */
	uint32_t n_sets, n_ways;
};

struct l2 *l2_new(const struct profile *p)
{
	struct l2 *l = calloc(1, sizeof *l);

	if (!l)
		BUG("out of memory");
	l->n_ways = p->l2_ways;
	l->n_sets = p->l2_bytes / LINE / p->l2_ways;
	if (!l->n_sets)
		l->n_sets = 1;
	l->ways = calloc((size_t)l->n_sets * l->n_ways, sizeof *l->ways);
	if (!l->ways)
		BUG("out of memory");
	return l;
}

void l2_free(struct l2 *l)
{
	if (!l)
		return;
	free(l->ways);
	free(l);
}

void l2_flush(struct l2 *l)
{
	memset(l->ways, 0, (size_t)l->n_sets * l->n_ways * sizeof *l->ways);
}

static unsigned count(uint64_t sectors)
{
	return (unsigned)__builtin_popcountll(sectors & 15);
}

static uint64_t *set_of(const struct l2 *l, uint64_t line)
{
	uint32_t h = (uint32_t)((line * 0xa0761d6478bd642fu) >> 32);
	return l->ways + ((uint64_t)h * l->n_sets >> 32) * l->n_ways;
}

/* The line's word, moved to the front of its set; a line that had to go is written back. */
static uint64_t *touch(struct l2 *l, uint64_t line, struct counters *c)
{
	uint64_t *set = set_of(l, line), word = line << 8;
	uint32_t i = 0;

	while (i < l->n_ways && set[i] && set[i] >> 8 != line)
		i++;
	if (i == l->n_ways) {				/* full of other lines */
		i--;
		c->dram_write_bytes += (uint64_t)count(set[i] >> 4) * SECTOR;
	} else if (set[i]) {
		word = set[i];
	}
	memmove(set + 1, set, i * sizeof *set);
	set[0] = word;
	return set;
}

static void replay(struct l2 *l, const struct trace_entry *t, struct counters *c)
{
	uint64_t *way = touch(l, t->line, c), sectors = t->sectors & 15u, missing = sectors & ~*way;

	if (t->write) {
		c->l2_write_sectors += count(sectors);
		if (t->write == 2)			/* an atomic needs the old value */
			c->dram_read_bytes += (uint64_t)count(missing) * SECTOR;
		*way |= sectors << 4;
	} else {
		c->l2_read_sectors += count(sectors);
		c->l2_hit_sectors += count(sectors & *way);
		c->dram_read_bytes += (uint64_t)count(missing) * SECTOR;
	}
	*way |= sectors;
}

void l2_replay(struct l2 *l, struct trace *const *traces, unsigned n, struct counters *c)
{
	bool more = true;

	for (size_t from = 0; more; from += TURN) {
		more = false;
		for (unsigned i = 0; i < n; i++) {
			const struct trace *t = traces[i];
			size_t end = t->n < from + TURN ? t->n : from + TURN;
			for (size_t j = from; j < end; j++)
				replay(l, &t->entries[j], c);
			more |= t->n > from + TURN;
		}
	}
	for (unsigned i = 0; i < n; i++)
		traces[i]->n = 0;
}

void l2_write_back(struct l2 *l, struct counters *c)
{
	size_t n = (size_t)l->n_sets * l->n_ways;

	for (size_t i = 0; i < n; i++) {
		c->dram_write_bytes += (uint64_t)count(l->ways[i] >> 4) * SECTOR;
		l->ways[i] &= ~0xf0ull;
	}
}
