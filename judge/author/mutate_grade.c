/* Grading of mutants: see mutate_grade.h.
 *
 * A mutant costs a compilation.  One that changes device code alone is compiled for the device only, and runs with the original's
 * guest.  Programs that were met before are not run again: two mutants may mean the same, and many mean what the original does.
 *
 * A mutant may loop for ever.  It gets FACTOR times the instructions that the original needs, which is no time at all where the
 * problem's own limit, made for slow right kernels, is seconds.
 */
#include "mutate_grade.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/compile.h"
#include "../device_choice.h"
#include "../grade_case.h"
#include "../submission.h"
#include "identity.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { FACTOR = 50, LEAST_INSTRUCTIONS = 1000000, MOST_SECONDS = 10 };

/* What the accumulation operator rounds with. */
static const char helper[] = "static __device__ __forceinline__ float judge_half(float judge_x)\n"
			     "{\n"
			     "asm(\"{.reg .b16 h; cvt.rn.f16.f32 h, %0; cvt.f32.f16 %0, h;}\" : \"+f\"(judge_x));\n"
			     "return judge_x;\n"
			     "}\n";

struct known {				/* a program that has been graded */
	uint64_t device, host;
	struct outcome outcome;
	struct known *next;
};

struct bench {
	struct problem problem;		/* a copy, with other limits */
	uint64_t instructions;		/* the problem's own limit */
	struct grade_options options;
	struct device_choice device;
	char device_name[48];
	struct testcase *cases;
	const struct answer **answers;
	struct oracle_pool *oracles;
	unsigned n;
	struct buf prelude;
	struct arena *arena;
};

struct original {
	struct bench *bench;
	struct arena *arena;
	const char *name;
	struct compiled compiled;
	uint64_t device, host;		/* identities of its PTX and its guest */
	struct known *known;
	pthread_mutex_t lock;
};

struct lane {
	struct original *original;
	struct grading grading;
	struct runner runner;
};

/* ---- the bench ---- */

static int draw_cases(struct bench *b, struct err *e)
{
	const struct problem *p = &b->problem;
	b->cases = arena_new_array(b->arena, struct testcase, p->n_cases + 1);
	b->answers = arena_new_array(b->arena, const struct answer *, p->n_cases + 1);
	for (unsigned i = 0; i < p->n_cases; i++) {
		if (p->cases[i].visible || p->cases[i].timing)
			continue;
		if (testcase_make(p, &p->cases[i], &b->options.secret, b->options.judging, &b->cases[b->n], e) < 0)
			return -1;
		b->n++;
	}
	return b->n ? 0 : err_input(e, "problem %s has no hidden cases", p->id);
}

static int ask_oracle(struct bench *b, unsigned threads, struct err *e)
{
	b->oracles = oracle_pool_start(&b->problem, b->cases, b->n, threads, b->options.unsandboxed);
	for (unsigned i = 0; i < b->n; i++)
		if (oracle_pool_get(b->oracles, i, &b->answers[i], e) < 0)
			return -1;
	return 0;
}

struct bench *bench_open(const struct mutate_options *o, struct err *e)
{
	struct bench *b = calloc(1, sizeof *b);
	if (!b)
		BUG("out of memory");
	b->arena = arena_new();
	b->problem = *o->problem;
	b->instructions = o->problem->instructions;
	if (b->problem.seconds > MOST_SECONDS)
		b->problem.seconds = MOST_SECONDS;
	b->options = (struct grade_options){.problem = &b->problem, .device = &b->device, .judging = "mutation", .threads = 1, .scope = GRADE_UNTIMED,
					    .unsandboxed = o->unsandboxed};
	problem_prelude(&b->problem, &b->prelude);
	buf_adds(&b->prelude, helper);
	if (device_choose(o->device ? o->device : "emulated", o->unsandboxed, &b->device, e) < 0)
		goto failed;
	if (b->device.gpu) {
		err_input(e, "mutants are graded on an emulated device: give --device emulated, or none");
		goto failed;
	}
	snprintf(b->device_name, sizeof b->device_name, "emulated:%s", b->device.profile.id);
	if (secret_from_hex(&b->options.secret, o->seed ? o->seed : MUTATE_SEED, e) < 0 || draw_cases(b, e) < 0 || ask_oracle(b, o->threads, e) < 0)
		goto failed;
	return b;
failed:
	bench_close(b);
	return NULL;
}

const char *bench_seed(const struct bench *b)
{
	return b->options.secret.hex;
}

void bench_close(struct bench *b)
{
	if (!b)
		return;
	oracle_pool_stop(b->oracles);
	device_choice_close(&b->device);
	buf_free(&b->prelude);
	arena_free(b->arena);
	free(b);
}

/* The guest's bytes as a number. */
static uint64_t file_identity(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || st.st_size == 0)
		return 0;
	void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return 0;
	uint64_t h = bytes_identity(map, (size_t)st.st_size);
	munmap(map, (size_t)st.st_size);
	return h;
}

/* ---- compiling and running ---- */

static int compile_for(struct bench *b, const char *name, const char *source, size_t size, bool device_only, struct arena *a, struct compiled *out,
		       struct err *e)
{
	struct compile_request rq = {
		.source = source, .size = size, .name = name, .prelude = buf_str(&b->prelude), .entry = "solve", .arch = b->device.arch,
		.parts = device_only ? COMPILE_PTX : COMPILE_ALL, .unsandboxed = b->options.unsandboxed,
		.wall_ms = (unsigned)(b->problem.compile_seconds * 1000), .memory = b->problem.compile_memory,
	};
	return compile(&rq, a, out, e);
}

/* Up to the first case that is not accepted; *instructions: of the case that took most. */
static int run_cases(struct lane *l, struct outcome *out, char *why, size_t room, uint64_t *instructions, struct err *e)
{
	struct bench *b = l->original->bench;
	*instructions = 0;
	for (unsigned i = 0; i < b->n; i++) {
		struct case_report r = {.spec = b->cases[i].spec, .verdict = VERDICT_NONE, .error_ratio = NAN, .quantization_error = NAN};
		if (runner_case(&l->runner, &b->cases[i], b->answers[i], &r, e) < 0)
			return err_wrap(e, "case \"%s\"", r.spec->name);
		if (r.book.counters.instructions > *instructions)
			*instructions = r.book.counters.instructions;
		if (r.verdict == VERDICT_AC)
			continue;
		*out = (struct outcome){.fate = MUTANT_KILLED, .killer = r.spec->name, .verdict = r.verdict};
		snprintf(why, room, "%s", r.why);
		return 0;
	}
	*out = (struct outcome){.fate = MUTANT_SURVIVED, .verdict = VERDICT_AC};
	return 0;
}

/* What is in l->grading.compiled. */
static int run(struct lane *l, struct outcome *out, char *why, size_t room, uint64_t *instructions, struct err *e)
{
	enum verdict v = VERDICT_AC;
	*instructions = 0;
	if (runner_load_or_blame(&l->runner, &v, why, room, e) < 0) {
		if (e->kind != ERR_INPUT)
			return -1;
		snprintf(why, room, "%.900s", e->text);
		*out = (struct outcome){.fate = MUTANT_INVALID, .verdict = VERDICT_SE};
		*e = (struct err){0};
		return 0;
	}
	if (v == VERDICT_AC)
		return run_cases(l, out, why, room, instructions, e);
	*out = (struct outcome){.fate = MUTANT_KILLED, .verdict = v};
	return 0;
}

struct lane *lane_open(struct original *o)
{
	struct lane *l = calloc(1, sizeof *l);
	if (!l)
		BUG("out of memory");
	l->original = o;
	l->grading = (struct grading){.problem = &o->bench->problem, .name = o->name, .compiled = {.guest_fd = -1}};
	l->runner = (struct runner){.options = &o->bench->options, .device = o->bench->device_name, .grading = &l->grading};
	return l;
}

void lane_close(struct lane *l)
{
	if (!l)
		return;
	runner_close(&l->runner);
	free(l);
}

static bool recall(struct original *o, uint64_t device, uint64_t host, struct outcome *out)
{
	bool found = false;
	pthread_mutex_lock(&o->lock);
	for (struct known *k = o->known; k && !found; k = k->next) {
		found = k->device == device && k->host == host;
		if (found)
			*out = k->outcome;
	}
	pthread_mutex_unlock(&o->lock);
	return found;
}

static void remember(struct original *o, uint64_t device, uint64_t host, const struct outcome *outcome)
{
	pthread_mutex_lock(&o->lock);
	struct known *k = arena_alloc(o->arena, sizeof *k);
	*k = (struct known){device, host, *outcome, o->known};
	o->known = k;
	pthread_mutex_unlock(&o->lock);
}

/* The image in l->grading.compiled, if it isn't known. */
static int grade_program(struct lane *l, struct outcome *out, struct err *e)
{
	struct original *o = l->original;
	const struct compiled *c = &l->grading.compiled;
	uint64_t device = ptx_identity(c->ptx), host = c->guest_fd == o->compiled.guest_fd ? o->host : file_identity(c->guest_fd), instructions;
	char why[1000];
	if (device == o->device && host == o->host) {
		*out = (struct outcome){.fate = MUTANT_EQUIVALENT, .verdict = VERDICT_AC};
		return 0;
	}
	if (recall(o, device, host, out))
		return 0;
	int rc = run(l, out, why, sizeof why, &instructions, e);
	runner_close(&l->runner);
	if (rc == 0)
		remember(o, device, host, out);
	return rc;
}

int lane_grade(struct lane *l, const char *source, size_t size, bool device_only, struct outcome *out, struct err *e)
{
	struct original *o = l->original;
	CLEANUP(arena_freep) struct arena *a = arena_new();
	struct compiled *c = &l->grading.compiled;
	if (compile_for(o->bench, o->name, source, size, device_only, a, c, e) < 0)
		return -1;
	if (!c->ok) {
		*out = (struct outcome){.fate = MUTANT_INVALID, .verdict = VERDICT_CE};
		return 0;
	}
	if (device_only) {		/* the same kernels, with other bodies */
		c->guest_fd = o->compiled.guest_fd;
		c->kernels = o->compiled.kernels;
		c->n_kernels = o->compiled.n_kernels;
	}
	l->runner.arena = a;
	l->runner.deaths = 0;
	int rc = grade_program(l, out, e);
	if (device_only)
		c->guest_fd = -1;
	compiled_close(c);
	return rc;
}

/* ---- the original ---- */

static void limit(struct bench *b, uint64_t needed)
{
	uint64_t enough = FACTOR * needed > LEAST_INSTRUCTIONS ? FACTOR * needed : LEAST_INSTRUCTIONS;
	b->problem.instructions = enough < b->instructions ? enough : b->instructions;
}

static int grade_original(struct original *o, struct err *e)
{
	struct lane *l = lane_open(o);
	struct outcome out;
	uint64_t instructions;
	char why[1000] = "";
	CLEANUP(arena_freep) struct arena *a = arena_new();
	l->grading.compiled = o->compiled;
	l->runner.arena = a;
	int rc = run(l, &out, why, sizeof why, &instructions, e);
	lane_close(l);
	if (rc < 0)
		return -1;
	if (out.fate != MUTANT_SURVIVED)
		return err_input(e, "%s is not accepted to begin with (%s%s%s): %s", o->name, verdict_code(out.verdict), out.killer ? ", case " : "",
				 out.killer ? out.killer : "", why);
	limit(o->bench, instructions);
	return 0;
}

struct original *original_open(struct bench *b, const char *name, const char *source, size_t size, struct err *e)
{
	char refusal[200];
	if (submission_refusal(source, size, refusal, sizeof refusal)) {
		err_input(e, "%s: %s", name, refusal);
		return NULL;
	}
	struct original *o = calloc(1, sizeof *o);
	if (!o)
		BUG("out of memory");
	o->bench = b;
	o->arena = arena_new();
	o->name = arena_strdup(o->arena, name);
	o->compiled.guest_fd = -1;
	pthread_mutex_init(&o->lock, NULL);
	b->problem.instructions = b->instructions;
	if (compile_for(b, o->name, source, size, false, o->arena, &o->compiled, e) < 0)
		goto failed;
	if (!o->compiled.ok) {
		err_input(e, "%s does not compile: %s", name, o->compiled.why_not);
		goto failed;
	}
	o->device = ptx_identity(o->compiled.ptx);
	o->host = file_identity(o->compiled.guest_fd);
	if (grade_original(o, e) < 0)
		goto failed;
	return o;
failed:
	original_close(o);
	return NULL;
}

void original_close(struct original *o)
{
	if (!o)
		return;
	compiled_close(&o->compiled);
	pthread_mutex_destroy(&o->lock);
	arena_free(o->arena);
	free(o);
}
