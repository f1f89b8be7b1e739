/* The queue: its order, leases, fencing, retries, cancelling, rejudging, and claims of many processes at once. */
#include "store_fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct store_judging judging_of(int64_t id)
{
	struct store_judging j;
	OK(store_judging_get(fix_store, id, fix_arena, &j, &fix_err));
	return j;
}

static void sql(const char *text)
{
	OK(sql_exec(fix_store, text, &fix_err));
}

static unsigned events_of(int64_t judging, const char *kind)
{
	struct store_events list;
	unsigned n = 0;
	OK(store_events(fix_store, judging, 0, 1000, fix_arena, &list, &fix_err));
	for (size_t i = 0; i < list.n; i++)
		n += !strcmp(list.at[i].kind, kind);
	return n;
}

TEST(a_life)
{
	int64_t id, sub;
	bool cancel = true;
	struct store_events list;
	struct store_job none;
	fix_open();
	fix_problem("one", "v1");
	GIVES(STORE_NOT_FOUND, store_claim(fix_store, "w", 9, fix_arena, &none, &fix_err));
	sub = fix_submit(fix_user("ada", ROLE_STUDENT), "one", &id);
	CHECK_EQ(judging_of(id).state, STATE_QUEUED);
	CHECK_EQ(judging_of(id).place, 1);
	struct store_job job = fix_claim();
	CHECK_EQ(job.judging, id);
	CHECK_EQ(job.submission, sub);
	CHECK_EQ(job.token, 1);
	CHECK_STR(job.source, "int x;");
	CHECK_STR(job.folder, "/nowhere");
	CHECK_STR(judging_of(id).worker, "w");
	OK(store_heartbeat(fix_store, id, job.token, &cancel, &fix_err));
	CHECK(!cancel);
	OK(store_progress(fix_store, id, job.token, "stage", "compile", 0, 0, NULL, &fix_err));
	OK(store_progress(fix_store, id, job.token, "progress", "hidden cases", 3, 9, "edges", &fix_err));
	CHECK_EQ(judging_of(id).done, 3);
	CHECK_STR(judging_of(id).stage, "hidden cases");
	fix_finish(&job, "AC", 88, 0.4);
	struct store_judging j = judging_of(id);
	CHECK_EQ(j.state, STATE_DONE);
	CHECK_STR(j.verdict, "AC");
	CHECK(j.score == 88 && j.efficiency == 0.4 && !j.stage && j.finished >= j.started && j.started >= j.created);
	OK(store_events(fix_store, id, 0, 100, fix_arena, &list, &fix_err));
	static const char *const kinds[] = {"queued", "stage", "stage", "progress", "done"};
	CHECK_EQ(list.n, 5);
	for (int i = 0; i < 5; i++)
		CHECK_STR(list.at[i].kind, kinds[i]);
	CHECK_STR(list.at[0].data, "{\"place\":1}");
	CHECK_STR(list.at[3].data, "{\"stage\":\"hidden cases\",\"done\":3,\"total\":9,\"case\":\"edges\"}");
	OK(store_events(fix_store, 0, list.at[3].id, 100, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 1);
	GIVES(STORE_NOT_FOUND, store_claim(fix_store, "w", 9, fix_arena, &none, &fix_err));
	fix_close();
}

TEST(an_old_token_is_refused)
{
	int64_t id;
	bool cancel;
	struct store_outcome o = {.verdict = "AC", .score = 1, .efficiency = NAN, .time_us = NAN};
	fix_open();
	fix_problem("one", "v1");
	fix_submit(fix_user("ada", ROLE_STUDENT), "one", &id);
	struct store_job old = fix_claim();
	OK(store_give_back(fix_store, id, old.token, "stopped", &fix_err));
	GIVES(STORE_STALE, store_finish(fix_store, id, old.token, &o, &fix_err));	/* it waits: nobody has it */
	struct store_job job = fix_claim();
	CHECK_EQ(job.token, 2);
	GIVES(STORE_STALE, store_heartbeat(fix_store, id, old.token, &cancel, &fix_err));
	GIVES(STORE_STALE, store_progress(fix_store, id, old.token, "stage", "x", 0, 0, NULL, &fix_err));
	GIVES(STORE_STALE, store_finish(fix_store, id, old.token, &o, &fix_err));
	GIVES(STORE_STALE, store_fail(fix_store, id, old.token, "x", &fix_err));
	GIVES(STORE_STALE, store_give_back(fix_store, id, old.token, "x", &fix_err));
	GIVES(STORE_STALE, store_cancelled(fix_store, id, old.token, &fix_err));
	CHECK_EQ(judging_of(id).state, STATE_RUNNING);
	fix_finish(&job, "WA", 0, NAN);
	GIVES(STORE_STALE, store_finish(fix_store, id, job.token, &o, &fix_err));		/* twice */
	CHECK_STR(judging_of(id).verdict, "WA");
	CHECK_EQ(events_of(id, "done"), 1);
	CHECK_EQ(events_of(id, "stage"), 2);
	fix_close();
}

TEST(leases_end)
{
	int64_t id;
	unsigned n = 9;
	bool cancel;
	fix_open();
	fix_problem("one", "v1");
	fix_submit(fix_user("ada", ROLE_STUDENT), "one", &id);
	struct store_job job = fix_claim();
	OK(store_expire(fix_store, NULL, &n, &fix_err));
	CHECK_EQ(n, 0);
	sql("UPDATE judgings SET lease_until = 1");
	OK(store_heartbeat(fix_store, id, job.token, &cancel, &fix_err));	/* late, but nobody has looked */
	OK(store_expire(fix_store, NULL, &n, &fix_err));
	CHECK_EQ(n, 0);
	sql("UPDATE judgings SET lease_until = 1");
	OK(store_expire(fix_store, NULL, &n, &fix_err));
	CHECK_EQ(n, 1);
	CHECK_EQ(judging_of(id).state, STATE_QUEUED);
	GIVES(STORE_STALE, store_heartbeat(fix_store, id, job.token, &cancel, &fix_err));
	fix_claim();
	sql("UPDATE judgings SET lease_boot = 'another boot'");
	OK(store_expire(fix_store, NULL, &n, &fix_err));
	CHECK_EQ(n, 1);
	OK(store_claim(fix_store, "other", 9, fix_arena, &job, &fix_err));
	OK(store_expire(fix_store, "w", &n, &fix_err));
	CHECK_EQ(n, 0);
	OK(store_expire(fix_store, "other", &n, &fix_err));
	CHECK_EQ(n, 1);
	struct store_judging j = judging_of(id);
	CHECK_STR(j.verdict, "SE");				/* the third */
	CHECK_MSG(strstr(j.note, "attempt 3: worker other died"), "%s", j.note);
	fix_close();
}

TEST(three_failures_are_a_system_error)
{
	int64_t id;
	fix_open();
	fix_problem("one", "v1");
	fix_submit(fix_user("ada", ROLE_STUDENT), "one", &id);
	for (int i = 0; i < 5; i++) {				/* given back: does not count */
		struct store_job job = fix_claim();
		OK(store_give_back(fix_store, id, job.token, "the worker stops", &fix_err));
	}
	for (int i = 0; i < STORE_ATTEMPTS; i++) {
		CHECK_EQ(judging_of(id).state, STATE_QUEUED);
		struct store_job job = fix_claim();
		OK(store_fail(fix_store, id, job.token, "no nvcc", &fix_err));
	}
	struct store_judging j = judging_of(id);
	CHECK_EQ(j.state, STATE_DONE);
	CHECK_STR(j.verdict, "SE");
	CHECK_STR(j.note, "no nvcc\nno nvcc\nno nvcc");
	CHECK(isnan(j.score));
	CHECK_EQ(events_of(id, "done"), 1);
	fix_close();
}

TEST(who_has_something_in_the_queue_comes_later)
{
	int64_t ids[8];
	fix_open();
	fix_problem("one", "v1");
	int64_t ada = fix_user("ada", ROLE_STUDENT), bo = fix_user("bo", ROLE_STUDENT), cy = fix_user("cy", ROLE_STUDENT);
	for (int i = 0; i < 4; i++)
		fix_submit(ada, "one", &ids[i]);
	fix_submit(bo, "one", &ids[4]);
	fix_submit(bo, "one", &ids[5]);
	fix_submit(cy, "one", &ids[6]);
	static const int order[] = {0, 4, 6, 1, 5, 2, 3};
	for (int i = 0; i < 7; i++)
		CHECK_EQ(judging_of(ids[order[i]]).place, i + 1);
	struct store_submissions queue;
	CHECK_EQ(fix_claim().judging, ids[0]);
	CHECK_EQ(fix_claim().judging, ids[4]);
	/* what is under way counts too: bo and ada have something there, dee has not */
	fix_submit(fix_user("dee", ROLE_STUDENT), "one", &ids[7]);
	OK(store_queue(fix_store, 100, fix_arena, &queue, &fix_err));
	CHECK_EQ(queue.n, 8);
	CHECK_EQ(queue.at[0].judging.state, STATE_RUNNING);
	CHECK_EQ(queue.at[2].judging.place, 1);
	static const int rest[] = {6, 7, 1, 5, 2, 3};
	for (int i = 0; i < 6; i++)
		CHECK_EQ(fix_claim().judging, ids[rest[i]]);
	fix_close();
}

TEST(a_place_is_kept_during_a_mass_rejudge)
{
	int64_t id, rejudge, again;
	struct store_rejudge r;
	struct store_job job;
	fix_open();
	fix_problem("one", "v1");
	int64_t ada = fix_user("ada", ROLE_STUDENT), teacher = fix_user("teacher", ROLE_INSTRUCTOR);
	for (int i = 0; i < 6; i++) {
		fix_submit(ada, "one", NULL);
		job = fix_claim();
		fix_finish(&job, i < 3 ? "WA" : "AC", i < 3 ? 0 : 80, i < 3 ? NAN : 0.5);
	}
	fix_problem("one", "v2");
	int64_t count;
	struct store_filter wrong = {.problem = "one", .verdict = "WA"}, all = {.problem = "one"}, none = {.problem = "two"};
	OK(store_rejudge_preview(fix_store, &wrong, &count, &fix_err));
	CHECK_EQ(count, 3);
	GIVES(STORE_INVALID, store_rejudge_add(fix_store, &none, teacher, &rejudge, &fix_err));
	OK(store_rejudge_add(fix_store, &all, teacher, &rejudge, &fix_err));
	GIVES(STORE_CONFLICT, store_rejudge_one(fix_store, 1, teacher, &again, &fix_err));	/* is on its way */
	struct store_job first;
	OK(store_claim(fix_store, "w", 1, fix_arena, &first, &fix_err));
	CHECK(first.rejudge);
	CHECK_STR(first.version, "v2");
	GIVES(STORE_NOT_FOUND, store_claim(fix_store, "w", 1, fix_arena, &job, &fix_err));	/* the other place is kept */
	fix_submit(ada, "one", &id);
	CHECK_EQ(judging_of(id).place, 1);
	OK(store_claim(fix_store, "w", 1, fix_arena, &job, &fix_err));
	CHECK_EQ(job.judging, id);
	fix_finish(&first, "AC", 80, 0.5);
	for (int i = 0; i < 5; i++) {
		OK(store_claim(fix_store, "w", 1, fix_arena, &first, &fix_err));
		fix_finish(&first, "AC", 80, 0.5);
	}
	OK(store_rejudge_get(fix_store, rejudge, fix_arena, &r, &fix_err));
	CHECK_EQ(r.total, 6);
	CHECK_EQ(r.done, 6);
	CHECK_EQ(r.n_changed, 3);
	CHECK_STR(r.by, "teacher");
	CHECK_STR(r.changed[0].before, "WA");
	CHECK_STR(r.changed[0].after, "AC");
	struct store_judgings js;
	OK(store_judgings(fix_store, 1, fix_arena, &js, &fix_err));
	CHECK_EQ(js.n, 2);				/* nothing is overwritten */
	CHECK_STR(js.at[0].verdict, "WA");
	OK(store_rejudge_one(fix_store, 1, teacher, &again, &fix_err));
	fix_close();
}

TEST(cancelling)
{
	int64_t a, b;
	bool cancel = false;
	fix_open();
	fix_problem("one", "v1");
	int64_t ada = fix_user("ada", ROLE_STUDENT);
	fix_submit(ada, "one", &a);
	OK(store_cancel(fix_store, a, &fix_err));
	CHECK_EQ(judging_of(a).state, STATE_CANCELLED);
	GIVES(STORE_CONFLICT, store_cancel(fix_store, a, &fix_err));
	GIVES(STORE_NOT_FOUND, store_cancel(fix_store, 99, &fix_err));
	fix_submit(ada, "one", &b);
	struct store_job job = fix_claim();
	CHECK_EQ(job.judging, b);
	OK(store_cancel(fix_store, b, &fix_err));
	CHECK(judging_of(b).cancelling);
	OK(store_heartbeat(fix_store, b, job.token, &cancel, &fix_err));
	CHECK(cancel);
	OK(store_cancelled(fix_store, b, job.token, &fix_err));
	CHECK_EQ(judging_of(b).state, STATE_CANCELLED);
	CHECK_EQ(events_of(b, "cancelled"), 1);
	/* whoever died with it does not bring it back */
	fix_submit(ada, "one", &a);
	fix_claim();
	OK(store_cancel(fix_store, a, &fix_err));
	sql("UPDATE judgings SET lease_until = 1 WHERE state = 1");
	OK(store_expire(fix_store, NULL, NULL, &fix_err));
	CHECK_EQ(judging_of(a).state, STATE_CANCELLED);
	fix_close();
}

TEST(a_device_out_of_service_keeps_its_jobs)
{
	int64_t id;
	struct store_job job;
	struct store_devices list;
	fix_open();
	fix_problem("one", "v1");
	fix_submit(fix_user("ada", ROLE_STUDENT), "one", &id);
	OK(store_device_put(fix_store, "emulated:h200", "H200", false, false, "does not answer", &fix_err));
	GIVES(STORE_NOT_FOUND, store_claim(fix_store, "w", 9, fix_arena, &job, &fix_err));
	OK(store_devices(fix_store, fix_arena, &list, &fix_err));
	CHECK_STR(list.at[0].note, "does not answer");
	OK(store_device_put(fix_store, "emulated:h200", "H200", false, true, NULL, &fix_err));
	CHECK_EQ(fix_claim().judging, id);
	fix_close();
}

TEST(workers_are_known)
{
	struct store_workers list;
	fix_open();
	OK(store_worker_seen(fix_store, "w1", 7, "idle", 0, &fix_err));
	OK(store_worker_seen(fix_store, "w1", 7, "grading", 3, &fix_err));
	OK(store_worker_did(fix_store, "w1", true, &fix_err));
	OK(store_worker_seen(fix_store, "w2", 8, "idle", 0, &fix_err));
	sql("UPDATE workers SET boot = 'x' WHERE name = 'w2'");
	OK(store_workers(fix_store, fix_arena, &list, &fix_err));
	CHECK_EQ(list.n, 2);
	CHECK(list.at[0].alive && list.at[0].graded == 1 && !list.at[1].alive);
	CHECK_STR(list.at[0].state, "grading");
	OK(store_worker_gone(fix_store, "w2", &fix_err));
	fix_close();
}

/* Processes that claim and finish as fast as they can, some of them killed meanwhile: each judging is done once. */
TEST_WITHIN(claims_of_many_processes, 120)
{
	enum { JOBS = 120, WORKERS = 6, KILLS = 4 };
	int64_t ids[JOBS];
	pid_t children[WORKERS];
	unsigned *finished = mmap(NULL, sizeof *finished, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fix_open();
	fix_problem("one", "v1");
	int64_t users[3] = {fix_user("ada", ROLE_STUDENT), fix_user("bo", ROLE_STUDENT), fix_user("cy", ROLE_STUDENT)};
	for (int i = 0; i < JOBS; i++)
		fix_submit(users[i % 3], "one", &ids[i]);
	for (int w = 0; w < WORKERS; w++) {
		children[w] = fork();
		if (children[w])
			continue;
		struct arena *a = arena_new();
		struct err e = {0};
		struct store *s = store_open(fix_folder, &e);
		struct store_outcome o = {.verdict = "AC", .score = w, .efficiency = NAN, .time_us = NAN};
		struct store_job job;
		char name[8];
		snprintf(name, sizeof name, "w%d", w);
		for (;;) {
			enum store_result rc = store_claim(s, name, 9, a, &job, &e);
			if (rc == STORE_NOT_FOUND)
				usleep(2000);
			else if (rc != STORE_OK)
				_exit(1);
			else if (store_finish(s, job.judging, job.token, &o, &e) == STORE_OK)
				__atomic_fetch_add(finished, 1, __ATOMIC_SEQ_CST);
		}
	}
	for (int k = 0; k < KILLS; k++) {
		usleep(60000);
		kill(children[k], SIGKILL);
		waitpid(children[k], NULL, 0);
		char name[8];
		snprintf(name, sizeof name, "w%d", k);
		OK(store_expire(fix_store, name, NULL, &fix_err));
	}
	struct store_counts c = {0};
	for (int i = 0; i < 5000 && c.done < JOBS; i++) {
		usleep(10000);
		OK(store_count(fix_store, &c, &fix_err));
	}
	CHECK_EQ(c.done, JOBS);
	for (int w = KILLS; w < WORKERS; w++) {
		kill(children[w], SIGKILL);
		waitpid(children[w], NULL, 0);
	}
	for (int i = 0; i < JOBS; i++) {
		CHECK_EQ(events_of(ids[i], "done"), 1);
		CHECK_STR(judging_of(ids[i]).verdict, "AC");
	}
	/* one that was killed may have finished without having counted it */
	CHECK_MSG(*finished <= JOBS && *finished >= JOBS - KILLS, "%u", *finished);
	munmap(finished, sizeof *finished);
	fix_close();
}
