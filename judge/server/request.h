/* One request, from its first line to the end of its answer.
 *
 * Handlers (api_*.c) get one whose body has come, whose sender is known and has the role that the route asks for.  They read it by
 * the functions here and answer by those of reply.h.  Memory is the request's arena.
 */
#ifndef SERVER_REQUEST_H
#define SERVER_REQUEST_H

#include "../../sandbox/base/json.h"
#include "../store/store.h"
#include "address.h"
#include "message.h"
#include "reply.h"

struct MHD_Connection;
struct route;
struct server;

enum { REQUEST_ARGUMENTS = 2, ROLE_ANYBODY = -1 };

struct caller {
	int role;			/* ROLE_ANYBODY: nobody is signed in */
	int64_t id;			/* 0: nobody */
	struct store_user user;
	const char *session;		/* the cookie's token, if by that */
	bool ambient;			/* by what a browser sends by itself: cookie, or a proxy's header */
};

struct pair {
	const char *name, *value;
	struct pair *next;
};

struct request {
	struct arena *arena;
	struct server *server;
	struct store *store;		/* of the thread that handles it */
	struct MHD_Connection *connection;
	const char *method, *target;	/* target: as it was sent */
	const char *path;		/* decoded */
	const struct pair *query;
	const struct route *route;
	const char *arguments[REQUEST_ARGUMENTS];	/* what stands for {...} in the route's pattern */
	const char *lang;		/* "en", "zh" */
	struct address address;		/* of the client, beyond trusted proxies */
	bool secure;			/* by TLS, here or at a proxy */
	struct caller caller;
	struct buf body;
	struct json *json;		/* the body, of routes that take JSON: an object */
	struct reply reply;
};

/* The target's path and query, decoded; false: bad escapes, NUL, control characters or bad UTF-8. */
bool request_split(struct request *r);
/* NULL if absent. */
const char *request_query(const struct request *r, const char *name);
const char *request_header(const struct request *r, const char *name);
bool request_cookie(const struct request *r, const char *name, char *out, size_t size);
/* Language by ?lang=, the account's setting, Accept-Language. */
const char *request_lang(const struct request *r);
/* Has the sender at least this role? */
bool request_role(const struct request *r, enum store_role least);

/* Checked reading.  false: the refusal is in r->reply already.
 *
 * Members of the JSON body.  A member that is absent or null leaves *out alone: it is an error only if `needed`. */
bool request_only(struct request *r, const char *const *names);
bool request_text(struct request *r, const char *field, bool needed, size_t min, size_t max, const char **out);
bool request_line(struct request *r, const char *field, bool needed, size_t min, size_t max, const char **out);	/* no control characters */
bool request_integer(struct request *r, const char *field, bool needed, int64_t min, int64_t max, int64_t *out);
bool request_bool(struct request *r, const char *field, bool *out);
bool request_word(struct request *r, const char *field, bool needed, const char *const *words, const char **out);
bool request_time(struct request *r, const char *field, bool needed, int64_t *out);		/* Unix ms */
/* The path's argument i as a positive number; the refusal is "not found". */
bool request_id(struct request *r, int i, int64_t *out);
bool request_query_integer(struct request *r, const char *name, int64_t min, int64_t max, int64_t *out);
bool request_query_time(struct request *r, const char *name, int64_t *out);
bool request_cursor(struct request *r, int64_t *out);

/* Unix ms of "2026-11-30T23:59:00Z" (seconds and fractions may be left out, an offset may stand for Z); -1. */
int time_parse(const char *text, int64_t *out);

#endif
