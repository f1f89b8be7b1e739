/* A judge on the web, as its command line talks to it: JSON over HTTP, with a token.
 *
 * libcurl is opened at run time: a judge that is never asked for this works without it.
 */
#ifndef QUEUE_REMOTE_H
#define QUEUE_REMOTE_H

#include "../../sandbox/base/buf.h"
#include "../../sandbox/base/json.h"

enum { REMOTE_URL = 500, REMOTE_TOKEN = 100 };

struct remote {
	char url[REMOTE_URL];		/* without a slash at its end */
	char token[REMOTE_TOKEN];	/* or empty */
	char cookie[300];		/* of a session that is just being opened, or empty */
};

/* http://HOST[:PORT][/PATH], https://...; what follows is cut off. */
int remote_url(struct remote *r, const char *url, struct err *e);
/* What `judge login` kept; -1 and e: nothing. */
int remote_load(struct remote *r, struct err *e);
int remote_keep(const struct remote *r, struct err *e);

/* One request to /api/v1PATH.  body: JSON, or NULL.  *answer: to be freed by json_free; NULL where there is none.  -1 and e: the server
 * refused (ERR_INPUT, in its words), or was not to be reached. */
int remote_call(struct remote *r, const char *method, const char *path, const struct buf *body, struct json **answer, struct err *e);
/* The same, its text as it is; at most REMOTE_MAX_BYTES. */
enum { REMOTE_MAX_BYTES = 8 << 20 };
int remote_get(struct remote *r, const char *path, struct buf *out, struct err *e);

#endif
