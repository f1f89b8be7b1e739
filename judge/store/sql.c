/* Statements and transactions: see sql.h. */
#include "sql.h"

#include "../../sandbox/base/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- results ---- */

#define TELL(name, result, kind_)                                          \
	enum store_result name(struct err *e, const char *fmt, ...)        \
	{                                                                  \
		va_list ap;                                                \
		if (e) {                                                   \
			va_start(ap, fmt);                                 \
			e->kind = kind_;                                   \
			vsnprintf(e->text, sizeof e->text, fmt, ap);       \
			va_end(ap);                                        \
		}                                                          \
		return result;                                             \
	}
TELL(tell_not_found, STORE_NOT_FOUND, ERR_INPUT)
TELL(tell_conflict, STORE_CONFLICT, ERR_INPUT)
TELL(tell_invalid, STORE_INVALID, ERR_INPUT)
TELL(tell_failed, STORE_FAILED, ERR_SYSTEM)
#undef TELL

enum store_result tell_stale(struct err *e, int64_t judging)
{
	err_input(e, "judging %lld: the lease was lost, another attempt has it", (long long)judging);
	return STORE_STALE;
}

/* SQLite's code as a result; constraints that callers do not look for first are conflicts or what is not there. */
static enum store_result result_of(struct store *s, int rc, struct err *e, const char *what)
{
	switch (rc & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		err_system(e, "%s: the database is held by others for longer than %d s", what, STORE_PATIENCE_MS / 1000);
		return STORE_BUSY;
	case SQLITE_FULL:
		err_system(e, "%s: the disk is full, nothing was written", what);
		return STORE_FULL;
	case SQLITE_CONSTRAINT:
		if (rc == SQLITE_CONSTRAINT_FOREIGNKEY)
			return tell_not_found(e, "%s: it refers to something that is not there", what);
		if (rc == SQLITE_CONSTRAINT_UNIQUE || rc == SQLITE_CONSTRAINT_PRIMARYKEY)
			return tell_conflict(e, "%s: there is one already", what);
	}
	return tell_failed(e, "%s: %s (SQLite %d)", what, sqlite3_errmsg(s->db), rc);
}

/* ---- statements ---- */

static sqlite3_stmt *prepare(struct store *s, const char *sql, unsigned flags, int *rc)
{
	sqlite3_stmt *st = NULL;
	*rc = sqlite3_prepare_v3(s->db, sql, -1, flags, &st, NULL);
	return st;
}

/* Where a literal's statement is kept: its place, or the free place for it; none: -1. */
static int place_of(const struct store *s, const char *sql)
{
	unsigned at = (unsigned)((uintptr_t)sql >> 3) % SQL_CACHED;
	for (int i = 0; i < SQL_CACHED; i++, at = (at + 1) % SQL_CACHED)
		if (!s->cache[at].sql || s->cache[at].sql == sql)
			return (int)at;
	return -1;
}

void sql_query(struct query *q, struct store *s, const char *sql)
{
	int at = place_of(s, sql);
	if (at < 0 || (s->cache[at].sql && sqlite3_stmt_busy(s->cache[at].st))) {
		sql_once(q, s, sql);		/* in use further up the stack */
		return;
	}
	*q = (struct query){.s = s, .cached = true};
	if (!s->cache[at].sql) {
		s->cache[at].st = prepare(s, sql, SQLITE_PREPARE_PERSISTENT, &q->rc);
		if (q->rc == SQLITE_OK)
			s->cache[at].sql = sql;
	}
	q->st = s->cache[at].st;
}

void sql_once(struct query *q, struct store *s, const char *sql)
{
	*q = (struct query){.s = s};
	q->st = prepare(s, sql, 0, &q->rc);
}

/* The place of the next parameter: SQLite numbers "$7" by where it stands, not by its name. */
static int next(struct query *q)
{
	char name[16];
	snprintf(name, sizeof name, "$%d", ++q->next);
	if (q->rc != SQLITE_OK)
		return 0;
	int at = sqlite3_bind_parameter_index(q->st, name);
	if (!at)
		BUG("no parameter %s in: %s", name, sqlite3_sql(q->st));
	return at;
}

void sql_put_int(struct query *q, int64_t v)
{
	int at = next(q);
	if (at)
		q->rc = sqlite3_bind_int64(q->st, at, v);
}

void sql_put_id(struct query *q, int64_t v)
{
	int at = next(q);
	if (at)
		q->rc = v ? sqlite3_bind_int64(q->st, at, v) : sqlite3_bind_null(q->st, at);
}

void sql_put_real(struct query *q, double v)
{
	int at = next(q);
	if (at)
		q->rc = isnan(v) ? sqlite3_bind_null(q->st, at) : sqlite3_bind_double(q->st, at, v);
}

void sql_put_text(struct query *q, const char *v)
{
	int at = next(q);
	if (at)
		q->rc = v ? sqlite3_bind_text(q->st, at, v, -1, SQLITE_STATIC) : sqlite3_bind_null(q->st, at);
}

void sql_put_blob(struct query *q, const void *v, size_t size)
{
	int at = next(q);
	if (at && v)
		q->rc = sqlite3_bind_blob64(q->st, at, size ? v : "", size, SQLITE_STATIC);
	else if (at)
		q->rc = sqlite3_bind_null(q->st, at);
}

bool sql_row(struct query *q)
{
	if (q->rc != SQLITE_OK && q->rc != SQLITE_ROW)
		return false;
	q->rc = sqlite3_step(q->st);
	q->rows += q->rc == SQLITE_ROW;
	return q->rc == SQLITE_ROW;
}

int64_t sql_get_int(struct query *q, int column)
{
	return sqlite3_column_int64(q->st, column);
}

bool sql_is_null(struct query *q, int column)
{
	return sqlite3_column_type(q->st, column) == SQLITE_NULL;
}

double sql_get_real(struct query *q, int column)
{
	return sql_is_null(q, column) ? NAN : sqlite3_column_double(q->st, column);
}

const char *sql_get_text(struct query *q, int column, struct arena *a)
{
	const char *text = (const char *)sqlite3_column_text(q->st, column);
	return text ? arena_strndup(a, text, (size_t)sqlite3_column_bytes(q->st, column)) : NULL;
}

const void *sql_get_blob(struct query *q, int column, size_t *size)
{
	const void *data = sqlite3_column_blob(q->st, column);
	*size = (size_t)sqlite3_column_bytes(q->st, column);
	return data ? data : "";
}

enum store_result sql_done(struct query *q, struct err *e, const char *what)
{
	bool well = q->rc == SQLITE_OK || q->rc == SQLITE_ROW || q->rc == SQLITE_DONE;
	enum store_result rc = well ? STORE_OK : result_of(q->s, q->rc, e, what);
	if (q->st && q->cached) {
		sqlite3_reset(q->st);
		sqlite3_clear_bindings(q->st);
	} else if (q->st) {
		sqlite3_finalize(q->st);
	}
	if (!well && q->s->depth && !q->s->broken)
		q->s->broken = rc;
	q->st = NULL;
	return rc;
}

enum store_result sql_run(struct query *q, int64_t *changed, struct err *e, const char *what)
{
	while (sql_row(q))
		;
	if (changed && q->rc == SQLITE_DONE)
		*changed = sqlite3_changes64(q->s->db);
	return sql_done(q, e, what);
}

enum store_result sql_must(struct query *q, struct err *e, const char *what, const char *none)
{
	int64_t changed = 0;
	enum store_result rc = sql_run(q, &changed, e, what);
	return rc == STORE_OK && !changed ? tell_not_found(e, "%s", none) : rc;
}

enum store_result sql_one(struct query *q, int64_t *out, struct err *e, const char *what)
{
	int64_t v = 0;
	bool there = sql_row(q);
	if (there)
		v = sql_get_int(q, 0);
	while (sql_row(q))		/* to the end: what a statement with RETURNING wrote is committed there */
		;
	enum store_result rc = sql_done(q, e, what);
	if (rc != STORE_OK)
		return rc;
	if (!there)
		return tell_not_found(e, "no %s", what);
	*out = v;
	return STORE_OK;
}

enum store_result sql_exec(struct store *s, const char *sql, struct err *e)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? STORE_OK : result_of(s, sqlite3_extended_errcode(s->db), e, "database");
}

/* ---- transactions ---- */

static enum store_result begin_as(struct store *s, const char *sql, struct err *e)
{
	if (s->depth) {
		s->depth++;
		return STORE_OK;
	}
	struct query q;
	sql_query(&q, s, sql);
	enum store_result rc = sql_run(&q, NULL, e, "database");
	if (rc == STORE_OK) {
		s->depth = 1;
		s->broken = STORE_OK;
	}
	return rc;
}

enum store_result sql_begin(struct store *s, struct err *e)
{
	return begin_as(s, "BEGIN IMMEDIATE", e);
}

enum store_result sql_begin_reading(struct store *s, struct err *e)
{
	return begin_as(s, "BEGIN", e);
}

enum store_result sql_end(struct store *s, enum store_result rc, struct err *e)
{
	if (rc != STORE_OK && !s->broken)
		s->broken = rc;
	if (--s->depth)
		return rc;
	struct query q;
	if (rc == STORE_OK && !s->broken) {
		sql_query(&q, s, "COMMIT");
		rc = sql_run(&q, NULL, e, "database");
	} else if (rc == STORE_OK) {
		rc = tell_failed(e, "database: a part of the work failed");
	}
	if (!sqlite3_get_autocommit(s->db)) {		/* not committed, and not rolled back by SQLite itself */
		sql_query(&q, s, "ROLLBACK");
		sql_run(&q, NULL, NULL, "database");
	}
	s->broken = STORE_OK;
	return rc;
}

/* ---- lists, texts ---- */

void *list_more(struct arena *a, void *at, size_t *n, size_t element)
{
	enum { FIRST = 8 };
	size_t had = *n;
	if (had == 0) {
		at = arena_alloc(a, FIRST * element);
	} else if (had >= FIRST && (had & (had - 1)) == 0) {
		void *more = arena_alloc(a, 2 * had * element);
		memcpy(more, at, had * element);
		at = more;
	}
	(*n)++;
	return at;
}

bool store_plain_text(const char *text, size_t max)
{
	size_t size = strlen(text), at, characters = 0;
	if (!size || !utf8_valid(text, size, &at))
		return false;
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c < 0x20 || c == 0x7f || (c == 0xc2 && (unsigned char)text[i + 1] < 0xa0))
			return false;
		characters += (c & 0xc0) != 0x80;
	}
	return characters <= max;
}
