/* Mutants of what is computed: arithmetic, bits, numbers, subscripts. */
#include "mutant.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char below_shift[] = "<< >> < > <= >= == != & | ^ && || ? : , = <<< >>>";

/* ---- operators ---- */

/* In the number of blocks of a launch: more of them than are needed are speed, and no mistake. */
static bool only_adds_blocks(const struct source *s, unsigned i)
{
	return s->flags[i] & SOURCE_GRID && source_in(s, i, "- /");
}

static void swapped(struct mutant_list *l, unsigned i)
{
	static const struct {
		const char *from, *to;
		enum mutant_operator operator;
		bool assigns;
	} swaps[] = {
		{"+", "-", MUTANT_OP_plus, false},   {"-", "+", MUTANT_OP_plus, false},	   {"+=", "-=", MUTANT_OP_plus, true},
		{"-=", "+=", MUTANT_OP_plus, true},  {"*", "/", MUTANT_OP_times, false},   {"/", "*", MUTANT_OP_times, false},
		{"*=", "/=", MUTANT_OP_times, true}, {"/=", "*=", MUTANT_OP_times, true},  {"&", "|", MUTANT_OP_bits, false},
		{"|", "&", MUTANT_OP_bits, false},   {"^", "|", MUTANT_OP_bits, false},	   {"<<", ">>", MUTANT_OP_bits, false},
		{">>", "<<", MUTANT_OP_bits, false},
	};
	const struct source *s = mutant_source(l);
	for (unsigned k = 0; k < sizeof swaps / sizeof *swaps; k++)
		if (source_is(s, i, swaps[k].from) && (swaps[k].assigns || source_binary(s, i)) && !only_adds_blocks(s, i))
			mutant_add(l, swaps[k].operator, i, i + 1, "%s", swaps[k].to);
}

static void remainder_dropped(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	unsigned end = source_operand_end(s, i + 1);
	if (source_is(s, i, "%") && source_binary(s, i) && end > i + 1)
		mutant_add(l, MUTANT_OP_remainder, i, end, "%s", "");
}

/* (N + 63) / 64 no longer rounds up. */
static void rounded_down(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	unsigned close = s->t.list[i].match;
	if (!source_is(s, i, "(") || close <= i || !source_is(s, close + 1, "/"))
		return;
	for (unsigned k = i + 1; k < close; k++)
		if (s->t.list[k].parent == i && source_is(s, k, "+") && source_binary(s, k)) {
			mutant_add(l, MUTANT_OP_round, k, close, "%s", "");
			return;
		}
}

static bool contains_number(const struct source *s, unsigned first, unsigned end, unsigned long divisor)
{
	for (unsigned i = first; i < end; i++) {
		unsigned long n = s->t.list[i].kind == TOKEN_NUMBER ? strtoul(s->t.text + s->t.list[i].at, NULL, 0) : 0;
		if (n && n % divisor == 0)
			return true;
	}
	return false;
}

/* The neighbour's nibble, or byte where a shift is by bytes. */
static void neighbour(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	if (!source_is(s, i, ">>") || !source_binary(s, i) || !s->functions[s->in[i]].device)
		return;
	unsigned end = source_until(s, i + 1, below_shift);
	if (end > i + 1)
		mutant_add(l, MUTANT_OP_shift, i + 1, end, "((%s) ^ %d)", source_text(s, i + 1, end), contains_number(s, i + 1, end, 8) ? 8 : 4);
}

static void subscript(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	unsigned end = s->t.list[i].match, before = source_before(s, i);
	bool number = end == i + 2 && s->t.list[i + 1].kind == TOKEN_NUMBER;
	if (!source_is(s, i, "[") || end <= i + 1 || number || s->flags[i] & SOURCE_DECLARATOR ||
	    (!source_name(s, before) && !source_in(s, before, ") ]")))
		return;
	const char *index = source_text(s, i + 1, end);
	bool plain = end == i + 2;
	mutant_add(l, MUTANT_OP_subscript, i + 1, end, plain ? "%s + 1" : "(%s) + 1", index);
	mutant_add(l, MUTANT_OP_subscript, i + 1, end, plain ? "%s - 1" : "(%s) - 1", index);
}

/* ---- numbers ---- */

struct number {
	bool real, hexadecimal;
	unsigned long long whole;
	double value;
	int digits;			/* of a hexadecimal number, as it is written */
	char suffix[8];
};

/* Of a literal's token; false: one that is not understood (binary, octal, digit separators, too large). */
static bool read_number(const struct source *s, unsigned i, struct number *out)
{
	char text[64], *end;
	const struct token *k = &s->t.list[i];
	if (k->kind != TOKEN_NUMBER || k->size >= sizeof text)
		return false;
	memcpy(text, s->t.text + k->at, k->size);
	text[k->size] = 0;
	*out = (struct number){.hexadecimal = !strncasecmp(text, "0x", 2)};
	out->real = !out->hexadecimal && strpbrk(text, ".eEfF") != NULL;
	errno = 0;
	if (out->real)
		out->value = strtod(text, &end);
	else if (out->hexadecimal || text[0] != '0' || !text[1] || strchr("uUlL", text[1]))
		out->whole = strtoull(text, &end, out->hexadecimal ? 16 : 10);
	else
		return false;
	if (errno || end == text || strlen(end) >= sizeof out->suffix || strspn(end, "uUlLfF") != strlen(end))
		return false;
	out->digits = out->hexadecimal ? (int)(end - text) - 2 : 0;
	snprintf(out->suffix, sizeof out->suffix, "%s", end);
	return true;
}

static void add_whole(struct mutant_list *l, enum mutant_operator o, unsigned i, const struct number *n, unsigned long long value)
{
	if (value == n->whole)
		return;
	if (n->hexadecimal)
		mutant_add(l, o, i, i + 1, "0x%0*llx%s", n->digits, value, n->suffix);
	else
		mutant_add(l, o, i, i + 1, "%llu%s", value, n->suffix);
}

static void add_real(struct mutant_list *l, unsigned i, const struct number *n, double value)
{
	char text[64];
	snprintf(text, sizeof text, "%.9g", value);
	bool point = strpbrk(text, ".e") != NULL;
	if (isfinite(value) && value != n->value)
		mutant_add(l, MUTANT_OP_constant, i, i + 1, value < 0 ? "(%s%s%s)" : "%s%s%s", text, point ? "" : ".0", n->suffix);
}

static bool beside_and(const struct source *s, unsigned i)
{
	unsigned a = source_before(s, i), b = source_after(s, i);
	bool left = source_is(s, b, "&") && source_binary(s, b) && !source_binary(s, a);
	return left || (source_is(s, a, "&") && source_binary(s, a)) || source_is(s, a, "&=");
}

/* The mask of lanes is the shuffle operator's. */
static bool is_lane_mask(const struct source *s, unsigned i)
{
	const struct token *k = &s->t.list[i];
	unsigned open = k->parent;
	if (open == i || i != open + 1 || !source_is(s, open, "(") || !open)
		return false;
	const struct token *name = &s->t.list[open - 1];
	return name->kind == TOKEN_NAME && name->size > 5 && !memcmp(s->t.text + name->at + name->size - 5, "_sync", 5);
}

static void number(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	struct number n;
	if (!read_number(s, i, &n) || is_lane_mask(s, i))
		return;
	if (n.real) {
		add_real(l, i, &n, n.value + 1);
		add_real(l, i, &n, n.value - 1);
		add_real(l, i, &n, 0);
		return;
	}
	if (beside_and(s, i)) {
		add_whole(l, MUTANT_OP_mask, i, &n, n.whole & n.whole >> 1);
		add_whole(l, MUTANT_OP_mask, i, &n, n.whole | n.whole << 1);
		return;
	}
	bool grid = s->flags[i] & SOURCE_GRID, less_is_more = grid && only_adds_blocks(s, source_before(s, i));
	if (n.whole && !less_is_more)
		add_whole(l, MUTANT_OP_constant, i, &n, n.whole - 1);
	if (!grid || less_is_more)
		add_whole(l, MUTANT_OP_constant, i, &n, n.whole + 1);
	if (!grid)
		add_whole(l, MUTANT_OP_constant, i, &n, 0);
}

void mutants_of_value(struct mutant_list *l, unsigned i)
{
	if (!source_free(mutant_source(l), i))
		return;
	swapped(l, i);
	remainder_dropped(l, i);
	rounded_down(l, i);
	neighbour(l, i);
	subscript(l, i);
	number(l, i);
}
