/* Threads that handle requests: see lanes.h. */
#include "lanes.h"

#include <pthread.h>
#include <stdlib.h>

enum { ROOM = 1024, SLOW = 2, MAX_THREADS = 64 + SLOW };

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct request *at[ROOM];
	unsigned first, n;
	bool stop;
	void (*work)(struct request *r);
};

struct worker {
	pthread_t thread;
	struct store *store;
	struct queue *queue;
};

struct lanes {
	struct queue queues[LANES];
	struct worker workers[MAX_THREADS];
	unsigned n;
};

static struct request *next(struct queue *q)
{
	struct request *r = NULL;
	pthread_mutex_lock(&q->lock);
	while (!q->n && !q->stop)
		pthread_cond_wait(&q->more, &q->lock);
	if (q->n) {
		r = q->at[q->first];
		q->first = (q->first + 1) % ROOM;
		q->n--;
	}
	pthread_mutex_unlock(&q->lock);
	return r;
}

static void *run(void *user)
{
	struct worker *w = user;
	struct request *r;
	while ((r = next(w->queue))) {
		r->store = w->store;
		w->queue->work(r);
	}
	return NULL;
}

static int start(struct lanes *l, const char *database, enum lane lane, struct err *e)
{
	struct worker *w = &l->workers[l->n];
	w->queue = &l->queues[lane];
	w->store = store_open(database, e);
	if (!w->store)
		return -1;
	if (pthread_create(&w->thread, NULL, run, w) != 0) {
		store_close(w->store);
		return err_system(e, "cannot start a thread");
	}
	l->n++;
	return 0;
}

struct lanes *lanes_start(const char *database, unsigned quick, void (*work)(struct request *r), struct err *e)
{
	struct lanes *l = calloc(1, sizeof *l);
	if (!l)
		BUG("out of memory");
	for (int i = 0; i < LANES; i++) {
		pthread_mutex_init(&l->queues[i].lock, NULL);
		pthread_cond_init(&l->queues[i].more, NULL);
		l->queues[i].work = work;
	}
	for (unsigned i = 0; i < quick + SLOW; i++)
		if (start(l, database, i < quick ? LANE_QUICK : LANE_SLOW, e) < 0) {
			lanes_stop(l);
			lanes_free(l);
			return NULL;
		}
	return l;
}

bool lanes_take(struct lanes *l, enum lane lane, struct request *r)
{
	struct queue *q = &l->queues[lane];
	pthread_mutex_lock(&q->lock);
	bool room = q->n < ROOM && !q->stop;
	if (room) {
		q->at[(q->first + q->n++) % ROOM] = r;
		pthread_cond_signal(&q->more);
	}
	pthread_mutex_unlock(&q->lock);
	return room;
}

unsigned lanes_waiting(struct lanes *l, enum lane lane)
{
	struct queue *q = &l->queues[lane];
	pthread_mutex_lock(&q->lock);
	unsigned n = q->n;
	pthread_mutex_unlock(&q->lock);
	return n;
}

void lanes_stop(struct lanes *l)
{
	if (!l)
		return;
	for (int i = 0; i < LANES; i++) {
		pthread_mutex_lock(&l->queues[i].lock);
		l->queues[i].stop = true;
		pthread_cond_broadcast(&l->queues[i].more);
		pthread_mutex_unlock(&l->queues[i].lock);
	}
	for (unsigned i = 0; i < l->n; i++) {
		pthread_join(l->workers[i].thread, NULL);
		store_close(l->workers[i].store);
	}
	l->n = 0;
}

void lanes_free(struct lanes *l)
{
	free(l);
}
