/* The answers of a package's cases, drawn with one secret: asked for once, for all programs that are graded, and looked at for
 * what an oracle must not do.
 *
 * An oracle that fails, or gives other numbers the second time, makes every grading worthless; a bound so wide that anything
 * passes, or outputs that a constant or a copy of an input is right for, make a case worthless.  The latter is told from the
 * answers alone, for every constant at once: no program has to be made and run for it.
 */
#ifndef AUTHOR_ANSWERS_H
#define AUTHOR_ANSWERS_H

#include "../oracle.h"
#include "finding.h"

enum { ANSWERS_ORACLE_MS = 10000 };	/* of processor time, for one case */

struct answers {
	const struct problem *problem;
	struct secret secret;
	struct testcase *cases;		/* of all of the problem's cases, in their order */
	struct oracle_pool *pool;
	bool shared;			/* all fit in memory: the pool may go to gradings (grade.h) */
	bool unsandboxed;
};

/* Starts the oracles; -1 and e: a case that can't be made. */
int answers_open(struct answers *a, const struct problem *p, const struct secret *s, unsigned threads, bool unsandboxed, struct err *e);
void answers_close(struct answers *a);
/* Waits for all, and looks at each.  twice: also whether a second run gives the same. */
void answers_check(struct answers *a, bool twice, struct findings *f);
/* Runs the oracle on all combinations of sizes (rules_draw), a part of them where a case has very many; returns how many. */
unsigned answers_check_sizes(const struct answers *a, unsigned threads, struct findings *f);

#endif
