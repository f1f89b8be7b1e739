/* A storm over the queue: many submissions of many users while servers and workers are killed.  Each must end judged, exactly once.
 *
 *	storm JUDGE FOLDER SUBMISSIONS USERS KILLS
 *
 * A server is a process of ours with a supervisor and its workers, as in `judge serve`; it is ended by SIGKILL, and started again,
 * and so are in turn a worker and a grading process with it.  Most submissions are refused before the compiler, some by it, some run.
 * What is expected of each is known; afterwards the database must have it once, and nothing else: no second judging, no second result,
 * no worker, no lease.  Then: a running judging is cancelled, a server stops well while one runs, a package is gone.
 */
#include "judge/problem.h"
#include "judge/queue/supervisor.h"
#include "judge/store/store.h"
#include "sandbox/base/cleanup.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, PATIENCE_MS = 1500000, PAGE = 100 };

struct storm {
	const char *judge, *folder;
	int submissions, users, kills;
	struct store *store;
	struct arena *arena;
	int64_t *user;
	int64_t *ids;
	const char **expected;
	unsigned passed, failed;
};

static _Noreturn void give_up(const char *what, const struct err *e)
{
	fprintf(stderr, "storm: %s: %s\n", what, e->text);
	exit(1);
}

static void check(struct storm *s, bool well, const char *what, long long id)
{
	s->passed += well;
	s->failed += !well;
	if (!well)
		printf("FAILED %s (%lld)\n", what, id);
}

/* ---- the server ---- */

static volatile sig_atomic_t told;

static void on_signal(int signal)
{
	(void)signal;
	told = 1;
}

static _Noreturn void be_server(const struct storm *s)
{
	struct err e;
	char log[600];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGTERM, on_signal);
	snprintf(log, sizeof log, "%s/workers.log", s->folder);
	struct supervisor_options o = {.data = s->folder, .workers = WORKERS, .threads = 1, .program = s->judge, .log = log};
	struct supervisor *v = supervisor_start(&o, &e);
	if (!v)
		give_up("server", &e);
	while (!told)
		usleep(20000);
	supervisor_stop(v, 30);
	exit(0);
}

static pid_t start_server(const struct storm *s)
{
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		be_server(s);
	return pid;
}

/* ---- submissions ---- */

static const char right[] =
	"#include <cstdint>\n"
	"__global__ void gemv(const uint32_t *Wq, const float *s, const float *z, const float *x, float *y, int N, int K)\n"
	"{\n"
	"	int n = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (n >= N)\n"
	"		return;\n"
	"	float sum = 0;\n"
	"	for (int k = 0; k < K; k++) {\n"
	"		uint32_t q = Wq[(size_t)n * (K / 8) + k / 8] >> 4 * (k % 8) & 15;\n"
	"		sum += x[k] * s[(size_t)n * (K / 128) + k / 128] * ((float)q - z[(size_t)n * (K / 128) + k / 128]);\n"
	"	}\n"
	"	y[n] = sum;\n"
	"}\n"
	"extern \"C\" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)\n"
	"{\n"
	"	gemv<<<(N + 63) / 64, 64>>>(Wq, scales, zeros, x, y, N, K);\n"
	"}\n";

/* Of ten: eight are no text, one does not compile, one is right. */
static void submit(struct storm *s, int i)
{
	struct err e;
	char source[sizeof right + 80];
	int64_t judging;
	s->expected[i] = i % 10 == 0 ? "AC" : "CE";
	snprintf(source, sizeof source, "// submission %d%s\n%s", i, i % 10 > 1 ? " \xff" : "", i % 10 == 1 ? "int x = y;\n" : right);
	struct store_submission_new n = {.user = s->user[i % s->users], .problem = "int4-gemv", .name = "a.cu", .source = source,
					 .size = strlen(source), .device = "emulated:h200", .samples = true};
	if (store_submission_add(s->store, &n, &s->ids[i], &judging, &e) != STORE_OK)
		give_up("submission", &e);
}

static void prepare(struct storm *s)
{
	struct err e;
	struct problem *p = problem_find("int4-gemv", &e);
	if (!p)
		give_up("problem", &e);
	struct store_problem_put put = {.id = p->id, .version = p->version, .folder = p->folder, .title = p->title,
					.difficulty = p->difficulty, .tags = "[]", .position = -1};
	if (store_problem_put(s->store, &put, &e) != STORE_OK)
		give_up("problem", &e);
	problem_close(p);
	for (int i = 0; i < s->users; i++) {
		char name[24];
		struct store_user u;
		snprintf(name, sizeof name, "user%d", i);
		if (store_user_add(s->store, &(struct store_user_new){.name = name}, s->arena, &u, &e) != STORE_OK)
			give_up("user", &e);
		s->user[i] = u.id;
	}
}

/* ---- the storm ---- */

static struct store_counts counts(struct storm *s)
{
	struct err e;
	struct store_counts c = {0};
	if (store_count(s->store, &c, &e) != STORE_OK)
		give_up("counts", &e);
	return c;
}

/* The process that a worker grades in: its youngest child, for the janitor was there before. */
static pid_t grader_of(pid_t worker)
{
	char path[80];
	int child, last = 0;
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)worker, (int)worker);
	CLEANUP_FILE FILE *f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		last = child;
	return last;
}

/* A worker that grades, or its grading process, if there is one. */
static bool kill_one(struct storm *s, bool grader)
{
	struct store_workers list;
	if (store_workers(s->store, s->arena, &list, NULL) != STORE_OK)
		return false;
	for (size_t i = 0; i < list.n; i++) {
		pid_t pid = (pid_t)list.at[i].pid;
		if (!strcmp(list.at[i].state, "grading") && (!grader || (pid = grader_of(pid)) > 0) && kill(pid, SIGKILL) == 0)
			return true;
	}
	return false;
}

/* Kills come whenever a further part of the work is done. */
static void rage(struct storm *s)
{
	pid_t server = start_server(s);
	int killed = 0, submitted = 0, workers = 0, graders = 0;
	int64_t began = store_now();
	for (;;) {
		struct store_counts c = counts(s);
		for (int i = 0; i < 10 && submitted < s->submissions; i++)
			submit(s, submitted++);
		if (submitted == s->submissions && c.done == submitted && killed == s->kills)
			break;
		if (store_now() - began > PATIENCE_MS) {
			printf("%lld of %d judged in time\n", (long long)c.done, s->submissions);
			break;
		}
		if (killed < s->kills && c.done >= (int64_t)s->submissions * killed / (s->kills + 1) && c.running) {
			workers += killed % 3 == 1 && kill_one(s, false);
			graders += killed % 3 == 0 && kill_one(s, true);
			kill(server, SIGKILL);
			waitpid(server, NULL, 0);
			killed++;
			server = start_server(s);
		}
		usleep(20000);
	}
	double seconds = (double)(store_now() - began) / 1e3;
	kill(server, SIGTERM);
	int status;
	waitpid(server, &status, 0);
	check(s, status == 0, "the server ends well", status);
	printf("%d submissions of %d users; killed: %d servers, %d workers, %d gradings; %.1f s\n", submitted, s->users, killed, workers,
	       graders, seconds);
}

/* ---- the calm ---- */

/* Until the judging is in this state (or in any later one), half a minute at most. */
static struct store_judging await(struct storm *s, int64_t judging, enum store_state state)
{
	struct err e;
	struct store_judging j = {0};
	for (int i = 0; i < 3000; i++) {
		if (store_judging_get(s->store, judging, s->arena, &j, &e) != STORE_OK)
			give_up("judging", &e);
		if (j.state >= state)
			break;
		usleep(10000);
	}
	return j;
}

static int64_t one_more(struct storm *s, const char *problem, const char *device)
{
	struct err e;
	int64_t id, judging;
	struct store_submission_new n = {.user = s->user[0], .problem = problem, .name = "a.cu", .source = right, .size = sizeof right - 1,
					 .device = device};
	if (store_submission_add(s->store, &n, &id, &judging, &e) != STORE_OK)
		give_up("submission", &e);
	return judging;
}

/* A GPU that is not there: it is taken out of service, and its job waits. */
static void lose_device(struct storm *s)
{
	struct err e;
	struct store_devices list = {0};
	int64_t judging = one_more(s, "int4-gemv", "gpu:200");
	for (int i = 0; i < 3000 && !list.n; i++) {
		if (store_devices(s->store, s->arena, &list, &e) != STORE_OK)
			give_up("devices", &e);
		usleep(10000);
	}
	check(s, list.n == 1 && !list.at[0].in_service && list.at[0].note, "the device is out of service", (long long)list.n);
	usleep(300000);
	struct store_judging j = await(s, judging, STATE_QUEUED);
	check(s, j.state == STATE_QUEUED && j.attempt == 1 && !j.note, "its job waits", judging);
	check(s, store_cancel(s->store, judging, &e) == STORE_OK, "it can be cancelled", judging);
}

static void after(struct storm *s)
{
	struct err e;
	int status;
	struct store_problem_put gone = {.id = "gone", .version = "1", .folder = "/nowhere/gone", .title = "Gone", .difficulty = "easy",
					 .tags = "[]", .position = -1};
	if (store_problem_put(s->store, &gone, &e) != STORE_OK)
		give_up("problem", &e);
	pid_t server = start_server(s);
	int64_t judging = one_more(s, "int4-gemv", "emulated:h200");
	check(s, await(s, judging, STATE_RUNNING).state == STATE_RUNNING, "it runs", judging);
	check(s, store_cancel(s->store, judging, &e) == STORE_OK, "it can be cancelled", judging);
	check(s, await(s, judging, STATE_DONE).state == STATE_CANCELLED, "it is cancelled", judging);
	judging = one_more(s, "gone", "emulated:h200");
	struct store_judging j = await(s, judging, STATE_DONE);
	check(s, j.verdict && !strcmp(j.verdict, "SE") && j.note && strstr(j.note, "/nowhere/gone") && !strstr(j.text, "/nowhere"), "a package that is gone is our fault", judging);
	lose_device(s);
	judging = one_more(s, "int4-gemv", "emulated:h200");
	await(s, judging, STATE_RUNNING);
	kill(server, SIGTERM);
	waitpid(server, &status, 0);
	j = await(s, judging, STATE_QUEUED);
	check(s, status == 0 && (j.state == STATE_DONE || j.state == STATE_QUEUED) && !j.note, "a server that stops loses nothing", judging);
}

/* ---- the count ---- */

static unsigned events(struct storm *s, int64_t judging, const char *kind)
{
	struct err e;
	struct store_events list;
	unsigned n = 0;
	if (store_events(s->store, judging, 0, 10000, s->arena, &list, &e) != STORE_OK)
		give_up("events", &e);
	for (size_t i = 0; i < list.n; i++)
		n += !strcmp(list.at[i].kind, kind);
	return n;
}

static void count_one(struct storm *s, int i, unsigned *again)
{
	struct err e;
	struct store_judgings list;
	struct store_cases cases;
	CLEANUP_BUF struct buf report = {0};
	if (store_judgings(s->store, s->ids[i], s->arena, &list, &e) != STORE_OK)
		give_up("judgings", &e);
	check(s, list.n == 1, "one judging", s->ids[i]);
	const struct store_judging *j = &list.at[0];
	bool right_verdict = j->state == STATE_DONE && j->verdict && !strcmp(j->verdict, s->expected[i]);
	check(s, right_verdict, j->note ? j->note : j->verdict ? j->verdict : "no verdict", s->ids[i]);
	check(s, events(s, j->id, "done") == 1 && events(s, j->id, "cancelled") == 0, "told once", j->id);
	check(s, store_report(s->store, j->id, false, &report, &e) == STORE_OK, "a report", j->id);
	if (store_cases(s->store, j->id, s->arena, &cases, &e) != STORE_OK)
		give_up("cases", &e);
	check(s, (cases.n > 0) == !strcmp(s->expected[i], "AC") || i % 10 == 1, "its cases", j->id);
	*again += j->attempt > 1;
}

static void count(struct storm *s)
{
	unsigned again = 0;
	struct store_workers workers;
	struct store_counts c = counts(s);
	check(s, c.done == s->submissions && !c.queued && !c.running && !c.cancelled && !c.system_errors, "all done", c.done);
	for (int i = 0; i < s->submissions; i++)
		count_one(s, i, &again);
	int64_t until = store_now() + 60000;
	while (store_workers(s->store, s->arena, &workers, NULL) == STORE_OK && workers.n && store_now() < until) {
		for (size_t i = 0; i < workers.n; i++)	/* of servers that were killed; the last one's are gone */
			if (kill((pid_t)workers.at[i].pid, 0) < 0 && errno == ESRCH)
				store_worker_gone(s->store, workers.at[i].name, NULL);
		usleep(100000);
	}
	check(s, workers.n == 0, "no worker is left", (long long)workers.n);
	printf("%u judgings took more than one attempt\n", again);
}

int main(int argc, char **argv)
{
	struct err e;
	if (argc != 6) {
		fprintf(stderr, "usage: storm JUDGE FOLDER SUBMISSIONS USERS KILLS\n");
		return 2;
	}
	struct storm s = {.judge = argv[1], .folder = argv[2], .submissions = atoi(argv[3]), .users = atoi(argv[4]), .kills = atoi(argv[5])};
	s.store = store_open(s.folder, &e);
	if (!s.store)
		give_up("store", &e);
	s.arena = arena_new();
	s.user = arena_new_array(s.arena, int64_t, s.users);
	s.ids = arena_new_array(s.arena, int64_t, s.submissions);
	s.expected = arena_new_array(s.arena, const char *, s.submissions);
	prepare(&s);
	rage(&s);
	count(&s);
	after(&s);
	store_close(s.store);
	arena_free(s.arena);
	printf("%u passed, %u failed\n", s.passed, s.failed);
	return s.failed != 0;
}
