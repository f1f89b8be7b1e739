/* judge show ID: a problem's statement, rendered for a terminal.
 *
 * Hints are the "###" sections of a statement's last "##" section, if that is called Hints (提示).  Each is shown when asked for.
 */
#include "command.h"

#include "../sandbox/base/cleanup.h"
#include "hints.h"
#include "lang.h"
#include "markdown.h"
#include "problem.h"

#include <string.h>

static int read_statement(const struct problem *p, const char *lang, struct buf *out, struct err *e)
{
	char name[32];
	snprintf(name, sizeof name, "statement.%s.md", lang);
	if (problem_file(p, name, out, e) == 0)
		return 0;
	buf_free(out);
	return problem_file(p, "statement.en.md", out, e);
}

/* What one can do after it, and what should be solved before. */
static void print_place(const struct problem *p, const char *lang, const struct term *t)
{
	bool zh = !strcmp(lang, "zh");
	if (p->teaches) {
		const char *label = zh ? "做完后：" : "after it: ";
		fprintf(t->file, "%s%s", term_on(t, STYLE_DIM), label);
		term_wrap(t, text_in((struct text){p->teaches, p->teaches_zh}, lang), term_columns(label), term_columns(label));
		fprintf(t->file, "%s\n", term_off(t));
	}
	for (unsigned i = 0; i < p->n_needs; i++)
		term_put(t, STYLE_DIM, "%s%s%s", i ? ", " : zh ? "先做：" : "needs first: ", p->needs[i], i + 1 == p->n_needs ? "\n" : "");
}

static void print_facts(const struct problem *p, const char *lang, const struct term *t)
{
	CLEANUP_BUF struct buf prototype = {0};
	term_put(t, STYLE_BOLD, "%s: %s\n", p->id, text_in((struct text){p->title, p->title_zh}, lang));
	term_put(t, STYLE_DIM, "%s", problem_difficulty(p, lang));
	for (unsigned i = 0; i < p->n_tags; i++)
		term_put(t, STYLE_DIM, ", %s", p->tags[i]);
	problem_prototype(p, false, &prototype);
	fputc('\n', t->file);
	print_place(p, lang, t);
	fputc('\n', t->file);
	term_put(t, STYLE_CODE, "%s\n", buf_str(&prototype));
	if (p->n_prepare) {
		buf_free(&prototype);
		problem_prototype(p, true, &prototype);
		term_put(t, STYLE_CODE, "%s\n", buf_str(&prototype));
	}
	fputc('\n', t->file);
}

/* Hint n, from 1; 0: all of them. */
static int show_hint(const struct problem *p, const char *text, unsigned n, const struct term *t, struct err *e)
{
	const char *from = text + hints_begin(text);
	size_t size = strlen(from);
	unsigned count = hints_count(text);
	if (!count)
		return err_input(e, "--hint %u: problem %s has no hints", n, p->id);
	if (n && hints_find(text, n, &from, &size) < 0)
		return err_input(e, "--hint %u: problem %s has %u hints", n, p->id, count);
	markdown_print(t, from, size);
	return 0;
}

/* All but the hints, and how to see them. */
static void show_statement(const struct problem *p, const char *text, bool zh, const struct term *t)
{
	unsigned count = hints_count(text);
	markdown_print(t, text, hints_begin(text));
	if (count)
		term_put(t, STYLE_NOTE, zh ? "共 %u 条提示：judge show %s --hint 1，依此类推\n" : "%u hints: judge show %s --hint 1, and so on\n", count, p->id);
}

int cmd_show(const struct options *o)
{
	struct err e = {0};
	struct term t;
	CLEANUP_BUF struct buf text = {0};
	const char *lang = lang_of(o->lang);
	if (options_want(o, COMMAND_show, 1, &e) < 0)
		return complain(&e);
	CLEANUP(problem_closep) struct problem *p = problem_find(o->arguments[0], &e);
	if (!p || read_statement(p, lang, &text, &e) < 0)
		return complain(&e);
	term_of(&t, stdout);
	if (o->hint >= 0)
		return show_hint(p, buf_str(&text), (unsigned)o->hint, &t, &e) < 0 ? complain(&e) : 0;
	print_facts(p, lang, &t);
	show_statement(p, buf_str(&text), !strcmp(lang, "zh"), &t);
	return 0;
}
