/* Groups of users: courses and classes. */
#include "sql.h"

#include "../../sandbox/base/cleanup.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_CHARACTERS = 80, CODE_CHARACTERS = 10, ROSTER_MAX = 2000 };

/* Letters and digits that are not mistaken for one another: 31 of them, so ten are 49 bits. */
static void draw_code(char code[CODE_CHARACTERS + 1])
{
	static const char letters[] = "abcdefghjkmnpqrstuvwxyz23456789";
	for (int i = 0; i < CODE_CHARACTERS; i++)
		code[i] = letters[randombytes_uniform(sizeof letters - 1)];
	code[CODE_CHARACTERS] = 0;
}

/* ---- reading ---- */

#define GROUP "SELECT g.id, g.created, (SELECT count(*) FROM members m WHERE m.group_id = g.id), g.name, g.code FROM study_groups g "

static void read_group(struct query *q, struct arena *a, struct store_group *out)
{
	*out = (struct store_group){.id = sql_get_int(q, 0), .created = sql_get_int(q, 1), .members = sql_get_int(q, 2),
				    .name = sql_get_text(q, 3, a), .code = sql_get_text(q, 4, a)};
}

static enum store_result one_group(struct query *q, struct arena *a, struct store_group *out, struct err *e)
{
	struct store_group g = {0};
	if (sql_row(q))
		read_group(q, a, &g);
	enum store_result rc = sql_done(q, e, "groups");
	if (rc == STORE_OK && !g.id)
		return tell_not_found(e, "there is no such group");
	if (rc == STORE_OK)
		*out = g;
	return rc;
}

enum store_result store_group_get(struct store *s, int64_t id, struct arena *a, struct store_group *out, struct err *e)
{
	struct query q;
	sql_query(&q, s, GROUP "WHERE g.id = $1");
	sql_put_int(&q, id);
	return one_group(&q, a, out, e);
}

enum store_result store_group_by_code(struct store *s, const char *code, struct arena *a, struct store_group *out, struct err *e)
{
	struct query q;
	sql_query(&q, s, GROUP "WHERE g.code = $1");
	sql_put_text(&q, code);
	return one_group(&q, a, out, e);
}

enum store_result store_groups(struct store *s, int64_t member, struct arena *a, struct store_groups *out, struct err *e)
{
	struct query q;
	struct store_groups list = {0};
	sql_query(&q, s, GROUP "WHERE $1 = 0 OR g.id IN (SELECT group_id FROM members WHERE user_id = $1) ORDER BY g.name, g.id");
	sql_put_int(&q, member);
	while (sql_row(&q))
		read_group(&q, a, LIST_ADD(&list, a));
	enum store_result rc = sql_done(&q, e, "groups");
	if (rc == STORE_OK)
		*out = list;
	return rc;
}

bool store_group_has(struct store *s, int64_t group, int64_t user)
{
	struct query q;
	int64_t n = 0;
	sql_query(&q, s, "SELECT count(*) FROM members WHERE group_id = $1 AND user_id = $2");
	sql_put_int(&q, group);
	sql_put_int(&q, user);
	return sql_one(&q, &n, NULL, "members") == STORE_OK && n;
}

/* ---- writing ---- */

static enum store_result check_name(const char *name, struct err *e)
{
	return store_plain_text(name, NAME_CHARACTERS) ? STORE_OK :
		tell_invalid(e, "the group's name: 1 to %d characters, no control characters", NAME_CHARACTERS);
}

enum store_result store_group_add(struct store *s, const char *name, struct arena *a, struct store_group *out, struct err *e)
{
	struct query q;
	char code[CODE_CHARACTERS + 1];
	struct store_group g = {0};
	enum store_result rc = check_name(name, e);
	if (rc != STORE_OK)
		return rc;
	draw_code(code);
	g = (struct store_group){.name = arena_strdup(a, name), .code = arena_strdup(a, code), .created = store_now()};
	sql_query(&q, s, "INSERT INTO study_groups (name, code, created) VALUES ($1, $2, $3) RETURNING id");
	sql_put_text(&q, name);
	sql_put_text(&q, code);
	sql_put_int(&q, g.created);
	rc = sql_one(&q, &g.id, e, "groups");
	if (rc == STORE_OK)
		*out = g;
	return rc;
}

enum store_result store_group_set(struct store *s, int64_t id, const char *name, bool new_code, struct err *e)
{
	struct query q;
	char code[CODE_CHARACTERS + 1];
	enum store_result rc = name ? check_name(name, e) : STORE_OK;
	if (rc != STORE_OK)
		return rc;
	draw_code(code);
	sql_query(&q, s, "UPDATE study_groups SET name = coalesce($2, name), code = coalesce($3, code) WHERE id = $1");
	sql_put_int(&q, id);
	sql_put_text(&q, name);
	sql_put_text(&q, new_code ? code : NULL);
	return sql_must(&q, e, "groups", "there is no such group");
}

enum store_result store_group_remove(struct store *s, int64_t id, struct err *e)
{
	struct query q;
	sql_query(&q, s, "DELETE FROM study_groups WHERE id = $1");
	sql_put_int(&q, id);
	return sql_must(&q, e, "groups", "there is no such group");
}

static enum store_result join(struct store *s, int64_t group, int64_t user, bool *joined, struct err *e)
{
	struct query q;
	int64_t n = 0;
	sql_query(&q, s, "INSERT INTO members (group_id, user_id) VALUES ($1, $2) ON CONFLICT (group_id, user_id) DO NOTHING");
	sql_put_int(&q, group);
	sql_put_int(&q, user);
	enum store_result rc = sql_run(&q, &n, e, "group");
	if (joined && rc == STORE_OK)
		*joined = n;
	return rc;
}

enum store_result store_group_join(struct store *s, int64_t group, int64_t user, struct err *e)
{
	return join(s, group, user, NULL, e);
}

enum store_result store_group_leave(struct store *s, int64_t group, int64_t user, struct err *e)
{
	struct query q;
	sql_query(&q, s, "DELETE FROM members WHERE group_id = $1 AND user_id = $2");
	sql_put_int(&q, group);
	sql_put_int(&q, user);
	return sql_must(&q, e, "members", "not a member of this group");
}

/* ---- a whole roster ---- */

static enum store_result add_row(struct store *s, int64_t group, struct store_roster_row *r, const char *hash, struct err *e)
{
	struct query q;
	int64_t user = 0;
	struct store_user_new n = {.name = r->name, .display = r->display, .role = ROLE_STUDENT};
	sql_query(&q, s, "SELECT id FROM users WHERE name = $1");
	sql_put_text(&q, r->name);
	enum store_result rc = sql_one(&q, &user, e, "such user");
	r->added = rc == STORE_NOT_FOUND;
	if (r->added)
		rc = user_insert(s, &n, hash, &user, e);
	return rc == STORE_OK ? join(s, group, user, &r->joined, e) : rc;
}

static enum store_result check_rows(const struct store_roster_row *rows, size_t n, struct err *e)
{
	if (n > ROSTER_MAX)
		return tell_invalid(e, "the list has %zu rows: at most %d at a time", n, ROSTER_MAX);
	for (size_t i = 0; i < n; i++) {
		struct store_user_new u = {.name = rows[i].name, .display = rows[i].display, .password = rows[i].password};
		enum store_result rc = user_check(&u, e);
		if (rc != STORE_OK) {
			err_wrap(e, "row %zu", i + 1);
			return rc;
		}
	}
	return STORE_OK;
}

/* Passwords take long to hash: before others have to wait for the transaction.  Those of accounts that are there stay as they are. */
static int hash_rows(struct store *s, const struct store_roster_row *rows, size_t n, char **hashes, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].password && !(hashes[i] = user_hash_password(s, rows[i].password, e)))
			return -1;
	return 0;
}

static enum store_result add_rows(struct store *s, int64_t group, struct store_roster_row *rows, size_t n, char **hashes, struct err *e)
{
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	for (size_t i = 0; i < n && rc == STORE_OK; i++) {
		rc = add_row(s, group, &rows[i], hashes[i], e);
		if (rc != STORE_OK)
			err_wrap(e, "row %zu (%s)", i + 1, rows[i].name);
	}
	return sql_end(s, rc, e);
}

enum store_result store_group_roster(struct store *s, int64_t group, struct store_roster_row *rows, size_t n, struct err *e)
{
	enum store_result rc = check_rows(rows, n, e);
	if (rc != STORE_OK)
		return rc;
	char **hashes = calloc(n + 1, sizeof *hashes);
	if (!hashes)
		BUG("out of memory");
	rc = hash_rows(s, rows, n, hashes, e) < 0 ? STORE_FAILED : add_rows(s, group, rows, n, hashes, e);
	for (size_t i = 0; i < n; i++)
		free(hashes[i]);
	free(hashes);
	return rc;
}
