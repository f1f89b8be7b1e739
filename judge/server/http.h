/* The network side: libmicrohttpd's threads, what they hand to the lanes, and the answers that they send. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "request.h"

struct http;

struct http_figures {
	unsigned connections, late;	/* open now; shut down as too slow */
	unsigned long long refused;	/* heads that the guard refused */
};

/* Listens and answers until http_stop.  NULL and e: the address is taken, a certificate is bad, ... */
struct http *http_start(struct server *s, struct err *e);
unsigned http_port(const struct http *h);
/* No new connections from here on; those that there are go on. */
void http_quiesce(struct http *h);
/* What the lanes have is over, event streams have ended: ends all connections. */
void http_stop(struct http *h);
void http_figures(struct http *h, struct http_figures *out);
/* What a lane does with a request. */
void http_work(struct request *r);

#endif
