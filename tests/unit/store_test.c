/* The store: users, access, problems, submissions, boards, groups; opening, migration, backup, and what goes wrong. */
#include "store_fixture.h"

#include "sandbox/base/cleanup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* ---- opening ---- */

static void raw(const char *sql)
{
	char path[300];
	sqlite3 *db;
	snprintf(path, sizeof path, "%s/judge.db", fix_folder);
	CHECK(sqlite3_open(path, &db) == SQLITE_OK);
	CHECK_MSG(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK, "%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static int64_t number(struct store *s, const char *sql)
{
	struct query q;
	int64_t v = -1;
	sql_once(&q, s, sql);
	OK(sql_one(&q, &v, &fix_err, "number"));
	return v;
}

TEST(opened_twice_and_private)
{
	struct stat st;
	char path[300];
	fix_open();
	snprintf(path, sizeof path, "%s/judge.db", fix_folder);
	CHECK(stat(path, &st) == 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	snprintf(path, sizeof path, "%s/judge.db-wal", fix_folder);
	CHECK(stat(path, &st) == 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	struct store *s = fix_again();
	int64_t before = store_changes(s);
	fix_user("ada", ROLE_STUDENT);
	CHECK(store_changes(s) != before);
	before = store_changes(s);
	CHECK(store_changes(s) == before);
	CHECK_EQ(number(s, "SELECT count(*) FROM users"), 1);
	CHECK_EQ(number(s, "PRAGMA foreign_keys"), 1);
	store_close(s);
	fix_close();
}

TEST(made_by_many_at_once)
{
	enum { N = 8 };
	fix_open();
	store_close(fix_store);
	char path[300];
	snprintf(path, sizeof path, "%s/judge.db", fix_folder);
	CHECK(unlink(path) == 0);
	for (int i = 0; i < N; i++)
		if (fork() == 0) {
			struct err e = {0};
			struct store *s = store_open(fix_folder, &e);
			if (!s)
				fprintf(stderr, "%s\n", e.text);
			_exit(!s);
		}
	for (int i = 0; i < N; i++) {
		int status;
		CHECK(wait(&status) > 0);
		CHECK_EQ(status, 0);
	}
	fix_store = fix_again();
	CHECK_EQ(number(fix_store, "PRAGMA user_version"), SCHEMA_VERSION);
	fix_close();
}

TEST(older_versions_are_brought_up_to_date)
{
	char path[300], version[200];
	for (int from = 1; from < SCHEMA_VERSION; from++) {
		fix_open();
		store_close(fix_store);
		snprintf(path, sizeof path, "%s/judge.db", fix_folder);
		CHECK(unlink(path) == 0);
		for (int i = 0; i < from; i++)
			raw(schema_step(i));
		snprintf(version, sizeof version, "PRAGMA user_version = %d; PRAGMA application_id = %d;"
			 "INSERT INTO users (name, display, role, language, created) VALUES ('old', 'Old', 3, 'en', 1)", from, SCHEMA_ID);
		raw(version);
		fix_store = fix_again();
		struct store_user u;
		OK(store_user_get(fix_store, "old", fix_arena, &u, &fix_err));
		CHECK_EQ(u.role, ROLE_ADMIN);
		struct store_group g;
		OK(store_group_add(fix_store, "new", fix_arena, &g, &fix_err));
		CHECK_EQ(number(fix_store, "PRAGMA user_version"), SCHEMA_VERSION);
		fix_close();
	}
}

TEST(newer_and_foreign_databases_are_refused)
{
	fix_open();
	store_close(fix_store);
	raw("PRAGMA user_version = 99");
	CHECK(!store_open(fix_folder, &fix_err));
	CHECK_MSG(strstr(fix_err.text, "newer judge"), "%s", fix_err.text);
	raw("PRAGMA user_version = 0; PRAGMA application_id = 7");
	CHECK(!store_open(fix_folder, &fix_err));
	CHECK_MSG(strstr(fix_err.text, "another program"), "%s", fix_err.text);
	fix_store = NULL;
	fix_close();
}

TEST(a_damaged_file_is_told)
{
	fix_open();
	store_close(fix_store);
	char path[300];
	snprintf(path, sizeof path, "%s/judge.db", fix_folder);
	int fd = open(path, O_WRONLY | O_TRUNC);
	CHECK(write(fd, "this is no database, this is a text that somebody put here", 58) == 58);
	close(fd);
	CHECK(!store_open(fix_folder, &fix_err));
	CHECK_MSG(strstr(fix_err.text, path), "%s", fix_err.text);
	fix_store = NULL;
	fix_close();
}

TEST(the_secret_is_made_once)
{
	unsigned char a[32], b[32];
	struct stat st;
	char path[300];
	fix_open();
	OK(store_secret(fix_folder, a, &fix_err));
	OK(store_secret(fix_folder, b, &fix_err));
	CHECK(!memcmp(a, b, 32));
	snprintf(path, sizeof path, "%s/secret", fix_folder);
	CHECK(stat(path, &st) == 0);
	CHECK_EQ(st.st_mode & 0777, 0600);
	CHECK(truncate(path, 10) == 0);
	GIVES(STORE_FAILED, store_secret(fix_folder, b, &fix_err));
	fix_close();
}

/* ---- users and access ---- */

TEST(users)
{
	struct store_user u;
	struct store_users list;
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT);
	GIVES(STORE_CONFLICT, store_user_add(fix_store, &(struct store_user_new){.name = "ada"}, fix_arena, &u, &fix_err));
	static const char *const bad[] = {"", "Ada", "a b", ".a", "a/b", "'; DROP TABLE users; --", "abcdefghijabcdefghijabcdefghijabc"};
	for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
		GIVES(STORE_INVALID, store_user_add(fix_store, &(struct store_user_new){.name = bad[i]}, fix_arena, &u, &fix_err));
	GIVES(STORE_INVALID, store_user_add(fix_store, &(struct store_user_new){.name = "b", .password = "short"}, fix_arena, &u, &fix_err));
	GIVES(STORE_INVALID, store_user_add(fix_store, &(struct store_user_new){.name = "b", .display = "a\nb"}, fix_arena, &u, &fix_err));
	OK(store_user_add(fix_store, &(struct store_user_new){.name = "bo", .display = "\xe6\x9d\x8e 50%"}, fix_arena, &u, &fix_err));
	CHECK(!u.has_password);
	OK(store_users(fix_store, "50%", 0, 10, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 1);
	OK(store_users(fix_store, "%", 0, 10, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 1);
	OK(store_users(fix_store, NULL, 0, 1, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 1);
	CHECK_EQ(list.next, ada);
	OK(store_users(fix_store, NULL, list.next, 1, fix_arena, &list, &fix_err));
	CHECK_STR(list.at[0].name, "bo");
	CHECK_EQ(list.next, 0);
	GIVES(STORE_NOT_FOUND, store_user_get(fix_store, "nobody", fix_arena, &u, &fix_err));
	fix_close();
}

TEST(passwords)
{
	struct store_user u;
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT);
	fix_user("root", ROLE_ADMIN);
	OK(store_user_verify(fix_store, "ada", "correct horse", fix_arena, &u, &fix_err));
	CHECK_EQ(u.id, ada);
	GIVES(STORE_NOT_FOUND, store_user_verify(fix_store, "ada", "wrong horse", fix_arena, &u, &fix_err));
	GIVES(STORE_NOT_FOUND, store_user_verify(fix_store, "nobody", "correct horse", fix_arena, &u, &fix_err));
	CHECK_EQ(number(fix_store, "SELECT count(*) FROM users WHERE password LIKE '%horse%'"), 0);
	CHECK_EQ(number(fix_store, "SELECT count(*) FROM users WHERE password LIKE '$argon2id$%'"), 2);
	char session[STORE_TOKEN], token[STORE_TOKEN];
	struct store_token t;
	OK(store_session_open(fix_store, ada, 1000000, session, &fix_err));
	OK(store_token_add(fix_store, ada, "shell", 30, token, fix_arena, &t, &fix_err));
	OK(store_user_set(fix_store, ada, &(struct store_user_change){.password = "another horse", .role = -1, .disabled = -1}, &fix_err));
	GIVES(STORE_NOT_FOUND, store_session_user(fix_store, session, fix_arena, &u, &fix_err));
	OK(store_token_user(fix_store, token, fix_arena, &u, &fix_err));
	OK(store_user_set(fix_store, ada, &(struct store_user_change){.role = -1, .disabled = 1}, &fix_err));
	GIVES(STORE_NOT_FOUND, store_token_user(fix_store, token, fix_arena, &u, &fix_err));
	GIVES(STORE_NOT_FOUND, store_user_verify(fix_store, "ada", "another horse", fix_arena, &u, &fix_err));
	fix_close();
}

TEST(the_last_admin_stays)
{
	fix_open();
	int64_t root = fix_user("root", ROLE_ADMIN);
	struct store_user_change demote = {.role = ROLE_STUDENT, .disabled = -1}, disable = {.role = -1, .disabled = 1};
	GIVES(STORE_CONFLICT, store_user_set(fix_store, root, &demote, &fix_err));
	GIVES(STORE_CONFLICT, store_user_set(fix_store, root, &disable, &fix_err));
	fix_user("second", ROLE_ADMIN);
	OK(store_user_set(fix_store, root, &demote, &fix_err));
	fix_close();
}

TEST(sessions_and_tokens)
{
	struct store_user u;
	struct store_token t;
	struct store_tokens list;
	char a[STORE_TOKEN], b[STORE_TOKEN];
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT), bo = fix_user("bo", ROLE_STUDENT);
	OK(store_session_open(fix_store, ada, 1000000, a, &fix_err));
	OK(store_session_user(fix_store, a, fix_arena, &u, &fix_err));
	CHECK_EQ(u.id, ada);
	GIVES(STORE_NOT_FOUND, store_token_user(fix_store, a, fix_arena, &u, &fix_err));	/* one is not the other */
	OK(store_session_close(fix_store, a, &fix_err));
	GIVES(STORE_NOT_FOUND, store_session_user(fix_store, a, fix_arena, &u, &fix_err));
	OK(store_session_open(fix_store, ada, -1, a, &fix_err));
	GIVES(STORE_NOT_FOUND, store_session_user(fix_store, a, fix_arena, &u, &fix_err));	/* over */
	GIVES(STORE_NOT_FOUND, store_session_user(fix_store, "' OR 1=1 --", fix_arena, &u, &fix_err));
	OK(store_token_add(fix_store, ada, "shell", 1, a, fix_arena, &t, &fix_err));
	OK(store_token_add(fix_store, ada, "cluster", 1, b, fix_arena, &t, &fix_err));
	CHECK(strcmp(a, b));
	OK(store_token_user(fix_store, a, fix_arena, &u, &fix_err));
	OK(store_tokens(fix_store, ada, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 2);
	CHECK(list.at[0].last_used > 0);
	CHECK_EQ(list.at[1].last_used, 0);
	GIVES(STORE_NOT_FOUND, store_token_remove(fix_store, bo, list.at[0].id, &fix_err));
	OK(store_token_remove(fix_store, ada, list.at[0].id, &fix_err));
	GIVES(STORE_NOT_FOUND, store_token_user(fix_store, a, fix_arena, &u, &fix_err));
	GIVES(STORE_INVALID, store_token_add(fix_store, ada, "x", 0, a, fix_arena, &t, &fix_err));
	OK(store_prune(fix_store, store_now(), &fix_err));
	CHECK_EQ(number(fix_store, "SELECT count(*) FROM sessions"), 0);
	fix_close();
}

/* ---- problems and submissions ---- */

TEST(problems_and_versions)
{
	struct store_problems list;
	struct store_versions versions;
	struct store_problem p;
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT);
	fix_problem("one", "v1");
	fix_problem("two", "v1");
	fix_submit(ada, "one", NULL);
	struct store_job job = fix_claim();
	fix_finish(&job, "AC", 90, 0.7);
	fix_problem("one", "v2");
	OK(store_problem_get(fix_store, "one", ada, fix_arena, &p, &fix_err));
	CHECK_STR(p.version, "v2");
	CHECK(p.solved && p.tried && p.best_efficiency == 0.7);
	CHECK_EQ(p.attempts, 1);
	CHECK_EQ(p.accepted, 1);
	OK(store_problem_versions(fix_store, "one", fix_arena, &versions, &fix_err));
	CHECK_EQ(versions.n, 2);
	CHECK(versions.at[0].current && !versions.at[1].current);
	OK(store_problem_set(fix_store, "one", 1, -1, &fix_err));
	OK(store_problems(fix_store, 0, false, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 1);
	CHECK_STR(list.at[0].id, "two");
	CHECK(isnan(list.at[0].best_efficiency));
	OK(store_problem_set(fix_store, "one", 0, 0, &fix_err));
	OK(store_problems(fix_store, 0, true, fix_arena, &list, &fix_err));
	CHECK_STR(list.at[0].id, "one");
	GIVES(STORE_NOT_FOUND, store_problem_set(fix_store, "three", 0, 0, &fix_err));
	fix_close();
}

TEST(editions_of_a_version)
{
	struct store_versions versions;
	struct store_problem p;
	fix_open();
	int64_t ada = fix_user("ada", ROLE_INSTRUCTOR);
	fix_problem("one", "v1");
	struct store_problem_put put = {.id = "one", .version = "v1", .folder = "/second", .title = "B", .difficulty = "easy", .tags = "[]", .by = ada,
					.replaces = "/nowhere", .position = -1};
	OK(store_problem_put(fix_store, &put, &fix_err));
	OK(store_problem_put(fix_store, &(struct store_problem_put){.id = "one", .version = "v1", .folder = "/second", .title = "C",
								    .difficulty = "easy", .tags = "[]", .position = -1}, &fix_err));
	put.folder = "/third";
	GIVES(STORE_CONFLICT, store_problem_put(fix_store, &put, &fix_err));
	OK(store_problem_get(fix_store, "one", 0, fix_arena, &p, &fix_err));
	CHECK_STR(p.folder, "/second");
	CHECK_STR(p.title, "C");
	OK(store_problem_versions(fix_store, "one", fix_arena, &versions, &fix_err));
	CHECK_EQ(versions.n, 2);
	CHECK_STR(versions.at[0].folder, "/second");
	CHECK_STR(versions.at[0].by, "ada");
	CHECK(versions.at[0].edition == 2 && versions.at[0].current && versions.at[1].edition == 1 && !versions.at[1].current);
	fix_close();
}

TEST(submissions)
{
	struct store_submission x;
	struct store_submissions list;
	struct store_cases cases;
	int64_t judging, id;
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT), bo = fix_user("bo", ROLE_STUDENT);
	fix_problem("one", "v1");
	struct store_submission_new n = {.user = ada, .problem = "one", .name = "a.cu", .source = "a\0b", .size = 3, .device = "emulated:h200"};
	OK(store_submission_add(fix_store, &n, &id, &judging, &fix_err));
	OK(store_submission_get(fix_store, id, fix_arena, &x, &fix_err));
	CHECK_EQ(x.size, 3);
	CHECK(!memcmp(x.source, "a\0b", 4));
	CHECK_STR(x.scope, "full");
	CHECK_EQ(x.judging.id, judging);
	CHECK(!x.judging.verdict && isnan(x.judging.score));
	n.problem = "none";
	GIVES(STORE_NOT_FOUND, store_submission_add(fix_store, &n, &id, &judging, &fix_err));
	n.problem = "one";
	n.name = "../a";
	GIVES(STORE_INVALID, store_submission_add(fix_store, &n, &id, &judging, &fix_err));
	for (int i = 0; i < 5; i++)
		fix_submit(bo, "one", NULL);
	struct store_job job = fix_claim();
	fix_finish(&job, "WA", 0, NAN);
	OK(store_submissions(fix_store, &(struct store_filter){.user = "bo"}, 0, 3, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 3);
	CHECK(list.next && list.at[0].id > list.at[1].id);
	OK(store_submissions(fix_store, &(struct store_filter){.user = "bo"}, list.next, 3, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 2);
	CHECK_EQ(list.next, 0);
	OK(store_submissions(fix_store, &(struct store_filter){.verdict = "WA", .problem = "one", .since = 1}, 0, 9, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 1);
	CHECK_STR(list.at[0].user_name, "ada");
	OK(store_submissions(fix_store, &(struct store_filter){.verdict = "pending"}, 0, 9, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 5);
	OK(store_submissions(fix_store, &(struct store_filter){.user = "' OR '1'='1"}, 0, 9, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 0);
	OK(store_cases(fix_store, job.judging, fix_arena, &cases, &fix_err));
	CHECK_EQ(cases.n, 2);
	CHECK(isinf(cases.at[1].error_ratio) && isnan(cases.at[0].time_us) && cases.at[1].bytes == 1e6);
	CLEANUP_BUF struct buf report = {0};
	OK(store_report(fix_store, job.judging, false, &report, &fix_err));
	CHECK_STR(buf_str(&report), "{}");
	const char *ptx;
	OK(store_ptx(fix_store, job.judging, fix_arena, &ptx, &fix_err));
	GIVES(STORE_NOT_FOUND, store_report(fix_store, job.judging + 1, true, &report, &fix_err));
	fix_close();
}

TEST(boards)
{
	struct store_ranks ranks;
	struct store_points points;
	struct store_solveds solved;
	struct store_days days;
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT), bo = fix_user("bo", ROLE_STUDENT), cy = fix_user("cy", ROLE_STUDENT);
	fix_problem("one", "v1");
	const struct {
		int64_t user;
		const char *verdict;
		double efficiency;
	} runs[] = {{ada, "AC", 0.5}, {bo, "AC", 0.5}, {cy, "WA", NAN}, {ada, "AC", 0.4}, {cy, "AC", 0.9}, {cy, "AC", NAN}};
	int64_t ids[6];
	for (int i = 0; i < 6; i++) {
		ids[i] = fix_submit(runs[i].user, "one", NULL);
		struct store_job job = fix_claim();
		fix_finish(&job, runs[i].verdict, 80, runs[i].efficiency);
	}
	OK(store_leaderboard(fix_store, "one", "emulated:h200", 0, 0, 2, fix_arena, &ranks, &fix_err));
	CHECK_EQ(ranks.n, 2);
	CHECK_STR(ranks.at[0].name, "cy");
	CHECK_STR(ranks.at[1].name, "ada");		/* as good as bo, but earlier */
	OK(store_leaderboard(fix_store, "one", "emulated:h200", 0, ranks.next, 2, fix_arena, &ranks, &fix_err));
	CHECK_EQ(ranks.n, 1);
	CHECK_EQ(ranks.at[0].rank, 3);
	CHECK_EQ(ranks.at[0].submission, ids[1]);
	OK(store_leaderboard(fix_store, "one", "gpu:0", 0, 0, 2, fix_arena, &ranks, &fix_err));
	CHECK_EQ(ranks.n, 0);
	OK(store_points(fix_store, "one", "emulated:h200", ada, 100, fix_arena, &points, &fix_err));
	CHECK_EQ(points.n, 4);				/* cy's and bo's best, both of ada's */
	OK(store_user_solved(fix_store, cy, fix_arena, &solved, &fix_err));
	CHECK_EQ(solved.n, 1);
	CHECK_EQ(solved.at[0].submission, ids[4]);
	OK(store_user_activity(fix_store, cy, 0, fix_arena, &days, &fix_err));
	CHECK_EQ(days.n, 1);
	CHECK_EQ(days.at[0].submissions, 3);
	CHECK_EQ(days.at[0].accepted, 2);
	char today[16];
	time_t now = time(NULL);
	strftime(today, sizeof today, "%Y-%m-%d", gmtime(&now));
	CHECK_STR(days.at[0].day, today);
	fix_close();
}

/* ---- groups ---- */

TEST(groups_and_assignments)
{
	struct store_group g, found;
	struct store_assignment x;
	struct store_assignments mine;
	struct store_grades grades;
	struct store_users members;
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT), bo = fix_user("bo", ROLE_STUDENT), id;
	fix_problem("one", "v1");
	OK(store_group_add(fix_store, "Course", fix_arena, &g, &fix_err));
	OK(store_group_by_code(fix_store, g.code, fix_arena, &found, &fix_err));
	CHECK_EQ(found.id, g.id);
	OK(store_group_join(fix_store, g.id, ada, &fix_err));
	OK(store_group_join(fix_store, g.id, ada, &fix_err));
	CHECK(store_group_has(fix_store, g.id, ada) && !store_group_has(fix_store, g.id, bo));
	int64_t sub = fix_submit(ada, "one", NULL), now = store_now();
	struct store_job job = fix_claim();
	fix_finish(&job, "AC", 70, 0.3);
	struct store_assignment_new n = {.problem = "one", .deadline = now + 1000000};
	OK(store_assignment_add(fix_store, g.id, &n, &id, &fix_err));
	OK(store_assignment_get(fix_store, id, ada, fix_arena, &x, &fix_err));
	CHECK_STR(x.title, "A title");
	CHECK_EQ(x.best_submission, sub);
	OK(store_assignment_set(fix_store, id, &(struct store_assignment_new){.deadline = now - 1000000, .opens = -1}, &fix_err));
	OK(store_assignment_get(fix_store, id, ada, fix_arena, &x, &fix_err));
	CHECK(isnan(x.best_score) && !x.best_submission);
	OK(store_extension_set(fix_store, id, ada, now + 1000000, &fix_err));
	OK(store_assignments(fix_store, 0, ada, fix_arena, &mine, &fix_err));
	CHECK_EQ(mine.n, 1);
	CHECK_EQ(mine.at[0].deadline, now + 1000000);
	CHECK(mine.at[0].best_score == 70);
	struct store_extensions extra;
	OK(store_extensions(fix_store, id, fix_arena, &extra, &fix_err));
	CHECK_EQ(extra.n, 1);
	CHECK_STR(extra.at[0].user, "ada");
	GIVES(STORE_NOT_FOUND, store_extension_remove(fix_store, id, bo, &fix_err));
	OK(store_assignments(fix_store, 0, bo, fix_arena, &mine, &fix_err));
	CHECK_EQ(mine.n, 0);
	struct store_roster_row rows[] = {{.name = "bo"}, {.name = "cy", .display = "Cy Young", .password = "from the list"}, {.name = "Bad Name"}};
	GIVES(STORE_INVALID, store_group_roster(fix_store, g.id, rows, 3, &fix_err));
	CHECK_MSG(strstr(fix_err.text, "row 3"), "%s", fix_err.text);
	CHECK(!store_group_has(fix_store, g.id, bo));
	OK(store_group_roster(fix_store, g.id, rows, 2, &fix_err));
	CHECK(rows[0].joined && !rows[0].added && rows[1].added);
	OK(store_group_members(fix_store, g.id, fix_arena, &members, &fix_err));
	CHECK_EQ(members.n, 3);
	OK(store_grades(fix_store, g.id, fix_arena, &grades, &fix_err));
	CHECK_EQ(grades.n, 3);
	CHECK_STR(grades.at[0].user, "ada");
	CHECK(grades.at[0].score == 70 && isnan(grades.at[1].score));
	GIVES(STORE_INVALID, store_assignment_set(fix_store, id, &(struct store_assignment_new){.deadline = -1, .opens = now}, &fix_err));
	GIVES(STORE_NOT_FOUND, store_group_join(fix_store, 999, ada, &fix_err));
	OK(store_extension_remove(fix_store, id, ada, &fix_err));
	OK(store_extensions(fix_store, id, fix_arena, &extra, &fix_err));
	CHECK_EQ(extra.n, 0);
	OK(store_group_remove(fix_store, g.id, &fix_err));
	GIVES(STORE_NOT_FOUND, store_assignment_get(fix_store, id, ada, fix_arena, &x, &fix_err));
	fix_close();
}

/* ---- what goes wrong ---- */

TEST(a_database_that_others_hold_is_busy)
{
	struct store_user u;
	fix_open();
	struct store *other = fix_again();
	OK(sql_begin(other, &fix_err));
	sqlite3_busy_timeout(fix_store->db, 100);
	GIVES(STORE_BUSY, store_user_add(fix_store, &(struct store_user_new){.name = "ada"}, fix_arena, &u, &fix_err));
	GIVES(STORE_NOT_FOUND, store_user_get(fix_store, "ada", fix_arena, &u, &fix_err));	/* readers don't wait */
	OK(sql_end(other, STORE_OK, &fix_err));
	OK(store_user_add(fix_store, &(struct store_user_new){.name = "ada"}, fix_arena, &u, &fix_err));
	store_close(other);
	fix_close();
}

TEST(a_full_disk_writes_nothing)
{
	struct store_submission x;
	int64_t id, judging;
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT);
	fix_problem("one", "v1");
	OK(sql_exec(fix_store, "PRAGMA max_page_count = 1", &fix_err));		/* that is: what it has now */
	size_t size = 1 << 20;
	char *source = malloc(size);
	memset(source, 'x', size);
	struct store_submission_new n = {.user = ada, .problem = "one", .name = "a.cu", .source = source, .size = size, .device = "emulated:h200"};
	GIVES(STORE_FULL, store_submission_add(fix_store, &n, &id, &judging, &fix_err));
	GIVES(STORE_NOT_FOUND, store_submission_get(fix_store, 1, fix_arena, &x, &fix_err));
	CHECK_EQ(number(fix_store, "SELECT count(*) FROM judgings"), 0);
	OK(sql_exec(fix_store, "PRAGMA max_page_count = 100000", &fix_err));
	OK(store_submission_add(fix_store, &n, &id, &judging, &fix_err));
	free(source);
	fix_close();
}

TEST_WITHIN(killed_while_writing, 60)
{
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT);
	fix_problem("one", "v1");
	for (int i = 0; i < 6; i++) {
		pid_t child = fork();
		if (child == 0) {
			struct err e;
			struct store *s = store_open(fix_folder, &e);
			for (int64_t x, j;;)
				store_submission_add(s, &(struct store_submission_new){.user = ada, .problem = "one", .name = "a.cu",
						     .source = "int x;", .size = 6, .device = "emulated:h200"}, &x, &j, &e);
		}
		usleep(40000 + 17000 * (unsigned)i);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		CHECK_EQ(number(fix_store, "SELECT (SELECT count(*) FROM submissions) - (SELECT count(*) FROM judgings)"), 0);
		CHECK_EQ(number(fix_store, "SELECT (SELECT count(*) FROM submissions) - (SELECT count(*) FROM events)"), 0);
	}
	CHECK(number(fix_store, "SELECT count(*) FROM submissions") > 0);
	fix_close();
}

/* ---- backup ---- */

TEST_WITHIN(backup_while_others_write, 60)
{
	char file[300], inside[300];
	fix_open();
	int64_t ada = fix_user("ada", ROLE_STUDENT);
	fix_problem("one", "v1");
	for (int i = 0; i < 50; i++)
		fix_submit(ada, "one", NULL);
	pid_t child = fork();
	if (child == 0) {
		struct err e;
		struct store *s = store_open(fix_folder, &e);
		for (int64_t x, j;;)
			store_submission_add(s, &(struct store_submission_new){.user = ada, .problem = "one", .name = "a.cu", .source = "int x;",
					     .size = 6, .device = "emulated:h200"}, &x, &j, &e);
	}
	usleep(50000);
	snprintf(file, sizeof file, "%s/copy.db", fix_folder);
	OK(store_backup(fix_store, file, &fix_err));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	GIVES(STORE_CONFLICT, store_backup(fix_store, file, &fix_err));
	int64_t later = number(fix_store, "SELECT count(*) FROM submissions");
	GIVES(STORE_BUSY, store_restore(fix_folder, file, &fix_err));
	CHECK_MSG(strstr(fix_err.text, "stop the server"), "%s", fix_err.text);
	store_close(fix_store);
	OK(store_restore(fix_folder, file, &fix_err));
	fix_store = fix_again();
	int64_t n = number(fix_store, "SELECT count(*) FROM submissions");
	CHECK_MSG(n >= 50 && n <= later, "%lld of %lld", (long long)n, (long long)later);
	CHECK_EQ(number(fix_store, "SELECT (SELECT count(*) FROM submissions) - (SELECT count(*) FROM events)"), 0);
	snprintf(inside, sizeof inside, "%s/judge.db.before-restore", fix_folder);
	struct store *before = store_open(inside, &fix_err);
	CHECK_MSG(!before || number(before, "SELECT count(*) FROM submissions") == later, "%s", fix_err.text);
	store_close(before);
	fix_close();
}

TEST(restore_checks_first)
{
	char file[300];
	fix_open();
	fix_user("ada", ROLE_STUDENT);
	store_close(fix_store);
	snprintf(file, sizeof file, "%s/bad.db", fix_folder);
	GIVES(STORE_NOT_FOUND, store_restore(fix_folder, file, &fix_err));
	int fd = open(file, O_WRONLY | O_CREAT, 0600);
	CHECK(write(fd, "no database", 11) == 11);
	close(fd);
	GIVES(STORE_INVALID, store_restore(fix_folder, file, &fix_err));
	unlink(file);
	sqlite3 *db;
	CHECK(sqlite3_open(file, &db) == SQLITE_OK && sqlite3_exec(db, "CREATE TABLE t (x)", NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
	GIVES(STORE_INVALID, store_restore(fix_folder, file, &fix_err));
	fix_store = fix_again();
	CHECK_EQ(number(fix_store, "SELECT count(*) FROM users"), 1);
	fix_close();
}
