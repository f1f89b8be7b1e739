/* Lingering close.  A refusal can be the answer to a request whose body still comes: too large, or of no use.  Were the connection
 * closed then, bytes that nobody read would make the kernel reset it, and the client would often see "connection reset" in place of
 * the answer.  So what still comes is read and thrown away for a while, by one thread for all: LINGER_SECONDS at most, LINGER_MANY
 * connections at most (the oldest goes first).
 */
#ifndef SERVER_LINGER_H
#define SERVER_LINGER_H

enum { LINGER_SECONDS = 5, LINGER_MANY = 256 };

struct lingering;

struct lingering *linger_start(void);
void linger_stop(struct lingering *l);		/* NULL is allowed */
void linger_take(struct lingering *l, int fd);	/* a socket whose answer was sent; fd stays the caller's, who may close it at once */

#endif
