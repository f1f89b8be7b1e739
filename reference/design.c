/* The input designs that problems share: see design.h.
 *
 * Each row of the weights and of the activations has a random stream of its own, so a row does not depend on how many
 * numbers another one drew.
 */
#include "design.h"

#include "element.h"
#include "format_int8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define X(word, x, codes, zeros, scales, exact, catches) \
	{word, DESIGN_##x, DESIGN_##codes, DESIGN_##zeros, DESIGN_##scales, exact, catches},
static const struct design designs[] = {DESIGNS(X)};
#undef X

enum { STREAM_X = 1, STREAM_W = 2 };

static struct random stream(const struct random *r, uint64_t kind, size_t row)
{
	return random_fork(r, kind << 56 | row);
}

static double between(struct random *r, double low, double high)
{
	return low + (high - low) * random_uniform(r);
}

static double sign(struct random *r)
{
	return random_u64(r) >> 63 ? -1 : 1;
}

static int whole(struct random *r, int low, int high)	/* inclusive */
{
	return low + (int)random_below(r, (uint32_t)(high - low + 1));
}

const struct design *design_of(const struct problem_case *c)
{
	for (size_t i = 0; i < sizeof designs / sizeof *designs; i++)
		if (problem_data(c, designs[i].keyword))
			return &designs[i];
	problem_unknown_data(c);
}

/* Positions at which layouts break: first and last of a byte, a word, a lane's or warp's share, a group, the row. */
static size_t edge(size_t i, size_t k)
{
	static const size_t at[] = {0, 1, 7, 8, 31, 32, 63, 64, 127, 128};
	size_t n = sizeof at / sizeof *at;
	return i % (n + 1) < n && at[i % (n + 1)] < k ? at[i % (n + 1)] : k - 1;
}
enum { EDGES = 11 };

static void overflow_row(struct random *r, size_t k, int peak, double *x)
{
	for (size_t i = 0; i < k; i++)
		x[i] = i < k / 2 ? whole(r, peak / 2, peak) : i == k - 1 - i ? 0 : -x[k - 1 - i];
	for (int i = 0; i < 5; i++)		/* what is left of the sum once the halves have cancelled */
		x[k - 1 - random_below(r, (uint32_t)(k / 2))] += whole(r, 1, 15);
}

void design_activations(const struct design *d, const struct random *base, size_t m, size_t k, int peak, double *x)
{
	static const double primes[EDGES] = {3, -5, 7, -11, 13, -17, 19, -23, 29, -31, 37};
	struct random own = stream(base, STREAM_X, m), *r = &own;
	memset(x, 0, k * sizeof *x);
	if (d->x == DESIGN_ONE_HOT) {
		struct random all = stream(base, STREAM_X, SIZE_MAX >> 8);
		x[edge(random_below(&all, EDGES) + m, k)] = sign(r) * between(r, 1, 2);
	} else if (d->x == DESIGN_EDGES) {
		for (size_t i = 0; i < EDGES; i++)
			x[edge(i, k)] = primes[(i + m) % EDGES];
	} else if (d->x == DESIGN_IDENTITY) {
		x[m % k] = 1;
	} else if (d->x == DESIGN_EXACT) {
		for (size_t i = 0; i < k; i++)
			x[i] = i < k / 2 ? whole(r, 1, 15) : -whole(r, 1, 15);
	} else if (d->x == DESIGN_OVERFLOW) {
		overflow_row(r, k, peak, x);
	} else if (d->x != DESIGN_ZERO_ROWS || m % 2 == 0) {
		for (size_t i = 0; i < k; i++)
			x[i] = random_normal(r) + (d->x == DESIGN_SHIFTED ? 0.6 : 0);
		for (size_t i = 0; d->x == DESIGN_OUTLIERS && i < k; i++)
			if (random_below(r, 200) == 0 || i == m % k)	/* at least one a row */
				x[i] *= between(r, 20, 60);
	}
}

static int code(const struct design *d, struct random *r, size_t i, int low, int high)
{
	switch (d->codes) {
	case DESIGN_LOWEST:
		return low;
	case DESIGN_HIGHEST:
		return high;
	case DESIGN_ALTERNATING:
		return i % 2 ? high : low;
	case DESIGN_MIRRORED:
		return whole(r, (low + high + 1) / 2 + (high - low) / 4, high);
	default:
		return whole(r, low, high);
	}
}

static double zero_point(const struct design *d, struct random *r, size_t n)
{
	switch (d->zeros) {
	case DESIGN_LOWEST:
		return 0;
	case DESIGN_HIGHEST:
		return 15;
	case DESIGN_MIDDLE:
		return whole(r, 7, 8);
	case DESIGN_CLASSES:
		return n % 3 == 0 ? whole(r, 0, 3) : n % 3 == 1 ? whole(r, 0, 15) : whole(r, 12, 15);
	case DESIGN_MIRRORED:
		return whole(r, 0, 3);
	default:
		return whole(r, 0, 15);
	}
}

/* A scale for codes whose largest is `top`; TYPICAL is what a quantizer finds for normal weights. */
static double group_scale(const struct design *d, struct random *r, enum element_type type, int top, size_t n, size_t g)
{
	double typical = between(r, 4, 6.4) / top;
	switch (d->scales) {
	case DESIGN_ONE:
		return top > 15 ? 0x1p-3 : 1;
	case DESIGN_POWERS:
		return ldexp(1, whole(r, -3, 0) - (top > 15 ? 3 : 0));
	case DESIGN_GRID:
		return ldexp(1, (int)((5 * n + 3 * g) % 13) - 10);
	case DESIGN_NEGATIVE:
		return sign(r) * typical;
	case DESIGN_SOME_ZERO:
		return random_below(r, 3) ? typical : 0;
	case DESIGN_TINY:
		return type == TYPE_F16 ? ldexp(whole(r, 1, 1023), -24) : between(r, 1, 2) * (top > 15 ? 0x1p-26 : 0x1p-100);
	default:
		return typical;
	}
}

static void *scratch(size_t size)	/* grows, is never given back: one oracle process makes one case */
{
	static void *memory;
	static size_t room;
	if (size > room) {
		free(memory);
		memory = malloc(size);
		if (!memory)
			abort();
		room = size;
	}
	return memory;
}

static void normal_row(struct random *r, size_t k, double *w)
{
	for (size_t i = 0; i < k; i++)
		w[i] = (double)(float)random_normal(r);
}

static void uniform_words(struct random *r, size_t k, uint32_t *words)
{
	size_t i = 0;
	for (; i + 2 <= k / 8; i += 2) {
		uint64_t both = random_u64(r);
		words[i] = (uint32_t)both;
		words[i + 1] = (uint32_t)(both >> 32);
	}
	if (i < k / 8)
		words[i] = (uint32_t)random_u64(r);
}

bool design_int4_row(const struct design *d, const struct int4_rule *rule, const struct random *base, size_t n, size_t k,
		     uint32_t *words, double *scale, double *zero, double *w)
{
	struct random own = stream(base, STREAM_W, n), *r = &own;
	uint8_t *q = scratch(k);
	if (d->codes == DESIGN_QUANTIZED) {
		normal_row(r, k, w);
		int4_quantize_row(rule, w, k, q, scale, zero);
		int4_pack_row(q, k, words);
		return true;
	}
	const size_t groups = k / rule->group;
	for (size_t g = 0; g < groups; g++) {
		scale[g] = element_round(rule->scales, group_scale(d, r, rule->scales, 15, n, g));
		zero[g] = zero_point(d, r, n);
		if (d->zeros == DESIGN_MIRRORED && g > groups - 1 - g)
			zero[g] = zero[groups - 1 - g];
	}
	if (d->codes == DESIGN_UNIFORM) {
		uniform_words(r, k, words);
		return false;
	}
	for (size_t i = 0; i < k; i++)
		q[i] = (uint8_t)(d->codes == DESIGN_MIRRORED && i > k - 1 - i ? q[k - 1 - i] : code(d, r, i, 0, 15));
	int4_pack_row(q, k, words);
	return false;
}

bool design_int8_row(const struct design *d, const struct random *base, size_t n, size_t k, int8_t *q, double *scale,
		     double *w)
{
	struct random own = stream(base, STREAM_W, n), *r = &own;
	if (d->codes == DESIGN_QUANTIZED) {
		normal_row(r, k, w);
		*scale = int8_quantize_row(w, k, q);
		return true;
	}
	*scale = (double)(float)group_scale(d, r, TYPE_F32, 127, n, 0);
	if (d->codes == DESIGN_UNIFORM) {	/* eight codes a draw; -128 becomes -127, as the quantizer has it */
		for (size_t i = 0; i < k; i += 8) {
			uint64_t eight = random_u64(r);
			for (size_t b = 0; b < 8 && i + b < k; b++) {
				int8_t byte = (int8_t)(eight >> 8 * b);
				q[i + b] = byte == -128 ? -127 : byte;
			}
		}
		return false;
	}
	for (size_t i = 0; i < k; i++)
		q[i] = (int8_t)(d->codes == DESIGN_MIRRORED && i > k - 1 - i ? q[k - 1 - i] : code(d, r, i, -128, 127));
	return false;
}

double quantization_error(const double *y_float, const double *y, size_t count)
{
	double off = 0, size = 0;
	for (size_t i = 0; i < count; i++) {
		off += (y_float[i] - y[i]) * (y_float[i] - y[i]);
		size += y_float[i] * y_float[i];
	}
	return sqrt(off / size);
}
