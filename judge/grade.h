/* Grading one submission: compile, samples, hidden cases, timing cases, score.
 *
 * Theory of operation.  Three things start at once: nvcc (in its jail, on a thread), the device processes, and the
 * oracles of all cases (a pool of threads, one jailed process a case).  Then the cases run, each with a fresh guest:
 * samples, hidden cases, and, only if all were right, the timing cases, which are checked like any other.  Samples and
 * hidden cases go to two device processes at once, since starting a guest is mostly waiting; a case's result does not
 * depend on its neighbours.  Timing cases have the machine to themselves.
 *
 * The first case, in order, that is not accepted gives the verdict.  A case whose program would not end (TLE, DL) stops
 * the run, as the next would be no better: those after it count as not run, whether they were or not.  After any other
 * the rest still run, for the table.
 *
 * A device process that dies is started again and the case repeated, once; if it dies again the program is at fault.
 */
#ifndef JUDGE_GRADE_H
#define JUDGE_GRADE_H

#include "../sandbox/compile.h"
#include "../sandbox/ptx/profile.h"
#include "book.h"
#include "check.h"
#include "seed.h"
#include "verdict.h"

struct progress;

struct grade_options {
	const struct problem *problem;
	const char *name;		/* of the submission, for messages */
	const char *source;
	size_t size;
	const char *profile;		/* of the emulated device: "h200" */
	struct secret secret;
	const char *judging;		/* "local", or the number of a judging */
	unsigned threads;		/* 0: as many as cores */
	bool samples_only, profile_lines, unsandboxed;
	struct progress *progress;	/* or NULL */
};

struct wrong_element {
	char tensor[PROBLEM_NAME];
	struct check_element element;
};

struct case_report {
	const struct case_spec *spec;
	struct sizes sizes;
	enum verdict verdict;		/* NONE: not run */
	char why[700];			/* one sentence, empty where accepted; reveals no values of hidden cases */
	struct fault fault;
	double error_ratio;		/* largest of all outputs; NaN: not compared */
	double quantization_error;	/* NaN: none */
	uint64_t wrong, elements;
	unsigned n_wrong;		/* visible cases only */
	struct wrong_element worst[CHECK_WORST];
	const char *printed;		/* device printf and host output, visible cases only; NULL: none */
	struct book book;
	bool ran;			/* the book is of a run */
	struct device_line *lines;	/* counters by source line, where asked for */
	unsigned n_lines;
	double floor_us, efficiency;	/* timing cases */
	bool impossible;
};

enum { GRADE_LANES = 2 };

struct grading {
	struct arena *arena, *lanes[GRADE_LANES];	/* lanes: memory of each device process's reports */
	const struct problem *problem;
	const char *name, *source;
	size_t size;
	struct profile device;
	bool modelled;
	char seed[SEED_HEX + 1];
	enum verdict verdict;
	char why[1000];
	const struct case_report *decisive;	/* the case that gave the verdict; NULL: none did */
	struct compiled compiled;	/* its guest is closed */
	struct case_report *cases;
	unsigned n_cases, n_timing;	/* timing cases are the last of them */
	bool samples_only;
	double score, efficiency, time_us;	/* efficiency, time_us: NaN if not timed */
	int tier;
	const struct case_report *shown;	/* whose book the report shows; NULL: nothing ran */
	double seconds;			/* wall time of the whole */
};

/* 0: graded; g's memory is its arena, freed by grading_free.  -1 and e: the judge's own failure, or (ERR_INPUT) an option
 * that is wrong. */
int grade(const struct grade_options *o, struct grading *g, struct err *e);
void grading_free(struct grading *g);

#endif
