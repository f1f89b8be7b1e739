/* Problems: list, statement, hints, boards, packages. */
#include "catalog.h"
#include "devices.h"
#include "markup.h"
#include "package.h"
#include "place.h"
#include "router.h"
#include "server.h"
#include "view.h"

#include "../../sandbox/base/cleanup.h"
#include "../element.h"
#include "../hints.h"

#include <math.h>
#include <string.h>

enum { PAGE = 100, POINTS = 500 };

/* ---- one problem ---- */

/* A hidden problem is there for assistants and above. */
static bool find(struct request *r, struct store_problem *out)
{
	struct err e = {0};
	if (!reply_stored(r, store_problem_get(r->store, r->arguments[0], r->caller.id, r->arena, out, &e), &e, MESSAGE_conflict, NULL))
		return false;
	if (out->hidden && !request_role(r, ROLE_ASSISTANT))
		return reply_refuse(r, MESSAGE_not_found, NULL, NULL);
	return true;
}

static struct served *load(struct request *r, const struct store_problem *p)
{
	struct err e = {0};
	struct served *s = catalog_get(r->server->catalog, p, &e);
	if (!s)
		reply_stored(r, STORE_FAILED, &e, MESSAGE_conflict, NULL);
	return s;
}

static int language(const struct request *r)
{
	return !strcmp(r->lang, "zh");
}

static void put_arguments(struct json_writer *w, const struct problem *p)
{
	static const char *const roles[] = {[ROLE_INPUT] = "input", [ROLE_OUTPUT] = "output", [ROLE_WORKSPACE] = "workspace",
					    [ROLE_SCALAR] = "scalar"};
	json_open(w, "arguments", '[');
	for (unsigned i = 0; i < p->n_arguments; i++) {
		const struct argument *a = &p->arguments[i];
		json_open(w, NULL, '{');
		json_write_string(w, "name", a->name);
		json_write_string(w, "role", roles[a->role]);
		json_write_string(w, "type", element_name(a->type));
		json_open(w, "shape", '[');
		for (unsigned d = 0; d < a->dims; d++)
			json_write_string(w, NULL, a->shape[d]);
		json_close(w, ']');
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_passes(struct json_writer *w, const struct problem *p)
{
	bool any = false;
	for (unsigned i = 0; i < p->n_arguments; i++)
		any |= p->max_passes[i] > 0;
	if (!any) {
		json_write_null(w, "max_weight_passes");
		return;
	}
	json_open(w, "max_weight_passes", '{');
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (p->max_passes[i] > 0)
			json_write_number(w, p->arguments[i].name, p->max_passes[i]);
	json_close(w, '}');
}

static void put_limits(struct json_writer *w, const struct problem *p)
{
	json_open(w, "limits", '{');
	json_write_number(w, "seconds", p->seconds);
	json_write_unsigned(w, "memory_bytes", p->memory);
	json_write_unsigned(w, "instructions", p->instructions);
	json_write_number(w, "compile_seconds", p->compile_seconds);
	json_write_unsigned(w, "compile_bytes", p->compile_memory);
	json_close(w, '}');
	json_open(w, "rules", '{');
	if (p->max_launches < 0)
		json_write_null(w, "max_launches");
	else
		json_write_integer(w, "max_launches", p->max_launches);
	json_write_string(w, "scratch_bytes", p->scratch_bytes);
	json_write_string(w, "max_intermediate_bytes", p->max_intermediate_bytes);
	put_passes(w, p);
	json_close(w, '}');
}

static void put_score(struct json_writer *w, const struct problem *p)
{
	json_open(w, "score", '{');
	json_write_number(w, "correct", p->score_correct);
	json_write_number(w, "efficiency", p->score_efficiency);
	json_write_number(w, "full_at", p->full_at);
	json_open(w, "tiers", '{');
	for (int t = TIER_BRONZE; t < TIERS; t++)
		json_write_number(w, tier_name(t), p->tiers[t]);
	json_close(w, '}');
	json_close(w, '}');
}

/* Visible and timing cases: their sizes are fixed, and no secret. */
static void put_cases(struct json_writer *w, const struct problem *p, bool timing)
{
	json_open(w, timing ? "timing" : "samples", '[');
	for (unsigned i = 0; i < p->n_cases; i++) {
		const struct case_spec *c = &p->cases[i];
		if (c->timing != timing || (!timing && !c->visible))
			continue;
		json_open(w, NULL, '{');
		json_write_string(w, "name", c->name);
		if (timing)
			json_write_string(w, "device", c->gpu ? "gpu" : "emulated");
		json_open(w, "sizes", '{');
		for (unsigned k = 0; k < c->n_sizes; k++)
			if (c->sizes[k].kind == DRAW_FIXED)
				json_write_integer(w, c->sizes[k].name, c->sizes[k].list[0]);
		json_close(w, '}');
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_texts(struct json_writer *w, const struct request *r, const struct served *s)
{
	CLEANUP_BUF struct buf prototype = {0};
	int l = language(r);
	json_write_string(w, "language", s->there[l] ? r->lang : "en");
	json_write_string(w, "statement_html", buf_str(&s->html[l]));
	json_open(w, "languages", '[');
	json_write_string(w, NULL, "en");
	if (s->there[1])
		json_write_string(w, NULL, "zh");
	json_close(w, ']');
	json_write_unsigned(w, "hints", hints_count(buf_str(&s->statement[l])));
	json_write_string(w, "starter", buf_str(&s->starter));
	json_write_string(w, "entry", "solve");
	problem_prototype(s->problem, false, &prototype);
	json_write_string(w, "prototype", buf_str(&prototype));
}

void api_problem(struct request *r)
{
	struct store_problem p;
	struct device_list devices;
	if (!find(r, &p) || !devices_list(r, &devices))
		return;
	CLEANUP(served_putp) struct served *s = load(r, &p);
	if (!s)
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	view_problem_members(w, &p, request_role(r, ROLE_ASSISTANT));
	place_members(w, r, &p, NULL);
	put_texts(w, r, s);
	put_arguments(w, s->problem);
	put_limits(w, s->problem);
	put_score(w, s->problem);
	put_cases(w, s->problem, false);
	put_cases(w, s->problem, true);
	json_open(w, "devices", '[');
	for (size_t i = 0; i < devices.n; i++)
		json_write_string(w, NULL, devices.at[i].id);
	json_close(w, ']');
	json_close(w, '}');
}

void api_problems(struct request *r)
{
	struct store_problems ps;
	struct err e = {0};
	bool hidden = request_role(r, ROLE_ASSISTANT);
	if (!reply_stored(r, store_problems(r->store, r->caller.id, hidden, r->arena, &ps, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < ps.n; i++) {
		json_open(w, NULL, '{');
		view_problem_members(w, &ps.at[i], hidden);
		place_members(w, r, &ps.at[i], &ps);
		json_close(w, '}');
	}
	json_close(w, ']');
	place_paths(w, r, &ps);
	json_write_null(w, "next");
	json_close(w, '}');
}

void api_hint(struct request *r)
{
	struct store_problem p;
	const char *from;
	size_t size;
	int64_t n;
	CLEANUP_BUF struct buf html = {0};
	if (!find(r, &p) || !request_id(r, 1, &n))
		return;
	CLEANUP(served_putp) struct served *s = load(r, &p);
	if (!s)
		return;
	if (n > 1000 || hints_find(buf_str(&s->statement[language(r)]), (unsigned)n, &from, &size) < 0) {
		reply_refuse(r, MESSAGE_not_found, NULL, NULL);
		return;
	}
	markup_html(from, size, &html);
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_string(w, "html", buf_str(&html));
	json_close(w, '}');
}

void api_problem_change(struct request *r)
{
	struct store_problem p;
	struct err e = {0};
	bool hidden = false;
	int64_t position = -1;
	if (!find(r, &p) || !request_only(r, (const char *const[]){"hidden", "position", NULL}) || !request_bool(r, "hidden", &hidden) ||
	    !request_integer(r, "position", false, 0, 1000000, &position))
		return;
	bool has_hidden = json_get(json_root(r->json), "hidden");
	if (!has_hidden && position < 0) {
		reply_refuse(r, MESSAGE_nothing_to_change, NULL, NULL);
		return;
	}
	if (!reply_stored(r, store_problem_set(r->store, p.id, has_hidden ? hidden : -1, position, &e), &e, MESSAGE_conflict, NULL) || !find(r, &p))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	view_problem_members(w, &p, true);
	place_members(w, r, &p, NULL);
	json_close(w, '}');
}

void api_problem_versions(struct request *r)
{
	struct store_versions vs;
	struct err e = {0};
	if (!reply_stored(r, store_problem_versions(r->store, r->arguments[0], r->arena, &vs, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < vs.n; i++) {
		json_open(w, NULL, '{');
		json_write_string(w, "version", vs.at[i].version);
		json_write_integer(w, "edition", vs.at[i].edition);
		json_write_string(w, "by", vs.at[i].by);
		write_time(w, "created", vs.at[i].created);
		json_write_integer(w, "judgings", vs.at[i].judgings);
		json_write_bool(w, "current", vs.at[i].current);
		json_close(w, '}');
	}
	json_close(w, ']');
	json_write_null(w, "next");
	json_close(w, '}');
}

/* ---- boards ---- */

/* A board of a group is for its members. */
static bool take_group(struct request *r, int64_t *group)
{
	*group = 0;
	if (!request_query_integer(r, "group", 1, INT64_MAX, group))
		return false;
	if (*group && !request_role(r, ROLE_ASSISTANT) && !(r->caller.id && store_group_has(r->store, *group, r->caller.id)))
		return reply_refuse(r, MESSAGE_not_found, "group", NULL);
	return true;
}

void api_leaderboard(struct request *r)
{
	struct store_problem p;
	struct store_ranks rs;
	struct err e = {0};
	int64_t group, cursor;
	if (!find(r, &p) || !take_group(r, &group) || !request_cursor(r, &cursor))
		return;
	const char *device = devices_find(r, request_query(r, "device"));
	if (!device ||
	    !reply_stored(r, store_leaderboard(r->store, p.id, device, group, cursor, PAGE, r->arena, &rs, &e), &e, MESSAGE_conflict, NULL))
		return;
	bool all = request_role(r, ROLE_ASSISTANT);
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_string(w, "device", device);
	json_open(w, "items", '[');
	for (size_t i = 0; i < rs.n; i++) {
		const struct store_rank *k = &rs.at[i];
		bool mine = k->user == r->caller.id;
		json_open(w, NULL, '{');
		json_write_integer(w, "rank", k->rank);
		json_write_string(w, "user", k->name);
		json_write_string(w, "display", k->display);
		json_write_bool(w, "mine", mine);
		json_write_number(w, "efficiency", k->efficiency);
		json_write_number(w, "time_us", k->time_us);
		json_write_number(w, "score", k->score);
		if (mine || all)
			json_write_integer(w, "submission", k->submission);
		else
			json_write_null(w, "submission");
		write_time(w, "when", k->when);
		json_close(w, '}');
	}
	json_close(w, ']');
	write_next(w, rs.next);
	json_close(w, '}');
}

static void put_point(struct json_writer *w, const struct store_point *p, bool mine, bool all)
{
	json_open(w, NULL, '{');
	if (mine || all)
		json_write_integer(w, "submission", p->submission);
	else
		json_write_null(w, "submission");
	json_write_bool(w, "mine", mine);
	json_write_string(w, "case", p->name);
	view_raw(w, "sizes", p->sizes);
	json_write_number(w, "efficiency", p->efficiency);
	json_write_number(w, "time_us", p->time_us);
	json_write_number(w, "floor_us", p->floor_us);
	json_write_number(w, "bytes", p->bytes);
	json_write_number(w, "flops", p->flops);
	json_write_string(w, "limiter", p->limiter);
	json_write_number(w, "reference_us", p->reference_us);
	json_write_number(w, "cublas_us", p->cublas_us);
	write_time(w, "when", mine ? p->when : 0);
	json_close(w, '}');
}

/* Where the device's peaks lie elsewhere, the floors of what was timed there tell of them: the bandwidth, of which there is always one that
 * is bound by it, and the rate of arithmetic if one is bound by that. */
static void put_roof(struct json_writer *w, const char *device, const char *unit, const struct store_points *ps)
{
	double gbs, flops;
	devices_roof(device, unit, &gbs, &flops);
	bool elsewhere = strncmp(device, "emulated:", 9) != 0;
	for (size_t i = 0; elsewhere && i < ps->n; i++)
		if (ps->at[i].floor_us > 0)
			gbs = fmax(gbs, ps->at[i].bytes / ps->at[i].floor_us / 1e3);
	for (size_t i = 0; elsewhere && i < ps->n; i++)
		if (ps->at[i].bytes / ps->at[i].floor_us / 1e3 < 0.98 * gbs)
			flops = fmax(flops, ps->at[i].flops / ps->at[i].floor_us * 1e6);
	json_open(w, "roof", '{');
	json_write_number(w, "peak_gbs", gbs);
	json_write_number(w, "peak_flops", flops);
	json_close(w, '}');
}

void api_points(struct request *r)
{
	struct store_problem p;
	struct store_points ps;
	struct err e = {0};
	if (!find(r, &p))
		return;
	const char *device = devices_find(r, request_query(r, "device"));
	if (!device || !reply_stored(r, store_points(r->store, p.id, device, r->caller.id, POINTS, r->arena, &ps, &e), &e, MESSAGE_conflict, NULL))
		return;
	CLEANUP(served_putp) struct served *s = load(r, &p);
	if (!s)
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_string(w, "device", device);
	json_write_string(w, "unit", s->problem->unit);
	put_roof(w, device, s->problem->unit, &ps);
	json_open(w, "items", '[');
	for (size_t i = 0; i < ps.n; i++)
		put_point(w, &ps.at[i], ps.at[i].user == r->caller.id, request_role(r, ROLE_ASSISTANT));
	json_close(w, ']');
	json_write_null(w, "next");
	json_close(w, '}');
}

/* ---- packages ---- */

static bool put_package(struct request *r, const struct package *p)
{
	struct err e = {0};
	CLEANUP(problem_closep) struct problem *problem = problem_open(p->folder, &e);
	if (!problem)
		return reply_stored(r, STORE_FAILED, &e, MESSAGE_conflict, NULL);
	return reply_stored(r, catalog_put(r->store, problem, r->caller.id, -1, &e), &e, MESSAGE_conflict, NULL);
}

void api_package(struct request *r)
{
	struct package *p = arena_new_array(r->arena, struct package, 1);
	struct err e = {0};
	const char *root = arena_printf(r->arena, "%s/problems", r->server->data), *check = request_query(r, "check");
	bool only_check = check && *check && strcmp(check, "0");
	if (package_take(root, buf_str(&r->body), r->body.size, only_check, p, &e) < 0) {
		if (e.kind == ERR_INPUT)
			view_package_refused(r, p);
		else
			reply_stored(r, STORE_FAILED, &e, MESSAGE_conflict, NULL);
		return;
	}
	if (!only_check && !put_package(r, p))
		return;
	struct json_writer *w = reply_json(r, only_check ? 200 : 201);
	json_open(w, NULL, '{');
	json_write_string(w, "id", p->id);
	json_write_string(w, "version", p->version);
	view_package_messages(w, p);
	json_close(w, '}');
}
