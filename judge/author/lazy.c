/* Outputs that take no work: see lazy.h.
 *
 * Every constant is tried at once: it would have to lie within the bounds of all elements of all cases, so one exists where the
 * highest lower end is not above the lowest upper end.
 */
#include "lazy.h"

#include "../check.h"
#include "../element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct lazy_output {			/* of one output tensor */
	double low, high;		/* constants that passed so far */
	bool by_value[PROBLEM_MAX_TENSORS], by_bytes[PROBLEM_MAX_TENSORS];	/* copies of input i that passed so far */
	bool previous;
	double *last;			/* expected values of the case before */
	uint64_t n_last;
};

struct lazy {
	const struct problem *problem;
	unsigned cases;
	struct lazy_output outputs[PROBLEM_MAX_TENSORS];
};

struct lazy *lazy_new(const struct problem *p)
{
	struct lazy *l = calloc(1, sizeof *l);
	if (!l)
		BUG("out of memory");
	l->problem = p;
	for (unsigned i = 0; i < p->n_arguments; i++) {
		struct lazy_output *o = &l->outputs[i];
		o->low = -INFINITY;
		o->high = INFINITY;
		o->previous = true;
		for (unsigned k = 0; k < p->n_arguments; k++)
			o->by_value[k] = o->by_bytes[k] = p->arguments[k].role == ROLE_INPUT;
	}
	return l;
}

void lazy_free(struct lazy **l)
{
	for (unsigned i = 0; *l && i < PROBLEM_MAX_TENSORS; i++)
		free((*l)->outputs[i].last);
	free(*l);
}

static void try_constants(struct lazy_output *o, const double *y, const double *bound, uint64_t n)
{
	for (uint64_t i = 0; i < n && o->low <= o->high; i++) {
		o->low = fmax(o->low, y[i] - bound[i]);
		o->high = fmin(o->high, y[i] + bound[i]);
	}
}

/* Element k of the output is element k of the input, which begins again at its end. */
static bool copies_values(enum element_type from, const void *data, uint64_t n_data, const double *y, const double *bound, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (check_ratio(element_value(from, data, i % n_data), y[i], bound[i]) > 1)
			return false;
	return true;
}

static bool is_previous(const struct lazy_output *o, const double *y, const double *bound, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (check_ratio(i < o->n_last ? o->last[i] : 0, y[i], bound[i]) > 1)
			return false;
	return true;
}

static void keep_last(struct lazy_output *o, const double *y, uint64_t n)
{
	o->last = reallocarray(o->last, n, sizeof *y);
	if (!o->last)
		BUG("out of memory");
	memcpy(o->last, y, n * sizeof *y);
	o->n_last = n;
}

static void try_output(struct lazy *l, unsigned i, const struct testcase *t, const struct answer *a)
{
	struct lazy_output *o = &l->outputs[i];
	const struct argument *arguments = l->problem->arguments;
	const double *y = a->tensors[i].expected, *bound = a->tensors[i].bound;
	uint64_t n = t->tensors[i].count;
	try_constants(o, y, bound, n);
	for (unsigned k = 0; k < l->problem->n_arguments; k++) {
		const struct testcase_tensor *x = &t->tensors[k];
		const void *data = a->tensors[k].data;
		if (o->by_value[k])
			o->by_value[k] = copies_values(arguments[k].type, data, x->count, y, bound, n);
		if (o->by_bytes[k])
			o->by_bytes[k] = x->bytes >= t->tensors[i].bytes && copies_values(arguments[i].type, data, n, y, bound, n);
	}
	if (o->previous)
		o->previous = is_previous(o, y, bound, n);
	if (o->previous)
		keep_last(o, y, n);
}

void lazy_try(struct lazy *l, const struct testcase *t, const struct answer *a)
{
	l->cases++;
	for (unsigned i = 0; i < l->problem->n_arguments; i++)
		if (l->problem->arguments[i].role == ROLE_OUTPUT)
			try_output(l, i, t, a);
}

static void tell_output(const struct lazy *l, unsigned i, struct findings *f)
{
	static const char mend[] = "add a hidden case whose outputs differ from it, or narrow the bound";
	const struct lazy_output *o = &l->outputs[i];
	const char *name = l->problem->arguments[i].name;
	if (o->low <= 0 && o->high >= 0)
		finding_add(f, "problem.json", 0, "cases", "an output %s of zeros is right in all %u cases: %s", name, l->cases, mend);
	else if (o->low <= o->high)
		finding_add(f, "problem.json", 0, "cases", "an output %s that is %.6g everywhere is right in all %u cases: %s", name,
			    (o->low + o->high) / 2, l->cases, mend);
	for (unsigned k = 0; k < l->problem->n_arguments; k++)
		if (o->by_value[k] || o->by_bytes[k])
			finding_add(f, "problem.json", 0, "cases", "a copy of %s as %s is right in all %u cases: %s", l->problem->arguments[k].name,
				    name, l->cases, mend);
	if (o->previous && !(o->low <= o->high))
		finding_add(f, "problem.json", 0, "cases", "what the case before had as %s is right in all %u cases: %s", name, l->cases, mend);
}

void lazy_tell(const struct lazy *l, struct findings *f)
{
	for (unsigned i = 0; l->cases && i < l->problem->n_arguments; i++)
		if (l->problem->arguments[i].role == ROLE_OUTPUT)
			tell_output(l, i, f);
}
