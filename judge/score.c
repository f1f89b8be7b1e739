/* Points: see score.h. */
#include "score.h"

#include <math.h>

double score_efficiency(double floor_us, double time_us, double slack, bool *impossible)
{
	*impossible = time_us < floor_us * (1 - slack);
	if (*impossible || !(time_us > 0) || !(floor_us > 0))
		return 0;
	return floor_us >= time_us ? 1 : floor_us / time_us;
}

double score_mean(const double *efficiency, unsigned n)
{
	double sum = 0;
	if (!n)
		return NAN;
	for (unsigned i = 0; i < n; i++) {
		if (!(efficiency[i] > 0))
			return 0;
		sum += log(efficiency[i]);
	}
	return n == 1 ? efficiency[0] : exp(sum / n);
}

double score_points(const struct problem *p, bool accepted, double efficiency)
{
	if (!accepted)
		return 0;
	if (!(efficiency > 0))
		return p->score_correct;
	return p->score_correct + p->score_efficiency * fmin(1, efficiency / p->full_at);
}

int score_tier(const struct problem *p, bool accepted, double efficiency)
{
	int tier = TIER_NONE;
	for (int t = TIER_BRONZE; accepted && t < TIERS; t++)
		if (efficiency >= p->tiers[t])
			tier = t;
	return tier;
}
