/* w8a16-gemv: inputs by design, and y = s (W_q x) in float64 from the stored integers and scales. */
#include "bound.h"
#include "design.h"
#include "element.h"
#include "format_int8.h"

#include <stdlib.h>

enum { OVERFLOW_PEAK = 63 };		/* 2048 x 127 x 63 < 2^24 */

static double *doubles(size_t n)
{
	double *p = malloc(n * sizeof *p);
	if (!p)
		abort();
	return p;
}

void generate(struct problem_case *c)
{
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	struct tensor *codes = problem_tensor(c, "Wq"), *scales = problem_tensor(c, "scales"),
		      *activations = problem_tensor(c, "x");
	double *x = doubles(k), *w = doubles(k), *y = doubles(n);
	design_activations(d, &c->random, 0, k, OVERFLOW_PEAK, x);
	element_store(activations, 0, k, x);
	element_load(activations, 0, k, x);
	for (size_t row = 0; row < n; row++) {
		double scale;
		if (design_int8_row(d, &c->random, row, k, (int8_t *)codes->data + row * k, &scale, w)) {
			y[row] = bound_dot(w, w, x, k).y;
			c->package = y;
		}
		element_store(scales, row, 1, &scale);
	}
}

void expect(struct problem_case *c)
{
	const struct bound_rule bound = {.out = TYPE_F16, .weights = TYPE_F32};
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	const struct tensor *codes = problem_tensor(c, "Wq"), *scales = problem_tensor(c, "scales");
	struct tensor *y = problem_tensor(c, "y");
	double *x = doubles(k), *w = doubles(k), scale;
	element_load(problem_tensor(c, "x"), 0, k, x);
	for (size_t row = 0; row < n; row++) {
		element_load(scales, row, 1, &scale);
		int8_expand_row((const int8_t *)codes->data + row * k, scale, k, w);
		struct bound_terms t = bound_dot(w, w, x, k);
		y->expected[row] = t.y;
		y->bound[row] = bound_of(&bound, &t, k);
		if (d->exact)
			bound_exact(&bound, t.y, &y->expected[row], &y->bound[row]);
	}
	if (c->package)
		c->quantization_error = quantization_error(c->package, y->expected, n);
}
