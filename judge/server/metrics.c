/* /healthz, and /metrics in Prometheus's text format: see metrics.h. */
#include "metrics.h"

#include "../../sandbox/base/clock.h"
#include "../queue/supervisor.h"
#include "auth.h"
#include "events.h"
#include "http.h"
#include "lanes.h"
#include "server.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_ROUTES = 80, BUCKETS = 8 };
static const double bounds[BUCKETS] = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2};

struct line {
	const char *route;
	unsigned long long status[6];	/* by its first digit */
};

struct metrics {
	pthread_mutex_t lock;
	double started, sum;
	unsigned long long buckets[BUCKETS + 1], n;
	unsigned lines;
	struct line line[MAX_ROUTES];
};

struct metrics *metrics_new(void)
{
	struct metrics *m = calloc(1, sizeof *m);
	if (!m)
		BUG("out of memory");
	pthread_mutex_init(&m->lock, NULL);
	m->started = clock_seconds();
	return m;
}

void metrics_free(struct metrics *m)
{
	free(m);
}

static struct line *line_of(struct metrics *m, const char *route)
{
	for (unsigned i = 0; i < m->lines; i++)
		if (!strcmp(m->line[i].route, route))
			return &m->line[i];
	if (m->lines == MAX_ROUTES)
		BUG("more routes than the metrics have room for");
	m->line[m->lines].route = route;
	return &m->line[m->lines++];
}

void metrics_request(struct metrics *m, const char *route, unsigned status, double seconds)
{
	int b = 0;
	while (b < BUCKETS && seconds > bounds[b])
		b++;
	pthread_mutex_lock(&m->lock);
	line_of(m, route)->status[status / 100 < 6 ? status / 100 : 5]++;
	m->buckets[b]++;
	m->sum += seconds;
	m->n++;
	pthread_mutex_unlock(&m->lock);
}

static void head(struct buf *b, const char *name, const char *type, const char *help)
{
	buf_printf(b, "# HELP judge_%s %s\n# TYPE judge_%s %s\n", name, help, name, type);
}

static void one(struct buf *b, const char *name, const char *type, const char *help, double value)
{
	head(b, name, type, help);
	buf_printf(b, "judge_%s %.15g\n", name, value);
}

static void put_requests(struct metrics *m, struct buf *b)
{
	unsigned long long sum = 0;
	pthread_mutex_lock(&m->lock);
	head(b, "http_requests_total", "counter", "Answers by route and class of status.");
	for (unsigned i = 0; i < m->lines; i++)
		for (int s = 1; s < 6; s++)
			if (m->line[i].status[s])
				buf_printf(b, "judge_http_requests_total{route=\"%s\",status=\"%dxx\"} %llu\n", m->line[i].route, s, m->line[i].status[s]);
	head(b, "http_request_seconds", "histogram", "From the first line of a request to its answer.");
	for (int i = 0; i < BUCKETS; i++)
		buf_printf(b, "judge_http_request_seconds_bucket{le=\"%g\"} %llu\n", bounds[i], sum += m->buckets[i]);
	buf_printf(b, "judge_http_request_seconds_bucket{le=\"+Inf\"} %llu\njudge_http_request_seconds_sum %.6f\njudge_http_request_seconds_count %llu\n",
		   m->n, m->sum, m->n);
	pthread_mutex_unlock(&m->lock);
}

/* Of this process, in bytes. */
static double resident(void)
{
	unsigned long long all = 0, here = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (f) {
		if (fscanf(f, "%llu %llu", &all, &here) != 2)
			here = 0;
		fclose(f);
	}
	return (double)here * (double)sysconf(_SC_PAGESIZE);
}

static void put_server(const struct server *s, struct buf *b)
{
	struct http_figures h;
	http_figures(s->http, &h);
	one(b, "uptime_seconds", "gauge", "Since the server started.", clock_seconds() - s->metrics->started);
	one(b, "resident_bytes", "gauge", "Memory of the server process.", resident());
	one(b, "connections", "gauge", "Open connections.", h.connections);
	one(b, "connections_late_total", "counter", "Connections that were shut down as too slow.", h.late);
	one(b, "requests_refused_total", "counter", "Requests whose head was not well-formed.", (double)h.refused);
	one(b, "event_streams", "gauge", "Open event streams.", events_open(s->events));
	head(b, "lane_waiting", "gauge", "Requests that wait for a thread.");
	buf_printf(b, "judge_lane_waiting{lane=\"quick\"} %u\njudge_lane_waiting{lane=\"slow\"} %u\n",
		   lanes_waiting(s->lanes, LANE_QUICK), lanes_waiting(s->lanes, LANE_SLOW));
	if (s->supervisor) {
		struct supervisor_health w;
		supervisor_health(s->supervisor, &w);
		one(b, "workers_wanted", "gauge", "Grading processes that there should be.", w.wanted);
		one(b, "workers_running", "gauge", "Grading processes that there are.", w.running);
		one(b, "worker_restarts_total", "counter", "Grading processes that were started again.", (double)w.restarts);
	}
}

static void put_store(const struct store_counts *c, struct buf *b)
{
	head(b, "judgings", "gauge", "Judgings by state.");
	buf_printf(b, "judge_judgings{state=\"queued\"} %lld\njudge_judgings{state=\"running\"} %lld\njudge_judgings{state=\"done\"} %lld\n"
		      "judge_judgings{state=\"cancelled\"} %lld\n",
		   (long long)c->queued, (long long)c->running, (long long)c->done, (long long)c->cancelled);
	one(b, "judgings_system_error", "gauge", "Judgings that ended with the judge's own failure.", (double)c->system_errors);
	one(b, "queue_oldest_seconds", "gauge", "How long the oldest judging in the queue has waited.",
	    c->oldest_queued ? (double)(store_now() - c->oldest_queued) / 1e3 : 0);
	one(b, "users", "gauge", "Accounts.", (double)c->users);
	one(b, "submissions", "gauge", "Submissions.", (double)c->submissions);
}

static void put_metrics(struct request *r)
{
	struct store_counts c;
	struct err e = {0};
	if (!reply_stored(r, store_count(r->store, &c, &e), &e, MESSAGE_conflict, NULL))
		return;
	reply_text(r, 200, "text/plain; version=0.0.4; charset=utf-8", "");
	put_requests(r->server->metrics, &r->reply.body);
	put_server(r->server, &r->reply.body);
	put_store(&c, &r->reply.body);
}

/* Fit to serve: the database answers, and somebody grades. */
static void put_health(struct request *r)
{
	struct store_counts c;
	struct err e = {0};
	struct supervisor_health w = {0};
	bool stored = store_count(r->store, &c, &e) == STORE_OK;
	if (r->server->supervisor)
		supervisor_health(r->server->supervisor, &w);
	bool graded = !r->server->supervisor || w.running > 0;
	const char *status = r->server->stopping ? "stopping" : !stored ? "no database" : !graded ? "no workers" : "ok";
	struct json_writer *j = reply_json(r, strcmp(status, "ok") ? 503 : 200);
	json_open(j, NULL, '{');
	json_write_string(j, "status", status);
	json_close(j, '}');
}

void metrics_page(struct request *r)
{
	if (strcmp(r->method, "GET") && strcmp(r->method, "HEAD")) {
		reply_refuse(r, MESSAGE_no_method, NULL, "GET, HEAD", NULL);
		reply_header(r, "Allow", "GET, HEAD");
	} else if (!strcmp(r->path, "/healthz")) {
		put_health(r);
	} else if (auth_identify(r)) {
		/* a proxy on this machine is no visitor from this machine */
		bool here = address_loopback(&r->address) && !request_header(r, "X-Forwarded-For") && !request_header(r, "Forwarded");
		if (here || r->server->conf.public_metrics || request_role(r, ROLE_ADMIN))
			put_metrics(r);
		else
			reply_refuse(r, MESSAGE_forbidden, NULL, NULL);
	}
}
