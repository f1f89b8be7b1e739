/* Paths through the problems: see curriculum.h. */
#include "curriculum.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/json.h"
#include "../sandbox/base/tame.h"
#include "paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PATHS = 32, MAX_PROBLEMS = 64, MAX_TEXT = 300 };

struct load {
	struct json *json;
	struct curriculum *c;
	struct err *e;
};

void curriculum_free(struct curriculum *c)
{
	if (c)
		arena_free(c->arena);
}

void curriculum_freep(struct curriculum **c)
{
	curriculum_free(*c);
}

const struct path *curriculum_find(const struct curriculum *c, const char *id, unsigned *place)
{
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned k = 0; k < c->paths[i].n; k++)
			if (!strcmp(c->paths[i].problems[k], id)) {
				*place = k;
				return &c->paths[i];
			}
	return NULL;
}

/* ---- reading ---- */

static int load_language(struct load *l, const struct cJSON *o, const char *lang, const char **out)
{
	const char *text;
	if (json_string(l->json, o, lang, "a line of text", &text, l->e) < 0)
		return -1;
	char *copy = arena_strdup(l->c->arena, text);
	tame(copy);
	if (!*text || strlen(text) > MAX_TEXT || strcmp(copy, text))
		return json_fail(l->json, json_get(o, lang), l->e, "is no line of text: write 1 to %d bytes, without control characters", MAX_TEXT);
	*out = copy;
	return 0;
}

static int load_text(struct load *l, const struct cJSON *path, const char *field, struct text *out)
{
	const struct cJSON *o;
	return json_object(l->json, path, field, "an object, {\"en\": \"...\", \"zh\": \"...\"}", &o, l->e) < 0 ||
	       json_only(l->json, o, (const char *const[]){"en", "zh", NULL}, l->e) < 0 || load_language(l, o, "en", &out->en) < 0 ||
	       load_language(l, o, "zh", &out->zh) < 0 ? -1 : 0;
}

static int load_problems(struct load *l, const struct cJSON *o, struct path *path)
{
	const struct cJSON *list;
	unsigned place;
	if (json_array(l->json, o, "problems", "a list of problems' ids, in order", &list, l->e) < 0)
		return -1;
	if (json_count(list) < 1 || json_count(list) > MAX_PROBLEMS)
		return json_fail(l->json, list, l->e, "has %zu problems: name 1 to %d", json_count(list), MAX_PROBLEMS);
	path->problems = arena_new_array(l->c->arena, const char *, json_count(list));
	for (const struct cJSON *v = json_first(list); v; v = json_next(v)) {
		if (!json_is_string(v) || !problem_is_id(json_text(v)))
			return json_fail(l->json, v, l->e, "is no problem's id: write one of small letters, digits and \"-\" in quotes");
		const struct path *other = curriculum_find(l->c, json_text(v), &place);
		if (other)
			return json_fail(l->json, v, l->e, "is \"%s\", which is number %u of path %s already: remove one of them", json_text(v), place + 1,
					 other->id);
		path->problems[path->n++] = arena_strdup(l->c->arena, json_text(v));
	}
	return 0;
}

static int load_path(struct load *l, const struct cJSON *o)
{
	struct curriculum *c = l->c;
	struct path *path = &c->paths[c->n];
	const char *id;
	if (!json_is_object(o))
		return json_fail(l->json, o, l->e, "is no path: write an object with id, title, about and problems");
	if (json_only(l->json, o, (const char *const[]){"id", "title", "about", "problems", NULL}, l->e) < 0 ||
	    json_string(l->json, o, "id", "a name of small letters, digits and \"-\"", &id, l->e) < 0)
		return -1;
	if (!problem_is_id(id))
		return json_fail(l->json, json_get(o, "id"), l->e, "is \"%s\": write a name of small letters, digits and \"-\"", id);
	for (unsigned i = 0; i < c->n; i++)
		if (!strcmp(c->paths[i].id, id))
			return json_fail(l->json, json_get(o, "id"), l->e, "is \"%s\", which an earlier path has: write another", id);
	path->id = arena_strdup(c->arena, id);
	c->n++;
	return load_text(l, o, "title", &path->title) < 0 || load_text(l, o, "about", &path->about) < 0 ? -1 : load_problems(l, o, path);
}

static int load(struct load *l)
{
	const struct cJSON *root = json_root(l->json), *paths;
	int64_t format;
	if (!json_is_object(root))
		return json_fail(l->json, root, l->e, "the file must hold an object: {\"format\": 1, \"paths\": [...]}");
	if (json_only(l->json, root, (const char *const[]){"format", "paths", NULL}, l->e) < 0 ||
	    json_integer(l->json, root, "format", 1, 1, &format, l->e) < 0 ||
	    json_array(l->json, root, "paths", "a list of paths", &paths, l->e) < 0)
		return -1;
	if (json_count(paths) > MAX_PATHS)
		return json_fail(l->json, paths, l->e, "has %zu paths: write at most %d", json_count(paths), MAX_PATHS);
	l->c->paths = arena_new_array(l->c->arena, struct path, MAX_PATHS);
	for (const struct cJSON *o = json_first(paths); o; o = json_next(o))
		if (load_path(l, o) < 0)
			return -1;
	return 0;
}

struct curriculum *curriculum_empty(void)
{
	struct arena *a = arena_new();
	struct curriculum *c = arena_alloc(a, sizeof *c);
	c->arena = a;
	return c;
}

struct curriculum *curriculum_read(const char *file, struct err *e)
{
	CLEANUP(json_freep) struct json *json = json_read_file(file, "paths.json", e);
	if (!json)
		return NULL;
	struct curriculum *c = curriculum_empty();
	struct load l = {.json = json, .c = c, .e = e};
	if (load(&l) < 0) {
		curriculum_free(c);
		return NULL;
	}
	return c;
}

struct curriculum *curriculum_open(struct err *e)
{
	char file[500];
	snprintf(file, sizeof file, "%s/paths.json", paths()->problems);
	return access(file, F_OK) == 0 ? curriculum_read(file, e) : curriculum_empty();
}

/* ---- order ---- */

struct walk {
	struct problem *const *problems;
	size_t n;
	enum { NEW, OPEN, DONE } *state;
};

static size_t index_of(const struct walk *w, const char *id)
{
	size_t i = 0;
	while (i < w->n && strcmp(w->problems[i]->id, id))
		i++;
	return i;
}

/* Depth first; an open problem met again closes a circle.  It is named by the need that closes it. */
static int visit(struct walk *w, size_t i, struct err *e)
{
	const struct problem *p = w->problems[i];
	w->state[i] = OPEN;
	for (unsigned k = 0; k < p->n_needs; k++) {
		size_t need = index_of(w, p->needs[k]);
		if (need == w->n || w->state[need] == DONE)
			continue;
		if (w->state[need] == OPEN)
			return err_input(e, "%s/problem.json: needs[%u]: is \"%s\", which itself needs %s, if by way of others: neither could come first; "
					    "remove one of these needs", p->id, k, p->needs[k], p->id);
		if (visit(w, need, e) < 0)
			return -1;
	}
	w->state[i] = DONE;
	return 0;
}

/* A need that is in no path may be met anywhere. */
static int check_place(const struct curriculum *c, const struct problem *p, struct err *e)
{
	unsigned place, needed;
	const struct path *in = curriculum_find(c, p->id, &place);
	for (unsigned k = 0; in && k < p->n_needs; k++) {
		const struct path *other = curriculum_find(c, p->needs[k], &needed);
		if (other && (other > in || (other == in && needed > place)))
			return err_input(e, "paths.json: paths[%td].problems[%u]: is \"%s\", which needs \"%s\" first: put that before it", in - c->paths, place,
					 p->id, p->needs[k]);
	}
	return 0;
}

int curriculum_check(const struct curriculum *c, struct problem *const *problems, size_t n, struct err *e)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	struct walk w = {.problems = problems, .n = n, .state = arena_alloc(a, (n + 1) * sizeof *w.state)};
	for (size_t i = 0; i < n; i++)
		if (w.state[i] == NEW && visit(&w, i, e) < 0)
			return -1;
	for (size_t i = 0; i < n; i++)
		if (check_place(c, problems[i], e) < 0)
			return -1;
	return 0;
}
