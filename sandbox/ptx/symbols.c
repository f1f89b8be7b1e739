/* Names of a PTX module while it is parsed: see symbols.h.
 *
 * One hash table of names for the whole text; each name has a stack of what it means, innermost scope on top, so that
 * leaving a scope costs no more than its own names.  A range such as `%r<173>` is one entry, under its prefix: a name
 * that ends in digits is looked up by each of its prefixes too.  The hash is keyed, for the names are hostile.
 */
#include "symbols.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

struct symbol {
	const char *s;
	uint32_t n;
	uint32_t hash;
	struct binding *names, *ranges;
};

struct symbols {
	struct arena *arena;
	struct symbol **slots;
	size_t n, room;				/* room: a power of two */
	uint64_t key;
	uint32_t depth;
	struct binding *scopes[PTX_MAX_NESTING + 4];
	struct binding *spare;
};

struct symbols *symbols_new(struct arena *a)
{
	struct symbols *t = arena_alloc(a, sizeof *t);
	const void *random = (const void *)getauxval(AT_RANDOM);

	t->arena = a;
	t->key = 0x9e3779b97f4a7c15u;
	if (random)
		memcpy(&t->key, random, sizeof t->key);
	t->room = 256;
	t->slots = calloc(t->room, sizeof *t->slots);
	if (!t->slots)
		BUG("out of memory");
	return t;
}

void symbols_free(struct symbols *t)
{
	free(t->slots);
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)a * b;
	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint32_t hash_of(const struct symbols *t, const char *s, uint32_t n)
{
	uint64_t h = t->key ^ n, w;

	for (; n > 8; n -= 8, s += 8) {
		memcpy(&w, s, 8);
		h = mix(h ^ w, 0xa0761d6478bd642fu ^ t->key);
	}
	w = 0;
	memcpy(&w, s, n);
	h = mix(h ^ w, 0xe7037ed1a0b428dbu);
	return (uint32_t)(h ^ h >> 32);
}

static struct symbol **slot_of(const struct symbols *t, const char *s, uint32_t n, uint32_t hash)
{
	for (size_t i = hash;; i++) {
		struct symbol **slot = &t->slots[i & (t->room - 1)];
		if (!*slot || ((*slot)->hash == hash && (*slot)->n == n && !memcmp((*slot)->s, s, n)))
			return slot;
	}
}

static void grow(struct symbols *t)
{
	size_t old_room = t->room;
	struct symbol **old = t->slots;

	t->room *= 2;
	t->slots = calloc(t->room, sizeof *t->slots);
	if (!t->slots)
		BUG("out of memory");
	for (size_t i = 0; i < old_room; i++)
		if (old[i])
			*slot_of(t, old[i]->s, old[i]->n, old[i]->hash) = old[i];
	free(old);
}

static struct symbol *lookup(const struct symbols *t, const char *s, uint32_t n)
{
	return *slot_of(t, s, n, hash_of(t, s, n));
}

struct symbol *symbols_intern(struct symbols *t, const char *s, uint32_t n)
{
	uint32_t hash = hash_of(t, s, n);
	struct symbol **slot = slot_of(t, s, n, hash), *y = *slot;

	if (y)
		return y;
	y = *slot = arena_alloc(t->arena, sizeof *y);
	*y = (struct symbol){.s = s, .n = n, .hash = hash};
	if (++t->n * 2 > t->room)
		grow(t);
	return y;
}

void symbols_push(struct symbols *t)
{
	if (++t->depth >= sizeof t->scopes / sizeof *t->scopes)
		BUG("more scopes than the parser allows");
	t->scopes[t->depth] = NULL;
}

void symbols_pop(struct symbols *t)
{
	for (struct binding *b = t->scopes[t->depth], *next; b; b = next) {
		next = b->next;
		if (b->is_range)
			b->symbol->ranges = b->below;
		else
			b->symbol->names = b->below;
		b->next = t->spare;
		t->spare = b;
	}
	t->depth--;
}

uint32_t symbols_depth(const struct symbols *t)
{
	return t->depth;
}

static struct binding *bind(struct symbols *t, struct symbol *y, struct binding **stack)
{
	struct binding *b = t->spare;

	if (*stack && (*stack)->depth == t->depth)
		return NULL;
	if (b)
		t->spare = b->next;
	else
		b = arena_alloc(t->arena, sizeof *b);
	*b = (struct binding){.depth = t->depth, .below = *stack, .next = t->scopes[t->depth], .symbol = y};
	*stack = t->scopes[t->depth] = b;
	return b;
}

struct binding *symbols_bind(struct symbols *t, const char *s, uint32_t n, enum binding_kind kind)
{
	struct symbol *y = symbols_intern(t, s, n);
	struct binding *b = bind(t, y, &y->names);

	if (b)
		b->kind = (uint8_t)kind;
	return b;
}

struct binding *symbols_bind_range(struct symbols *t, const char *s, uint32_t n, int32_t first, uint32_t count)
{
	struct symbol *y = symbols_intern(t, s, n);
	struct binding *b = bind(t, y, &y->ranges);

	if (b) {
		b->kind = B_REG;
		b->is_range = true;
		b->reg = first;
		b->count = count;
	}
	return b;
}

/* The innermost range that has the name's register: prefix, then a number without needless zeros. */
static const struct binding *find_range(const struct symbols *t, const char *s, uint32_t n, int32_t *reg)
{
	const struct binding *best = NULL;
	uint32_t from = n;

	while (from > 1 && n - from < 7 && s[from - 1] >= '0' && s[from - 1] <= '9')
		from--;
	for (; from < n; from++) {
		if (s[from] == '0' && from + 1 < n)
			continue;
		const struct symbol *y = lookup(t, s, from);
		if (!y || !y->ranges)
			continue;
		uint32_t number = 0;
		for (uint32_t i = from; i < n; i++)
			number = number * 10 + (uint32_t)(s[i] - '0');
		for (const struct binding *b = y->ranges; b && (!best || b->depth > best->depth); b = b->below) {
			if (number < b->count) {
				best = b;
				*reg = b->reg + (int32_t)number;
			}
		}
	}
	return best;
}

const struct binding *symbols_find(const struct symbols *t, const char *s, uint32_t n, int32_t *reg)
{
	const struct symbol *y = lookup(t, s, n);
	const struct binding *b = y ? y->names : NULL;
	char last = s[n - 1];

	if (last >= '0' && last <= '9') {
		int32_t number;
		const struct binding *r = find_range(t, s, n, &number);
		if (r && (!b || r->depth > b->depth)) {
			*reg = number;
			return r;
		}
	}
	if (b)
		*reg = b->reg;
	return b;
}

const struct binding *symbols_label_here(const struct symbols *t, const struct symbol *s)
{
	const struct binding *b = s->names;
	return b && b->depth == t->depth && b->kind == B_LABEL ? b : NULL;
}

const char *symbol_text(const struct symbol *s, uint32_t *n)
{
	*n = s->n;
	return s->s;
}
