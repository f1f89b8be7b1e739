/* The tables, and how older databases become this one.
 *
 * versions[i] takes a database from version i to i + 1; each in a transaction of its own, so that one that is killed goes on where
 * it was.  A version that was released never changes: what comes later is a new one.
 */
#include "sql.h"

#include <stdio.h>

static const char version_1[] =
	"CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, display TEXT NOT NULL, password TEXT,"
	"	role INTEGER NOT NULL CHECK (role BETWEEN 0 AND 3), language TEXT NOT NULL, disabled INTEGER NOT NULL DEFAULT 0,"
	"	created INTEGER NOT NULL) STRICT;"
	"CREATE TABLE sessions (hash BLOB PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE,"
	"	created INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE INDEX sessions_user ON sessions (user_id);"
	"CREATE INDEX sessions_expires ON sessions (expires);"
	"CREATE TABLE tokens (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE, name TEXT NOT NULL,"
	"	hash BLOB NOT NULL UNIQUE, created INTEGER NOT NULL, expires INTEGER NOT NULL, last_used INTEGER NOT NULL DEFAULT 0) STRICT;"
	"CREATE INDEX tokens_user ON tokens (user_id);"

	"CREATE TABLE problems (id TEXT PRIMARY KEY, version TEXT NOT NULL, position INTEGER NOT NULL,"
	"	hidden INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;"
	"CREATE TABLE versions (problem TEXT NOT NULL REFERENCES problems, version TEXT NOT NULL, folder TEXT NOT NULL,"
	"	title TEXT NOT NULL, title_zh TEXT, difficulty TEXT NOT NULL, tags TEXT NOT NULL,"
	"	by_user INTEGER REFERENCES users, created INTEGER NOT NULL, PRIMARY KEY (problem, version)) STRICT, WITHOUT ROWID;"

	/* latest: its newest judging; result: the newest that is done */
	"CREATE TABLE submissions (id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users,"
	"	problem TEXT NOT NULL REFERENCES problems, name TEXT NOT NULL, source BLOB NOT NULL, device TEXT NOT NULL,"
	"	samples INTEGER NOT NULL, created INTEGER NOT NULL, latest INTEGER REFERENCES judgings DEFERRABLE INITIALLY DEFERRED,"
	"	result INTEGER REFERENCES judgings DEFERRABLE INITIALLY DEFERRED) STRICT;"
	"CREATE INDEX submissions_user ON submissions (user_id, problem);"
	"CREATE INDEX submissions_problem ON submissions (problem, user_id);"
	"CREATE INDEX submissions_latest ON submissions (latest);"
	"CREATE INDEX submissions_result ON submissions (result);"

	"CREATE TABLE rejudges (id INTEGER PRIMARY KEY, by_user INTEGER REFERENCES users, created INTEGER NOT NULL,"
	"	total INTEGER NOT NULL) STRICT;"

	/* A judging is also the job.  state: enum store_state.  attempt: the fencing token.  failures: attempts that we lost.
	 * turn: the queue's order among equals (queue.c).  before: the submission's result when it was queued again. */
	"CREATE TABLE judgings (id INTEGER PRIMARY KEY, submission INTEGER NOT NULL REFERENCES submissions,"
	"	user_id INTEGER NOT NULL REFERENCES users, problem TEXT NOT NULL, version TEXT NOT NULL,"
	"	state INTEGER NOT NULL DEFAULT 0 CHECK (state BETWEEN 0 AND 3), rejudge INTEGER NOT NULL DEFAULT 0, turn INTEGER NOT NULL,"
	"	attempt INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0, device TEXT NOT NULL,"
	"	created INTEGER NOT NULL, started INTEGER NOT NULL DEFAULT 0, finished INTEGER NOT NULL DEFAULT 0,"
	"	worker TEXT, lease_until INTEGER NOT NULL DEFAULT 0, lease_boot TEXT, cancelling INTEGER NOT NULL DEFAULT 0,"
	"	verdict TEXT, text TEXT, score REAL, efficiency REAL, time_us REAL, tier TEXT,"
	"	stage TEXT, done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0, note TEXT,"
	"	rejudge_id INTEGER REFERENCES rejudges, before INTEGER REFERENCES judgings) STRICT;"
	"CREATE INDEX judgings_queued ON judgings (rejudge, turn, id) WHERE state = 0;"
	"CREATE INDEX judgings_running ON judgings (rejudge) WHERE state = 1;"
	"CREATE INDEX judgings_turn ON judgings (rejudge, turn) WHERE state < 2;"
	"CREATE INDEX judgings_user_turn ON judgings (user_id, rejudge, turn) WHERE state < 2;"
	"CREATE INDEX judgings_submission ON judgings (submission);"
	"CREATE INDEX judgings_board ON judgings (problem, device, verdict) WHERE state = 2;"
	"CREATE INDEX judgings_verdict ON judgings (verdict) WHERE state = 2;"
	"CREATE INDEX judgings_rejudge ON judgings (rejudge_id) WHERE rejudge_id IS NOT NULL;"

	/* public_report: without what is not for students */
	"CREATE TABLE reports (judging INTEGER PRIMARY KEY REFERENCES judgings, report BLOB, public_report BLOB, ptx TEXT,"
	"	sass TEXT) STRICT;"
	"CREATE TABLE cases (judging INTEGER NOT NULL REFERENCES judgings, number INTEGER NOT NULL, name TEXT NOT NULL,"
	"	stage TEXT NOT NULL, verdict TEXT, visible INTEGER NOT NULL, timing INTEGER NOT NULL, gpu INTEGER NOT NULL, why TEXT,"
	"	printed TEXT, sizes TEXT NOT NULL, fault TEXT, worst TEXT, error_ratio REAL, time_us REAL, floor_us REAL, efficiency REAL,"
	"	bytes REAL, flops REAL, reference_us REAL, cublas_us REAL, limiter TEXT, PRIMARY KEY (judging, number)) STRICT, WITHOUT ROWID;"
	/* Numbers of events are never used twice, for clients go on from the last that they saw. */
	"CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, judging INTEGER NOT NULL REFERENCES judgings, kind TEXT NOT NULL,"
	"	data TEXT NOT NULL, created INTEGER NOT NULL) STRICT;"
	"CREATE INDEX events_judging ON events (judging, id);"

	"CREATE TABLE workers (name TEXT PRIMARY KEY, pid INTEGER NOT NULL, state TEXT NOT NULL, judging INTEGER NOT NULL DEFAULT 0,"
	"	started INTEGER NOT NULL, seen INTEGER NOT NULL, seen_boot INTEGER NOT NULL, boot TEXT NOT NULL,"
	"	graded INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;"
	"CREATE TABLE devices (id TEXT PRIMARY KEY, name TEXT NOT NULL, gpu INTEGER NOT NULL, in_service INTEGER NOT NULL, note TEXT,"
	"	since INTEGER NOT NULL, checked INTEGER NOT NULL) STRICT, WITHOUT ROWID;";

/* Courses. */
static const char version_2[] =
	"CREATE TABLE study_groups (id INTEGER PRIMARY KEY, name TEXT NOT NULL, code TEXT NOT NULL UNIQUE, created INTEGER NOT NULL) STRICT;"
	"CREATE TABLE members (group_id INTEGER NOT NULL REFERENCES study_groups ON DELETE CASCADE,"
	"	user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE, PRIMARY KEY (group_id, user_id)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX members_user ON members (user_id);"
	"CREATE TABLE assignments (id INTEGER PRIMARY KEY, group_id INTEGER NOT NULL REFERENCES study_groups ON DELETE CASCADE,"
	"	problem TEXT NOT NULL REFERENCES problems, title TEXT NOT NULL, opens INTEGER NOT NULL, deadline INTEGER NOT NULL) STRICT;"
	"CREATE INDEX assignments_group ON assignments (group_id);"
	"CREATE TABLE extensions (assignment INTEGER NOT NULL REFERENCES assignments ON DELETE CASCADE,"
	"	user_id INTEGER NOT NULL REFERENCES users ON DELETE CASCADE, deadline INTEGER NOT NULL,"
	"	PRIMARY KEY (assignment, user_id)) STRICT, WITHOUT ROWID;";

/* An edition is a folder with a package: of one version there are several where only its texts were changed. */
static const char version_3[] =
	"CREATE TABLE editions (id INTEGER PRIMARY KEY, problem TEXT NOT NULL, version TEXT NOT NULL, folder TEXT NOT NULL,"
	"	by_user INTEGER REFERENCES users, created INTEGER NOT NULL, FOREIGN KEY (problem, version) REFERENCES versions,"
	"	UNIQUE (problem, version, folder)) STRICT;"
	"INSERT INTO editions (problem, version, folder, by_user, created)"
	"	SELECT problem, version, folder, by_user, created FROM versions ORDER BY created;"
	"ALTER TABLE reports DROP COLUMN sass;";

static const char *const versions[SCHEMA_VERSION] = {version_1, version_2, version_3};

const char *schema_step(int from)
{
	return versions[from];
}

static enum store_result pragma(struct store *s, const char *sql, int64_t *out, struct err *e)
{
	struct query q;
	sql_once(&q, s, sql);
	return sql_one(&q, out, e, "database");
}

/* One version more, unless another process was faster. */
static enum store_result step(struct store *s, int64_t from, struct err *e)
{
	char number[80];
	int64_t now = 0;
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = pragma(s, "PRAGMA user_version", &now, e);
	if (rc == STORE_OK && now == from)
		rc = sql_exec(s, versions[from], e);
	snprintf(number, sizeof number, "PRAGMA user_version = %lld; PRAGMA application_id = %d", (long long)from + 1, SCHEMA_ID);
	if (rc == STORE_OK && now == from)
		rc = sql_exec(s, number, e);
	return sql_end(s, rc, e);
}

/* A file that is no database of ours is left alone. */
static enum store_result check_owner(struct store *s, int64_t version, struct err *e)
{
	int64_t id = 0, tables = 0;
	enum store_result rc = pragma(s, "PRAGMA application_id", &id, e);
	if (rc == STORE_OK)
		rc = pragma(s, "SELECT count(*) FROM sqlite_master", &tables, e);
	if (rc != STORE_OK)
		return rc;
	if (version > SCHEMA_VERSION && id == SCHEMA_ID)
		return tell_invalid(e, "%s was written by a newer judge (tables of version %lld, this one knows %d): use that one", s->path,
			       (long long)version, SCHEMA_VERSION);
	if (id != SCHEMA_ID && (tables || version))
		return tell_invalid(e, "%s is a database of another program: name another folder", s->path);
	return STORE_OK;
}

enum store_result schema_ready(struct store *s, struct err *e)
{
	int64_t version = 0;
	enum store_result rc = sql_begin_reading(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = pragma(s, "PRAGMA user_version", &version, e);
	if (rc == STORE_OK)
		rc = check_owner(s, version, e);
	rc = sql_end(s, rc, e);
	for (; rc == STORE_OK && version < SCHEMA_VERSION; version++)
		rc = step(s, version, e);
	return rc;
}
