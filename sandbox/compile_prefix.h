/* What every submission begins with, kept: the CUDA runtime's headers, and those that the problem's prelude includes.
 *
 * All but a little of a compilation is spent on them.  They are taken once, from an empty source, through each step whose work on
 * them can be kept:
 *	front.ii, device.ii	what the preprocessor makes of them in either pass, and
 *	front.h, device.h	the macros that it has defined after them, each with the file it is from.  Of a submission the
 *				preprocessor then sees these macros and the source, which gives the same text, only sooner
 *	prefix.h		what the front end makes of front.ii for the host compiler,
 *	prefix.h.gch		and that as the host compiler's precompiled header.  A submission whose front end output begins with the
 *				very same bytes is compiled from there; any other takes the long way
 *				(cudafe++ and cicc have precompiled headers of their own, --create_pch, and crash on using one)
 *	headers			which they were, and a number that another size or time of one of them makes another: then all is
 *				made again
 * They lie on disk in $JUDGE_CACHE, or $XDG_CACHE_HOME/judge, or ~/.cache/judge.
 */
#ifndef SANDBOX_COMPILE_PREFIX_H
#define SANDBOX_COMPILE_PREFIX_H

#include "compile_plan.h"

#include <limits.h>

/* The name inside the jail, and what the file's name on disk ends in.  The last to be kept says that the others are there. */
#define COMPILE_PREFIX "/prefix/prefix.h"
#define COMPILE_PREFIX_FILES(X)                                \
	X(COMPILED, COMPILE_PREFIX ".gch", ".h.gch")            \
	X(FRONT_TEXT, "/prefix/front.ii", ".front.ii")         \
	X(FRONT_MACROS, "/prefix/front.h", ".front.h")         \
	X(DEVICE_TEXT, "/prefix/device.ii", ".device.ii")      \
	X(DEVICE_MACROS, "/prefix/device.h", ".device.h")      \
	X(HEADER, COMPILE_PREFIX, ".h")

enum compile_prefix_file {
#define X(id, inside, end) PREFIX_##id,
	COMPILE_PREFIX_FILES(X)
#undef X
	N_PREFIX_FILES
};

/* The builder's descriptors for them: one digit each, as POSIX shells want. */
#define COMPILE_PREFIX_FDS {3, 5, 6, 7, 8, 9}

struct compile_prefix {
	char path[N_PREFIX_FILES][PATH_MAX];	/* where they are or will be; empty: there is no cache */
	char headers[PATH_MAX];
	const char *inside, *root;		/* the toolkit's place in the jail and on the host */
	struct jail *builder;			/* at work, or NULL */
	int fds[N_PREFIX_FILES], prelude_fd;	/* the builder's */
	bool ready, text;			/* text: and the preprocessor's files may be used */
	int slices;				/* of device.ii and front.ii, what the source can name (compile_slice.h): the first one's size,
						 * in digits and a newline, and both; empty: there are none */
};

/* Declared after the headers, where they are taken. */
#define COMPILE_PREFIX_END "judge_prefix_end"

/* The folder of what is kept; false: there is none. */
bool compile_cache_folder(char *out, size_t size);

/* Are they there, of the kind that the source may have?  If not, and this process may make them, a jail begins to.  Never fails:
 * without them all works, slower. */
void compile_prefix_open(struct compile_prefix *p, const struct compile_request *rq, const struct toolchain *t);
/* Add its mounts, if it is ready: at most N_PREFIX_FILES. */
unsigned compile_prefix_mounts(const struct compile_prefix *p, struct jail_mount *mounts);
/* Wait for the builder, if there is one, and keep what it made.  The slices are closed. */
void compile_prefix_close(struct compile_prefix *p);

#endif
