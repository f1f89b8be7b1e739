/* Diagnosis of wrong outputs: see diagnosis.h.
 *
 * Theory of operation.  Cases are experiments: each was made so that some mistakes show in it and others do not.  The
 * rules below ask, in this order, what the wrong outputs look like, how large the error is, where the wrong elements lie,
 * which sizes the failing cases share, and which data keywords (reference/design.h) fail or pass.  The first rule that fits
 * speaks.  Nothing here knows a problem: names come from problem.json, and a keyword that the rules do not know is no
 * evidence.
 */
#include "diagnosis.h"

#include "../reference/design.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 256 };

struct evidence {
	const struct grading *g;
	const struct case_report *wrong[MOST], *right[MOST];
	unsigned n_wrong, n_right;
	char *out;
	size_t size;
};

__attribute__((format(printf, 2, 3)))
static bool say(const struct evidence *v, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(v->out, v->size, fmt, ap);
	va_end(ap);
	return true;
}

static void gather(struct evidence *v)
{
	for (unsigned i = 0; i < v->g->n_cases; i++) {
		const struct case_report *r = &v->g->cases[i];
		if (r->verdict == VERDICT_WA && r->pattern.wrong && v->n_wrong < MOST)
			v->wrong[v->n_wrong++] = r;
		else if (r->verdict == VERDICT_AC && r->ran && v->n_right < MOST)
			v->right[v->n_right++] = r;
	}
}

/* ---- cases of one keyword ---- */

static unsigned count(const struct case_report *const *list, unsigned n, const char *data)
{
	unsigned found = 0;
	for (unsigned i = 0; i < n; i++)
		found += !strcmp(list[i]->spec->data, data);
	return found;
}

static bool fails(const struct evidence *v, const char *data)
{
	return count(v->wrong, v->n_wrong, data) > 0;
}

static bool passes(const struct evidence *v, const char *data)
{
	return !fails(v, data) && count(v->right, v->n_right, data) > 0;
}

static bool only(const struct evidence *v, const char *data)
{
	return v->n_wrong == count(v->wrong, v->n_wrong, data);
}

static double error_of(const struct case_report *r)
{
	return isnan(r->pattern.error) ? INFINITY : r->pattern.error;
}

/* The largest relative error in cases of this keyword; 0 if there is none. */
static double error_in(const struct evidence *v, const char *data)
{
	double most = 0;
	for (unsigned i = 0; i < v->n_wrong; i++)
		if (!strcmp(v->wrong[i]->spec->data, data))
			most = fmax(most, error_of(v->wrong[i]));
	return most;
}

/* ---- what outputs look like ---- */

static bool everywhere(const struct evidence *v, bool (*is)(const struct case_report *r))
{
	for (unsigned i = 0; i < v->n_wrong; i++)
		if (!is(v->wrong[i]))
			return false;
	return true;
}

static bool somewhere(const struct evidence *v, bool (*is)(const struct case_report *r))
{
	for (unsigned i = 0; i < v->n_wrong; i++)
		if (is(v->wrong[i]))
			return true;
	return false;
}

static bool all_nan(const struct case_report *r) { return r->pattern.nan == r->pattern.count; }
static bool all_zero(const struct case_report *r) { return r->pattern.zero + r->pattern.nan > 0 && r->pattern.zero >= r->pattern.wrong; }
static bool any_nan(const struct case_report *r) { return r->pattern.nan > 0; }
static bool any_inf(const struct case_report *r) { return r->pattern.inf > 0; }
static bool constant(const struct case_report *r) { return r->pattern.constant; }
static bool transposed(const struct case_report *r) { return r->pattern.transposed; }
static bool swapped(const struct case_report *r) { return r->pattern.swapped; }
static bool unread(const struct case_report *r) { return *r->book.weights && r->book.weight_bytes > 0 && r->book.weight_passes == 0 && !r->gpu; }
static bool one_element(const struct case_report *r) { return r->pattern.count < 4; }

static bool constant_or_small(const struct case_report *r) { return constant(r) || one_element(r); }

/* Kinds of scales that fail alone. */
static bool odd_scales(const struct evidence *v)
{
	if (only(v, "negative-scales"))
		return say(v, "Only negative scales are wrong: the sign of a scale is lost.");
	return only(v, "tiny-scales") &&
	       say(v, "Only tiny scales are wrong: they are flushed to 0, or rounded where FP16 has few bits left.");
}

static bool looks(const struct evidence *v)
{
	if (everywhere(v, unread))
		return say(v, "%s is never read. Is the kernel's work launched at all, and does it use its arguments?", v->wrong[0]->book.weights);
	if (everywhere(v, all_nan))
		return say(v, "Every output is NaN: a division 0/0, inf - inf, or a sum that begins with something undefined.");
	if (everywhere(v, all_zero))
		return say(v, "Every wrong output is 0: a sum that is never stored, or a loop that makes no turn.");
	if (somewhere(v, constant) && everywhere(v, constant_or_small))
		return say(v, "All outputs of a case are the same value: what is stored does not depend on the element's index.");
	if (everywhere(v, transposed))
		return say(v, "The output holds the right values transposed: rows and columns are exchanged where it is stored.");
	if (everywhere(v, swapped))
		return say(v, "The right values stand in each other's places, two by two: the order of the pair that is stored.");
	return false;
}

static bool shifted(const struct evidence *v)
{
	int64_t by = 0;
	for (unsigned i = 0; i < v->n_wrong; i++) {
		const struct case_report *r = v->wrong[i];
		if (r->pattern.shift && (!by || r->pattern.shift == by))
			by = r->pattern.shift;
		else if (!one_element(r))
			return false;
	}
	return by && say(v, "Each output holds the value of its neighbour (%+lld): the index of the element that is stored, or of the row "
			 "that is read, is off by one.", (long long)by);
}

static bool factor(const struct evidence *v)
{
	double f = NAN;
	for (unsigned i = 0; i < v->n_wrong; i++) {
		double own = v->wrong[i]->pattern.factor;
		if (isnan(own) && one_element(v->wrong[i]))
			continue;
		if (isnan(own) || (!isnan(f) && fabs(own - f) > 0.02 * fabs(f)))
			return false;
		f = own;
	}
	return fabs(f - 1) > 0.02 && say(v, "Every wrong output is %.3g times what it should be: a factor that is missing or too many.", f);
}

/* ---- how large the error is ---- */

/* The largest, but in cases where any rounding is large: an answer that is small beside its terms, scales below FP16. */
static double largest_error(const struct evidence *v)
{
	static const char *const special[] = {"overflow", "exact", "tiny-scales"};
	double most = 0;
	for (unsigned i = 0; i < v->n_wrong; i++) {
		unsigned k = 0;
		while (k < 3 && strcmp(v->wrong[i]->spec->data, special[k]))
			k++;
		if (k == 3)
			most = fmax(most, error_of(v->wrong[i]));
	}
	return most;
}

/* Non-finite values come from FP16's range, or from a division; in a program that is all wrong they tell nothing. */
static bool non_finite(const struct evidence *v)
{
	if (!somewhere(v, any_inf) && !somewhere(v, any_nan))
		return false;
	if (only(v, "zero-groups"))
		return say(v, "NaN or infinity where a scale is 0: nothing may be divided by a scale.");
	if (only(v, "zero-rows"))
		return say(v, "NaN or infinity where a row of the activations is 0: 0/0.");
	return largest_error(v) < 0.05 &&
	       say(v, "Some outputs are infinite or NaN, the others nearly right: sums go beyond 65504, where FP16 ends. Accumulate in FP32.");
}

static bool rounding(const struct evidence *v)
{
	double e = largest_error(v);
	unsigned special = count(v->wrong, v->n_wrong, "exact") + count(v->wrong, v->n_wrong, "overflow");
	if (special == v->n_wrong && !passes(v, "normal"))
		return false;
	if (special == v->n_wrong)
		return say(v, "Right but where partial sums are large and the answer must be exact: something is summed or kept in FP16 (11 bits, up "
			   "to 65504). Accumulate in FP32.");
	if (!(e < 0.03))
		return false;
	if (error_in(v, "overflow") > 10 * e)
		return say(v, "The values are nearly right (error %.1g of them), and far worse where partial sums are large: sums are kept in FP16. "
			   "Accumulate in FP32.", e);
	return say(v, "The values are nearly right (error %.1g of them): something is rounded on the way that should not be, to FP16 (11 bits) or "
		   "BF16 (8 bits): an input, a weight, a partial sum or the output.", e);
}

/* ---- where wrong elements lie ---- */

/* What an index along dimension d of the wrong output is called: its size in problem.json. */
static const char *axis_name(const struct evidence *v, unsigned d)
{
	const struct problem *p = v->g->problem;
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (p->arguments[i].role == ROLE_OUTPUT && d < p->arguments[i].dims)
			return p->arguments[i].shape[d];
	return "?";
}

static bool last_only(const struct evidence *v, unsigned d)
{
	bool large = false;
	for (unsigned i = 0; i < v->n_wrong; i++) {
		const struct pattern_axis *a = &v->wrong[i]->pattern.axes[d];
		if (d >= v->wrong[i]->pattern.dims || a->first + 1 != a->size)
			return false;
		large |= a->size > 1;
	}
	return large;
}

/* The least index that is ever wrong, if it is the same where the dimension reaches so far, and those cases are right that don't. */
static uint64_t first_at(const struct evidence *v, unsigned d)
{
	uint64_t first = UINT64_MAX;
	for (unsigned i = 0; i < v->n_wrong; i++) {
		if (d >= v->wrong[i]->pattern.dims)
			return 0;
		if (v->wrong[i]->pattern.axes[d].first < first)
			first = v->wrong[i]->pattern.axes[d].first;
	}
	unsigned same = 0;
	for (unsigned i = 0; i < v->n_wrong; i++)
		same += v->wrong[i]->pattern.axes[d].first == first;
	return first >= 2 && same * 2 > v->n_wrong && v->n_wrong > 1 ? first : 0;
}

/* All wrong indices are `rest` modulo `step`, or 0. */
static unsigned step_of(const struct evidence *v, unsigned d, unsigned *rest)
{
	uint32_t seen = 0;
	for (unsigned i = 0; i < v->n_wrong; i++) {
		if (d >= v->wrong[i]->pattern.dims)
			return 0;
		seen |= v->wrong[i]->pattern.axes[d].residues;
	}
	if (__builtin_popcount(seen) < 2)
		return 0;
	for (unsigned step = 16; step > 1; step /= 2)
		for (*rest = 0; *rest < step; ++*rest) {
			uint32_t allowed = 0;
			for (unsigned i = *rest; i < 32; i += step)
				allowed |= 1u << i;
			if (!(seen & ~allowed))
				return step;
		}
	return 0;
}

static bool places(const struct evidence *v)
{
	for (unsigned d = 0; d < PROBLEM_MAX_DIMS; d++) {
		unsigned rest;
		uint64_t first;
		if (last_only(v, d))
			return say(v, "Only the last index along %s is wrong: the end of that loop, or the guard of the last block.", axis_name(v, d));
		if ((first = first_at(v, d)))
			return say(v, "Along %s only indices from %llu on are wrong: what is right for the first %llu is repeated or left out after "
				   "them.", axis_name(v, d), (unsigned long long)first, (unsigned long long)first);
		unsigned step = step_of(v, d, &rest);
		if (step)
			return say(v, "Along %s only indices that are %u modulo %u are wrong: one place of the tile or vector of %u is computed "
				   "differently.", axis_name(v, d), rest, step, step);
	}
	return false;
}

/* ---- sizes ---- */

static int64_t value(const struct case_report *r, const char *expression)
{
	int64_t x;
	struct err e;
	return sizes_eval(expression, &r->sizes, &x, &e) < 0 ? -1 : x;
}

/* The inputs that have this expression in their shape: "scales, zeros". */
static void inputs_with(const struct problem *p, const char *expression, char *text, size_t size)
{
	size_t n = 0;
	*text = 0;
	for (unsigned i = 0; i < p->n_arguments; i++)
		for (unsigned d = 0; d < p->arguments[i].dims && p->arguments[i].role == ROLE_INPUT; d++)
			if (!strcmp(p->arguments[i].shape[d], expression) && n < size)
				n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", p->arguments[i].name);
}

/* One term of the sum, or few outputs, are all that such a case has: that it is right says little. */
static bool lucky(const struct case_report *r)
{
	return !strcmp(r->spec->data, "one-hot") || r->elements < 4;
}

/* Right where there is one of something, wrong where there are more. */
static bool splits_at_one(const struct evidence *v, const char *expression)
{
	for (unsigned i = 0; i < v->n_wrong; i++)
		if (value(v->wrong[i], expression) <= 1)
			return false;
	unsigned told = 0;
	for (unsigned i = 0; i < v->n_right; i++) {
		if (value(v->right[i], expression) != 1 && !lucky(v->right[i]))
			return false;
		told += !lucky(v->right[i]);
	}
	return told > 0 && v->n_wrong > 1;
}

static bool extents(const struct evidence *v)
{
	const struct problem *p = v->g->problem;
	char names[120];
	for (unsigned i = 0; i < p->n_arguments; i++)
		for (unsigned d = 0; d < p->arguments[i].dims && p->arguments[i].role == ROLE_INPUT; d++) {
			const char *x = p->arguments[i].shape[d];
			if (!splits_at_one(v, x))
				continue;
			inputs_with(p, x, names, sizeof names);
			return say(v, "Right wherever %s is 1, wrong wherever it is more: the index along that dimension of %s.", x, names);
		}
	return false;
}

/* Wrong only where `name` is no multiple of `step`; wherever it is one, right. */
static bool splits_at_multiple(const struct evidence *v, const char *name, int64_t step)
{
	unsigned multiples = 0, others = 0;
	for (unsigned i = 0; i < v->n_wrong; i++)
		if (value(v->wrong[i], name) % step == 0)
			return false;
	for (unsigned i = 0; i < v->n_right; i++) {
		multiples += value(v->right[i], name) % step == 0;
		others += value(v->right[i], name) % step != 0;
	}
	return v->n_wrong > 1 && multiples > 1 && others <= multiples / 3;
}

/* The product of n expressions. */
static int64_t extent(const struct case_report *r, const char *const *expressions, unsigned n)
{
	int64_t x = 1;
	for (unsigned i = 0; i < n; i++)
		x *= value(r, expressions[i]);
	return x;
}

/* Right wherever that product is at most *right, wrong wherever it is at least *wrong. */
static bool splits_at_size(const struct evidence *v, const char *const *expressions, unsigned n, int64_t *right, int64_t *wrong)
{
	*right = 0;
	*wrong = INT64_MAX;
	for (unsigned i = 0; i < v->n_wrong; i++) {
		int64_t x = extent(v->wrong[i], expressions, n);
		*wrong = x < *wrong ? x : *wrong;
	}
	for (unsigned i = 0; i < v->n_right; i++) {
		int64_t x = extent(v->right[i], expressions, n);
		*right = x > *right ? x : *right;
	}
	return v->n_right > 2 && *right < *wrong;
}

static bool multiples(const struct evidence *v)
{
	const struct problem *p = v->g->problem;
	for (unsigned i = 0; i < p->n_names; i++)
		for (int64_t step = 2; step <= 1024; step *= 2)
			if (splits_at_multiple(v, p->names[i], step))
				return say(v, "Wrong only where %s is no multiple of %lld: look at the tail, the last turn of the loop over %s.",
					   p->names[i], (long long)step, p->names[i]);
	return false;
}

/* By one size alone. */
static bool splits_at_a_name(const struct evidence *v, const char **name, int64_t *right, int64_t *wrong)
{
	const struct problem *p = v->g->problem;
	for (unsigned i = 0; i < p->n_names; i++)
		if (splits_at_size(v, (const char *const[]){p->names[i]}, 1, right, wrong)) {
			*name = p->names[i];
			return true;
		}
	return false;
}

/* What no size does alone, many cases do not do by chance. */
static bool large_tensors(const struct evidence *v)
{
	const struct problem *p = v->g->problem;
	const char *name;
	int64_t right, wrong;
	if (v->n_right < 6 || v->n_wrong < 2 || splits_at_a_name(v, &name, &right, &wrong))
		return false;
	for (unsigned i = 0; i < p->n_arguments; i++) {
		const struct argument *a = &p->arguments[i];
		if (a->role == ROLE_INPUT && a->dims > 1 && splits_at_size(v, a->shape, a->dims, &right, &wrong))
			return say(v, "Right while %s has at most %lld elements, wrong where it has %lld or more: an offset that is too small for it.",
				   a->name, (long long)right, (long long)wrong);
	}
	return false;
}

static bool thresholds(const struct evidence *v)
{
	const char *name;
	int64_t right, wrong;
	if (!splits_at_a_name(v, &name, &right, &wrong))
		return false;
	return say(v, "Right up to %s=%lld, wrong from %s=%lld on: an offset, a counter or a buffer that is too small for it, or work "
		   "that is never given to anyone.", name, (long long)right, name, (long long)wrong);
}

/* ---- keywords ---- */

static bool absent(const struct evidence *v, const char *data)
{
	return !count(v->wrong, v->n_wrong, data) && !count(v->right, v->n_right, data);
}

static bool codes(const struct evidence *v)
{
	bool low = passes(v, "codes-lowest"), high = passes(v, "codes-highest");
	bool equal = (low && high) || (low && absent(v, "codes-highest")) || (high && absent(v, "codes-lowest"));
	/* Codes that meet the wrong x are wrong nearly everywhere: where most is right, it is not that codes differ. */
	equal = equal && v->n_wrong > v->n_right / 2;
	if (equal && passes(v, "codes-alternating") && fails(v, "normal"))
		return say(v, "Right where codes are all equal, or alternate; wrong where they differ otherwise: codes meet the wrong x. Look at the "
			   "order of the codes in a word: even and odd places are kept apart, but in the wrong order.");
	if (equal && fails(v, "normal"))
		return say(v, "Right where all codes are equal, wrong where they differ: codes meet the wrong x. Look at the order of the codes in a "
			   "word (which bits hold the first?), of the words, and the stride of a row.");
	if (low && fails(v, "codes-highest"))
		return say(v, "Right where every code is the lowest, wrong where every code is the highest: a code whose top bit is set is read "
			   "wrong. Look for sign extension, a shift of a signed word, a missing mask.");
	if (high && fails(v, "codes-lowest"))
		return say(v, "Right where every code is the highest, wrong where every code is the lowest: the sign of a code, or the offset that is "
			   "taken off it.");
	return false;
}

static bool scales(const struct evidence *v)
{
	double grid = error_in(v, "scale-grid"), plain = error_in(v, "normal"), shifted = error_in(v, "shifted");
	return grid > 0.1 && grid > 2.5 * plain && !(shifted > grid) &&
	       say(v, "Far worse where neighbouring scales differ much: is each scale applied once, and are it and the zero point those of the "
			  "right group and the right row?");
}

/* A sum of few terms shows the loss of one, which is lost among many. */
static bool single_terms(const struct evidence *v)
{
	double few = fmax(error_in(v, "edges"), error_in(v, "one-hot")), plain = error_in(v, "normal");
	if (few > 0.1 && few > 3 * plain)
		return say(v, "Far worse where x is 0 but at a few places (the first, the last, those beside the borders of words and groups): a term "
			   "of the sum is left out or misplaced. Look at the ends of the loop over the sum.");
	return false;
}

static bool zero_points(const struct evidence *v)
{
	double mean = error_in(v, "shifted"), plain = error_in(v, "normal");
	bool low = passes(v, "zeros-lowest"), high = passes(v, "zeros-highest");
	if (low && fails(v, "zeros-highest"))
		return say(v, "Right where every zero point is the lowest, wrong otherwise: the zero point is not subtracted, or clipped.");
	if (high && fails(v, "zeros-lowest"))
		return say(v, "Right where every zero point is the highest, wrong otherwise: the zero point.");
	if (mean > 0.02 && mean > 2.5 * plain)
		return say(v, "Far worse where the mean of x is not 0: each weight is off by a constant. Look at the zero point: its group, its "
			   "row, and the offset of the codes.");
	return false;
}

static const char *catches(const char *data)
{
	static const struct { const char *keyword, *catches; } table[] = {
#define X(keyword, x, codes, zeros, scales, exact, what) {keyword, what},
		DESIGNS(X)
#undef X
	};
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].keyword, data))
			return table[i].catches;
	return NULL;
}

/* One keyword fails, everything else is right. */
static bool single(const struct evidence *v)
{
	const char *data = v->wrong[0]->spec->data;
	if (count(v->wrong, v->n_wrong, data) < v->n_wrong || v->n_right < 3 || !catches(data))
		return false;
	return say(v, "Only cases of the kind \"%s\" are wrong. They are there for: %s.", data, catches(data));
}

static bool all_wrong(const struct evidence *v)
{
	uint64_t wrong = 0, elements = 0;
	for (unsigned i = 0; i < v->n_wrong; i++) {
		wrong += v->wrong[i]->pattern.wrong;
		elements += v->wrong[i]->pattern.count;
	}
	if (wrong * 20 < elements)
		return say(v, "Few elements are wrong (%llu of %llu): look at edges (the last row, the tail of a sum, borders of groups) and at a result "
			   "that is written twice.", (unsigned long long)wrong, (unsigned long long)elements);
	if (v->n_right * 4 < v->n_wrong)
		return say(v, "Nearly all is wrong, with large errors: check the layout first, with one row and one group (the smallest sample): which "
			   "word holds which code, the stride of a row, which lanes' sums are added up.");
	return false;
}

bool diagnose(const struct grading *g, char *out, size_t size)
{
	static bool (*const rules[])(const struct evidence *v) = {odd_scales, looks, shifted, factor, non_finite, rounding, places, extents, multiples, large_tensors, codes,
		scales, zero_points, single_terms, thresholds, single, all_wrong};
	struct evidence v = {.g = g, .out = out, .size = size};
	gather(&v);
	for (unsigned i = 0; v.n_wrong && i < sizeof rules / sizeof *rules; i++)
		if (rules[i](&v))
			return true;
	return false;
}
