/* A package's programs, graded: starter, reference and sample submissions, each against what it is there to get. */
#ifndef AUTHOR_TRIAL_H
#define AUTHOR_TRIAL_H

#include "../device_choice.h"
#include "../grade.h"
#include "answers.h"
#include "expectation.h"
#include "finding.h"

#include <sys/types.h>

/* The part of the bound that the reference may use, of what is left once the rounding of outputs is off: above it a right kernel
 * of another order of sums could fail. */
#define TRIAL_BOUND_USE 0.5

enum trial_kind { TRIAL_REFERENCE, TRIAL_STARTER, TRIAL_SUBMISSION };

struct trial {
	const char *path;		/* within the package */
	enum trial_kind kind;
	struct expectation expect;
	off_t source;			/* bytes; of a submission */
	bool done, skipped;		/* skipped: it needs a GPU */
	bool again, last;		/* out of time, which is to be tried once more, alone; this was that time */
	enum verdict verdict;
	char why[1000], seed[SEED_HEX + 1];	/* of the run that told: the first that was not as expected, else the last */
	double bound_use;		/* the most, of all seeds; of what was accepted */
	char use_case[64];
	double efficiency;		/* NaN: not timed */
	double seconds;
	struct findings findings;	/* of this program; none: as it should be */
};

struct trials_options {
	const struct problem *problem;
	const char *device;		/* of --device */
	const struct device_choice *probe;	/* what that is, without a session */
	bool unsandboxed;
	unsigned workers;		/* at once; who is there to run out of time has one more, unless this is 1 */
	const struct answers *answers;	/* of each secret */
	unsigned n_answers;
	/* Called one at a time, from any thread, before and after each. */
	void (*tell)(void *context, const struct trial *t, bool ended);
	void *context;
};

/* The programs of the package, in the order in which they begin (who is there to run out of time begins at once). */
unsigned trials_list(const struct problem *p, struct arena *a, struct trial **out);
/* 0: all ran.  -1 and e: the judge's own failure. */
int trials_run(const struct trials_options *o, struct trial *trials, unsigned n, struct err *e);

#endif
