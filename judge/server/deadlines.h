/* The total time of requests.  libmicrohttpd knows of inactivity alone; who sends a byte every few seconds is never inactive.
 *
 * Every connection has a moment by which it must have done what it is at: arrive with a whole request, or take the whole answer.
 * A connection that is late is shut down, by a thread that looks each second.  Open event streams have no such moment.
 */
#ifndef SERVER_DEADLINES_H
#define SERVER_DEADLINES_H

#include <stdbool.h>

struct deadlines;
struct deadline;			/* of one connection */

struct deadlines *deadlines_start(void);
void deadlines_stop(struct deadlines *d);
struct deadline *deadline_open(struct deadlines *d, int fd, double seconds);
void deadline_close(struct deadlines *d, struct deadline *c);	/* before the descriptor is closed */
void deadline_set(struct deadlines *d, struct deadline *c, double seconds);	/* from now; 0: none */
unsigned deadlines_late(struct deadlines *d);			/* shut down so far */
unsigned deadlines_open(struct deadlines *d);			/* connections now */

#endif
