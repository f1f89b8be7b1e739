/* Groups, their members, rosters, assignments, grades. */
#include "csv.h"
#include "router.h"
#include "view.h"

#include "../../sandbox/base/cleanup.h"

#include <string.h>
#include <strings.h>
#include <time.h>

enum { NAME_MAX_CHARACTERS = 80, ROSTER_ROWS = 2000 };

/* ---- groups ---- */

/* A group is there for its members, and for assistants and above. */
static bool find(struct request *r, struct store_group *out)
{
	int64_t id;
	struct err e = {0};
	if (!request_id(r, 0, &id))
		return false;
	if (!request_role(r, ROLE_ASSISTANT) && !store_group_has(r->store, id, r->caller.id))
		return reply_refuse(r, MESSAGE_not_found, NULL, NULL);
	return reply_stored(r, store_group_get(r->store, id, r->arena, out, &e), &e, MESSAGE_conflict, NULL);
}

static void put_group(struct request *r, int64_t id, unsigned status)
{
	struct store_group g;
	struct err e = {0};
	if (reply_stored(r, store_group_get(r->store, id, r->arena, &g, &e), &e, MESSAGE_conflict, NULL))
		view_group(reply_json(r, status), NULL, &g, request_role(r, ROLE_INSTRUCTOR));
}

void api_groups(struct request *r)
{
	struct store_groups gs;
	struct err e = {0};
	int64_t member = request_role(r, ROLE_ASSISTANT) ? 0 : r->caller.id;
	if (!reply_stored(r, store_groups(r->store, member, r->arena, &gs, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < gs.n; i++)
		view_group(w, NULL, &gs.at[i], request_role(r, ROLE_INSTRUCTOR));
	json_close(w, ']');
	json_write_null(w, "next");
	json_close(w, '}');
}

void api_group_add(struct request *r)
{
	const char *name = NULL;
	struct store_group g;
	struct err e = {0};
	if (request_only(r, (const char *const[]){"name", NULL}) && request_line(r, "name", true, 1, NAME_MAX_CHARACTERS, &name) &&
	    reply_stored(r, store_group_add(r->store, name, r->arena, &g, &e), &e, MESSAGE_name_taken, "name"))
		view_group(reply_json(r, 201), NULL, &g, true);
}

void api_group(struct request *r)
{
	struct store_group g;
	if (find(r, &g))
		view_group(reply_json(r, 200), NULL, &g, request_role(r, ROLE_INSTRUCTOR));
}

void api_group_change(struct request *r)
{
	const char *name = NULL;
	bool new_code = false;
	struct store_group g;
	struct err e = {0};
	if (!find(r, &g) || !request_only(r, (const char *const[]){"name", "new_code", NULL}) ||
	    !request_line(r, "name", false, 1, NAME_MAX_CHARACTERS, &name) || !request_bool(r, "new_code", &new_code))
		return;
	if (!name && !new_code) {
		reply_refuse(r, MESSAGE_nothing_to_change, NULL, NULL);
		return;
	}
	if (reply_stored(r, store_group_set(r->store, g.id, name, new_code, &e), &e, MESSAGE_name_taken, "name"))
		put_group(r, g.id, 200);
}

void api_group_remove(struct request *r)
{
	struct store_group g;
	struct err e = {0};
	if (find(r, &g) && reply_stored(r, store_group_remove(r->store, g.id, &e), &e, MESSAGE_conflict, NULL))
		reply_empty(r, 204);
}

void api_group_join(struct request *r)
{
	const char *code = NULL;
	struct store_group g;
	struct err e = {0};
	if (!request_only(r, (const char *const[]){"code", NULL}) || !request_line(r, "code", true, 1, 100, &code))
		return;
	enum store_result result = store_group_by_code(r->store, code, r->arena, &g, &e);
	if (result == STORE_NOT_FOUND || result == STORE_INVALID)
		reply_refuse(r, MESSAGE_bad_invite, "code", NULL);
	else if (reply_stored(r, result, &e, MESSAGE_conflict, NULL) &&
		 reply_stored(r, store_group_join(r->store, g.id, r->caller.id, &e), &e, MESSAGE_conflict, NULL))
		put_group(r, g.id, 200);
}

/* ---- members ---- */

void api_group_members(struct request *r)
{
	struct store_group g;
	struct store_users us;
	struct err e = {0};
	if (!find(r, &g) || !reply_stored(r, store_group_members(r->store, g.id, r->arena, &us, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	view_users(w, &us);
	json_write_null(w, "next");
	json_close(w, '}');
}

/* Instructors take out anybody, others themselves. */
void api_group_leave(struct request *r)
{
	struct store_group g;
	struct store_user u;
	struct err e = {0};
	if (!find(r, &g))
		return;
	if (!request_role(r, ROLE_INSTRUCTOR) && strcmp(r->arguments[1], r->caller.user.name)) {
		reply_refuse(r, MESSAGE_forbidden, NULL, NULL);
		return;
	}
	if (reply_stored(r, store_user_get(r->store, r->arguments[1], r->arena, &u, &e), &e, MESSAGE_conflict, NULL) &&
	    reply_stored(r, store_group_leave(r->store, g.id, u.id, &e), &e, MESSAGE_conflict, NULL))
		reply_empty(r, 204);
}

static const char *cell(const struct csv_row *row, unsigned i)
{
	return i < row->n && *row->at[i] ? row->at[i] : NULL;
}

static bool is_head(const struct csv_row *row)
{
	return row->n && (!strcasecmp(row->at[0], "name") || !strcasecmp(row->at[0], "username") || !strcmp(row->at[0], "用户名"));
}

static bool refuse_line(struct request *r, unsigned line, const char *why)
{
	char number[16];
	snprintf(number, sizeof number, "%u", line);
	return reply_refuse(r, MESSAGE_bad_roster, NULL, number, why, NULL);
}

static bool take_roster(struct request *r, struct store_roster_row **rows, size_t *n)
{
	struct csv csv;
	unsigned line;
	struct err e = {0};
	if (csv_parse(buf_str(&r->body), r->body.size, r->arena, &csv, &line, &e) < 0)
		return refuse_line(r, line, e.text);
	size_t first = csv.n && is_head(&csv.rows[0]);
	*n = csv.n - first;
	if (!*n)
		return refuse_line(r, 1, "name,display,password");
	if (*n > ROSTER_ROWS)
		return refuse_line(r, csv.rows[first + ROSTER_ROWS].line, "at most 2000");
	*rows = arena_new_array(r->arena, struct store_roster_row, *n);
	for (size_t i = 0; i < *n; i++) {
		const struct csv_row *row = &csv.rows[first + i];
		(*rows)[i] = (struct store_roster_row){.name = row->at[0], .display = cell(row, 1), .password = cell(row, 2)};
		if (!*row->at[0] || row->n > 3)
			return refuse_line(r, row->line, "name,display,password");
	}
	return true;
}

void api_group_roster(struct request *r)
{
	struct store_group g;
	struct store_roster_row *rows = NULL;
	size_t n = 0, added = 0, joined = 0;
	struct err e = {0};
	if (!find(r, &g) || !take_roster(r, &rows, &n) ||
	    !reply_stored(r, store_group_roster(r->store, g.id, rows, n, &e), &e, MESSAGE_conflict, NULL))
		return;
	for (size_t i = 0; i < n; i++) {
		added += rows[i].added;
		joined += rows[i].joined;
	}
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_unsigned(w, "rows", n);
	json_write_unsigned(w, "added", added);
	json_write_unsigned(w, "joined", joined);
	json_close(w, '}');
}

static void csv_time(struct buf *out, int64_t ms)
{
	char text[40] = "";
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;
	if (ms && gmtime_r(&seconds, &tm))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	csv_text(out, text, false);
}

void api_group_grades(struct request *r)
{
	struct store_group g;
	struct store_grades gs;
	struct err e = {0};
	if (!find(r, &g) || !reply_stored(r, store_grades(r->store, g.id, r->arena, &gs, &e), &e, MESSAGE_conflict, NULL))
		return;
	/* spreadsheets tell UTF-8 by the mark at its beginning */
	reply_text(r, 200, "text/csv; charset=utf-8", "\xef\xbb\xbfname,display,assignment,problem,deadline,score,verdict,efficiency,submission,submitted\r\n");
	struct buf *out = &r->reply.body;
	for (size_t i = 0; i < gs.n; i++) {
		const struct store_grade *k = &gs.at[i];
		csv_text(out, k->user, true);
		csv_text(out, k->display, false);
		csv_text(out, k->title, false);
		csv_text(out, k->problem, false);
		csv_time(out, k->deadline);
		csv_number(out, k->score, false);
		csv_text(out, k->verdict ? k->verdict : "", false);
		csv_number(out, k->efficiency, false);
		if (k->submission)
			csv_number(out, (double)k->submission, false);
		else
			csv_text(out, "", false);
		csv_time(out, k->when);
		buf_adds(out, "\r\n");
	}
	reply_header(r, "Content-Disposition", arena_printf(r->arena, "attachment; filename=\"grades-%lld.csv\"", (long long)g.id));
}

/* ---- assignments ---- */

static void list_assignments(struct request *r, int64_t group)
{
	struct store_assignments as;
	struct err e = {0};
	if (!reply_stored(r, store_assignments(r->store, group, r->caller.id, r->arena, &as, &e), &e, MESSAGE_conflict, NULL))
		return;
	bool all = request_role(r, ROLE_ASSISTANT);
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < as.n; i++)
		if (all || as.at[i].opens <= store_now())	/* what has not opened yet is a surprise */
			view_assignment(w, NULL, &as.at[i]);
	json_close(w, ']');
	json_write_null(w, "next");
	json_close(w, '}');
}

void api_assignments(struct request *r)
{
	struct store_group g;
	if (find(r, &g))
		list_assignments(r, g.id);
}

void api_assignments_mine(struct request *r)
{
	list_assignments(r, 0);
}

static bool put_assignment(struct request *r, int64_t id, unsigned status)
{
	struct store_assignment a;
	struct err e = {0};
	if (!reply_stored(r, store_assignment_get(r->store, id, r->caller.id, r->arena, &a, &e), &e, MESSAGE_conflict, NULL))
		return false;
	view_assignment(reply_json(r, status), NULL, &a);
	return true;
}

static bool take_assignment(struct request *r, bool fresh, struct store_assignment_new *n)
{
	struct store_problem p;
	struct err e = {0};
	*n = (struct store_assignment_new){.opens = fresh ? 0 : -1, .deadline = fresh ? 0 : -1};
	if (!request_only(r, (const char *const[]){"problem", "title", "opens", "deadline", NULL}) ||
	    !request_text(r, "problem", fresh, 1, 100, &n->problem) || !request_line(r, "title", false, 1, 120, &n->title) ||
	    !request_time(r, "opens", false, &n->opens) || !request_time(r, "deadline", fresh, &n->deadline))
		return false;
	if (n->problem && store_problem_get(r->store, n->problem, 0, r->arena, &p, &e) == STORE_NOT_FOUND)
		return reply_refuse(r, MESSAGE_no_problem, "problem", n->problem, NULL);
	return true;
}

void api_assignment_add(struct request *r)
{
	struct store_group g;
	struct store_assignment_new n;
	int64_t id;
	struct err e = {0};
	if (!find(r, &g) || !take_assignment(r, true, &n))
		return;
	if (n.deadline <= n.opens)
		reply_refuse(r, MESSAGE_deadline_before_opens, "deadline", NULL);
	else if (reply_stored(r, store_assignment_add(r->store, g.id, &n, &id, &e), &e, MESSAGE_conflict, NULL))
		put_assignment(r, id, 201);
}

void api_assignment_change(struct request *r)
{
	struct store_assignment a;
	struct store_assignment_new n;
	int64_t id;
	struct err e = {0};
	if (!request_id(r, 0, &id) || !reply_stored(r, store_assignment_get(r->store, id, 0, r->arena, &a, &e), &e, MESSAGE_conflict, NULL) ||
	    !take_assignment(r, false, &n))
		return;
	if ((n.deadline < 0 ? a.deadline : n.deadline) <= (n.opens < 0 ? a.opens : n.opens))
		reply_refuse(r, MESSAGE_deadline_before_opens, "deadline", NULL);
	else if (reply_stored(r, store_assignment_set(r->store, id, &n, &e), &e, MESSAGE_conflict, NULL))
		put_assignment(r, id, 200);
}

void api_assignment_remove(struct request *r)
{
	int64_t id;
	struct err e = {0};
	if (request_id(r, 0, &id) && reply_stored(r, store_assignment_remove(r->store, id, &e), &e, MESSAGE_conflict, NULL))
		reply_empty(r, 204);
}

/* ---- extra time ---- */

static bool find_assignment(struct request *r, struct store_assignment *out)
{
	int64_t id;
	struct err e = {0};
	return request_id(r, 0, &id) && reply_stored(r, store_assignment_get(r->store, id, 0, r->arena, out, &e), &e, MESSAGE_conflict, NULL);
}

static void list_extensions(struct request *r, int64_t id)
{
	struct store_extensions xs;
	struct err e = {0};
	if (!reply_stored(r, store_extensions(r->store, id, r->arena, &xs, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < xs.n; i++) {
		json_open(w, NULL, '{');
		json_write_string(w, "user", xs.at[i].user);
		json_write_string(w, "display", xs.at[i].display);
		write_time(w, "deadline", xs.at[i].deadline);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_write_null(w, "next");
	json_close(w, '}');
}

void api_extensions(struct request *r)
{
	struct store_assignment a;
	if (find_assignment(r, &a))
		list_extensions(r, a.id);
}

void api_extension(struct request *r)
{
	int64_t deadline = 0;
	const char *name = NULL;
	struct store_assignment a;
	struct store_user u;
	struct err e = {0};
	if (!find_assignment(r, &a) || !request_only(r, (const char *const[]){"user", "deadline", NULL}) ||
	    !request_text(r, "user", true, 1, 100, &name) || !request_time(r, "deadline", true, &deadline))
		return;
	enum store_result result = store_user_get(r->store, name, r->arena, &u, &e);
	if (result == STORE_NOT_FOUND)
		reply_refuse(r, MESSAGE_no_user, "user", name, NULL);
	else if (!reply_stored(r, result, &e, MESSAGE_conflict, NULL))
		return;
	else if (!store_group_has(r->store, a.group, u.id))
		reply_refuse(r, MESSAGE_no_member, "user", name, NULL);
	else if (deadline <= a.opens)
		reply_refuse(r, MESSAGE_deadline_before_opens, "deadline", NULL);
	else if (reply_stored(r, store_extension_set(r->store, a.id, u.id, deadline, &e), &e, MESSAGE_conflict, NULL))
		list_extensions(r, a.id);
}

void api_extension_remove(struct request *r)
{
	struct store_assignment a;
	struct store_user u;
	struct err e = {0};
	if (find_assignment(r, &a) && reply_stored(r, store_user_get(r->store, r->arguments[1], r->arena, &u, &e), &e, MESSAGE_conflict, NULL) &&
	    reply_stored(r, store_extension_remove(r->store, a.id, u.id, &e), &e, MESSAGE_conflict, NULL))
		reply_empty(r, 204);
}
