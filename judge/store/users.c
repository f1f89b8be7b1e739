/* Users: accounts, passwords, roles. */
#include "sql.h"

#include "../../sandbox/base/cleanup.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 32, DISPLAY_MAX = 80, PASSWORD_MIN = 8, PASSWORD_MAX = 256 };

static const char *const roles[ROLE_COUNT] = {"student", "assistant", "instructor", "admin"};

const char *store_role_name(enum store_role r)
{
	return roles[r];
}

bool store_role_find(const char *name, enum store_role *out)
{
	for (int i = 0; i < ROLE_COUNT; i++)
		if (!strcmp(name, roles[i])) {
			*out = (enum store_role)i;
			return true;
		}
	return false;
}

/* ---- reading ---- */

#define COLUMNS "u.id, u.name, u.display, u.language, u.role, u.disabled, u.password IS NOT NULL, u.created"

static void read_user(struct query *q, struct arena *a, struct store_user *out)
{
	*out = (struct store_user){
		.id = sql_get_int(q, 0), .name = sql_get_text(q, 1, a), .display = sql_get_text(q, 2, a), .language = sql_get_text(q, 3, a),
		.role = (enum store_role)sql_get_int(q, 4), .disabled = sql_get_int(q, 5), .has_password = sql_get_int(q, 6), .created = sql_get_int(q, 7),
	};
}

static enum store_result one_user(struct query *q, struct arena *a, struct store_user *out, struct err *e, const char *missing)
{
	struct store_user u = {0};
	bool there = sql_row(q);
	if (there)
		read_user(q, a, &u);
	enum store_result rc = sql_done(q, e, "users");
	if (rc == STORE_OK && !there)
		return tell_not_found(e, "%s", missing);
	if (rc == STORE_OK)
		*out = u;
	return rc;
}

enum store_result store_user_get(struct store *s, const char *name, struct arena *a, struct store_user *out, struct err *e)
{
	struct query q;
	char missing[120];
	snprintf(missing, sizeof missing, "there is no user \"%.80s\"", name);
	sql_query(&q, s, "SELECT " COLUMNS " FROM users u WHERE u.name = $1");
	sql_put_text(&q, name);
	return one_user(&q, a, out, e, missing);
}

enum store_result store_user_by_id(struct store *s, int64_t id, struct arena *a, struct store_user *out, struct err *e)
{
	struct query q;
	sql_query(&q, s, "SELECT " COLUMNS " FROM users u WHERE u.id = $1");
	sql_put_int(&q, id);
	return one_user(&q, a, out, e, "there is no such user");
}

/* The text with what LIKE takes for a pattern escaped, between two "%". */
static void pattern_of(const char *text, struct buf *out)
{
	buf_addc(out, '%');
	for (; *text; text++) {
		if (strchr("%_\\", *text))
			buf_addc(out, '\\');
		buf_addc(out, *text);
	}
	buf_addc(out, '%');
}

enum store_result store_users(struct store *s, const char *search, int64_t cursor, unsigned limit, struct arena *a, struct store_users *out,
			      struct err *e)
{
	struct query q;
	struct store_users list = {0};
	CLEANUP_BUF struct buf pattern = {0};
	pattern_of(search ? search : "", &pattern);
	sql_query(&q, s, "SELECT " COLUMNS " FROM users u WHERE u.id > $1 AND (lower(u.name) LIKE lower($2) ESCAPE '\\' OR"
		     " lower(u.display) LIKE lower($2) ESCAPE '\\') ORDER BY u.id LIMIT $3");
	sql_put_int(&q, cursor);
	sql_put_text(&q, buf_str(&pattern));
	sql_put_int(&q, (int64_t)limit + 1);
	while (sql_row(&q)) {
		if (list.n == limit) {
			list.next = list.at[list.n - 1].id;
			break;
		}
		read_user(&q, a, LIST_ADD(&list, a));
	}
	enum store_result rc = sql_done(&q, e, "users");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_group_members(struct store *s, int64_t group, struct arena *a, struct store_users *out, struct err *e)
{
	struct query q;
	struct store_users list = {0};
	sql_query(&q, s, "SELECT " COLUMNS " FROM users u JOIN members m ON m.user_id = u.id WHERE m.group_id = $1 ORDER BY u.name");
	sql_put_int(&q, group);
	while (sql_row(&q))
		read_user(&q, a, LIST_ADD(&list, a));
	enum store_result rc = sql_done(&q, e, "members");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

enum store_result store_user_count(struct store *s, bool admins_only, int64_t *out, struct err *e)
{
	struct query q;
	sql_query(&q, s, "SELECT count(*) FROM users WHERE disabled = 0 AND role >= $1");
	sql_put_int(&q, admins_only ? ROLE_ADMIN : ROLE_STUDENT);
	return sql_one(&q, out, e, "users");
}

/* ---- what may be written ---- */

static bool good_name(const char *name)
{
	size_t n = strlen(name);
	return n >= 1 && n <= NAME_MAX_BYTES && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n && !strchr("._-", *name);
}

static enum store_result check_password(const char *password, struct err *e)
{
	size_t n = strlen(password);
	if (n < PASSWORD_MIN)
		return tell_invalid(e, "the password is too short: it needs at least %d characters", PASSWORD_MIN);
	if (n > PASSWORD_MAX)
		return tell_invalid(e, "the password is too long: at most %d bytes", PASSWORD_MAX);
	return STORE_OK;
}

static enum store_result check_language(const char *language, struct err *e)
{
	return !strcmp(language, "en") || !strcmp(language, "zh") ? STORE_OK :
		tell_invalid(e, "language \"%.20s\": write en or zh", language);
}

static enum store_result check_display(const char *display, struct err *e)
{
	return store_plain_text(display, DISPLAY_MAX) ? STORE_OK :
		tell_invalid(e, "the displayed name: 1 to %d characters, no control characters", DISPLAY_MAX);
}

enum store_result user_check(const struct store_user_new *u, struct err *e)
{
	enum store_result rc = STORE_OK;
	if (!u->name || !good_name(u->name))
		return tell_invalid(e, "the name \"%.40s\": 1 to %d small letters, digits, '.', '_' or '-', the first a letter or digit",
			       u->name ? u->name : "", NAME_MAX_BYTES);
	if (u->display)
		rc = check_display(u->display, e);
	if (rc == STORE_OK && u->password)
		rc = check_password(u->password, e);
	if (rc == STORE_OK && u->language)
		rc = check_language(u->language, e);
	return rc;
}

char *user_hash_password(struct store *s, const char *password, struct err *e)
{
	char *hash = calloc(1, crypto_pwhash_STRBYTES);
	unsigned long long ops = s->hash_fast ? crypto_pwhash_OPSLIMIT_MIN : crypto_pwhash_OPSLIMIT_INTERACTIVE;
	size_t memory = s->hash_fast ? crypto_pwhash_MEMLIMIT_MIN : crypto_pwhash_MEMLIMIT_INTERACTIVE;
	if (hash && crypto_pwhash_str(hash, password, strlen(password), ops, memory) == 0)
		return hash;
	free(hash);
	err_system(e, "cannot hash a password: not enough memory");
	return NULL;
}

/* ---- writing ---- */

enum store_result user_insert(struct store *s, const struct store_user_new *u, const char *hash, int64_t *id, struct err *e)
{
	struct query q;
	int64_t there = 0;
	sql_query(&q, s, "SELECT count(*) FROM users WHERE name = $1");
	sql_put_text(&q, u->name);
	enum store_result rc = sql_one(&q, &there, e, "users");
	if (rc == STORE_OK && there)
		return tell_conflict(e, "the name \"%s\" is taken", u->name);
	if (rc != STORE_OK)
		return rc;
	sql_query(&q, s, "INSERT INTO users (name, display, password, role, language, created) VALUES ($1, $2, $3, $4, $5, $6) RETURNING id");
	sql_put_text(&q, u->name);
	sql_put_text(&q, u->display ? u->display : u->name);
	sql_put_text(&q, hash);
	sql_put_int(&q, u->role);
	sql_put_text(&q, u->language ? u->language : "en");
	sql_put_int(&q, store_now());
	return sql_one(&q, id, e, "users");
}

enum store_result store_user_add(struct store *s, const struct store_user_new *u, struct arena *a, struct store_user *out, struct err *e)
{
	int64_t id = 0;
	CLEANUP_FREE char *hash = NULL;
	enum store_result rc = user_check(u, e);
	if (rc != STORE_OK)
		return rc;
	if (u->password && !(hash = user_hash_password(s, u->password, e)))	/* slow: before the transaction */
		return STORE_FAILED;
	rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = user_insert(s, u, hash, &id, e);
	if (rc == STORE_OK)
		rc = store_user_by_id(s, id, a, out, e);
	return sql_end(s, rc, e);
}

static enum store_result set_text(struct store *s, int64_t id, const char *sql, const char *value, struct err *e)
{
	struct query q;
	sql_query(&q, s, sql);
	sql_put_int(&q, id);
	sql_put_text(&q, value);
	return sql_run(&q, NULL, e, "users");
}

static enum store_result set_number(struct store *s, int64_t id, const char *sql, int64_t value, struct err *e)
{
	struct query q;
	sql_query(&q, s, sql);
	sql_put_int(&q, id);
	sql_put_int(&q, value);
	return sql_run(&q, NULL, e, "users");
}

/* There is always somebody left who can mend things. */
static enum store_result keep_an_admin(struct store *s, const struct store_user *was, struct err *e)
{
	int64_t admins = 0;
	enum store_result rc = store_user_count(s, true, &admins, e);
	if (rc == STORE_OK && !admins && was->role == ROLE_ADMIN && !was->disabled)
		return tell_conflict(e, "%s is the last admin: make another one first", was->name);
	return rc;
}

static enum store_result end_access(struct store *s, int64_t id, bool tokens_too, struct err *e)
{
	struct query q;
	sql_query(&q, s, "DELETE FROM sessions WHERE user_id = $1");
	sql_put_int(&q, id);
	enum store_result rc = sql_run(&q, NULL, e, "sessions");
	if (rc != STORE_OK || !tokens_too)
		return rc;
	sql_query(&q, s, "DELETE FROM tokens WHERE user_id = $1");
	sql_put_int(&q, id);
	return sql_run(&q, NULL, e, "tokens");
}

static enum store_result apply(struct store *s, int64_t id, const struct store_user_change *c, const char *hash, struct err *e)
{
	enum store_result rc = STORE_OK;
	if (c->display)
		rc = set_text(s, id, "UPDATE users SET display = $2 WHERE id = $1", c->display, e);
	if (rc == STORE_OK && c->language)
		rc = set_text(s, id, "UPDATE users SET language = $2 WHERE id = $1", c->language, e);
	if (rc == STORE_OK && hash)
		rc = set_text(s, id, "UPDATE users SET password = $2 WHERE id = $1", hash, e);
	if (rc == STORE_OK && c->role >= 0)
		rc = set_number(s, id, "UPDATE users SET role = $2 WHERE id = $1", c->role, e);
	if (rc == STORE_OK && c->disabled >= 0)
		rc = set_number(s, id, "UPDATE users SET disabled = $2 WHERE id = $1", c->disabled != 0, e);
	if (rc == STORE_OK && (hash || c->disabled > 0))
		rc = end_access(s, id, c->disabled > 0, e);
	return rc;
}

static enum store_result check_change(const struct store_user_change *c, struct err *e)
{
	enum store_result rc = STORE_OK;
	if (c->role >= ROLE_COUNT)
		return tell_invalid(e, "the role: student, assistant, instructor or admin");
	if (c->display)
		rc = check_display(c->display, e);
	if (rc == STORE_OK && c->language)
		rc = check_language(c->language, e);
	return rc == STORE_OK && c->password ? check_password(c->password, e) : rc;
}

enum store_result store_user_set(struct store *s, int64_t id, const struct store_user_change *c, struct err *e)
{
	struct store_user was;
	CLEANUP(arena_freep) struct arena *a = arena_new();
	CLEANUP_FREE char *hash = NULL;
	enum store_result rc = check_change(c, e);
	if (rc != STORE_OK)
		return rc;
	if (c->password && !(hash = user_hash_password(s, c->password, e)))
		return STORE_FAILED;
	rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = store_user_by_id(s, id, a, &was, e);
	if (rc == STORE_OK)
		rc = apply(s, id, c, hash, e);
	if (rc == STORE_OK)
		rc = keep_an_admin(s, &was, e);
	return sql_end(s, rc, e);
}

/* ---- signing in ---- */

/* Where there is no such user, as much is hashed as if there were one. */
static bool right_password(struct store *s, const char *hash, const char *password)
{
	if (hash)
		return crypto_pwhash_str_verify(hash, password, strlen(password)) == 0;
	free(user_hash_password(s, password, NULL));
	return false;
}

enum store_result store_user_verify(struct store *s, const char *name, const char *password, struct arena *a, struct store_user *out,
				    struct err *e)
{
	struct query q;
	int64_t id = 0;
	const char *hash = NULL;
	sql_query(&q, s, "SELECT id, password FROM users WHERE name = $1 AND disabled = 0");
	sql_put_text(&q, name);
	if (sql_row(&q)) {
		id = sql_get_int(&q, 0);
		hash = sql_get_text(&q, 1, a);
	}
	enum store_result rc = sql_done(&q, e, "users");
	if (rc != STORE_OK)
		return rc;
	if (strlen(password) > PASSWORD_MAX || !right_password(s, hash, password))
		return tell_not_found(e, "the name or the password is wrong");
	return store_user_by_id(s, id, a, out, e);
}
