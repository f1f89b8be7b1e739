/* What a package must hold: see rules.h. */
#include "rules.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json.h"
#include "../../sandbox/ptx/model.h"
#include "../element.h"
#include "../testcase.h"
#include "expectation.h"
#include "layout.h"
#include "statement.h"

#include <math.h>
#include <string.h>

/* ---- sizes ---- */

static unsigned choices(const struct size_draw *d)
{
	if (d->kind == DRAW_FIXED)
		return 1;
	if (d->kind == DRAW_LIST)
		return d->n;
	return (d->from + d->multiple - 1) / d->multiple == d->to / d->multiple ? 1 : 2;
}

static int64_t choice(const struct size_draw *d, unsigned i)
{
	if (d->kind != DRAW_RANGE)
		return d->list[i];
	return i ? d->to / d->multiple * d->multiple : (d->from + d->multiple - 1) / d->multiple * d->multiple;
}

bool rules_draw(const struct case_spec *c, unsigned i, struct sizes *out)
{
	if (i >= RULES_DRAWS)
		return false;
	*out = (struct sizes){.n = 0};
	for (unsigned k = 0; k < c->n_sizes; k++) {
		unsigned n = choices(&c->sizes[k]);
		if (!sizes_add(out, c->sizes[k].name, choice(&c->sizes[k], i % n)))
			BUG("too many sizes");
		i /= n;
	}
	return i == 0;
}

/* The field of a case, "cases[3]". */
static void case_field(const struct problem *p, const struct case_spec *c, char *out, size_t size)
{
	unsigned first = 0;
	while (c->timing && !p->cases[first].timing)
		first++;
	snprintf(out, size, "%s[%u]", c->timing ? "timing" : "cases", (unsigned)(c - p->cases) - first);
}

static void check_draws(const struct problem *p, const struct case_spec *c, struct findings *f)
{
	struct secret none = {{0}, ""};
	struct sizes sizes;
	for (unsigned i = 0; rules_draw(c, i, &sizes); i++) {
		struct testcase t;
		struct err e = {0};
		double bytes, flops;
		char field[40], text[200];
		if (testcase_make_sized(p, c, &sizes, &none, "check", &t, &e) == 0 && testcase_work(&t, &bytes, &flops, &e) == 0)
			continue;
		case_field(p, c, field, sizeof field);
		sizes_text(&sizes, text, sizeof text);
		const char *why = strstr(e.text, c->name);
		why = why ? strstr(why, ": ") : NULL;
		finding_grave(f, "problem.json", 0, field, "with %s, which can be drawn: %s", text, why ? why + 2 : e.text);
		return;
	}
}

/* ---- timing ---- */

static double output_bytes(const struct testcase *t)
{
	double sum = 0;
	for (unsigned i = 0; i < t->problem->n_arguments; i++)
		if (t->problem->arguments[i].role == ROLE_OUTPUT)
			sum += (double)t->tensors[i].bytes;
	return sum;
}

/* A floor that any kernel stays above, and that a right one comes near. */
static void check_floor(const struct problem *p, const struct case_spec *c, const struct profile *device, struct findings *f)
{
	struct secret none = {{0}, ""};
	struct testcase t;
	struct err e = {0};
	double bytes, flops;
	char field[40];
	if (testcase_make(p, c, &none, "check", &t, &e) < 0 || testcase_work(&t, &bytes, &flops, &e) < 0)
		return;		/* check_draws says so */
	case_field(p, c, field, sizeof field);
	double floor_us = model_floor_us(device, bytes, flops, p->unit), best = floor_us / (floor_us + device->launch_us);
	if (bytes < output_bytes(&t))
		finding_add(f, "problem.json", 0, "work.bytes", "gives %.0f bytes for timing case \"%s\", and its outputs alone have %.0f: count each input and output once, or write \"auto\"",
			    bytes, c->name, output_bytes(&t));
	else if (best < p->tiers[TIER_BRONZE] || !(floor_us > 0))
		finding_add(f, "problem.json", 0, field, "its floor is %.2g µs on %s, and the launch of a kernel alone takes %.2g µs: the best efficiency is %.0f %%, and bronze needs %.0f %%; make its sizes larger",
			    floor_us, device->name, device->launch_us, 100 * best, 100 * p->tiers[TIER_BRONZE]);
	else if (floor_us > p->seconds * 1e6)
		finding_add(f, "problem.json", 0, field, "its floor is %.3g s on %s, and limits.seconds %.3g: make its sizes smaller, or the limit larger",
			    floor_us / 1e6, device->name, p->seconds);
}

static void check_timing(const struct problem *p, struct findings *f)
{
	struct profile device;
	struct err e = {0};
	unsigned n[2] = {0};
	if (profile_load("h200", &device, &e) < 0)
		return;
	for (unsigned i = 0; i < p->n_cases; i++)
		if (p->cases[i].timing) {
			n[p->cases[i].gpu]++;
			check_floor(p, &p->cases[i], &device, f);
		}
	for (int gpu = 0; gpu < 2; gpu++)
		if (!n[gpu] && (n[!gpu] || p->score_efficiency > 0))
			finding_add(f, "problem.json", 0, "timing", "has no case for \"device\": \"%s\", so that nobody can earn the %g points for efficiency there",
				    gpu ? "gpu" : "emulated", p->score_efficiency);
	if (!p->score_efficiency && n[0] + n[1])
		finding_add(f, "problem.json", 0, "score.efficiency", "is 0, and there are timing cases: they count for nothing; write \"timing\": [] or give points");
}

/* ---- files ---- */

static void check_source(const struct problem *p, const char *name, struct findings *f)
{
	CLEANUP_BUF struct buf b = {0};
	struct err e = {0};
	if (problem_file(p, name, &b, &e) < 0)
		finding_grave(f, name, 0, NULL, "is not there: every package has one");
	else if (!b.size)
		finding_grave(f, name, 0, NULL, "is empty");
	else if (!utf8_valid(buf_str(&b), b.size, NULL) || memchr(buf_str(&b), 0, b.size))
		finding_grave(f, name, 0, NULL, "is not UTF-8 text: save it as such");
}

static void check_submissions(const struct problem *p, struct findings *f)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	struct layout l;
	unsigned accepted = 0, wrong = 0;
	layout_read(p->folder, a, &l, f);
	for (unsigned i = 0; i < l.n; i++) {
		struct expectation x;
		if (l.files[i].kind != LAYOUT_SUBMISSION || expectation_read(p->folder, l.files[i].path, &x, f) < 0)
			continue;
		accepted += x.verdict == VERDICT_AC;
		wrong += x.verdict == VERDICT_WA;
	}
	if (!accepted)
		finding_add(f, "submissions/accepted", 0, NULL, "holds no solution: without one nobody knows that the bound leaves room for right kernels");
	if (!wrong)
		finding_add(f, "submissions/wrong_answer", 0, NULL, "holds no solution: without one nobody knows that the cases catch a mistake");
}

struct problem *rules_check(const char *folder, struct findings *f)
{
	struct err e = {0};
	struct problem *p = problem_open(folder, &e);
	if (!p) {
		finding_of_err(f, &e);
		return NULL;
	}
	if (!p->title_zh)
		finding_add(f, "problem.json", 0, "title.zh", "is not there: write the title in both languages");
	for (unsigned i = 0; i < p->n_cases; i++)
		check_draws(p, &p->cases[i], f);
	check_timing(p, f);
	check_source(p, "starter.cu", f);
	check_source(p, "oracle.c", f);
	check_source(p, "reference.cu", f);
	statements_check(p, f);
	check_submissions(p, f);
	return p;
}
