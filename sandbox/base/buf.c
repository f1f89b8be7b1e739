/* A growable run of bytes: see buf.h. */
#include "buf.h"

#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *buf_grow(struct buf *b, size_t size)
{
	if (size >= b->room - b->size || !b->data) {
		size_t room = (b->size + size + 1) * 3 / 2;
		if (room < 64)
			room = 64;
		b->data = realloc(b->data, room);
		if (!b->data)
			BUG("out of memory (%zu bytes)", room);
		b->room = room;
	}
	void *p = b->data + b->size;
	b->size += size;
	b->data[b->size] = 0;
	return p;
}

void buf_add(struct buf *b, const void *data, size_t size)
{
	if (size)
		memcpy(buf_grow(b, size), data, size);
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format %s", fmt);
	va_start(ap, fmt);
	char *p = buf_grow(b, (size_t)n);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

int buf_read_fd(struct buf *b, int fd, const char *what, size_t max, struct err *e)
{
	for (size_t total = 0;;) {
		char piece[16384];
		ssize_t n = read(fd, piece, sizeof piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "cannot read %s", what);
		if (n == 0)
			return 0;
		total += (size_t)n;
		if (total > max)
			return err_input(e, "%s is larger than the limit of %zu bytes", what, max);
		buf_add(b, piece, (size_t)n);
	}
}

int buf_read_file(struct buf *b, const char *path, size_t max, struct err *e)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0) {
		err_errno(e, "cannot open %s", path);
		if (e)
			e->kind = ERR_INPUT;
		return -1;
	}
	if (!S_ISREG(st.st_mode))
		return err_input(e, "%s is not a regular file", path);
	return buf_read_fd(b, fd, path, max, e);
}
