/* A worker: see worker.h.
 *
 * Theory of operation.  One thread, one loop.  With nothing to do it looks whether the database changed, some ten times a second,
 * and asks for a job; each job is graded by a child (grader.h).  Meanwhile the loop passes the child's progress on, at most a few
 * times a second, renews the lease, and sees whether somebody cancelled.
 *
 * What can happen, and what follows:
 *	the child dies or fails		store_fail: another attempt, three at most
 *	the device does not work	it is put out of service, the job is given back; it is tried again every minute
 *	the worker is killed		the child dies with it (PR_SET_PDEATHSIG); the lease ends, the job runs again
 *	the worker was too slow		its token is refused (STORE_STALE): the child is killed, nothing is stored
 *	the database is held, or full	the result is offered again and again, while the lease is renewed where possible
 *	the worker is told to stop	it finishes within its patience, else gives the job back
 * So a judging is stored once, by the one whose token is the newest, in one transaction.
 */
#include "worker.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/clock.h"
#include "../../sandbox/jail.h"
#include "../janitor.h"
#include "grader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define HEARTBEAT_S 4.0			/* well within STORE_LEASE_MS */
#define PROGRESS_S 0.2
#define LOOK_S 1.0			/* for what no write of others announces: leases that ended, a clock that went on */
#define SEEN_S 5.0
#define SILENCE_S 2700.0		/* no news of a grading for so long: it hangs (a GPU is waited for for half an hour) */
#define PROBE_S 60.0
#define SAME_STOP_S 1.0			/* a dying server sends several signals, one for each thread; Ctrl-C reaches server and worker */
enum { IDLE_MS = 80, BUSY_MS = 100, PROBE_PATIENCE_S = 60, STORE_TRIES = 90 };

struct worker {
	const struct worker_options *o;
	struct store *store;
	unsigned char secret[32];
	char name[40];
	int signals;
	unsigned stops;			/* how often it was told to stop */
	double stopped, stop_at;	/* when it was last told so; when its patience ends */
	int64_t changes;
	double looked, seen, probed;

	/* the job, if there is a grader */
	struct arena *arena;
	struct store_job job;
	struct grader *grader;
	double beat, told, news;	/* last heartbeat, last progress written, last word of the grader */
	bool pending;			/* progress that is not written yet */
	char stage[40], text[200];
	unsigned done, total;
};

static void log_line(struct worker *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void log_line(struct worker *w, const char *fmt, ...)
{
	va_list ap;
	char text[2400];
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fprintf(stderr, "judge worker %s: %s\n", w->name, text);
}

static void say(struct worker *w, const char *state)
{
	struct err e;
	w->seen = clock_seconds();
	if (store_worker_seen(w->store, w->name, getpid(), w->stops ? "stopping" : state, w->grader ? w->job.judging : 0, &e) != STORE_OK)
		log_line(w, "%s", e.text);
}

/* ---- a job's end ---- */

static void drop(struct worker *w)
{
	grader_end(w->grader);
	w->grader = NULL;
	arena_free(w->arena);
	w->arena = NULL;
	w->looked = 0;
	say(w, "idle");
}

/* A way for a job to end, told to the store. */

static enum store_result end_finish(struct worker *w, const void *what, struct err *e)
{
	return store_finish(w->store, w->job.judging, w->job.token, what, e);
}

static enum store_result end_fail(struct worker *w, const void *what, struct err *e)
{
	return store_fail(w->store, w->job.judging, w->job.token, what, e);
}

static enum store_result end_give_back(struct worker *w, const void *what, struct err *e)
{
	return store_give_back(w->store, w->job.judging, w->job.token, what, e);
}

static enum store_result end_cancelled(struct worker *w, const void *what, struct err *e)
{
	(void)what;
	return store_cancelled(w->store, w->job.judging, w->job.token, e);
}

/* Until it is stored, or is another's business.  What can't be stored in a minute and a half is given up: the lease ends, and the job
 * runs again. */
static bool conclude(struct worker *w, enum store_result (*how)(struct worker *, const void *, struct err *), const void *what)
{
	struct err e = {0};
	enum store_result rc = STORE_BUSY;
	for (int i = 0; i < STORE_TRIES; i++) {
		bool cancel;
		rc = how(w, what, &e);
		if (rc == STORE_OK || rc == STORE_STALE)
			break;
		log_line(w, "judging %lld: %s", (long long)w->job.judging, e.text);
		sleep(1);
		store_heartbeat(w->store, w->job.judging, w->job.token, &cancel, NULL);
	}
	if (rc == STORE_STALE)
		log_line(w, "%s", e.text);
	return rc == STORE_OK;
}

static void finish(struct worker *w, const struct store_outcome *o)
{
	if (conclude(w, end_finish, o))
		store_worker_did(w->store, w->name, true, NULL);
	drop(w);
}

static void fail(struct worker *w, const char *why)
{
	log_line(w, "judging %lld, attempt %u: %s", (long long)w->job.judging, w->job.token, why);
	grader_end(w->grader);		/* first, so that it does not run beside its next attempt */
	w->grader = NULL;
	if (conclude(w, end_fail, why))
		store_worker_did(w->store, w->name, false, NULL);
	drop(w);
}

static void give_back(struct worker *w, const char *why)
{
	grader_end(w->grader);		/* first, so that it does not run beside its next attempt */
	w->grader = NULL;
	conclude(w, end_give_back, why);
	drop(w);
}

static void cancel_job(struct worker *w)
{
	grader_end(w->grader);
	w->grader = NULL;
	conclude(w, end_cancelled, NULL);
	drop(w);
}

static void device_down(struct worker *w, const char *why)
{
	struct err e;
	log_line(w, "device %s is out of service: %s", w->job.device, why);
	if (store_device_put(w->store, w->job.device, w->job.device, true, false, why, &e) != STORE_OK)
		log_line(w, "%s", e.text);
	give_back(w, why);
}

/* ---- a job under way ---- */

static void write_progress(struct worker *w, const char *kind)
{
	struct err e;
	w->pending = false;
	w->told = clock_seconds();
	enum store_result rc = store_progress(w->store, w->job.judging, w->job.token, kind, w->stage, w->done, w->total,
					      *w->text ? w->text : NULL, &e);
	if (rc != STORE_OK && rc != STORE_STALE)	/* of a lost lease the heartbeat tells */
		log_line(w, "%s", e.text);
}

static void take_progress(struct worker *w, const struct grader_told *t)
{
	static const char *const kinds[] = {[PROGRESS_STAGE] = "stage", [PROGRESS_STEP] = "progress", [PROGRESS_RESULT] = "result"};
	if (w->pending && t->kind != PROGRESS_STEP)
		write_progress(w, "progress");		/* the last of its stage */
	snprintf(w->stage, sizeof w->stage, "%s", t->stage);
	snprintf(w->text, sizeof w->text, "%s", t->text ? t->text : "");
	w->done = t->done;
	w->total = t->total;
	if (t->kind == PROGRESS_STEP && clock_seconds() - w->told < PROGRESS_S)
		w->pending = true;
	else
		write_progress(w, kinds[t->kind]);
}

static void hear(struct worker *w)
{
	struct grader_told t;
	while (w->grader) {
		enum grader_news news = grader_read(w->grader, &t);
		if (news == GRADER_NOTHING)
			return;
		w->news = clock_seconds();
		switch (news) {
		case GRADER_PROGRESS: take_progress(w, &t); break;
		case GRADER_RESULT: finish(w, &t.outcome); break;
		case GRADER_FAILED: fail(w, t.why); break;
		case GRADER_DEVICE: device_down(w, t.why); break;
		default: BUG("news %d", news);
		}
	}
}

static void heartbeat(struct worker *w)
{
	struct err e;
	bool cancel = false;
	w->beat = clock_seconds();
	enum store_result rc = store_heartbeat(w->store, w->job.judging, w->job.token, &cancel, &e);
	if (rc == STORE_STALE) {
		log_line(w, "%s", e.text);
		drop(w);
	} else if (rc != STORE_OK) {
		log_line(w, "%s", e.text);
	} else if (cancel) {
		cancel_job(w);
	}
}

/* Whether somebody cancelled is read, not written, and only when the database has changed. */
static bool cancelled(struct worker *w)
{
	struct store_judging j;
	int64_t now = store_changes(w->store);
	if (now == w->changes)
		return false;
	w->changes = now;
	CLEANUP(arena_freep) struct arena *a = arena_new();
	return store_judging_get(w->store, w->job.judging, a, &j, NULL) == STORE_OK && j.cancelling;
}

static void attend(struct worker *w)
{
	double now = clock_seconds();
	hear(w);
	if (!w->grader)
		return;
	if (w->pending && now - w->told >= PROGRESS_S)
		write_progress(w, "progress");
	if (now - w->beat >= HEARTBEAT_S || cancelled(w))
		heartbeat(w);
	if (w->grader && now - w->seen >= SEEN_S)
		say(w, "grading");
	if (w->grader && now - w->news >= SILENCE_S)
		fail(w, "nothing was heard of the grading for 45 minutes");
	if (w->grader && w->stops && (w->stops > 1 || now >= w->stop_at))
		give_back(w, "the worker was told to stop");
}

/* ---- looking for a job ---- */

static void start_job(struct worker *w)
{
	struct err e;
	struct grader_options o = {.job = &w->job, .secret = w->secret, .threads = w->o->threads, .unsandboxed = w->o->unsandboxed};
	w->beat = w->news = clock_seconds();
	w->told = 0;
	w->pending = false;
	w->grader = grader_start(&o, &e);
	if (!w->grader)
		fail(w, e.text);
	else
		say(w, "grading");
}

static bool claim(struct worker *w)
{
	struct err e;
	w->arena = arena_new();
	enum store_result rc = store_claim(w->store, w->name, w->o->workers > 1 ? w->o->workers - 1 : 1, w->arena, &w->job, &e);
	if (rc == STORE_OK) {
		start_job(w);
		return true;
	}
	if (rc != STORE_NOT_FOUND)
		log_line(w, "%s", e.text);
	arena_free(w->arena);
	w->arena = NULL;
	return false;
}

/* Devices out of service are tried again now and then. */
static void probe_devices(struct worker *w)
{
	struct store_devices list;
	CLEANUP(arena_freep) struct arena *a = arena_new();
	w->probed = clock_seconds();
	if (store_devices(w->store, a, &list, NULL) != STORE_OK)
		return;
	for (size_t i = 0; i < list.n; i++) {
		const struct store_device *d = &list.at[i];
		struct err e = {0};
		if (d->in_service || store_now() - d->checked < (int64_t)(PROBE_S * 1000))
			continue;
		bool works = grader_probe(d->id, w->o->unsandboxed, PROBE_PATIENCE_S, &e) == 0;
		if (works)
			log_line(w, "device %s works again", d->id);
		store_device_put(w->store, d->id, d->name, d->gpu, works, e.text, NULL);
	}
}

/* true: there may be more at once. */
static bool look(struct worker *w)
{
	struct err e;
	double now = clock_seconds();
	int64_t changes = store_changes(w->store);
	if (now - w->seen >= SEEN_S)
		say(w, "idle");
	if (now - w->probed >= PROBE_S)
		probe_devices(w);
	if (changes == w->changes && now - w->looked < LOOK_S)
		return false;
	if (now - w->looked >= LOOK_S && store_expire(w->store, NULL, NULL, &e) != STORE_OK)
		log_line(w, "%s", e.text);
	w->looked = now;
	w->changes = changes;
	return claim(w);
}

/* ---- the loop ---- */

static void take_signals(struct worker *w)
{
	struct signalfd_siginfo info;
	while (read(w->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		double now = clock_seconds();
		if (w->stops && now - w->stopped < SAME_STOP_S)
			continue;
		if (!w->stops++)
			w->stop_at = now + w->o->patience_s;
		w->stopped = now;
		say(w, "stopping");
	}
}

static void nap(struct worker *w)
{
	struct pollfd p[2] = {{.fd = w->signals, .events = POLLIN}, {.fd = w->grader ? grader_fd(w->grader) : -1, .events = POLLIN}};
	poll(p, 2, w->grader ? BUSY_MS : IDLE_MS);
}

static void loop(struct worker *w)
{
	bool found = false;
	for (;;) {
		take_signals(w);
		if (w->grader) {
			attend(w);
		} else if (w->stops) {
			return;
		} else {
			found = look(w);
			if (!found && w->o->once)
				return;
		}
		if (!found || w->grader)
			nap(w);
		found = false;
	}
}

/* Uploaded packages, sources and the secret. */
static void hide_data(const char *folder)
{
	CLEANUP_FREE char *path = realpath(folder, NULL);
	if (path)
		jail_hide(path);
}

static int begin(struct worker *w, struct err *e)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	hide_data(w->o->data);
	jail_sweep();
	janitor_start();
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->signals < 0)
		return err_errno(e, "cannot wait for signals");
	w->store = store_open(w->o->data, e);
	if (!w->store || store_secret(w->o->data, w->secret, e) != STORE_OK)
		return -1;
	snprintf(w->name, sizeof w->name, "%d-%06llx", (int)getpid(), (unsigned long long)(store_now() & 0xffffff));
	w->probed = clock_seconds();
	say(w, "idle");
	return 0;
}

int worker_run(const struct worker_options *o, struct err *e)
{
	struct worker w = {.o = o, .signals = -1};
	int rc = begin(&w, e);
	if (rc == 0) {
		loop(&w);
		store_worker_gone(w.store, w.name, NULL);
	}
	store_close(w.store);
	if (w.signals >= 0)
		close(w.signals);
	return rc;
}
