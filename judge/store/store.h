/* The store: all that the service remembers, in one SQLite database.
 *
 * Connections.  A struct store is one connection, for one thread; every thread and process opens its own on the same file
 * (WAL: readers never wait, writers wait for each other up to STORE_PATIENCE_MS).  After fork() a child opens its own.
 *
 * Results.  A function that can fail returns enum store_result: 0, or a negative one with e set, in English, fit to be shown where
 * its kind is ERR_INPUT (NOT_FOUND, CONFLICT, INVALID, STALE) and for a log where it is ERR_SYSTEM (BUSY, FULL, FAILED).  An out
 * parameter is set only on success.  Every call is one transaction: it happened whole, or not at all.
 *
 * Memory.  What a call hands out lies in the arena that it was given, strings too, and outlives the store.  Optional strings are
 * NULL, optional numbers NaN, optional times and ids 0.  Strings that are handed in are copied into the database.
 *
 * Time is Unix milliseconds, UTC, by the wall clock; leases alone go by the machine's clock since boot, which no one can set.
 *
 * Pages.  Lists take a cursor (0: from the start) and a limit, and give `next`, the cursor of what follows (0: no more).
 *
 * Who may see what is not the store's business: it is the caller's (the server's) to ask.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "../../sandbox/base/arena.h"
#include "../../sandbox/base/buf.h"
#include "../../sandbox/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct store;

enum store_result {
	STORE_OK = 0,
	STORE_FAILED = -1,	/* the database is damaged, the disk failed, ... */
	STORE_NOT_FOUND = -2,
	STORE_CONFLICT = -3,	/* the name is taken, the judging is over already, ... */
	STORE_INVALID = -4,	/* a value that cannot be: empty name, unknown role, ...; e says which and what would be right */
	STORE_STALE = -5,	/* the lease was lost: whoever asks has nothing to say about this judging any more */
	STORE_BUSY = -6,	/* others held the database too long: try again */
	STORE_FULL = -7		/* the disk is full: nothing was written */
};

enum { STORE_PATIENCE_MS = 10000, STORE_TOKEN = 44 /* characters of a token, with its NUL */ };

/* ---- opening ---- */

/* Opens the file, makes it and its tables where there are none, brings older ones up to date.  A database of a newer judge is
 * refused.  `path` may be a folder: then it is the judge.db in it, and the folder is made (0700) if it is not there. */
struct store *store_open(const char *path, struct err *e);
/* Fails if there is no database yet, by the same rule for `path`: for what only reads or mends one, since to open it is to make it. */
int store_must_exist(const char *path, struct err *e);
void store_close(struct store *s);			/* NULL is fine */
void store_closep(struct store **s);			/* for CLEANUP(store_closep) */
/* Passwords are hashed with the least effort: for tests alone. */
void store_hash_fast(struct store *s);

int64_t store_now(void);				/* Unix ms */
/* A number that changes when another connection has written; nearly free, for looking every 50 ms. */
int64_t store_changes(struct store *s);
/* The installation's 256-bit secret of hidden cases: DATA/secret, made (0600) if it is not there. */
enum store_result store_secret(const char *folder, unsigned char out[32], struct err *e);

/* Online: the copy is whole and of one moment, whoever writes meanwhile.  The file must not exist. */
enum store_result store_backup(struct store *s, const char *file, struct err *e);
/* Puts a backup in the place of the database at `path` (a folder or file, as for store_open).  It is checked first, and what was
 * there is kept beside it as judge.db.before-restore.  STORE_BUSY if a server or worker has it open. */
enum store_result store_restore(const char *path, const char *file, struct err *e);
/* Forget what is of no use any more: ended sessions and tokens, events of judgings that ended before `before` (Unix ms). */
enum store_result store_prune(struct store *s, int64_t before, struct err *e);

/* ---- users ---- */

enum store_role { ROLE_STUDENT, ROLE_ASSISTANT, ROLE_INSTRUCTOR, ROLE_ADMIN, ROLE_COUNT };
const char *store_role_name(enum store_role r);
bool store_role_find(const char *name, enum store_role *out);

struct store_user {
	int64_t id;
	const char *name, *display, *language;	/* language: "en", "zh" */
	enum store_role role;
	bool disabled, has_password;
	int64_t created;
};

struct store_user_new {
	const char *name;	/* 1 to 32 of a-z 0-9 . _ -, the first a letter or digit; unique */
	const char *display;	/* NULL: the name; at most 80 characters, no control characters */
	const char *password;	/* 8 to 256 bytes; NULL: cannot sign in with one (a proxy's user) */
	const char *language;	/* NULL: "en" */
	enum store_role role;
};

struct store_user_change {	/* NULL or negative: stays */
	const char *display, *language, *password;	/* a new password or disabled ends all sessions; the latter all tokens too */
	int role, disabled;
};

struct store_users {
	struct store_user *at;
	size_t n;
	int64_t next;
};

enum store_result store_user_add(struct store *s, const struct store_user_new *u, struct arena *a, struct store_user *out, struct err *e);
enum store_result store_user_get(struct store *s, const char *name, struct arena *a, struct store_user *out, struct err *e);
enum store_result store_user_by_id(struct store *s, int64_t id, struct arena *a, struct store_user *out, struct err *e);
/* By name and password.  STORE_NOT_FOUND, after the same time, whether name or password is wrong or the account disabled. */
enum store_result store_user_verify(struct store *s, const char *name, const char *password, struct arena *a, struct store_user *out,
				    struct err *e);
/* CONFLICT: the last admin who is not disabled cannot be made something else. */
enum store_result store_user_set(struct store *s, int64_t id, const struct store_user_change *c, struct err *e);
/* By id; search: a part of name or display, or NULL. */
enum store_result store_users(struct store *s, const char *search, int64_t cursor, unsigned limit, struct arena *a, struct store_users *out,
			      struct err *e);
enum store_result store_user_count(struct store *s, bool admins_only, int64_t *out, struct err *e);

/* ---- sessions and tokens: 256 random bits as text, of which only a hash is kept ---- */

enum store_result store_session_open(struct store *s, int64_t user, int64_t lifetime_ms, char token[STORE_TOKEN], struct err *e);
/* NOT_FOUND: unknown, over, or of a disabled account. */
enum store_result store_session_user(struct store *s, const char *token, struct arena *a, struct store_user *out, struct err *e);
enum store_result store_session_close(struct store *s, const char *token, struct err *e);	/* fine if there is none */

struct store_token {
	int64_t id;
	const char *name;
	int64_t created, expires, last_used;	/* last_used: 0, or right to the minute */
};

struct store_tokens {
	struct store_token *at;
	size_t n;
};

/* name: what it is for; days 1 to 3650. */
enum store_result store_token_add(struct store *s, int64_t user, const char *name, unsigned days, char token[STORE_TOKEN], struct arena *a,
				  struct store_token *out, struct err *e);
enum store_result store_token_user(struct store *s, const char *token, struct arena *a, struct store_user *out, struct err *e);
enum store_result store_tokens(struct store *s, int64_t user, struct arena *a, struct store_tokens *out, struct err *e);
enum store_result store_token_remove(struct store *s, int64_t user, int64_t id, struct err *e);

/* ---- problems ---- */

struct store_problem {
	const char *id, *version, *folder;	/* of the current version */
	const char *title, *title_zh;		/* title_zh: NULL */
	const char *difficulty, *tags;		/* tags: a JSON list of strings */
	int64_t position;
	bool hidden;
	int64_t created;			/* this version */
	int64_t attempts, accepted;		/* users who submitted; who were accepted */
	bool solved, tried;			/* by the viewer */
	double best_efficiency;			/* of the viewer, on any device; NaN */
};

struct store_problems {
	struct store_problem *at;
	size_t n;
};

struct store_problem_put {
	const char *id, *version, *folder, *title, *title_zh, *difficulty, *tags;
	int64_t by;				/* user; 0: it came with the judge */
	int64_t position;			/* where it is new; negative: last */
	const char *replaces;			/* the folder that must be the current one, else CONFLICT; NULL: any */
};

/* A new problem, or a new current version of one.  The same version in another folder is another edition of it: other texts,
 * judged alike. */
enum store_result store_problem_put(struct store *s, const struct store_problem_put *p, struct err *e);
/* In order of position, then id.  viewer: a user, or 0. */
enum store_result store_problems(struct store *s, int64_t viewer, bool with_hidden, struct arena *a, struct store_problems *out, struct err *e);
enum store_result store_problem_get(struct store *s, const char *id, int64_t viewer, struct arena *a, struct store_problem *out, struct err *e);
enum store_result store_problem_set(struct store *s, const char *id, int hidden, int64_t position, struct err *e);	/* negative: stays */

struct store_version {
	const char *version, *folder, *by;	/* by: a user's name, or NULL */
	int64_t edition;			/* of this version, from 1 */
	int64_t created, judgings;		/* judgings: of all its editions */
	bool current;
};

struct store_versions {
	struct store_version *at;
	size_t n;
};

/* Every edition, the newest first. */
enum store_result store_problem_versions(struct store *s, const char *id, struct arena *a, struct store_versions *out, struct err *e);

/* ---- submissions ---- */

enum store_state { STATE_QUEUED, STATE_RUNNING, STATE_DONE, STATE_CANCELLED };
const char *store_state_name(enum store_state st);

struct store_judging {
	int64_t id, submission, user;		/* user: whose submission */
	const char *problem, *version;
	enum store_state state;
	int64_t place;				/* of a queued one: 1 is next; else 0.  Only store_judging_get fills it */
	unsigned attempt;			/* also the fencing token of who runs it */
	bool rejudge;				/* the reason; else it came with the submission */
	int64_t rejudge_id;			/* the set that it belongs to, or 0 */
	const char *device;			/* "emulated:h200", "gpu:0" */
	int64_t created, started, finished;
	const char *verdict, *text;		/* code of verdict.def, and one sentence; NULL before the end */
	double score, efficiency, time_us;
	const char *tier;			/* "bronze" ..., or NULL */
	const char *stage;			/* of a running one, or NULL: "compile", "samples", ... as of struct progress */
	unsigned done, total;			/* in the stage; total 0: it is not counted */
	bool cancelling;			/* asked for, not yet done */
	const char *worker;			/* that has or had it, or NULL */
	const char *note;			/* for instructors: what failed at earlier attempts, or NULL */
};

struct store_submission {
	int64_t id, user;
	const char *user_name, *user_display, *problem, *name;	/* name: the file's */
	int64_t created;
	const char *device, *scope;		/* scope: "full", "samples" */
	size_t size;
	const char *source;			/* only store_submission_get fills it; size bytes and a NUL */
	struct store_judging judging;		/* the latest */
};

struct store_submissions {
	struct store_submission *at;
	size_t n;
	int64_t next;
};

struct store_submission_new {
	int64_t user;
	const char *problem, *name, *source, *device;
	size_t size;
	bool samples;				/* visible cases only: no score, no rank */
};

struct store_filter {				/* NULL and 0: any */
	const char *problem, *verdict, *user;	/* user: a name; verdict: a code, or "pending" */
	int64_t group;				/* of its members */
	int64_t since, until;			/* created in [since, until) */
};

/* The submission and its first judging, queued.  NOT_FOUND: no such problem. */
enum store_result store_submission_add(struct store *s, const struct store_submission_new *n, int64_t *submission, int64_t *judging,
				       struct err *e);
enum store_result store_submission_get(struct store *s, int64_t id, struct arena *a, struct store_submission *out, struct err *e);
/* The newest first. */
enum store_result store_submissions(struct store *s, const struct store_filter *f, int64_t cursor, unsigned limit, struct arena *a,
				    struct store_submissions *out, struct err *e);

/* ---- judgings ---- */

struct store_judgings {
	struct store_judging *at;
	size_t n;
};

struct store_case {
	const char *name, *stage, *verdict;	/* verdict: a code; NULL: not run */
	bool visible, timing, gpu;
	const char *why, *printed;		/* NULL: none */
	const char *sizes;			/* a JSON object, {"N": 8, "K": 256}; of a hidden case not for students */
	const char *fault, *worst;		/* JSON as in the report: an object, a list; NULL: none */
	double error_ratio;			/* may be infinite */
	double time_us, floor_us, efficiency, bytes, flops, reference_us, cublas_us;	/* of a timing case that was right */
	const char *limiter;
};

struct store_cases {
	struct store_case *at;
	size_t n;
};

enum store_result store_judging_get(struct store *s, int64_t id, struct arena *a, struct store_judging *out, struct err *e);
/* All of a submission, the first first. */
enum store_result store_judgings(struct store *s, int64_t submission, struct arena *a, struct store_judgings *out, struct err *e);
enum store_result store_cases(struct store *s, int64_t judging, struct arena *a, struct store_cases *out, struct err *e);
/* The report as report_json writes it, with profile.  whole: with the seed, and sizes of hidden cases (instructors); else without
 * (report_json_public): fit for the submission's owner.  NOT_FOUND: not finished. */
enum store_result store_report(struct store *s, int64_t judging, bool whole, struct buf *out, struct err *e);
/* NOT_FOUND: it did not compile, or has not yet. */
enum store_result store_ptx(struct store *s, int64_t judging, struct arena *a, const char **ptx, struct err *e);
/* Queued: cancelled at once.  Running: asked for; the worker ends it within about a second.  CONFLICT: over already. */
enum store_result store_cancel(struct store *s, int64_t judging, struct err *e);
/* What waits and runs, in the order in which it will go; at most limit. */
enum store_result store_queue(struct store *s, unsigned limit, struct arena *a, struct store_submissions *out, struct err *e);

struct store_counts {
	int64_t queued, running, done, cancelled, system_errors, users, submissions, oldest_queued;	/* the last: created, or 0 */
};

enum store_result store_count(struct store *s, struct store_counts *out, struct err *e);	/* for /metrics */

/* ---- rejudging: always a new judging of the current version ---- */

enum store_result store_rejudge_one(struct store *s, int64_t submission, int64_t by, int64_t *judging, struct err *e);
/* How many submissions a filter hits (those whose latest judging is over), and the rejudging of them as a set.  An empty set is
 * INVALID. */
enum store_result store_rejudge_preview(struct store *s, const struct store_filter *f, int64_t *count, struct err *e);
enum store_result store_rejudge_add(struct store *s, const struct store_filter *f, int64_t by, int64_t *rejudge, struct err *e);

struct store_changed {
	int64_t submission;
	const char *before, *after;		/* verdicts; before: NULL if there was none */
	double score_before, score_after;
};

struct store_rejudge {
	int64_t id, created, total, done;	/* done: finished or cancelled */
	const char *by;
	struct store_changed *changed;		/* those whose verdict is another, or whose score moved by more than 0.05 */
	size_t n_changed;
};

enum store_result store_rejudge_get(struct store *s, int64_t id, struct arena *a, struct store_rejudge *out, struct err *e);

/* ---- events: what happens to judgings, in order ----
 * kind		data
 * queued	{"place": n} or {"retry": "why"}	also when it went back to the queue
 * stage	{"stage", "done", "total"}		a stage begins (also: it was taken up, stage "start")
 * progress	{"stage", "done", "total", "case"}	at most about five a second
 * result	{"stage", "text"}			what the stage came to
 * done		{"verdict", "score", "efficiency"}	the last one
 * cancelled	{}					the last one
 */
struct store_event {
	int64_t id, judging, created;
	const char *kind, *data;		/* data: JSON */
};

struct store_events {
	struct store_event *at;
	size_t n;
};

/* After id `since`, oldest first; judging 0: of all. */
enum store_result store_events(struct store *s, int64_t judging, int64_t since, unsigned limit, struct arena *a, struct store_events *out,
			       struct err *e);
enum store_result store_last_event(struct store *s, int64_t *id, struct err *e);	/* 0: there is none */

/* ---- boards ---- */

struct store_rank {
	int64_t rank;				/* equal efficiency: the earlier first, so ranks differ */
	int64_t user, submission, judging, when;	/* when: submitted */
	const char *name, *display;
	double efficiency, time_us, score;
};

struct store_ranks {
	struct store_rank *at;
	size_t n;
	int64_t next;
};

/* Each user's best; device: "emulated:h200"; group: 0 for all.  By efficiency; the untimed last, by score. */
enum store_result store_leaderboard(struct store *s, const char *problem, const char *device, int64_t group, int64_t cursor, unsigned limit,
				    struct arena *a, struct store_ranks *out, struct err *e);

struct store_point {				/* of the plots: a timing case of an accepted submission */
	int64_t submission, user, when;
	const char *name, *sizes, *limiter;	/* name: the case's */
	double efficiency, time_us, floor_us, bytes, flops, reference_us, cublas_us;
};

struct store_points {
	struct store_point *at;
	size_t n;
};

/* The best submission of each user, and all of the viewer's; the newest first, at most limit. */
enum store_result store_points(struct store *s, const char *problem, const char *device, int64_t viewer, unsigned limit, struct arena *a,
			       struct store_points *out, struct err *e);

struct store_solved {
	const char *problem, *device;
	double efficiency, time_us, score;
	int64_t submission, when;
};

struct store_solveds {
	struct store_solved *at;
	size_t n;
};

struct store_day {
	const char *day;			/* "2026-11-30", UTC */
	int64_t submissions, accepted;
};

struct store_days {
	struct store_day *at;
	size_t n;
};

/* Best accepted submission of each problem on each device. */
enum store_result store_user_solved(struct store *s, int64_t user, struct arena *a, struct store_solveds *out, struct err *e);
/* Days with submissions since that time, oldest first. */
enum store_result store_user_activity(struct store *s, int64_t user, int64_t since, struct arena *a, struct store_days *out, struct err *e);

/* ---- groups and assignments ---- */

struct store_group {
	int64_t id, created, members;
	const char *name, *code;		/* code: to join with */
};

struct store_groups {
	struct store_group *at;
	size_t n;
};

struct store_roster_row {
	const char *name, *display, *password;	/* display, password: may be NULL */
	bool added, joined;			/* out: the account is new; it was no member before */
};

enum store_result store_group_add(struct store *s, const char *name, struct arena *a, struct store_group *out, struct err *e);
enum store_result store_group_get(struct store *s, int64_t id, struct arena *a, struct store_group *out, struct err *e);
enum store_result store_groups(struct store *s, int64_t member, struct arena *a, struct store_groups *out, struct err *e);	/* 0: all */
enum store_result store_group_set(struct store *s, int64_t id, const char *name, bool new_code, struct err *e);	/* name NULL: stays */
enum store_result store_group_remove(struct store *s, int64_t id, struct err *e);	/* with its assignments; users stay */
enum store_result store_group_by_code(struct store *s, const char *code, struct arena *a, struct store_group *out, struct err *e);
enum store_result store_group_join(struct store *s, int64_t group, int64_t user, struct err *e);	/* fine if in it */
enum store_result store_group_leave(struct store *s, int64_t group, int64_t user, struct err *e);
enum store_result store_group_members(struct store *s, int64_t group, struct arena *a, struct store_users *out, struct err *e);
bool store_group_has(struct store *s, int64_t group, int64_t user);
/* Accounts that are not there are made (as students); all join.  One bad row (e names it) and nothing is done. */
enum store_result store_group_roster(struct store *s, int64_t group, struct store_roster_row *rows, size_t n, struct err *e);

struct store_assignment {
	int64_t id, group;
	const char *group_name, *problem, *title;
	int64_t opens, deadline;		/* opens: 0; deadline: the viewer's, with extension */
	double best_score;			/* the viewer's, submitted in [opens, deadline]; NaN */
	int64_t best_submission;
};

struct store_assignments {
	struct store_assignment *at;
	size_t n;
};

struct store_assignment_new {			/* also a change: NULL and negative stay */
	const char *problem, *title;		/* title NULL at first: the problem's */
	int64_t opens, deadline;
};

enum store_result store_assignment_add(struct store *s, int64_t group, const struct store_assignment_new *n, int64_t *id, struct err *e);
enum store_result store_assignment_get(struct store *s, int64_t id, int64_t viewer, struct arena *a, struct store_assignment *out,
				       struct err *e);
/* Of a group, or (0) of all groups that the viewer is in; by deadline. */
enum store_result store_assignments(struct store *s, int64_t group, int64_t viewer, struct arena *a, struct store_assignments *out,
				    struct err *e);
enum store_result store_assignment_set(struct store *s, int64_t id, const struct store_assignment_new *c, struct err *e);
enum store_result store_assignment_remove(struct store *s, int64_t id, struct err *e);

struct store_extension {
	const char *user, *display;
	int64_t deadline;
};

struct store_extensions {
	struct store_extension *at;
	size_t n;
};

/* Another deadline for one person; by name. */
enum store_result store_extension_set(struct store *s, int64_t assignment, int64_t user, int64_t deadline, struct err *e);
enum store_result store_extension_remove(struct store *s, int64_t assignment, int64_t user, struct err *e);
enum store_result store_extensions(struct store *s, int64_t assignment, struct arena *a, struct store_extensions *out, struct err *e);

struct store_grade {
	const char *user, *display, *problem, *title;
	int64_t assignment, deadline, submission, when;	/* submission 0: none in time */
	double score, efficiency;
	const char *verdict;
};

struct store_grades {
	struct store_grade *at;
	size_t n;
};

/* Each student of the group by each assignment: the best that was submitted in time. */
enum store_result store_grades(struct store *s, int64_t group, struct arena *a, struct store_grades *out, struct err *e);

/* ---- the worker's side of the queue ----
 * A claimed judging belongs to who has its token (the attempt's number) while the lease holds.  Every call with a token that is not
 * the newest is refused as STALE and changes nothing. */

enum { STORE_LEASE_MS = 20000, STORE_ATTEMPTS = 3 };

struct store_job {
	int64_t judging, submission, user;
	unsigned token;
	const char *problem, *version, *folder, *name, *source, *device;
	size_t size;
	bool samples, rejudge;
};

/* What goes first: first submissions before rejudges; of these, whose user has less in the queue; the earlier.  At most `rejudges`
 * rejudgings run at once, so that a place is kept.  NOT_FOUND: nothing to do. */
enum store_result store_claim(struct store *s, const char *worker, unsigned rejudges, struct arena *a, struct store_job *out, struct err *e);
/* The lease goes on; *cancel: somebody wants it ended. */
enum store_result store_heartbeat(struct store *s, int64_t judging, unsigned token, bool *cancel, struct err *e);
/* An event of the table above, "stage", "progress" or "result", and what store_judging tells of it. */
enum store_result store_progress(struct store *s, int64_t judging, unsigned token, const char *kind, const char *stage, unsigned done,
				 unsigned total, const char *text, struct err *e);

struct store_outcome {
	const char *version, *verdict, *text, *tier;	/* version: of the package that graded it */
	double score, efficiency, time_us;
	const struct store_case *cases;
	size_t n_cases;
	const char *report, *report_public, *ptx;	/* ptx: may be NULL */
	size_t report_size, report_public_size;
};

enum store_result store_finish(struct store *s, int64_t judging, unsigned token, const struct store_outcome *o, struct err *e);
/* Our failure: back to the queue, or, at the last attempt, the end with SE. */
enum store_result store_fail(struct store *s, int64_t judging, unsigned token, const char *why, struct err *e);
/* Back to the queue, as if it had never been claimed: the worker stops, or the device is out of service. */
enum store_result store_give_back(struct store *s, int64_t judging, unsigned token, const char *why, struct err *e);
enum store_result store_cancelled(struct store *s, int64_t judging, unsigned token, struct err *e);
/* Judgings whose lease is over go back to the queue (as by store_fail).  `dead`: a worker known to be gone, whose leases end now;
 * or NULL.  *n may be NULL. */
enum store_result store_expire(struct store *s, const char *dead, unsigned *n, struct err *e);

struct store_worker {
	const char *name, *state;		/* "idle", "grading", "stopping" */
	int64_t pid, judging, started, seen, graded, failed;
	bool alive;				/* seen within a lease */
};

struct store_workers {
	struct store_worker *at;
	size_t n;
};

enum store_result store_worker_seen(struct store *s, const char *name, int64_t pid, const char *state, int64_t judging, struct err *e);
enum store_result store_worker_did(struct store *s, const char *name, bool well, struct err *e);	/* one more graded, or failed */
enum store_result store_worker_gone(struct store *s, const char *name, struct err *e);
enum store_result store_workers(struct store *s, struct arena *a, struct store_workers *out, struct err *e);

struct store_device {
	const char *id, *name, *note;		/* note: why it is out of service, or NULL */
	bool gpu, in_service;
	int64_t since, checked;
};

struct store_devices {
	struct store_device *at;
	size_t n;
};

/* Jobs for a device that is out of service wait. */
enum store_result store_device_put(struct store *s, const char *id, const char *name, bool gpu, bool in_service, const char *note,
				   struct err *e);
enum store_result store_devices(struct store *s, struct arena *a, struct store_devices *out, struct err *e);

#endif
