/* The supervisor of workers: see supervisor.h. */
#include "supervisor.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/clock.h"
#include "../../sandbox/base/cores.h"
#include "../store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_S 0.1
#define EXPIRE_S 1.0
#define PRUNE_S 3600.0
#define LONGEST_BACKOFF_S 30.0
#define STEADY_S 60.0			/* a worker that lived so long may start again at once */
enum { MAX_WORKERS = 256, EVENTS_KEPT_MS = 7 * 86400 * 1000 /* 7 days */ };

struct child {
	pid_t pid;			/* 0: none */
	double started, start_at, backoff;
};

struct supervisor {
	struct supervisor_options o;
	char program[500], data[500], log[500], workers[12], threads[12];
	struct store *store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;		/* the thread has begun */
	struct child children[MAX_WORKERS];
	bool stop, restart, begun;
	unsigned patience_s;
	uint64_t restarts;
	double last_restart;
	char last_reason[200];
};

/* ---- a worker process ---- */

/* Between fork and exec, in a program of many threads: system calls alone. */
static _Noreturn void become_worker(const struct supervisor *s, char **argv, pid_t parent)
{
	sigset_t none;
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	for (int i = 1; i < NSIG; i++)
		sigaction(i, &dfl, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	int null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	int log = *s->log ? open(s->log, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
	if (log >= 0)
		dup2(log, STDERR_FILENO);
	close_range(STDERR_FILENO + 1, ~0u, 0);
	execv(s->program, argv);
	_exit(127);
}

static void start_worker(struct supervisor *s, struct child *c)
{
	char *argv[] = {"judge", "worker", "--data", s->data, "--workers", s->workers, "--threads", s->threads,
			s->o.unsandboxed ? "--no-sandbox" : NULL, NULL};
	pid_t parent = getpid(), pid = fork();
	if (pid == 0)
		become_worker(s, argv, parent);
	c->started = clock_seconds();
	if (pid < 0) {
		c->start_at = c->started + 1;
		return;
	}
	pthread_mutex_lock(&s->lock);
	c->pid = pid;
	pthread_mutex_unlock(&s->lock);
}

/* What a worker held goes back at once: it is dead, and nobody has to wait for its lease to end. */
static void forget_worker(struct supervisor *s, pid_t pid)
{
	struct store_workers list;
	struct arena *a = arena_new();
	if (store_workers(s->store, a, &list, NULL) == STORE_OK)
		for (size_t i = 0; i < list.n; i++)
			if (list.at[i].pid == pid) {
				store_expire(s->store, list.at[i].name, NULL, NULL);
				store_worker_gone(s->store, list.at[i].name, NULL);
			}
	arena_free(a);
}

/* No such process, or one that nobody has waited for yet. */
static bool is_dead(int64_t pid)
{
	char path[40], line[200], *end;
	if (kill((pid_t)pid, 0) < 0)
		return errno == ESRCH;
	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	CLEANUP_FILE FILE *f = fopen(path, "re");
	if (!f || !fgets(line, sizeof line, f) || !(end = strrchr(line, ')')))
		return false;
	return end[1] == ' ' && (end[2] == 'Z' || end[2] == 'X');
}

/* Those that an earlier server left: dead ones at once, others when they are no longer heard of. */
static void forget_dead(struct supervisor *s)
{
	struct store_workers list;
	struct arena *a = arena_new();
	if (store_workers(s->store, a, &list, NULL) == STORE_OK)
		for (size_t i = 0; i < list.n; i++)
			if (!list.at[i].alive || is_dead(list.at[i].pid)) {
				store_expire(s->store, list.at[i].name, NULL, NULL);
				store_worker_gone(s->store, list.at[i].name, NULL);
			}
	arena_free(a);
}

static void note_end(struct supervisor *s, unsigned number, struct child *c, int status)
{
	double now = clock_seconds();
	bool steady = now - c->started >= STEADY_S;
	c->backoff = steady ? 0 : c->backoff > 0 ? c->backoff * 2 : 0.25;
	if (c->backoff > LONGEST_BACKOFF_S)
		c->backoff = LONGEST_BACKOFF_S;
	bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	c->start_at = well ? now : now + c->backoff;
	if (well)
		return;
	pthread_mutex_lock(&s->lock);
	s->restarts++;
	s->last_restart = now;
	if (WIFSIGNALED(status))
		snprintf(s->last_reason, sizeof s->last_reason, "worker %u ended: %s", number + 1, strsignal(WTERMSIG(status)));
	else
		snprintf(s->last_reason, sizeof s->last_reason, "worker %u ended with status %d", number + 1, WEXITSTATUS(status));
	pthread_mutex_unlock(&s->lock);
}

/* Each child is asked after by its own number: other children of the process are others' business. */
static unsigned reap(struct supervisor *s)
{
	unsigned running = 0;
	for (unsigned i = 0; i < s->o.workers; i++) {
		struct child *c = &s->children[i];
		int status;
		if (!c->pid)
			continue;
		pid_t got = waitpid(c->pid, &status, WNOHANG);
		if (got == 0 || (got < 0 && errno == EINTR)) {
			running++;
			continue;
		}
		forget_worker(s, c->pid);
		note_end(s, i, c, got < 0 ? 0 : status);
		pthread_mutex_lock(&s->lock);
		c->pid = 0;
		pthread_mutex_unlock(&s->lock);
	}
	return running;
}

static void signal_all(struct supervisor *s, int signal)
{
	for (unsigned i = 0; i < s->o.workers; i++)
		if (s->children[i].pid)
			kill(s->children[i].pid, signal);
}

static void nap(void)
{
	struct timespec t = {0, (long)(TICK_S * 1e9)};
	nanosleep(&t, NULL);
}

/* ---- the thread ---- */

static void start_missing(struct supervisor *s)
{
	double now = clock_seconds();
	for (unsigned i = 0; i < s->o.workers; i++)
		if (!s->children[i].pid && now >= s->children[i].start_at)
			start_worker(s, &s->children[i]);
}

/* Well, then at once (a second SIGTERM gives the job back), then by force. */
static void wind_up(struct supervisor *s)
{
	enum { GRACE_S = 10 };
	double began = clock_seconds();
	int pressed = 0;
	signal_all(s, SIGTERM);
	while (reap(s)) {
		double past = clock_seconds() - began;
		if (pressed == 0 && past >= s->patience_s) {
			signal_all(s, SIGTERM);
			pressed = 1;
		} else if (pressed == 1 && past >= s->patience_s + GRACE_S) {
			signal_all(s, SIGKILL);
			pressed = 2;
		}
		nap();
	}
}

static void *supervise(void *arg)
{
	struct supervisor *s = arg;
	double expired = 0, pruned = clock_seconds();
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	forget_dead(s);
	for (bool stop = false; !stop;) {
		reap(s);
		start_missing(s);
		if (clock_seconds() - expired >= EXPIRE_S) {
			forget_dead(s);
			store_expire(s->store, NULL, NULL, NULL);
			expired = clock_seconds();
		}
		if (clock_seconds() - pruned >= PRUNE_S) {
			store_prune(s->store, store_now() - EVENTS_KEPT_MS, NULL);
			pruned = clock_seconds();
		}
		pthread_mutex_lock(&s->lock);
		stop = s->stop;
		bool again = s->restart;
		s->restart = false;
		s->begun = true;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		if (again && !stop)
			signal_all(s, SIGTERM);
		if (!stop)
			nap();
	}
	wind_up(s);
	return NULL;
}

/* ---- the outside ---- */

static void choose(struct supervisor *s, const struct supervisor_options *o)
{
	unsigned cores = host_cores();
	s->o = *o;
	if (!s->o.workers)
		s->o.workers = cores;
	if (s->o.workers > MAX_WORKERS)
		s->o.workers = MAX_WORKERS;
	if (!s->o.threads)
		s->o.threads = cores / s->o.workers > 2 ? cores / s->o.workers : 2;
	snprintf(s->program, sizeof s->program, "%s", o->program ? o->program : "/proc/self/exe");
	snprintf(s->data, sizeof s->data, "%s", o->data);
	snprintf(s->log, sizeof s->log, "%s", o->log ? o->log : "");
	snprintf(s->workers, sizeof s->workers, "%u", s->o.workers);
	snprintf(s->threads, sizeof s->threads, "%u", s->o.threads);
	s->last_restart = -1;
}

struct supervisor *supervisor_start(const struct supervisor_options *o, struct err *e)
{
	struct supervisor *s = calloc(1, sizeof *s);
	if (!s)
		BUG("out of memory");
	choose(s, o);
	s->store = store_open(o->data, e);
	if (!s->store) {
		free(s);
		return NULL;
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	if (pthread_create(&s->thread, NULL, supervise, s) != 0) {
		err_system(e, "cannot start a thread");
		store_close(s->store);
		free(s);
		return NULL;
	}
	pthread_mutex_lock(&s->lock);
	while (!s->begun)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
	return s;
}

void supervisor_stop(struct supervisor *s, unsigned patience_s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->patience_s = patience_s;
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	store_close(s->store);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
}

void supervisor_restart(struct supervisor *s)
{
	pthread_mutex_lock(&s->lock);
	s->restart = true;
	pthread_mutex_unlock(&s->lock);
}

void supervisor_health(struct supervisor *s, struct supervisor_health *out)
{
	pthread_mutex_lock(&s->lock);
	*out = (struct supervisor_health){.wanted = s->o.workers, .restarts = s->restarts,
					  .last_restart = s->last_restart < 0 ? -1 : clock_seconds() - s->last_restart};
	snprintf(out->last_reason, sizeof out->last_reason, "%s", s->last_reason);
	for (unsigned i = 0; i < s->o.workers; i++)
		out->running += s->children[i].pid != 0;
	pthread_mutex_unlock(&s->lock);
}
