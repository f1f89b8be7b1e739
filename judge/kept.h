/* Times that were measured on this machine once and are kept in the state folder (paths.h).
 *
 * A key says in words all that a time depends on: what ran, on which sizes, on which GPU, under which driver.  One file a key,
 * named by a hash of it, and the key stands in the file, so that a file can be trusted and read.
 */
#ifndef JUDGE_KEPT_H
#define JUDGE_KEPT_H

#include "../sandbox/base/buf.h"
#include "../sandbox/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct kept_time {
	double us;			/* median; 0: not known */
	double low_us, high_us, spread;	/* as of struct timing */
	unsigned sets, passes;
	bool disturbed;			/* not for keeping */
	char when[32];			/* "2026-11-30T01:40:00Z" */
};

/* -1 and e: nothing is kept by this key, or it is of no use. */
int kept_load(const char *key, struct kept_time *out, struct err *e);
/* t->when is set where it is empty. */
int kept_store(const char *key, const struct kept_time *t, struct err *e);
/* Where it is kept. */
int kept_path(const char *key, char *out, size_t size, struct err *e);

/* Any file of the state folder: written whole or not at all; the folders above it are made. */
int kept_write(const char *path, const struct buf *text, struct err *e);
/* Now, as in `when`. */
void kept_now(char *out, size_t size);

#endif
