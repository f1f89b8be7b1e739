/* What of a request's head is refused before anything of it is believed. */
#ifndef SERVER_GUARD_H
#define SERVER_GUARD_H

#include <stddef.h>

struct MHD_Connection;

struct guarded {
	long long length;		/* of the body by Content-Length; -1: chunked; 0: none */
};

/* NULL: fine.  Else what is wrong, in a few words: answer 400 and close the connection. */
const char *guard_head(struct MHD_Connection *c, const char *version, struct guarded *out);

#endif
