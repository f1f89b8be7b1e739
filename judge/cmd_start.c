/* judge start ID: write ID.cu to begin from. */
#include "command.h"

#include "../sandbox/base/cleanup.h"
#include "problem.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int write_new(const char *path, const struct buf *text, struct err *e)
{
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 && errno == EEXIST)
		return err_input(e, "%s is there already: move it away, or work on it", path);
	if (fd < 0)
		return err_input(e, "cannot write %s: %s", path, strerror(errno));
	for (size_t at = 0; at < text->size;) {
		ssize_t n = write(fd, text->data + at, text->size - at);
		if (n < 0) {
			err_input(e, "cannot write %s: %s", path, strerror(errno));
			unlink(path);
			return -1;
		}
		at += (size_t)n;
	}
	return 0;
}

int cmd_start(const struct options *o)
{
	struct err e = {0};
	CLEANUP_BUF struct buf text = {0};
	char path[80];
	if (options_want(o, COMMAND_start, 1, &e) < 0)
		return complain(&e);
	CLEANUP(problem_closep) struct problem *p = problem_find(o->arguments[0], &e);
	if (!p || problem_file(p, "starter.cu", &text, &e) < 0)
		return complain(&e);
	snprintf(path, sizeof path, "%s.cu", p->id);
	if (write_new(path, &text, &e) < 0)
		return complain(&e);
	printf("wrote %s: open it, solve it (judge show %s tells the problem), then grade it with judge %s\n", path, p->id, path);
	return 0;
}
