/* row-scale: y = s q + b, a row at a time, in float64 from the stored numbers.
 *
 * generate() fills the inputs of a case, expect() says what the outputs should be, and how far off a right kernel may be.  Both
 * get everything from the case: its sizes, its data keyword, its random numbers.  No libm but sqrt, fabs, rint, ldexp.
 */
#include "bound.h"
#include "design.h"
#include "element.h"

#include <stdlib.h>

static double *doubles(size_t n)
{
	double *p = malloc(n * sizeof *p);
	if (!p)
		abort();
	return p;
}

/* CHANGE: the inputs.  design.h makes rows and activations for the data keywords that problems share (a keyword that it does not
 * know ends the oracle with a message); random_fork(&c->random, NUMBER) is a stream of your own. */
void generate(struct problem_case *c)
{
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	struct tensor *q = problem_tensor(c, "q"), *scales = problem_tensor(c, "scales"), *bias = problem_tensor(c, "bias");
	struct random random = random_fork(&c->random, 1000000);
	double *w = doubles(k), scale;
	for (size_t row = 0; row < n; row++) {
		design_int8_row(d, &c->random, row, k, (int8_t *)q->data + row * k, &scale, w);
		element_store(scales, row, 1, &scale);
		/* as large as the row's products, so that a bias of another row is seen; whole numbers where sums are to be exact */
		double b = d->exact ? (double)random_below(&random, 64) - 32 : 64 * scale * random_normal(&random);
		element_store(bias, row, 1, &b);
	}
}

/* CHANGE: the right outputs.  They are made of the tensors as they are stored, never of numbers kept from generate(). */
void expect(struct problem_case *c)
{
	/* out: the type of y; weights: the type that the statement allows products to be rounded to */
	const struct bound_rule rule = {.out = TYPE_F16, .weights = TYPE_F32};
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	const int8_t *q = problem_tensor(c, "q")->data;
	struct tensor *y = problem_tensor(c, "y");
	const double ones[2] = {1, 1};
	double scale, bias;
	for (size_t i = 0; i < n * k; i++) {
		element_load(problem_tensor(c, "scales"), i / k, 1, &scale);
		element_load(problem_tensor(c, "bias"), i / k, 1, &bias);
		/* the bound comes of the sizes of the terms: here two, s q and b */
		const double terms[2] = {scale * q[i], bias};
		struct bound_terms t = bound_dot(terms, terms, ones, 2);
		y->expected[i] = t.y;
		y->bound[i] = bound_of(&rule, &t, 2);
		if (d->exact)		/* nothing rounds but y: the very bits are asked for */
			bound_exact(&rule, t.y, &y->expected[i], &y->bound[i]);
	}
}
