/* Timing on a GPU: see timing.h. */
#include "timing.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/clock.h"
#include "../sandbox/base/cores.h"
#include "../sandbox/base/crew.h"
#include "../sandbox/base/draw.h"
#include "element.h"
#include "gpu_lock.h"
#include "oracle.h"
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIN_SETS = 4, MAX_SETS = 32, WARM_UP = 3, MIN_PASSES = 10, SLOW_PASSES = 3, MAX_PASSES = 200, SPOT_CHECKS = 4, ALONE_CHECKS = 2, LOOKS_MIN = 2,
       LOOKS_MAX = 24, LATER = 16, THREADS = 16, CHUNK = 4096, CHUNKS = 3, CHUNK_ALIGN = 64, ATTEMPTS = 2 };
static const double PRECISION = 0.005, SECONDS = 2.5, SLOW_PASS_US = 250000;
static const uint64_t HOST_MAX = 6ull << 30;

/* What a pass left in the outputs of a set, to be checked when time no longer matters and the GPU is another's. */
struct outputs {
	unsigned set, pass;
	bool alone;
	void *of[PROBLEM_MAX_TENSORS];	/* by argument; NULL: no output */
};

/* The same after a pass that was not the last, with the inputs, which have changed since. */
struct look {
	struct answer answer;		/* a copy of the inputs, then the oracle's */
	struct outputs got;
};

struct work {
	struct runner *runner;
	const struct case_spec *spec;
	struct case_report *out;
	struct testcase *tests;		/* one a set, as all below */
	struct answer *answers;
	struct run_case *sets;
	struct outputs *last;		/* after the last pass */
	unsigned n;
	struct look looks[LOOKS_MAX];
	unsigned n_looks, looks_drawn;
	struct device_properties gpu;
	int oracle;
	bool again;			/* oracles: of the same inputs, changed */
};

/* ---- figures ---- */

unsigned timing_sets(uint64_t bytes, uint64_t host, uint64_t l2, unsigned tensors)
{
	uint64_t n = bytes ? (4 * l2 + bytes - 1) / bytes : MAX_SETS;
	if (n < MIN_SETS)
		n = MIN_SETS;
	if (n > MAX_SETS)
		n = MAX_SETS;
	if (host && n > HOST_MAX / host)
		n = HOST_MAX / host;
	if (tensors && n > SESSION_TENSORS_MAX / tensors)
		n = SESSION_TENSORS_MAX / tensors;
	return n < 2 ? 2 : (unsigned)n;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static unsigned rank(double at, unsigned n)
{
	return at < 0 ? 0 : at > n - 1 ? n - 1 : (unsigned)at;
}

void timing_median(double *us, unsigned n, double *median, double *low, double *high, double *spread)
{
	double half = 0.98 * sqrt(n);	/* 1.96 standard deviations of the rank */
	qsort(us, n, sizeof *us, ascending);
	*median = n % 2 ? us[n / 2] : (us[n / 2 - 1] + us[n / 2]) / 2;
	*low = us[rank(floor((n - 1) / 2.0 - half), n)];
	*high = us[rank(ceil((n - 1) / 2.0 + half), n)];
	*spread = (us[rank(ceil(0.95 * (n - 1)), n)] - us[rank(floor(0.05 * (n - 1)), n)]) / *median;
}

/* ---- oracles ---- */

/* Of a set, or of a look. */
static int ask_oracle(void *work, void *own, unsigned i, struct err *e)
{
	struct work *w = work;
	bool unsandboxed = w->runner->options->unsandboxed;
	struct look *look = i < w->n ? NULL : &w->looks[i - w->n];
	const struct testcase *t = &w->tests[look ? look->got.set : i];
	struct answer *answer = look ? &look->answer : &w->answers[i];
	(void)own;
	return w->again ? oracle_again(w->oracle, t, unsandboxed, answer, e) : oracle_run(w->oracle, t, unsandboxed, answer, e);
}

static int ask_oracles(struct work *w, bool again, struct err *e)
{
	unsigned cores = host_cores();
	w->again = again;
	return crew_run(&(struct crew_work){.n = w->n + w->n_looks, .threads = cores < THREADS ? cores : THREADS, .part = ask_oracle, .context = w}, e);
}

/* ---- sets ---- */

/* Host memory of a set, or of a look: inputs, expected values and bounds, and what a pass left in the outputs. */
static uint64_t held(const struct testcase *t)
{
	return answer_size(t) + testcase_outputs(t);
}

static int make_sets(struct work *w, struct err *e)
{
	const struct grade_options *o = w->runner->options;
	struct testcase first;
	uint64_t bytes = 0;
	if (testcase_make(o->problem, w->spec, &o->secret, o->judging, &first, e) < 0 || session_properties(w->runner->session, &w->gpu, e) < 0)
		return -1;
	for (unsigned i = 0; i < o->problem->n_arguments; i++)
		bytes += first.tensors[i].bytes;
	w->n = timing_sets(bytes, held(&first), w->gpu.l2_bytes, o->problem->n_arguments);
	w->tests = calloc(w->n, sizeof *w->tests);
	w->answers = calloc(w->n, sizeof *w->answers);
	w->sets = calloc(w->n, sizeof *w->sets);
	w->last = calloc(w->n, sizeof *w->last);
	if (!w->tests || !w->answers || !w->sets || !w->last)
		BUG("out of memory");
	for (unsigned i = 0; i < w->n; i++) {
		char judging[80];
		snprintf(judging, sizeof judging, "%.60s/set %u", o->judging, i);
		if (testcase_make(o->problem, w->spec, &o->secret, judging, &w->tests[i], e) < 0)
			return -1;
		w->sets[i] = (struct run_case){.runner = w->runner, .t = &w->tests[i], .answer = &w->answers[i], .out = w->out};
	}
	w->oracle = oracle_open(o->problem, o->unsandboxed, e);
	return w->oracle < 0 ? -1 : ask_oracles(w, false, e);
}

/* solve() once for each set, checked like any case.  The first set's book is the report's. */
static int record(struct work *w, struct err *e)
{
	struct book first;
	if (session_reset(w->runner->session, e) < 0)
		return -1;
	for (unsigned i = 0; i < w->n; i++)
		if (case_lay_out(&w->sets[i], e) < 0)
			return -1;
	for (unsigned i = 0; i < w->n && (i == 0 || w->out->verdict == VERDICT_AC); i++) {
		struct run_case *c = &w->sets[i];
		int rc = case_run(c, false, true, e) < 0 ? -1 : case_judge(c, e);
		session_run_free(&c->run);
		if (rc < 0)
			return -1;
		if (i == 0)
			first = w->out->book;
		else if (w->out->verdict == VERDICT_WA)
			case_say(w->out, VERDICT_WA, "right for the first input set, wrong for set %u after it: does it keep something from one "
				 "call to the next?", i + 1);
	}
	w->out->book = first;
	return 0;
}

/* ---- passes ---- */

/* Some places of every input of a set take on what another set has there: elements that are as good as any. */
static int mutate(struct work *w, unsigned set, struct err *e)
{
	const struct problem *p = w->tests[set].problem;
	unsigned from = (set + 1 + (unsigned)draw_below(w->n - 1)) % w->n;
	for (unsigned i = 0; i < p->n_arguments; i++) {
		uint64_t size = w->tests[set].tensors[i].bytes;
		if (p->arguments[i].role != ROLE_INPUT)
			continue;
		for (unsigned k = 0; k < (size > 64 * CHUNK ? CHUNKS : 1); k++) {
			uint64_t n = size / 2 < CHUNK ? (size + 1) / 2 : CHUNK;
			uint64_t at = draw_below(size - n + 1) / CHUNK_ALIGN * CHUNK_ALIGN;
			n = n / element_bytes(p->arguments[i].type) * element_bytes(p->arguments[i].type);
			char *mine = (char *)(uintptr_t)w->answers[set].tensors[i].data + at;	/* the answer's own map */
			memcpy(mine, (const char *)w->answers[from].tensors[i].data + at, n);
			if (n && session_patch(w->runner->session, w->sets[set].ids[i], at, mine, n, e) < 0)
				return -1;
		}
	}
	return 0;
}

static int mutate_all(struct work *w, struct err *e)
{
	for (unsigned i = 0; i < w->n; i++)
		if (mutate(w, i, e) < 0)
			return -1;
	return 0;
}

/* A fault of a replay becomes the verdict. */
static void say_fault(struct case_report *out, const char *how)
{
	const struct fault *f = &out->fault;
	case_say(out, verdict_find(fault_verdict(f->kind)), "right when solve() runs, but its launches, done again %s, fail: %s%s%s", how,
		 f->kind == FAULT_BUDGET ? "not done within its time" : fault_name(f->kind), *f->detail ? ": " : "", f->detail);
}

/* One pass; *us: of one solve().  A fault becomes the verdict. */
static int pass(struct work *w, double *us, struct device_clocks *clocks, struct err *e)
{
	struct device_replay replay;
	struct fault *f = &w->out->fault;
	if (mutate_all(w, e) < 0 || session_replay(w->runner->session, -1, &replay, f, e) < 0)
		return -1;
	*us = replay.us / w->n;
	*clocks = replay.clocks;
	if (f->kind != FAULT_NONE)
		say_fault(w->out, "on other inputs");
	return 0;
}

/* ---- outputs ---- */

static void forget_outputs(struct outputs *o)
{
	for (unsigned i = 0; i < PROBLEM_MAX_TENSORS; i++)
		free(o->of[i]);
	memset(o, 0, sizeof *o);
}

static int fetch_outputs(struct work *w, unsigned set, unsigned n_passes, bool alone, struct outputs *out, struct err *e)
{
	const struct testcase *t = &w->tests[set];
	forget_outputs(out);
	*out = (struct outputs){.set = set, .pass = n_passes, .alone = alone};
	for (unsigned i = 0; i < t->problem->n_arguments; i++) {
		if (t->problem->arguments[i].role != ROLE_OUTPUT)
			continue;
		if (!(out->of[i] = malloc(t->tensors[i].bytes + 1)))
			BUG("out of memory");
		if (session_download(w->runner->session, w->sets[set].ids[i], out->of[i], e) < 0)
			return -1;
	}
	return 0;
}

static void check_outputs(struct work *w, const struct outputs *o, const struct answer *answer)
{
	const struct testcase *t = &w->tests[o->set];
	for (unsigned i = 0; i < t->problem->n_arguments && w->out->verdict == VERDICT_AC; i++) {
		struct check k;
		if (!o->of[i])
			continue;
		check_output(t->problem->arguments[i].type, o->of[i], answer->tensors[i].expected, answer->tensors[i].bound,
			     t->tensors[i].count, &k);
		if (k.wrong)
			case_say(w->out, VERDICT_WA, "right when solve() runs, wrong when its launches are done again on changed inputs (%s pass "
				 "%u, set %u): %llu of %llu elements of %s are out of bound", o->alone ? "alone, after" : "in", o->pass, o->set + 1,
				 (unsigned long long)k.wrong, (unsigned long long)k.count, t->problem->arguments[i].name);
	}
}

/* ---- looks ---- */

static void forget_look(struct look *l)
{
	answer_free(&l->answer);
	forget_outputs(&l->got);
	memset(l, 0, sizeof *l);
}

static void forget_looks(struct work *w)
{
	for (unsigned i = 0; i < w->n_looks; i++)
		forget_look(&w->looks[i]);
	w->n_looks = w->looks_drawn = 0;
}

/* Of more looks than there is memory for each is as likely to be kept: were the last ones left out, late passes would be free. */
static struct look *place_for_look(struct work *w)
{
	uint64_t room = HOST_MAX / held(&w->tests[0]), i;
	room = room < LOOKS_MIN ? LOOKS_MIN : room > LOOKS_MAX ? LOOKS_MAX : room;
	w->looks_drawn++;
	if (w->n_looks < room)
		return &w->looks[w->n_looks++];
	if ((i = draw_below(w->looks_drawn)) >= room)
		return NULL;
	forget_look(&w->looks[i]);
	return &w->looks[i];
}

static int copy_answer(const struct answer *from, struct answer *to, struct err *e)
{
	*to = *from;
	to->map = mmap(NULL, from->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (to->map == MAP_FAILED) {
		to->map = NULL;
		return err_errno(e, "no memory for a copy of the inputs");
	}
	memcpy(to->map, from->map, from->size);
	for (unsigned i = 0; i < PROBLEM_MAX_TENSORS; i++)
		if (from->tensors[i].data)
			to->tensors[i].data = (char *)to->map + ((const char *)from->tensors[i].data - (const char *)from->map);
	return 0;
}

static int look_at(struct work *w, unsigned set, unsigned n_passes, bool alone, struct err *e)
{
	struct look *l = place_for_look(w);
	if (!l)
		return 0;
	return copy_answer(&w->answers[set], &l->answer, e) < 0 ? -1 : fetch_outputs(w, set, n_passes, alone, &l->got, e);
}

/* One set's launches alone, out of turn: they must not live on what others did.  Its time is that of cold caches. */
static int check_alone(struct work *w, unsigned set, unsigned n_passes, struct err *e)
{
	struct device_replay replay;
	struct fault *f = &w->out->fault;
	if (mutate_all(w, e) < 0 || session_replay(w->runner->session, (int)set, &replay, f, e) < 0)
		return -1;
	w->out->timing.cold_us = replay.us;
	if (f->kind != FAULT_NONE) {
		say_fault(w->out, "alone");
		return 0;
	}
	return look_at(w, set, n_passes, true, e);
}

/* When to look, so that a kernel that behaves well now and then can't know when: the first `least` passes have SPOT_CHECKS, which
 * may fall together, and ALONE_CHECKS of sets in turn; later passes have one now and then. */
struct lots {
	unsigned least, most, spots[SPOT_CHECKS], alone[ALONE_CHECKS], set;
};

static struct lots draw_lots(const struct work *w)
{
	struct lots l = {.least = MIN_PASSES + (unsigned)draw_below(MIN_PASSES), .most = MAX_PASSES - (unsigned)draw_below(MAX_PASSES / 4)};
	for (unsigned i = 0; i < SPOT_CHECKS; i++)
		l.spots[i] = 1 + (unsigned)draw_below(l.least - 1);
	for (unsigned i = 0; i < ALONE_CHECKS; i++)
		l.alone[i] = 1 + (unsigned)draw_below(l.least - 1);
	l.set = (unsigned)draw_below(w->n);
	return l;
}

static bool contains(const unsigned *list, unsigned n, unsigned x)
{
	for (unsigned i = 0; i < n; i++)
		if (list[i] == x)
			return true;
	return false;
}

static int check_some(struct work *w, struct lots *l, unsigned n_passes, struct err *e)
{
	if ((contains(l->spots, SPOT_CHECKS, n_passes) || (n_passes > l->least && draw_below(LATER) == 0)) &&
	    look_at(w, (unsigned)draw_below(w->n), n_passes, false, e) < 0)
		return -1;
	for (unsigned i = 0; i < ALONE_CHECKS && w->out->verdict == VERDICT_AC; i++)
		if (l->alone[i] == n_passes && check_alone(w, l->set++ % w->n, n_passes, e) < 0)
			return -1;
	return 0;
}

static int fetch_last(struct work *w, unsigned n_passes, struct err *e)
{
	for (unsigned i = 0; i < w->n; i++)
		if (fetch_outputs(w, i, n_passes, false, &w->last[i], e) < 0)
			return -1;
	return 0;
}

/* Needs no GPU. */
static int verify(struct work *w, struct err *e)
{
	if (ask_oracles(w, true, e) < 0)
		return -1;
	for (unsigned i = 0; i < w->n_looks; i++)
		check_outputs(w, &w->looks[i].got, &w->looks[i].answer);
	for (unsigned i = 0; i < w->n; i++)
		check_outputs(w, &w->last[i], &w->answers[i]);
	return 0;
}

static bool slower(const struct device_clocks *a, const struct device_clocks *b)
{
	return a->sm_mhz && b->sm_mhz && fabs((double)a->sm_mhz - b->sm_mhz) > TIMING_CLOCK_CHANGE * a->sm_mhz;
}

/* A kernel this slow needs no precise time, and precision would take minutes.  Every measured pass counts, warm-up does not: else a
 * slow beginning would buy fewer checks. */
static bool slow(const struct work *w, const double *sorted, unsigned n)
{
	return n >= SLOW_PASSES && sorted[0] * w->n > SLOW_PASS_US;
}

static bool measured_enough(const struct work *w, const struct lots *l, const double *sorted, unsigned n, double spent)
{
	const struct timing *t = &w->out->timing;
	double median = sorted[n / 2];
	return slow(w, sorted, n) || (n >= l->least && (t->high_us - t->low_us <= PRECISION * median || spent > SECONDS));
}

static int measure(struct work *w, struct err *e)
{
	double us[MAX_PASSES], sorted[MAX_PASSES], median = NAN, one = 0, spent = 0;
	struct timing *t = &w->out->timing;
	struct device_clocks clocks = {0};
	struct lots lots = draw_lots(w);
	unsigned n = 0;
	forget_looks(w);
	for (unsigned i = 0; i < WARM_UP && one * w->n <= SLOW_PASS_US && w->out->verdict == VERDICT_AC; i++)
		if (pass(w, &one, &t->before, e) < 0)
			return -1;
	t->disturbed = false;
	while (n < lots.most && w->out->verdict == VERDICT_AC) {
		double began = clock_seconds();
		if (pass(w, &us[n++], &clocks, e) < 0)
			return -1;
		spent += clock_seconds() - began;		/* checks take time of their own */
		t->disturbed |= clocks.throttle != 0 || slower(&t->before, &clocks);
		memcpy(sorted, us, n * sizeof *us);
		timing_median(sorted, n, &median, &t->low_us, &t->high_us, &t->spread);
		if (measured_enough(w, &lots, sorted, n, spent))
			break;
		if (w->out->verdict == VERDICT_AC && check_some(w, &lots, n, e) < 0)
			return -1;
	}
	t->after = clocks;
	t->passes = n;
	t->sets = w->n;
	t->disturbed = !slow(w, sorted, n) && (t->disturbed || t->spread > TIMING_STEADY);
	w->out->book.time_us = median;
	return w->out->verdict == VERDICT_AC ? fetch_last(w, n, e) : 0;
}

/* All that needs the GPU, which nobody else may use meanwhile, and whose memory the next one may need whole. */
static int run_alone(struct work *w, struct err *e)
{
	CLEANUP_FD int lock = gpu_lock(w->gpu.uuid, GPU_ALONE, e);
	if (lock < 0 || record(w, e) < 0)
		return -1;
	for (unsigned i = 0; i < ATTEMPTS && w->out->verdict == VERDICT_AC && (i == 0 || w->out->timing.disturbed); i++)
		if (measure(w, e) < 0)
			return -1;
	return w->out->verdict == VERDICT_AC ? session_reset(w->runner->session, e) : 0;
}

static int run_all(struct work *w, struct err *e)
{
	if (make_sets(w, e) < 0 || run_alone(w, e) < 0)
		return -1;
	return w->out->verdict == VERDICT_AC ? verify(w, e) : 0;
}

static int time_once(struct runner *r, const struct case_spec *spec, struct case_report *out, struct err *e)
{
	struct work w = {.runner = r, .spec = spec, .out = out, .oracle = -1};
	int rc = !r->session && runner_load(r, e) < 0 ? -1 : run_all(&w, e);
	forget_looks(&w);
	for (unsigned i = 0; i < w.n && w.last; i++) {
		answer_free(&w.answers[i]);
		forget_outputs(&w.last[i]);
	}
	if (w.oracle >= 0)
		close(w.oracle);
	free(w.tests);
	free(w.answers);
	free(w.sets);
	free(w.last);
	return rc;
}

/* As for any case (grade_case.c): of what the device process dies twice is the program's doing, but not if somebody killed it. */
int timing_case(struct runner *r, const struct case_spec *spec, struct case_report *out, struct err *e)
{
	const struct case_report fresh = *out;
	bool killed = false;
	for (unsigned deaths = 0; deaths < 2; deaths++) {
		int rc = time_once(r, spec, out, e);
		if (rc == 0 || !r->session || !session_dead(r->session))
			return rc;
		killed |= session_killed(r->session);
		runner_close(r);
		*out = fresh;
	}
	if (killed)
		return -1;
	case_say(out, VERDICT_RE, "the device process died twice while this program was timed: %.500s", e->text);
	return 0;
}
