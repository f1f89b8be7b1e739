/* Where problems stand: see place.h. */
#include "place.h"

#include "../../sandbox/base/cleanup.h"
#include "../score.h"
#include "catalog.h"
#include "log.h"
#include "server.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct curriculum *place_begin(const char *data)
{
	char own[PATH_MAX];
	struct err e = {0};
	snprintf(own, sizeof own, "%s/paths.json", data);
	struct curriculum *c = access(own, F_OK) == 0 ? curriculum_read(own, &e) : curriculum_open(&e);
	if (!c) {
		log_line("paths left out: %s", e.text);
		c = curriculum_empty();
	}
	return c;
}

static void put_text(struct json_writer *w, const char *key, struct text t)
{
	if (!t.en) {
		json_write_null(w, key);
		return;
	}
	json_open(w, key, '{');
	json_write_string(w, "en", t.en);
	json_write_string(w, "zh", text_in(t, "zh"));
	json_close(w, '}');
}

/* What is not there, or not for whoever asks, is not needed either. */
static bool find_need(struct request *r, const char *id, const struct store_problems *all, struct store_problem *out)
{
	struct err e = {0};
	if (!all)
		return store_problem_get(r->store, id, r->caller.id, r->arena, out, &e) == STORE_OK && (!out->hidden || request_role(r, ROLE_ASSISTANT));
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->at[i].id, id)) {
			*out = all->at[i];
			return true;
		}
	return false;
}

static void put_needs(struct json_writer *w, struct request *r, const struct problem *package, const struct store_problems *all)
{
	struct store_problem need;
	json_open(w, "needs", '[');
	for (unsigned i = 0; package && i < package->n_needs; i++) {
		if (!find_need(r, package->needs[i], all, &need))
			continue;
		json_open(w, NULL, '{');
		json_write_string(w, "id", need.id);
		put_text(w, "title", (struct text){need.title, need.title_zh});
		json_write_bool(w, "solved", need.solved);
		json_close(w, '}');
	}
	json_close(w, ']');
}

void place_members(struct json_writer *w, struct request *r, const struct store_problem *p, const struct store_problems *all)
{
	struct err e = {0};
	unsigned place = 0;
	const struct path *path = curriculum_find(r->server->curriculum, p->id, &place);
	CLEANUP(served_putp) struct served *s = catalog_get(r->server->catalog, p, &e);
	const struct problem *package = s ? s->problem : NULL;
	int tier = package ? score_tier(package, p->solved, p->best_efficiency) : TIER_NONE;
	json_write_string(w, "path", path ? path->id : NULL);
	if (path)
		json_write_integer(w, "order", place + 1);
	else
		json_write_null(w, "order");
	put_text(w, "teaches", package ? (struct text){package->teaches, package->teaches_zh} : (struct text){0});
	put_needs(w, r, package, all);
	json_write_string(w, "tier", tier == TIER_NONE ? NULL : tier_name(tier));
}

static bool goes_by(const struct path *path, const struct store_problems *all)
{
	for (unsigned k = 0; k < path->n; k++)
		for (size_t i = 0; i < all->n; i++)
			if (!strcmp(path->problems[k], all->at[i].id))
				return true;
	return false;
}

void place_paths(struct json_writer *w, const struct request *r, const struct store_problems *all)
{
	const struct curriculum *c = r->server->curriculum;
	json_open(w, "paths", '[');
	for (unsigned i = 0; i < c->n; i++) {
		if (!goes_by(&c->paths[i], all))
			continue;
		json_open(w, NULL, '{');
		json_write_string(w, "id", c->paths[i].id);
		put_text(w, "title", c->paths[i].title);
		put_text(w, "about", c->paths[i].about);
		json_close(w, '}');
	}
	json_close(w, ']');
}
