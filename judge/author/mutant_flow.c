/* Mutants of what runs when: conditions, loops, guards, statements, barriers. */
#include "mutant.h"

#include <string.h>

static const char below_comparison[] = "&& || ? : , = == != < > <= >= & | ^";

/* ---- conditions ---- */

struct pair {
	const char *from, *to;
};

static const char *partner(const struct source *s, unsigned i, const struct pair *pairs, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		if (source_is(s, i, pairs[k].from))
			return pairs[k].to;
	return NULL;
}

static void comparison(struct mutant_list *l, unsigned i)
{
	static const struct pair bounds[] = {{"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"}};
	static const struct pair opposites[] = {{"<", ">="}, {"<=", ">"}, {">", "<="}, {">=", "<"}, {"==", "!="}, {"!=", "=="}};
	const struct source *s = mutant_source(l);
	const char *bound = partner(s, i, bounds, 4), *opposite = partner(s, i, opposites, 6);
	if (!opposite || !source_binary(s, i))
		return;
	if (bound)
		mutant_add(l, MUTANT_OP_bound, i, i + 1, "%s", bound);
	mutant_add(l, MUTANT_OP_negate, i, i + 1, "%s", opposite);
}

static void logic(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	if (source_in(s, i, "&& ||") && source_binary(s, i))
		mutant_add(l, MUTANT_OP_logic, i, i + 1, "%s", source_is(s, i, "&&") ? "||" : "&&");
}

/* Where the condition of the ? at i begins. */
static unsigned condition_start(const struct source *s, unsigned i)
{
	enum { FAR = 200 };
	unsigned k = i;
	while (k > 0 && i - k < FAR && !source_in(s, k - 1, "= ( [ { , ; ? : return += -= *= /= %= |= &= ^= <<< << }")) {
		k--;
		if (source_in(s, k, ") ]") && s->t.list[k].match < k)
			k = s->t.list[k].match;
	}
	return k;
}

static void both_ways(struct mutant_list *l, unsigned first, unsigned end)
{
	if (first >= end)
		return;
	mutant_add(l, MUTANT_OP_guard, first, end, "true");
	mutant_add(l, MUTANT_OP_guard, first, end, "false");
}

static void guard(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	const char *control = source_control(s, i);
	if (control && !strcmp(control, "if") && s->t.list[i].match > i)
		both_ways(l, i + 1, s->t.list[i].match);
	if (source_is(s, i, "?"))
		both_ways(l, condition_start(s, i), i);
}

/* ---- loops ---- */

/* The next `word` of a header that opens at `open`, from i on and before `end`, brackets inside left out; end: none. */
static unsigned find(const struct source *s, unsigned open, unsigned i, unsigned end, const char *words)
{
	for (; i < end; i++)
		if (s->t.list[i].parent == open && source_in(s, i, words) && !(s->flags[i] & SOURCE_TEMPLATE))
			return i;
	return end;
}

static bool is_number(const struct source *s, unsigned first, unsigned end)
{
	return end == first + 1 && s->t.list[first].kind == TOKEN_NUMBER;
}

static void start(struct mutant_list *l, unsigned open, unsigned first, unsigned end)
{
	const struct source *s = mutant_source(l);
	unsigned k = find(s, open, first, end, "=");
	if (k >= end)
		return;
	unsigned to = source_until(s, k + 1, ",");
	if (to > k + 1 && to <= end && !is_number(s, k + 1, to))
		mutant_add(l, MUTANT_OP_first, k + 1, to, "(%s) + 1", source_text(s, k + 1, to));
}

/* What a round of the loop adds: the text of S in "i += S", "2" for i++, whose tail is then that of pairs; NULL: something else. */
static const char *step_of(const struct source *s, unsigned open, unsigned first, unsigned end)
{
	unsigned k = find(s, open, first, end, "+=");
	if (k < end)
		return source_text(s, k + 1, source_until(s, k + 1, ","));
	return find(s, open, first, end, "++") < end ? "2" : NULL;
}

static void stop(struct mutant_list *l, unsigned open, unsigned first, unsigned end, const char *step)
{
	const struct source *s = mutant_source(l);
	for (unsigned k = find(s, open, first, end, "< <="); k < end; k = find(s, open, k + 1, end, "< <=")) {
		unsigned to = source_until(s, k + 1, below_comparison);
		if (!source_binary(s, k) || to <= k + 1 || to > end || is_number(s, k + 1, to))
			continue;
		const char *limit = source_text(s, k + 1, to);
		mutant_add(l, MUTANT_OP_last, k + 1, to, "(%s) - 1", limit);
		if (step)
			mutant_add(l, MUTANT_OP_tail, k + 1, to, "(%s) / (%s) * (%s)", limit, step, step);
	}
}

static void loop(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	const char *control = source_control(s, i);
	unsigned end = s->t.list[i].match;
	if (!control || strcmp(control, "for") || end <= i)
		return;
	unsigned first = find(s, i, i + 1, end, ";"), second = find(s, i, first + 1, end, ";");
	if (second >= end)
		return;		/* for (x : all) */
	start(l, i, i + 1, first);
	stop(l, i, first + 1, second, step_of(s, i, second + 1, end));
}

/* ---- statements ---- */

static bool mentions(const struct source *s, unsigned i, const char *word)
{
	return memmem(s->t.text + s->t.list[i].at, s->t.list[i].size, word, strlen(word)) != NULL;
}

/* Does it wait for other threads, or for memory? */
static bool is_barrier(const struct source *s, unsigned first, unsigned end)
{
	static const char *const names[] = {"__sync", "sync", "wait", "fence", "barrier", "commit"};
	static const char *const instructions[] = {"bar.", "barrier", "wait", "fence", "commit"};
	unsigned n = 0;
	for (unsigned i = first; i < end; i++) {
		bool called = s->t.list[i].kind == TOKEN_NAME && i + 1 < end && source_in(s, i + 1, "( <") && n++ == 0;
		for (unsigned k = 0; called && k < sizeof names / sizeof *names; k++)
			if (mentions(s, i, names[k]) && !mentions(s, i, "shfl") && !mentions(s, i, "load"))
				return true;
		for (unsigned k = 0; s->t.list[i].kind == TOKEN_STRING && k < sizeof instructions / sizeof *instructions; k++)
			if (mentions(s, i, instructions[k]))
				return true;
	}
	return false;
}

static void statement(struct mutant_list *l, unsigned i)
{
	const struct source *s = mutant_source(l);
	if (!(s->flags[i] & SOURCE_START) || s->flags[i] & SOURCE_DECLARATION)
		return;
	unsigned end = source_statement_end(s, i);
	bool value = source_in(s, i, "return co_return") && end > i + 1;
	if (end >= s->t.n || value || source_in(s, i, "goto static_assert"))
		return;
	mutant_add(l, is_barrier(s, i, end) ? MUTANT_OP_barrier : MUTANT_OP_statement, i, end, "%s", "");
}

void mutants_of_flow(struct mutant_list *l, unsigned i)
{
	statement(l, i);		/* asm is left alone inside, but may go as a whole */
	if (!source_free(mutant_source(l), i))
		return;
	comparison(l, i);
	logic(l, i);
	guard(l, i);
	loop(l, i);
}
