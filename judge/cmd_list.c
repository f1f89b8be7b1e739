/* judge list: the problems. */
#include "command.h"

#include "../sandbox/base/cleanup.h"
#include "lang.h"
#include "problem.h"
#include "term.h"

#include <string.h>

enum { WIDTH = 52 };

static void print_row(const struct problem *p, const struct options *o, const struct term *t)
{
	const char *title = !strcmp(lang_of(o->lang), "zh") && p->title_zh ? p->title_zh : p->title;
	int n = WIDTH - term_columns(title);
	term_put(t, STYLE_BOLD, "%-14s", p->id);
	fprintf(t->file, " %-8s %s%*s", p->difficulty, title, n > 0 ? n : 1, "");
	for (unsigned i = 0; i < p->n_tags; i++)
		term_put(t, STYLE_DIM, " %s", p->tags[i]);
	fputc('\n', t->file);
}

int cmd_list(const struct options *o)
{
	struct err e = {0};
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const char *const *ids;
	size_t n;
	int status = 0;
	struct term t;
	if (options_want(o, COMMAND_list, 0, &e) < 0 || problem_ids(a, &ids, &n, &e) < 0)
		return complain(&e);
	term_of(&t, stdout);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(problem_closep) struct problem *p = problem_find(ids[i], &e);
		if (p)
			print_row(p, o, &t);
		else
			status = complain(&e);
	}
	return status;
}
