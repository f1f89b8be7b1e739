/* fp32-gemv: inputs by design, and y = W x in float64. */
#include "bound.h"
#include "design.h"
#include "element.h"

#include <math.h>
#include <stdlib.h>

enum { STREAM = 2, OVERFLOW_PEAK = 255 };	/* 2048 x 15 x 255 < 2^24 */

/* How the weights of a shared design are made; its activations come from reference/design.c. */
enum weights { NORMAL, FAST, WHOLE, MIRRORED, GRID, TINY };
static const struct {
	const char *keyword;
	enum weights weights;
} designs[] = {
	{"normal", NORMAL}, {"shifted", NORMAL}, {"outliers", NORMAL}, {"one-hot", NORMAL}, {"edges", NORMAL},
	{"uniform", FAST},			/* timing: sixteen bits are a weight */
	{"exact", WHOLE},			/* whole numbers times one power of two a row: every order gives the same bits */
	{"overflow", MIRRORED},			/* partial sums pass what FP16 holds, and cancel */
	{"scale-grid", GRID},			/* neighbouring rows are of different size */
	{"tiny-scales", TINY},			/* below what FP16 holds */
};

static double *doubles(size_t n)
{
	double *p = malloc(n * sizeof *p);
	if (!p)
		abort();
	return p;
}

static enum weights weights_of(const struct problem_case *c)
{
	for (size_t i = 0; i < sizeof designs / sizeof *designs; i++)
		if (problem_data(c, designs[i].keyword))
			return designs[i].weights;
	problem_unknown_data(c);
}

static double whole(struct random *r, int low, int high)	/* inclusive */
{
	return low + (double)random_below(r, (uint32_t)(high - low + 1));
}

static void fast_row(struct random *r, size_t k, double *w)
{
	for (size_t i = 0; i < k; i += 4) {
		uint64_t four = random_u64(r);
		for (size_t j = i; j < i + 4 && j < k; j++, four >>= 16)
			w[j] = ((double)(four & 0xffff) - 32767.5) * 0x1p-14;
	}
}

static void make_row(enum weights weights, struct random *r, size_t n, size_t k, double *w)
{
	const double row_scale = weights == WHOLE ? ldexp(1, (int)random_below(r, 4) - 3) :
				 weights == GRID ? ldexp(1, (int)(5 * n % 13) - 10) :
				 weights == TINY ? 0x1p-100 : 1;
	if (weights == FAST) {
		fast_row(r, k, w);
		return;
	}
	for (size_t i = 0; i < k; i++)
		if (weights == MIRRORED)
			w[i] = i > k - 1 - i ? w[k - 1 - i] : whole(r, 8, 15);
		else if (weights == WHOLE)
			w[i] = row_scale * whole(r, 1, 15);
		else
			w[i] = row_scale * random_normal(r);
}

void generate(struct problem_case *c)
{
	const enum weights weights = weights_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	struct tensor *matrix = problem_tensor(c, "W");
	double *x = doubles(k), *w = doubles(k);
	design_activations(design_of(c), &c->random, 0, k, OVERFLOW_PEAK, x);
	element_store(problem_tensor(c, "x"), 0, k, x);
	for (size_t row = 0; row < n; row++) {
		struct random r = random_fork(&c->random, (uint64_t)STREAM << 56 | row);
		make_row(weights, &r, row, k, w);
		element_store(matrix, row * k, k, w);
	}
}

void expect(struct problem_case *c)
{
	const struct bound_rule bound = {.out = TYPE_F32, .weights = TYPE_F32};
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	const struct tensor *matrix = problem_tensor(c, "W");
	struct tensor *y = problem_tensor(c, "y");
	double *x = doubles(k), *w = doubles(k);
	element_load(problem_tensor(c, "x"), 0, k, x);
	for (size_t row = 0; row < n; row++) {
		element_load(matrix, row * k, k, w);
		struct bound_terms t = bound_dot(w, w, x, k);
		y->expected[row] = t.y;
		y->bound[row] = bound_of(&bound, &t, k);
		if (d->exact)
			bound_exact(&bound, t.y, &y->expected[row], &y->bound[row]);
	}
}
