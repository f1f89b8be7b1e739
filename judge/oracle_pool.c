/* Oracles of many cases at once: see oracle.h.
 *
 * Workers take cases in order, so that the first that is asked for is the first to be ready.  They run ahead of the
 * reader by a limited number of bytes.  The executable is opened (and, where it must be, built) once, by the first.
 */
#include "oracle.h"

#include "../sandbox/base/cleanup.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 16 };

enum state { WAITING, RUNNING, DONE, FAILED, RELEASED };

struct job {
	enum state state;
	size_t bytes;
	struct answer answer;
	struct err err;
};

struct oracle_pool {
	const struct problem *problem;
	const struct testcase *cases;
	struct job *jobs;
	unsigned n, next, done, n_threads;
	size_t held;			/* bytes of answers that run or wait to be released */
	bool unsandboxed, stop;
	int exe_fd;			/* -1 until opened */
	bool opened;
	struct err open_err;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_mutex_t opening;
	pthread_t threads[MAX_THREADS];
};

static int executable(struct oracle_pool *o, struct err *e)
{
	pthread_mutex_lock(&o->opening);
	if (!o->opened) {
		o->exe_fd = oracle_open(o->problem, o->unsandboxed, &o->open_err);
		o->opened = true;
	}
	pthread_mutex_unlock(&o->opening);
	if (o->exe_fd < 0)
		*e = o->open_err;
	return o->exe_fd;
}

/* The next case, or NULL at the end.  Called with the lock held. */
static struct job *claim(struct oracle_pool *o)
{
	for (;;) {
		if (o->stop || o->next == o->n)
			return NULL;
		struct job *j = &o->jobs[o->next];
		if (j->state == RELEASED) {
			o->next++;
			continue;
		}
		if (!o->held || o->held + j->bytes <= ORACLE_POOL_HELD) {
			o->next++;
			o->held += j->bytes;
			j->state = RUNNING;
			return j;
		}
		pthread_cond_wait(&o->changed, &o->lock);
	}
}

static void *work(void *pool)
{
	struct oracle_pool *o = pool;
	struct job *j;
	pthread_mutex_lock(&o->lock);
	while ((j = claim(o))) {
		pthread_mutex_unlock(&o->lock);
		int exe = executable(o, &j->err);
		int rc = exe < 0 ? -1 : oracle_run(exe, &o->cases[j - o->jobs], o->unsandboxed, &j->answer, &j->err);
		pthread_mutex_lock(&o->lock);
		j->state = rc < 0 ? FAILED : DONE;
		if (rc < 0)
			o->held -= j->bytes;
		o->done++;
		pthread_cond_broadcast(&o->changed);
	}
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

struct oracle_pool *oracle_pool_start(const struct problem *p, const struct testcase *cases, unsigned n, unsigned threads,
				      bool unsandboxed)
{
	struct oracle_pool *o = calloc(1, sizeof *o);
	if (!o || !(o->jobs = calloc(n + 1, sizeof *o->jobs)))
		BUG("out of memory");
	o->problem = p;
	o->cases = cases;
	o->n = n;
	o->unsandboxed = unsandboxed;
	o->exe_fd = -1;
	for (unsigned i = 0; i < n; i++) {
		o->jobs[i].bytes = answer_size(&cases[i]);
		if (cases[i].spec->timing && cases[i].spec->gpu)
			o->jobs[i].state = RELEASED;
	}
	pthread_mutex_init(&o->lock, NULL);
	pthread_mutex_init(&o->opening, NULL);
	pthread_cond_init(&o->changed, NULL);
	if (threads < 1)
		threads = 1;
	while (o->n_threads < threads && o->n_threads < MAX_THREADS && o->n_threads < n) {
		if (pthread_create(&o->threads[o->n_threads], NULL, work, o) != 0) {
			if (!o->n_threads)
				BUG("cannot start a thread");
			break;
		}
		o->n_threads++;
	}
	return o;
}

int oracle_pool_get(struct oracle_pool *o, unsigned i, const struct answer **out, struct err *e)
{
	struct job *j = &o->jobs[i];
	pthread_mutex_lock(&o->lock);
	while (j->state == WAITING || j->state == RUNNING)
		pthread_cond_wait(&o->changed, &o->lock);
	pthread_mutex_unlock(&o->lock);
	if (j->state == FAILED) {
		*e = j->err;
		return -1;
	}
	if (j->state == RELEASED)
		BUG("case %u was released", i);
	*out = &j->answer;
	return 0;
}

void oracle_pool_release(struct oracle_pool *o, unsigned i)
{
	struct job *j = &o->jobs[i];
	pthread_mutex_lock(&o->lock);
	if (j->state == DONE) {
		answer_free(&j->answer);
		j->state = RELEASED;
		o->held -= j->bytes;
		pthread_cond_broadcast(&o->changed);
	}
	pthread_mutex_unlock(&o->lock);
}

unsigned oracle_pool_done(struct oracle_pool *o)
{
	pthread_mutex_lock(&o->lock);
	unsigned n = o->done;
	pthread_mutex_unlock(&o->lock);
	return n;
}

void oracle_pool_stop(struct oracle_pool *o)
{
	if (!o)
		return;
	pthread_mutex_lock(&o->lock);
	o->stop = true;
	pthread_cond_broadcast(&o->changed);
	pthread_mutex_unlock(&o->lock);
	for (unsigned i = 0; i < o->n_threads; i++)
		pthread_join(o->threads[i], NULL);
	for (unsigned i = 0; i < o->n; i++)
		answer_free(&o->jobs[i].answer);
	if (o->exe_fd >= 0)
		close(o->exe_fd);
	pthread_mutex_destroy(&o->lock);
	pthread_mutex_destroy(&o->opening);
	pthread_cond_destroy(&o->changed);
	free(o->jobs);
	free(o);
}
