/* Which handler a request goes to: see router.h. */
#include "router.h"

#include "../../sandbox/base/cleanup.h"

#include <string.h>

enum { ROLE_ANYBODY_LEAST = ROLE_ANYBODY, ROLE_STUDENT_LEAST = ROLE_STUDENT, ROLE_ASSISTANT_LEAST = ROLE_ASSISTANT,
       ROLE_INSTRUCTOR_LEAST = ROLE_INSTRUCTOR, ROLE_ADMIN_LEAST = ROLE_ADMIN };

const char router_prefix[] = "/api/v1";

static const struct route routes[] = {
#define ROUTE(handler, method, pattern, least, body, lane) \
	{#handler, #method, pattern, ROLE_##least##_LEAST, BODY_##body, LANE_##lane, api_##handler},
#include "routes.def"
#undef ROUTE
};
enum { N_ROUTES = sizeof routes / sizeof *routes };

const struct route *router_at(unsigned i)
{
	return i < N_ROUTES ? &routes[i] : NULL;
}

/* How well a path fits: -1 not at all, else the number of parts that {...} stands for. */
static int fit(const char *pattern, const char *path, struct arena *a, const char *arguments[REQUEST_ARGUMENTS])
{
	int n = 0;
	while (*pattern && *path) {
		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return -1;
			continue;
		}
		size_t size = strcspn(path, "/");
		if (!size || n == REQUEST_ARGUMENTS)
			return -1;
		arguments[n++] = arena_strndup(a, path, size);
		path += size;
		pattern += strcspn(pattern, "}") + 1;
	}
	return *pattern || *path ? -1 : n;
}

/* HEAD is a GET whose body stays here. */
static bool same_method(const struct request *r, const struct route *t)
{
	return !strcmp(r->method, t->method) || (!strcmp(r->method, "HEAD") && !strcmp(t->method, "GET"));
}

bool router_find(struct request *r)
{
	const char *path = r->path + strlen(router_prefix);
	CLEANUP_BUF struct buf allowed = {0};
	int best = REQUEST_ARGUMENTS + 1;
	for (unsigned i = 0; i < N_ROUTES; i++) {
		const char *arguments[REQUEST_ARGUMENTS] = {0};
		int n = fit(routes[i].pattern, path, r->arena, arguments);
		if (n < 0)
			continue;
		if (!same_method(r, &routes[i])) {
			buf_printf(&allowed, "%s%s", allowed.size ? ", " : "", routes[i].method);
		} else if (n < best) {
			best = n;
			r->route = &routes[i];
			memcpy(r->arguments, arguments, sizeof arguments);
		}
	}
	if (r->route)
		return true;
	if (!allowed.size)
		return reply_refuse(r, MESSAGE_no_route, NULL, NULL);
	reply_refuse(r, MESSAGE_no_method, NULL, buf_str(&allowed), NULL);
	reply_header(r, "Allow", buf_str(&allowed));
	return false;
}
