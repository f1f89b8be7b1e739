/* judge submit: hand a solution in at a judge on the web, watch it being judged, and print the report as of a local run. */
#include "../command.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json_write.h"
#include "../../sandbox/base/tame.h"
#include "../progress.h"
#include "../lang.h"
#include "../report_read.h"
#include "../report.h"
#include "../submission.h"
#include "remote.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_US = 400000, PATIENCE = 20 /* failed requests in a row */ };

struct hand_in {
	const struct options *o;
	const char *path;
	struct buf source;
	struct remote remote;
	int64_t submission, judging;
	struct progress *progress;
	unsigned steps;			/* shown of the stage */
	bool over, cancelled;
};

static int hand_in(struct hand_in *h, struct err *e)
{
	char problem[100], why[200];
	CLEANUP_BUF struct buf body = {0};
	CLEANUP(json_freep) struct json *answer = NULL;
	struct json_writer w = {.out = &body};
	const struct cJSON *judging;
	if (submission_read(h->path, &h->source, e) < 0)
		return -1;
	if (submission_refusal(buf_str(&h->source), h->source.size, why, sizeof why))
		return err_input(e, "%s: %s", h->path, why);
	if (submission_problem_id(h->path, h->o->problem, buf_str(&h->source), h->source.size, problem, sizeof problem, e) < 0)
		return -1;
	json_open(&w, NULL, '{');
	json_write_string(&w, "problem", problem);
	json_write_string(&w, "name", submission_name(h->path));
	json_write_string(&w, "source", buf_str(&h->source));
	json_write_string(&w, "scope", h->o->samples ? "samples" : "full");
	if (h->o->device)
		json_write_string(&w, "device", h->o->device);
	json_close(&w, '}');
	if (remote_call(&h->remote, "POST", "/submissions", &body, &answer, e) < 0)
		return -1;
	if (!answer || json_integer(answer, json_root(answer), "id", 1, INT64_MAX, &h->submission, e) < 0 ||
	    json_object(answer, json_root(answer), "judging", "an object", &judging, e) < 0 ||
	    json_integer(answer, judging, "id", 1, INT64_MAX, &h->judging, e) < 0) {
		e->kind = ERR_SYSTEM;
		return err_wrap(e, "%s", h->remote.url);
	}
	return 0;
}

/* ---- while it is judged ---- */

static void show_stage(struct hand_in *h, const struct cJSON *data, const struct json *j, bool begins)
{
	const char *stage, *detail = NULL;
	char name[40];
	int64_t done = 0, total = 0;
	if (json_string(j, data, "stage", "", &stage, NULL) < 0)
		return;
	json_integer(j, data, "done", 0, UINT32_MAX, &done, NULL);
	json_integer(j, data, "total", 0, UINT32_MAX, &total, NULL);
	json_string(j, data, "case", "", &detail, NULL);
	if (begins) {
		snprintf(name, sizeof name, "%s", stage);
		tame(name);
		progress_stage(h->progress, name, (unsigned)total);
		h->steps = 0;
	}
	char text[80];
	snprintf(text, sizeof text, "%s", detail ? detail : "");
	tame(text);
	for (; h->steps < (unsigned)done; h->steps++)		/* not each is told */
		progress_step(h->progress, text);
}

static void show_event(struct hand_in *h, const struct cJSON *item, const struct json *j)
{
	const char *kind, *text;
	char tamed[200];
	const struct cJSON *data = json_get(item, "data");
	int64_t place;
	if (json_string(j, item, "event", "", &kind, NULL) < 0 || !data)
		return;
	if (!strcmp(kind, "queued")) {
		progress_stage(h->progress, "queued", 0);
		if (json_integer(j, data, "place", 1, INT64_MAX, &place, NULL) == 0)
			progress_result(h->progress, "place %" PRId64, place);
	} else if (!strcmp(kind, "stage") || !strcmp(kind, "progress")) {
		show_stage(h, data, j, *kind == 's');
	} else if (!strcmp(kind, "result") && json_string(j, data, "text", "", &text, NULL) == 0) {
		snprintf(tamed, sizeof tamed, "%s", text);
		tame(tamed);
		progress_result(h->progress, "%s", tamed);
	} else if (!strcmp(kind, "done") || !strcmp(kind, "cancelled")) {
		h->over = true;
		h->cancelled = *kind == 'c';
	}
}

static int show_news(struct hand_in *h, int64_t *since, struct err *e)
{
	char path[100];
	CLEANUP(json_freep) struct json *answer = NULL;
	const struct cJSON *items;
	snprintf(path, sizeof path, "/judgings/%" PRId64 "/events?since=%" PRId64, h->judging, *since);
	if (remote_call(&h->remote, "GET", path, NULL, &answer, e) < 0)
		return -1;
	if (!answer || json_array(answer, json_root(answer), "items", "a list", &items, e) < 0)
		return -1;
	for (const struct cJSON *v = json_first(items); v; v = json_next(v)) {
		json_integer(answer, v, "id", 0, INT64_MAX, since, NULL);
		show_event(h, v, answer);
	}
	return 0;
}

/* A server that restarts meanwhile loses nothing: it is asked again. */
static int follow(struct hand_in *h, struct err *e)
{
	int64_t since = 0;
	unsigned failed = 0;
	while (!h->over) {
		if (show_news(h, &since, e) == 0) {
			failed = 0;
		} else if (e->kind == ERR_INPUT || ++failed == PATIENCE) {
			err_wrap(e, "submission %" PRId64 " is handed in, but its judging can't be followed from here (look at %s/submissions/%" PRId64 ")",
				 h->submission, h->remote.url, h->submission);
			return -1;
		}
		if (!h->over)
			usleep(failed ? 1000000 : LOOK_US);
	}
	return 0;
}

/* ---- the report ---- */

static int print(struct hand_in *h, const struct buf *text, struct err *e)
{
	struct term out;
	struct grading g;
	CLEANUP(json_freep) struct json *j = json_parse(buf_str(text), text->size, "the report", e);
	if (!j || report_read(j, submission_name(h->path), buf_str(&h->source), h->source.size, &g, e) < 0) {
		e->kind = ERR_SYSTEM;
		return -1;
	}
	term_of(&out, stdout);
	out.lang = lang_of(h->o->lang);
	if (h->o->json) {
		fwrite(text->data, 1, text->size, stdout);
	} else {
		report_print(&g, &out, h->o->profile);
		term_put(&out, STYLE_DIM, "  %s/submissions/%" PRId64 "\n", h->remote.url, h->submission);
	}
	int status = g.verdict == VERDICT_AC ? EXIT_ACCEPTED : g.verdict == VERDICT_SE ? EXIT_JUDGE : EXIT_NOT_ACCEPTED;
	grading_free(&g);
	return status;
}

static int run(struct hand_in *h, struct err *e)
{
	char path[100];
	struct term err;
	CLEANUP_BUF struct buf text = {0};
	if (remote_load(&h->remote, e) < 0 || hand_in(h, e) < 0)
		return -1;
	term_of(&err, stderr);
	h->progress = progress_start(&err, err.is_terminal ? PROGRESS_LIVE : h->o->json ? PROGRESS_QUIET : PROGRESS_PLAIN);
	int rc = follow(h, e);
	progress_end(h->progress);
	if (rc < 0)
		return -1;
	if (h->cancelled)
		return err_input(e, "submission %" PRId64 " was cancelled", h->submission);
	snprintf(path, sizeof path, "/judgings/%" PRId64 "/report", h->judging);
	if (remote_get(&h->remote, path, &text, e) < 0)
		return err_wrap(e, "submission %" PRId64 " is judged, but has no report", h->submission);
	return print(h, &text, e);
}

int cmd_submit(const struct options *o)
{
	struct err e = {0};
	if (options_want(o, COMMAND_submit, 1, &e) < 0)
		return complain(&e);
	struct hand_in h = {.o = o, .path = o->arguments[0]};
	int status = run(&h, &e);
	buf_free(&h.source);
	return status < 0 ? complain(&e) : status;
}
