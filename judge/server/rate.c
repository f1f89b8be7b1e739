/* How often somebody may do something: see rate.h.
 *
 * The table is an array of sets of WAYS buckets, found by a keyed hash, so that nobody can aim at another's set. */
#include "rate.h"

#include "../../sandbox/base/clock.h"
#include "../../sandbox/base/err.h"

#include <math.h>
#include <pthread.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 4096, WAYS = 8 };

struct bucket {
	uint64_t key;			/* hash; 0: free */
	double tokens, when;
};

struct rate {
	pthread_mutex_t lock;
	unsigned char secret[crypto_shorthash_KEYBYTES];
	struct bucket buckets[SETS][WAYS];
};

struct rate *rate_new(void)
{
	struct rate *r = calloc(1, sizeof *r);
	if (!r)
		BUG("out of memory");
	pthread_mutex_init(&r->lock, NULL);
	randombytes_buf(r->secret, sizeof r->secret);
	return r;
}

void rate_free(struct rate *r)
{
	free(r);
}

static uint64_t hash(const struct rate *r, const char *key)
{
	uint64_t h;
	crypto_shorthash((unsigned char *)&h, (const unsigned char *)key, strlen(key), r->secret);
	return h ? h : 1;
}

/* The key's bucket, filled up to now; a new one takes the place of that which was unused for longest. */
static struct bucket *find(struct rate *r, const char *key, unsigned limit, double seconds)
{
	uint64_t h = hash(r, key);
	struct bucket *set = r->buckets[h % SETS], *oldest = set;
	double now = clock_seconds();
	for (int i = 0; i < WAYS; i++) {
		if (set[i].key == h) {
			double tokens = set[i].tokens + (now - set[i].when) * limit / seconds;
			set[i].tokens = tokens < limit ? tokens : limit;
			set[i].when = now;
			return &set[i];
		}
		if (set[i].when < oldest->when)
			oldest = &set[i];
	}
	*oldest = (struct bucket){h, limit, now};
	return oldest;
}

static void tell(const struct bucket *b, unsigned limit, double seconds, struct rate_left *left)
{
	double missing = b->tokens < 1 ? 1 - b->tokens : limit - b->tokens;
	if (left)
		*left = (struct rate_left){limit, (unsigned)b->tokens, (unsigned)ceil(missing * seconds / limit)};
}

bool rate_take(struct rate *r, const char *key, unsigned limit, double seconds, struct rate_left *left)
{
	pthread_mutex_lock(&r->lock);
	struct bucket *b = find(r, key, limit, seconds);
	bool enough = b->tokens >= 1;
	if (enough)
		b->tokens -= 1;
	tell(b, limit, seconds, left);
	pthread_mutex_unlock(&r->lock);
	return enough;
}

bool rate_look(struct rate *r, const char *key, unsigned limit, double seconds, struct rate_left *left)
{
	pthread_mutex_lock(&r->lock);
	struct bucket *b = find(r, key, limit, seconds);
	bool enough = b->tokens >= 1;
	tell(b, limit, seconds, left);
	pthread_mutex_unlock(&r->lock);
	return enough;
}

void rate_forget(struct rate *r, const char *key)
{
	pthread_mutex_lock(&r->lock);
	uint64_t h = hash(r, key);
	for (int i = 0; i < WAYS; i++)
		if (r->buckets[h % SETS][i].key == h)
			r->buckets[h % SETS][i] = (struct bucket){0};
	pthread_mutex_unlock(&r->lock);
}
