/* The L1 caches of the SMs, and the L2 cache.
 *
 * L2 is sectored, set-associative, LRU, write-back, write-allocate without a fetch (a written sector is whole: L2 keeps
 * byte masks).  What misses is DRAM traffic, in sectors of 32 bytes.  A way is one word, line << 8 | dirty sectors << 4 |
 * valid sectors, and a set is kept in the order of use, so that a look-up touches two cache lines of the host.
 */
#include "model.h"

#include "../base/err.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 128, SECTOR = 32, TURN = 64, AHEAD = 12 };

struct l2 {
	uint64_t *ways;			/* n_sets * n_ways; 0: empty */
	uint64_t *written;		/* a bit a set: it may have dirty sectors, which small launches leave in few */
	uint32_t n_sets, n_ways;
	struct l1 **l1;			/* by SM */
	uint32_t n_l1, l1_bytes;
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
	l->written = calloc(l->n_sets / 64 + 1, sizeof *l->written);
	l->n_l1 = p->sms;
	l->l1 = calloc(p->sms, sizeof *l->l1);
	if (!l->ways || !l->written || !l->l1)
		BUG("out of memory");
	return l;
}

void l2_free(struct l2 *l)
{
	if (!l)
		return;
	for (uint32_t i = 0; i < l->n_l1; i++)
		l1_free(l->l1[i]);
	free(l->l1);
	free(l->ways);
	free(l->written);
	free(l);
}

void l2_flush(struct l2 *l)
{
	memset(l->ways, 0, (size_t)l->n_sets * l->n_ways * sizeof *l->ways);
	memset(l->written, 0, (l->n_sets / 64 + 1) * sizeof *l->written);
}

void l2_begin(struct l2 *l, uint32_t l1_bytes)
{
	l->l1_bytes = l1_bytes;
	for (uint32_t i = 0; i < l->n_l1; i++)
		if (l->l1[i])
			l1_begin(l->l1[i], l1_bytes, NULL);
}

/* Made when it is first used: small launches reach few SMs. */
static struct l1 *l1_of(struct l2 *l, uint32_t sm)
{
	if (!l->l1[sm]) {
		l->l1[sm] = l1_new();
		l1_begin(l->l1[sm], l->l1_bytes, NULL);
	}
	return l->l1[sm];
}

/* Sectors in a set of four. */
static unsigned count(uint64_t sectors)
{
	return 0x4332322132212110ull >> 4 * (sectors & 15) & 15;
}

static uint64_t set_index(const struct l2 *l, uint64_t line)
{
	uint32_t h = (uint32_t)((line * 0xa0761d6478bd642fu) >> 32);
	return (uint64_t)h * l->n_sets >> 32;
}

static uint64_t *set_of(const struct l2 *l, uint64_t line)
{
	return l->ways + set_index(l, line) * l->n_ways;
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

/* How far a load went for the sectors that its own block's L1 lacked. */
enum reached { REACHED_NOTHING, REACHED_L2, REACHED_DRAM };

static enum reached read_sectors(struct l2 *l, uint64_t line, uint64_t sectors, struct counters *c)
{
	uint64_t *way = touch(l, line, c), missing = sectors & ~*way;

	c->l2_read_sectors += count(sectors);
	c->l2_hit_sectors += count(sectors & *way);
	c->dram_read_bytes += (uint64_t)count(missing) * SECTOR;
	*way |= sectors;
	return missing ? REACHED_DRAM : REACHED_L2;
}

static void write_sectors(struct l2 *l, uint64_t line, uint64_t sectors, bool atomic, struct counters *c)
{
	uint64_t *way = touch(l, line, c), missing = sectors & ~*way;

	c->l2_write_sectors += count(sectors);
	if (atomic)					/* needs the old value */
		c->dram_read_bytes += (uint64_t)count(missing) * SECTOR;
	*way |= sectors << 4 | sectors;
	uint64_t set = set_index(l, line);
	l->written[set / 64] |= 1ull << set % 64;
}

/* Each request counts once, by the slowest of its parts.  What a neighbour brought counts as from L2: it may be on its
 * way still. */
static void count_request(struct trace *t, const struct trace_entry *e, enum reached reached, struct counters *c)
{
	if (e->request != t->request || !t->reached) {
		t->request = e->request;
		t->reached = REACHED_NOTHING;
	}
	if (t->reached == REACHED_NOTHING)
		c->l2_load_requests++;
	if (t->reached != REACHED_DRAM && reached == REACHED_DRAM)
		c->dram_load_requests++;
	if (t->reached < reached)
		t->reached = (uint8_t)reached;
}

/* The sets of large caches are far away for the host. */
static void prefetch(const struct l2 *l, const struct l1 *sm, const struct trace_entry *e)
{
	const uint64_t *set = set_of(l, e->line);

	__builtin_prefetch(set, 1);
	__builtin_prefetch(set + 8, 1);
	l1_prefetch(sm, e->line);
}

static void replay(struct l2 *l, struct l1 *sm, struct trace *t, const struct trace_entry *e, struct counters *c)
{
	unsigned sectors = e->sectors & 15u, hit;
	enum reached reached = REACHED_L2;

	switch ((enum trace_kind)e->write) {
	case TRACE_READ:
		hit = l1_look(sm, e->line, sectors);
		c->l1_hit_sectors += count(hit);
		c->l1_neighbour_sectors += count(hit);
		if (hit != sectors)
			reached = read_sectors(l, e->line, sectors & ~hit, c);
		count_request(t, e, reached, c);
		break;
	case TRACE_READ_PAST_L1:
		count_request(t, e, read_sectors(l, e->line, sectors, c), c);
		break;
	case TRACE_ATOMIC:
		l1_forget(sm, e->line, sectors);
		/* fall through */
	case TRACE_WRITE:
		write_sectors(l, e->line, sectors, e->write == TRACE_ATOMIC, c);
		break;
	}
}

void l2_replay(struct l2 *l, struct trace *const *traces, unsigned n, struct counters *c)
{
	bool more = true;

	for (size_t from = 0; more; from += TURN) {
		more = false;
		for (unsigned i = 0; i < n; i++) {
			struct trace *t = traces[i];
			struct l1 *sm = l1_of(l, i % l->n_l1);
			size_t end = t->n < from + TURN ? t->n : from + TURN;
			for (size_t j = from; j < end && j < from + AHEAD; j++)
				prefetch(l, sm, &t->entries[j]);
			for (size_t j = from; j < end; j++) {
				if (j + AHEAD < end)
					prefetch(l, sm, &t->entries[j + AHEAD]);
				replay(l, sm, t, &t->entries[j], c);
			}
			more |= t->n > from + TURN;
		}
	}
	for (unsigned i = 0; i < n; i++)
		traces[i]->n = traces[i]->reached = 0;
}

static void write_back_set(struct l2 *l, uint64_t *set, struct counters *c)
{
	for (uint32_t k = 0; k < l->n_ways; k++) {
		c->dram_write_bytes += (uint64_t)count(set[k] >> 4) * SECTOR;
		set[k] &= ~0xf0ull;
	}
}

void l2_write_back(struct l2 *l, struct counters *c)
{
	for (uint32_t i = 0; i <= l->n_sets / 64; i++) {
		for (uint64_t w = l->written[i]; w; w &= w - 1)
			write_back_set(l, l->ways + (64 * (size_t)i + (unsigned)__builtin_ctzll(w)) * l->n_ways, c);
		l->written[i] = 0;
	}
}
