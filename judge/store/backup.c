/* Backup and restore.  A backup is one file, a database like any other, made while others write; see store.h. */
#include "sql.h"

#include "../../sandbox/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGES_AT_ONCE = 256, PAUSE_US = 2000 };

/* All pages from one to the other, a few at a time: others may read and write between. */
static enum store_result copy(sqlite3 *to, sqlite3 *from, const char *name, struct err *e)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	if (!b)
		return tell_failed(e, "cannot write %s: %s", name, sqlite3_errmsg(to));
	int rc;
	while ((rc = sqlite3_backup_step(b, PAGES_AT_ONCE)) == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED)
		usleep(PAUSE_US);
	int finished = sqlite3_backup_finish(b);
	if (rc == SQLITE_DONE && finished == SQLITE_OK)
		return STORE_OK;
	if (rc == SQLITE_FULL) {
		err_system(e, "cannot write %s: the disk is full", name);
		return STORE_FULL;
	}
	return tell_failed(e, "cannot write %s: %s", name, sqlite3_errstr(rc == SQLITE_DONE ? finished : rc));
}

/* A file that is on the disk for good, in a folder that knows of it. */
static void settle(const char *path)
{
	char folder[560];
	snprintf(folder, sizeof folder, "%s", path);
	CLEANUP_FD int file = open(path, O_RDONLY | O_CLOEXEC), dir = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (file >= 0)
		fsync(file);
	if (dir >= 0)
		fsync(dir);
}

/* A copy alone in its file, without a log beside it. */
static enum store_result copy_to_file(sqlite3 *from, const char *path, struct err *e)
{
	sqlite3 *to = NULL;
	if (mknod(path, S_IFREG | 0600, 0) < 0)
		return errno == EEXIST ? tell_conflict(e, "%s is there already: name a new file", path) :
			tell_invalid(e, "cannot make %s: %s", path, strerror(errno));
	int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE, NULL);
	enum store_result result = rc == SQLITE_OK ? copy(to, from, path, e) : tell_failed(e, "cannot open %s: %s", path, sqlite3_errstr(rc));
	if (result == STORE_OK && (rc = sqlite3_exec(to, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL)) != SQLITE_OK)
		result = tell_failed(e, "cannot write %s: %s", path, sqlite3_errmsg(to));
	if (sqlite3_close(to) != SQLITE_OK && result == STORE_OK)
		result = tell_failed(e, "cannot write %s", path);
	if (result == STORE_OK)
		settle(path);
	else
		unlink(path);
	return result;
}

enum store_result store_backup(struct store *s, const char *file, struct err *e)
{
	return copy_to_file(s->db, file, e);
}

/* ---- restore ---- */

static int64_t number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st;
	int64_t v = -1;
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

/* Is it a whole database of ours, of a version that we know? */
static enum store_result check(sqlite3 *db, const char *file, struct err *e)
{
	sqlite3_stmt *st;
	bool whole = false;
	if (sqlite3_prepare_v2(db, "PRAGMA integrity_check(1)", -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
		whole = !strcmp((const char *)sqlite3_column_text(st, 0), "ok");
	sqlite3_finalize(st);
	if (!whole)
		return tell_invalid(e, "%s is no backup, or it is damaged", file);
	if (number(db, "PRAGMA application_id") != SCHEMA_ID)
		return tell_invalid(e, "%s is a database of another program", file);
	if (number(db, "PRAGMA user_version") > SCHEMA_VERSION)
		return tell_invalid(e, "%s was made by a newer judge: restore it with that one", file);
	if (number(db, "SELECT count(*) FROM pragma_foreign_key_check") != 0)
		return tell_invalid(e, "%s is damaged: rows refer to others that are not there", file);
	return STORE_OK;
}

/* What there was goes into one file, with all that its log holds, under another name. */
static enum store_result put_aside(const char *path, struct err *e)
{
	char aside[560];
	sqlite3 *db = NULL;
	snprintf(aside, sizeof aside, "%s.before-restore", path);
	if (access(path, F_OK) < 0)
		return STORE_OK;
	int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
	if (rc == SQLITE_OK)		/* a damaged one, which may be why a backup is needed, stays as it is */
		sqlite3_exec(db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	sqlite3_close(db);
	unlink(aside);
	if (link(path, aside) < 0)
		return tell_failed(e, "cannot keep %s as %s: %s", path, aside, strerror(errno));
	return STORE_OK;
}

static enum store_result put_in_place(const char *made, const char *path, struct err *e)
{
	static const char *const beside[] = {"-wal", "-shm", "-journal"};
	enum store_result rc = put_aside(path, e);
	if (rc != STORE_OK)
		return rc;
	for (unsigned i = 0; i < sizeof beside / sizeof *beside; i++) {
		char name[560];
		snprintf(name, sizeof name, "%s%s", path, beside[i]);
		unlink(name);
	}
	if (rename(made, path) < 0)
		return tell_failed(e, "cannot put the backup in the place of %s: %s", path, strerror(errno));
	settle(path);
	return STORE_OK;
}

enum store_result store_restore(const char *path, const char *file, struct err *e)
{
	char place[500], made[520];
	sqlite3 *from = NULL;
	CLEANUP_FD int lock = store_lock_alone(path, place, sizeof place, e);
	if (lock < 0)
		return STORE_BUSY;
	snprintf(made, sizeof made, "%s.restoring", place);
	if (access(file, R_OK) < 0)
		return tell_not_found(e, "cannot read %s: %s", file, strerror(errno));
	int opened = sqlite3_open_v2(file, &from, SQLITE_OPEN_READONLY, NULL);
	enum store_result rc = opened == SQLITE_OK ? check(from, file, e) : tell_invalid(e, "cannot open %s: %s", file, sqlite3_errstr(opened));
	unlink(made);			/* of a restore that was killed */
	if (rc == STORE_OK)
		rc = copy_to_file(from, made, e);
	sqlite3_close(from);
	if (rc == STORE_OK)
		rc = put_in_place(made, place, e);
	if (rc != STORE_OK)
		unlink(made);
	return rc;
}
