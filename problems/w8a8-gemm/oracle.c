/* w8a8-gemm: inputs by design, and y = s_m s_n (sum of x_q W_q - z_m w_sum_n), whose bracket is a whole number. */
#include "bound.h"
#include "design.h"
#include "element.h"
#include "format_int8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OVERFLOW_PEAK = 63, STREAM_OWN = 9 };

static const struct bound_rule rule = {.out = TYPE_F16, .weights = TYPE_F32};

static void *room(size_t count, size_t size)
{
	void *p = calloc(count, size);
	if (!p)
		abort();
	return p;
}

static int whole(struct random *r, int low, int high)	/* inclusive */
{
	return low + (int)random_below(r, (uint32_t)(high - low + 1));
}

/* The tensors and sizes of a case. */
struct gemm {
	size_t m, n, k;
	bool asymmetric;
	int8_t *x, *w;
	float *x_scale, *w_scale;
	int32_t *x_zero, *w_sum;
};

static struct gemm gemm_of(struct problem_case *c)
{
	return (struct gemm){
		.m = (size_t)problem_param(c, "M"),
		.n = (size_t)problem_param(c, "N"),
		.k = (size_t)problem_param(c, "K"),
		.asymmetric = problem_param(c, "asymmetric"),
		.x = problem_tensor(c, "x")->data,
		.w = problem_tensor(c, "Wq")->data,
		.x_scale = problem_tensor(c, "x_scale")->data,
		.w_scale = problem_tensor(c, "w_scale")->data,
		.x_zero = problem_tensor(c, "x_zero")->data,
		.w_sum = problem_tensor(c, "w_sum")->data,
	};
}

/* Sums beyond 2^24, where FP32 has no odd numbers any more, and a small answer.  Symmetric: the second half of the row takes
 * back what the first has added.  Asymmetric: codes are their zero point, but for a few, so that the correction takes back
 * all but a little. */
static void large_sums(const struct gemm *p, struct random *r)
{
	for (size_t n = 0; n < p->n; n++) {
		int8_t *w = p->w + n * p->k;
		for (size_t i = 0; i < p->k; i++)
			w[i] = (int8_t)(i < p->k / 2 ? whole(r, 100, 127) : w[p->k - 1 - i]);
		p->w_scale[n] = 1;
	}
	for (size_t m = 0; m < p->m; m++) {
		int8_t *x = p->x + m * p->k;
		const int z = p->asymmetric ? whole(r, 90, 120) * (m % 2 ? -1 : 1) : 0;
		p->x_scale[m] = 1;
		p->x_zero[m] = z;
		for (size_t i = 0; i < p->k; i++)
			x[i] = (int8_t)(z ? z : i < p->k / 2 ? whole(r, 100, 127) : -x[p->k - 1 - i]);
		for (int i = 0; i < 3; i++) {		/* 3 x 5 x 127 < 2048: FP16 has all of these numbers */
			int8_t *odd = &x[p->k - 1 - random_below(r, (uint32_t)(p->k / 2))];
			*odd = (int8_t)((z ? z : *odd) + whole(r, 1, 5));
		}
	}
}

/* Codes at the ends of their range: the largest sums that there are. */
static void extremes(const struct gemm *p, struct random *r)
{
	for (size_t n = 0; n < p->n; n++) {
		memset(p->w + n * p->k, n % 3 == 1 ? 127 : -128, p->k);
		p->w_scale[n] = 0x1p-8f;
	}
	for (size_t m = 0; m < p->m; m++) {
		memset(p->x + m * p->k, m % 3 == 1 ? 127 : -128, p->k);
		p->x_scale[m] = 0x1p-8f;
		p->x_zero[m] = p->asymmetric ? whole(r, 0, 1) ? 127 : -128 : 0;
	}
}

/* Row m of the activations: quantized, or, in exact designs, whole numbers and a power of two as they are. */
static void quantize_token(const struct gemm *p, const struct design *d, struct random *r, size_t m, const double *x)
{
	int8_t *q = p->x + m * p->k;
	if (d->exact) {
		const int z = p->asymmetric ? whole(r, -100, 100) : 0;
		for (size_t i = 0; i < p->k; i++)
			q[i] = (int8_t)(x[i] + z);
		p->x_zero[m] = z;
		p->x_scale[m] = (float)ldexp(1, whole(r, -3, 0));
	} else if (p->asymmetric) {
		p->x_scale[m] = (float)int8_quantize_asymmetric_row(x, p->k, q, &p->x_zero[m]);
	} else {
		p->x_scale[m] = (float)int8_quantize_row(x, p->k, q);
	}
	if (d->scales == DESIGN_GRID)
		p->x_scale[m] = (float)ldexp(1, (int)(3 * m % 7) - 14);
}

static void designed(struct problem_case *c, const struct gemm *p, const struct design *d, struct random *r)
{
	double *x = room(p->m * p->k, sizeof *x), *w = room(p->k, sizeof *w), *y = room(p->m * p->n, sizeof *y), scale;
	for (size_t m = 0; m < p->m; m++) {
		design_activations(d, &c->random, m, p->k, OVERFLOW_PEAK, x + m * p->k);
		quantize_token(p, d, r, m, x + m * p->k);
	}
	for (size_t n = 0; n < p->n; n++) {
		if (design_int8_row(d, &c->random, n, p->k, p->w + n * p->k, &scale, w)) {
			for (size_t m = 0; m < p->m; m++)
				y[m * p->n + n] = bound_dot(w, w, x + m * p->k, p->k).y;
			c->package = y;
		}
		p->w_scale[n] = (float)scale;
	}
}

static void sum_weights(const struct gemm *p)
{
	for (size_t n = 0; n < p->n; n++) {
		int32_t sum = 0;
		for (size_t i = 0; i < p->k; i++)
			sum += p->w[n * p->k + i];
		p->w_sum[n] = sum;
	}
}

/* "folded" is "uniform" with more than the sum of the weights in w_sum. */
static const struct design *plain_design(const struct problem_case *c)
{
	struct problem_case plain = *c;
	if (problem_data(c, "folded"))
		strcpy(plain.data, "uniform");
	return design_of(&plain);
}

void generate(struct problem_case *c)
{
	const struct gemm p = gemm_of(c);
	struct random own = random_fork(&c->random, (uint64_t)STREAM_OWN << 56), *r = &own;
	memset(p.x_zero, 0, p.m * sizeof *p.x_zero);
	if (problem_data(c, "large-sums"))
		large_sums(&p, r);
	else if (problem_data(c, "extremes"))
		extremes(&p, r);
	else
		designed(c, &p, plain_design(c), r);
	sum_weights(&p);
	for (size_t n = 0; problem_data(c, "folded") && n < p.n; n++)
		p.w_sum[n] += whole(r, -3000, 3000);
}

static int32_t dot(const int8_t *a, const int8_t *b, size_t k)
{
	int32_t sum = 0;
	for (size_t i = 0; i < k; i++)
		sum += (int16_t)a[i] * (int16_t)b[i];
	return sum;
}

/* The bracket is exact.  What is left is its conversion to FP32 and two products (3 x 2^-24, which the 1.02 of the bound
 * covers), and the output's rounding. */
void expect(struct problem_case *c)
{
	const struct gemm p = gemm_of(c);
	const bool exact = problem_data(c, "exact") || problem_data(c, "overflow") || problem_data(c, "large-sums") ||
			   problem_data(c, "extremes");
	struct tensor *y = problem_tensor(c, "y");
	for (size_t m = 0; m < p.m; m++)
		for (size_t n = 0; n < p.n; n++) {
			const int64_t sum = dot(p.x + m * p.k, p.w + n * p.k, p.k) - (int64_t)p.x_zero[m] * p.w_sum[n];
			const struct bound_terms t = {.y = (double)sum * p.x_scale[m] * p.w_scale[n]};
			double *value = &y->expected[m * p.n + n], *limit = &y->bound[m * p.n + n];
			*value = t.y;
			*limit = bound_of(&rule, &t, p.k);
			if (exact)
				bound_exact(&rule, t.y, value, limit);
		}
	if (c->package)
		c->quantization_error = quantization_error(c->package, y->expected, p.m * p.n);
}
