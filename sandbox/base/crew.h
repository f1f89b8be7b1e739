/* Parts of a work, done by several threads: each takes the next one that nobody has taken. */
#ifndef BASE_CREW_H
#define BASE_CREW_H

#include "err.h"

enum { CREW_MAX = 64 };			/* threads */

struct crew_work {
	unsigned n;			/* parts, 0 .. n-1, taken in this order */
	unsigned threads;		/* at once, the caller's among them; at least one, at most CREW_MAX and n; fewer where the system has none */
	/* One part.  `own` is the thread's.  -1 and e: the work has failed; parts that are under way are finished, no other is begun. */
	int (*part)(void *context, void *own, unsigned i, struct err *e);
	/* What each thread has for itself, made before its first part and ended after its last; NULL: nothing. */
	void *(*begin)(void *context);
	void (*end)(void *own);
	void *context;
};

/* All parts.  0; -1 and e: of the part that failed first. */
int crew_run(const struct crew_work *w, struct err *e);

#endif
