/* Points: for being right, and for how near the modelled time comes to the roofline floor. */
#ifndef JUDGE_SCORE_H
#define JUDGE_SCORE_H

#include "problem.h"

/* How far below the floor a time may be, as a part of it: the emulated device's arithmetic rounds, and peaks that were measured
 * are themselves only as sure as the clocks and the power of that moment. */
#define SCORE_SLACK_MODELLED 1e-9
#define SCORE_SLACK_MEASURED 0.1
/* floor / time, at most 1; 0 where there is no time, or where the time is below the floor by more than the slack: that is
 * impossible, never rewarded. */
double score_efficiency(double floor_us, double time_us, double slack, bool *impossible);
/* Geometric mean; 0 if any is 0, NaN of none. */
double score_mean(const double *efficiency, unsigned n);
/* Out of 100.  efficiency NaN: no timing case ran for this device, and only the points for being right can be had. */
double score_points(const struct problem *p, bool accepted, double efficiency);
int score_tier(const struct problem *p, bool accepted, double efficiency);

#endif
