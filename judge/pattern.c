/* What a wrong output looks like: see pattern.h. */
#include "pattern.h"

#include "check.h"
#include "element.h"

#include <math.h>
#include <string.h>

enum { FEW = 4 };			/* wrong elements: with fewer, a pattern may be chance */

struct view {
	enum element_type type;
	const void *got;
	const double *expected, *bound;
	uint64_t count;
};

static double got(const struct view *v, uint64_t i)
{
	return element_value(v->type, v->got, i);
}

static bool right(const struct view *v, uint64_t i, uint64_t as)
{
	return check_ratio(got(v, i), v->expected[as], v->bound[as]) <= 1;
}

static void add_index(struct pattern *p, uint64_t element)
{
	for (unsigned d = p->dims; d-- > 0;) {
		struct pattern_axis *a = &p->axes[d];
		uint64_t at = element % a->size;
		element /= a->size;
		if (!a->residues || at < a->first)
			a->first = at;
		if (at > a->last)
			a->last = at;
		a->residues |= 1u << at % 32;
	}
}

/* Quotients of values near 0 tell nothing: only elements well above their bound are asked. */
static void find_factor(const struct view *v, struct pattern *p)
{
	double least = INFINITY, most = -INFINITY;
	uint64_t n = 0;
	for (uint64_t i = 0; i < v->count; i++) {
		double q = got(v, i) / v->expected[i];
		if (right(v, i, i) || !(fabs(v->expected[i]) > 500 * v->bound[i]))
			continue;
		if (!isfinite(q))
			return;
		least = fmin(least, q);
		most = fmax(most, q);
		n++;
	}
	if (n >= FEW && fabs(most - least) <= 0.01 * fabs(most))
		p->factor = (least + most) / 2;
}

static double relative_error(const struct view *v)
{
	double error = 0, whole = 0;
	for (uint64_t i = 0; i < v->count; i++) {
		double d = got(v, i) - v->expected[i];
		error += d * d;
		whole += v->expected[i] * v->expected[i];
	}
	return isfinite(error) && isfinite(whole) && whole > 0 ? sqrt(error / whole) : NAN;
}

static bool same_expected(const struct view *v)
{
	for (uint64_t i = 1; i < v->count; i++)
		if (v->expected[i] != v->expected[0])
			return false;
	return true;
}

/* Whether `where` maps each element to the one whose value it holds; a few may lie outside. */
static bool moved(const struct view *v, int64_t shift, bool swapped)
{
	uint64_t fit = 0, asked = 0, told = 0;
	for (uint64_t i = 0; i < v->count; i++) {
		int64_t as = swapped ? (int64_t)(i ^ 1) : (int64_t)i + shift;
		if (as < 0 || as >= (int64_t)v->count)
			continue;
		asked++;
		fit += right(v, i, (uint64_t)as);
		told += !right(v, i, i);
	}
	return told >= FEW && asked > FEW && fit == asked;
}

static void find_moves(const struct view *v, struct pattern *p)
{
	int64_t row = p->dims > 1 ? (int64_t)p->axes[p->dims - 1].size : 1;
	const int64_t shifts[] = {1, -1, row, -row};
	if (same_expected(v))
		return;
	for (unsigned i = 0; i < 4 && !p->shift; i++)
		if (moved(v, shifts[i], false))
			p->shift = shifts[i];
	p->swapped = moved(v, 0, true);
}

static void find_transpose(const struct view *v, struct pattern *p)
{
	uint64_t rows = p->axes[0].size, columns = p->axes[1].size;
	if (p->dims != 2 || rows < 2 || columns < 2)
		return;
	for (uint64_t r = 0; r < rows; r++)
		for (uint64_t c = 0; c < columns; c++)
			if (!right(v, c * rows + r, r * columns + c))
				return;
	p->transposed = true;
}

void pattern_of(enum element_type type, const void *data, const double *expected, const double *bound, const uint64_t *shape,
		unsigned dims, struct pattern *p)
{
	struct view v = {type, data, expected, bound, 1};
	bool constant = true;
	memset(p, 0, sizeof *p);
	p->factor = NAN;
	p->dims = dims;
	for (unsigned d = 0; d < dims; d++) {
		p->axes[d].size = shape[d];
		v.count *= shape[d];
	}
	p->count = v.count;
	for (uint64_t i = 0; i < v.count; i++) {
		double x = got(&v, i);
		p->nan += isnan(x);
		p->inf += isinf(x) && isfinite(expected[i]);
		p->zero += x == 0 && expected[i] != 0;
		constant &= x == got(&v, 0);
		if (right(&v, i, i))
			continue;
		p->wrong++;
		add_index(p, i);
	}
	if (!p->wrong)
		return;
	p->error = relative_error(&v);
	p->constant = constant && v.count >= FEW && !same_expected(&v);
	find_factor(&v, p);
	find_moves(&v, p);
	find_transpose(&v, p);
}
