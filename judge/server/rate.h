/* How often somebody may do something: buckets of tokens that fill with time.
 *
 * A key is "what:who", e.g. "submit:alice" or "sign-in:203.0.113.7".  There is room for a fixed number of keys: when more are in
 * use, the one that was unused for longest among its neighbours is forgotten.  Safe from any thread.
 */
#ifndef SERVER_RATE_H
#define SERVER_RATE_H

#include <stdbool.h>

struct rate;

struct rate_left {
	unsigned limit, remaining;	/* tokens of a full bucket, and now */
	unsigned reset;			/* seconds until the next token where there is none, else until the bucket is full */
};

struct rate *rate_new(void);
void rate_free(struct rate *r);
/* One token; false: there is none.  `limit` tokens in `seconds`. */
bool rate_take(struct rate *r, const char *key, unsigned limit, double seconds, struct rate_left *left);
/* What there is, untouched. */
bool rate_look(struct rate *r, const char *key, unsigned limit, double seconds, struct rate_left *left);
/* A full bucket again. */
void rate_forget(struct rate *r, const char *key);

#endif
