/* The precompiled header of what every submission begins with: the CUDA runtime's headers, and those that the problem's
 * prelude includes, as the front end leaves them.
 *
 * Parsing them is four fifths of the host compiler's work.  They are compiled once, from an empty source, and kept on disk
 * in $JUDGE_CACHE, or $XDG_CACHE_HOME/judge, or ~/.cache/judge.  A submission whose front end output begins with the very
 * same bytes is compiled from there; any other takes the long way.
 */
#ifndef SANDBOX_COMPILE_PREFIX_H
#define SANDBOX_COMPILE_PREFIX_H

#include "compile_plan.h"

#include <limits.h>

/* Inside the jail. */
#define COMPILE_PREFIX "/prefix/prefix.h"
/* Declared after the headers, where the prefix is made. */
#define COMPILE_PREFIX_END "judge_prefix_end"

struct compile_prefix {
	char header[PATH_MAX], compiled[PATH_MAX + 8];	/* where they are or will be; empty: there is no cache */
	struct jail *builder;				/* at work, or NULL */
	int header_fd, compiled_fd, prelude_fd;		/* the builder's */
	bool ready;
};

/* Is it there?  If not, and this process may make it, a jail begins to.  Never fails: without it all works, slower. */
void compile_prefix_open(struct compile_prefix *p, const struct compile_request *rq, const struct toolchain *t);
/* Add its mounts, if it is ready. */
unsigned compile_prefix_mounts(const struct compile_prefix *p, struct jail_mount *mounts);
/* Wait for the builder, if there is one, and keep what it made. */
void compile_prefix_close(struct compile_prefix *p);

#endif
