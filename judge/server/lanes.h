/* Threads that handle requests, away from those that read and write the network.
 *
 * The quick lane has several; the slow lane, for what hashes passwords and unpacks files, two, so that no crowd at the door can
 * keep the processor from the others.  A lane that is full refuses.
 */
#ifndef SERVER_LANES_H
#define SERVER_LANES_H

#include "router.h"

struct lanes;

/* `work` is called on a thread of the lane, with a store of the thread's own in r->store.  NULL and e: no store, no thread. */
struct lanes *lanes_start(const char *database, unsigned quick, void (*work)(struct request *r), struct err *e);
bool lanes_take(struct lanes *l, enum lane lane, struct request *r);
unsigned lanes_waiting(struct lanes *l, enum lane lane);
/* What was taken is done first; from then on nothing is taken. */
void lanes_stop(struct lanes *l);
void lanes_free(struct lanes *l);

#endif
