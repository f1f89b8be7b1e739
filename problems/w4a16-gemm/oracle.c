/* w4a16-gemm: inputs by design, and y = x W^T in float64 from the stored integers and scales. */
#include "bound.h"
#include "design.h"
#include "element.h"
#include "format_int4.h"

#include <stdlib.h>

enum { GROUP = 128 };

static const struct int4_rule rule = {.group = GROUP, .scales = TYPE_F16, .zero_in_range = true};

static double *doubles(size_t n)
{
	double *p = malloc(n * sizeof *p);
	if (!p)
		abort();
	return p;
}

static double *load_activations(struct problem_case *c, size_t m, size_t k)
{
	double *x = doubles(m * k);
	element_load(problem_tensor(c, "x"), 0, m * k, x);
	return x;
}

void generate(struct problem_case *c)
{
	const struct design *d = design_of(c);
	const size_t m = (size_t)problem_param(c, "M"), n = (size_t)problem_param(c, "N"),
		     k = (size_t)problem_param(c, "K"), groups = k / GROUP;
	struct tensor *words = problem_tensor(c, "Wq"), *scales = problem_tensor(c, "scales"),
		      *zeros = problem_tensor(c, "zeros");
	double *w = doubles(k), *scale = doubles(groups), *zero = doubles(groups), *y = doubles(m * n);
	for (size_t row = 0; row < m; row++) {
		design_activations(d, &c->random, row, k, 255, w);
		element_store(problem_tensor(c, "x"), row * k, k, w);
	}
	const double *x = load_activations(c, m, k);
	for (size_t col = 0; col < n; col++) {
		if (design_int4_row(d, &rule, &c->random, col, k, (uint32_t *)words->data + col * (k / 8), scale, zero, w)) {
			for (size_t row = 0; row < m; row++)
				y[row * n + col] = bound_dot(w, w, x + row * k, k).y;
			c->package = y;
		}
		element_store(scales, col * groups, groups, scale);
		element_store(zeros, col * groups, groups, zero);
	}
}

void expect(struct problem_case *c)
{
	const struct bound_rule bound = {.out = TYPE_F16, .weights = TYPE_F16};
	const struct design *d = design_of(c);
	const size_t m = (size_t)problem_param(c, "M"), n = (size_t)problem_param(c, "N"),
		     k = (size_t)problem_param(c, "K"), groups = k / GROUP;
	const struct tensor *words = problem_tensor(c, "Wq"), *scales = problem_tensor(c, "scales"),
			    *zeros = problem_tensor(c, "zeros");
	struct tensor *y = problem_tensor(c, "y");
	double *x = load_activations(c, m, k), *sums = doubles(m * groups), *scale = doubles(groups),
	       *zero = doubles(groups), *w = doubles(k), *parts = doubles(k);
	for (size_t row = 0; row < m; row++)
		bound_group_sums(x + row * k, k, GROUP, sums + row * groups);
	for (size_t col = 0; col < n; col++) {
		element_load(scales, col * groups, groups, scale);
		element_load(zeros, col * groups, groups, zero);
		int4_expand_row((const uint32_t *)words->data + col * (k / 8), scale, zero, k, GROUP, w, parts);
		for (size_t row = 0; row < m; row++) {
			struct bound_terms t = bound_dot(w, parts, x + row * k, k);
			double *value = &y->expected[row * n + col], *limit = &y->bound[row * n + col];
			t.g2 = bound_group_term(scale, zero, sums + row * groups, groups);
			*value = t.y;
			*limit = bound_of(&bound, &t, k);
			if (d->exact)
				bound_exact(&bound, t.y, value, limit);
		}
	}
	if (c->package)
		c->quantization_error = quantization_error(c->package, y->expected, m * n);
}
