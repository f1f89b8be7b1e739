/* Threads that share a work: see crew.h. */
#include "crew.h"

#include <pthread.h>
#include <stdbool.h>

struct crew {
	const struct crew_work *w;
	pthread_mutex_t lock;
	unsigned next;
	bool failed;
	struct err err;
};

static bool claim(struct crew *c, unsigned *i)
{
	pthread_mutex_lock(&c->lock);
	bool more = c->next < c->w->n && !c->failed;
	*i = c->next;
	c->next += more;
	pthread_mutex_unlock(&c->lock);
	return more;
}

static void fail(struct crew *c, const struct err *e)
{
	pthread_mutex_lock(&c->lock);
	if (!c->failed)
		c->err = *e;
	c->failed = true;
	pthread_mutex_unlock(&c->lock);
}

static void *member(void *arg)
{
	struct crew *c = arg;
	const struct crew_work *w = c->w;
	void *own = w->begin ? w->begin(w->context) : NULL;
	for (unsigned i; claim(c, &i);) {
		struct err e = {0};
		if (w->part(w->context, own, i, &e) < 0)
			fail(c, &e);
	}
	if (w->end)
		w->end(own);
	return NULL;
}

int crew_run(const struct crew_work *w, struct err *e)
{
	struct crew c = {.w = w, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t threads[CREW_MAX];
	unsigned started = 0;
	while (started + 1 < w->threads && started + 1 < w->n && started + 1 < CREW_MAX && pthread_create(&threads[started], NULL, member, &c) == 0)
		started++;
	member(&c);
	while (started)
		pthread_join(threads[--started], NULL);
	if (c.failed && e)
		*e = c.err;
	return c.failed ? -1 : 0;
}
