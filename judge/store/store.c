/* Opening and closing, time, the installation's secret: see store.h. */
#include "sql.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

int64_t store_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t store_boot_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A folder for this user alone, and those above it. */
static int make_folder(const char *path)
{
	char whole[PATH_MAX], *here = *path == '/' ? NULL : getcwd(NULL, 0);
	int n = snprintf(whole, sizeof whole, "%s%s%s", here ? here : "", here ? "/" : "", path);
	free(here);
	return n < (int)sizeof whole ? keep_folder(whole, 0700) : (errno = ENAMETOOLONG, -1);
}

/* ---- opening ---- */

/* The database that `path`, a file or a folder, means. */
static int name_database(const char *path, bool *file, char *out, size_t size, struct err *e)
{
	struct stat st;
	*file = stat(path, &st) == 0 ? !S_ISDIR(st.st_mode) : strlen(path) > 3 && !strcmp(path + strlen(path) - 3, ".db");
	return snprintf(out, size, *file ? "%s" : "%s/judge.db", path) < (int)size ? 0 : err_input(e, "%.200s...: this path is too long", path);
}

static int find_path(const char *path, char *out, size_t size, struct err *e)
{
	bool file;
	if (name_database(path, &file, out, size, e) < 0)
		return -1;
	if (!file && make_folder(path) < 0)
		return err_input(e, "cannot make the folder %s: %s", path, strerror(errno));
	return 0;
}

/* Beside the database, never it: to close a descriptor of a database drops SQLite's locks on it. */
static int take_lock(const char *path, int how, struct err *e)
{
	char name[600];
	snprintf(name, sizeof name, "%s.lock", path);
	CLEANUP_FD int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_input(e, "cannot open %s: %s", name, strerror(errno));
	if (flock(fd, how | LOCK_NB) < 0) {
		err_input(e, "%s is in use: %s", path, how == LOCK_EX ? "stop the server and its workers first" : "it is being restored");
		return -1;
	}
	return take_fd(&fd);
}

int store_lock_alone(const char *path, char *file, size_t size, struct err *e)
{
	return find_path(path, file, size, e) < 0 ? -1 : take_lock(file, LOCK_EX, e);
}

static void read_boot(char *out, size_t size)
{
	CLEANUP_FILE FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!f || !fgets(out, (int)size, f))
		snprintf(out, size, "unknown");
	out[strcspn(out, "\n")] = 0;
}

static enum store_result set_up(struct store *s, struct err *e)
{
	enum { TRIES = 200, PAUSE_US = 20000 };
	sqlite3_extended_result_codes(s->db, 1);
	sqlite3_busy_timeout(s->db, STORE_PATIENCE_MS);
	/* The change to WAL, of a database that is made by several at once, does not wait for others by itself. */
	enum store_result rc = STORE_BUSY;
	for (int i = 0; i < TRIES && (rc = sql_exec(s, "PRAGMA journal_mode = WAL", e)) == STORE_BUSY; i++)
		usleep(PAUSE_US);
	/* What was told to a user as done stays done when the power fails: synchronous = FULL. */
	if (rc == STORE_OK)
		rc = sql_exec(s, "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
				"PRAGMA cell_size_check = ON", e);
	return rc == STORE_OK ? schema_ready(s, e) : rc;
}

int store_must_exist(const char *path, struct err *e)
{
	struct stat st;
	bool file;
	char database[sizeof ((struct store *)0)->path];
	if (name_database(path, &file, database, sizeof database, e) < 0)
		return -1;
	return stat(database, &st) == 0 ? 0 : err_input(e, "no server's data in %s: %s%s (--data names the folder)", path, file ? "" : "judge.db: ",
							strerror(errno));
}

struct store *store_open(const char *path, struct err *e)
{
	if (sodium_init() < 0)
		BUG("libsodium cannot start");
	struct store *s = calloc(1, sizeof *s);
	if (!s)
		BUG("out of memory");
	s->lock = -1;
	read_boot(s->boot, sizeof s->boot);
	if (find_path(path, s->path, sizeof s->path, e) < 0 || (s->lock = take_lock(s->path, LOCK_SH, e)) < 0) {
		store_close(s);
		return NULL;
	}
	mknod(s->path, S_IFREG | 0600, 0);	/* where it is new: its mode, which the files beside it take too */
	int rc = sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
	enum store_result ready = rc == SQLITE_OK ? set_up(s, e) : STORE_FAILED;
	if (rc != SQLITE_OK)
		err_input(e, "cannot open the database %s: %s", s->path, s->db ? sqlite3_errmsg(s->db) : "out of memory");
	else if (ready != STORE_OK && ready != STORE_INVALID)
		err_wrap(e, "%s", s->path);
	if (ready != STORE_OK) {
		store_close(s);
		return NULL;
	}
	return s;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	for (int i = 0; i < SQL_CACHED; i++)
		sqlite3_finalize(s->cache[i].st);
	sqlite3_close(s->db);
	if (s->lock >= 0)
		close(s->lock);
	free(s);
}

void store_closep(struct store **s)
{
	store_close(*s);
}

void store_hash_fast(struct store *s)
{
	s->hash_fast = true;
}

int64_t store_changes(struct store *s)
{
	struct query q;
	int64_t version = 0;
	sql_query(&q, s, "PRAGMA data_version");
	sql_one(&q, &version, NULL, "database");
	return version;
}

/* ---- the secret ---- */

/* 64 hexadecimal digits and a newline. */
static int read_secret(const char *path, unsigned char out[32], struct err *e)
{
	CLEANUP_BUF struct buf text = {0};
	size_t n;
	if (buf_read_file(&text, path, 80, e) < 0)
		return -1;
	if (sodium_hex2bin(out, 32, buf_str(&text), text.size, "\n", &n, NULL) != 0 || n != 32)
		return err_input(e, "%s: it must hold 64 hexadecimal digits; put the installation's own back from a backup", path);
	return 0;
}

/* Linked into its place: whoever comes second finds the first one's. */
static int make_secret(const char *path, struct err *e)
{
	unsigned char bytes[32];
	char text[66], mine[600];
	randombytes_buf(bytes, sizeof bytes);
	sodium_bin2hex(text, sizeof text, bytes, sizeof bytes);
	text[64] = '\n';
	snprintf(mine, sizeof mine, "%s.%d", path, (int)getpid());
	struct keep what = {.data = text, .size = 65, .fd = -1};
	if (keep_file(mine, 0600, &what, e) < 0)
		return -1;
	int rc = link(mine, path) < 0 && errno != EEXIST ? err_errno(e, "cannot make %s", path) : 0;
	unlink(mine);
	sodium_memzero(bytes, sizeof bytes);
	sodium_memzero(text, sizeof text);
	return rc;
}

enum store_result store_secret(const char *folder, unsigned char out[32], struct err *e)
{
	char path[560];
	if (sodium_init() < 0)
		BUG("libsodium cannot start");
	if (snprintf(path, sizeof path, "%s/secret", folder) >= (int)sizeof path)
		return tell_invalid(e, "%.200s...: this path is too long", folder);
	if (access(path, F_OK) < 0 && (make_folder(folder) < 0 || make_secret(path, e) < 0))
		return STORE_FAILED;
	return read_secret(path, out, e) < 0 ? STORE_FAILED : STORE_OK;
}

/* ---- forgetting ---- */

static enum store_result forget(struct store *s, const char *sql, int64_t before, struct err *e)
{
	struct query q;
	sql_query(&q, s, sql);
	sql_put_int(&q, before);
	return sql_run(&q, NULL, e, "forgetting");
}

enum store_result store_prune(struct store *s, int64_t before, struct err *e)
{
	int64_t now = store_now();
	enum store_result rc = sql_begin(s, e);
	if (rc != STORE_OK)
		return rc;
	rc = forget(s, "DELETE FROM sessions WHERE expires < $1", now, e);
	if (rc == STORE_OK)
		rc = forget(s, "DELETE FROM tokens WHERE expires < $1", now, e);
	if (rc == STORE_OK)
		rc = forget(s, "DELETE FROM events WHERE created < $1 AND"
			       " judging IN (SELECT id FROM judgings WHERE state >= 2 AND finished < $1)", before, e);
	return sql_end(s, rc, e);
}
