/* The L1 model against a list in the order of use. */
#include "sandbox/ptx/model.h"
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

struct list { struct { uint64_t line; unsigned sectors; } at[16]; unsigned n, room; };

/* The place of a line, moved to the front; what it had. */
static unsigned look(struct list *l, uint64_t line, unsigned sectors)
{
	unsigned i = 0, had;
	while (i < l->n && l->at[i].line != line)
		i++;
	had = i < l->n ? l->at[i].sectors : 0;
	if (i == l->n && l->n < l->room)
		l->n++;
	else if (i == l->n)
		i--;
	memmove(l->at + 1, l->at, i * sizeof *l->at);
	l->at[0].line = line;
	l->at[0].sectors = had | sectors;
	return had & sectors;
}

static void forget(struct list *l, uint64_t line, unsigned sectors)
{
	for (unsigned i = 0; i < l->n; i++)
		if (l->at[i].line == line)
			l->at[i].sectors &= ~sectors;
}

/* Caches of one set: the list is what the model says it is. */
static void try_ways(struct l1 *l, struct trace *t, unsigned lines, unsigned seed)
{
	struct list list = {.room = lines < 16 ? lines : 16};
	unsigned spread = lines + 1 + seed % 24;
	l1_begin(l, lines * 128, t);
	for (unsigned i = 0; i < 4000; i++) {
		uint64_t line = 0xfe000000ull + (uint64_t)(rand() % (int)spread) * (seed % 2 ? 1 : 256);
		unsigned sectors = 1 + (unsigned)rand() % 15;
		if (rand() % 10 == 0) {
			l1_forget(l, line, sectors);
			forget(&list, line, sectors);
		} else {
			CHECK_EQ(l1_load(l, line, sectors, true), look(&list, line, sectors));
		}
	}
}

TEST(one_set_is_a_list_in_order_of_use)
{
	struct trace t = {0};
	struct l1 *l = l1_new();
	srand(1);
	for (unsigned seed = 0; seed < 60; seed++)
		try_ways(l, &t, 1 + seed * 7 % 20, seed);
	l1_free(l);
	free(t.entries);
}

TEST(no_room_no_hits)
{
	struct trace t = {0};
	struct l1 *l = l1_new();
	l1_begin(l, 64, &t);
	l1_prefetch(l, 5);
	for (unsigned i = 0; i < 3; i++)
		CHECK_EQ(l1_load(l, 5, 15, true), 0);
	l1_free(l);
	free(t.entries);
}
