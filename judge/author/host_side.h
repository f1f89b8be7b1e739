/* The host side of programs that differ in device code alone, compiled once.
 *
 * Most samples of a package are one program with another mistake in its kernel.  What the host compiler makes of them is the same
 * guest, and takes more than half of a compilation: who has the same text outside of the bodies of kernels and device functions as
 * one that is compiled takes that one's guest.
 */
#ifndef AUTHOR_HOST_SIDE_H
#define AUTHOR_HOST_SIDE_H

#include "../../sandbox/base/arena.h"

#include <pthread.h>
#include <stddef.h>

struct host_side;
struct host_sides {			/* of programs compiled with the same options; any thread may ask */
	pthread_mutex_t lock;
	struct host_side *list;
};
#define HOST_SIDES_NONE {PTHREAD_MUTEX_INITIALIZER, NULL}

/* The tokens of the source that the host compiler sees, as text in `a`; NULL: it depends on more (a line's number, say), and is
 * shared with nobody. */
const char *host_side_text(const char *source, size_t size, struct arena *a);

/* A descriptor, the caller's, of the guest kept for this text; -1: there is none. */
int host_sides_find(struct host_sides *s, const char *text);
/* Keep the guest for this text: a duplicate of the descriptor. */
void host_sides_keep(struct host_sides *s, const char *text, int guest);
void host_sides_free(struct host_sides *s);

#endif
