/* Inside of the store: a connection, and statements on it.
 *
 *	struct query q;
 *	sql_query(&q, s, "SELECT id, name FROM users WHERE role = $1");
 *	sql_put_int(&q, role);
 *	while (sql_row(&q))
 *		add(sql_get_int(&q, 0), sql_get_text(&q, 1, a));
 *	return sql_done(&q, e, "users");
 *
 * Parameters are put in the order of their numbers.  A step that fails ends the rows; sql_done() tells why, and gives the statement back.
 * SQL is what SQLite and PostgreSQL both take: numbered parameters, RETURNING, ON CONFLICT, integer times, no date functions.
 */
#ifndef STORE_SQL_H
#define STORE_SQL_H

#include "store.h"

#include <sqlite3.h>

enum { SQL_CACHED = 256 };

struct store {
	sqlite3 *db;
	char path[500];
	int lock;			/* shared while it is open; store_restore wants it alone */
	unsigned depth;			/* of transactions */
	enum store_result broken;	/* why the one that is open can't be committed */
	bool hash_fast;
	char boot[40];			/* which boot of the machine leases are counted from */
	struct {
		const char *sql;	/* by address: literals */
		sqlite3_stmt *st;
	} cache[SQL_CACHED];
};

struct query {
	struct store *s;
	sqlite3_stmt *st;
	bool cached;
	int next;			/* parameter */
	int rc;				/* of SQLite, SQLITE_OK while all is well */
	unsigned rows;
};

/* sql: a literal, kept prepared. */
void sql_query(struct query *q, struct store *s, const char *sql);
/* sql: made up for this once. */
void sql_once(struct query *q, struct store *s, const char *sql);
void sql_put_int(struct query *q, int64_t v);
void sql_put_id(struct query *q, int64_t v);			/* 0: NULL */
void sql_put_real(struct query *q, double v);			/* NaN: NULL */
void sql_put_text(struct query *q, const char *v);			/* NULL: NULL; the text must live until sql_done() */
void sql_put_blob(struct query *q, const void *v, size_t size);	/* as put_text */
bool sql_row(struct query *q);
int64_t sql_get_int(struct query *q, int column);			/* NULL: 0 */
double sql_get_real(struct query *q, int column);			/* NULL: NaN */
const char *sql_get_text(struct query *q, int column, struct arena *a);	/* NULL: NULL */
const void *sql_get_blob(struct query *q, int column, size_t *size);	/* until the next row */
bool sql_is_null(struct query *q, int column);
/* `what` is the context of a failure: "users", "submission 7". */
enum store_result sql_done(struct query *q, struct err *e, const char *what);
/* A statement without rows; *changed: how many rows it changed, may be NULL. */
enum store_result sql_run(struct query *q, int64_t *changed, struct err *e, const char *what);
/* A statement without rows that must change one; if it changes none: not_found, and `none` says so. */
enum store_result sql_must(struct query *q, struct err *e, const char *what, const char *none);
/* A statement of one row with one number; none: not_found. */
enum store_result sql_one(struct query *q, int64_t *out, struct err *e, const char *what);
enum store_result sql_exec(struct store *s, const char *sql, struct err *e);

/* Transactions nest: the outermost decides.  sql_end(s, rc, e) commits if rc is OK, else rolls back, and returns the result. */
enum store_result sql_begin(struct store *s, struct err *e);		/* to write: others' writes wait from here on */
enum store_result sql_begin_reading(struct store *s, struct err *e);	/* all of one moment */
enum store_result sql_end(struct store *s, enum store_result rc, struct err *e);

enum store_result tell_not_found(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum store_result tell_conflict(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum store_result tell_invalid(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
enum store_result tell_stale(struct err *e, int64_t judging);
enum store_result tell_failed(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Lists: one more element, zeroed, at the end of an array in the arena that doubles as it grows. */
void *list_more(struct arena *a, void *at, size_t *n, size_t element);
#define LIST_ADD(list, a)                                                                      \
	({                                                                                     \
		(list)->at = list_more(a, (list)->at, &(list)->n, sizeof *(list)->at);         \
		&(list)->at[(list)->n - 1];                                                    \
	})

/* ---- what several files need of one another ---- */

/* 1 to max characters of UTF-8 without control characters. */
bool store_plain_text(const char *text, size_t max);
/* 256 random bits as text, and the hash that is kept. */
enum { TOKEN_HASH = 32 };
void access_draw(char token[STORE_TOKEN], unsigned char hash[TOKEN_HASH]);
bool access_hash(const char *token, unsigned char hash[TOKEN_HASH]);	/* false: no token of ours looks like that */
/* A password's hash, to be freed by the caller. */
char *user_hash_password(struct store *s, const char *password, struct err *e);
enum store_result user_insert(struct store *s, const struct store_user_new *u, const char *hash, int64_t *id, struct err *e);
enum store_result user_check(const struct store_user_new *u, struct err *e);

/* A judging of a submission of this user is put into the queue.  The caller holds a transaction. */
struct queue_entry {
	int64_t submission, user, rejudge_id, before;	/* before: the judging whose result it may change, or 0 */
	const char *problem, *version, *device;
	bool rejudge;
};
enum store_result queue_add(struct store *s, const struct queue_entry *n, int64_t *judging, struct err *e);
enum store_result event_add(struct store *s, int64_t judging, const char *kind, const char *data, struct err *e);
int64_t store_boot_ms(void);			/* since boot, also while suspended */

/* The columns of judging_read, of judgings j. */
#define JUDGING_COLUMNS                                                                                                     \
	"j.id, j.submission, j.user_id, j.problem, j.version, j.state, j.attempt, j.rejudge, j.rejudge_id, j.device, "         \
	"j.created, j.started, j.finished, j.verdict, j.text, j.score, j.efficiency, j.time_us, j.tier, j.stage, j.done, "     \
	"j.total, j.cancelling, j.worker, j.note"
enum { JUDGING_WIDTH = 25 };
void judging_read(struct query *q, int column, struct arena *a, struct store_judging *out);

/* Conditions on submissions x and their latest judgings j: " AND x.problem = $3 ...", parameters from $`first` on, which
 * filter_put then puts. */
void filter_text(const struct store_filter *f, int first, struct buf *out);
void filter_put(const struct store_filter *f, struct query *q);

/* The lock that says nobody has the database at `path` open, and its file; a descriptor to close, or -1. */
int store_lock_alone(const char *path, char *file, size_t size, struct err *e);

/* schema.c: brings a database up to date. */
enum { SCHEMA_VERSION = 3, SCHEMA_ID = 0x4a444745 /* "JDGE" */ };
const char *schema_step(int from);	/* the SQL that makes version from + 1 of version from */
enum store_result schema_ready(struct store *s, struct err *e);

#endif
