/* awq-gemv: inputs by design, and y = x W^T in float64 from the stored integers and scales. */
#include "bound.h"
#include "design.h"
#include "element.h"
#include "format_awq.h"
#include "format_int4.h"

#include <math.h>
#include <stdlib.h>

static void *room(size_t count, size_t size)
{
	void *p = calloc(count, size);
	if (!p)
		abort();
	return p;
}

static double *doubles(size_t n)
{
	return room(n, sizeof(double));
}

static double *load_activations(struct problem_case *c, size_t k)
{
	double *x = doubles(k);
	element_load(problem_tensor(c, "x"), 0, k, x);
	return x;
}

/* Rows are designed along k, as other INT4 problems have them, and turned when they are packed. */
void generate(struct problem_case *c)
{
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K"),
		     group = (size_t)problem_param(c, "G"), groups = k / group;
	const struct int4_rule rule = {.group = group, .scales = TYPE_F16, .zero_in_range = true};
	struct tensor *scales = problem_tensor(c, "scales");
	uint8_t *q = room(n, k), *z = room(n, groups);
	uint32_t *words = room(k / 8, sizeof *words);
	double *w = doubles(k), *scale = doubles(groups), *zero = doubles(groups), *y = doubles(n);
	design_activations(d, &c->random, 0, k, 255, w);
	element_store(problem_tensor(c, "x"), 0, k, w);
	const double *x = load_activations(c, k);
	for (size_t row = 0; row < n; row++) {
		if (design_int4_row(d, &rule, &c->random, row, k, words, scale, zero, w)) {
			y[row] = bound_dot(w, w, x, k).y;
			c->package = y;
		}
		int4_unpack_row(words, k, q + row * k);
		for (size_t g = 0; g < groups; g++) {
			z[row * groups + g] = (uint8_t)zero[g];
			element_store(scales, g * n + row, 1, &scale[g]);
		}
	}
	awq_pack(q, n, k, problem_tensor(c, "qweight")->data);
	awq_pack(z, n, groups, problem_tensor(c, "qzeros")->data);
}

/* The weights of a row, the sizes of their parts, and the scale and zero point of each of its groups. */
struct row {
	double *w, *parts, *scale, *zero;
};

static void expand(const struct row *r, const uint8_t *q, const uint8_t *z, size_t group, size_t groups)
{
	for (size_t g = 0; g < groups; g++) {
		const double s = r->scale[g], zero = r->zero[g] = z[g], size = fabs(s);
		for (size_t i = g * group; i < (g + 1) * group; i++) {
			r->w[i] = (q[i] - zero) * s;
			r->parts[i] = (q[i] + zero) * size;
		}
	}
}

void expect(struct problem_case *c)
{
	const struct bound_rule bound = {.out = TYPE_F16, .weights = TYPE_F16};
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K"),
		     group = (size_t)problem_param(c, "G"), groups = k / group;
	const struct tensor *scales = problem_tensor(c, "scales");
	struct tensor *y = problem_tensor(c, "y");
	const struct row r = {doubles(k), doubles(k), doubles(groups), doubles(groups)};
	uint8_t *q = room(n, k), *z = room(n, groups);
	const double *x = load_activations(c, k);
	double *sums = doubles(groups);
	awq_unpack(problem_tensor(c, "qweight")->data, n, k, q);
	awq_unpack(problem_tensor(c, "qzeros")->data, n, groups, z);
	bound_group_sums(x, k, group, sums);
	for (size_t row = 0; row < n; row++) {
		for (size_t g = 0; g < groups; g++)
			element_load(scales, g * n + row, 1, &r.scale[g]);
		expand(&r, q + row * k, z + row * groups, group, groups);
		struct bound_terms t = bound_dot(r.w, r.parts, x, k);
		t.g2 = bound_group_term(r.scale, r.zero, sums, groups);
		y->expected[row] = t.y;
		y->bound[row] = bound_of(&bound, &t, k);
		if (d->exact)
			bound_exact(&bound, t.y, &y->expected[row], &y->bound[row]);
	}
	if (c->package)
		c->quantization_error = quantization_error(c->package, y->expected, n);
}
