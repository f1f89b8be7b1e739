/* Values in a row of bytes: see pack.h. */
#include "pack.h"

#include <string.h>

void pack_int(struct buf *out, int64_t v)
{
	buf_add(out, &v, sizeof v);
}

void pack_real(struct buf *out, double v)
{
	buf_add(out, &v, sizeof v);
}

void pack_bytes(struct buf *out, const void *data, size_t size)
{
	pack_int(out, data ? (int64_t)size : -1);
	if (data)
		buf_add(out, data, size);
}

void pack_text(struct buf *out, const char *text)
{
	pack_bytes(out, text, text ? strlen(text) : 0);
}

static bool take(struct unpack *u, void *out, size_t size)
{
	if (u->bad || u->left < size) {
		u->bad = true;
		return false;
	}
	memcpy(out, u->at, size);
	u->at += size;
	u->left -= size;
	return true;
}

int64_t unpack_int(struct unpack *u)
{
	int64_t v = 0;
	take(u, &v, sizeof v);
	return v;
}

double unpack_real(struct unpack *u)
{
	double v = 0;
	take(u, &v, sizeof v);
	return v;
}

const char *unpack_bytes(struct unpack *u, size_t *size, struct arena *a)
{
	int64_t n = unpack_int(u);
	*size = 0;
	if (u->bad || n < 0)
		return NULL;
	if ((uint64_t)n > u->left) {
		u->bad = true;
		return NULL;
	}
	char *copy = arena_alloc(a, (size_t)n + 1);
	take(u, copy, (size_t)n);
	*size = (size_t)n;
	return copy;
}

const char *unpack_text(struct unpack *u, struct arena *a)
{
	size_t size;
	return unpack_bytes(u, &size, a);
}
