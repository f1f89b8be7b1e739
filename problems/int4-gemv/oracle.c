/* int4-gemv: inputs by design, and y = x W^T in float64 from the stored integers and scales. */
#include "bound.h"
#include "design.h"
#include "element.h"
#include "format_int4.h"

#include <stdlib.h>

enum { GROUP = 128 };

static const struct int4_rule rule = {.group = GROUP, .scales = TYPE_F32};

static double *doubles(size_t n)
{
	double *p = malloc((n ? n : 1) * sizeof *p);
	if (!p)
		abort();
	return p;
}

void generate(struct problem_case *c)
{
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K"), groups = k / GROUP;
	struct tensor *words = problem_tensor(c, "Wq"), *scales = problem_tensor(c, "scales"),
		      *zeros = problem_tensor(c, "zeros"), *activations = problem_tensor(c, "x");
	double *x = doubles(k), *w = doubles(k), *scale = doubles(groups), *zero = doubles(groups), *y = doubles(n);
	design_activations(d, &c->random, 0, k, 255, x);
	element_store(activations, 0, k, x);
	element_load(activations, 0, k, x);
	for (size_t row = 0; row < n; row++) {
		if (design_int4_row(d, &rule, &c->random, row, k, (uint32_t *)words->data + row * (k / 8), scale, zero, w)) {
			y[row] = bound_dot(w, w, x, k).y;
			c->package = y;
		}
		element_store(scales, row * groups, groups, scale);
		element_store(zeros, row * groups, groups, zero);
	}
}

void expect(struct problem_case *c)
{
	const struct bound_rule bound = {.out = TYPE_F32, .weights = TYPE_F32};
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K"), groups = k / GROUP;
	const struct tensor *words = problem_tensor(c, "Wq"), *scales = problem_tensor(c, "scales"),
			    *zeros = problem_tensor(c, "zeros");
	struct tensor *y = problem_tensor(c, "y");
	double *x = doubles(k), *sums = doubles(groups), *scale = doubles(groups), *zero = doubles(groups),
	       *w = doubles(k), *parts = doubles(k);
	element_load(problem_tensor(c, "x"), 0, k, x);
	bound_group_sums(x, k, GROUP, sums);
	for (size_t row = 0; row < n; row++) {
		element_load(scales, row * groups, groups, scale);
		element_load(zeros, row * groups, groups, zero);
		int4_expand_row((const uint32_t *)words->data + row * (k / 8), scale, zero, k, GROUP, w, parts);
		struct bound_terms t = bound_dot(w, parts, x, k);
		t.g2 = bound_group_term(scale, zero, sums, groups);
		y->expected[row] = t.y;
		y->bound[row] = bound_of(&bound, &t, k);
		if (d->exact)
			bound_exact(&bound, t.y, &y->expected[row], &y->bound[row]);
	}
	if (c->package)
		c->quantization_error = quantization_error(c->package, y->expected, n);
}
