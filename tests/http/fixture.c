/* What tests put into a server's database that no machine at hand would bring there.
 *
 *	fixture DATA judged USER PROBLEM DEVICE NAME SOURCE REPORT PUBLIC	a submission that was judged: REPORT as judge --json writes
 *										it, PUBLIC as students get it; prints its number
 *	fixture DATA device ID NAME						a GPU that is in service
 *	fixture DATA expire							every token ends now
 *
 * No worker may run meanwhile: what is queued is claimed here.
 */
#include "judge/store/store.h"
#include "sandbox/base/cleanup.h"
#include "sandbox/base/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
	struct store *store;
	struct arena *arena;
};

static _Noreturn void give_up(const char *what, const struct err *e)
{
	fprintf(stderr, "fixture: %s: %s\n", what, e->text);
	exit(1);
}

static void must(enum store_result rc, const char *what, const struct err *e)
{
	if (rc != STORE_OK)
		give_up(what, e);
}

static void read_all(const char *path, struct buf *out)
{
	char piece[4096];
	size_t n;
	CLEANUP_FILE FILE *f = fopen(path, "rb");
	if (!f) {
		fprintf(stderr, "fixture: cannot read %s\n", path);
		exit(1);
	}
	while ((n = fread(piece, 1, sizeof piece, f)) > 0)
		buf_add(out, piece, n);
}

/* ---- a report, taken apart as the worker does ---- */

static const char *text(const cJSON *object, const char *name)
{
	const cJSON *v = json_get(object, name);
	return v && json_is_string(v) ? json_text(v) : NULL;
}

static double number(const cJSON *object, const char *name)
{
	const cJSON *v = json_get(object, name);
	return v && json_is_number(v) ? json_value(v) : NAN;
}

static bool is(const cJSON *object, const char *name)
{
	return cJSON_IsTrue(json_get(object, name));
}

static const char *part(struct fixture *f, const cJSON *object, const char *name)
{
	const cJSON *v = json_get(object, name);
	char *printed = v ? cJSON_PrintUnformatted(v) : NULL;
	const char *kept = printed ? arena_strdup(f->arena, printed) : NULL;
	cJSON_free(printed);
	return kept;
}

static void read_case(struct fixture *f, const cJSON *c, struct store_case *out)
{
	const cJSON *baselines = json_get(c, "baselines");
	const char *sizes = part(f, c, "sizes");
	*out = (struct store_case){
		.name = text(c, "name"), .stage = text(c, "stage"), .verdict = text(c, "verdict"), .visible = is(c, "visible"),
		.timing = is(c, "timing"), .gpu = is(c, "gpu"), .why = text(c, "text"), .printed = text(c, "printed"), .sizes = sizes ? sizes : "{}",
		.fault = part(f, c, "fault"), .worst = part(f, c, "worst"), .error_ratio = number(c, "error_ratio"), .time_us = number(c, "time_us"),
		.floor_us = number(c, "floor_us"), .efficiency = number(c, "efficiency"), .bytes = number(c, "bytes"), .flops = number(c, "flops"),
		.reference_us = number(baselines, "reference_us"), .cublas_us = number(baselines, "cublas_f16_us"), .limiter = text(c, "limiter"),
	};
}

static void finish(struct fixture *f, const struct store_job *job, const char *whole, const char *public)
{
	struct err e = {0};
	CLEANUP_BUF struct buf report = {0}, shown = {0};
	size_t n = 0;
	read_all(whole, &report);
	read_all(public, &shown);
	CLEANUP(json_freep) struct json *j = json_parse(buf_str(&report), report.size, whole, &e);
	if (!j)
		give_up("report", &e);
	const cJSON *root = json_root(j), *cases = json_get(root, "cases");
	struct store_case *rows = arena_new_array(f->arena, struct store_case, json_count(cases) + 1);
	for (const cJSON *c = json_first(cases); c; c = json_next(c))
		read_case(f, c, &rows[n++]);
	struct store_outcome o = {
		.version = job->version, .verdict = text(root, "verdict"), .text = text(root, "text"), .tier = text(root, "tier"),
		.score = number(root, "score"), .efficiency = number(root, "efficiency"), .time_us = number(root, "time_us"), .cases = rows,
		.n_cases = n, .report = buf_str(&report), .report_size = report.size, .report_public = buf_str(&shown),
		.report_public_size = shown.size, .ptx = text(root, "ptx"),
	};
	must(store_finish(f->store, job->judging, job->token, &o, &e), "result", &e);
}

static void judged(struct fixture *f, char **argv)
{
	struct err e = {0};
	struct store_user u;
	struct store_job job = {0};
	CLEANUP_BUF struct buf source = {0};
	int64_t id = 0, judging = 0;
	read_all(argv[4], &source);
	must(store_user_get(f->store, argv[0], f->arena, &u, &e), "user", &e);
	struct store_submission_new n = {.user = u.id, .problem = argv[1], .device = argv[2], .name = argv[3], .source = buf_str(&source),
					 .size = source.size};
	must(store_submission_add(f->store, &n, &id, &judging, &e), "submission", &e);
	while (job.judging != judging)
		must(store_claim(f->store, "fixture", 9, f->arena, &job, &e), "queue", &e);
	finish(f, &job, argv[5], argv[6]);
	printf("%lld\n", (long long)id);
}

/* The store has no call for this: nobody but time does it. */
static void expire(const char *data)
{
	char path[600];
	sqlite3 *db;
	snprintf(path, sizeof path, "%s/judge.db", data);
	if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, "UPDATE tokens SET expires = created + 1", NULL, NULL, NULL) != SQLITE_OK) {
		fprintf(stderr, "fixture: %s\n", sqlite3_errmsg(db));
		exit(1);
	}
	sqlite3_close(db);
}

int main(int argc, char **argv)
{
	struct err e = {0};
	const char *what = argc > 2 ? argv[2] : "";
	if (argc == 3 && !strcmp(what, "expire")) {
		expire(argv[1]);
		return 0;
	}
	struct fixture f = {.arena = arena_new()};
	if (argc < 2 || !(f.store = store_open(argv[1], &e)))
		give_up("store", &e);
	if (argc == 10 && !strcmp(what, "judged"))
		judged(&f, argv + 3);
	else if (argc == 5 && !strcmp(what, "device"))
		must(store_device_put(f.store, argv[3], argv[4], true, true, NULL, &e), "device", &e);
	else
		give_up("wrong use", &e);
	store_close(f.store);
	arena_free(f.arena);
	return 0;
}
