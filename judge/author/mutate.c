/* Mutation testing: see mutate.h. */
#include "mutate.h"

#include "../../sandbox/base/arena.h"
#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/clock.h"
#include "../../sandbox/base/cores.h"
#include "../../sandbox/base/crew.h"
#include "../progress.h"
#include "../submission.h"
#include "mutant.h"
#include "mutate_grade.h"
#include "mutate_survivors.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ERRORS = 64 };

struct file {				/* a solution that is mutated */
	const char *path, *name;	/* name: within the package */
	struct buf source;
	struct mutants mutants;
	const char **shown;		/* of each mutant */
	unsigned first, n;		/* of its mutants that are graded: their place among all */
};

struct job {				/* a mutant that is graded */
	const struct file *file;
	const struct mutant *mutant;
	struct mutation *out;
};

struct run {
	const struct mutate_options *o;
	struct mutate_report *r;
	struct arena *arena;
	struct file *files;
	unsigned n_files;
	struct job *jobs;
	unsigned n_jobs;
	struct survivors survivors;
	struct bench *bench;
};

/* ---- the files ---- */

/* Names that begin with `prefix`, the first in order; NULL: none. */
static const char *first_file(const char *folder, const char *prefix, struct arena *a)
{
	char *best = NULL;
	DIR *d = opendir(folder);
	for (struct dirent *f; d && (f = readdir(d));) {
		size_t n = strlen(f->d_name);
		bool fits = n > 3 && !strcmp(f->d_name + n - 3, ".cu") && !strncmp(f->d_name, prefix, strlen(prefix));
		if (fits && (!best || strcmp(f->d_name, best) < 0))
			best = arena_strdup(a, f->d_name);
	}
	if (d)
		closedir(d);
	return best;
}

static int standard_files(struct run *w, const char ***out, struct err *e)
{
	const struct problem *p = w->o->problem;
	const char *accepted = arena_printf(w->arena, "%s/submissions/accepted", p->folder);
	const char *textbook = first_file(accepted, "step1", w->arena);
	if (!textbook)
		textbook = first_file(accepted, "", w->arena);
	if (!textbook)
		return err_input(e, "problem %s has no submissions/accepted/*.cu to mutate", p->id);
	const char **paths = arena_new_array(w->arena, const char *, 2);
	paths[0] = arena_printf(w->arena, "%s/reference.cu", p->folder);
	paths[1] = arena_printf(w->arena, "%s/%s", accepted, textbook);
	*out = paths;
	return 2;
}

/* The path within the package, if it lies there. */
static const char *name_of(const struct problem *p, const char *path)
{
	size_t n = strlen(p->folder);
	if (!strncmp(path, p->folder, n) && path[n] == '/')
		return path + n + 1;
	const char *submissions = strstr(path, "submissions/");
	return submissions ? submissions : submission_name(path);
}

static int read_files(struct run *w, struct err *e)
{
	const char *const *paths = w->o->files;
	const char **standard = NULL;
	int n = w->o->n_files ? (int)w->o->n_files : standard_files(w, &standard, e);
	if (n < 0)
		return -1;
	if (standard)
		paths = standard;
	w->files = arena_new_array(w->arena, struct file, n);
	const char **names = arena_new_array(w->arena, const char *, n);
	for (int i = 0; i < n; i++) {
		struct file *f = &w->files[w->n_files++];
		f->path = paths[i];
		f->name = names[i] = arena_strdup(w->arena, name_of(w->o->problem, paths[i]));
		if (submission_read(f->path, &f->source, e) < 0)
			return -1;
		mutants_of(buf_str(&f->source), f->source.size, w->arena, &f->mutants);
	}
	w->r->files = names;
	w->r->n_files = (unsigned)n;
	return 0;
}

/* ---- which mutants ---- */

static uint64_t scrambled(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/* Is this one of the `most` that a fixed seed draws?  Each has a number of its own, and the smallest are taken. */
static bool drawn(unsigned i, unsigned n, unsigned most)
{
	unsigned below = 0;
	uint64_t mine = scrambled(0x9e3779b97f4a7c15 * (i + 1));
	for (unsigned k = 0; k < n && below < most; k++)
		below += scrambled(0x9e3779b97f4a7c15 * (k + 1)) < mine;
	return below < most;
}

static void show_all(struct run *w, struct file *f)
{
	f->shown = arena_new_array(w->arena, const char *, f->mutants.n + 1);
	for (unsigned k = 0; k < f->mutants.n; k++)
		f->shown[k] = mutant_shown(&f->mutants, &f->mutants.list[k], w->arena);
}

/* Of two loops with one header a mistake in the first may be none in the second: they must have names. */
static const char *numbered(struct run *w, const struct file *f, unsigned k)
{
	const struct mutant *list = f->mutants.list;
	unsigned before = 0, alike = 0;
	for (unsigned i = 0; i < f->mutants.n; i++)
		if (list[i].function == list[k].function && !strcmp(f->shown[i], f->shown[k])) {
			alike++;
			before += i < k;
		}
	return alike > 1 ? arena_printf(w->arena, "%s (%u of %u)", f->shown[k], before + 1, alike) : NULL;
}

static void describe(struct run *w, const struct file *f, unsigned k, struct mutation *out)
{
	const struct mutants *all = &f->mutants;
	const struct mutant *m = &all->list[k];
	*out = (struct mutation){
		.file = f->name, .line = m->line, .operator = mutant_operator_name(m->operator), .function = all->source.functions[m->function].name,
		.old = mutant_old(all, m), .new = m->text, .shown = f->shown[k], .numbered = numbered(w, f, k), .missing = mutant_missing(all, m),
		.fate = MUTANT_INVALID,
	};
}

/* Every mutant is held against survivors.txt, also those that are not drawn: that one exists needs no grading. */
static void choose(struct run *w)
{
	unsigned n = 0, at = 0, most = w->o->most;
	for (unsigned i = 0; i < w->n_files; i++)
		n += w->files[i].mutants.n;
	struct mutation *mutations = arena_new_array(w->arena, struct mutation, n + 1);
	w->jobs = arena_new_array(w->arena, struct job, n + 1);
	for (unsigned i = 0; i < w->n_files; i++) {
		struct file *f = &w->files[i];
		f->first = w->n_jobs;
		show_all(w, f);
		for (unsigned k = 0; k < f->mutants.n; k++, at++) {
			struct mutation *m = &mutations[w->n_jobs];
			describe(w, f, k, m);
			struct declared *d = survivors_find(&w->survivors, m);
			if (d)
				d->matched++;
			if (!most || most >= n || drawn(at, n, most))
				w->jobs[w->n_jobs++] = (struct job){f, &f->mutants.list[k], m};
		}
		f->n = w->n_jobs - f->first;
	}
	w->r->mutants = mutations;
	w->r->n_mutants = w->n_jobs;
	w->r->n_possible = n;
}

/* ---- grading ---- */

struct grading_file {			/* one file's mutants */
	struct run *w;
	struct original *original;
	struct job *jobs;
	pthread_mutex_t telling;
};

static int grade_one(struct lane *l, const struct job *j, struct err *e)
{
	CLEANUP_BUF struct buf source = {0};
	struct outcome out;
	mutant_apply(&j->file->mutants, j->mutant, &source);
	if (lane_grade(l, buf_str(&source), source.size, mutant_of_device(&j->file->mutants, j->mutant), &out, e) < 0)
		return err_wrap(e, "%s:%d: %s", j->out->file, j->out->line, j->out->shown);
	j->out->fate = out.fate;
	j->out->killer = out.killer;
	j->out->verdict = out.fate == MUTANT_KILLED ? verdict_code(out.verdict) : NULL;
	return 0;
}

static void *begin_lane(void *context)
{
	struct grading_file *g = context;
	return lane_open(g->original);
}

static void end_lane(void *lane)
{
	lane_close(lane);
}

static int grade_job(void *context, void *lane, unsigned i, struct err *e)
{
	struct grading_file *g = context;
	int rc = grade_one(lane, &g->jobs[i], e);
	pthread_mutex_lock(&g->telling);
	progress_step(g->w->o->progress, g->jobs[i].out->operator);
	pthread_mutex_unlock(&g->telling);
	return rc;
}

static int grade_file(struct run *w, struct file *f, struct err *e)
{
	unsigned killed = 0, survived = 0;
	progress_stage(w->o->progress, f->name, f->n);
	struct original *original = original_open(w->bench, submission_name(f->name), buf_str(&f->source), f->source.size, e);
	if (!original)
		return -1;
	struct grading_file g = {w, original, w->jobs + f->first, PTHREAD_MUTEX_INITIALIZER};
	int rc = crew_run(&(struct crew_work){.n = f->n, .threads = w->o->threads ? w->o->threads : host_cores(), .part = grade_job, .begin = begin_lane,
					      .end = end_lane, .context = &g}, e);
	original_close(original);
	if (rc < 0)
		return -1;
	for (unsigned i = f->first; i < f->first + f->n; i++) {
		killed += w->jobs[i].out->fate == MUTANT_KILLED;
		survived += w->jobs[i].out->fate == MUTANT_SURVIVED;
	}
	progress_result(w->o->progress, "%u killed, %u survived", killed, survived);
	return 0;
}

/* ---- the report ---- */

static void complain_of(struct run *w, const char *text)
{
	const char **errors = (const char **)w->r->errors;
	if (w->r->n_errors < MAX_ERRORS)
		errors[w->r->n_errors++] = text;
}

static void hold_against_declared(struct run *w)
{
	for (unsigned i = 0; i < w->n_jobs; i++) {
		struct mutation *m = w->jobs[i].out;
		struct declared *d = survivors_find(&w->survivors, m);
		if (!d)
			continue;
		m->reason = d->reason;
		d->survived += m->fate == MUTANT_SURVIVED;
		d->killed += m->fate == MUTANT_KILLED;
		if (m->fate == MUTANT_SURVIVED)
			m->fate = MUTANT_DECLARED;
		else if (m->fate == MUTANT_KILLED)
			complain_of(w, arena_printf(w->arena, "survivors.txt: line %d: a mutant that it names is killed, by case %s (%s): %s: %s: %s", d->line,
						    m->killer ? m->killer : "none", m->verdict, submission_name(m->file), m->function,
						    m->numbered ? m->numbered : m->shown));
	}
}

/* A declaration of a file that was not mutated this time is not judged. */
static void check_declared(struct run *w)
{
	bool all = w->r->n_mutants == w->r->n_possible;
	for (unsigned i = 0; i < w->survivors.n; i++) {
		const struct declared *d = &w->survivors.list[i];
		bool here = false;
		for (unsigned f = 0; f < w->n_files; f++)
			here |= !strcmp(submission_name(w->files[f].name), d->file);
		if (here && !d->matched)
			complain_of(w, arena_printf(w->arena, "survivors.txt: line %d: no such mutant is made: remove it, or write it as the report does", d->line));
		else if (here && all && !d->survived && !d->killed)
			complain_of(w, arena_printf(w->arena, "survivors.txt: line %d: nothing that it names survives: remove it", d->line));
	}
}

static void count(struct run *w)
{
	struct mutate_count *operators = arena_new_array(w->arena, struct mutate_count, MUTANT_OPERATORS);
	for (int o = 0; o < MUTANT_OPERATORS; o++)
		operators[o].name = mutant_operator_name((enum mutant_operator)o);
	w->r->all.name = "all";
	for (unsigned i = 0; i < w->n_jobs; i++) {
		struct mutate_count *c = &operators[w->jobs[i].mutant->operator];
		c->made++;
		c->fates[w->jobs[i].out->fate]++;
		w->r->all.made++;
		w->r->all.fates[w->jobs[i].out->fate]++;
	}
	unsigned n = 0;
	for (int o = 0; o < MUTANT_OPERATORS; o++)
		if (operators[o].made)
			operators[n++] = operators[o];
	w->r->operators = operators;
	w->r->n_operators = n;
}

static void conclude(struct run *w)
{
	struct mutate_report *r = w->r;
	r->errors = arena_new_array(w->arena, const char *, MAX_ERRORS);
	hold_against_declared(w);
	check_declared(w);
	count(w);
	unsigned killed = r->all.fates[MUTANT_KILLED], counted = killed + r->all.fates[MUTANT_SURVIVED];
	r->score = counted ? (double)killed / counted : 1;
	r->least = w->o->least > 0 ? w->o->least : MUTATE_LEAST;
	r->passed = r->score >= r->least && !r->n_errors;
}

static int run_all(struct run *w, struct err *e)
{
	if (survivors_read(w->o->problem, w->arena, &w->survivors, e) < 0 || read_files(w, e) < 0)
		return -1;
	choose(w);
	progress_stage(w->o->progress, "hidden cases", 0);
	w->bench = bench_open(w->o, e);
	if (!w->bench)
		return -1;
	w->r->seed = arena_strdup(w->arena, bench_seed(w->bench));
	for (unsigned i = 0; i < w->n_files; i++)
		if (grade_file(w, &w->files[i], e) < 0)
			return -1;
	conclude(w);
	return 0;
}

int mutate(const struct mutate_options *o, struct mutate_report *out, struct err *e)
{
	double began = clock_seconds();
	*out = (struct mutate_report){.arena = arena_new(), .problem = o->problem};
	struct run w = {.o = o, .r = out, .arena = out->arena};
	int rc = run_all(&w, e);
	bench_close(w.bench);
	for (unsigned i = 0; i < w.n_files; i++)
		buf_free(&w.files[i].source);
	out->seconds = clock_seconds() - began;
	if (rc < 0)
		mutate_free(out);
	return rc;
}

void mutate_free(struct mutate_report *r)
{
	arena_free(r->arena);
	*r = (struct mutate_report){0};
}
