/* judge list: the problems, by paths. */
#include "command.h"

#include "../sandbox/base/cleanup.h"
#include "curriculum.h"
#include "lang.h"
#include "term.h"

#include <string.h>

enum { WIDTH = 80, LEVEL = 7, NUMBER = 3 };	/* columns: of a line, a difficulty, a number */

struct list {
	const char *lang;
	struct term term;
	struct problem **problems;
	size_t n;
	int id_columns;
};

static bool zh(const struct list *l)
{
	return !strcmp(l->lang, "zh");
}

/* What a problem can be begun without is not told, nor what is not there. */
static void put_needs(const struct list *l, const struct problem *p, struct buf *out)
{
	for (unsigned k = 0; k < p->n_needs; k++)
		for (size_t i = 0; i < l->n; i++)
			if (!strcmp(l->problems[i]->id, p->needs[k]))
				buf_printf(out, "%s%s", out->size ? ", " : zh(l) ? "先做：" : "needs first: ", p->needs[k]);
}

static void print_problem(const struct list *l, const struct problem *p, unsigned number)
{
	const struct term *t = &l->term;
	CLEANUP_BUF struct buf needs = {0};
	int indent = NUMBER + 2, at = indent + l->id_columns + 2 + LEVEL + 1;
	fprintf(t->file, "%*u  ", NUMBER, number);
	term_put(t, STYLE_BOLD, "%-*s", l->id_columns, p->id);
	const char *level = problem_difficulty(p, l->lang);
	fprintf(t->file, "  %s%*s ", level, LEVEL - term_columns(level), "");
	term_wrap(t, text_in((struct text){p->title, p->title_zh}, l->lang), at, at);
	put_needs(l, p, &needs);
	for (int i = 0; i < 2; i++) {
		const char *line = i ? buf_str(&needs) : text_in((struct text){p->teaches, p->teaches_zh}, l->lang);
		if (!line || !*line)
			continue;
		fprintf(t->file, "\n%*s%s", indent, "", term_on(t, STYLE_DIM));
		term_wrap(t, line, indent, indent);
		fputs(term_off(t), t->file);
	}
	fputc('\n', t->file);
}

static void print_heading(const struct list *l, const char *title, const char *about)
{
	const struct term *t = &l->term;
	term_put(t, STYLE_NOTE, "%s\n", title);
	if (about) {
		term_wrap(t, about, 0, 0);
		fputc('\n', t->file);
	}
	fputc('\n', t->file);
}

/* A path, or with NULL what is in none.  True if there was something. */
static bool print_path(const struct list *l, const struct curriculum *c, const struct path *path, bool more)
{
	unsigned number = 0, place;
	for (size_t k = 0; k < (path ? path->n : l->n); k++)
		for (size_t i = 0; i < l->n; i++) {
			const struct problem *p = l->problems[i];
			if (path ? strcmp(p->id, path->problems[k]) : i != k || curriculum_find(c, p->id, &place))
				continue;
			if (!number && more)
				fputc('\n', l->term.file);
			if (!number && path)
				print_heading(l, text_in(path->title, l->lang), text_in(path->about, l->lang));
			else if (!number)
				print_heading(l, zh(l) ? "其他题目" : "Further problems", NULL);
			print_problem(l, p, ++number);
		}
	return number;
}

int cmd_list(const struct options *o)
{
	struct err e = {0};
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const char *const *ids;
	size_t n;
	int status = 0;
	struct list l = {.lang = lang_of(o->lang)};
	if (options_want(o, COMMAND_list, 0, &e) < 0 || problem_ids(a, &ids, &n, &e) < 0)
		return complain(&e);
	CLEANUP(curriculum_freep) struct curriculum *c = curriculum_open(&e);
	if (!c)
		return complain(&e);
	l.problems = arena_new_array(a, struct problem *, n + 1);
	for (size_t i = 0; i < n; i++) {
		struct problem *p = problem_find(ids[i], &e);
		if (!p) {
			status = complain(&e);
			continue;
		}
		l.problems[l.n++] = p;
		if (term_columns(p->id) > l.id_columns)
			l.id_columns = term_columns(p->id);
	}
	term_of(&l.term, stdout);
	if (l.term.width > WIDTH)
		l.term.width = WIDTH;
	bool more = false;
	for (unsigned i = 0; i < c->n; i++)
		more |= print_path(&l, c, &c->paths[i], more);
	print_path(&l, c, NULL, more);
	if (curriculum_check(c, l.problems, l.n, &e) < 0)
		status = complain(&e);
	for (size_t i = 0; i < l.n; i++)
		problem_close(l.problems[i]);
	return status;
}
