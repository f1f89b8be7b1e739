/* A package's programs, graded: see trial.h. */
#include "trial.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/clock.h"
#include "../../sandbox/base/cores.h"
#include "../../sandbox/base/crew.h"
#include "../submission.h"
#include "host_side.h"
#include "layout.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what there is ---- */

static void add(struct trial *t, const char *path, enum trial_kind kind)
{
	*t = (struct trial){.path = path, .kind = kind, .verdict = VERDICT_NONE, .efficiency = NAN};
	t->expect.verdict = kind == TRIAL_REFERENCE ? VERDICT_AC : VERDICT_NONE;
}

static off_t size_of(const char *folder, const char *path)
{
	char whole[PATH_MAX];
	struct stat st;
	snprintf(whole, sizeof whole, "%s/%s", folder, path);
	return stat(whole, &st) == 0 ? st.st_size : 0;
}

/* What takes long begins early, so that no core is idle while the last one ends: after reference and starter those that are timed, the
 * longer source first, as it is longer compiled.  (Who runs into the time limit begins at once: see run_shares.) */
static int turn_of(const struct trial *t)
{
	return t->kind != TRIAL_SUBMISSION ? 0 : t->expect.verdict == VERDICT_TLE ? 1 : t->expect.verdict == VERDICT_AC ? 2 : 3;
}

static int in_turn(const void *a, const void *b)
{
	const struct trial *x = a, *y = b;
	if (turn_of(x) != turn_of(y))
		return turn_of(x) - turn_of(y);
	if (turn_of(x) == 2 && x->source != y->source)
		return x->source > y->source ? -1 : 1;
	return strcmp(x->path, y->path);
}

unsigned trials_list(const struct problem *p, struct arena *a, struct trial **out)
{
	struct findings ignored = {0};		/* rules_check has told them */
	struct layout l;
	unsigned n = 0;
	layout_read(p->folder, a, &l, &ignored);
	*out = arena_new_array(a, struct trial, l.n + 2);
	add(&(*out)[n++], "reference.cu", TRIAL_REFERENCE);
	add(&(*out)[n++], "starter.cu", TRIAL_STARTER);
	for (unsigned i = 0; i < l.n; i++) {
		struct trial *t = &(*out)[n];
		if (l.files[i].kind != LAYOUT_SUBMISSION)
			continue;
		add(t, l.files[i].path, TRIAL_SUBMISSION);
		t->source = size_of(p->folder, t->path);
		if (expectation_read(p->folder, t->path, &t->expect, &ignored) == 0)
			n++;
	}
	qsort(*out, n, sizeof **out, in_turn);
	findings_free(&ignored);
	return n;
}

/* ---- one of them ---- */

struct run {
	const struct trials_options *o;
	pthread_mutex_t telling;
	struct host_sides hosts;
	struct trial *trials;
	unsigned n;
	atomic_bool failed;
	struct err e;			/* of the first that failed */
};

static const char *expected_name(const struct trial *t)
{
	return t->expect.verdict == VERDICT_NONE ? "any verdict but AC" : verdict_code(t->expect.verdict);
}

static bool as_expected(const struct trial *t, enum verdict got)
{
	if (t->kind == TRIAL_STARTER)
		return got != VERDICT_AC && got != VERDICT_CE && got != VERDICT_SE;
	return got == t->expect.verdict;
}

static void keep_use(struct trial *t, const struct grading *g)
{
	for (unsigned i = 0; i < g->n_cases; i++)
		if (g->cases[i].bound_use > t->bound_use) {
			t->bound_use = g->cases[i].bound_use;
			snprintf(t->use_case, sizeof t->use_case, "%s", g->cases[i].spec->name);
		}
}

/* What a right program was too fast for. */
static void check_times(struct trial *t, const struct grading *g)
{
	for (unsigned i = 0; i < g->n_cases; i++) {
		const struct case_report *r = &g->cases[i];
		if (r->spec->timing && r->verdict == VERDICT_AC && r->impossible)
			finding_add(&t->findings, "problem.json", 0, "work", "%s does timing case \"%s\" in %.3g µs, below its floor of %.3g µs: work.bytes or work.flops count what a kernel can do without",
				    t->path, r->spec->name, r->book.time_us, r->floor_us);
	}
}

/* Of a program that ran out of wall time: was it alone? */
static void say_busy(char *out, size_t size)
{
	double load = 0;
	*out = 0;
	if (getloadavg(&load, 1) == 1 && load > 2.0 * host_cores())
		snprintf(out, size, "; this machine is busy, %.0f processes on %u cores: try again when it is quiet", load, host_cores());
}

static void say_unexpected(struct trial *t, const struct grading *g)
{
	const struct diagnostic *error = g->verdict == VERDICT_CE ? compiled_first_error(&g->compiled) : NULL;
	int line = error ? error->line : g->decisive ? (int)g->decisive->fault.line : 0;
	const char *code = verdict_code(g->verdict);
	char where[120] = "", seed[SEED_HEX + 30] = "", busy[120] = "";
	if (g->decisive && strncmp(g->why, "case ", 5) != 0)
		snprintf(where, sizeof where, "case \"%s\": ", g->decisive->spec->name);
	if (g->decisive && !g->decisive->spec->visible)
		snprintf(seed, sizeof seed, " (--seed %s)", g->seed);
	if (g->verdict == VERDICT_TLE)
		say_busy(busy, sizeof busy);
	if (t->kind == TRIAL_STARTER && g->verdict == VERDICT_AC)
		finding_add(&t->findings, t->path, 0, NULL, "is accepted: a starter must leave the problem to be solved");
	else if (g->verdict == VERDICT_AC)
		finding_add(&t->findings, t->path, 0, NULL, "is accepted, and should get %s: no case catches what is wrong with it; add one that does%s",
			    expected_name(t), seed);
	else
		finding_add(&t->findings, t->path, line > 0 ? line : 0, NULL,
			    "gets %s, and should get %s: %s%s%s%s", code,
			    t->kind == TRIAL_STARTER ? "a verdict that says \"not solved\" (WA, NW)" : expected_name(t), where, error ? error->text : g->why, seed, busy);
}

static void hold_to_bound(struct trial *t)
{
	if (t->kind == TRIAL_REFERENCE && t->bound_use > TRIAL_BOUND_USE)
		finding_add(&t->findings, t->path, 0, NULL, "uses %.0f %% of what the bound leaves once the rounding of outputs is off (case \"%s\"): at most %.0f %% are safe for right kernels that add in another order; make the bound of oracle.c wider, or the reference more exact",
			    100 * t->bound_use, t->use_case, 100 * TRIAL_BOUND_USE);
}

static void keep_result(struct trial *t, const struct grading *g)
{
	t->verdict = g->verdict;
	snprintf(t->why, sizeof t->why, "%s", g->why);
	snprintf(t->seed, sizeof t->seed, "%s", g->seed);
	if (g->verdict == VERDICT_AC) {
		keep_use(t, g);
		check_times(t, g);
	}
	if (!isnan(g->efficiency))
		t->efficiency = g->efficiency;
	if (!as_expected(t, g->verdict))
		say_unexpected(t, g);
}

/* With the guest of a program that is the same but for device code, if there was one. */
static int compile_once(struct run *r, struct grade_options *q, struct arena *a, struct compiled *out, struct err *e)
{
	const char *text = host_side_text(q->source, q->size, a);
	int guest = text ? host_sides_find(&r->hosts, text) : -1;
	q->parts = guest >= 0 ? COMPILE_DEVICE : COMPILE_ALL;
	int rc = grade_compile(q, a, out, e);
	if (guest >= 0 && rc == 0 && out->ok)
		out->guest_fd = guest;
	else if (guest >= 0)
		close(guest);
	else if (text && rc == 0 && out->ok)
		host_sides_keep(&r->hosts, text, out->guest_fd);
	return rc;
}

/* With each secret, until one run is not as it should be; only the first is timed. */
static int grade_all(struct run *r, struct trial *t, struct grade_options *q, struct err *e)
{
	const struct trials_options *o = r->o;
	CLEANUP(arena_freep) struct arena *arena = arena_new();
	struct compiled compiled = {.guest_fd = -1};
	char refusal[200];
	int rc = 0;
	if (!submission_refusal(q->source, q->size, refusal, sizeof refusal)) {
		if (compile_once(r, q, arena, &compiled, e) < 0)
			return -1;
		q->compiled = &compiled;
	}
	for (unsigned i = 0; i < o->n_answers && rc == 0 && !t->findings.n; i++) {
		struct grading g;
		CLEANUP(device_choice_close) struct device_choice device = *o->probe;
		q->secret = o->answers[i].secret;
		q->answers = o->answers[i].shared ? o->answers[i].pool : NULL;
		q->scope = i ? GRADE_UNTIMED : GRADE_ALL;
		q->device = &device;
		if ((device.gpu && device_choose(o->device, o->unsandboxed, &device, e) < 0) || grade(q, &g, e) < 0) {
			rc = -1;
			break;
		}
		keep_result(t, &g);
		grading_free(&g);
	}
	compiled_close(&compiled);
	return rc;
}

static int run_trial(struct run *r, struct trial *t, struct err *e)
{
	const struct trials_options *o = r->o;
	CLEANUP_BUF struct buf source = {0};
	CLEANUP_FREE char *path = NULL;
	struct device_choice device = *o->probe;
	double began = clock_seconds();
	if (asprintf(&path, "%s/%s", o->problem->folder, t->path) < 0)
		BUG("out of memory");
	if (submission_read(path, &source, e) < 0)
		return -1;
	t->skipped = t->expect.needs_gpu && !device.gpu;
	struct grade_options q = {
		.problem = o->problem, .name = submission_name(t->path), .source = buf_str(&source), .size = source.size, .device = &device,
		.judging = "local", .threads = host_cores() > o->workers ? host_cores() / o->workers : 1, .unsandboxed = o->unsandboxed,
		.brief = true,
	};
	if (!t->skipped && grade_all(r, t, &q, e) < 0)
		return err_wrap(e, "%s", t->path);
	hold_to_bound(t);
	t->again = !t->last && t->findings.n && t->verdict == VERDICT_TLE;
	t->seconds = clock_seconds() - began;
	t->done = true;
	return 0;
}

/* ---- all of them ---- */

static void tell(struct run *r, const struct trial *t, bool ended)
{
	pthread_mutex_lock(&r->telling);
	r->o->tell(r->o->context, t, ended);
	pthread_mutex_unlock(&r->telling);
}

static int run_one(void *run, void *own, unsigned i, struct err *e)
{
	struct run *r = run;
	struct trial *t = &r->trials[i];
	(void)own;
	tell(r, t, false);
	if (run_trial(r, t, e) < 0)
		return -1;
	if (!t->again)
		tell(r, t, true);
	return 0;
}

/* Wall time is a busy machine's as much as a program's: who ran out of it without being expected to gets the machine alone. */
static int run_late(struct run *r, struct err *e)
{
	int rc = 0;
	for (unsigned i = 0; i < r->n && rc == 0; i++) {
		struct trial *t = &r->trials[i];
		if (!t->again)
			continue;
		struct trial fresh = {.path = t->path, .kind = t->kind, .expect = t->expect, .verdict = VERDICT_NONE, .efficiency = NAN, .last = true};
		findings_free(&t->findings);
		*t = fresh;
		rc = run_one(r, NULL, i, e);
	}
	return rc;
}

/* Some of the trials. */
struct share {
	struct run *run;
	unsigned *trials, n, threads;
};

/* Once one has failed, none begins; the first error is told. */
static int run_of_share(void *share, void *own, unsigned i, struct err *e)
{
	const struct share *s = share;
	struct run *r = s->run;
	if (atomic_load(&r->failed))
		return 0;
	if (run_one(r, own, s->trials[i], e) == 0)
		return 0;
	if (!atomic_exchange(&r->failed, true))
		r->e = *e;
	return -1;
}

static void *run_share(void *share)
{
	struct share *s = share;
	struct err told;			/* the run keeps it */
	crew_run(&(struct crew_work){.n = s->n, .threads = s->threads, .part = run_of_share, .context = s}, &told);
	return NULL;
}

/* Who is there to run out of time may sleep until then, and has a thread of its own, so that no core sleeps with it. */
static int run_shares(struct run *r, struct err *e)
{
	CLEANUP_FREE unsigned *places = calloc(r->n + 1, sizeof *places);
	struct share wait = {.run = r, .trials = places, .threads = 1}, work = {.run = r, .threads = r->o->workers};
	pthread_t waiting;
	if (!places)
		BUG("out of memory");
	for (unsigned i = 0; i < r->n; i++)
		if (r->trials[i].expect.verdict == VERDICT_TLE)
			places[wait.n++] = i;
	work.trials = places + wait.n;
	for (unsigned i = 0; i < r->n; i++)
		if (r->trials[i].expect.verdict != VERDICT_TLE)
			work.trials[work.n++] = i;
	bool apart = wait.n && r->o->workers > 1 && pthread_create(&waiting, NULL, run_share, &wait) == 0;
	run_share(&work);
	if (apart)
		pthread_join(waiting, NULL);
	else
		run_share(&wait);
	if (r->failed && e)
		*e = r->e;
	return r->failed ? -1 : 0;
}

int trials_run(const struct trials_options *o, struct trial *trials, unsigned n, struct err *e)
{
	struct run r = {.o = o, .telling = PTHREAD_MUTEX_INITIALIZER, .hosts = HOST_SIDES_NONE, .trials = trials, .n = n};
	int rc = run_shares(&r, e);
	if (rc == 0)
		rc = run_late(&r, e);
	host_sides_free(&r.hosts);
	return rc;
}
