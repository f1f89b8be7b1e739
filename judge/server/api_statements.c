/* Statements as instructors edit them: read, preview, save.
 *
 * What is saved is a package like one that was uploaded, with the same checks: a copy of the present one with another text.  A writer
 * says by `base` what they have read; if another text is there by now, nothing is saved.  Whoever saves something else of the
 * problem at the same moment, as the statement in the other language, is not overwritten: the copy is made again from theirs.
 */
#include "catalog.h"
#include "markup.h"
#include "package.h"
#include "router.h"
#include "server.h"
#include "view.h"

#include "../../sandbox/base/cleanup.h"
#include "../hints.h"

#include <sodium.h>
#include <string.h>

enum { TEXT_MAX_CHARACTERS = 50000, TAG = 33, TRIES = 5 };

struct statement {
	int language;			/* of CATALOG_LANGUAGES */
	char tag[TAG];			/* empty: there is none in this language */
	struct store_problem problem;
	struct served *served;
};

static const char *const languages[CATALOG_LANGUAGES] = {"en", "zh"};

static void put_back(struct statement *s)
{
	served_put(s->served);
}

/* Names a text: whoever has read it can say so. */
static void tag_of(const struct buf *text, char tag[TAG])
{
	unsigned char hash[(TAG - 1) / 2];
	crypto_generichash(hash, sizeof hash, (const unsigned char *)text->data, text->size, NULL, 0);
	sodium_bin2hex(tag, TAG, hash, sizeof hash);
}

static bool find(struct request *r, struct statement *out)
{
	struct err e = {0};
	*out = (struct statement){0};
	while (out->language < CATALOG_LANGUAGES && strcmp(r->arguments[1], languages[out->language]))
		out->language++;
	if (out->language == CATALOG_LANGUAGES)
		return reply_refuse(r, MESSAGE_not_found, NULL, NULL);
	if (!reply_stored(r, store_problem_get(r->store, r->arguments[0], r->caller.id, r->arena, &out->problem, &e), &e, MESSAGE_conflict, NULL))
		return false;
	out->served = catalog_get(r->server->catalog, &out->problem, &e);
	if (!out->served)
		return reply_stored(r, STORE_FAILED, &e, MESSAGE_conflict, NULL);
	if (out->served->there[out->language])
		tag_of(&out->served->statement[out->language], out->tag);
	return true;
}

static void show(struct request *r, const struct statement *s)
{
	struct store_versions vs;
	const struct store_version *v = NULL;
	struct err e = {0};
	if (!reply_stored(r, store_problem_versions(r->store, s->problem.id, r->arena, &vs, &e), &e, MESSAGE_conflict, NULL))
		return;
	for (size_t i = 0; i < vs.n; i++)
		if (vs.at[i].current)
			v = &vs.at[i];
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_write_string(w, "problem", s->problem.id);
	json_write_string(w, "language", languages[s->language]);
	json_write_string(w, "text", *s->tag ? buf_str(&s->served->statement[s->language]) : NULL);
	json_write_string(w, "base", *s->tag ? s->tag : NULL);
	json_write_string(w, "version", s->problem.version);
	json_write_integer(w, "edition", v ? v->edition : 1);
	json_write_string(w, "by", v ? v->by : NULL);
	write_time(w, "created", v ? v->created : 0);
	json_close(w, '}');
}

void api_statement(struct request *r)
{
	CLEANUP(put_back) struct statement s;
	if (find(r, &s))
		show(r, &s);
}

static bool is_base(const struct statement *s, const char *base)
{
	return !strcmp(s->tag, base ? base : "");
}

/* STORE_CONFLICT: the package that was copied is no more the present one, and nothing was kept. */
static enum store_result save(struct request *r, const struct statement *s, const char *text, struct package *p, struct err *e)
{
	const char *root = arena_printf(r->arena, "%s/problems", r->server->data);
	const char *name = arena_printf(r->arena, "statement.%s.md", languages[s->language]);
	if (package_edit(root, s->problem.folder, name, text, p, e) < 0)
		return e->kind == ERR_INPUT ? STORE_INVALID : STORE_FAILED;
	CLEANUP(problem_closep) struct problem *fresh = problem_open(p->folder, e);
	if (!fresh)
		return STORE_FAILED;
	enum store_result result = catalog_replace(r->store, fresh, r->caller.id, s->problem.folder, e);
	if (result != STORE_OK)
		package_remove(p);
	return result;
}

void api_statement_put(struct request *r)
{
	const char *text = NULL, *base = NULL;
	struct package *p = arena_new_array(r->arena, struct package, 1);
	enum store_result result = STORE_CONFLICT;
	struct err e = {0};
	if (!request_only(r, (const char *const[]){"text", "base", NULL}) || !request_text(r, "text", true, 1, TEXT_MAX_CHARACTERS, &text) ||
	    !request_line(r, "base", false, 1, 100, &base))
		return;
	for (int i = 0; i < TRIES && result == STORE_CONFLICT; i++) {
		CLEANUP(put_back) struct statement s;
		if (!find(r, &s))
			return;
		if (!is_base(&s, base)) {
			reply_refuse(r, MESSAGE_statement_changed, "base", NULL);
			return;
		}
		result = save(r, &s, text, p, &e);
	}
	if (result == STORE_INVALID)
		view_package_refused(r, p);
	else if (reply_stored(r, result, &e, MESSAGE_conflict, NULL))
		api_statement(r);
}

/* ---- preview ---- */

static void put_html(struct json_writer *w, const char *key, const char *from, size_t size)
{
	CLEANUP_BUF struct buf html = {0};
	markup_html(from, size, &html);
	json_write_string(w, key, buf_str(&html));
}

void api_preview(struct request *r)
{
	const char *text = NULL, *from;
	size_t size;
	if (!request_only(r, (const char *const[]){"text", NULL}) || !request_text(r, "text", true, 0, TEXT_MAX_CHARACTERS, &text))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	put_html(w, "html", text, hints_begin(text));
	json_open(w, "hints", '[');
	for (unsigned n = 1; hints_find(text, n, &from, &size) == 0; n++)
		put_html(w, NULL, from, size);
	json_close(w, ']');
	json_close(w, '}');
}
