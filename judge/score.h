/* Points: for being right, and for how near the modelled time comes to the roofline floor. */
#ifndef JUDGE_SCORE_H
#define JUDGE_SCORE_H

#include "problem.h"

/* floor / time; 0 where there is no time, or where the time is below the floor: that is impossible, never rewarded.
 * The emulated device's arithmetic may round, hence a tolerance of 1e-9. */
double score_efficiency(double floor_us, double time_us, bool *impossible);
/* Geometric mean; 0 if any is 0, NaN of none. */
double score_mean(const double *efficiency, unsigned n);
/* Out of 100.  efficiency NaN: no timing case ran for this device, and only the points for being right can be had. */
double score_points(const struct problem *p, bool accepted, double efficiency);
int score_tier(const struct problem *p, bool accepted, double efficiency);

#endif
