/* Problem packages as they are served: see catalog.h. */
#include "catalog.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json_write.h"
#include "../hints.h"
#include "log.h"
#include "markup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct catalog {
	pthread_mutex_t lock;
	struct served *first;
};

struct catalog *catalog_new(void)
{
	struct catalog *c = calloc(1, sizeof *c);
	if (!c)
		BUG("out of memory");
	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void served_put(struct served *s)
{
	if (!s || atomic_fetch_sub(&s->users, 1) != 1)
		return;
	problem_close(s->problem);
	for (int i = 0; i < CATALOG_LANGUAGES; i++) {
		buf_free(&s->statement[i]);
		buf_free(&s->html[i]);
	}
	buf_free(&s->starter);
	free(s->folder);
	free(s);
}

void served_putp(struct served **s)
{
	served_put(*s);
}

void catalog_free(struct catalog *c)
{
	if (!c)
		return;
	while (c->first) {
		struct served *s = c->first;
		c->first = s->next;
		served_put(s);
	}
	free(c);
}

static struct served *load(const struct store_problem *p, struct err *e)
{
	static const char *const files[CATALOG_LANGUAGES] = {"statement.en.md", "statement.zh.md"};
	struct err none;
	struct served *s = calloc(1, sizeof *s);
	if (!s)
		BUG("out of memory");
	s->users = 1;
	s->folder = strdup(p->folder);
	s->problem = problem_open(p->folder, e);
	if (!s->problem || problem_file(s->problem, files[0], &s->statement[0], e) < 0 ||
	    problem_file(s->problem, "starter.cu", &s->starter, e) < 0) {
		served_put(s);
		return NULL;
	}
	s->there[0] = true;
	s->there[1] = problem_file(s->problem, files[1], &s->statement[1], &none) == 0;
	if (!s->there[1]) {
		buf_free(&s->statement[1]);
		buf_adds(&s->statement[1], buf_str(&s->statement[0]));
	}
	for (int i = 0; i < CATALOG_LANGUAGES; i++) {
		const char *text = buf_str(&s->statement[i]);
		markup_html(text, hints_begin(text), &s->html[i]);
	}
	return s;
}

/* The entry of a folder, which the caller then uses too.  Folders of versions do not change, but those in a source tree do. */
static struct served *find(struct catalog *c, const struct store_problem *p)
{
	for (struct served *s = c->first; s; s = s->next)
		if (!strcmp(s->folder, p->folder) && !strcmp(s->problem->version, p->version)) {
			s->users++;
			return s;
		}
	return NULL;
}

/* In the place of what there was of this problem. */
static void keep(struct catalog *c, struct served *fresh)
{
	for (struct served **at = &c->first; *at;) {
		struct served *s = *at;
		if (!strcmp(s->problem->id, fresh->problem->id)) {
			*at = s->next;
			served_put(s);
		} else {
			at = &s->next;
		}
	}
	fresh->next = c->first;
	c->first = fresh;
	fresh->users++;
}

struct served *catalog_get(struct catalog *c, const struct store_problem *p, struct err *e)
{
	pthread_mutex_lock(&c->lock);
	struct served *s = find(c, p);
	if (!s) {
		s = load(p, e);
		if (s)
			keep(c, s);
	}
	pthread_mutex_unlock(&c->lock);
	return s;
}

static enum store_result put(struct store *s, const struct problem *p, int64_t by, int64_t position, const char *replaces, struct err *e)
{
	CLEANUP_BUF struct buf tags = {0};
	struct json_writer w = {.out = &tags};
	json_open(&w, NULL, '[');
	for (unsigned i = 0; i < p->n_tags; i++)
		json_write_string(&w, NULL, p->tags[i]);
	json_close(&w, ']');
	struct store_problem_put all = {
		.id = p->id, .version = p->version, .folder = p->folder, .title = p->title, .title_zh = p->title_zh,
		.difficulty = p->difficulty, .tags = buf_str(&tags), .by = by, .position = position, .replaces = replaces,
	};
	return store_problem_put(s, &all, e);
}

enum store_result catalog_put(struct store *s, const struct problem *p, int64_t by, int64_t position, struct err *e)
{
	return put(s, p, by, position, NULL, e);
}

enum store_result catalog_replace(struct store *s, const struct problem *p, int64_t by, const char *replaces, struct err *e)
{
	return put(s, p, by, -1, replaces, e);
}

static bool uploaded(struct store *s, const char *id, const char *uploads, struct arena *a)
{
	struct store_problem known;
	struct err e = {0};
	return store_problem_get(s, id, 0, a, &known, &e) == STORE_OK && !strncmp(known.folder, uploads, strlen(uploads));
}

int catalog_begin(struct store *s, const char *uploads, struct err *e)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	const char *const *ids;
	size_t n;
	if (problem_ids(a, &ids, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct err why = {0};
		if (uploaded(s, ids[i], uploads, a))
			continue;
		CLEANUP(problem_closep) struct problem *p = problem_find(ids[i], &why);
		if (!p)
			log_line("problem left out: %s", why.text);
		else if (catalog_put(s, p, 0, (int64_t)i, e) != STORE_OK)
			return -1;
	}
	return 0;
}
