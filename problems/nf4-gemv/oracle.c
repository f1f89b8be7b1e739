/* nf4-gemv: inputs by design, and y = W x in float64 from the stored codes, the table, and the twice quantized absmax. */
#include "bound.h"
#include "design.h"
#include "element.h"
#include "format_nf4.h"

#include <math.h>
#include <stdlib.h>

enum { OVERFLOW_PEAK = 255 };			/* 2048 x 255 < 2^24 */
enum { STREAM_CODES = 2, STREAM_INDEX, STREAM_SCALE, STREAM_WEIGHTS };

/* How codes and absmax of a shared design are made; its activations come from reference/design.c. */
enum codes { QUANTIZED, UNIFORM, ENDS /* -1, 0 and 1 */, MIRRORED /* rows of 0 and 1 */, LOWEST, HIGHEST, ALTERNATING };
enum absmax { TYPICAL, WHOLE, ONE, GRID, SIGNED, SOME_ZERO, TINY };
static const struct {
	const char *keyword;
	enum codes codes;
	enum absmax absmax;
} designs[] = {
	{"normal", QUANTIZED, TYPICAL}, {"shifted", QUANTIZED, TYPICAL}, {"outliers", QUANTIZED, TYPICAL},
	{"uniform", UNIFORM, TYPICAL}, {"one-hot", UNIFORM, TYPICAL}, {"edges", UNIFORM, TYPICAL},
	{"exact", ENDS, WHOLE},			/* absmax in quarters: every order gives the same bits */
	{"overflow", MIRRORED, ONE},		/* partial sums pass 65504, the answer is small */
	{"codes-lowest", LOWEST, TYPICAL}, {"codes-highest", HIGHEST, TYPICAL}, {"codes-alternating", ALTERNATING, TYPICAL},
	{"scale-grid", UNIFORM, GRID},		/* neighbouring blocks, and groups of blocks, are of different size */
	{"negative-scales", UNIFORM, SIGNED}, {"zero-groups", UNIFORM, SOME_ZERO},
	{"tiny-scales", UNIFORM, TINY},		/* absmax below what FP16 holds with all its bits */
};

static double *doubles(size_t n)
{
	double *p = malloc((n ? n : 1) * sizeof *p);
	if (!p)
		abort();
	return p;
}

static size_t design(const struct problem_case *c)
{
	for (size_t i = 0; i < sizeof designs / sizeof *designs; i++)
		if (problem_data(c, designs[i].keyword))
			return i;
	problem_unknown_data(c);
}

static double between(struct random *r, double low, double high)
{
	return low + (high - low) * random_uniform(r);
}

static int whole(struct random *r, int low, int high)	/* inclusive */
{
	return low + (int)random_below(r, (uint32_t)(high - low + 1));
}

static void random_bytes(struct random *r, size_t n, uint8_t *bytes)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t eight = random_u64(r);
		for (size_t j = i; j < i + 8 && j < n; j++, eight >>= 8)
			bytes[j] = (uint8_t)eight;
	}
}

/* Codes of rows whose second half mirrors the first, most of them 1, the others 0. */
static void mirrored_row(struct random *r, size_t k, uint8_t *bytes)
{
	for (size_t i = 0; i < k / 4; i++) {
		const uint8_t first = random_below(r, 4) ? 15 : 7, second = random_below(r, 4) ? 15 : 7;
		bytes[i] = (uint8_t)(first << 4 | second);
		bytes[k / 2 - 1 - i] = (uint8_t)(second << 4 | first);
	}
}

static void make_codes(enum codes codes, const struct random *base, size_t n, size_t k, uint8_t *bytes)
{
	static const uint8_t ends[] = {0, 7, 15};
	static const uint8_t fixed[] = {[LOWEST] = 0x00, [HIGHEST] = 0xff, [ALTERNATING] = 0x0f};
	for (size_t row = 0; row < n; row++) {		/* a stream a row: K may be any multiple of eight */
		struct random own = random_fork(base, (uint64_t)STREAM_CODES << 56 | row), *r = &own;
		uint8_t *b = bytes + row * (k / 2);
		if (codes == UNIFORM)
			random_bytes(r, k / 2, b);
		else if (codes == MIRRORED)
			mirrored_row(r, k, b);
		else
			for (size_t i = 0; i < k / 2; i++)
				b[i] = codes == ENDS ? (uint8_t)(ends[random_below(r, 3)] << 4 | ends[random_below(r, 3)]) : fixed[codes];
	}
}

/* One entry of the map.  It is an input: a kernel that takes it for granted fails where it is not the dynamic map. */
static double map_entry(enum absmax absmax, size_t i, double dynamic)
{
	switch (absmax) {
	case WHOLE:
		return (double)(i * 37 % 16) - 4;
	case GRID:
		return ldexp(1, (int)(i * 5 % 11) - 5);
	default:
		return dynamic;
	}
}

static double group_scale(enum absmax absmax, struct random *r, size_t group)
{
	switch (absmax) {
	case WHOLE:
		return ldexp(1, whole(r, -2, 0));
	case ONE:
		return 0;
	case GRID:
		return ldexp(1, (int)(group * 3 % 5) - 2);
	case SOME_ZERO:
		return group % 3 == 1 ? 0 : between(r, 1, 2);
	case TINY:
		return between(r, 0.3, 0.6) * 0x1p-22;
	default:
		return between(r, 0.8, 1.6);
	}
}

static double make_offset(enum absmax absmax, struct random *r)
{
	switch (absmax) {
	case WHOLE:
		return whole(r, 1, 32) * 0.25;
	case ONE:
		return 1;
	case GRID:
	case SOME_ZERO:
		return 0;
	case SIGNED:
		return between(r, -0.2, 0.2);
	case TINY:
		return between(r, 1, 1.5) * 0x1p-22;
	default:
		return between(r, 2, 3);
	}
}

static void make_absmax(enum absmax absmax, const struct random *base, size_t blocks, uint8_t *index, double map[NF4_MAP],
			double *scale, double *offset)
{
	struct random bytes = random_fork(base, STREAM_INDEX), r = random_fork(base, STREAM_SCALE);
	*offset = make_offset(absmax, &r);
	for (size_t i = 0; i < NF4_MAP; i++)
		map[i] = map_entry(absmax, i, map[i]);
	random_bytes(&bytes, blocks, index);
	for (size_t b = 0; b < blocks; b++)
		if (absmax == GRID)
			index[b] = (uint8_t)b;
		else if (absmax == SOME_ZERO && index[b] % 3 == 0)
			index[b] = 127;
	for (size_t g = 0; g * NF4_GROUP < blocks; g++)
		scale[g] = group_scale(absmax, &r, g);
}

/* Float weights through the real quantizer; returns y of those, for the quantization error. */
static double *quantized(struct problem_case *c, size_t n, size_t k, uint8_t *codes, uint8_t *index, const double map[NF4_MAP],
			 double *scale, double *offset, const double *x)
{
	const size_t blocks = (n * k + NF4_BLOCK - 1) / NF4_BLOCK;
	double *w = doubles(n * k), *absmax = doubles(blocks), *y = doubles(n);
	struct random r = random_fork(&c->random, STREAM_WEIGHTS);
	for (size_t i = 0; i < n * k; i++)
		w[i] = (double)(float)random_normal(&r);
	nf4_quantize(w, n * k, codes, absmax);
	nf4_quantize_absmax(absmax, blocks, map, index, scale, offset);
	for (size_t row = 0; row < n; row++)
		y[row] = bound_dot(w + row * k, w + row * k, x, k).y;
	free(w);
	free(absmax);
	return y;
}

void generate(struct problem_case *c)
{
	const size_t d = design(c), n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	struct tensor *codes = problem_tensor(c, "Wq"), *index = problem_tensor(c, "absmax_q"), *scales = problem_tensor(c, "absmax_scale"),
		      *activations = problem_tensor(c, "x");
	double *x = doubles(k), *scale = doubles(scales->count), map[NF4_MAP], offset;
	design_activations(design_of(c), &c->random, 0, k, OVERFLOW_PEAK, x);
	element_store(activations, 0, k, x);
	element_load(activations, 0, k, x);
	nf4_dynamic_map(map);
	if (designs[d].codes == QUANTIZED) {
		c->package = quantized(c, n, k, codes->data, index->data, map, scale, &offset, x);
	} else {
		make_codes(designs[d].codes, &c->random, n, k, codes->data);
		make_absmax(designs[d].absmax, &c->random, index->count, index->data, map, scale, &offset);
	}
	element_store(problem_tensor(c, "absmax_map"), 0, NF4_MAP, map);
	element_store(scales, 0, scales->count, scale);
	element_store(problem_tensor(c, "offset"), 0, 1, &offset);
}

/* The table may be rounded to f16, and nothing else: that is G2, by code (nf4_table_term).  Weights are not, so R2 is
 * taken at f32's u: (2^-24 / 2^-11)^2. */
static double bound_of_row(const struct bound_terms *dot, double table_term, size_t k)
{
	const struct bound_rule rule = {.out = TYPE_F16, .weights = TYPE_F16};
	struct bound_terms t = *dot;
	t.r2 *= 0x1p-26;
	t.g2 = table_term;
	return bound_of(&rule, &t, k);
}

void expect(struct problem_case *c)
{
	const struct bound_rule rule = {.out = TYPE_F16, .weights = TYPE_F16};
	const struct design *shared = design_of(c);
	const size_t n = (size_t)problem_param(c, "N"), k = (size_t)problem_param(c, "K");
	const struct tensor *scales = problem_tensor(c, "absmax_scale");
	struct tensor *y = problem_tensor(c, "y");
	double *x = doubles(k), *w = doubles(k), *parts = doubles(k), *scale = doubles(scales->count), map[NF4_MAP];
	struct nf4 f = {.codes = problem_tensor(c, "Wq")->data, .index = problem_tensor(c, "absmax_q")->data, .map = map, .scale = scale};
	element_load(problem_tensor(c, "x"), 0, k, x);
	element_load(problem_tensor(c, "absmax_map"), 0, NF4_MAP, map);
	element_load(scales, 0, scales->count, scale);
	element_load(problem_tensor(c, "offset"), 0, 1, &f.offset);
	for (size_t row = 0; row < n; row++) {
		nf4_expand(&f, row * k, k, w, parts);
		const struct bound_terms t = bound_dot(w, parts, x, k);
		y->expected[row] = t.y;
		y->bound[row] = bound_of_row(&t, nf4_table_term(&f, row * k, k, w, x), k);
		if (shared->exact)
			bound_exact(&rule, t.y, &y->expected[row], &y->bound[row]);
	}
	if (c->package)
		c->quantization_error = quantization_error(c->package, y->expected, n);
}
