/* Grading one submission: see grade.h for how it goes. */
#include "grade.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/clock.h"
#include "../sandbox/base/cores.h"
#include "baseline.h"
#include "device_choice.h"
#include "gpu_lock.h"
#include "grade_case.h"
#include "ncu.h"
#include "progress.h"
#include "sanitize.h"
#include "score.h"
#include "submission.h"
#include "timing.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct work {				/* one grading, while it goes on */
	const struct grade_options *o;
	struct grading *g;
	struct testcase *cases;
	struct oracle_pool *oracles;
	struct runner runners[GRADE_LANES];	/* of the emulated device */
	unsigned n_runners;
	struct runner gpu;		/* its device NULL: there is none */
	char emulated[48];		/* the runners' device */
	pthread_t compiler;
	int compile_rc;
	struct err compile_err;
};

/* ---- the cases ---- */

/* The order of the cases: a stage holds those of one device that are samples, hidden or timing. */
static const struct stage_kind {
	const char *name;
	bool gpu, visible, hidden, timing;
} stages[] = {
	{"samples", false, true, false, false},
	{"hidden cases", false, false, true, false},
	{"cases on the GPU", true, true, true, false},
	{"timing", false, false, false, true},		/* with a GPU, for the book */
	{"timing on the GPU", true, false, false, true},
};
enum { STAGES = sizeof stages / sizeof *stages };

static bool wanted(const struct grade_options *o, const struct stage_kind *s, const struct case_spec *c)
{
	if ((s->gpu && !o->device->gpu) || (o->scope == GRADE_SAMPLES && !c->visible))
		return false;
	if (c->timing)
		return o->scope == GRADE_ALL && s->timing && s->gpu == c->gpu;
	return c->visible ? s->visible : s->hidden;
}

static void add_case(struct work *w, const struct case_spec *spec, const struct stage_kind *s)
{
	struct case_report *r = &w->g->cases[w->g->n_cases++];
	r->spec = spec;
	r->stage = s->name;
	r->gpu = s->gpu;
	r->verdict = VERDICT_NONE;
	r->error_ratio = r->quantization_error = NAN;
	w->g->n_timing += spec->timing;
}

static int make_cases(struct work *w, struct err *e)
{
	const struct problem *p = w->o->problem;
	w->g->cases = arena_new_array(w->g->arena, struct case_report, 2 * p->n_cases + 1);
	for (int s = 0; s < STAGES; s++)
		for (unsigned i = 0; i < p->n_cases; i++)
			if (wanted(w->o, &stages[s], &p->cases[i]))
				add_case(w, &p->cases[i], &stages[s]);
	w->cases = arena_new_array(w->g->arena, struct testcase, w->g->n_cases + 1);
	for (unsigned i = 0; i < w->g->n_cases; i++) {
		if (testcase_make(p, w->g->cases[i].spec, &w->o->secret, w->o->judging, &w->cases[i], e) < 0)
			return -1;
		w->g->cases[i].sizes = w->cases[i].sizes;
	}
	return 0;
}

/* ---- compile ---- */

int grade_compile(const struct grade_options *o, struct arena *a, struct compiled *out, struct err *e)
{
	CLEANUP_BUF struct buf prelude = {0};
	problem_prelude(o->problem, &prelude);
	struct compile_request rq = {
		.source = o->source, .size = o->size, .name = o->name, .prelude = buf_str(&prelude), .entry = "solve",
		.arch = o->device->arch, .unsandboxed = o->unsandboxed, .parts = o->parts,
		.wall_ms = (unsigned)(o->problem->compile_seconds * 1000), .memory = o->problem->compile_memory,
	};
	return compile(&rq, a, out, e);
}

static void *run_compiler(void *arg)
{
	struct work *w = arg;
	w->compile_rc = grade_compile(w->o, w->g->arena, &w->g->compiled, &w->compile_err);
	return NULL;
}

/* The guest is this grading's own descriptor. */
static int take_compiled(struct work *w, struct err *e)
{
	w->g->compiled = *w->o->compiled;
	w->g->compiled.guest_fd = w->o->compiled->ok ? fcntl(w->o->compiled->guest_fd, F_DUPFD_CLOEXEC, 3) : -1;
	return w->o->compiled->ok && w->g->compiled.guest_fd < 0 ? err_errno(e, "cannot duplicate a descriptor") : 0;
}

static int start_compiler(struct work *w, struct err *e)
{
	w->g->compiled.guest_fd = -1;
	if (w->o->compiled)
		return take_compiled(w, e);
	if (pthread_create(&w->compiler, NULL, run_compiler, w) != 0)
		return err_system(e, "cannot start a thread");
	return 0;
}

static int finish_compiler(struct work *w, struct err *e)
{
	if (!w->o->compiled)
		pthread_join(w->compiler, NULL);
	if (w->compile_rc < 0) {
		*e = w->compile_err;
		return -1;
	}
	if (!w->g->compiled.ok) {
		w->g->verdict = VERDICT_CE;
		snprintf(w->g->why, sizeof w->g->why, "%s", w->g->compiled.why_not ? w->g->compiled.why_not : "");
	}
	return 0;
}

/* ---- running ---- */

/* Floor and efficiency of a timing case whose outputs were right; a GPU's floor is of the peaks measured there. */
static int rate(struct work *w, struct case_report *r, struct err *e)
{
	const char *unit = w->o->problem->unit;
	double bytes, flops;
	if (testcase_work(&w->cases[r - w->g->cases], &bytes, &flops, e) < 0)
		return -1;
	r->floor_us = r->gpu ? calibration_floor_us(&w->g->calibration, bytes, flops, unit) : model_floor_us(&w->g->device, bytes, flops, unit);
	if (isnan(r->floor_us))
		return err_input(e, "%s lacks what problem %s counts in (%s): it can't be graded on it", w->g->device.name, w->o->problem->id,
				 unit);
	r->bytes = bytes;
	r->flops = flops;
	r->efficiency = score_efficiency(r->floor_us, r->book.time_us, r->gpu ? SCORE_SLACK_MEASURED : SCORE_SLACK_MODELLED, &r->impossible);
	return 0;
}

static int get_answer(struct work *w, unsigned i, const struct answer **out, struct err *e)
{
	if (w->o->answers)
		return oracle_pool_get(w->o->answers, (unsigned)(w->g->cases[i].spec - w->o->problem->cases), out, e);
	return oracle_pool_get(w->oracles, i, out, e);
}

static int run_and_check(struct work *w, struct runner *runner, unsigned i, struct err *e)
{
	struct case_report *r = &w->g->cases[i];
	const struct answer *a;
	if (get_answer(w, i, &a, e) < 0)
		return -1;
	CLEANUP_FD int lock = r->gpu ? gpu_lock(w->g->gpu.uuid, GPU_SHARED, e) : -1;	/* not while another measures */
	if (r->gpu && lock < 0)
		return -1;
	if (runner_case(runner, &w->cases[i], a, r, e) < 0)
		return err_wrap(e, "case \"%s\"", r->spec->name);
	r->quantization_error = a->quantization_error;
	if (!w->o->answers)
		oracle_pool_release(w->oracles, i);
	return 0;
}

static int run_one(struct work *w, struct runner *runner, unsigned i, struct err *e)
{
	struct case_report *r = &w->g->cases[i];
	if (r->gpu && r->spec->timing) {
		if (timing_case(runner, r->spec, r, e) < 0)
			return err_wrap(e, "timing case \"%s\"", r->spec->name);
	} else if (run_and_check(w, runner, i, e) < 0) {
		return -1;
	}
	return r->spec->timing && (r->verdict == VERDICT_AC || r->verdict == VERDICT_RV) ? rate(w, r, e) : 0;
}

/* What is wrong outweighs a broken rule; and a rule is told best by a timing case, which has the sizes that count. */
static bool outweighs(const struct case_report *r, const struct grading *g)
{
	if (g->verdict == VERDICT_AC)
		return true;
	if (g->verdict != VERDICT_RV || !g->decisive)
		return false;
	return r->verdict != VERDICT_RV || (r->spec->timing && !g->decisive->spec->timing);
}

static void decide(struct grading *g, const struct case_report *r)
{
	if (r->verdict == VERDICT_AC || !outweighs(r, g))
		return;
	g->verdict = r->verdict;
	g->decisive = r;
	snprintf(g->why, sizeof g->why, "%s", r->why);
}

static unsigned stage_size(const struct grading *g, unsigned from)
{
	unsigned n = from;
	while (n < g->n_cases && g->cases[n].stage == g->cases[from].stage)
		n++;
	return n - from;
}

static void end_stage(struct work *w, unsigned from, unsigned n)
{
	unsigned right = 0;
	for (unsigned i = from; i < from + n; i++)
		right += w->g->cases[i].verdict == VERDICT_AC;
	progress_result(w->o->progress, "%u of %u accepted", right, n);
}

/* Cases from..end of one stage, claimed one by one by the lanes. */
struct stage {
	struct work *w;
	pthread_mutex_t lock;
	unsigned next, end;
	bool failed;
	unsigned failed_at;		/* the first case that could not be run */
	struct err err;
};

struct lane {
	struct stage *stage;
	struct runner *runner;
	pthread_t thread;
};

static bool ends_run(const struct work *w, enum verdict v)
{
	if (w->o->brief && v != VERDICT_AC && v != VERDICT_RV)	/* whatever else is wrong outweighs a rule */
		return true;
	return v == VERDICT_TLE || v == VERDICT_DL || v == VERDICT_SE;
}

/* The case is done: whatever would come after one that ends the run is not begun. */
static void case_done(struct stage *s, unsigned i, int rc, const struct err *e)
{
	pthread_mutex_lock(&s->lock);
	if (rc < 0 && (!s->failed || i < s->failed_at)) {
		s->failed = true;
		s->failed_at = i;
		s->err = *e;
	}
	if ((rc < 0 || ends_run(s->w, s->w->g->cases[i].verdict)) && s->end > i + 1)
		s->end = i + 1;
	pthread_mutex_unlock(&s->lock);
}

static void *run_lane(void *arg)
{
	struct lane *l = arg;
	struct stage *s = l->stage;
	for (;;) {
		struct err e = {0};
		pthread_mutex_lock(&s->lock);
		unsigned i = s->next < s->end ? s->next++ : s->end;
		bool none = i == s->end;
		pthread_mutex_unlock(&s->lock);
		if (none)
			return NULL;
		progress_step(s->w->o->progress, s->w->g->cases[i].spec->name);
		case_done(s, i, run_one(s->w, l->runner, i, &e), &e);
	}
}

static void run_lanes(struct stage *s, unsigned n, bool gpu)
{
	struct lane lanes[GRADE_LANES];
	unsigned started = 0;
	for (unsigned i = 0; i < n; i++)
		lanes[i] = (struct lane){.stage = s, .runner = gpu ? &s->w->gpu : &s->w->runners[i]};
	for (unsigned i = 1; i < n; i++, started++)
		if (pthread_create(&lanes[i].thread, NULL, run_lane, &lanes[i]) != 0)
			break;
	run_lane(&lanes[0]);
	for (unsigned i = 1; i <= started; i++)
		pthread_join(lanes[i].thread, NULL);
}

/* As if never begun. */
static void forget(struct work *w, unsigned i)
{
	struct case_report *r = &w->g->cases[i];
	*r = (struct case_report){.spec = r->spec, .stage = r->stage, .gpu = r->gpu, .sizes = r->sizes, .verdict = VERDICT_NONE, .error_ratio = NAN,
				  .quantization_error = NAN};
}

static int run_stage(struct work *w, unsigned from, unsigned n, bool *go_on, struct err *e)
{
	struct stage s = {.w = w, .lock = PTHREAD_MUTEX_INITIALIZER, .next = from, .end = from + n};
	bool alone = w->g->cases[from].spec->timing || w->g->cases[from].gpu;
	progress_stage(w->o->progress, w->g->cases[from].stage, n);
	run_lanes(&s, alone ? 1 : w->n_runners, w->g->cases[from].gpu);
	for (unsigned i = from; i < from + n; i++) {
		if (*go_on && s.failed && i == s.failed_at) {
			*e = s.err;
			return -1;
		}
		if (*go_on)
			decide(w->g, &w->g->cases[i]);
		else
			forget(w, i);
		*go_on &= !ends_run(w, w->g->cases[i].verdict);
	}
	end_stage(w, from, n);
	return 0;
}

/* What the emulated device rejects does not reach the GPU, and only what is right is timed; but what breaks a rule is right, and its
 * timing case on the emulated device shows the cost. */
static bool barred(const struct grading *g, const struct case_report *r)
{
	if (g->verdict == VERDICT_AC || (!r->spec->timing && !r->gpu))
		return false;
	return g->verdict != VERDICT_RV || r->gpu;
}

static int run_cases(struct work *w, struct err *e)
{
	bool go_on = true;
	for (unsigned i = 0; i < w->g->n_cases && go_on;) {
		unsigned n = stage_size(w->g, i);
		bool emulated = !w->g->cases[i].gpu;
		if (barred(w->g, &w->g->cases[i]) || (emulated && *w->g->not_emulated)) {
			i += n;
			continue;
		}
		if (run_stage(w, i, n, &go_on, e) < 0)
			return -1;
		i += n;
	}
	return 0;
}

/* The peaks of this GPU: as kept, or measured now. */
static int calibrate(struct work *w, struct err *e)
{
	struct grading *g = w->g;
	struct err none = {0};
	if (w->o->scope != GRADE_ALL || calibration_load(&g->gpu, &g->calibration, &none) == 0)
		return 0;
	progress_stage(w->o->progress, "calibrate", 0);
	if (calibration_measure(w->gpu.session, w->o->device->arch, w->o->unsandboxed, w->o->progress, &g->calibration, e) < 0)
		return err_wrap(e, "measuring the peaks of %s", g->device.name);
	if (calibration_store(&g->calibration, &none) < 0)
		progress_result(w->o->progress, "not kept: %s", none.text);
	else
		progress_result(w->o->progress, "%.0f GB/s", g->calibration.read_gbs);
	return 0;
}

/* Small cases again under compute-sanitizer: what it finds is a verdict where there was none. */
static int run_sanitizer(struct work *w, struct err *e)
{
	struct grading *g = w->g;
	g->sanitizer = arena_alloc(g->arena, sizeof *g->sanitizer);
	progress_stage(w->o->progress, "compute-sanitizer", 0);
	if (sanitize(&w->gpu, w->cases, g->n_cases, g->sanitizer, e) < 0)
		return -1;
	progress_result(w->o->progress, "%u findings", g->sanitizer->n + g->sanitizer->more);
	if (g->verdict == VERDICT_AC && g->sanitizer->n) {
		const struct sanitizer_finding *f = &g->sanitizer->findings[0];
		g->verdict = f->verdict;
		snprintf(g->why, sizeof g->why, "compute-sanitizer (%s): %s", f->tool, f->fault.detail);
	}
	return 0;
}

/* The first emulated timing case, whose counters the emulated device has, on the GPU under ncu. */
static int count_on_gpu(struct work *w, struct err *e)
{
	struct grading *g = w->g;
	unsigned i = 0;
	while (i < g->n_cases && (!g->cases[i].spec->timing || (g->cases[i].gpu && !*g->not_emulated)))
		i++;
	if (i == g->n_cases)
		return 0;
	g->hardware = arena_alloc(g->arena, sizeof *g->hardware);
	progress_stage(w->o->progress, "counters on the GPU", 0);
	if (ncu_count(&w->gpu, &w->cases[i], g->cases[i].book.launches, g->hardware, e) < 0)
		return -1;
	progress_result(w->o->progress, "%s", g->hardware->ran ? "done" : g->hardware->note);
	struct case_report measured = {.spec = g->cases[i].spec, .gpu = true};
	if (timing_case(&w->gpu, measured.spec, &measured, e) < 0)
		return err_wrap(e, "timing case \"%s\"", measured.spec->name);
	g->hardware->us = measured.verdict == VERDICT_AC ? measured.book.time_us : 0;
	return 0;
}

static int run_tools(struct work *w, struct err *e)
{
	if (!w->gpu.device)
		return 0;
	if (w->o->sanitize && run_sanitizer(w, e) < 0)
		return -1;
	return w->o->profile_lines && w->o->scope == GRADE_ALL && w->g->verdict == VERDICT_AC ? count_on_gpu(w, e) : 0;
}

static int load_runner(struct grading *g, struct runner *r, struct err *e)
{
	return g->verdict == VERDICT_AC ? runner_load_or_blame(r, &g->verdict, g->why, sizeof g->why, e) : 0;
}

/* A refused image says which instruction of which line: that the emulated device lacks it is not the program's fault, and
 * with a GPU no obstacle. */
static int load_image(struct work *w, struct err *e)
{
	struct grading *g = w->g;
	unsigned i = *g->not_emulated ? w->n_runners : 0;
	while (i < w->n_runners && load_runner(g, &w->runners[i], e) == 0)
		i++;
	if (i < w->n_runners && e->kind == ERR_INPUT && w->gpu.device) {
		snprintf(w->g->not_emulated, sizeof w->g->not_emulated, "%.290s", e->text);
		i = w->n_runners;
	}
	if (i == w->n_runners && (!w->gpu.device || load_runner(g, &w->gpu, e) == 0))
		return 0;
	if (e->kind != ERR_INPUT)
		return -1;
	w->g->verdict = VERDICT_SE;
	snprintf(w->g->why, sizeof w->g->why, "%.990s", e->text);
	return 0;
}

/* What the times are compared with takes the GPU for itself: the submission's device process has to go first. */
static void compare(struct work *w)
{
	if (w->o->scope != GRADE_ALL || w->g->verdict != VERDICT_AC || w->o->brief)
		return;
	runner_close(&w->gpu);
	if (w->gpu.device)
		baseline_add(w->o, w->gpu.device, w->g);
	else if (w->o->profile_lines)		/* it takes a compilation: only where more is asked for */
		baseline_add(w->o, w->emulated, w->g);
}

/* The GPU's timing cases, which are the last, ask oracles of their own, for inputs of their own. */
static unsigned pooled(const struct grading *g)
{
	unsigned n = g->n_cases;
	while (n && g->cases[n - 1].gpu && g->cases[n - 1].spec->timing)
		n--;
	return n;
}

static int run_all(struct work *w, struct err *e)
{
	const struct grade_options *o = w->o;
	char refusal[200];
	if (submission_refusal(o->source, o->size, refusal, sizeof refusal)) {
		w->g->verdict = VERDICT_CE;
		snprintf(w->g->why, sizeof w->g->why, "%s", refusal);
		return 0;
	}
	if (make_cases(w, e) < 0)
		return -1;
	progress_stage(o->progress, "compile", 0);
	if (start_compiler(w, e) < 0)
		return -1;
	if (!o->answers)
		w->oracles = oracle_pool_start(o->problem, w->cases, pooled(w->g),
					       o->threads ? o->threads : host_cores(), o->unsandboxed);
	struct err session_err = {0};
	int opened = 0;
	for (unsigned i = 0; i < w->n_runners && opened == 0 && !*w->g->not_emulated; i++)
		opened = runner_open(&w->runners[i], &session_err);
	if (finish_compiler(w, e) < 0)
		return -1;
	if (w->g->verdict == VERDICT_CE) {
		progress_result(o->progress, "%s", w->g->why);
		return 0;
	}
	if (w->g->compiled.kept)
		progress_result(o->progress, "kept from before");
	else
		progress_result(o->progress, "%.1f s", (double)w->g->compiled.wall_us / 1e6);
	if (opened < 0) {
		*e = session_err;
		return -1;
	}
	if ((w->gpu.device && calibrate(w, e) < 0) || load_image(w, e) < 0)
		return -1;
	if (w->g->verdict != VERDICT_AC)
		return 0;
	if (run_cases(w, e) < 0 || run_tools(w, e) < 0)
		return -1;
	compare(w);
	return 0;
}

/* ---- score ---- */

/* The book that is shown: the first timing case's, else that of the run that did most. */
static void choose_shown(struct grading *g)
{
	for (unsigned i = 0; i < g->n_cases; i++) {
		const struct case_report *r = &g->cases[i];
		if (!r->ran)
			continue;
		if (r->spec->timing && (!r->gpu || *g->not_emulated)) {
			g->shown = r;
			return;
		}
		if (!g->shown || r->book.counters.instructions > g->shown->book.counters.instructions)
			g->shown = r;
	}
}

/* What limits a kernel on the GPU is what the emulated device says of its timing case of that name. */
static void borrow_limiters(struct grading *g)
{
	for (unsigned i = 0; i < g->n_cases; i++)
		for (unsigned k = 0; k < g->n_cases && g->cases[i].gpu && g->cases[i].spec->timing; k++)
			if (!g->cases[k].gpu && g->cases[k].ran && !strcmp(g->cases[i].spec->name, g->cases[k].spec->name))
				g->cases[i].book.limiter = g->cases[k].book.limiter;
}

static uint64_t most_memory(const struct grading *g)
{
	uint64_t most = 0;
	for (unsigned i = 0; i < g->n_cases; i++)
		most = g->cases[i].host_memory > most ? g->cases[i].host_memory : most;
	return most;
}

static void score(struct grading *g)
{
	double efficiency[256], time[256];
	unsigned n = 0;
	for (unsigned i = 0; i < g->n_cases && n < 256; i++)
		if (g->cases[i].spec->timing && g->cases[i].gpu != g->modelled && g->cases[i].verdict == VERDICT_AC) {
			efficiency[n] = g->cases[i].efficiency;
			time[n++] = g->cases[i].book.time_us;
		}
	bool timed = n && g->verdict == VERDICT_AC;
	g->efficiency = timed ? score_mean(efficiency, n) : NAN;
	g->time_us = timed ? score_mean(time, n) : NAN;
	bool accepted = g->verdict == VERDICT_AC && g->scope == GRADE_ALL;
	g->score = score_points(g->problem, accepted, g->efficiency);
	g->tier = score_tier(g->problem, accepted, g->efficiency);
	g->host_memory = most_memory(g);
	choose_shown(g);
	borrow_limiters(g);
}

int grade(const struct grade_options *o, struct grading *g, struct err *e)
{
	double began = clock_seconds();
	memset(g, 0, sizeof *g);
	g->arena = arena_new();
	g->problem = o->problem;
	g->name = o->name;
	g->source = o->source;
	g->size = o->size;
	g->modelled = !o->device->gpu;
	g->unsandboxed = o->unsandboxed;
	g->device = o->device->profile;
	g->verdict = VERDICT_AC;
	g->scope = o->scope;
	snprintf(g->seed, sizeof g->seed, "%s", o->secret.hex);
	struct work w = {.o = o, .g = g, .n_runners = o->threads == 1 ? 1 : GRADE_LANES};
	for (unsigned i = 0; i < w.n_runners; i++)
		w.runners[i] = (struct runner){.options = o, .device = w.emulated, .grading = g, .arena = g->lanes[i] = arena_new()};
	snprintf(w.emulated, sizeof w.emulated, "emulated:%s", g->device.id);
	if (o->device->gpu) {
		w.gpu = (struct runner){.options = o, .device = o->device->device, .grading = g, .arena = g->lanes[0],
					.session = o->device->session};
		o->device->session = NULL;
		g->gpu = o->device->properties;
		if (o->gpu_only)
			snprintf(g->not_emulated, sizeof g->not_emulated, "the emulated device was left out (--gpu-only)");
	}
	int rc = run_all(&w, e);
	oracle_pool_stop(w.oracles);
	for (unsigned i = 0; i < w.n_runners; i++)
		runner_close(&w.runners[i]);
	runner_close(&w.gpu);
	compiled_close(&g->compiled);
	if (rc < 0) {
		grading_free(g);
		return -1;
	}
	score(g);
	g->seconds = clock_seconds() - began;
	return 0;
}

void grading_free(struct grading *g)
{
	for (unsigned i = 0; i < GRADE_LANES; i++)
		arena_free(g->lanes[i]);
	arena_free(g->arena);
	memset(g, 0, sizeof *g);
}
