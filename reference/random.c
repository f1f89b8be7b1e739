/* Reproducible random numbers: see random.h. */
#include "random.h"

#include <stddef.h>
#include <string.h>

static uint64_t rotl(uint64_t x, int k)
{
	return x << k | x >> (64 - k);
}

/* The finaliser of splitmix64: a bijection in which each input bit moves half of the output bits. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static void leave_zero(struct random *r)	/* the one state that xoshiro never leaves */
{
	if (!(r->s[0] | r->s[1] | r->s[2] | r->s[3]))
		r->s[0] = 0x9e3779b97f4a7c15u;
}

void random_seed(struct random *r, const unsigned char seed[32])
{
	for (size_t i = 0; i < 4; i++) {
		r->s[i] = 0;
		for (size_t b = 8; b--;)	/* little-endian on every machine */
			r->s[i] = r->s[i] << 8 | seed[8 * i + b];
	}
	leave_zero(r);
}

struct random random_fork(const struct random *r, uint64_t k)
{
	struct random f;
	for (size_t i = 0; i < 4; i++)
		f.s[i] = mix(r->s[i] ^ mix(k + (i + 1) * 0x9e3779b97f4a7c15u));
	leave_zero(&f);
	for (int i = 0; i < 8; i++)		/* the four words meet before the first number is used */
		random_u64(&f);
	return f;
}

uint64_t random_u64(struct random *r)
{
	uint64_t *s = r->s, result = rotl(s[1] * 5, 7) * 9, t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotl(s[3], 45);
	return result;
}

/* Lemire's method: the product's high half is uniform once the few low halves that would favour some values are drawn
 * again. */
uint32_t random_below(struct random *r, uint32_t n)
{
	uint64_t product = (random_u64(r) >> 32) * n;
	if ((uint32_t)product < n)
		for (uint32_t least = -n % n; (uint32_t)product < least;)
			product = (random_u64(r) >> 32) * n;
	return (uint32_t)(product >> 32);
}

double random_uniform(struct random *r)
{
	return (double)(random_u64(r) >> 11) * 0x1p-53;
}

/* The sum of twelve uniforms has variance 1 and lies within +-6.  Each has 21 bits, three to a draw, so the sum is an
 * integer and one multiplication makes the number: no rounding anywhere. */
double random_normal(struct random *r)
{
	const uint64_t mask = 0x1fffff;
	uint64_t sum = 0;
	for (int i = 0; i < 4; i++) {
		uint64_t u = random_u64(r);
		sum += (u & mask) + (u >> 21 & mask) + (u >> 42 & mask);
	}
	return (double)((int64_t)sum - 6 * (int64_t)mask) * 0x1p-21;
}
