/* Memory that dies together: a request, a compilation, a loaded module.
 *
 * Allocation never fails: out of memory aborts with a message.  Memory is zeroed.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a);			/* NULL is fine */
void arena_freep(struct arena **a);			/* for CLEANUP(arena_freep) */

void *arena_alloc(struct arena *a, size_t size);	/* 16-byte aligned, zeroed */
void *arena_dup(struct arena *a, const void *data, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((nonnull(2), format(printf, 2, 3)));
size_t arena_used(const struct arena *a);		/* bytes handed out, for limits on hostile input */

#define arena_new_array(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))

#endif
