/* Outputs against the oracle: see check.h. */
#include "check.h"

#include "element.h"

#include <math.h>
#include <string.h>

double check_ratio(double got, double expected, double bound)
{
	if (got == expected)
		return 0;
	if (!isfinite(got) || !isfinite(expected))
		return INFINITY;
	double difference = fabs(got - expected);
	if (bound == 0)
		return INFINITY;
	double ratio = difference / bound;
	/* division rounds: the verdict is the comparison's, and the ratio says the same */
	if (difference <= bound)
		return ratio > 1 ? 1 : ratio;
	return ratio > 1 ? ratio : nextafter(1, 2);
}

double check_use(enum element_type type, double got, double expected, double bound)
{
	double rounding = element_rounding(type, expected), over = fabs(got - expected) - rounding;
	if (got == expected || over <= 0)
		return 0;
	if (!isfinite(over) || bound <= rounding)
		return INFINITY;
	return over / (bound - rounding);
}

static void keep_worst(struct check *c, const struct check_element *x)
{
	unsigned at = c->n_worst;
	while (at > 0 && c->worst[at - 1].ratio < x->ratio)
		at--;
	if (at == CHECK_WORST)
		return;
	unsigned n = c->n_worst < CHECK_WORST ? c->n_worst++ : CHECK_WORST - 1;
	memmove(&c->worst[at + 1], &c->worst[at], (n - at) * sizeof *x);
	c->worst[at] = *x;
}

void check_output(enum element_type type, const void *got, const double *expected, const double *bound, uint64_t count,
		  struct check *out)
{
	memset(out, 0, sizeof *out);
	out->count = count;
	for (uint64_t i = 0; i < count; i++) {
		struct check_element x = {i, element_value(type, got, i), expected[i], bound[i], 0};
		x.ratio = check_ratio(x.got, x.expected, x.bound);
		out->wrong += x.ratio > 1;
		if (x.ratio > out->ratio)
			out->ratio = x.ratio;
		double use = check_use(type, x.got, x.expected, x.bound);
		if (use > out->use)
			out->use = use;
		if (out->n_worst < CHECK_WORST || x.ratio > out->worst[CHECK_WORST - 1].ratio)
			keep_worst(out, &x);
	}
}
