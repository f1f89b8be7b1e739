/* A package, checked: see checkup.h. */
#include "checkup.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/clock.h"
#include "../../sandbox/base/cores.h"
#include "rules.h"

#include <stdio.h>
#include <string.h>

struct checking {
	const struct checkup_options *o;
	struct checkup *out;
	struct answers *answers;
	unsigned ended;
};

static unsigned workers(const struct checkup_options *o)
{
	return o->workers ? o->workers : host_cores();
}

/* ---- oracle ---- */

static int secret_of(const struct checkup_options *o, unsigned i, struct secret *s, struct err *e)
{
	char hex[SEED_HEX + 8];
	const char *seed = o->seed ? o->seed : CHECKUP_SEED;
	snprintf(hex, sizeof hex, i ? "%.60s%x" : "%.64s", seed, i);
	return secret_from_hex(s, hex, e);
}

static int open_answers(struct checking *c, struct err *e)
{
	struct checkup *out = c->out;
	const unsigned before = out->findings.n;
	c->answers = arena_new_array(out->arena, struct answers, out->n_seeds);
	for (unsigned i = 0; i < out->n_seeds; i++) {
		struct secret s;
		if (secret_of(c->o, i, &s, e) < 0 || answers_open(&c->answers[i], out->problem, &s, workers(c->o), c->o->unsandboxed, e) < 0)
			return -1;
		answers_check(&c->answers[i], i == 0, &out->findings);
		if (out->findings.n > before)
			return 0;
	}
	out->n_sizes = answers_check_sizes(&c->answers[0], workers(c->o), &out->findings);
	return 0;
}

static int check_oracle(struct checking *c, struct err *e)
{
	char what[120];
	double began = clock_seconds();
	struct checkup *out = c->out;
	unsigned before = out->findings.n;
	if (c->o->term)
		checkup_print_live(c->o->term, "oracle");
	if (open_answers(c, e) < 0)
		return -1;
	snprintf(what, sizeof what, "oracle.c: %u cases, %u combinations of sizes", out->n_cases, out->n_sizes);
	if (c->o->term)
		checkup_print_stage(c->o->term, out->findings.n == before, what, clock_seconds() - began);
	return 0;
}

/* ---- programs ---- */

static void tell(void *context, const struct trial *t, bool ended)
{
	struct checking *c = context;
	char text[200];
	if (!c->o->term)
		return;
	if (ended) {
		c->ended++;
		checkup_print_trial(c->o->term, t);
	}
	snprintf(text, sizeof text, "%u of %u%s%.100s", c->ended, c->out->n_trials, ended ? "" : ": ", ended ? "" : t->path);
	checkup_print_live(c->o->term, text);
}

static int run_programs(struct checking *c, struct err *e)
{
	struct checkup *out = c->out;
	struct trials_options q = {
		.problem = out->problem, .device = c->o->device, .probe = c->o->probe, .unsandboxed = c->o->unsandboxed, .workers = workers(c->o),
		.answers = c->answers, .n_answers = out->n_seeds, .tell = tell, .context = c,
	};
	out->n_trials = trials_list(out->problem, out->arena, &out->trials);
	int rc = trials_run(&q, out->trials, out->n_trials, e);
	if (c->o->term)
		checkup_print_live(c->o->term, NULL);
	return rc;
}

/* ---- the package ---- */

static int run(struct checking *c, const char *folder, struct err *e)
{
	struct checkup *out = c->out;
	out->problem = rules_check(folder, &out->findings);
	if (c->o->term)
		checkup_print_stage(c->o->term, !out->findings.n, "problem.json, texts and files", 0);
	if (!out->problem || findings_grave(&out->findings))
		return 0;
	out->n_cases = out->problem->n_cases;
	if (c->o->quick)
		return 0;
	unsigned before = out->findings.n;
	if (check_oracle(c, e) < 0)
		return -1;
	/* an oracle that is wrong makes every verdict so; what is only wanting in the texts does not */
	for (unsigned i = before; i < out->findings.n; i++)
		if (!strcmp(out->findings.at[i].file, "oracle.c"))
			return 0;
	return run_programs(c, e);
}

int checkup_run(const struct checkup_options *o, const char *folder, struct checkup *out, struct err *e)
{
	double began = clock_seconds();
	struct checking c = {.o = o, .out = out};
	CLEANUP_FREE char *real = realpath(folder, NULL);
	const char *slash = real ? strrchr(real, '/') : NULL;
	*out = (struct checkup){.arena = arena_new(), .n_seeds = o->seeds ? o->seeds : 1};
	out->name = arena_strdup(out->arena, slash ? slash + 1 : folder);
	int rc = run(&c, folder, e);
	for (unsigned i = 0; c.answers && i < out->n_seeds; i++)
		answers_close(&c.answers[i]);
	out->seconds = clock_seconds() - began;
	return rc;
}

void checkup_free(struct checkup *c)
{
	for (unsigned i = 0; i < c->n_trials; i++)
		findings_free(&c->trials[i].findings);
	findings_free(&c->findings);
	problem_close(c->problem);
	arena_free(c->arena);
	*c = (struct checkup){0};
}

unsigned checkup_faults(const struct checkup *c)
{
	unsigned n = c->findings.n + c->findings.more;
	for (unsigned i = 0; i < c->n_trials; i++)
		n += c->trials[i].findings.n;
	return n;
}
