/* Memory that dies together: see arena.h. */
#include "arena.h"

#include "err.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 << 10, ALIGN = 16 };

struct chunk {
	struct chunk *next;
	size_t size, used;
	_Alignas(ALIGN) unsigned char data[];
};

struct arena {
	struct chunk *chunks;
	size_t used;
};

static struct chunk *chunk_new(size_t size)
{
	struct chunk *c = calloc(1, sizeof *c + size);
	if (!c)
		BUG("out of memory (%zu bytes)", size);
	c->size = size;
	return c;
}

struct arena *arena_new(void)
{
	struct arena *a = calloc(1, sizeof *a);
	if (!a)
		BUG("out of memory");
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (struct chunk *c = a->chunks, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(a);
}

void arena_freep(struct arena **a)
{
	arena_free(*a);
}

void *arena_alloc(struct arena *a, size_t size)
{
	if (size > SIZE_MAX / 2)
		BUG("allocation of %zu bytes", size);
	size = (size + ALIGN - 1) / ALIGN * ALIGN;
	a->used += size;
	struct chunk *c = a->chunks;
	if (c && c->size - c->used >= size) {
		void *p = c->data + c->used;
		c->used += size;
		return p;
	}
	struct chunk *n = chunk_new(size > CHUNK / 4 ? size : CHUNK);
	n->used = size;
	if (c && size > CHUNK / 4) {		/* keep filling the chunk in front */
		n->next = c->next;
		c->next = n;
	} else {
		n->next = c;
		a->chunks = n;
	}
	return n->data;
}

void *arena_dup(struct arena *a, const void *data, size_t size)
{
	void *p = arena_alloc(a, size);
	if (size)
		memcpy(p, data, size);
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);
	memcpy(p, s, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		BUG("bad format %s", fmt);
	char *p = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

size_t arena_used(const struct arena *a)
{
	return a->used;
}
