/* How far a right kernel may be off: see bound.h for the formula and its sources. */
#include "bound.h"

#include "f16.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sums run in eight lanes, four pairs, that are added in a fixed order: pairs fit every vector unit, and the bits do not
 * depend on which one it is. */
enum { PAIRS = 4, LANES = 2 * PAIRS };
typedef double pair __attribute__((vector_size(2 * sizeof(double))));
typedef int64_t pair_bits __attribute__((vector_size(2 * sizeof(int64_t))));

static inline pair load(const double *p)
{
	pair v;
	memcpy(&v, p, sizeof v);
	return v;
}

static double pairs_sum(const pair v[PAIRS])
{
	pair all = (v[0] + v[2]) + (v[1] + v[3]);
	return all[0] + all[1];
}

struct bound_terms bound_dot(const double *w, const double *c, const double *x, size_t k)
{
	pair y[PAIRS] = {0}, r2[PAIRS] = {0}, s[PAIRS] = {0};
	size_t i = 0;
	for (; i + LANES <= k; i += LANES)
#pragma GCC unroll 4
		for (size_t p = 0; p < PAIRS; p++) {
			const pair vx = load(x + i + 2 * p), term = load(w + i + 2 * p) * vx, part = load(c + i + 2 * p) * vx;
			y[p] += term;
			r2[p] += term * term;
			s[p] += (pair)((pair_bits)part & INT64_MAX);
		}
	struct bound_terms t = {.y = pairs_sum(y), .r2 = pairs_sum(r2), .s = pairs_sum(s)};
	for (; i < k; i++) {
		double term = w[i] * x[i];
		t.y += term;
		t.r2 += term * term;
		t.s += fabs(c[i] * x[i]);
	}
	return t;
}

void bound_group_sums(const double *x, size_t k, size_t group, double *x_sums)
{
	for (size_t g = 0; g * group < k; g++) {
		double sum = 0;
		for (size_t i = g * group; i < k && i < (g + 1) * group; i++)
			sum += x[i];
		x_sums[g] = sum;
	}
}

double bound_group_term(const double *scale, const double *zero, const double *x_sums, size_t groups)
{
	double g2 = 0;
	for (size_t g = 0; g < groups; g++) {
		double part = scale[g] * zero[g] * x_sums[g];
		g2 += part * part;
	}
	return g2;
}

/* Half a unit in the last place of 1, and the smallest step, of a floating type. */
static void type_steps(enum element_type type, double *u, double *step)
{
	switch (type) {
	case TYPE_F16:
		*u = 0x1p-11;
		*step = 0x1p-24;
		return;
	case TYPE_BF16:
		*u = 0x1p-8;
		*step = 0x1p-133;
		return;
	case TYPE_F32:
		*u = 0x1p-24;
		*step = 0x1p-149;
		return;
	default:
		fprintf(stderr, "oracle: no bound is known for element type %d: use TYPE_F16, TYPE_BF16 or TYPE_F32\n", type);
		exit(1);
	}
}

double bound_of(const struct bound_rule *rule, const struct bound_terms *t, size_t k)
{
	double u_out, eta, u_w, step;
	type_steps(rule->out, &u_out, &eta);
	type_steps(rule->weights, &u_w, &step);
	double size = (double)k;
	return 1.02 * u_out * fabs(t->y) + eta + 6 * u_w * sqrt((t->r2 + t->g2) / 3) +
	       (sqrt(size) + size / 16) * 0x1p-24 * t->s;
}

void bound_exact(const struct bound_rule *rule, double y, double *expected, double *bound)
{
	double u, step;
	type_steps(rule->out, &u, &step);
	*expected = rule->out == TYPE_F16 ? f16_round(y) : rule->out == TYPE_BF16 ? bf16_round(y) : (double)(float)y;
	*bound = *expected == 0 ? step : 0;
}
