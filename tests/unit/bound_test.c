/* The bound against simulated kernels: right ones of several styles stay below it on every design, wrong ones pass it
 * on the design that is there to catch them. */
#include "test.h"

#include "reference/bound.h"
#include "reference/design.h"
#include "reference/f16.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 128, MAX_K = 4096, MAX_GROUPS = MAX_K / GROUP, LANES = 32 };

struct row {				/* one output row as a kernel sees it */
	size_t k;
	float x[MAX_K], s[MAX_GROUPS], z[MAX_GROUPS];
	uint8_t q[MAX_K];
};

typedef float kernel(const struct row *r);	/* a simulated GEMV of one row */

/* ---- right kernels ---- */

static float weight(const struct row *r, size_t k)
{
	return ((float)r->q[k] - r->z[k / GROUP]) * r->s[k / GROUP];
}

static float sequential(const struct row *r)
{
	float sum = 0;
	for (size_t k = 0; k < r->k; k++)
		sum += weight(r, k) * r->x[k];
	return sum;
}

static float tree(float *lane)
{
	for (size_t half = LANES / 2; half; half /= 2)
		for (size_t i = 0; i < half; i++)
			lane[i] += lane[i + half];
	return lane[0];
}

static float warp_tree(const struct row *r)
{
	float lane[LANES] = {0};
	for (size_t k = 0; k < r->k; k++)
		lane[k / 8 % LANES] += weight(r, k) * r->x[k];
	return tree(lane);
}

static float factored(const struct row *r)	/* s (sum(q x) - z sum(x)) */
{
	float sum = 0;
	for (size_t g = 0; g < r->k / GROUP; g++) {
		float qx = 0, sx = 0;
		for (size_t k = g * GROUP; k < (g + 1) * GROUP; k++) {
			qx = fmaf(r->q[k], r->x[k], qx);
			sx += r->x[k];
		}
		sum = fmaf(r->s[g], fmaf(-r->z[g], sx, qx), sum);
	}
	return sum;
}

static float half_weights(const struct row *r)	/* (q - z) s rounded to FP16 */
{
	float lane[LANES] = {0};
	for (size_t k = 0; k < r->k; k++)
		lane[k % LANES] = fmaf((float)f16_round(weight(r, k)), r->x[k], lane[k % LANES]);
	return tree(lane);
}

static float half_scaled_zeros(const struct row *r)	/* HFMA: q s + round(-z s) */
{
	float sum = 0;
	for (size_t k = 0; k < r->k; k++) {
		double s = r->s[k / GROUP], bias = f16_round(-r->z[k / GROUP] * s);
		sum += (float)f16_round(r->q[k] * s + bias) * r->x[k];
	}
	return sum;
}

static float half_weights_truncating(const struct row *r)	/* k16 steps whose sum is cut to 24 bits towards zero */
{
	float sum = 0;
	for (size_t k = 0; k < r->k; k += 16) {
		double step = sum;
		for (size_t i = k; i < k + 16; i++)
			step += f16_round(weight(r, i)) * r->x[i];
		float nearest = (float)step;
		sum = fabs((double)nearest) > fabs(step) ? nextafterf(nearest, 0) : nearest;
	}
	return sum;
}

/* ---- wrong kernels ---- */

static float half_sums(const struct row *r)
{
	double lane[LANES] = {0}, sum = 0;
	for (size_t k = 0; k < r->k; k++)
		lane[k / 8 % LANES] = f16_round(lane[k / 8 % LANES] + f16_round(weight(r, k)) * f16_round(r->x[k]));
	for (size_t i = 0; i < LANES; i++)
		sum += lane[i];
	return (float)sum;
}

static float no_zero_point(const struct row *r)
{
	float sum = 0;
	for (size_t k = 0; k < r->k; k++)
		sum += r->q[k] * r->s[k / GROUP] * r->x[k];
	return sum;
}

static float zero_point_off_by_one(const struct row *r)
{
	float sum = 0;
	for (size_t k = 0; k < r->k; k++)
		sum += ((float)r->q[k] - r->z[k / GROUP] - 1) * r->s[k / GROUP] * r->x[k];
	return sum;
}

static float group_off_by_one(const struct row *r)
{
	float sum = 0;
	for (size_t k = 0; k < r->k; k++) {
		size_t g = (k + 1) / GROUP < r->k / GROUP ? (k + 1) / GROUP : r->k / GROUP - 1;
		sum += ((float)r->q[k] - r->z[g]) * r->s[g] * r->x[k];
	}
	return sum;
}

static float last_dropped(const struct row *r)
{
	return sequential(r) - weight(r, r->k - 1) * r->x[r->k - 1];
}

static float last_word_reversed(const struct row *r)
{
	static struct row turned;
	turned = *r;
	for (size_t i = 0; i < 8; i++)
		turned.q[r->k - 1 - i] = r->q[r->k - 8 + i];
	return sequential(&turned);
}

static float tail_dropped(const struct row *r)
{
	static struct row cut;
	cut = *r;
	cut.k = r->k / 256 * 256;
	return sequential(&cut);
}

static float sign_extended(const struct row *r)
{
	float sum = 0;
	for (size_t k = 0; k < r->k; k++)
		sum += ((float)(r->q[k] < 8 ? r->q[k] : r->q[k] - 16) - r->z[k / GROUP]) * r->s[k / GROUP] * r->x[k];
	return sum;
}

static float rounded_x(const struct row *r)
{
	float sum = 0;
	for (size_t k = 0; k < r->k; k++)
		sum += weight(r, k) * (float)f16_round(r->x[k]);
	return sum;
}

/* ---- the measure ---- */

static void make_row(struct row *r, const struct design *d, const struct int4_rule *rule, const struct random *base, size_t n)
{
	static double x[MAX_K], s[MAX_GROUPS], z[MAX_GROUPS], w[MAX_K];
	uint32_t words[MAX_K / 8];
	design_activations(d, base, 0, r->k, 255, x);
	design_int4_row(d, rule, base, n, r->k, words, s, z, w);
	int4_unpack_row(words, r->k, r->q);
	for (size_t k = 0; k < r->k; k++)
		r->x[k] = (float)(rule->scales == TYPE_F16 ? f16_round(x[k]) : x[k]);
	for (size_t g = 0; g < r->k / GROUP; g++) {
		r->s[g] = (float)s[g];
		r->z[g] = (float)z[g];
	}
}

static void expected(const struct row *r, const struct bound_rule *rule, bool exact, double *y, double *bound)
{
	static double x[MAX_K], w[MAX_K], c[MAX_K];
	double s[MAX_GROUPS], z[MAX_GROUPS], sums[MAX_GROUPS];
	uint32_t words[MAX_K / 8];
	int4_pack_row(r->q, r->k, words);
	for (size_t k = 0; k < r->k; k++)
		x[k] = r->x[k];
	for (size_t g = 0; g < r->k / GROUP; g++) {
		s[g] = r->s[g];
		z[g] = r->z[g];
	}
	int4_expand_row(words, s, z, r->k, GROUP, w, c);
	struct bound_terms t = bound_dot(w, c, x, r->k);
	bound_group_sums(x, r->k, GROUP, sums);
	t.g2 = bound_group_term(s, z, sums, r->k / GROUP);
	*y = t.y;
	*bound = bound_of(rule, &t, r->k);
	if (exact)
		bound_exact(rule, t.y, y, bound);
}

/* The worst |got - y| / bound over some rows; HUGE_VAL where a bound of 0 is passed or got is not finite. */
static double worst(kernel *run, const char *keyword, size_t k, enum element_type weights)
{
	static struct row r;
	struct problem_case c = {.random = {{k, 2, 3, 4}}};
	strcpy(c.data, keyword);
	const struct design *d = design_of(&c);
	const struct int4_rule rule = {GROUP, weights, weights == TYPE_F16};
	const struct bound_rule limits = {.out = TYPE_F32, .weights = weights};
	double ratio = 0;
	for (size_t n = 0; n < 24; n++) {
		double y, bound;
		r.k = k;
		make_row(&r, d, &rule, &c.random, n);
		expected(&r, &limits, d->exact, &y, &bound);
		double off = fabs((double)run(&r) - y);
		if (off > 0 || isnan(off))
			ratio = fmax(ratio, bound > 0 && isfinite(off) ? off / bound : HUGE_VAL);
	}
	return ratio;
}

#define X(keyword, x, codes, zeros, scales, exact, catches) keyword,
static const char *const keywords[] = {DESIGNS(X)};
#undef X

static void stays_below(kernel *run, const char *name, enum element_type weights)
{
	static const size_t sizes[] = {128, 1408, 4096};
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		for (size_t j = 0; j < 3; j++) {
			double ratio = worst(run, keywords[i], sizes[j], weights);
			CHECK_MSG(ratio < 0.6, "%s on \"%s\", K = %zu: ratio %g", name, keywords[i], sizes[j], ratio);
		}
}

#define PASSES(run, keyword, k, weights)                                                                  \
	do {                                                                                              \
		double ratio = worst(run, keyword, k, weights);                                           \
		CHECK_MSG(ratio > 1, "%s on \"%s\", K = %d: ratio %g", #run, keyword, (int)(k), ratio);   \
	} while (0)

TEST(right_f32_kernels)
{
	stays_below(sequential, "sequential", TYPE_F32);
	stays_below(warp_tree, "warp_tree", TYPE_F32);
	stays_below(factored, "factored", TYPE_F32);
}

TEST(right_f16_weight_kernels)
{
	stays_below(half_weights, "half_weights", TYPE_F16);
	stays_below(half_scaled_zeros, "half_scaled_zeros", TYPE_F16);
	stays_below(half_weights_truncating, "half_weights_truncating", TYPE_F16);
	stays_below(warp_tree, "warp_tree", TYPE_F16);
}

TEST(half_sums_are_caught)
{
	PASSES(half_sums, "exact", 1408, TYPE_F32);
	PASSES(half_sums, "exact", 4096, TYPE_F16);
	PASSES(half_sums, "overflow", 4096, TYPE_F32);
	PASSES(half_sums, "overflow", 4096, TYPE_F16);
	PASSES(half_sums, "shifted", 1408, TYPE_F32);
}

TEST(zero_point_mistakes_are_caught)
{
	for (int i = 0; i < 2; i++) {
		enum element_type weights = i ? TYPE_F16 : TYPE_F32;
		PASSES(no_zero_point, "shifted", 1408, weights);
		PASSES(no_zero_point, "zeros-highest", 384, weights);
		PASSES(zero_point_off_by_one, "shifted", 4096, weights);
		PASSES(zero_point_off_by_one, "exact", 1408, weights);
	}
}

TEST(layout_mistakes_are_caught)
{
	for (int i = 0; i < 2; i++) {
		enum element_type weights = i ? TYPE_F16 : TYPE_F32;
		PASSES(group_off_by_one, "scale-grid", 1408, weights);
		PASSES(group_off_by_one, "exact", 1408, weights);
		PASSES(group_off_by_one, "edges", 256, weights);
		PASSES(last_dropped, "edges", 1408, weights);
		PASSES(last_dropped, "exact", 4096, weights);
		PASSES(last_word_reversed, "exact", 4096, weights);
		PASSES(tail_dropped, "normal", 1408, weights);
		PASSES(sign_extended, "codes-highest", 256, weights);
		PASSES(sign_extended, "codes-alternating", 512, weights);
	}
}

TEST(rounding_not_allowed_is_caught)
{
	PASSES(rounded_x, "normal", 128, TYPE_F32);
	PASSES(half_weights, "normal", 128, TYPE_F32);
	PASSES(half_weights, "tiny-scales", 1280, TYPE_F32);
}

TEST(formula)
{
	const double w[3] = {2, -1, 0.5}, c[3] = {2, 1, 0.5}, x[3] = {1, 3, -4};
	struct bound_terms t = bound_dot(w, c, x, 3);
	CHECK(t.y == -3 && t.r2 == 4 + 9 + 4 && t.s == 2 + 3 + 2 && t.g2 == 0);
	t.g2 = 10;
	const struct bound_rule rule = {TYPE_F16, TYPE_BF16};
	double hand = 1.02 * 0x1p-11 * 3 + 0x1p-24 + 6 * 0x1p-8 * sqrt(27 / 3.0) + (sqrt(3) + 3 / 16.0) * 0x1p-24 * 7;
	CHECK(fabs(bound_of(&rule, &t, 3) / hand - 1) < 1e-12);
	double sums[2];
	bound_group_sums(x, 3, 2, sums);
	CHECK(sums[0] == 4 && sums[1] == -4);
	CHECK(bound_group_term((double[]){2, 1}, (double[]){3, 5}, sums, 2) == 24 * 24 + 20 * 20);
}

TEST(exact_bounds)
{
	const struct bound_rule half = {TYPE_F16, TYPE_F16};
	double y, bound;
	bound_exact(&half, 2049, &y, &bound);
	CHECK(y == 2048 && bound == 0);
	bound_exact(&half, 0, &y, &bound);
	CHECK(y == 0 && bound == 0x1p-24);
	bound_exact(&half, 70000, &y, &bound);
	CHECK(isinf(y));
}

/* What makes a bound of 0 fair: no partial sum, whatever the order, needs more than 24 bits. */
TEST(exact_designs_fit_f32)
{
	static const struct { const char *keyword; size_t k; } cases[] = {{"exact", 4096}, {"overflow", 4096}};
	static struct row r;
	for (size_t i = 0; i < 2; i++) {
		struct problem_case c = {.random = {{i, 5, 6, 7}}};
		strcpy(c.data, cases[i].keyword);
		const struct int4_rule rule = {GROUP, TYPE_F16, true};
		for (size_t n = 0; n < 24; n++) {
			double size = 0, y = 0;
			r.k = cases[i].k;
			make_row(&r, design_of(&c), &rule, &c.random, n);
			for (size_t k = 0; k < r.k; k++) {
				double s = r.s[k / GROUP];
				CHECK(r.x[k] * s * 8 == rint(r.x[k] * s * 8));
				size += fabs(r.x[k]) * s * 8 * fmax(r.q[k], r.z[k / GROUP]);
				y += weight(&r, k) * r.x[k];
			}
			CHECK_MSG(size < (i ? 8 : 1) * 0x1p24, "%s: terms of %g steps together", cases[i].keyword, size);
			CHECK(fabs(y) < 65504);
		}
	}
}

TEST(exact_int8_designs_fit_f32)
{
	static const char *const exact[] = {"exact", "overflow"};
	static double x[MAX_K], w[MAX_K];
	static int8_t q[MAX_K];
	for (size_t i = 0; i < 2; i++) {
		struct problem_case c = {.random = {{i, 9, 8, 7}}};
		strcpy(c.data, exact[i]);
		const struct design *d = design_of(&c);
		design_activations(d, &c.random, 0, MAX_K, 63, x);
		for (size_t n = 0; n < 24; n++) {
			double scale, size = 0, y = 0, most = 0;
			CHECK(!design_int8_row(d, &c.random, n, MAX_K, q, &scale, w));
			CHECK(frexp(scale, &(int){0}) == 0.5);		/* a power of two */
			for (size_t k = 0; k < MAX_K; k++) {
				size += fabs(x[k] * q[k]);
				y += x[k] * q[k];
				most = fmax(most, fabs(y));
			}
			/* "overflow" cancels from the middle on: no order of its terms passes half of their sizes by more than y */
			CHECK_MSG(size / (i ? 2 : 1) + fabs(y) < 0x1p24, "%s: terms of %g together", exact[i], size);
			CHECK(fabs(y * scale) < 65504);
			CHECK(i == 0 || most > 65504);
		}
	}
}

/* The same seed gives the same inputs, whatever else is drawn: rows are streams of their own. */
TEST(rows_do_not_depend_on_each_other)
{
	static struct row a, b;
	struct problem_case c = {.random = {{1, 2, 3, 4}}};
	const struct int4_rule rule = {GROUP, TYPE_F32, false};
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
		strcpy(c.data, keywords[i]);
		a.k = b.k = 1408;
		make_row(&a, design_of(&c), &rule, &c.random, 5);
		make_row(&b, design_of(&c), &rule, &c.random, 4);
		make_row(&b, design_of(&c), &rule, &c.random, 5);
		CHECK_MSG(!memcmp(&a, &b, sizeof a), "%s", keywords[i]);
	}
}
