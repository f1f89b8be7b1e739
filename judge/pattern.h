/* What a wrong output looks like: where its wrong elements lie, and what they hold instead. */
#ifndef JUDGE_PATTERN_H
#define JUDGE_PATTERN_H

#include "../reference/problem.h"

struct pattern_axis {			/* of the wrong elements' indices along one dimension */
	uint64_t size, first, last;
	uint32_t residues;		/* bit i: one is i modulo 32 */
};

struct pattern {			/* of one output; count 0: not compared */
	uint64_t count, wrong;
	uint64_t nan, inf, zero;	/* of these elements; inf and NaN only where a finite value was expected */
	bool constant;			/* all elements are the same, and should not be */
	double error;			/* RMS of the error / RMS of what is expected; NaN: got is not finite everywhere */
	double factor;			/* got / expected, the same for all wrong elements within 1%; NaN: it is not */
	int64_t shift;			/* element i holds what belongs to element i + shift; 0: no */
	bool swapped;			/* elements 2i and 2i + 1 hold each other's */
	bool transposed;		/* of two dimensions: holds its transpose */
	unsigned dims;
	struct pattern_axis axes[PROBLEM_MAX_DIMS];
};

void pattern_of(enum element_type type, const void *got, const double *expected, const double *bound, const uint64_t *shape,
		unsigned dims, struct pattern *out);

#endif
