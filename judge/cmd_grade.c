/* judge FILE.cu: grade a solution. */
#include "command.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/jail.h"
#include "device_choice.h"
#include "grade.h"
#include "janitor.h"
#include "lang.h"
#include "progress.h"
#include "report.h"
#include "submission.h"
#include "watch.h"

#include <string.h>

static int draw_secret(const struct options *o, struct secret *s, struct err *e)
{
	if (o->seed)
		return secret_from_hex(s, o->seed, e);
	secret_draw(s);
	return 0;
}

static enum progress_mode progress_mode(const struct options *o, const struct term *err)
{
	if (err->is_terminal)
		return PROGRESS_LIVE;
	return o->json ? PROGRESS_QUIET : PROGRESS_PLAIN;
}

static int exit_status(const struct grading *g)
{
	if (g->verdict == VERDICT_AC)
		return EXIT_ACCEPTED;
	return g->verdict == VERDICT_SE ? EXIT_JUDGE : EXIT_NOT_ACCEPTED;
}

static void print(const struct options *o, const struct grading *g)
{
	struct term out;
	term_of(&out, stdout);
	out.lang = lang_of(o->lang);
	if (o->json) {
		CLEANUP_BUF struct buf text = {0};
		report_json(g, o->profile, &text);
		fwrite(text.data, 1, text.size, stdout);
	} else {
		report_print(g, &out, o->profile);
	}
	fflush(stdout);
}

static int once(const struct options *o, const char *path)
{
	struct err e = {0};
	struct term err;
	struct grading g;
	char name[SUBMISSION_SHOWN];
	submission_shown_name(path, name);
	struct grade_options q = {.judging = "local", .threads = o->threads, .scope = o->samples ? GRADE_SAMPLES : o->no_timing ? GRADE_UNTIMED : GRADE_ALL, .profile_lines = o->profile,
				  .gpu_only = o->gpu_only, .sanitize = o->sanitize, .unsandboxed = o->no_sandbox, .name = name};
	CLEANUP_BUF struct buf source = {0};
	CLEANUP(device_choice_close) struct device_choice device = {0};
	if (device_choose(o->device, o->no_sandbox, &device, &e) < 0 || draw_secret(o, &q.secret, &e) < 0 ||
	    submission_read(path, &source, &e) < 0)
		return complain(&e);
	if ((o->sanitize || o->gpu_only) && !device.gpu) {
		err_input(&e, "%s needs a GPU, and this run is on %s", o->sanitize ? "--sanitize" : "--gpu-only", device.device);
		return complain(&e);
	}
	CLEANUP(problem_closep) struct problem *p = submission_problem(path, o->problem, buf_str(&source), source.size, &e);
	if (!p)
		return complain(&e);
	q.problem = p;
	q.source = buf_str(&source);
	q.size = source.size;
	q.device = &device;
	term_of(&err, stderr);
	q.progress = progress_start(&err, progress_mode(o, &err));
	int rc = grade(&q, &g, &e);
	progress_end(q.progress);
	if (rc < 0)
		return complain_of_run(o, &e);
	print(o, &g);
	int status = exit_status(&g);
	grading_free(&g);
	return status;
}

static int again_and_again(const struct options *o, const char *path)
{
	struct err e = {0};
	struct watch *w = watch_open(path, &e);
	if (!w)
		return complain(&e);
	for (;;) {
		once(o, path);
		fprintf(stderr, "watching %s: save it to grade it again, Ctrl-C to end\n", path);
		if (watch_wait(w, &e) < 0)
			break;
	}
	watch_close(w);
	return complain(&e);
}

int cmd_grade(const struct options *o)
{
	struct err e = {0};
	if (options_want(o, COMMAND_grade, 1, &e) < 0)
		return complain(&e);
	warn_no_sandbox(o);
	jail_sweep();
	janitor_start();
	return o->watch ? again_and_again(o, o->arguments[0]) : once(o, o->arguments[0]);
}
