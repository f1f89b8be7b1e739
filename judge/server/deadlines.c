/* The total time of requests: see deadlines.h. */
#include "deadlines.h"

#include "../../sandbox/base/clock.h"
#include "../../sandbox/base/err.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

struct deadline {
	int fd;
	double when;			/* of clock_seconds(); 0: none */
	struct deadline *next, **at;
};

struct deadlines {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	bool stop;
	unsigned late, open;
	struct deadline *first;
};

static void shut_late(struct deadlines *d)
{
	double now = clock_seconds();
	for (struct deadline *c = d->first; c; c = c->next)
		if (c->when && c->when < now) {
			shutdown(c->fd, SHUT_RDWR);
			c->when = 0;
			d->late++;
		}
}

static void *watch(void *user)
{
	struct deadlines *d = user;
	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_sec++;
		pthread_cond_timedwait(&d->wake, &d->lock, &t);
		shut_late(d);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

struct deadlines *deadlines_start(void)
{
	struct deadlines *d = calloc(1, sizeof *d);
	pthread_condattr_t attributes;
	if (!d)
		BUG("out of memory");
	pthread_mutex_init(&d->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&d->wake, &attributes);
	if (pthread_create(&d->thread, NULL, watch, d) != 0)
		BUG("cannot start a thread");
	return d;
}

void deadlines_stop(struct deadlines *d)
{
	if (!d)
		return;
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	free(d);
}

struct deadline *deadline_open(struct deadlines *d, int fd, double seconds)
{
	struct deadline *c = calloc(1, sizeof *c);
	if (!c)
		BUG("out of memory");
	c->fd = fd;
	c->when = clock_seconds() + seconds;
	pthread_mutex_lock(&d->lock);
	c->at = &d->first;
	c->next = d->first;
	if (c->next)
		c->next->at = &c->next;
	d->first = c;
	d->open++;
	pthread_mutex_unlock(&d->lock);
	return c;
}

void deadline_close(struct deadlines *d, struct deadline *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&d->lock);
	*c->at = c->next;
	if (c->next)
		c->next->at = c->at;
	d->open--;
	pthread_mutex_unlock(&d->lock);
	free(c);
}

void deadline_set(struct deadlines *d, struct deadline *c, double seconds)
{
	if (!c)
		return;
	pthread_mutex_lock(&d->lock);
	c->when = seconds > 0 ? clock_seconds() + seconds : 0;
	pthread_mutex_unlock(&d->lock);
}

unsigned deadlines_late(struct deadlines *d)
{
	pthread_mutex_lock(&d->lock);
	unsigned n = d->late;
	pthread_mutex_unlock(&d->lock);
	return n;
}

unsigned deadlines_open(struct deadlines *d)
{
	pthread_mutex_lock(&d->lock);
	unsigned n = d->open;
	pthread_mutex_unlock(&d->lock);
	return n;
}
