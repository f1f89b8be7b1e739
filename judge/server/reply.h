/* The answer to a request. */
#ifndef SERVER_REPLY_H
#define SERVER_REPLY_H

#include "../../sandbox/base/json_write.h"
#include "../store/store.h"
#include "message.h"
#include "rate.h"

struct request;
struct stream;

struct header {
	const char *name, *value;
	struct header *next;
};

struct reply {
	unsigned status;		/* 0: there is none yet */
	const char *type;
	struct buf body;
	int fd;				/* a file's contents instead, if fd_size; taken over */
	bool has_file;
	size_t fd_size;
	struct stream *stream;		/* events instead */
	struct header *headers;
	bool close, page, cached;	/* page: HTML that runs scripts of ours; cached: has a Cache-Control of its own */
	struct json_writer writer;
};

void reply_header(struct request *r, const char *name, const char *value);
/* Begins a JSON answer; what is written so far is dropped. */
struct json_writer *reply_json(struct request *r, unsigned status);
void reply_empty(struct request *r, unsigned status);
void reply_text(struct request *r, unsigned status, const char *type, const char *text);
/* A refusal: message, the field that it is about or NULL, and strings for its holes.  Returns false. */
bool reply_refuse(struct request *r, enum message m, const char *field, ...) __attribute__((sentinel));
/* A store's failure: true if there is none.  `conflict`: the message for STORE_CONFLICT. */
bool reply_stored(struct request *r, enum store_result result, const struct err *e, enum message conflict, const char *field);
void reply_rate(struct request *r, const struct rate_left *left);
/* Members of a JSON answer: a time, null if 0; `next` of a page. */
void write_time(struct json_writer *w, const char *key, int64_t ms);
void write_next(struct json_writer *w, int64_t next);
/* A list of strings that is JSON already: only well-formed lists of strings pass, else it is empty. */
void write_tags(struct json_writer *w, const char *key, const char *json);

#endif
