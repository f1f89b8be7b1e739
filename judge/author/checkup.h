/* A package, checked: `judge check`.
 *
 * Theory of operation.  First what can be told without running anything (rules.h).  If that leaves a package that could be graded,
 * its oracle is run on every case and on every combination of sizes, and the answers are looked at (answers.h).  If they are worth
 * something, every program of the package is graded with them, several at once (trial.h): with the first secret all cases, timing
 * cases too; with further ones those that are not timed.  The secrets are fixed unless one is named: a package that passes once
 * passes again.
 */
#ifndef AUTHOR_CHECKUP_H
#define AUTHOR_CHECKUP_H

#include "../term.h"
#include "trial.h"

struct json_writer;

#define CHECKUP_SEED "636865636b"

struct checkup_options {
	const char *device;
	const struct device_choice *probe;	/* what that is, without a session; not for quick */
	const char *seed;		/* hexadecimal; NULL: CHECKUP_SEED */
	unsigned seeds, workers;	/* 0: 1; as many as cores */
	bool quick, unsandboxed;	/* quick: run nothing */
	const struct term *term;	/* what goes on is told here; NULL: nowhere */
};

struct checkup {
	struct arena *arena;
	const char *name;		/* of the folder */
	struct problem *problem;	/* NULL: there is none */
	struct findings findings;	/* of the package; those of programs are theirs */
	struct trial *trials;
	unsigned n_trials, n_cases, n_sizes, n_seeds;
	double seconds;
};

/* 0: done, pass or fail.  -1 and e: the judge's own failure.  Either way out is checkup_free's to free. */
int checkup_run(const struct checkup_options *o, const char *folder, struct checkup *out, struct err *e);
void checkup_free(struct checkup *c);
unsigned checkup_faults(const struct checkup *c);	/* 0: passed */

void checkup_print_findings(const struct term *t, const struct findings *f);
/* What is wrong, and a line that sums up. */
void checkup_print(const struct checkup *c, const struct term *t);
void checkup_json(const struct checkup *c, struct json_writer *w, const char *key);

/* As they end, one line each. */
void checkup_print_stage(const struct term *t, bool good, const char *what, double seconds);
void checkup_print_trial(const struct term *t, const struct trial *x);
/* The line on a terminal that says what runs; NULL: it goes away. */
void checkup_print_live(const struct term *t, const char *text);

#endif
