/* Accounts, sessions, tokens. */
#include "auth.h"
#include "router.h"
#include "server.h"
#include "view.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 50, NAME_MAX_CHARACTERS = 32, DISPLAY_MAX = 80, PASSWORD_MIN = 8, PASSWORD_MAX = 256, YEAR_DAYS = 366 };

static const char *const role_words[] = {"student", "assistant", "instructor", "admin", NULL};
static const char *const languages[] = {"en", "zh", NULL};

/* ---- what may be a name or a password ---- */

static bool name_is_good(const char *name)
{
	size_t n = strlen(name);
	return n >= 1 && n <= NAME_MAX_CHARACTERS && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n && !strchr("._-", *name);
}

static bool password_is_weak(const char *password, const char *name)
{
	static const char *const first[] = {"password", "password1", "12345678", "123456789", "1234567890", "qwertyui", "qwertyuiop", "qwerty123",
					    "11111111", "00000000", "88888888", "iloveyou", "abcd1234", "abc12345", "1q2w3e4r", "passw0rd",
					    "letmein1", "administrator", "changeme", "judgejudge"};
	if (!strcasecmp(password, name))
		return true;
	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (!strcasecmp(password, first[i]))
			return true;
	return false;
}

static bool take_password(struct request *r, const char *field, bool needed, const char *name, const char **out)
{
	const char *text = NULL;
	if (!request_text(r, field, needed, PASSWORD_MIN, PASSWORD_MAX / 4, &text))
		return false;
	if (text && password_is_weak(text, name))
		return reply_refuse(r, MESSAGE_weak_password, field, NULL);
	if (text)
		*out = text;
	return true;
}

/* ---- limits ---- */

static bool limited(struct request *r, const char *what, const char *who, unsigned limit, double seconds)
{
	char key[160], wait[16];
	struct rate_left left;
	snprintf(key, sizeof key, "%s:%.100s", what, who);
	bool ok = rate_take(r->server->rate, key, limit, seconds, &left);
	if (!ok) {
		snprintf(wait, sizeof wait, "%u", left.reset);
		reply_refuse(r, MESSAGE_rate_limited, NULL, wait, NULL);
		reply_header(r, "Retry-After", wait);
		reply_rate(r, &left);
	}
	return !ok;
}

/* Attempts count by address and by name, so that neither many names from one place nor one name from many get far. */
static bool attempts_left(struct request *r, const char *name)
{
	char who[ADDRESS_TEXT];
	unsigned limit = r->server->conf.sign_ins_per_minute;
	address_key(&r->address, who);
	return !limited(r, "sign-in-from", who, limit, 60) && !limited(r, "sign-in-as", name, limit, 60);
}

static void tell_attempts(struct request *r)
{
	char who[ADDRESS_TEXT], key[160];
	struct rate_left left;
	address_key(&r->address, who);
	snprintf(key, sizeof key, "sign-in-from:%s", who);
	rate_look(r->server->rate, key, r->server->conf.sign_ins_per_minute, 60, &left);
	reply_rate(r, &left);
}

static void forget_attempts(struct request *r, const char *name)
{
	char key[160], who[ADDRESS_TEXT];
	snprintf(key, sizeof key, "sign-in-as:%.100s", name);
	rate_forget(r->server->rate, key);
	address_key(&r->address, who);
	snprintf(key, sizeof key, "sign-in-from:%s", who);
	rate_forget(r->server->rate, key);
}

/* ---- accounts ---- */

/* Who has the code of a group may register where that is by invitation, and is a member then. */
static bool may_register(struct request *r, const char *invite, struct store_group *group)
{
	struct err e = {0};
	const char *mode = r->server->conf.registration;
	group->id = 0;
	if (!strcmp(mode, "closed"))
		return reply_refuse(r, MESSAGE_registration_closed, NULL, NULL);
	if (!invite)
		return strcmp(mode, "invite") ? true : reply_refuse(r, MESSAGE_bad_invite, "invite", NULL);
	enum store_result result = store_group_by_code(r->store, invite, r->arena, group, &e);
	if (result == STORE_NOT_FOUND || result == STORE_INVALID)
		return reply_refuse(r, MESSAGE_bad_invite, "invite", NULL);
	return reply_stored(r, result, &e, MESSAGE_conflict, NULL);
}

void api_user_add(struct request *r)
{
	struct store_user_new n = {.role = ROLE_STUDENT, .language = r->lang};
	struct store_user u;
	struct store_group group;
	struct err e = {0};
	char who[ADDRESS_TEXT];
	const char *invite = NULL;
	if (!request_only(r, (const char *const[]){"name", "password", "display", "invite", "language", NULL}) ||
	    !request_line(r, "name", true, 1, NAME_MAX_CHARACTERS, &n.name))
		return;
	if (!name_is_good(n.name)) {
		reply_refuse(r, MESSAGE_bad_name, "name", NULL);
		return;
	}
	if (!take_password(r, "password", true, n.name, &n.password) || !request_line(r, "display", false, 1, DISPLAY_MAX, &n.display) ||
	    !request_line(r, "invite", false, 1, 100, &invite) || !request_word(r, "language", false, languages, &n.language))
		return;
	address_key(&r->address, who);
	if (limited(r, "register", who, r->server->conf.registrations_per_hour, 3600) || !may_register(r, invite, &group) ||
	    !reply_stored(r, store_user_add(r->store, &n, r->arena, &u, &e), &e, MESSAGE_name_taken, "name") ||
	    (group.id && !reply_stored(r, store_group_join(r->store, group.id, u.id, &e), &e, MESSAGE_conflict, NULL)) || !auth_open(r, &u))
		return;
	view_user(reply_json(r, 201), NULL, &u, false);
}

void api_users(struct request *r)
{
	struct store_users us;
	struct err e = {0};
	int64_t cursor;
	const char *search = request_query(r, "search");
	if (!request_cursor(r, &cursor) ||
	    !reply_stored(r, store_users(r->store, search && *search ? search : NULL, cursor, PAGE, r->arena, &us, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	view_users(w, &us);
	write_next(w, us.next);
	json_close(w, '}');
}

static void put_solved(struct json_writer *w, const struct store_solveds *s, bool own)
{
	json_open(w, "solved", '[');
	for (size_t i = 0; i < s->n; i++) {
		json_open(w, NULL, '{');
		json_write_string(w, "problem", s->at[i].problem);
		json_write_string(w, "device", s->at[i].device);
		json_write_number(w, "efficiency", s->at[i].efficiency);
		json_write_number(w, "time_us", s->at[i].time_us);
		json_write_number(w, "score", s->at[i].score);
		if (own)
			json_write_integer(w, "submission", s->at[i].submission);
		else
			json_write_null(w, "submission");
		write_time(w, "when", s->at[i].when);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_days(struct json_writer *w, const struct store_days *d)
{
	json_open(w, "activity", '[');
	for (size_t i = 0; i < d->n; i++) {
		json_open(w, NULL, '{');
		json_write_string(w, "day", d->at[i].day);
		json_write_integer(w, "submissions", d->at[i].submissions);
		json_write_integer(w, "accepted", d->at[i].accepted);
		json_close(w, '}');
	}
	json_close(w, ']');
}

void api_user(struct request *r)
{
	struct store_user u;
	struct store_solveds solved;
	struct store_days days;
	struct err e = {0};
	if (!reply_stored(r, store_user_get(r->store, r->arguments[0], r->arena, &u, &e), &e, MESSAGE_conflict, NULL) ||
	    !reply_stored(r, store_user_solved(r->store, u.id, r->arena, &solved, &e), &e, MESSAGE_conflict, NULL) ||
	    !reply_stored(r, store_user_activity(r->store, u.id, store_now() - YEAR_DAYS * 86400000LL, r->arena, &days, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	view_user(w, "user", &u, request_role(r, ROLE_INSTRUCTOR));
	put_solved(w, &solved, u.id == r->caller.id || request_role(r, ROLE_ASSISTANT));
	put_days(w, &days);
	json_close(w, '}');
}

/* One's own password is changed by who knows it; an administrator sets another's. */
static bool check_old_password(struct request *r, const struct store_user *u)
{
	const char *old = NULL;
	struct store_user again;
	struct err e = {0};
	if (u->id != r->caller.id || !u->has_password)
		return true;
	if (!request_text(r, "old_password", true, 0, PASSWORD_MAX, &old) || !attempts_left(r, u->name))
		return false;
	enum store_result result = store_user_verify(r->store, u->name, old, r->arena, &again, &e);
	if (result == STORE_NOT_FOUND || result == STORE_INVALID)
		return reply_refuse(r, MESSAGE_wrong_password, "old_password", NULL);
	forget_attempts(r, u->name);
	return reply_stored(r, result, &e, MESSAGE_conflict, NULL);
}

static bool take_change(struct request *r, const struct store_user *u, struct store_user_change *c)
{
	bool self = u->id == r->caller.id, admin = request_role(r, ROLE_ADMIN), disabled = u->disabled;
	const char *role = NULL;
	enum store_role found;
	if (!self && !admin)
		return reply_refuse(r, MESSAGE_forbidden, NULL, NULL);
	if (!request_only(r, (const char *const[]){"display", "language", "password", "old_password", "role", "disabled", NULL}) ||
	    !request_line(r, "display", false, 1, DISPLAY_MAX, &c->display) || !request_word(r, "language", false, languages, &c->language) ||
	    !take_password(r, "password", false, u->name, &c->password) || !request_word(r, "role", false, role_words, &role) ||
	    !request_bool(r, "disabled", &disabled))
		return false;
	if ((role || json_get(json_root(r->json), "disabled")) && !admin)
		return reply_refuse(r, MESSAGE_forbidden, role ? "role" : "disabled", NULL);
	if (role && store_role_find(role, &found))
		c->role = (int)found;
	if (json_get(json_root(r->json), "disabled"))
		c->disabled = disabled;
	if (!c->display && !c->language && !c->password && c->role < 0 && c->disabled < 0)
		return reply_refuse(r, MESSAGE_nothing_to_change, NULL, NULL);
	return !c->password || check_old_password(r, u);
}

void api_user_change(struct request *r)
{
	struct store_user u;
	struct store_user_change c = {.role = -1, .disabled = -1};
	struct err e = {0};
	if (!reply_stored(r, store_user_get(r->store, r->arguments[0], r->arena, &u, &e), &e, MESSAGE_conflict, NULL) || !take_change(r, &u, &c) ||
	    !reply_stored(r, store_user_set(r->store, u.id, &c, &e), &e, MESSAGE_last_admin, "role") ||
	    !reply_stored(r, store_user_by_id(r->store, u.id, r->arena, &u, &e), &e, MESSAGE_conflict, NULL))
		return;
	/* a new password ends every session, and the one who set it goes on in a new one */
	if (c.password && u.id == r->caller.id && r->caller.session && !auth_open(r, &u))
		return;
	view_user(reply_json(r, 200), NULL, &u, request_role(r, ROLE_INSTRUCTOR));
}

/* ---- sessions ---- */

void api_sign_in(struct request *r)
{
	const char *name = NULL, *password = NULL;
	struct store_user u;
	struct err e = {0};
	if (!request_only(r, (const char *const[]){"name", "password", NULL}) || !request_text(r, "name", true, 1, 100, &name) ||
	    !request_text(r, "password", true, 1, PASSWORD_MAX, &password) || !attempts_left(r, name))
		return;
	enum store_result result = store_user_verify(r->store, name, password, r->arena, &u, &e);
	if (result == STORE_NOT_FOUND || result == STORE_INVALID) {
		reply_refuse(r, MESSAGE_bad_sign_in, NULL, NULL);
		tell_attempts(r);
		return;
	}
	if (!reply_stored(r, result, &e, MESSAGE_conflict, NULL) || !auth_open(r, &u))
		return;
	forget_attempts(r, name);
	tell_attempts(r);
	view_user(reply_json(r, 200), NULL, &u, false);
}

void api_session(struct request *r)
{
	view_user(reply_json(r, 200), NULL, &r->caller.user, false);
}

void api_sign_out(struct request *r)
{
	auth_close(r);
	reply_empty(r, 204);
}

/* ---- tokens ---- */

static void put_token(struct json_writer *w, const struct store_token *t, const char *text)
{
	json_open(w, NULL, '{');
	json_write_integer(w, "id", t->id);
	json_write_string(w, "name", t->name);
	write_time(w, "created", t->created);
	write_time(w, "expires", t->expires);
	write_time(w, "last_used", t->last_used);
	if (text)
		json_write_string(w, "token", text);
	json_close(w, '}');
}

void api_tokens(struct request *r)
{
	struct store_tokens ts;
	struct err e = {0};
	if (!reply_stored(r, store_tokens(r->store, r->caller.id, r->arena, &ts, &e), &e, MESSAGE_conflict, NULL))
		return;
	struct json_writer *w = reply_json(r, 200);
	json_open(w, NULL, '{');
	json_open(w, "items", '[');
	for (size_t i = 0; i < ts.n; i++)
		put_token(w, &ts.at[i], NULL);
	json_close(w, ']');
	json_write_null(w, "next");
	json_close(w, '}');
}

void api_token_add(struct request *r)
{
	const char *name = NULL;
	int64_t days = 90;
	char token[STORE_TOKEN];
	struct store_token t;
	struct err e = {0};
	if (!request_only(r, (const char *const[]){"name", "days", NULL}) || !request_line(r, "name", true, 1, 80, &name) ||
	    !request_integer(r, "days", false, 1, 3650, &days) ||
	    !reply_stored(r, store_token_add(r->store, r->caller.id, name, (unsigned)days, token, r->arena, &t, &e), &e, MESSAGE_conflict, NULL))
		return;
	put_token(reply_json(r, 201), &t, token);
}

void api_token_remove(struct request *r)
{
	int64_t id;
	struct err e = {0};
	if (request_id(r, 0, &id) && reply_stored(r, store_token_remove(r->store, r->caller.id, id, &e), &e, MESSAGE_conflict, NULL))
		reply_empty(r, 204);
}
