/* Names and verdicts of faults: see fault.h. */
#include "fault.h"

static const struct {
	const char *name, *verdict;
} kinds[] = {
#define FAULT(id, verdict, text) {text, verdict},
#include "fault.def"
#undef FAULT
};

const char *fault_name(uint32_t kind)
{
	return kind < FAULT_KINDS ? kinds[kind].name : "unknown fault";
}

/* A kind that we don't know came from a device process gone wrong: our own failure. */
const char *fault_verdict(uint32_t kind)
{
	return kind < FAULT_KINDS ? kinds[kind].verdict : "SE";
}
