/* submissions/survivors.txt: mutants that survive rightly, with the reason.  Its form is told in mutate.h. */
#ifndef JUDGE_MUTATE_SURVIVORS_H
#define JUDGE_MUTATE_SURVIVORS_H

#include "mutate.h"

struct declared {
	const char *file, *function, *pattern, *reason;
	int line;			/* of survivors.txt */
	unsigned matched, survived, killed;	/* mutants that it names; of these, those that survived, and those that did not */
};

struct survivors {
	struct declared *list;
	unsigned n;
};

/* A package without the file has none.  -1 and e: line and mend.  All memory is the arena's. */
int survivors_read(const struct problem *p, struct arena *a, struct survivors *out, struct err *e);
int survivors_parse(const char *text, struct arena *a, struct survivors *out, struct err *e);
/* The first that names it; NULL: none does. */
struct declared *survivors_find(const struct survivors *s, const struct mutation *m);
/* Does the line match the pattern, in which "..." stands for anything? */
bool survivors_match(const char *pattern, const char *line);

#endif
