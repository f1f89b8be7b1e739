/* Waiting for a file to be saved: see watch.h. */
#include "watch.h"

#include "submission.h"

#include <errno.h>
#include <libgen.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum { SETTLE_MS = 60 };	/* several events of one save are one */

struct watch {
	int fd;
	char name[256];
};

struct watch *watch_open(const char *path, struct err *e)
{
	struct watch *w = calloc(1, sizeof *w);
	char *copy = strdup(path);
	if (!w || !copy)
		BUG("out of memory");
	if (access(path, R_OK) < 0) {
		err_input(e, "cannot watch %s: %s", path, strerror(errno));
		free(copy);
		free(w);
		return NULL;
	}
	snprintf(w->name, sizeof w->name, "%s", submission_name(path));
	w->fd = inotify_init1(IN_CLOEXEC);
	if (w->fd < 0 || inotify_add_watch(w->fd, dirname(copy), IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE_SELF) < 0) {
		err_errno(e, "cannot watch %s", path);
		watch_close(w);
		w = NULL;
	}
	free(copy);
	return w;
}

/* 1: the file was saved; 0: something else; -1: the folder is gone. */
static int read_events(struct watch *w, struct err *e)
{
	_Alignas(struct inotify_event) char block[4096];
	ssize_t n = read(w->fd, block, sizeof block);
	bool saved = false;
	if (n < 0)
		return errno == EINTR ? 0 : err_errno(e, "cannot watch %s", w->name);
	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event = (const void *)(block + at);
		if (event->mask & (IN_DELETE_SELF | IN_IGNORED))
			return err_input(e, "the folder of %s is gone", w->name);
		saved |= event->len && !strcmp(event->name, w->name);
		at += (ssize_t)sizeof *event + event->len;
	}
	return saved;
}

int watch_wait(struct watch *w, struct err *e)
{
	int rc = 0;
	while (rc == 0)
		rc = read_events(w, e);
	struct pollfd more = {w->fd, POLLIN, 0};
	while (rc > 0 && poll(&more, 1, SETTLE_MS) == 1)
		if (read_events(w, e) < 0)
			rc = -1;
	return rc < 0 ? -1 : 0;
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}
