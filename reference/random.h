/* Reproducible random numbers: the same seed gives the same bits on every machine.
 *
 * xoshiro256** (Blackman & Vigna) seeded with 256 bits; normals by a fixed sum or table method that uses only
 * IEEE add, multiply and compare, never libm.
 */
#ifndef REFERENCE_RANDOM_H
#define REFERENCE_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t s[4];
};

void random_seed(struct random *r, const unsigned char seed[32]);
/* An independent stream: fork k of r; r itself does not move.  For filling tensors independently of each other. */
struct random random_fork(const struct random *r, uint64_t k);
uint64_t random_u64(struct random *r);
uint32_t random_below(struct random *r, uint32_t n);	/* uniform in [0, n), n > 0 */
double random_uniform(struct random *r);		/* [0, 1), 53 bits */
double random_normal(struct random *r);			/* mean 0, variance 1 */

#endif
