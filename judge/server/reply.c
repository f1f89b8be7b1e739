/* Answers: see reply.h. */
#include "reply.h"

#include "../../sandbox/base/cleanup.h"
#include "log.h"
#include "request.h"

#include <string.h>
#include <time.h>

void reply_header(struct request *r, const char *name, const char *value)
{
	struct header *h = arena_new_array(r->arena, struct header, 1);
	*h = (struct header){arena_strdup(r->arena, name), arena_strdup(r->arena, value), r->reply.headers};
	r->reply.headers = h;
}

static void begin(struct request *r, unsigned status, const char *type)
{
	r->reply.status = status;
	r->reply.type = type;
	r->reply.body.size = 0;
}

struct json_writer *reply_json(struct request *r, unsigned status)
{
	begin(r, status, "application/json");
	r->reply.writer = (struct json_writer){.out = &r->reply.body};
	return &r->reply.writer;
}

void reply_empty(struct request *r, unsigned status)
{
	begin(r, status, NULL);
}

void reply_text(struct request *r, unsigned status, const char *type, const char *text)
{
	begin(r, status, type);
	buf_adds(&r->reply.body, text);
}

bool reply_refuse(struct request *r, enum message m, const char *field, ...)
{
	va_list ap;
	va_start(ap, field);
	const char *text = message_text(m, r->lang ? r->lang : "en", r->arena, ap);
	va_end(ap);
	struct json_writer *w = reply_json(r, message_status(m));
	json_open(w, NULL, '{');
	json_open(w, "error", '{');
	json_write_string(w, "code", message_code(m));
	json_write_string(w, "field", field);
	json_write_string(w, "message", text);
	json_close(w, '}');
	json_close(w, '}');
	if (m == MESSAGE_unauthorized || m == MESSAGE_bad_token)
		reply_header(r, "WWW-Authenticate", "Bearer");
	if (m == MESSAGE_busy || m == MESSAGE_stopping)
		reply_header(r, "Retry-After", "2");
	return false;
}

bool reply_stored(struct request *r, enum store_result result, const struct err *e, enum message conflict, const char *field)
{
	switch (result) {
	case STORE_OK:
		return true;
	case STORE_NOT_FOUND:
		return reply_refuse(r, MESSAGE_not_found, field, NULL);
	case STORE_CONFLICT: case STORE_STALE:
		return reply_refuse(r, conflict, field, e->text, NULL);
	case STORE_INVALID:
		return reply_refuse(r, MESSAGE_invalid, field, e->text, NULL);
	case STORE_BUSY:
		log_line("%s %s: %s", r->method, r->path, e->text);
		return reply_refuse(r, MESSAGE_busy, NULL, NULL);
	case STORE_FULL:
		log_line("%s %s: %s", r->method, r->path, e->text);
		return reply_refuse(r, MESSAGE_full, NULL, NULL);
	case STORE_FAILED:
		break;
	}
	log_line("%s %s: %s", r->method, r->path, e->text);
	return reply_refuse(r, MESSAGE_failed, NULL, NULL);
}

void reply_rate(struct request *r, const struct rate_left *left)
{
	char text[16];
	snprintf(text, sizeof text, "%u", left->limit);
	reply_header(r, "RateLimit-Limit", text);
	snprintf(text, sizeof text, "%u", left->remaining);
	reply_header(r, "RateLimit-Remaining", text);
	snprintf(text, sizeof text, "%u", left->reset);
	reply_header(r, "RateLimit-Reset", text);
}

void write_time(struct json_writer *w, const char *key, int64_t ms)
{
	char text[40];
	struct tm tm;
	time_t seconds = (time_t)(ms / 1000);
	if (!ms || !gmtime_r(&seconds, &tm)) {
		json_write_null(w, key);
		return;
	}
	size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, sizeof text - n, ".%03dZ", (int)(ms % 1000));
	json_write_string(w, key, text);
}

void write_next(struct json_writer *w, int64_t next)
{
	char text[24];
	snprintf(text, sizeof text, "%lld", (long long)next);
	json_write_string(w, "next", next ? text : NULL);
}

void write_tags(struct json_writer *w, const char *key, const char *json)
{
	struct err e;
	CLEANUP(json_freep) struct json *j = json ? json_parse(json, strlen(json), "tags", &e) : NULL;
	json_open(w, key, '[');
	for (const struct cJSON *v = j ? json_first(json_root(j)) : NULL; v; v = json_next(v))
		if (json_is_string(v))
			json_write_string(w, NULL, json_text(v));
	json_close(w, ']');
}
