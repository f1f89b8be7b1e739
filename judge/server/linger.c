/* Lingering close: see linger.h. */
#include "linger.h"

#include "../../sandbox/base/clock.h"
#include "../../sandbox/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct lingering {
	pthread_mutex_t lock;		/* of fresh, fresh_count and stop */
	pthread_t thread;
	int wake[2];			/* a byte: look at those */
	bool stop;
	int fresh[LINGER_MANY];		/* taken, not yet seen by the thread */
	unsigned fresh_count;

	/* the thread's own: oldest first; poll[0] is the pipe */
	struct pollfd poll[1 + LINGER_MANY];
	double until[1 + LINGER_MANY];
	unsigned count;
};

static void let_go(struct lingering *l, unsigned i)
{
	close(l->poll[i].fd);
	memmove(&l->poll[i], &l->poll[i + 1], (l->count - i - 1) * sizeof *l->poll);
	memmove(&l->until[i], &l->until[i + 1], (l->count - i - 1) * sizeof *l->until);
	l->count--;
}

/* false: it is to stop */
static bool admit(struct lingering *l)
{
	char bytes[64];
	while (read(l->wake[0], bytes, sizeof bytes) > 0)
		continue;
	pthread_mutex_lock(&l->lock);
	for (unsigned i = 0; i < l->fresh_count; i++) {
		if (l->count == 1 + LINGER_MANY)
			let_go(l, 1);
		l->poll[l->count] = (struct pollfd){.fd = l->fresh[i], .events = POLLIN};
		l->until[l->count++] = clock_seconds() + LINGER_SECONDS;
	}
	l->fresh_count = 0;
	bool stop = l->stop;
	pthread_mutex_unlock(&l->lock);
	return !stop;
}

/* false: nothing more comes */
static bool throw_away(int fd)
{
	static char bytes[64 << 10];	/* of one thread a process; nobody reads them */
	ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void *run(void *user)
{
	struct lingering *l = user;
	while (admit(l)) {
		poll(l->poll, l->count, l->count > 1 ? 1000 : -1);
		double now = clock_seconds();
		for (unsigned i = l->count - 1; i > 0; i--)
			if ((l->poll[i].revents && !throw_away(l->poll[i].fd)) || l->until[i] < now)
				let_go(l, i);
	}
	while (l->count > 1)
		let_go(l, l->count - 1);
	return NULL;
}

struct lingering *linger_start(void)
{
	struct lingering *l = calloc(1, sizeof *l);
	if (!l || pipe2(l->wake, O_CLOEXEC | O_NONBLOCK) < 0)
		BUG("out of memory or descriptors");
	pthread_mutex_init(&l->lock, NULL);
	l->poll[0] = (struct pollfd){.fd = l->wake[0], .events = POLLIN};
	l->count = 1;
	if (pthread_create(&l->thread, NULL, run, l) != 0)
		BUG("cannot start a thread");
	return l;
}

static void wake(struct lingering *l)
{
	ssize_t n = write(l->wake[1], "", 1);
	(void)n;			/* full: it is awake */
}

void linger_stop(struct lingering *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_mutex_unlock(&l->lock);
	wake(l);
	pthread_join(l->thread, NULL);
	close(l->wake[0]);
	close(l->wake[1]);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

void linger_take(struct lingering *l, int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return;			/* no descriptor left: closed as it is */
	shutdown(own, SHUT_WR);		/* the client learns that the answer is whole */
	pthread_mutex_lock(&l->lock);
	bool room = l->fresh_count < LINGER_MANY && !l->stop;
	if (room)
		l->fresh[l->fresh_count++] = own;
	pthread_mutex_unlock(&l->lock);
	if (room)
		wake(l);
	else
		close(own);
}
