/* judge user: the accounts of a server, the first admin's among them. */
#include "../command.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/nearest.h"
#include "../store/store.h"
#include "prompt.h"

#include <string.h>
#include <time.h>

enum { PASSWORD_ROOM = 300, PAGE = 200 };

struct call {
	const struct options *o;
	const char *name;		/* NULL: the action takes none */
	struct store *store;
	struct arena *arena;
	const char *begun;		/* the folder, if this call began its database; else NULL */
};

static int role_of(const struct call *c, enum store_role dflt, enum store_role *out, struct err *e)
{
	*out = dflt;
	if (c->o->role && !store_role_find(c->o->role, out))
		return err_input(e, "--role %s: write student, assistant, instructor or admin", c->o->role);
	return 0;
}

static int change(struct call *c, const struct store_user_change *what, struct err *e)
{
	struct store_user u;
	return store_user_get(c->store, c->name, c->arena, &u, e) == STORE_OK && store_user_set(c->store, u.id, what, e) == STORE_OK ? 0 : -1;
}

static int add(struct call *c, struct err *e)
{
	struct store_user u;
	enum store_role role;
	char password[PASSWORD_ROOM];
	if (role_of(c, ROLE_STUDENT, &role, e) < 0)
		return -1;
	if (store_user_get(c->store, c->name, c->arena, &u, NULL) == STORE_OK)
		return err_input(e, "the name \"%s\" is taken", c->name);	/* before a password is asked for */
	if (prompt_password(password, sizeof password, e) < 0)
		return -1;
	struct store_user_new n = {.name = c->name, .password = password, .role = role};
	int rc = store_user_add(c->store, &n, c->arena, &u, e) == STORE_OK ? 0 : -1;
	explicit_bzero(password, sizeof password);
	if (rc == 0)
		printf("%s, %s%s%s\n", u.name, store_role_name(u.role), c->begun ? "; the first of a new database in " : "", c->begun ? c->begun : "");
	return rc;
}

static int list(struct call *c, struct err *e)
{
	struct store_users page = {0};
	do {
		if (store_users(c->store, NULL, page.next, PAGE, c->arena, &page, e) != STORE_OK)
			return -1;
		for (size_t i = 0; i < page.n; i++) {
			const struct store_user *u = &page.at[i];
			time_t when = (time_t)(u->created / 1000);
			struct tm t;
			char day[16];
			strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&when, &t));
			printf("%-32s %-11s %s%s  %s\n", u->name, store_role_name(u->role), day, u->disabled ? "  disabled" : "",
			       strcmp(u->display, u->name) ? u->display : "");
		}
	} while (page.next);
	return 0;
}

static int password(struct call *c, struct err *e)
{
	struct store_user u;
	char text[PASSWORD_ROOM];
	if (store_user_get(c->store, c->name, c->arena, &u, e) != STORE_OK || prompt_password(text, sizeof text, e) < 0)
		return -1;
	int rc = change(c, &(struct store_user_change){.password = text, .role = -1, .disabled = -1}, e);
	explicit_bzero(text, sizeof text);
	return rc;
}

static int role(struct call *c, struct err *e)
{
	enum store_role r;
	if (!c->o->role)
		return err_input(e, "which role? Add --role student, assistant, instructor or admin");
	if (role_of(c, ROLE_STUDENT, &r, e) < 0)
		return -1;
	return change(c, &(struct store_user_change){.role = (int)r, .disabled = -1}, e);
}

static int disable(struct call *c, struct err *e)
{
	return change(c, &(struct store_user_change){.role = -1, .disabled = 1}, e);
}

static int enable(struct call *c, struct err *e)
{
	return change(c, &(struct store_user_change){.role = -1, .disabled = 0}, e);
}

static const struct action {
	const char *name;
	bool wants_name, takes_role;
	int (*run)(struct call *c, struct err *e);
} actions[] = {
	{"add", true, true, add},	{"list", false, false, list},		{"password", true, false, password},
	{"role", true, true, role},	{"disable", true, false, disable},	{"enable", true, false, enable},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static const struct action *find(const char *word, struct err *e)
{
	const char *names[ACTIONS];
	for (int i = 0; i < ACTIONS; i++) {
		names[i] = actions[i].name;
		if (!strcmp(word, actions[i].name))
			return &actions[i];
	}
	const char *near = nearest_name(word, names, ACTIONS);
	err_input(e, "judge user %s: %s%s%s", word, near ? "did you mean " : "write add, list, password, role, disable or enable", near ? near : "",
		  near ? "?" : "");
	return NULL;
}

int cmd_user(const struct options *o)
{
	struct err e = {0};
	if (o->n_arguments < 1) {
		err_input(&e, "judge user wants an action: add, list, password, role, disable or enable");
		return complain(&e);
	}
	const struct action *a = find(o->arguments[0], &e);
	if (!a)
		return complain(&e);
	if (o->n_arguments != 1 + a->wants_name || o->n_rest) {
		err_input(&e, "write judge user %s%s", a->name, a->wants_name ? " NAME" : "");
		return complain(&e);
	}
	if (o->role && !a->takes_role) {
		err_input(&e, "judge user %s has no use for --role", a->name);
		return complain(&e);
	}
	const char *folder = o->data ? o->data : "data";
	bool begin = store_must_exist(folder, &e) < 0;
	if (begin && strcmp(a->name, "add") != 0)
		return complain(&e);
	e = (struct err){0};
	CLEANUP(store_closep) struct store *s = store_open(folder, &e);
	if (!s)
		return complain(&e);
	CLEANUP(arena_freep) struct arena *arena = arena_new();
	struct call c = {.o = o, .name = a->wants_name ? o->arguments[1] : NULL, .store = s, .arena = arena,
			 .begun = begin ? folder : NULL};
	return a->run(&c, &e) < 0 ? complain(&e) : 0;
}
