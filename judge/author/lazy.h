/* Outputs that take no work: one constant, a copy of an input, what the case before had.  Are they right in every case? */
#ifndef AUTHOR_LAZY_H
#define AUTHOR_LAZY_H

#include "../oracle.h"
#include "finding.h"

struct lazy;
struct lazy *lazy_new(const struct problem *p);
void lazy_free(struct lazy **l);	/* for CLEANUP */
/* Of one case; what it told apart from the answer is out. */
void lazy_try(struct lazy *l, const struct testcase *t, const struct answer *a);
/* After all cases: what none told apart. */
void lazy_tell(const struct lazy *l, struct findings *f);

#endif
