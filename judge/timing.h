/* Timing on a GPU: what solve() did, replayed over many inputs without any host code of the submission.
 *
 * Theory of operation.  Several input sets of different data, together more than four times the L2 cache (at least MIN_SETS of
 * them), lie in device memory, each with outputs of its own.  solve() runs once for each and is checked; what it did is a
 * tape.  A pass is one graph of all tapes in turn, started with cold caches; its time over the number of sets is one
 * measurement.  Between passes some places of every input are overwritten with what another set has there, and outputs are
 * poisoned, so that nothing kept from an earlier pass is right any more.  Passes go on until the 95% confidence interval of the
 * median is within 0.5%, or time is up; of a kernel so slow that precision would take minutes, three are enough.
 *
 * What is checked.  A kernel can keep count of passes, in device memory or by the clock, and see what has changed.  So the number of
 * passes, which of them are checked (with what the oracle expects of the inputs as they are then), the order of tapes in a pass, and
 * single tapes that are replayed alone between passes are all drawn by lot, and the last pass is checked whole.  To be fast in most
 * passes, as a median asks for, and right in those that are checked is a matter of luck: less than 1 in 32 for one measurement,
 * and one whose passes are not alike is flagged, and made again.
 */
#ifndef JUDGE_TIMING_H
#define JUDGE_TIMING_H

#include "grade_case.h"

/* A measurement is disturbed if its times spread, or the clocks change, by more than these parts. */
#define TIMING_STEADY 0.05
#define TIMING_CLOCK_CHANGE 0.03

/* out: verdict, book with the measured time, timing.  0, or -1: our own failure. */
int timing_case(struct runner *r, const struct case_spec *spec, struct case_report *out, struct err *e);

/* Median of n times and its confidence interval by order statistics (normal approximation of the binomial). */
void timing_median(double *us, unsigned n, double *median, double *low, double *high, double *spread);

/* How many input sets: `bytes` each on the GPU (all tensors), `host` each in the judge. */
unsigned timing_sets(uint64_t bytes, uint64_t host, uint64_t l2, unsigned tensors);

#endif
