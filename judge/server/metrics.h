/* /healthz and /metrics. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "request.h"

struct metrics;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
/* An answer is about to be sent.  route: the handler's name. */
void metrics_request(struct metrics *m, const char *route, unsigned status, double seconds);
/* Answers one of the two addresses, on a lane. */
void metrics_page(struct request *r);

#endif
