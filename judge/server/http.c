/* The network side: see http.h.
 *
 * Theory of operation.  libmicrohttpd has a pool of threads with epoll.  They parse, count and collect; nothing that they do waits.
 * A request goes through these states:
 *
 *	HEAD	its head is there: the guard looks at it, the router finds its route, the length of its body is held against the
 *		route's limit.  What is refused here is answered at once, and the connection closed if a body was to come (linger.h).
 *	BODY	the body comes in pieces and is counted again.
 *	WORK	the connection is suspended; a thread of a lane finds out who asks, calls the handler, and resumes it.
 *	ANSWER	the answer is sent.
 *
 * Event streams are answers that never seem to end: events.c suspends them while there is nothing to say.  How long all this may
 * take is the business of deadlines.h.
 */
#include "http.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/clock.h"
#include "auth.h"
#include "deadlines.h"
#include "events.h"
#include "files.h"
#include "guard.h"
#include "lanes.h"
#include "linger.h"
#include "log.h"
#include "metrics.h"
#include "router.h"
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_TARGET = 4096, IDLE_SECONDS = 30, UPLOAD_TIMES = 20, CONNECTION_MEMORY = 32 << 10, ROSTER_BYTES = 1 << 20, JSON_BYTES = 1 << 16,
	OVER_BYTES = 1 << 20 };

struct http {
	struct server *server;
	struct MHD_Daemon *daemon;
	struct deadlines *deadlines;
	struct lingering *linger;
	atomic_ullong refused;
	char *certificate, *key;
};

struct exchange {
	struct request r;		/* first: a request is its exchange */
	enum { HEAD, BODY, WORK, ANSWER } state;
	size_t limit;			/* of the body */
	size_t over;			/* bytes read and thrown away since the body was found larger, and 1 */
	double began;
};

/* ---- limits ---- */

static size_t body_limit(const struct server *s, const struct route *t)
{
	switch (t->body) {
	case BODY_PACKAGE: return (size_t)s->conf.upload_mib << 20;
	case BODY_CSV: return ROSTER_BYTES;
	case BODY_JSON:
		/* a source as JSON text: every byte may be an escape of two, and rarely one of six */
		return strcmp(t->name, "submit") ? JSON_BYTES : (size_t)s->conf.source_kib * 2048 + JSON_BYTES < JSON_MAX_BYTES ?
			(size_t)s->conf.source_kib * 2048 + JSON_BYTES : JSON_MAX_BYTES;
	case BODY_NONE: return 0;
	}
	BUG("route with a body of no kind");
}

/* What is known of a connection, beside its requests. */
struct line {
	struct deadline *deadline;
	bool linger;			/* when it is closed, a body may still be coming */
};

static struct line *line_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return i ? i->socket_context : NULL;
}

static void allow_line(struct http *h, struct MHD_Connection *c, double seconds)
{
	struct line *l = line_of(c);
	if (l)
		deadline_set(h->deadlines, l->deadline, seconds);
}

static void allow(struct exchange *x, double seconds)
{
	allow_line(x->r.server->http, x->r.connection, seconds);
}

/* ---- sending ---- */

static const char csp_page[] = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	"font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; "
	"frame-ancestors 'none'";
static const char csp_data[] = "default-src 'none'; frame-ancestors 'none'; sandbox";

static void put_headers(const struct request *r, struct MHD_Response *m)
{
	const struct reply *p = &r->reply;
	for (const struct header *h = p->headers; h; h = h->next)
		MHD_add_response_header(m, h->name, h->value);
	if (p->type)
		MHD_add_response_header(m, "Content-Type", p->type);
	MHD_add_response_header(m, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(m, "Referrer-Policy", "same-origin");
	MHD_add_response_header(m, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(m, "Cross-Origin-Opener-Policy", "same-origin");
	MHD_add_response_header(m, "X-Frame-Options", "DENY");
	MHD_add_response_header(m, "Content-Security-Policy", p->page ? csp_page : csp_data);
	if (!p->cached)
		MHD_add_response_header(m, "Cache-Control", "no-store");
	if (r->secure)
		MHD_add_response_header(m, "Strict-Transport-Security", "max-age=31536000");
	if (p->close)
		MHD_add_response_header(m, "Connection", "close");
}

static struct MHD_Response *response_of(struct reply *p)
{
	struct MHD_Response *m;
	if (p->stream)
		return events_response(p->stream);
	if (p->has_file) {
		m = MHD_create_response_from_fd(p->fd_size, p->fd);
		if (m)
			p->has_file = false;
		return m;
	}
	m = MHD_create_response_from_buffer(p->body.size, p->body.data, p->body.data ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
	if (m)
		p->body = (struct buf){0};
	return m;
}

static enum MHD_Result send_answer(struct exchange *x)
{
	struct request *r = &x->r;
	bool stream = r->reply.stream;
	struct MHD_Response *m = response_of(&r->reply);
	if (!m)
		return MHD_NO;
	if (stream)
		r->reply.stream = NULL;	/* the response's from here on */
	put_headers(r, m);
	x->state = ANSWER;
	allow(x, stream ? 0 : r->server->conf.request_seconds);
	enum MHD_Result result = MHD_queue_response(r->connection, r->reply.status, m);
	MHD_destroy_response(m);
	metrics_request(r->server->metrics, r->route ? r->route->name : "other", r->reply.status, clock_seconds() - x->began);
	return result;
}

/* ---- work, on a thread of a lane ---- */

static bool read_json(struct request *r)
{
	struct err e = {0};
	const char *type = request_header(r, "Content-Type");
	if (!r->body.size && !strcmp(r->method, "POST") && !type)
		return reply_refuse(r, MESSAGE_want_json, NULL, NULL);
	if (!type || strncasecmp(type, "application/json", 16) || (type[16] && type[16] != ';' && type[16] != ' '))
		return reply_refuse(r, MESSAGE_want_json, NULL, NULL);
	r->json = json_parse(buf_str(&r->body), r->body.size, "body", &e);
	if (!r->json)
		return reply_refuse(r, MESSAGE_bad_json, NULL, e.text, NULL);
	if (!json_is_object(json_root(r->json)))
		return reply_refuse(r, MESSAGE_bad_json, NULL, "{...}", NULL);
	return true;
}

static bool is_type(struct request *r, const char *const *types)
{
	const char *type = request_header(r, "Content-Type");
	for (; type && *types; types++) {
		size_t n = strlen(*types);
		if (!strncasecmp(type, *types, n) && (!type[n] || type[n] == ';' || type[n] == ' '))
			return true;
	}
	return false;
}

static bool read_body(struct request *r)
{
	switch (r->route->body) {
	case BODY_JSON:
		return read_json(r);
	case BODY_CSV:
		return is_type(r, (const char *const[]){"text/csv", NULL}) || reply_refuse(r, MESSAGE_want_csv, NULL, NULL);
	case BODY_PACKAGE:
		return is_type(r, (const char *const[]){"application/octet-stream", "application/zip", "application/gzip",
						        "application/x-gzip", "application/x-tar", NULL}) ||
		       reply_refuse(r, MESSAGE_want_package, NULL, NULL);
	case BODY_NONE:
		return true;
	}
	BUG("route with a body of no kind");
}

static bool may(struct request *r)
{
	struct rate_left left;
	char key[96], who[ADDRESS_TEXT];
	if (r->caller.id)
		snprintf(key, sizeof key, "any:%lld", (long long)r->caller.id);
	else
		snprintf(key, sizeof key, "any:%s", (address_key(&r->address, who), who));
	if (!rate_take(r->server->rate, key, r->server->conf.requests_per_minute, 60, &left)) {
		char seconds[16];
		snprintf(seconds, sizeof seconds, "%u", left.reset);
		reply_refuse(r, MESSAGE_rate_limited, NULL, seconds, NULL);
		reply_header(r, "Retry-After", seconds);
		reply_rate(r, &left);
		return false;
	}
	if (r->route->least == ROLE_ANYBODY || r->caller.role >= r->route->least)
		return true;
	return reply_refuse(r, r->caller.id ? MESSAGE_forbidden : MESSAGE_unauthorized, NULL, NULL);
}

void http_work(struct request *r)
{
	if (!r->route)			/* /healthz, /metrics */
		metrics_page(r);
	else if (auth_identify(r) && auth_same_site(r) && may(r) && read_body(r))
		r->route->handler(r);
	if (!r->reply.status) {
		log_line("%s %s: its handler gave no answer", r->method, r->path);
		reply_refuse(r, MESSAGE_failed, NULL, NULL);
	}
	MHD_resume_connection(r->connection);
}

/* ---- heads and bodies ---- */

static enum MHD_Result refuse_now(struct exchange *x, bool more)
{
	struct line *l = line_of(x->r.connection);
	x->r.reply.close = more || x->r.reply.close;
	if (l)
		l->linger = more;
	return send_answer(x);
}

static void find_client(struct request *r)
{
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	if (i && i->client_addr)
		address_of(i->client_addr, &r->address);
	r->secure = *r->server->conf.tls_certificate;
	auth_beyond_proxies(r);
}

static bool has_prefix(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);
	return !strncmp(path, prefix, n) && (!path[n] || path[n] == '/');
}

/* The head is there.  Refuse, answer, or have the body sent. */
static enum MHD_Result take_head(struct exchange *x, const char *method, const char *version)
{
	struct request *r = &x->r;
	struct guarded head;
	r->method = arena_strdup(r->arena, method);
	r->lang = "en";
	const char *wrong = guard_head(r->connection, version, &head);
	if (!wrong && strlen(r->target) > MAX_TARGET) {
		reply_refuse(r, MESSAGE_uri_too_long, NULL, NULL);
		return refuse_now(x, true);
	}
	if (!wrong && !request_split(r))
		wrong = "its address is not well-formed";
	if (wrong) {
		r->server->http->refused++;
		r->path = "";
		reply_refuse(r, MESSAGE_bad_request, NULL, wrong, NULL);
		return refuse_now(x, true);
	}
	r->lang = request_lang(r);
	find_client(r);
	x->limit = 0;
	if (has_prefix(r->path, router_prefix)) {
		if (!router_find(r))
			return refuse_now(x, head.length != 0);
		x->limit = body_limit(r->server, r->route);
	} else if (strcmp(r->path, "/healthz") && strcmp(r->path, "/metrics")) {
		files_answer(r->server->files, r);
		return refuse_now(x, head.length != 0);
	}
	if (head.length > 0 && (size_t)head.length > x->limit) {
		char limit[24];
		snprintf(limit, sizeof limit, "%zu", x->limit);
		reply_refuse(r, MESSAGE_too_large, NULL, limit, NULL);
		return refuse_now(x, true);
	}
	if (r->route && r->route->body == BODY_PACKAGE)
		allow(x, (double)r->server->conf.request_seconds * UPLOAD_TIMES);
	x->state = BODY;
	return MHD_YES;
}

static enum MHD_Result take_piece(struct exchange *x, const char *data, size_t *size)
{
	if (x->over || x->r.body.size + *size > x->limit) {
		if (x->over > OVER_BYTES)	/* an answer must wait for the end, and there seems to be none */
			return MHD_NO;
		x->over += *size + !x->over;
		buf_free(&x->r.body);
	} else {
		buf_add(&x->r.body, data, *size);
	}
	*size = 0;
	return MHD_YES;
}

static enum MHD_Result begin_work(struct exchange *x)
{
	struct request *r = &x->r;
	if (x->over) {
		char limit[24];
		snprintf(limit, sizeof limit, "%zu", body_limit(r->server, r->route));
		reply_refuse(r, MESSAGE_too_large, NULL, limit, NULL);
		return refuse_now(x, true);
	}
	x->state = WORK;
	allow(x, 0);
	MHD_suspend_connection(r->connection);
	if (!r->server->stopping && lanes_take(r->server->lanes, r->route ? r->route->lane : LANE_QUICK, r))
		return MHD_YES;
	reply_refuse(r, r->server->stopping ? MESSAGE_stopping : MESSAGE_busy, NULL, NULL);
	MHD_resume_connection(r->connection);
	return MHD_YES;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *url, const char *method, const char *version,
			      const char *data, size_t *size, void **context)
{
	struct exchange *x = *context;
	(void)user, (void)url, (void)c;
	if (!x)
		return MHD_NO;
	switch (x->state) {
	case HEAD: return take_head(x, method, version);
	case BODY: return *size ? take_piece(x, data, size) : begin_work(x);
	case WORK: return send_answer(x);
	case ANSWER: *size = 0; return MHD_YES;
	}
	BUG("a request in no state");
}

/* ---- the life of connections and requests ---- */

static void *begin(void *user, const char *target, struct MHD_Connection *c)
{
	struct http *h = user;
	struct arena *a = arena_new();
	struct exchange *x = arena_new_array(a, struct exchange, 1);
	x->r.arena = a;
	x->r.server = h->server;
	x->r.connection = c;
	x->r.target = arena_strdup(a, target ? target : "");
	x->r.path = "";
	x->r.method = "";
	x->r.caller.role = ROLE_ANYBODY;
	x->began = clock_seconds();
	allow(x, h->server->conf.request_seconds);
	return x;
}

static void end(void *user, struct MHD_Connection *c, void **context, enum MHD_RequestTerminationCode why)
{
	struct exchange *x = *context;
	struct http *h = user;
	(void)why;
	allow_line(h, c, IDLE_SECONDS + h->server->conf.request_seconds);
	if (!x)
		return;
	*context = NULL;
	buf_free(&x->r.body);
	buf_free(&x->r.reply.body);
	json_free(x->r.json);
	if (x->r.reply.has_file)
		close(x->r.reply.fd);
	if (x->r.reply.stream)
		events_drop(x->r.reply.stream);
	arena_free(x->r.arena);
}

static void connection(void *user, struct MHD_Connection *c, void **context, enum MHD_ConnectionNotificationCode what)
{
	struct http *h = user;
	struct line *l = *context;
	const union MHD_ConnectionInfo *i = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = l = calloc(1, sizeof *l);
		if (l)
			l->deadline = deadline_open(h->deadlines, i->connect_fd, h->server->conf.request_seconds);
	} else if (l) {
		deadline_close(h->deadlines, l->deadline);
		if (l->linger)
			linger_take(h->linger, i->connect_fd);
		free(l);
		*context = NULL;
	}
}

/* ---- start and stop ---- */

static void mhd_log(void *user, const char *fmt, va_list ap)
{
	(void)user, (void)fmt, (void)ap;	/* of strangers' broken connections: metrics count them, a log would only fill */
}

/* Every connection is a descriptor. */
static void raise_descriptors(void)
{
	struct rlimit l;
	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int read_pem(const char *path, char **out, struct err *e)
{
	struct buf b = {0};
	if (buf_read_file(&b, path, 1 << 20, e) < 0)
		return -1;
	*out = b.data;
	return 0;
}

static int listen_address(const struct conf *c, struct sockaddr_storage *out, bool *v6, struct err *e)
{
	struct sockaddr_in *four = (void *)out;
	struct sockaddr_in6 *six = (void *)out;
	memset(out, 0, sizeof *out);
	*v6 = false;
	if (inet_pton(AF_INET, c->listen, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)c->port);
		return 0;
	}
	memset(out, 0, sizeof *out);
	if (inet_pton(AF_INET6, c->listen, &six->sin6_addr) == 1) {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)c->port);
		*v6 = true;
		return 0;
	}
	return err_input(e, "listen = %s: write an IPv4 or IPv6 address, e.g. 127.0.0.1 or ::", c->listen);
}

static struct MHD_Daemon *start_daemon(struct http *h, struct err *e)
{
	const struct conf *c = &h->server->conf;
	struct sockaddr_storage address;
	bool v6;
	if (listen_address(c, &address, &v6, e) < 0)
		return NULL;
	struct MHD_OptionItem tls[] = {
		{h->key ? MHD_OPTION_HTTPS_MEM_KEY : MHD_OPTION_END, 0, h->key},
		{MHD_OPTION_HTTPS_MEM_CERT, 0, h->certificate},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (char[]){"SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"}},
		{MHD_OPTION_END, 0, NULL},
	};
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | (h->key ? MHD_USE_TLS : 0) |
			 (v6 ? MHD_USE_DUAL_STACK : 0);
	unsigned pool = c->threads < 2 ? 1 : 2;
	errno = 0;
	struct MHD_Daemon *d = MHD_start_daemon(flags, (uint16_t)c->port, NULL, NULL, handle, h,
		MHD_OPTION_EXTERNAL_LOGGER, mhd_log, NULL,
		MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
		MHD_OPTION_LISTENING_ADDRESS_REUSE, 1u,
		MHD_OPTION_THREAD_POOL_SIZE, pool,
		MHD_OPTION_CONNECTION_LIMIT, c->connections,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, c->connections_per_address,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_URI_LOG_CALLBACK, begin, h,
		MHD_OPTION_NOTIFY_COMPLETED, end, h,
		MHD_OPTION_NOTIFY_CONNECTION, connection, h,
		MHD_OPTION_ARRAY, tls,
		MHD_OPTION_END);
	if (!d && h->key && !errno)
		err_input(e, "TLS cannot be had from tls_certificate = %s and tls_key = %s: see that they belong together and are PEM",
			  c->tls_certificate, c->tls_key);
	else if (!d)
		err_errno(e, "cannot listen at %s port %u", c->listen, c->port);
	return d;
}

struct http *http_start(struct server *s, struct err *e)
{
	struct http *h = calloc(1, sizeof *h);
	if (!h)
		BUG("out of memory");
	h->server = s;
	s->http = h;
	raise_descriptors();
	if (*s->conf.tls_certificate && (read_pem(s->conf.tls_certificate, &h->certificate, e) < 0 || read_pem(s->conf.tls_key, &h->key, e) < 0)) {
		free(h->certificate);
		free(h);
		return s->http = NULL;
	}
	h->deadlines = deadlines_start();
	h->linger = linger_start();
	h->daemon = start_daemon(h, e);
	if (!h->daemon) {
		http_stop(h);
		return s->http = NULL;
	}
	return h;
}

unsigned http_port(const struct http *h)
{
	const union MHD_DaemonInfo *i = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT);
	return i ? i->port : h->server->conf.port;
}

void http_quiesce(struct http *h)
{
	MHD_socket fd = MHD_quiesce_daemon(h->daemon);
	if (fd != MHD_INVALID_SOCKET)
		close(fd);
}

void http_stop(struct http *h)
{
	if (h->daemon)
		MHD_stop_daemon(h->daemon);
	deadlines_stop(h->deadlines);
	linger_stop(h->linger);
	free(h->certificate);
	free(h->key);
	free(h);
}

void http_figures(struct http *h, struct http_figures *out)
{
	*out = (struct http_figures){deadlines_open(h->deadlines), deadlines_late(h->deadlines), h->refused};
}
