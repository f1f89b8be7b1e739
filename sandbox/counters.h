/* What the emulated GPU counts, per kernel and per source line.  One table yields struct, names, JSON and docs.
 *
 * All counts are exact sums over the launch, hence independent of the order in which blocks ran.
 */
#ifndef SANDBOX_COUNTERS_H
#define SANDBOX_COUNTERS_H

#include <stdint.h>

struct counters {
#define COUNTER(id, unit, text) uint64_t id;
#include "counters.def"
#undef COUNTER
};

enum {
#define COUNTER(id, unit, text) COUNTER_##id,
#include "counters.def"
#undef COUNTER
	COUNTER_COUNT
};

/* name, unit and meaning of counter i in 0..COUNTER_COUNT-1, in the order of the struct's fields */
const char *counter_name(unsigned i);
const char *counter_unit(unsigned i);
const char *counter_text(unsigned i);
uint64_t *counter_at(struct counters *c, unsigned i);
void counters_add(struct counters *sum, const struct counters *c);

#endif
