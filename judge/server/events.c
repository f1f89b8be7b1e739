/* Open event streams: see events.h.
 *
 * A stream begins behind: the thread first reads what was since the stream's last event, then keeps it up.  All that is added to
 * streams is added by that thread, so that their order is the store's.  A stream with nothing to say is suspended, since
 * libmicrohttpd would otherwise ask again at once; a suspended connection notices no client that left, so every stream says a
 * comment every SILENCE seconds, and finds out.
 */
#include "events.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/clock.h"
#include "log.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOK_MS = 50, SILENCE = 15, LIFETIME = 3600, PER_USER = 64, BATCH = 500, MAX_UNREAD = 256 << 10, BLOCK = 2048 };

struct stream {
	struct events *of;
	struct MHD_Connection *connection;
	int64_t user, judging, last;
	bool whole, behind, ended, asleep;
	double spoke, opened;
	struct buf out;
	size_t sent;			/* of out */
	struct stream *next, **at;
};

struct events {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t thread;
	struct store *store;
	bool stop, all_end;
	int64_t last, changes;
	struct stream *first;
	unsigned n;
};

/* ---- what a stream says ---- */

static void rouse(struct stream *st)
{
	if (!st->asleep)
		return;
	st->asleep = false;
	MHD_resume_connection(st->connection);
}

static void say(struct stream *st, const char *text)
{
	if (st->out.size - st->sent > MAX_UNREAD)
		st->ended = true;	/* it does not read: it may come again, and says where it was */
	else
		buf_adds(&st->out, text);
	st->spoke = clock_seconds();
	rouse(st);
}

const char *events_data(const struct store_event *e, bool whole)
{
	/* why the judge failed is for those who run it */
	if (!whole && !strcmp(e->kind, "queued") && strstr(e->data, "\"retry\""))
		return "{\"retry\": true}";
	return e->data;
}

static bool is_last(const char *kind)
{
	return !strcmp(kind, "done") || !strcmp(kind, "cancelled");
}

static void tell(struct stream *st, const struct store_event *e)
{
	CLEANUP_BUF struct buf b = {0};
	if (e->id <= st->last || st->ended)
		return;
	st->last = e->id;
	buf_printf(&b, "id: %lld\nevent: %s\ndata: %s\n\n", (long long)e->id, e->kind, events_data(e, st->whole));
	say(st, buf_str(&b));
	if (is_last(e->kind)) {
		st->ended = true;
		rouse(st);
	}
}

/* ---- the thread ---- */

/* A judging that is over, whose last event was forgotten, or seen by the stream's reader before. */
static void end_if_over(struct events *ev, struct stream *st, struct arena *a)
{
	struct store_judging j;
	struct err e = {0};
	if (st->ended)
		return;
	if (store_judging_get(ev->store, st->judging, a, &j, &e) != STORE_OK)
		st->ended = true;
	else if (j.state == STATE_DONE || j.state == STATE_CANCELLED) {
		say(st, j.state == STATE_DONE ? "event: done\ndata: {}\n\n" : "event: cancelled\ndata: {}\n\n");
		st->ended = true;
	}
	rouse(st);
}

static void catch_up(struct events *ev, struct stream *st)
{
	CLEANUP(arena_freep) struct arena *a = arena_new();
	struct store_events es = {0};
	struct err e = {0};
	st->behind = false;
	do {
		if (store_events(ev->store, st->judging, st->last, BATCH, a, &es, &e) != STORE_OK) {
			log_line("events of judging %lld: %s", (long long)st->judging, e.text);
			st->ended = true;
			rouse(st);
			return;
		}
		for (size_t i = 0; i < es.n; i++)
			tell(st, &es.at[i]);
	} while (es.n == BATCH && !st->ended);
	end_if_over(ev, st, a);
}

static void tell_all(struct events *ev, const struct store_event *e)
{
	for (struct stream *st = ev->first; st; st = st->next)
		if (st->judging == e->judging && !st->behind)
			tell(st, e);
}

static void look(struct events *ev)
{
	struct err e = {0};
	int64_t changes = store_changes(ev->store);
	if (changes == ev->changes)
		return;
	ev->changes = changes;
	for (;;) {
		CLEANUP(arena_freep) struct arena *a = arena_new();
		struct store_events es = {0};
		if (store_events(ev->store, 0, ev->last, BATCH, a, &es, &e) != STORE_OK) {
			log_line("events: %s", e.text);
			ev->changes = -1;	/* again at the next look */
			return;
		}
		for (size_t i = 0; i < es.n; i++) {
			tell_all(ev, &es.at[i]);
			ev->last = es.at[i].id;
		}
		if (es.n < BATCH)
			return;
	}
}

static void keep_alive(struct stream *st)
{
	double now = clock_seconds();
	if (now - st->opened > LIFETIME) {
		st->ended = true;
		rouse(st);
	} else if (now - st->spoke > SILENCE) {
		say(st, ": still here\n\n");
	}
}

static void *run(void *user)
{
	struct events *ev = user;
	pthread_mutex_lock(&ev->lock);
	while (!ev->stop) {
		look(ev);
		for (struct stream *st = ev->first; st; st = st->next) {
			if (st->behind)
				catch_up(ev, st);
			keep_alive(st);
		}
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_nsec += LOOK_MS * 1000000L;
		t.tv_sec += t.tv_nsec / 1000000000L;
		t.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&ev->wake, &ev->lock, &t);
	}
	pthread_mutex_unlock(&ev->lock);
	return NULL;
}

/* ---- one stream, on the network's threads ---- */

static ssize_t read_stream(void *user, uint64_t at, char *to, size_t max)
{
	struct stream *st = user;
	ssize_t n = 0;
	(void)at;
	pthread_mutex_lock(&st->of->lock);
	size_t have = st->out.size - st->sent;
	if (have) {
		size_t take = have < max ? have : max;
		memcpy(to, st->out.data + st->sent, take);
		st->sent += take;
		n = (ssize_t)take;
		if (st->sent == st->out.size) {
			buf_free(&st->out);
			st->sent = 0;
		}
	} else if (st->ended || st->of->all_end) {
		n = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		st->asleep = true;
		MHD_suspend_connection(st->connection);
	}
	pthread_mutex_unlock(&st->of->lock);
	return n;
}

void events_drop(struct stream *st)
{
	struct events *ev = st->of;
	pthread_mutex_lock(&ev->lock);
	*st->at = st->next;
	if (st->next)
		st->next->at = st->at;
	ev->n--;
	pthread_mutex_unlock(&ev->lock);
	buf_free(&st->out);
	free(st);
}

static void free_stream(void *user)
{
	events_drop(user);
}

static unsigned count_of(const struct events *ev, int64_t user)
{
	unsigned n = 0;
	for (const struct stream *st = ev->first; st; st = st->next)
		n += st->user == user;
	return n;
}

struct stream *events_stream(struct events *ev, struct MHD_Connection *c, int64_t user, int64_t judging, int64_t since, bool whole)
{
	struct stream *st = NULL;
	pthread_mutex_lock(&ev->lock);
	if (count_of(ev, user) < PER_USER) {
		st = calloc(1, sizeof *st);
		if (!st)
			BUG("out of memory");
		*st = (struct stream){.of = ev, .connection = c, .user = user, .judging = judging, .last = since, .whole = whole,
				      .behind = true, .spoke = clock_seconds(), .opened = clock_seconds(), .next = ev->first, .at = &ev->first};
		buf_adds(&st->out, "retry: 2000\n\n");
		if (st->next)
			st->next->at = &st->next;
		ev->first = st;
		ev->n++;
		pthread_cond_signal(&ev->wake);
	}
	pthread_mutex_unlock(&ev->lock);
	return st;
}

struct MHD_Response *events_response(struct stream *st)
{
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_stream, st, free_stream);
}

/* ---- start and stop ---- */

struct events *events_start(const char *database, struct err *e)
{
	struct events *ev = calloc(1, sizeof *ev);
	pthread_condattr_t attributes;
	if (!ev)
		BUG("out of memory");
	ev->store = store_open(database, e);
	ev->changes = -1;
	if (!ev->store || store_last_event(ev->store, &ev->last, e) != STORE_OK) {
		store_close(ev->store);
		free(ev);
		return NULL;
	}
	pthread_mutex_init(&ev->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&ev->wake, &attributes);
	if (pthread_create(&ev->thread, NULL, run, ev) != 0)
		BUG("cannot start a thread");
	return ev;
}

void events_end_all(struct events *ev)
{
	pthread_mutex_lock(&ev->lock);
	ev->all_end = true;		/* none falls asleep again: libmicrohttpd must not be stopped with connections suspended */
	for (struct stream *st = ev->first; st; st = st->next) {
		st->ended = true;
		rouse(st);
	}
	pthread_mutex_unlock(&ev->lock);
}

void events_stop(struct events *ev)
{
	if (!ev)
		return;
	pthread_mutex_lock(&ev->lock);
	ev->stop = true;
	pthread_cond_signal(&ev->wake);
	pthread_mutex_unlock(&ev->lock);
	pthread_join(ev->thread, NULL);
	store_close(ev->store);
	free(ev);
}

unsigned events_open(struct events *ev)
{
	pthread_mutex_lock(&ev->lock);
	unsigned n = ev->n;
	pthread_mutex_unlock(&ev->lock);
	return n;
}
