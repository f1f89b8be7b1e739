/* Who sends a request: see auth.h. */
#include "auth.h"

#include "server.h"

#include <ctype.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

static const char cookie_name[] = "judge_session";

/* ---- proxies ---- */

static bool from_proxy(const struct request *r)
{
	struct address peer = {{0}};
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (i && i->client_addr)
		address_of(i->client_addr, &peer);
	return networks_have(&r->server->proxies, &peer);
}

/* Each proxy adds whom it got the request from; the last who is no proxy of ours is the client. */
void auth_beyond_proxies(struct request *r)
{
	if (!r->server->proxies.n || !from_proxy(r))
		return;
	const char *scheme = request_header(r, "X-Forwarded-Proto"), *chain = request_header(r, "X-Forwarded-For");
	if (scheme)
		r->secure = !strcasecmp(scheme, "https");
	if (!chain)
		return;
	char *copy = arena_strdup(r->arena, chain);
	for (;;) {
		char *comma = strrchr(copy, ','), *word = comma ? comma + 1 : copy;
		struct address a;
		word += strspn(word, " \t");
		word[strcspn(word, " \t")] = 0;
		if (address_parse(word, &a) < 0)
			return;
		r->address = a;
		if (!comma || !networks_have(&r->server->proxies, &a))
			return;
		*comma = 0;
	}
}

/* ---- identity ---- */

static void is_user(struct request *r, const struct store_user *u, bool ambient)
{
	r->caller = (struct caller){.role = (int)u->role, .id = u->id, .user = *u, .ambient = ambient};
}

static bool by_token(struct request *r, const char *header)
{
	struct store_user u;
	struct err e = {0};
	if (strncasecmp(header, "Bearer ", 7) != 0)
		return reply_refuse(r, MESSAGE_bad_token, NULL, NULL);
	enum store_result result = store_token_user(r->store, header + 7 + strspn(header + 7, " "), r->arena, &u, &e);
	if (result == STORE_NOT_FOUND || result == STORE_INVALID)
		return reply_refuse(r, MESSAGE_bad_token, NULL, NULL);
	if (!reply_stored(r, result, &e, MESSAGE_conflict, NULL))
		return false;
	is_user(r, &u, false);
	return true;
}

/* A proxy of ours has signed the person in; an account is made at the first time. */
static bool by_proxy(struct request *r, const char *value)
{
	struct store_user u;
	struct err e = {0};
	char *name = arena_strdup(r->arena, value);
	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	name[strcspn(name, "@")] = 0;
	enum store_result result = store_user_get(r->store, name, r->arena, &u, &e);
	if (result == STORE_NOT_FOUND) {
		struct store_user_new n = {.name = name, .role = ROLE_STUDENT, .language = r->lang};
		result = store_user_add(r->store, &n, r->arena, &u, &e);
		if (result == STORE_CONFLICT)	/* made by another request meanwhile */
			result = store_user_get(r->store, name, r->arena, &u, &e);
	}
	if (!reply_stored(r, result, &e, MESSAGE_conflict, NULL))
		return false;
	if (u.disabled)
		return reply_refuse(r, MESSAGE_bad_sign_in, NULL, NULL);
	is_user(r, &u, true);
	return true;
}

static bool by_cookie(struct request *r)
{
	char token[STORE_TOKEN + 1];
	struct store_user u;
	struct err e = {0};
	if (!request_cookie(r, cookie_name, token, sizeof token))
		return true;
	enum store_result result = store_session_user(r->store, token, r->arena, &u, &e);
	if (result == STORE_NOT_FOUND || result == STORE_INVALID) {
		r->caller.ambient = true;
		return true;
	}
	if (!reply_stored(r, result, &e, MESSAGE_conflict, NULL))
		return false;
	is_user(r, &u, true);
	r->caller.session = arena_strdup(r->arena, token);
	return true;
}

bool auth_identify(struct request *r)
{
	const char *header = request_header(r, "Authorization"), *own = r->server->conf.sign_in_header;
	const char *proxy = *own && from_proxy(r) ? request_header(r, own) : NULL;
	bool ok = header ? by_token(r, header) : proxy && *proxy ? by_proxy(r, proxy) : by_cookie(r);
	if (ok)
		r->lang = request_lang(r);
	return ok;
}

/* ---- whose page ---- */

static bool ours(const struct request *r, const char *origin)
{
	const char *url = r->server->conf.url, *host = request_header(r, "Host");
	if (*url) {
		const char *authority = strstr(url, "://");
		size_t n = authority ? (size_t)(authority + 3 - url) + strcspn(authority + 3, "/") : strlen(url);
		return strlen(origin) == n && !strncasecmp(origin, url, n);
	}
	const char *authority = strstr(origin, "://");
	return authority && host && !strcasecmp(authority + 3, host) &&
	       (!strncasecmp(origin, "http://", 7) || !strncasecmp(origin, "https://", 8));
}

bool auth_same_site(struct request *r)
{
	const char *origin = request_header(r, "Origin"), *site = request_header(r, "Sec-Fetch-Site");
	bool token = request_header(r, "Authorization");
	if (!strcmp(r->method, "GET") || !strcmp(r->method, "HEAD") || token)
		return true;
	if (origin)
		return ours(r, origin) || reply_refuse(r, MESSAGE_origin, NULL, NULL);
	if (site)
		return !strcmp(site, "same-origin") || reply_refuse(r, MESSAGE_origin, NULL, NULL);
	return !r->caller.ambient || reply_refuse(r, MESSAGE_origin, NULL, NULL);
}

/* ---- sessions ---- */

static void set_cookie(struct request *r, const char *token, long long seconds)
{
	char text[256];
	snprintf(text, sizeof text, "%s=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=%lld%s", cookie_name, token, seconds,
		 r->secure ? "; Secure" : "");
	reply_header(r, "Set-Cookie", text);
}

bool auth_open(struct request *r, const struct store_user *u)
{
	char token[STORE_TOKEN], old[STORE_TOKEN + 1];
	struct err e = {0};
	int64_t seconds = (int64_t)r->server->conf.session_days * 86400;
	if (request_cookie(r, cookie_name, old, sizeof old))
		store_session_close(r->store, old, &e);
	if (!reply_stored(r, store_session_open(r->store, u->id, seconds * 1000, token, &e), &e, MESSAGE_conflict, NULL))
		return false;
	set_cookie(r, token, seconds);
	return true;
}

void auth_close(struct request *r)
{
	char token[STORE_TOKEN + 1];
	struct err e = {0};
	if (request_cookie(r, cookie_name, token, sizeof token))
		store_session_close(r->store, token, &e);
	set_cookie(r, "", 0);
}
