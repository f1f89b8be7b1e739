/* Which handler a request goes to: routes.def. */
#ifndef SERVER_ROUTER_H
#define SERVER_ROUTER_H

#include "request.h"

enum body_kind { BODY_NONE, BODY_JSON, BODY_CSV, BODY_PACKAGE };
enum lane { LANE_QUICK, LANE_SLOW, LANES };

struct route {
	const char *name, *method, *pattern;
	int least;
	enum body_kind body;
	enum lane lane;
	void (*handler)(struct request *r);
};

extern const char router_prefix[];	/* "/api/v1" */

/* Sets r->route and r->arguments.  false: r->reply says that there is no such address or method. */
bool router_find(struct request *r);
/* All routes, then NULL. */
const struct route *router_at(unsigned i);

#define ROUTE(handler, method, pattern, least, body, lane) void api_##handler(struct request *r);
#include "routes.def"
#undef ROUTE

#endif
