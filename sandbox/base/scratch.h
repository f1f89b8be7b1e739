/* Folders of the host for a moment's files, in $TMPDIR or /tmp, which outlive not even a judge that was killed: whoever made
 * one holds a lock on it, and any later judge removes those that nobody holds. */
#ifndef BASE_SCRATCH_H
#define BASE_SCRATCH_H

#include "err.h"

struct scratch {
	char path[200];		/* empty: none */
	int lock;
};

/* A new empty folder, nobody else's; `what` is part of its name.  -1 and e. */
int scratch_make(struct scratch *s, const char *what, struct err *e);
/* Remove it with all that is in it.  For CLEANUP; one that is all zero is fine. */
void scratch_remove(struct scratch *s);
/* Remove this user's folders whose judges are gone. */
void scratch_sweep(void);

#endif
