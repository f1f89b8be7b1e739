/* three-step-vs-fused: inputs by design, and y = x W^T + bias + residual in float64 from the stored integers and scales. */
#include "bound.h"
#include "design.h"
#include "element.h"
#include "format_int4.h"

#include <math.h>
#include <stdlib.h>

enum { GROUP = 128 };
enum { STREAM_BIAS = 3, STREAM_RESIDUAL = 4 };	/* design.c has 1 and 2 */

static const struct int4_rule rule = {.group = GROUP, .scales = TYPE_F16, .zero_in_range = true};

struct sizes {
	size_t m, n, k, groups;
};

static struct sizes sizes_of(const struct problem_case *c)
{
	const size_t k = (size_t)problem_param(c, "K");
	return (struct sizes){(size_t)problem_param(c, "M"), (size_t)problem_param(c, "N"), k, k / GROUP};
}

static double *doubles(size_t n)
{
	double *p = malloc(n * sizeof *p);
	if (!p)
		abort();
	return p;
}

static double *load(struct problem_case *c, const char *name)
{
	const struct tensor *t = problem_tensor(c, name);
	double *p = doubles(t->count);
	element_load(t, 0, t->count, p);
	return p;
}

/* Row `col` of the weights as they are stored: w, and the sizes of its parts. */
static void load_column(struct problem_case *c, size_t col, struct sizes z, double *scale, double *zero, double *w, double *parts)
{
	element_load(problem_tensor(c, "scales"), col * z.groups, z.groups, scale);
	element_load(problem_tensor(c, "zeros"), col * z.groups, z.groups, zero);
	int4_expand_row((const uint32_t *)problem_tensor(c, "Wq")->data + col * (z.k / 8), scale, zero, z.k, GROUP, w, parts);
}

/* Where every sum is exact so are these: whole numbers.  They are 0 beside weights that they would hide. */
static double addend(const struct design *d, struct random *r, double size, uint32_t whole)
{
	if (d->scales == DESIGN_TINY)
		return 0;
	return d->exact ? (double)random_below(r, 2 * whole + 1) - whole : size * random_normal(r);
}

static void generate_addends(struct problem_case *c, const struct design *d, struct sizes z)
{
	struct random r = random_fork(&c->random, (uint64_t)STREAM_BIAS << 56);
	for (size_t col = 0; col < z.n; col++) {
		const double v = addend(d, &r, 2, 8);
		element_store(problem_tensor(c, "bias"), col, 1, &v);
	}
	for (size_t row = 0; row < z.m; row++) {
		r = random_fork(&c->random, (uint64_t)STREAM_RESIDUAL << 56 | row);
		for (size_t col = 0; col < z.n; col++) {
			const double v = addend(d, &r, 4, 100);
			element_store(problem_tensor(c, "residual"), row * z.n + col, 1, &v);
		}
	}
}

/* In exact cases the residual of every third element is minus what an FP16 product and bias would be: what is left is just the
 * part that a product stored in FP16 has lost. */
static void cancel(struct problem_case *c, struct sizes z, const double *x, const double *bias)
{
	double *scale = doubles(z.groups), *zero = doubles(z.groups), *w = doubles(z.k), *parts = doubles(z.k);
	for (size_t col = 0; col < z.n; col++) {
		load_column(c, col, z, scale, zero, w, parts);
		for (size_t row = col % 3; row < z.m; row += 3) {
			const double v = -element_round(TYPE_F16, bound_dot(w, parts, x + row * z.k, z.k).y + bias[col]);
			element_store(problem_tensor(c, "residual"), row * z.n + col, 1, &v);
		}
	}
}

void generate(struct problem_case *c)
{
	const struct design *d = design_of(c);
	const struct sizes z = sizes_of(c);
	double *w = doubles(z.k), *scale = doubles(z.groups), *zero = doubles(z.groups), *y = doubles(z.m * z.n);
	for (size_t row = 0; row < z.m; row++) {
		design_activations(d, &c->random, row, z.k, 255, w);
		element_store(problem_tensor(c, "x"), row * z.k, z.k, w);
	}
	generate_addends(c, d, z);
	const double *x = load(c, "x"), *bias = load(c, "bias"), *residual = load(c, "residual");
	for (size_t col = 0; col < z.n; col++) {
		if (design_int4_row(d, &rule, &c->random, col, z.k, (uint32_t *)problem_tensor(c, "Wq")->data + col * (z.k / 8), scale, zero, w)) {
			for (size_t row = 0; row < z.m; row++)
				y[row * z.n + col] = bound_dot(w, w, x + row * z.k, z.k).y + bias[col] + residual[row * z.n + col];
			c->package = y;
		}
		element_store(problem_tensor(c, "scales"), col * z.groups, z.groups, scale);
		element_store(problem_tensor(c, "zeros"), col * z.groups, z.groups, zero);
	}
	if (d->exact)
		cancel(c, z, x, bias);
}

void expect(struct problem_case *c)
{
	const struct bound_rule bound = {.out = TYPE_F16, .weights = TYPE_F16};
	const struct design *d = design_of(c);
	const struct sizes z = sizes_of(c);
	struct tensor *y = problem_tensor(c, "y");
	const double *x = load(c, "x"), *bias = load(c, "bias"), *residual = load(c, "residual");
	double *sums = doubles(z.m * z.groups), *scale = doubles(z.groups), *zero = doubles(z.groups), *w = doubles(z.k), *parts = doubles(z.k);
	for (size_t row = 0; row < z.m; row++)
		bound_group_sums(x + row * z.k, z.k, GROUP, sums + row * z.groups);
	for (size_t col = 0; col < z.n; col++) {
		load_column(c, col, z, scale, zero, w, parts);
		for (size_t row = 0; row < z.m; row++) {
			const size_t i = row * z.n + col;
			struct bound_terms t = bound_dot(w, parts, x + row * z.k, z.k);
			t.g2 = bound_group_term(scale, zero, sums + row * z.groups, z.groups);
			t.y += bias[col] + residual[i];
			t.s += fabs(bias[col]) + fabs(residual[i]);
			y->expected[i] = t.y;
			y->bound[i] = bound_of(&bound, &t, z.k);
			if (d->exact)
				bound_exact(&bound, t.y, &y->expected[i], &y->bound[i]);
		}
	}
	if (c->package)
		c->quantization_error = quantization_error(c->package, y->expected, z.m * z.n);
}
