/* A growable run of bytes, always followed by a NUL that is not counted. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "err.h"

#include <stddef.h>

struct buf {
	char *data;		/* NULL while empty: use buf_str() where a string is wanted */
	size_t size, room;
};

void buf_add(struct buf *b, const void *data, size_t size);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((nonnull(2), format(printf, 2, 3)));
void *buf_grow(struct buf *b, size_t size);	/* room for `size` more bytes, counted; returns where they go */
const char *buf_str(const struct buf *b);	/* never NULL */
void buf_free(struct buf *b);			/* leaves an empty buf */

/* The whole of a file, at most `max` bytes: a larger one is an error of the input. */
int buf_read_file(struct buf *b, const char *path, size_t max, struct err *e);
/* The same from a descriptor, to its end; `what` names it in messages. */
int buf_read_fd(struct buf *b, int fd, const char *what, size_t max, struct err *e);

#endif
