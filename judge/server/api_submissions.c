/* Submissions, judgings, what happens to them, and judging again. */
#include "auth.h"
#include "devices.h"
#include "events.h"
#include "router.h"
#include "server.h"
#include "view.h"

#include "../../sandbox/base/cleanup.h"
#include "../submission.h"
#include "../verdict.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 50, EVENTS_PAGE = 200 };

/* ---- reading ---- */

/* One's own; everybody's for assistants.  Others' are as if they were not there. */
static bool may_see(struct request *r, int64_t owner)
{
	return owner == r->caller.id || request_role(r, ROLE_ASSISTANT) || reply_refuse(r, MESSAGE_not_found, NULL, NULL);
}

static bool find_submission(struct request *r, struct store_submission *out)
{
	int64_t id;
	struct err e = {0};
	return request_id(r, 0, &id) &&
	       reply_stored(r, store_submission_get(r->store, id, r->arena, out, &e), &e, MESSAGE_conflict, NULL) && may_see(r, out->user);
}

static bool find_judging(struct request *r, struct store_judging *out)
{
	int64_t id;
	struct err e = {0};
	return request_id(r, 0, &id) && reply_stored(r, store_judging_get(r->store, id, r->arena, out, &e), &e, MESSAGE_conflict, NULL) &&
	       may_see(r, out->user);
}

static bool verdict_known(const char *code)
{
	return !strcmp(code, "pending") || verdict_find(code) != VERDICT_NONE;
}

static bool take_filter(struct request *r, struct store_filter *f)
{
	*f = (struct store_filter){.problem = request_query(r, "problem"), .user = request_query(r, "user"), .verdict = request_query(r, "verdict")};
	if (f->problem && !*f->problem)
		f->problem = NULL;
	if (f->user && !*f->user)
		f->user = NULL;
	if (f->verdict && !*f->verdict)
		f->verdict = NULL;
	if (f->verdict && !verdict_known(f->verdict))
		return reply_refuse(r, MESSAGE_no_verdict, "verdict", f->verdict, NULL);
	if (!request_query_integer(r, "group", 1, INT64_MAX, &f->group) || !request_query_time(r, "since", &f->since) ||
	    !request_query_time(r, "until", &f->until))
		return false;
	if (request_role(r, ROLE_ASSISTANT))
		return true;
	if (f->user && strcmp(f->user, r->caller.user.name))
		return reply_refuse(r, MESSAGE_forbidden, "user", NULL);
	f->user = r->caller.user.name;
	return true;
}

void api_submissions(struct request *r)
{
	struct store_filter f;
	struct store_submissions ss;
	struct err e = {0};
	int64_t cursor;
	if (!take_filter(r, &f) || !request_cursor(r, &cursor) ||
	    !reply_stored(r, store_submissions(r->store, &f, cursor, PAGE, r->arena, &ss, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < ss.n; i++) {
		ss.at[i].source = NULL;
		view_submission(w, NULL, &ss.at[i], r->lang, request_role(r, ROLE_INSTRUCTOR));
	}
	json_close(w, ']');
	write_next(w, ss.next);
	json_close(w, '}');
}

void api_submission(struct request *r)
{
	struct store_submission s;
	struct store_judgings js;
	struct err e = {0};
	bool whole = request_role(r, ROLE_INSTRUCTOR);
	if (!find_submission(r, &s) || !reply_stored(r, store_judgings(r->store, s.id, r->arena, &js, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_integer(w, "id", s.id);
	json_write_string(w, "user", s.user_name);
	json_write_string(w, "display", s.user_display);
	json_write_string(w, "problem", s.problem);
	json_write_string(w, "name", s.name);
	write_time(w, "created", s.created);
	json_write_string(w, "device", s.device);
	json_write_string(w, "scope", s.scope);
	json_write_unsigned(w, "size", s.size);
	json_write_string(w, "source", s.source);
	view_judging_short(w, "judging", &s.judging, r->lang, whole);
	json_open(w, "judgings", '[');
	for (size_t i = 0; i < js.n; i++)
		view_judging_short(w, NULL, &js.at[i], r->lang, whole);
	json_close(w, ']');
	json_close(w, '}');
}

/* ---- submitting ---- */

static bool quota(struct request *r)
{
	char key[48], wait[16];
	struct rate_left left;
	snprintf(key, sizeof key, "submit:%lld", (long long)r->caller.id);
	bool ok = rate_take(r->server->rate, key, r->server->conf.submissions_per_minute, 60, &left);
	if (!ok) {
		snprintf(wait, sizeof wait, "%u", left.reset);
		reply_refuse(r, MESSAGE_rate_limited, NULL, wait, NULL);
		reply_header(r, "Retry-After", wait);
	}
	reply_rate(r, &left);
	return ok;
}

static bool take_source(struct request *r, struct store_submission_new *n)
{
	char text[300], limit[24];
	const struct cJSON *v = json_get(json_root(r->json), "source");
	if (!v)
		return reply_refuse(r, MESSAGE_missing, "source", "source", NULL);
	if (!json_is_string(v))
		return reply_refuse(r, MESSAGE_want_string, "source", "source", NULL);
	n->source = json_text(v);
	n->size = strlen(n->source);
	if (n->size > (size_t)r->server->conf.source_kib << 10) {
		snprintf(limit, sizeof limit, "%u", r->server->conf.source_kib << 10);
		return reply_refuse(r, MESSAGE_too_large, "source", limit, NULL);
	}
	const char *why = submission_refusal(n->source, n->size, text, sizeof text);
	return !why || reply_refuse(r, MESSAGE_bad_source, "source", why, NULL);
}

/* A hidden problem can be submitted to by those who see it. */
static bool take_problem(struct request *r, struct store_submission_new *n)
{
	struct store_problem p;
	struct err e = {0};
	if (!request_text(r, "problem", true, 1, 100, &n->problem))
		return false;
	enum store_result result = store_problem_get(r->store, n->problem, 0, r->arena, &p, &e);
	if (result == STORE_NOT_FOUND || (result == STORE_OK && p.hidden && !request_role(r, ROLE_ASSISTANT)))
		return reply_refuse(r, MESSAGE_no_problem, "problem", n->problem, NULL);
	return reply_stored(r, result, &e, MESSAGE_conflict, NULL);
}

/* The compiler is given this name, and messages show it. */
static bool take_name(struct request *r, struct store_submission_new *n)
{
	const char *name = NULL;
	if (!request_line(r, "name", false, 1, 80, &name))
		return false;
	if (name)
		name = submission_name(name);
	bool good = name && *name && *name != '.' && *name != '-' && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+") == strlen(name);
	n->name = good ? name : arena_printf(r->arena, "%s.cu", n->problem);
	return true;
}

void api_submit(struct request *r)
{
	static const char *const scopes[] = {"full", "samples", NULL};
	struct store_submission_new n = {.user = r->caller.id};
	struct store_submission s;
	const char *device = NULL, *scope = "full";
	int64_t id, judging;
	struct err e = {0};
	if (!request_only(r, (const char *const[]){"problem", "source", "device", "scope", "name", NULL}) || !take_problem(r, &n) ||
	    !take_source(r, &n) || !take_name(r, &n) || !request_text(r, "device", false, 0, 60, &device) ||
	    !request_word(r, "scope", false, scopes, &scope))
		return;
	n.device = devices_find(r, device);
	n.samples = !strcmp(scope, "samples");
	if (!n.device || !quota(r) || !reply_stored(r, store_submission_add(r->store, &n, &id, &judging, &e), &e, MESSAGE_conflict, NULL) ||
	    !reply_stored(r, store_submission_get(r->store, id, r->arena, &s, &e), &e, MESSAGE_conflict, NULL))
		return;
	s.source = NULL;
	/* only a judging that is asked for by itself knows its place */
	if (!reply_stored(r, store_judging_get(r->store, judging, r->arena, &s.judging, &e), &e, MESSAGE_conflict, NULL))
		return;
	view_submission(reply_json(r, 201), NULL, &s, r->lang, request_role(r, ROLE_INSTRUCTOR));
}

/* ---- judgings ---- */

void api_judging(struct request *r)
{
	struct store_judging j;
	if (find_judging(r, &j))
		view_judging(r, &j, 200);
}

void api_cancel(struct request *r)
{
	struct store_judging j;
	struct err e = {0};
	if (find_judging(r, &j) && reply_stored(r, store_cancel(r->store, j.id, &e), &e, MESSAGE_judging_over, NULL) && find_judging(r, &j))
		view_judging(r, &j, 200);
}

/* As it was kept, for judge submit: the whole one for instructors, else the one that is fit for the owner. */
void api_report(struct request *r)
{
	struct store_judging j;
	struct err e = {0};
	CLEANUP_BUF struct buf text = {0};
	if (find_judging(r, &j) &&
	    reply_stored(r, store_report(r->store, j.id, request_role(r, ROLE_INSTRUCTOR), &text, &e), &e, MESSAGE_conflict, NULL))
		reply_text(r, 200, "application/json", buf_str(&text));
}

void api_ptx(struct request *r)
{
	struct store_judging j;
	const char *ptx;
	struct err e = {0};
	if (!find_judging(r, &j) || !reply_stored(r, store_ptx(r->store, j.id, r->arena, &ptx, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_string(w, "ptx", ptx);
	json_close(w, '}');
}

static void list_events(struct request *r, const struct store_judging *j, int64_t since, bool whole)
{
	struct store_events es;
	struct err e = {0};
	if (!reply_stored(r, store_events(r->store, j->id, since, EVENTS_PAGE, r->arena, &es, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < es.n; i++) {
		json_open(w, NULL, '{');
		json_write_integer(w, "id", es.at[i].id);
		json_write_string(w, "event", es.at[i].kind);
		write_time(w, "created", es.at[i].created);
		view_raw(w, "data", events_data(&es.at[i], whole));
		json_close(w, '}');
	}
	json_close(w, ']');
	write_next(w, es.n ? es.at[es.n - 1].id : since);
	json_write_string(w, "state", store_state_name(j->state));
	json_close(w, '}');
}

void api_judging_events(struct request *r)
{
	struct store_judging j;
	int64_t since = 0;
	const char *accept = request_header(r, "Accept"), *last = request_header(r, "Last-Event-ID");
	bool whole = request_role(r, ROLE_INSTRUCTOR), asked = request_query(r, "since");
	if (!find_judging(r, &j) || !request_query_integer(r, "since", 0, INT64_MAX, &since))
		return;
	if (last && *last >= '0' && *last <= '9')
		since = strtoll(last, NULL, 10);
	if (!(accept && strstr(accept, "text/event-stream")) && (asked || (accept && strstr(accept, "application/json")))) {
		list_events(r, &j, since, whole);
		return;
	}
	r->reply.stream = events_stream(r->server->events, r->connection, r->caller.id, j.id, since, whole);
	if (!r->reply.stream) {
		reply_refuse(r, MESSAGE_rate_limited, NULL, "15", NULL);
		return;
	}
	r->reply.status = 200;
	r->reply.type = "text/event-stream";
	reply_header(r, "X-Accel-Buffering", "no");	/* nginx passes events on at once */
}

/* ---- again ---- */

void api_rejudge_one(struct request *r)
{
	struct store_submission s;
	struct store_judging j;
	int64_t id;
	struct err e = {0};
	if (find_submission(r, &s) &&
	    reply_stored(r, store_rejudge_one(r->store, s.id, r->caller.id, &id, &e), &e, MESSAGE_judging_open, NULL) &&
	    reply_stored(r, store_judging_get(r->store, id, r->arena, &j, &e), &e, MESSAGE_conflict, NULL))
		view_judging(r, &j, 201);
}

static void put_rejudge(struct request *r, int64_t id, unsigned status)
{
	struct store_rejudge j;
	struct err e = {0};
	if (!reply_stored(r, store_rejudge_get(r->store, id, r->arena, &j, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, status);
	json_open(w, NULL, '{');
	json_write_integer(w, "id", j.id);
	write_time(w, "created", j.created);
	json_write_string(w, "by", j.by);
	json_write_integer(w, "total", j.total);
	json_write_integer(w, "done", j.done);
	json_open(w, "changed", '[');
	for (size_t i = 0; i < j.n_changed; i++) {
		const struct store_changed *c = &j.changed[i];
		json_open(w, NULL, '{');
		json_write_integer(w, "submission", c->submission);
		json_write_string(w, "before", c->before);
		json_write_string(w, "after", c->after);
		json_write_number(w, "score_before", c->score_before);
		json_write_number(w, "score_after", c->score_after);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_close(w, '}');
}

void api_rejudge_add(struct request *r)
{
	struct store_filter f = {0};
	bool preview = false;
	int64_t n;
	struct err e = {0};
	if (!request_only(r, (const char *const[]){"problem", "verdict", "user", "group", "since", "until", "preview", NULL}) ||
	    !request_text(r, "problem", false, 1, 100, &f.problem) || !request_text(r, "verdict", false, 1, 20, &f.verdict) ||
	    !request_text(r, "user", false, 1, 100, &f.user) || !request_integer(r, "group", false, 1, 1LL << 52, &f.group) ||
	    !request_time(r, "since", false, &f.since) || !request_time(r, "until", false, &f.until) || !request_bool(r, "preview", &preview))
		return;
	if (f.verdict && (!verdict_known(f.verdict) || !strcmp(f.verdict, "pending"))) {
		reply_refuse(r, MESSAGE_no_verdict, "verdict", f.verdict, NULL);
		return;
	}
	if (!reply_stored(r, store_rejudge_preview(r->store, &f, &n, &e), &e, MESSAGE_conflict, NULL))
		return;
	if (preview) {
		struct json_writer *w = reply_json(r, 200);
		json_open(w, NULL, '{');
		json_write_integer(w, "count", n);
		json_close(w, '}');
		return;
	}
	if (!n) {
		reply_refuse(r, MESSAGE_empty_set, NULL, NULL);
		return;
	}
	if (reply_stored(r, store_rejudge_add(r->store, &f, r->caller.id, &n, &e), &e, MESSAGE_conflict, NULL))
		put_rejudge(r, n, 201);
}

void api_rejudge(struct request *r)
{
	int64_t id;
	if (request_id(r, 0, &id))
		put_rejudge(r, id, 200);
}
