/* Mutants: made, ordered, applied, shown.  See mutant.h. */
#include "mutant.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mutant_list {
	struct mutants *all;
	struct arena *arena;
	unsigned room;
};

static const struct {
	const char *name, *missing;
} operators[] = {
#define MUTANT(id, name, missing) {name, missing},
#include "mutant.def"
#undef MUTANT
};

const char *mutant_operator_name(enum mutant_operator o)
{
	return operators[o].name;
}

const struct source *mutant_source(const struct mutant_list *l)
{
	return &l->all->source;
}

void mutant_add(struct mutant_list *l, enum mutant_operator o, unsigned first, unsigned end, const char *fmt, ...)
{
	struct mutants *all = l->all;
	char text[1000];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	for (unsigned i = first; i < end; i++)
		if (all->source.t.list[i].kind == TOKEN_DIRECTIVE)
			return;
	if (n < 0 || (size_t)n >= sizeof text || all->n == MUTANTS_MAX || !strcmp(text, source_text(&all->source, first, end)))
		return;
	if (all->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		all->list = realloc(all->list, l->room * sizeof *all->list);
		if (!all->list)
			BUG("out of memory");
	}
	all->list[all->n++] = (struct mutant){.operator = o, .first = first, .end = end, .text = arena_strdup(l->arena, text),
					      .line = all->source.t.list[first].line, .function = all->source.in[first]};
}

static int by_place(const void *x, const void *y)
{
	const struct mutant *a = x, *b = y;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	int text = strcmp(a->text, b->text);
	return text ? text : (int)a->operator - (int)b->operator;
}

static int by_operator(const void *x, const void *y)
{
	const struct mutant *a = x, *b = y;
	if (a->first == b->first && a->operator != b->operator)
		return (int)a->operator - (int)b->operator;
	return by_place(x, y);
}

/* Two operators may make the same change: the first in the table keeps it. */
static void order(struct mutants *all)
{
	unsigned n = 0;
	if (!all->n)
		return;
	qsort(all->list, all->n, sizeof *all->list, by_place);
	for (unsigned i = 0; i < all->n; i++) {
		const struct mutant *m = &all->list[i], *last = n ? &all->list[n - 1] : NULL;
		if (!last || m->first != last->first || m->end != last->end || strcmp(m->text, last->text))
			all->list[n++] = *m;
	}
	all->n = n;
	qsort(all->list, n, sizeof *all->list, by_operator);
}

void mutants_of(const char *text, size_t size, struct arena *a, struct mutants *out)
{
	struct mutant_list l = {.all = out, .arena = a};
	*out = (struct mutants){.n = 0};
	source_read(text, size, a, &out->source);
	for (unsigned i = 0; i < out->source.t.n; i++) {
		if (out->source.in[i] < 0)
			continue;
		mutants_of_flow(&l, i);
		mutants_of_value(&l, i);
		mutants_of_cuda(&l, i);
	}
	order(out);
	struct mutant *kept = arena_dup(a, out->list, out->n * sizeof *out->list);
	free(out->list);
	out->list = kept;
}

/* ---- one mutant ---- */

static size_t begins(const struct tokens *t, unsigned i)
{
	return t->list[i].at;
}

static size_t ends(const struct tokens *t, unsigned i)
{
	return t->list[i].at + t->list[i].size;
}

void mutant_apply(const struct mutants *all, const struct mutant *m, struct buf *out)
{
	const struct tokens *t = &all->source.t;
	size_t from = begins(t, m->first), to = m->end > m->first ? ends(t, m->end - 1) : from;
	buf_add(out, t->text, from);
	buf_adds(out, m->text);
	for (const char *p = t->text + from; p < t->text + to; p++)
		if (*p == '\n')
			buf_addc(out, '\n');
	buf_add(out, t->text + to, t->size - to);
}

bool mutant_of_device(const struct mutants *all, const struct mutant *m)
{
	return m->function >= 0 && !all->source.functions[m->function].host;
}

const char *mutant_old(const struct mutants *all, const struct mutant *m)
{
	return source_text(&all->source, m->first, m->end);
}

const char *mutant_shown(const struct mutants *all, const struct mutant *m, struct arena *a)
{
	const struct source *s = &all->source;
	unsigned first = m->first, end = m->end;
	int last = end > first ? s->t.list[end - 1].line : m->line;
	struct buf b = {0};
	while (first && s->t.list[first - 1].line == m->line)
		first--;
	while (end < s->t.n && s->t.list[end].line == last)
		end++;
	bool before = m->first > first && begins(&s->t, m->first) > ends(&s->t, m->first - 1);
	bool after = m->end < end && m->end && begins(&s->t, m->end) > ends(&s->t, m->end - 1);
	buf_printf(&b, "%s%s{%s -> %s}", source_text(s, first, m->first), before ? " " : "", mutant_old(all, m), m->text);
	buf_printf(&b, "%s%s", after ? " " : "", source_text(s, m->end, end));
	const char *shown = arena_strdup(a, buf_str(&b));
	buf_free(&b);
	return shown;
}

/* ---- what a survivor may lack ---- */

static bool speaks_of(const char *line, const char *word)
{
	return strcasestr(line, word) != NULL;
}

const char *mutant_missing(const struct mutants *all, const struct mutant *m)
{
	static const char group[] = "a group edge: another scale for each neighbouring row and group (scale-grid), K of an odd number of groups";
	static const char shared[] = "a size that needs more than 48 KiB of shared memory";
	const struct {
		const char *word, *missing;
	} topics[] = {
		{"zero", operators[MUTANT_OP_zero].missing}, {"scale", group}, {"group", group}, {"shfl", operators[MUTANT_OP_shuffle].missing},
		{"cudaFuncSetAttribute", shared}, {"shared", shared},
	};
	static const enum mutant_operator plain[] = {MUTANT_OP_plus, MUTANT_OP_times, MUTANT_OP_constant, MUTANT_OP_subscript,
						     MUTANT_OP_statement, MUTANT_OP_negate};
	const char *line = mutant_shown(all, m, all->source.arena);
	for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++)
		for (unsigned k = 0; k < sizeof topics / sizeof *topics && m->operator == plain[i]; k++)
			if (speaks_of(line, topics[k].word))
				return topics[k].missing;
	return operators[m->operator].missing;
}
