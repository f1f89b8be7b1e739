/* Mutants of what kernels of quantized formats are made of: thread indices, shuffles, sums, scales, zero points, arguments. */
#include "mutant.h"

#include <string.h>

static bool device_code(const struct source *s, unsigned i)
{
	return s->functions[s->in[i]].device;
}

/* ---- sums in FP16 ---- */

/* judge_half() is of the prelude that mutants are compiled with (mutate_grade.c). */
static void half_sum(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	const struct variable *v = s->flags[i] & SOURCE_START && source_name(s, i) ? source_variable(s, i) : NULL;
	unsigned end = v ? source_statement_end(s, i) : s->t.n, k = i;
	if (end >= s->t.n || !device_code(s, i))
		return;
	while (k < end && !(s->t.list[k].parent == s->t.list[i].parent && source_in(s, k, "= += -= ++ --")))
		k++;
	bool adds = source_is(s, k, "+="), member = k >= i + 3 && source_is(s, k - 2, "."), again = false;
	if (!adds && !source_is(s, k, "="))
		return;
	if (strcmp(v->type, "float") && !(member && (!strcmp(v->type, "float2") || !strcmp(v->type, "float4"))))
		return;
	for (unsigned r = k + 1; r < end; r++)
		again |= source_is(s, r, v->name);
	const char *left = source_text(s, i, k), *right = source_text(s, k + 1, end);
	if (adds)
		mutant_add(l, MUTANT_OP_accumulate, i, end, "%s = judge_half(%s + (%s))", left, left, right);
	else if (again)
		mutant_add(l, MUTANT_OP_accumulate, i, end, "%s = judge_half(%s)", left, right);
}

/* ---- threads ---- */

static void thread_index(struct mutant_list *l, unsigned i)
{
	static const char *const pairs[][2] = {{"threadIdx", "blockIdx"}, {"blockIdx", "threadIdx"}, {"blockDim", "gridDim"}, {"gridDim", "blockDim"}};
	const struct source *s = mutant_source(l);
	for (unsigned k = 0; k < 4; k++)
		if (source_is(s, i, pairs[k][0]) && source_is(s, i + 1, ".") && source_in(s, i + 2, "x y z")) {
			mutant_add(l, MUTANT_OP_builtin, i, i + 1, "%s", pairs[k][1]);
			mutant_add(l, MUTANT_OP_builtin, i + 2, i + 3, "%s", source_is(s, i + 2, "x") ? "y" : "x");
		}
}

/* The neighbour in a float4, char4, half2. */
static void component(struct mutant_list *l, unsigned i)
{
	static const char *const pairs[][2] = {{"x", "y"}, {"y", "x"}, {"z", "w"}, {"w", "z"}};
	const struct source *s = mutant_source(l);
	if (i < 2 || !source_is(s, i - 1, ".") || !device_code(s, i) || source_in(s, i - 2, "threadIdx blockIdx blockDim gridDim"))
		return;
	for (unsigned k = 0; k < 4; k++)
		if (source_is(s, i, pairs[k][0]))
			mutant_add(l, MUTANT_OP_component, i, i + 1, "%s", pairs[k][1]);
}

enum { ARGUMENTS = 32 };

struct arguments {
	unsigned n, first[ARGUMENTS], end[ARGUMENTS];
};

/* Of the call whose ( is at i. */
static void read_arguments(const struct source *s, unsigned i, struct arguments *out)
{
	unsigned close = s->t.list[i].match, from = i + 1;
	out->n = 0;
	while (from < close && out->n < ARGUMENTS) {
		unsigned to = source_until(s, from, ",");
		out->first[out->n] = from;
		out->end[out->n++] = to;
		if (!source_is(s, to, ","))
			return;
		from = to + 1;
	}
}

static void shuffle(struct mutant_list *l, unsigned i)
{
	static const char *const turned[][2] = {{"__shfl_down_sync", "__shfl_up_sync"}, {"__shfl_up_sync", "__shfl_down_sync"}, {"__shfl_xor_sync", "__shfl_up_sync"}};
	const struct source *s = mutant_source(l);
	struct arguments a;
	if (!source_in(s, i, "__shfl_sync __shfl_down_sync __shfl_up_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync __reduce_add_sync "
			     "__reduce_max_sync __reduce_min_sync __syncwarp") || !source_is(s, i + 1, "("))
		return;
	read_arguments(s, i + 1, &a);
	if (a.n && a.end[0] == a.first[0] + 1)
		mutant_add(l, MUTANT_OP_shuffle, a.first[0], a.end[0], "%s", "0x0000ffff");
	if (a.n >= 3)
		mutant_add(l, MUTANT_OP_shuffle, a.first[2], a.end[2], "(%s) + 1", source_text(s, a.first[2], a.end[2]));
	for (unsigned k = 0; k < 3; k++)
		if (source_is(s, i, turned[k][0]))
			mutant_add(l, MUTANT_OP_shuffle, i, i + 1, "%s", turned[k][1]);
}

/* ---- arguments ---- */

static const struct variable *plain_variable(const struct source *s, unsigned first, unsigned end)
{
	const struct variable *v = end == first + 1 && source_name(s, first) ? source_variable(s, first) : NULL;
	return v && !v->dims ? v : NULL;
}

static void swapped_arguments(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	struct arguments a;
	unsigned name = i ? i - 1 : s->t.n;
	if (!source_is(s, i, "(") || s->flags[i] & SOURCE_DECLARATOR || (!source_name(s, name) && !source_is(s, name, ">>>")) ||
	    source_in(s, name, "min max fminf fmaxf fma fmaf __fmaf_rn __hmul __hadd __hmul2 __hadd2 __hfma2 __hfma"))
		return;
	read_arguments(s, i, &a);
	for (unsigned k = 0; k + 1 < a.n; k++) {
		const struct variable *x = plain_variable(s, a.first[k], a.end[k]), *y = plain_variable(s, a.first[k + 1], a.end[k + 1]);
		if (x && y && x != y && !strcmp(x->type, y->type))
			mutant_add(l, MUTANT_OP_argument, a.first[k], a.end[k + 1], "%s, %s", y->name, x->name);
	}
}

/* Another pointer of the same type in its place: the next parameter that is one. */
static void other_pointer(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	const struct variable *v = source_name(s, i) && device_code(s, i) ? source_variable(s, i) : NULL;
	unsigned before = source_before(s, i);
	if (!v || !v->parameter || !strchr(v->type, '*') || source_in(s, before, ". -> ::"))
		return;
	unsigned at = (unsigned)(v - s->variables);
	for (unsigned n = 1; n < s->n_variables; n++) {
		const struct variable *o = &s->variables[(at + n) % s->n_variables];
		if (o->parameter && o->function == v->function && strcmp(o->name, v->name) && !strcmp(o->type, v->type)) {
			mutant_add(l, MUTANT_OP_argument, i, i + 1, "%s", o->name);
			return;
		}
	}
}

/* ---- scales and zero points ---- */

static bool named(const struct source *s, unsigned first, unsigned end, const char *part, const char *words)
{
	for (unsigned i = first; i < end; i++) {
		const struct token *k = &s->t.list[i];
		if (!source_name(s, i))
			continue;
		if (source_in(s, i, words))
			return true;
		for (size_t at = 0; at + strlen(part) <= k->size; at++)
			if (!strncasecmp(s->t.text + k->at + at, part, strlen(part)))
				return true;
	}
	return false;
}

static bool is_scale(const struct source *s, unsigned first, unsigned end)
{
	return named(s, first, end, "scale", "s s0 s1 sc absmax amax");
}

static bool is_zero_point(const struct source *s, unsigned first, unsigned end)
{
	return named(s, first, end, "zero", "z z0 z1 zp");
}

static bool is_integer(const struct source *s, unsigned first, unsigned end)
{
	const struct variable *v = plain_variable(s, first, end);
	return v && !strstr(v->type, "float") && !strstr(v->type, "half") && !strstr(v->type, "bfloat") && strcmp(v->type, "auto");
}

static void scale(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	if (!source_is(s, i, "*") || !source_binary(s, i) || !device_code(s, i))
		return;
	unsigned left = source_operand_start(s, i - 1), end = source_operand_end(s, i + 1);
	if (end > i + 1 && !source_is(s, i + 1, "(") && is_scale(s, i + 1, end) && !is_integer(s, i + 1, end)) {
		mutant_add(l, MUTANT_OP_scale, i, end, "%s", "");
		mutant_add(l, MUTANT_OP_scale, i + 1, end, "%s * %s", source_text(s, i + 1, end), source_text(s, i + 1, end));
	}
	if (!source_is(s, left, "(") && is_scale(s, left, i) && !is_integer(s, left, i))
		mutant_add(l, MUTANT_OP_scale, left, i + 1, "%s", "");
}

static void shifted(struct mutant_list *l, unsigned first, unsigned end)
{
	const struct source *s = mutant_source(l);
	if (first >= end || source_is(s, first, "(") || !is_zero_point(s, first, end))
		return;
	const char *text = source_text(s, first, end);
	mutant_add(l, MUTANT_OP_zero, first, end, "(%s + 1)", text);
	mutant_add(l, MUTANT_OP_zero, first, end, "(%s - 1)", text);
}

static void zero_point(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	if (!source_in(s, i, "+ - *") || !source_binary(s, i) || !device_code(s, i))
		return;
	unsigned end = source_operand_end(s, i + 1);
	shifted(l, source_operand_start(s, i - 1), i);
	shifted(l, i + 1, end);
	if (source_is(s, i, "-") && end > i + 1 && is_zero_point(s, i + 1, end))
		mutant_add(l, MUTANT_OP_zero, i, end, "%s", "");
}

static void extreme(struct mutant_list *l, unsigned i)
{
	static const char *const pairs[][2] = {{"min", "max"}, {"max", "min"}, {"fminf", "fmaxf"}, {"fmaxf", "fminf"}, {"__hmin", "__hmax"}, {"__hmax", "__hmin"}};
	const struct source *s = mutant_source(l);
	for (unsigned k = 0; k < sizeof pairs / sizeof *pairs; k++)
		if (source_is(s, i, pairs[k][0]) && source_is(s, i + 1, "("))
			mutant_add(l, MUTANT_OP_extreme, i, i + 1, "%s", pairs[k][1]);
}

void mutants_of_cuda(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	if (!source_free(s, i))
		return;
	half_sum(l, i);
	thread_index(l, i);
	component(l, i);
	shuffle(l, i);
	swapped_arguments(l, i);
	other_pointer(l, i);
	scale(l, i);
	zero_point(l, i);
	extreme(l, i);
}
