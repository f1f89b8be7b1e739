/* q4-0-gemv: y = W x.  A row of W is K/32 blocks of 18 bytes: an FP16 scale d, then 16 bytes; byte i holds code i in its low half
 * and code i + 16 in its high half; w = d (q - 8). */
#include "bound.h"
#include "design.h"
#include "element.h"
#include "f16.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 32, BLOCK = 18, ZERO = 8, OVERFLOW_PEAK = 255 };

static double *doubles(size_t n)
{
	double *p = malloc(n * sizeof *p);
	if (!p)
		abort();
	return p;
}

/* As llama.cpp has it: the value that is largest in size becomes -8. */
static double quantize(const double w[GROUP], uint8_t q[GROUP])
{
	double top = 0;
	for (int i = 0; i < GROUP; i++)
		top = fabs(w[i]) > fabs(top) ? w[i] : top;
	const double d = f16_round(top / -8);
	for (int i = 0; i < GROUP; i++) {
		const double code = d ? floor(w[i] / d + 8.5) : 8;
		q[i] = (uint8_t)(code < 0 ? 0 : code > 15 ? 15 : code);
	}
	return d;
}

/* Codes that are not quantized from anything come from the shared designs, whose zero points are not used. */
static void make_row(const struct problem_case *c, const struct design *d, size_t row, size_t k, uint8_t *q, double *scale)
{
	const struct int4_rule rule = {.group = GROUP, .scales = TYPE_F16};
	struct random r = random_fork(&c->random, 1000000 + row);
	double w[GROUP];
	if (d->codes == DESIGN_QUANTIZED) {
		for (size_t g = 0; g < k / GROUP; g++) {
			for (int i = 0; i < GROUP; i++)
				w[i] = random_normal(&r);
			scale[g] = quantize(w, q + g * GROUP);
		}
		return;
	}
	uint32_t *words = calloc(k / 8, sizeof *words);
	double *zero = doubles(k / GROUP), *unused = doubles(k);
	if (!words)
		abort();
	design_int4_row(d, &rule, &c->random, row, k, words, scale, zero, unused);
	for (size_t i = 0; i < k; i++)
		q[i] = words[i / 8] >> 4 * (i % 8) & 15;
	free(words);
	free(zero);
	free(unused);
}

static void pack_row(const uint8_t *q, const double *scale, size_t k, uint8_t *out)
{
	for (size_t g = 0; g < k / GROUP; g++, out += BLOCK) {
		const uint16_t d = f16_from_double(scale[g]);
		memcpy(out, &d, 2);
		for (size_t i = 0; i < 16; i++)
			out[2 + i] = (uint8_t)(q[g * GROUP + i] | q[g * GROUP + i + 16] << 4);
	}
}

void generate(struct problem_case *c)
{
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	uint8_t *W = problem_tensor(c, "W")->data, *q = malloc(k);
	double *x = doubles(k), *scale = doubles(k / GROUP);
	if (!q)
		abort();
	design_activations(d, &c->random, 0, k, OVERFLOW_PEAK, x);
	element_store(problem_tensor(c, "x"), 0, k, x);
	for (size_t row = 0; row < n; row++) {
		make_row(c, d, row, k, q, scale);
		pack_row(q, scale, k, W + row * (k / GROUP * BLOCK));
	}
}

void expect(struct problem_case *c)
{
	const struct bound_rule rule = {.out = TYPE_F32, .weights = TYPE_F32};
	const struct design *d = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	const uint8_t *at = problem_tensor(c, "W")->data;
	struct tensor *y = problem_tensor(c, "y");
	double *x = doubles(k), *w = doubles(k), *size = doubles(k);
	element_load(problem_tensor(c, "x"), 0, k, x);
	for (size_t row = 0; row < n; row++) {
		for (size_t g = 0; g < k / GROUP; g++, at += BLOCK) {
			const double s = f16_to_double((uint16_t)(at[0] | at[1] << 8));
			for (size_t i = 0; i < GROUP; i++) {
				const int q = at[2 + i % 16] >> (i < 16 ? 0 : 4) & 15;
				w[g * GROUP + i] = s * (q - ZERO);
				size[g * GROUP + i] = fabs(s) * (q + ZERO);	/* a kernel may add q x and 8 x apart */
			}
		}
		struct bound_terms t = bound_dot(w, size, x, k);
		y->expected[row] = t.y;
		y->bound[row] = bound_of(&rule, &t, k);
		if (d->exact)
			bound_exact(&rule, t.y, &y->expected[row], &y->bound[row]);
	}
}
