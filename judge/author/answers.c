/* The answers of a package's cases: see answers.h. */
#include "answers.h"

#include "../../sandbox/base/cleanup.h"
#include "lazy.h"
#include "rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DRAWS = 64 };			/* combinations of a case's sizes that its oracle is run on */

int answers_open(struct answers *a, const struct problem *p, const struct secret *s, unsigned threads, bool unsandboxed, struct err *e)
{
	size_t bytes = 0;
	*a = (struct answers){.problem = p, .secret = *s, .unsandboxed = unsandboxed};
	a->cases = calloc(p->n_cases, sizeof *a->cases);
	if (!a->cases)
		BUG("out of memory");
	for (unsigned i = 0; i < p->n_cases; i++) {
		if (testcase_make(p, &p->cases[i], s, "local", &a->cases[i], e) < 0)
			return -1;
		a->cases[i].oracle_ms = ANSWERS_ORACLE_MS;
		if (!p->cases[i].gpu)
			bytes += answer_size(&a->cases[i]);
	}
	a->shared = bytes < ORACLE_POOL_HELD / 2;
	a->pool = oracle_pool_start(p, a->cases, p->n_cases, threads, unsandboxed);
	return 0;
}

void answers_close(struct answers *a)
{
	oracle_pool_stop(a->pool);
	free(a->cases);
	*a = (struct answers){0};
}

/* ---- what is wrong with an oracle ---- */

/* "problem x: oracle.c does not compile (exited): /package/oracle.c:8:2: error: ..." is told with its line. */
static void say_compile(const char *text, struct findings *f)
{
	const char *at = strstr(text, "error:"), *line = at;
	int number = 0;
	while (line && line > text && line[-1] != '\n' && strncmp(line, "oracle.c:", 9) != 0)
		line--;
	if (line && sscanf(line, "oracle.c:%d", &number) != 1)
		number = 0;
	const char *why = at ? at + 7 : text;
	finding_add(f, "oracle.c", number, NULL, "does not compile: %.*s", (int)strcspn(why, "\n"), why);
}

static void say_failed(const struct err *e, struct findings *f)
{
	const char *text = strstr(e->text, ", case \"");
	if (strstr(e->text, "oracle.c does not compile"))
		say_compile(e->text, f);
	else
		finding_add(f, "oracle.c", 0, NULL, "%s", text ? text + 2 : e->text);
}

static void case_text(const struct testcase *t, char *out, size_t size)
{
	char sizes[200];
	sizes_text(&t->sizes, sizes, sizeof sizes);
	snprintf(out, size, "case \"%s\" (%s)", t->spec->name, sizes);
}

/* ---- bounds ---- */

static double largest(const double *y, uint64_t n)
{
	double most = 0;
	for (uint64_t i = 0; i < n; i++)
		most = fmax(most, fabs(y[i]));
	return most;
}

/* Where every element may be 0 though not all are, the case tells right from wrong no more; nor does an element whose bound is
 * wider than any output of its tensor, which few others should share. */
static bool check_bounds(const struct testcase *t, unsigned i, const double *y, const double *bound, struct findings *f)
{
	const char *name = t->problem->arguments[i].name;
	uint64_t n = t->tensors[i].count, zeros = 0, wide = 0, first = n;
	double most = largest(y, n);
	char what[300];
	for (uint64_t k = 0; k < n; k++) {
		zeros += fabs(y[k]) <= bound[k];
		if (bound[k] >= most) {
			wide++;
			first = first == n ? k : first;
		}
	}
	case_text(t, what, sizeof what);
	if (most == 0 || (zeros < n && !wide))
		return true;
	if (zeros == n)
		finding_add(f, "oracle.c", 0, NULL, "%s: its bounds let zeros pass for all of %s, whose largest value is %.3g: the bound must be far below the values it is for (%s[0] = %.3g, bound %.3g)",
			    what, name, most, name, y[0], bound[0]);
	else if (n >= 8)
		finding_add(f, "oracle.c", 0, NULL, "%s: the bound of %s[%llu] is %.3g, and no element of %s is larger than %.3g: anything passes there%s",
			    what, name, (unsigned long long)first, bound[first], name, most, wide > 1 ? ", and in other places" : "");
	else
		return true;
	return false;
}

static bool check_case(const struct testcase *t, const struct answer *a, struct findings *f)
{
	bool good = true;
	for (unsigned i = 0; i < t->problem->n_arguments && good; i++)
		if (t->problem->arguments[i].role == ROLE_OUTPUT)
			good = check_bounds(t, i, a->tensors[i].expected, a->tensors[i].bound, f);
	return good;
}

/* ---- the same again ---- */

static const char *difference(const struct testcase *t, const struct answer *a, const struct answer *b)
{
	const struct problem *p = t->problem;
	for (unsigned i = 0; i < p->n_arguments; i++) {
		const struct testcase_tensor *x = &t->tensors[i];
		if (p->arguments[i].role == ROLE_INPUT && memcmp(a->tensors[i].data, b->tensors[i].data, x->bytes) != 0)
			return p->arguments[i].name;
		if (p->arguments[i].role == ROLE_OUTPUT &&
		    (memcmp(a->tensors[i].expected, b->tensors[i].expected, x->count * sizeof(double)) != 0 ||
		     memcmp(a->tensors[i].bound, b->tensors[i].bound, x->count * sizeof(double)) != 0))
			return p->arguments[i].name;
	}
	return NULL;
}

/* A second run, and of timing cases, whose inputs change while they are timed, expect() alone. */
static bool check_again(const struct answers *a, int oracle, const struct testcase *t, const struct answer *first, struct findings *f)
{
	struct answer second;
	struct err e = {0};
	char what[300];
	case_text(t, what, sizeof what);
	if (oracle_run(oracle, t, a->unsandboxed, &second, &e) < 0) {
		say_failed(&e, f);
		return false;
	}
	const char *name = difference(t, first, &second);
	if (name)
		finding_add(f, "oracle.c", 0, NULL, "%s: two runs with one seed gave different numbers for %s: everything random must come from the case's own c->random, and no memory be read before it is set",
			    what, name);
	if (!name && t->spec->timing) {
		if (oracle_again(oracle, t, a->unsandboxed, &second, &e) < 0)
			say_failed(&e, f);
		else if ((name = difference(t, first, &second)))
			finding_add(f, "oracle.c", 0, NULL, "%s: expect() without generate(), on the same inputs, gave different numbers for %s: it must use nothing but the tensors",
				    what, name);
		if (e.kind != ERR_NONE)
			name = "";
	}
	answer_free(&second);
	return !name;
}

/* ---- all of them ---- */

void answers_check(struct answers *a, bool twice, struct findings *f)
{
	const struct problem *p = a->problem;
	struct err e = {0};
	CLEANUP_FD int oracle = oracle_open(p, a->unsandboxed, &e);
	CLEANUP(lazy_free) struct lazy *lazy = lazy_new(p);
	unsigned last = p->n_cases;	/* the case before, which the next is compared with */
	if (oracle < 0) {
		say_failed(&e, f);
		return;
	}
	for (unsigned i = 0; i < p->n_cases; i++) {
		const struct answer *answer;
		if (p->cases[i].gpu)
			continue;
		if (oracle_pool_get(a->pool, i, &answer, &e) < 0) {
			say_failed(&e, f);
			return;
		}
		lazy_try(lazy, &a->cases[i], answer);
		if (!check_case(&a->cases[i], answer, f) || (twice && !check_again(a, oracle, &a->cases[i], answer, f)))
			return;
		if (!a->shared && last < p->n_cases)
			oracle_pool_release(a->pool, last);
		last = i;
	}
	lazy_tell(lazy, f);
}

/* How far apart the combinations are that are tried. */
static unsigned stride_of(const struct case_spec *c)
{
	struct sizes sizes;
	unsigned n = 0;
	while (rules_draw(c, n, &sizes))
		n++;
	return (n + DRAWS - 1) / DRAWS;
}

unsigned answers_check_sizes(const struct answers *a, unsigned threads, struct findings *f)
{
	const struct problem *p = a->problem;
	CLEANUP_FREE struct testcase *cases = calloc((size_t)p->n_cases * DRAWS, sizeof *cases);
	struct err e = {0};
	unsigned n = 0;
	if (!cases)
		BUG("out of memory");
	for (unsigned i = 0; i < p->n_cases; i++) {
		struct sizes sizes;
		if (p->cases[i].visible || p->cases[i].timing)
			continue;
		for (unsigned k = 0, step = stride_of(&p->cases[i]); rules_draw(&p->cases[i], k, &sizes); k += step, n++) {
			if (testcase_make_sized(p, &p->cases[i], &sizes, &a->secret, "sizes", &cases[n], &e) < 0)
				BUG("%s", e.text);		/* rules_check has tried them */
			cases[n].oracle_ms = ANSWERS_ORACLE_MS;
		}
	}
	struct oracle_pool *pool = oracle_pool_start(p, cases, n, threads, a->unsandboxed);
	bool good = true;
	for (unsigned i = 0; i < n && good; i++) {
		const struct answer *answer;
		if (oracle_pool_get(pool, i, &answer, &e) < 0) {
			say_failed(&e, f);
			break;
		}
		good = check_case(&cases[i], answer, f);
		oracle_pool_release(pool, i);
	}
	oracle_pool_stop(pool);
	return n;
}
