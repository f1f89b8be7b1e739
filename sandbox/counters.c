/* Names and sums of counters: see counters.h. */
#include "counters.h"

#include <stddef.h>

static const struct {
	const char *name, *unit, *text;
	size_t offset;
} table[COUNTER_COUNT] = {
#define COUNTER(id, unit, text) {#id, unit, text, offsetof(struct counters, id)},
#include "counters.def"
#undef COUNTER
};

const char *counter_name(unsigned i)
{
	return table[i].name;
}

const char *counter_unit(unsigned i)
{
	return table[i].unit;
}

const char *counter_text(unsigned i)
{
	return table[i].text;
}

uint64_t *counter_at(struct counters *c, unsigned i)
{
	return (uint64_t *)((unsigned char *)c + table[i].offset);
}

void counters_add(struct counters *sum, const struct counters *c)
{
#define COUNTER(id, unit, text) sum->id += c->id;
#include "counters.def"
#undef COUNTER
}
