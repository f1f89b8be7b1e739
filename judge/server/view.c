/* What of the store is shown: see view.h.
 *
 * A student gets of a hidden case its name, verdict, the sentence about it, and where in the submission's own source a fault was.
 * Sizes, values, what was printed there, and the seed stay here.  The report comes from the store in the form for students or in that
 * for instructors; the rows of cases are filtered here. */
#include "view.h"

#include "../../sandbox/base/cleanup.h"
#include "../saying.h"
#include "../untold.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

/* ---- JSON of the store's ---- */

static void copy(struct json_writer *w, const char *key, const cJSON *v)
{
	if (cJSON_IsObject(v) || cJSON_IsArray(v)) {
		json_open(w, key, cJSON_IsObject(v) ? '{' : '[');
		for (const cJSON *c = v->child; c; c = c->next)
			copy(w, cJSON_IsObject(v) ? c->string : NULL, c);
		json_close(w, cJSON_IsObject(v) ? '}' : ']');
	} else if (cJSON_IsString(v)) {
		json_write_string(w, key, v->valuestring);
	} else if (cJSON_IsNumber(v)) {
		double n = v->valuedouble;
		if (n == floor(n) && fabs(n) < 9e15)
			json_write_integer(w, key, (int64_t)n);
		else
			json_write_number(w, key, n);
	} else if (cJSON_IsBool(v)) {
		json_write_bool(w, key, cJSON_IsTrue(v));
	} else {
		json_write_null(w, key);
	}
}

static void delete_json(cJSON **j)
{
	cJSON_Delete(*j);
}
#define CLEANUP_JSON CLEANUP(delete_json)

void view_raw(struct json_writer *w, const char *key, const char *json)
{
	CLEANUP_JSON cJSON *j = json ? cJSON_Parse(json) : NULL;
	copy(w, key, j);
}

static double number_of(const cJSON *object, const char *name)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);
	return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

static const char *text_of(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* ---- people ---- */

void view_user(struct json_writer *w, const char *key, const struct store_user *u, bool whole)
{
	json_open(w, key, '{');
	json_write_string(w, "name", u->name);
	json_write_string(w, "display", u->display);
	json_write_string(w, "role", store_role_name(u->role));
	json_write_string(w, "language", u->language);
	write_time(w, "created", u->created);
	if (whole)
		json_write_bool(w, "disabled", u->disabled);
	json_close(w, '}');
}

void view_users(struct json_writer *w, const struct store_users *us)
{
	json_open(w, "items", '[');
	for (size_t i = 0; i < us->n; i++)
		view_user(w, NULL, &us->at[i], true);
	json_close(w, ']');
}

void view_group(struct json_writer *w, const char *key, const struct store_group *g, bool with_code)
{
	json_open(w, key, '{');
	json_write_integer(w, "id", g->id);
	json_write_string(w, "name", g->name);
	if (with_code)
		json_write_string(w, "code", g->code);
	json_write_integer(w, "members", g->members);
	write_time(w, "created", g->created);
	json_close(w, '}');
}

void view_assignment(struct json_writer *w, const char *key, const struct store_assignment *a)
{
	json_open(w, key, '{');
	json_write_integer(w, "id", a->id);
	json_write_integer(w, "group", a->group);
	json_write_string(w, "group_name", a->group_name);
	json_write_string(w, "problem", a->problem);
	json_write_string(w, "title", a->title);
	write_time(w, "opens", a->opens);
	write_time(w, "deadline", a->deadline);
	if (a->best_submission) {
		json_open(w, "best", '{');
		json_write_number(w, "score", a->best_score);
		json_write_integer(w, "submission", a->best_submission);
		json_close(w, '}');
	} else {
		json_write_null(w, "best");
	}
	json_close(w, '}');
}

/* ---- problems ---- */

void view_problem_members(struct json_writer *w, const struct store_problem *p, bool with_hidden)
{
	json_write_string(w, "id", p->id);
	json_write_string(w, "version", p->version);
	json_open(w, "title", '{');
	json_write_string(w, "en", p->title);
	json_write_string(w, "zh", p->title_zh ? p->title_zh : p->title);
	json_close(w, '}');
	json_write_string(w, "difficulty", p->difficulty);
	write_tags(w, "tags", p->tags);
	json_write_integer(w, "position", p->position);
	if (with_hidden)
		json_write_bool(w, "hidden", p->hidden);
	json_write_bool(w, "solved", p->solved);
	json_write_bool(w, "tried", p->tried);
	json_write_number(w, "best_efficiency", p->best_efficiency);
	json_write_integer(w, "attempts", p->attempts);
	json_write_integer(w, "accepted", p->accepted);
}

/* ---- packages ---- */

void view_package_messages(struct json_writer *w, const struct package *p)
{
	json_open(w, "messages", '[');
	for (unsigned i = 0; i < p->n; i++) {
		const struct finding *m = &p->messages[i];
		json_open(w, NULL, '{');
		json_write_string(w, "file", *m->file ? m->file : NULL);
		if (m->line)
			json_write_integer(w, "line", m->line);
		else
			json_write_null(w, "line");
		json_write_string(w, "field", *m->field ? m->field : NULL);
		json_write_string(w, "text", m->text);
		json_close(w, '}');
	}
	json_close(w, ']');
}

void view_package_refused(struct request *r, const struct package *p)
{
	struct json_writer *w = reply_json(r, 422);
	json_open(w, NULL, '{');
	json_open(w, "error", '{');
	json_write_string(w, "code", "invalid");
	json_write_null(w, "field");
	json_write_string(w, "message", p->n ? p->messages[0].text : "the package cannot be taken");
	json_close(w, '}');
	view_package_messages(w, p);
	json_close(w, '}');
}

/* ---- submissions and judgings ---- */

const char *view_without_sizes(struct arena *a, const char *text)
{
	CLEANUP_BUF struct buf out = {0};
	if (!text)
		return NULL;
	untold(text, &out);
	return arena_strdup(a, buf_str(&out));
}

/* A judging's sentence is kept as it may be told to anybody (report_told); a failure of the judge's own may name sizes. */
static const char *text_for(struct arena *a, const struct store_judging *j, bool whole)
{
	return whole || !j->verdict || strcmp(j->verdict, "SE") ? j->text : view_without_sizes(a, j->text);
}

static void judging_members(struct json_writer *w, const struct store_judging *j, const char *lang, bool whole)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	bool over = j->state == STATE_DONE || j->state == STATE_CANCELLED;
	json_write_integer(w, "id", j->id);
	json_write_integer(w, "submission", j->submission);
	json_write_string(w, "problem", j->problem);
	json_write_string(w, "version", j->version);
	json_write_string(w, "state", store_state_name(j->state));
	if (j->place)
		json_write_integer(w, "place", j->place);
	else
		json_write_null(w, "place");
	json_write_unsigned(w, "attempt", j->attempt);
	json_write_string(w, "reason", j->rejudge ? "rejudge" : "submit");
	json_write_string(w, "device", j->device);
	write_time(w, "created", j->created);
	write_time(w, "started", j->started);
	write_time(w, "finished", j->finished);
	json_write_string(w, "verdict", j->verdict);
	json_write_string(w, "text", saying_in(lang, text_for(a, j, whole), a));
	json_write_number(w, "score", j->score);
	json_write_number(w, "efficiency", j->efficiency);
	json_write_string(w, "tier", j->tier);
	json_write_number(w, "time_us", j->time_us);
	json_write_bool(w, "cancelling", j->cancelling);
	if (over || !j->stage) {
		json_write_null(w, "progress");
	} else {
		json_open(w, "progress", '{');
		json_write_string(w, "stage", j->stage);
		json_write_unsigned(w, "done", j->done);
		json_write_unsigned(w, "total", j->total);
		json_close(w, '}');
	}
}

void view_judging_short(struct json_writer *w, const char *key, const struct store_judging *j, const char *lang, bool whole)
{
	json_open(w, key, '{');
	judging_members(w, j, lang, whole);
	json_close(w, '}');
}

void view_submission(struct json_writer *w, const char *key, const struct store_submission *s, const char *lang, bool whole)
{
	json_open(w, key, '{');
	json_write_integer(w, "id", s->id);
	json_write_string(w, "user", s->user_name);
	json_write_string(w, "display", s->user_display);
	json_write_string(w, "problem", s->problem);
	json_write_string(w, "name", s->name);
	write_time(w, "created", s->created);
	json_write_string(w, "device", s->device);
	json_write_string(w, "scope", s->scope);
	json_write_unsigned(w, "size", s->size);
	if (s->source)
		json_write_string(w, "source", s->source);
	view_judging_short(w, "judging", &s->judging, lang, whole);
	json_close(w, '}');
}

/* ---- cases ---- */

/* Of a hidden case: kind and place in the source; thread, address and detail could tell sizes. */
static void put_fault(struct json_writer *w, const char *text, const char *lang, bool shown)
{
	static const char *const open[] = {"kind", "kernel", "file", "line"};
	CLEANUP(arena_freep) struct arena *a = arena_new();
	CLEANUP_JSON cJSON *f = text ? cJSON_Parse(text) : NULL;
	if (!f) {
		json_write_null(w, "fault");
		return;
	}
	json_open(w, "fault", '{');
	for (const cJSON *v = f->child; v; v = v->next) {
		bool told = shown;
		for (int i = 0; i < 4; i++)
			told |= !strcmp(open[i], v->string);
		if (told && cJSON_IsString(v) && (!strcmp(v->string, "kind") || !strcmp(v->string, "detail")))
			json_write_string(w, v->string, saying_in(lang, v->valuestring, a));
		else if (told)
			copy(w, v->string, v);
	}
	json_close(w, '}');
}

static void put_case(struct json_writer *w, const struct store_case *c, const char *lang, bool whole)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	bool sizes = whole || c->visible || c->timing, values = whole || c->visible;
	json_open(w, NULL, '{');
	json_write_string(w, "name", c->name);
	json_write_bool(w, "visible", c->visible);
	json_write_bool(w, "timing", c->timing);
	json_write_bool(w, "gpu", c->gpu);
	json_write_string(w, "stage", c->stage);
	json_write_string(w, "verdict", c->verdict);
	json_write_string(w, "why", saying_in(lang, values ? c->why : view_without_sizes(a, c->why), a));
	view_raw(w, "sizes", sizes ? c->sizes : NULL);
	json_write_ratio(w, "error_ratio", sizes ? c->error_ratio : untold_ratio(c->error_ratio));
	json_write_number(w, "time_us", c->time_us);
	json_write_number(w, "floor_us", c->floor_us);
	json_write_number(w, "efficiency", c->efficiency);
	json_write_string(w, "output", values ? c->printed : NULL);
	view_raw(w, "wrong", values ? c->worst : NULL);
	put_fault(w, c->fault, lang, values);
	json_close(w, '}');
}

/* How a time on a GPU was come by: of the case of this name in the report; null where it was modelled. */
static void put_measurement(struct json_writer *w, const cJSON *report, const struct store_case *c)
{
	const cJSON *r, *found = NULL;
	cJSON_ArrayForEach(r, cJSON_GetObjectItemCaseSensitive(report, "cases")) {
		const char *name = text_of(r, "name");
		if (c->gpu && name && !strcmp(name, c->name) && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(r, "gpu")) &&
		    cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(r, "timing")))
			found = cJSON_GetObjectItemCaseSensitive(r, "measurement");
	}
	copy(w, "measurement", found);
}

static void put_timing(struct json_writer *w, const struct store_cases *cs, const cJSON *report)
{
	json_open(w, "timing", '[');
	for (size_t i = 0; i < cs->n; i++) {
		const struct store_case *c = &cs->at[i];
		if (!c->timing || isnan(c->time_us))
			continue;
		json_open(w, NULL, '{');
		json_write_string(w, "name", c->name);
		json_write_bool(w, "gpu", c->gpu);
		view_raw(w, "sizes", c->sizes);
		json_write_number(w, "time_us", c->time_us);
		json_write_number(w, "floor_us", c->floor_us);
		json_write_number(w, "efficiency", c->efficiency);
		json_write_string(w, "limiter", c->limiter);
		json_write_number(w, "reference_us", c->reference_us);
		json_write_number(w, "cublas_us", c->cublas_us);
		json_write_number(w, "bytes", c->bytes);
		json_write_number(w, "flops", c->flops);
		put_measurement(w, report, c);
		json_close(w, '}');
	}
	json_close(w, ']');
}

/* ---- the report ---- */

/* What a line of the source cost: its part of all instructions, and how its accesses went. */
static void put_line(struct json_writer *w, const cJSON *line, double all)
{
	const cJSON *c = cJSON_GetObjectItemCaseSensitive(line, "counters");
	double instructions = number_of(c, "instructions");
	json_open(w, NULL, '{');
	json_write_integer(w, "line", (int64_t)number_of(line, "line"));
	json_write_number(w, "share", all > 0 ? instructions / all : NAN);
	json_write_number(w, "instructions", instructions);
	json_write_number(w, "requests", number_of(c, "global_load_requests") + number_of(c, "global_store_requests"));
	json_write_number(w, "sectors", number_of(c, "global_load_sectors") + number_of(c, "global_store_sectors"));
	json_write_number(w, "conflicts", number_of(c, "shared_load_conflicts") + number_of(c, "shared_store_conflicts"));
	json_close(w, '}');
}

/* Lines of the submission's own file; headers of the toolkit are nobody's gutter. */
static void put_lines(struct json_writer *w, const cJSON *report, const char *name)
{
	const cJSON *lines = cJSON_GetObjectItemCaseSensitive(report, "lines"), *l;
	double all = 0;
	json_open(w, "lines", '[');
	cJSON_ArrayForEach(l, lines)
		all += number_of(cJSON_GetObjectItemCaseSensitive(l, "counters"), "instructions");
	cJSON_ArrayForEach(l, lines) {
		const char *file = text_of(l, "file");
		if (file && name && strcmp(file, name) != 0)
			continue;
		put_line(w, l, all);
	}
	json_close(w, ']');
}

static void put_diagnostics(struct json_writer *w, const cJSON *report)
{
	const cJSON *d;
	json_open(w, "diagnostics", '[');
	cJSON_ArrayForEach(d, cJSON_GetObjectItemCaseSensitive(report, "diagnostics")) {
		json_open(w, NULL, '{');
		json_write_string(w, "file", text_of(d, "file"));
		json_write_string(w, "severity", text_of(d, "severity"));
		json_write_integer(w, "line", (int64_t)number_of(d, "line"));
		json_write_integer(w, "column", (int64_t)number_of(d, "column"));
		json_write_string(w, "text", text_of(d, "text"));
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_list(struct json_writer *w, const cJSON *report, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(report, key);
	if (cJSON_IsArray(v)) {
		copy(w, key, v);
	} else {
		json_open(w, key, '[');
		json_close(w, ']');
	}
}

static void put_sentences(struct json_writer *w, const cJSON *report, const char *key, const char *lang)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const cJSON *v;
	json_open(w, key, '[');
	cJSON_ArrayForEach(v, cJSON_GetObjectItemCaseSensitive(report, key))
		json_write_string(w, NULL, saying_in(lang, cJSON_GetStringValue(v), a));
	json_close(w, ']');
}

/* What else is to be told of a grading on a GPU: why it was not on the emulated device too, what there is nothing to compare with. */
static void put_notes(struct json_writer *w, const cJSON *report, const char *lang)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	static const char *const names[] = {"not_emulated", "reference_note", "cublas_note"};
	json_open(w, "notes", '[');
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (text_of(report, names[i]))
			json_write_string(w, NULL, saying_in(lang, text_of(report, names[i]), a));
	json_close(w, ']');
}

static void put_report(struct json_writer *w, const cJSON *report, const struct store_judging *j, const char *lang, bool whole)
{
	put_diagnostics(w, report);
	copy(w, "book", cJSON_GetObjectItemCaseSensitive(report, "book"));
	put_list(w, report, "kernels");
	put_lines(w, report, text_of(report, "submission"));
	put_sentences(w, report, "advice", lang);
	copy(w, "modelled", cJSON_GetObjectItemCaseSensitive(report, "modelled"));
	copy(w, "device_name", cJSON_GetObjectItemCaseSensitive(report, "device"));
	copy(w, "seconds", cJSON_GetObjectItemCaseSensitive(report, "seconds"));
	copy(w, "driver", cJSON_GetObjectItemCaseSensitive(report, "driver"));
	copy(w, "read_gbs", cJSON_GetObjectItemCaseSensitive(report, "read_gbs"));
	copy(w, "hardware", cJSON_GetObjectItemCaseSensitive(report, "hardware"));
	put_notes(w, report, lang);
	if (whole) {
		copy(w, "seed", cJSON_GetObjectItemCaseSensitive(report, "seed"));
		json_write_string(w, "note", j->note);
		json_write_string(w, "worker", j->worker);
	}
}

bool view_judging(struct request *r, const struct store_judging *j, unsigned status)
{
	CLEANUP_BUF struct buf text = {0};
	struct store_cases cs;
	struct err e = {0};
	bool whole = request_role(r, ROLE_INSTRUCTOR);
	if (!reply_stored(r, store_cases(r->store, j->id, r->arena, &cs, &e), &e, MESSAGE_conflict, NULL))
		return false;
	enum store_result result = store_report(r->store, j->id, whole, &text, &e);
	if (result != STORE_NOT_FOUND && !reply_stored(r, result, &e, MESSAGE_conflict, NULL))
		return false;
	CLEANUP_JSON cJSON *report = text.size ? cJSON_ParseWithLength(buf_str(&text), text.size) : NULL;
	struct json_writer *w = reply_json(r, status);
	json_open(w, NULL, '{');
	judging_members(w, j, r->lang, whole);
	json_open(w, "cases", '[');
	for (size_t i = 0; i < cs.n; i++)
		put_case(w, &cs.at[i], r->lang, whole);
	json_close(w, ']');
	put_timing(w, &cs, report);
	put_report(w, report, j, r->lang, whole);
	json_close(w, '}');
	return true;
}
