/* Outputs against the oracle: |got - expected| <= bound, element by element. */
#ifndef JUDGE_CHECK_H
#define JUDGE_CHECK_H

#include "../reference/problem.h"

enum { CHECK_WORST = 4 };

struct check_element {
	uint64_t index;
	double got, expected, bound;
	double ratio;			/* |got - expected| / bound; 0 if equal; infinite if the bound is 0 or got is not finite */
};

struct check {
	uint64_t count, wrong;		/* elements; of these, out of bound */
	double ratio;			/* the largest; <= 1 if and only if wrong is 0 */
	double use;			/* the largest check_use() */
	unsigned n_worst;
	struct check_element worst[CHECK_WORST];	/* largest ratio first; earlier elements first among equals */
};

void check_output(enum element_type type, const void *got, const double *expected, const double *bound, uint64_t count,
		  struct check *out);
/* Of one element.  Non-finite values must match: an infinity its own sign; NaN is never expected. */
double check_ratio(double got, double expected, double bound);
/* The part of the bound that an element takes once the rounding of the output, on which no kernel can do better, is off both.  A
 * bound that leaves room for nothing else is not used by a right element, and infinitely by a wrong one. */
double check_use(enum element_type type, double got, double expected, double bound);

#endif
