/* Where the numbers of a case come from: a 256-bit secret, and keyed hashes of it.
 *
 * A case's seed is HMAC-SHA256(secret, problem, version, judging, case, purpose), so whoever lacks the secret can't
 * predict a hidden case, and whoever has it can repeat it.  A local run draws a short seed and makes the secret of it.
 * Visible samples use a secret that never changes: the sample in the statement is the sample that runs.
 */
#ifndef JUDGE_SEED_H
#define JUDGE_SEED_H

#include "../sandbox/base/err.h"

#include <stdint.h>

enum { SEED_BYTES = 32, SEED_HEX = 64 };

struct secret {
	unsigned char bytes[SEED_BYTES];
	char hex[SEED_HEX + 1];		/* of a local run: what --seed repeats it with; else "" */
};

/* A fresh one, from the kernel's random numbers. */
void secret_draw(struct secret *s);
/* From --seed: 1 to 64 hexadecimal digits. */
int secret_from_hex(struct secret *s, const char *hex, struct err *e);
/* That of visible samples. */
void secret_of_samples(struct secret *s);

struct seed_scope {
	const char *problem, *version, *judging, *name;
};
void seed_derive(const struct secret *s, const struct seed_scope *c, const char *purpose, unsigned char out[SEED_BYTES]);
/* 64 bits of it, for drawing the size `name`. */
uint64_t seed_u64(const struct secret *s, const struct seed_scope *c, const char *purpose);

#endif
