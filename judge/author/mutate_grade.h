/* Grading of mutants: one bench has the hidden cases with their answers, an original is a file that is right, a lane grades mutants
 * of it, one after the other, on an emulated device of its own.  Lanes may work at the same time. */
#ifndef JUDGE_MUTATE_GRADE_H
#define JUDGE_MUTATE_GRADE_H

#include "../problem.h"
#include "../verdict.h"
#include "mutate.h"

struct bench;
struct original;
struct lane;

struct outcome {
	enum mutant_fate fate;		/* killed, survived, equivalent, invalid */
	const char *killer;		/* name of the case, the problem's memory; NULL */
	enum verdict verdict;
};

/* Draws the hidden cases and asks the oracle.  NULL and e. */
struct bench *bench_open(const struct mutate_options *o, struct err *e);
const char *bench_seed(const struct bench *b);
void bench_close(struct bench *b);			/* NULL is fine */

/* Compile it and grade it: -1 and e (ERR_INPUT) if it is not accepted.  One at a time, lanes of an earlier one are closed. */
struct original *original_open(struct bench *b, const char *name, const char *source, size_t size, struct err *e);
void original_close(struct original *o);

struct lane *lane_open(struct original *o);
/* device_only: it differs from the original in device code alone.  -1 and e: the judge's own failure. */
int lane_grade(struct lane *l, const char *source, size_t size, bool device_only, struct outcome *out, struct err *e);
void lane_close(struct lane *l);

#endif
