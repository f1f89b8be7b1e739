/* Values in a row of bytes, from one process of ours to another that runs the same program. */
#ifndef QUEUE_PACK_H
#define QUEUE_PACK_H

#include "../../sandbox/base/arena.h"
#include "../../sandbox/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

void pack_int(struct buf *out, int64_t v);
void pack_real(struct buf *out, double v);
void pack_bytes(struct buf *out, const void *data, size_t size);	/* NULL: NULL */
void pack_text(struct buf *out, const char *text);			/* NULL: NULL */

struct unpack {
	const char *at;
	size_t left;
	bool bad;			/* it ended too early: what was read since is 0 or NULL */
};
int64_t unpack_int(struct unpack *u);
double unpack_real(struct unpack *u);
const char *unpack_bytes(struct unpack *u, size_t *size, struct arena *a);	/* with a NUL after them */
const char *unpack_text(struct unpack *u, struct arena *a);

#endif
