/* An L1 cache, of a block or of an SM: sectored, LRU, 16 ways, sets picked by a hash of the line.
 *
 * Real L1s are close to fully associative.  Emptying the cache for the next block costs nothing: tags carry the number of
 * the block.  The ways of a set stay where they are; their order of use is one word, four bits a way, and a byte of each
 * tag finds the way that may hold a line in one comparison.
 */
#include "model.h"

#include "../base/err.h"

#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>

enum { WAYS = 16, LINE = 128, EPOCH_BITS = 22 };

/* epoch << 42 | line: lines are addresses of 47 bits or so, by 128 */
static const uint64_t LINE_MASK = (1ull << (64 - EPOCH_BITS)) - 1;

struct set {
	uint64_t order;			/* ways, the most recently used lowest */
	uint8_t sectors[WAYS];
	uint8_t hints[WAYS];		/* hint_of each tag */
	uint64_t tags[WAYS];		/* 0: empty */
} __attribute__((aligned(64)));

static const uint64_t FIRST_ORDER = 0xfedcba9876543210;

struct l1 {
	struct set *sets;
	uint32_t n_sets, room;
	uint32_t ways;			/* of each set: fewer than WAYS in a tiny cache */
	uint64_t epoch;
	uint32_t request;
	struct trace *trace;
};

struct l1 *l1_new(void)
{
	struct l1 *l = calloc(1, sizeof *l);

	if (!l)
		BUG("out of memory");
	return l;
}

void l1_free(struct l1 *l)
{
	if (!l)
		return;
	free(l->sets);
	free(l);
}

static void clear(struct l1 *l)
{
	memset(l->sets, 0, l->room * sizeof *l->sets);
	for (uint32_t i = 0; i < l->room; i++)
		l->sets[i].order = FIRST_ORDER;
	l->epoch = 1;
}

void l1_begin(struct l1 *l, uint32_t bytes, struct trace *t)
{
	uint32_t lines = bytes / LINE, ways = lines < WAYS ? lines : WAYS;

	l->n_sets = lines < WAYS ? 1 : lines / WAYS;
	if (l->n_sets > l->room) {
		free(l->sets);
		l->sets = aligned_alloc(64, l->n_sets * sizeof *l->sets);
		if (!l->sets)
			BUG("out of memory");
		l->room = l->n_sets;
		clear(l);
	} else if (ways != l->ways || ++l->epoch >> EPOCH_BITS) {
		clear(l);
	}
	l->ways = ways;
	l->trace = t;
	l->request = 0;
}

static __attribute__((noinline)) void pass_on(struct l1 *l, uint64_t line, unsigned sectors, enum trace_kind write)
{
	struct trace *t = l->trace;
	struct trace_entry *last = t->n ? &t->entries[t->n - 1] : NULL;

	if (last && last->line == line && last->write == write && last->request == l->request && !(last->sectors & sectors)) {
		last->sectors = (uint8_t)(last->sectors | sectors);
		return;
	}
	if (t->n == t->room) {
		t->room = t->room ? t->room * 2 : 256;
		t->entries = realloc(t->entries, t->room * sizeof *t->entries);
		if (!t->entries)
			BUG("out of memory (trace of %zu entries)", t->room);
	}
	t->entries[t->n++] = (struct trace_entry){
		.line = line, .sectors = (uint8_t)sectors, .write = (uint8_t)write, .request = l->request};
}

void l1_request(struct l1 *l)
{
	l->request++;
}

static struct set *set_of(const struct l1 *l, uint64_t line)
{
	uint32_t h = (uint32_t)((line * 0x9e3779b97f4a7c15u) >> 32);
	return &l->sets[(uint64_t)h * l->n_sets >> 32];
}

static uint64_t tag_of(const struct l1 *l, uint64_t line)
{
	return l->epoch << (64 - EPOCH_BITS) | (line & LINE_MASK);
}

static uint8_t hint_of(uint64_t tag)
{
	return (uint8_t)(tag ^ tag >> 8 ^ tag >> (64 - EPOCH_BITS));
}

/* The way that holds a line, or -1. */
static int find(const struct set *s, uint64_t tag)
{
	__m128i hint = _mm_set1_epi8((char)hint_of(tag)), hints = _mm_loadu_si128((const __m128i *)s->hints);
	unsigned may = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(hint, hints));

	for (; may; may &= may - 1)
		if (s->tags[__builtin_ctz(may)] == tag)
			return __builtin_ctz(may);
	return -1;
}

/* Make a way the most recently used. */
static void to_front(struct set *s, unsigned way)
{
	uint64_t differs = s->order ^ way * 0x1111111111111111u;
	uint64_t equal = (differs - 0x1111111111111111u) & ~differs & 0x8888888888888888u;	/* lowest bit: its place */
	uint64_t before = (1ull << (__builtin_ctzll(equal) & ~3)) - 1;

	s->order = (s->order & ~(before << 4 | 15)) | (s->order & before) << 4 | way;
}

static inline __attribute__((always_inline)) unsigned look(struct l1 *l, uint64_t line, unsigned sectors)
{
	if (!l->ways)
		return 0;
	uint64_t tag = tag_of(l, line);
	struct set *s = set_of(l, line);
	unsigned way = s->order & 15, have;

	if (s->tags[way] != tag) {
		int at = find(s, tag);
		way = at >= 0 ? (unsigned)at : (unsigned)(s->order >> 4 * (l->ways - 1)) & 15;
		to_front(s, way);
		if (at < 0) {
			s->tags[way] = tag;
			s->hints[way] = hint_of(tag);
			s->sectors[way] = 0;
		}
	}
	have = s->sectors[way];
	s->sectors[way] = (uint8_t)(have | sectors);
	return have & sectors;
}

unsigned l1_look(struct l1 *l, uint64_t line, unsigned sectors)
{
	return look(l, line, sectors);
}

void l1_prefetch(const struct l1 *l, uint64_t line)
{
	const struct set *s = set_of(l, line);

	__builtin_prefetch(s, 1);
	__builtin_prefetch(s->tags + 3, 1);
	__builtin_prefetch(s->tags + 11, 1);
}

void l1_forget(struct l1 *l, uint64_t line, unsigned sectors)
{
	struct set *s = l->ways ? set_of(l, line) : NULL;
	int at = s ? find(s, tag_of(l, line)) : -1;

	if (at >= 0)
		s->sectors[at] = (uint8_t)(s->sectors[at] & ~sectors);
}

unsigned l1_load(struct l1 *l, uint64_t line, unsigned sectors, bool allocate)
{
	unsigned hit = allocate ? look(l, line, sectors) : 0;

	if (__builtin_expect(hit != sectors, 0))
		pass_on(l, line, sectors & ~hit, allocate ? TRACE_READ : TRACE_READ_PAST_L1);
	return hit;
}

void l1_store(struct l1 *l, uint64_t line, unsigned sectors)
{
	pass_on(l, line, sectors, TRACE_WRITE);
}

void l1_atomic(struct l1 *l, uint64_t line, unsigned sectors)
{
	l1_forget(l, line, sectors);
	pass_on(l, line, sectors, TRACE_ATOMIC);
}
