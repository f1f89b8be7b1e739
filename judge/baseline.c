/* What a submission's times on a GPU are compared with: see baseline.h. */
#include "baseline.h"

#include "../sandbox/base/cleanup.h"
#include "cublas.h"
#include "device_choice.h"
#include "progress.h"
#include "timing.h"

#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { KEY = 800, HASH = 16 };

struct comparison {
	const struct grade_options *o;
	const char *device;
	struct grading *g;
	/* reference.cu */
	struct buf source;
	char program[2 * HASH + 1];
	unsigned missing;		/* times of it that are not kept */
	/* cuBLAS */
	struct cublas cublas;
	unsigned missing_products;
};

/* A time that the report shows. */
static bool counts(const struct grading *g, const struct case_report *r)
{
	return r->gpu != g->modelled && r->spec->timing && r->verdict == VERDICT_AC;
}

static void note(char *out, size_t size, const char *what, const struct err *e)
{
	snprintf(out, size, "%s: %.250s", what, e->text);
}

static void keep(struct comparison *c, const char *key, const struct kept_time *t)
{
	struct err e = {0};
	if (!t->disturbed && kept_store(key, t, &e) < 0)
		progress_result(c->o->progress, "not kept: %s", e.text);
}

/* ---- keys ---- */

void baseline_key_reference(const struct grading *g, const struct case_report *r, const char *program, char *out, size_t size)
{
	char sizes[300];
	sizes_text(&r->sizes, sizes, sizeof sizes);
	snprintf(out, size, "reference.cu (%s) of %s (%s), case %s, %s, on %s with driver %s", program, g->problem->id, g->problem->version,
		 r->spec->name, sizes, g->gpu.uuid, g->gpu.driver);
}

void baseline_key_cublas(const struct device_properties *gpu, const char *version, const struct gemm_shape *s, char *out, size_t size)
{
	snprintf(out, size, "FP16 product by cuBLAS %s, M=%lld N=%lld K=%lld, on %s with driver %s", version, (long long)s->m, (long long)s->n,
		 (long long)s->k, gpu->uuid, gpu->driver);
}

/* ---- reference.cu ---- */

/* The reference as a program: another text, architecture or compiler makes another one. */
static int read_reference(struct comparison *c, struct err *e)
{
	const struct toolchain *t = toolchain_find(e);
	CLEANUP_BUF struct buf all = {0};
	unsigned char hash[HASH];
	if (!t || problem_file(c->o->problem, "reference.cu", &c->source, e) < 0)
		return -1;
	buf_printf(&all, "%s %s\n", t->version, c->o->device->arch);
	buf_add(&all, c->source.data, c->source.size);
	crypto_generichash(hash, sizeof hash, (const unsigned char *)all.data, all.size, NULL, 0);
	sodium_bin2hex(c->program, sizeof c->program, hash, sizeof hash);
	return 0;
}

/* A model's times are not kept: another version of the emulated device may have others. */
static void load_references(struct comparison *c)
{
	struct grading *g = c->g;
	struct err e = {0};
	if (read_reference(c, &e) < 0) {
		note(g->reference_note, sizeof g->reference_note, "reference.cu", &e);
		return;
	}
	for (unsigned i = 0; i < g->n_cases; i++) {
		char key[KEY];
		struct err none = {0};
		if (!counts(g, &g->cases[i]))
			continue;
		baseline_key_reference(g, &g->cases[i], c->program, key, sizeof key);
		c->missing += g->modelled || kept_load(key, &g->cases[i].reference, &none) < 0;
	}
}

static int compile_reference(struct comparison *c, struct grading *like, struct err *e)
{
	CLEANUP_BUF struct buf prelude = {0};
	problem_prelude(c->o->problem, &prelude);
	struct compile_request rq = {
		.source = buf_str(&c->source), .size = c->source.size, .name = "reference.cu", .prelude = buf_str(&prelude), .entry = "solve",
		.arch = c->o->device->arch, .unsandboxed = c->o->unsandboxed,
	};
	if (compile(&rq, like->arena, &like->compiled, e) < 0)
		return -1;
	return like->compiled.ok ? 0 : err_input(e, "it does not compile: %s", like->compiled.why_not ? like->compiled.why_not : "?");
}

/* On the emulated device a run is all it takes. */
static int model_case(struct comparison *c, struct runner *runner, struct case_report *out, struct err *e)
{
	const struct grade_options *o = c->o;
	struct testcase t;
	struct answer a;
	CLEANUP_FD int oracle = oracle_open(o->problem, o->unsandboxed, e);
	if (oracle < 0 || testcase_make(o->problem, out->spec, &o->secret, o->judging, &t, e) < 0 ||
	    oracle_run(oracle, &t, o->unsandboxed, &a, e) < 0)
		return -1;
	int rc = runner_case(runner, &t, &a, out, e);
	answer_free(&a);
	return rc;
}

static int time_reference(struct comparison *c, struct runner *runner, struct case_report *r, struct err *e)
{
	char key[KEY];
	struct case_report own = {.spec = r->spec, .stage = "baseline", .gpu = r->gpu, .sizes = r->sizes, .error_ratio = NAN,
				  .quantization_error = NAN};
	progress_step(c->o->progress, r->spec->name);
	if ((r->gpu ? timing_case(runner, r->spec, &own, e) : model_case(c, runner, &own, e)) < 0)
		return -1;
	if (own.verdict != VERDICT_AC)
		return err_input(e, "case %s: %s%s%.200s", r->spec->name, verdict_name(own.verdict), *own.why ? ": " : "", own.why);
	r->reference = (struct kept_time){
		.us = own.book.time_us, .low_us = own.timing.low_us, .high_us = own.timing.high_us, .spread = own.timing.spread,
		.sets = own.timing.sets, .passes = own.timing.passes, .disturbed = own.timing.disturbed,
	};
	baseline_key_reference(c->g, r, c->program, key, sizeof key);
	if (r->gpu)
		keep(c, key, &r->reference);
	return 0;
}

/* As a submission of its own: another compiled program, another device process. */
static int time_references(struct comparison *c, struct err *e)
{
	struct grading own = {.arena = arena_new(), .problem = c->o->problem, .name = "reference.cu", .compiled = {.guest_fd = -1}};
	struct grade_options options = *c->o;
	options.profile_lines = false;
	struct runner runner = {.options = &options, .device = c->device, .grading = &own, .arena = own.arena};
	int rc = compile_reference(c, &own, e);
	for (unsigned i = 0; i < c->g->n_cases && rc == 0; i++)
		if (counts(c->g, &c->g->cases[i]) && !(c->g->cases[i].reference.us > 0))
			rc = time_reference(c, &runner, &c->g->cases[i], e);
	runner_close(&runner);
	compiled_close(&own.compiled);
	arena_free(own.arena);
	return rc;
}

/* ---- cuBLAS ---- */

static void key_product(const struct comparison *c, const struct case_report *r, struct gemm_shape *s, char *key, size_t size)
{
	struct err e = {0};
	if (problem_gemm(c->o->problem, &r->sizes, s, &e) < 0)
		BUG("a timing case that the package was not tried with: %s", e.text);
	baseline_key_cublas(&c->g->gpu, c->cublas.version, s, key, size);
}

static void load_products(struct comparison *c)
{
	struct grading *g = c->g;
	struct err e = {0};
	if (g->modelled || !c->o->problem->gemm[0])
		return;
	if (cublas_find(&c->cublas, &e) < 0) {
		note(g->cublas_note, sizeof g->cublas_note, "cuBLAS", &e);
		return;
	}
	snprintf(g->cublas, sizeof g->cublas, "%s", c->cublas.version);
	for (unsigned i = 0; i < g->n_cases; i++) {
		char key[KEY];
		struct gemm_shape s;
		struct err none = {0};
		if (!counts(g, &g->cases[i]))
			continue;
		key_product(c, &g->cases[i], &s, key, sizeof key);
		c->missing_products += kept_load(key, &g->cases[i].cublas, &none) < 0;
	}
}

static int time_product(struct comparison *c, struct case_report *r, struct err *e)
{
	char key[KEY], detail[80];
	struct gemm_shape s;
	snprintf(detail, sizeof detail, "%s, cuBLAS", r->spec->name);
	progress_step(c->o->progress, detail);
	key_product(c, r, &s, key, sizeof key);
	if (cublas_measure(&c->g->gpu, &s, &r->cublas, e) < 0)
		return -1;
	keep(c, key, &r->cublas);
	return 0;
}

static int time_products(struct comparison *c, struct err *e)
{
	for (unsigned i = 0; i < c->g->n_cases; i++)
		if (counts(c->g, &c->g->cases[i]) && !(c->g->cases[i].cublas.us > 0) && time_product(c, &c->g->cases[i], e) < 0)
			return -1;
	return 0;
}

/* ---- baseline.h ---- */

void baseline_add(const struct grade_options *o, const char *device, struct grading *g)
{
	struct comparison c = {.o = o, .device = device, .g = g};
	struct err e = {0};
	load_references(&c);
	load_products(&c);
	if (c.missing + c.missing_products)
		progress_stage(o->progress, "baseline", c.missing + c.missing_products);
	if (c.missing && time_references(&c, &e) < 0)
		note(g->reference_note, sizeof g->reference_note, "reference.cu", &e);
	e = (struct err){0};
	if (c.missing_products && time_products(&c, &e) < 0)
		note(g->cublas_note, sizeof g->cublas_note, "cuBLAS", &e);
	if (c.missing + c.missing_products)
		progress_result(o->progress, *g->reference_note || *g->cublas_note ? "not all could be had" :
				g->modelled ? "modelled" : "measured, and kept");
	buf_free(&c.source);
}
