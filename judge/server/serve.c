/* judge serve: the judge as a service.
 *
 * One process answers requests; workers grade, as its children, and are kept going by the supervisor.  All that lasts is in the
 * data folder.  On SIGTERM or SIGINT no more connections are taken, what is being answered is answered, gradings end or go back to
 * the queue.  A second signal ends it at once, which loses nothing either.
 */
#include "../command.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/keep.h"
#include "../paths.h"
#include "../queue/supervisor.h"
#include "../store/store.h"
#include "catalog.h"
#include "devices.h"
#include "events.h"
#include "files.h"
#include "http.h"
#include "lanes.h"
#include "log.h"
#include "metrics.h"
#include "place.h"
#include "rate.h"
#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static const char standard_conf[] = "judge.conf";

/* ---- configuration ---- */

/* A relative path is so from the folder of the file that gives it. */
static void beside(const char *file, char *path)
{
	char copy[PATH_MAX], full[CONF_TEXT];
	if (!file || !*path || *path == '/')
		return;
	snprintf(copy, sizeof copy, "%s", file);
	const char *folder = dirname(copy);
	if (!strcmp(folder, ".") || (size_t)snprintf(full, sizeof full, "%s/%s", folder, path) >= sizeof full)
		return;
	memcpy(path, full, sizeof full);
}

/* What is relative still is so from here. */
static int from_here(char *path, struct err *e)
{
	char full[CONF_TEXT];
	CLEANUP_FREE char *here = getcwd(NULL, 0);
	if (*path == '/')
		return 0;
	if (!here)
		return err_errno(e, "cannot tell the current folder");
	if ((size_t)snprintf(full, sizeof full, "%s/%s", here, path) >= sizeof full)
		return err_input(e, "the data folder %s/%s: this path is too long", here, path);
	memcpy(path, full, sizeof full);
	return 0;
}

static int configure(const struct options *o, struct conf *c, struct err *e)
{
	const char *file = o->config ? o->config : access(standard_conf, F_OK) == 0 ? standard_conf : NULL;
	conf_standard(c);
	if (file && conf_read(c, file, e) < 0)
		return -1;
	beside(file, c->data);
	beside(file, c->web);
	beside(file, c->tls_certificate);
	beside(file, c->tls_key);
	if (o->data && strlen(o->data) >= CONF_TEXT)
		return err_input(e, "--data: this path is too long");
	if (o->data)
		snprintf(c->data, sizeof c->data, "%s", o->data);
	if (o->port >= 0)
		c->port = (unsigned)o->port;
	if (o->workers)
		c->workers = o->workers;
	if (!*c->web)
		snprintf(c->web, sizeof c->web, "%.399s", paths()->web);
	return from_here(c->data, e);
}

/* ---- start ---- */

/* One server a data folder. */
static int lock_data(const char *data, struct err *e)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/serve.lock", data);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return err_input(e, "another judge serve has the data folder %s: stop it, or give another by --data", data);
	}
	return fd;
}

static int begin_store(struct server *s, struct err *e)
{
	unsigned char secret[32];
	CLEANUP(store_closep) struct store *store = store_open(s->database, e);
	if (!store || store_secret(s->data, secret, e) != STORE_OK)
		return -1;
	sodium_memzero(secret, sizeof secret);
	char uploads[PATH_MAX];
	snprintf(uploads, sizeof uploads, "%s/problems/", s->data);
	return catalog_begin(store, uploads, e);
}

static int start(struct server *s, const struct options *o, struct err *e)
{
	struct supervisor_options so = {.data = s->data, .workers = s->conf.workers, .unsandboxed = o->no_sandbox};
	if (begin_store(s, e) < 0 || devices_begin(e) < 0)
		return -1;
	s->rate = rate_new();
	s->metrics = metrics_new();
	s->catalog = catalog_new();
	s->curriculum = place_begin(s->data);
	s->files = files_open(s->conf.web);
	s->events = events_start(s->database, e);
	s->lanes = s->events ? lanes_start(s->database, s->conf.threads, http_work, e) : NULL;
	if (!s->lanes || !http_start(s, e))
		return -1;
	if (!o->no_workers) {
		s->supervisor = supervisor_start(&so, e);
		if (!s->supervisor)
			return -1;
	}
	return 0;
}

static void stop(struct server *s)
{
	s->stopping = true;
	if (s->http)
		http_quiesce(s->http);
	lanes_stop(s->lanes);
	if (s->events)
		events_end_all(s->events);
	if (s->http)
		http_stop(s->http);
	lanes_free(s->lanes);
	events_stop(s->events);
	if (s->supervisor)
		supervisor_stop(s->supervisor, s->conf.stop_seconds);
	files_close(s->files);
	catalog_free(s->catalog);
	curriculum_free(s->curriculum);
	metrics_free(s->metrics);
	rate_free(s->rate);
}

/* ---- what it says ---- */

static void greet(const struct server *s)
{
	const struct conf *c = &s->conf;
	int64_t admins = 1;
	struct err e = {0};
	CLEANUP(store_closep) struct store *store = store_open(s->database, &e);
	bool all = !strcmp(c->listen, "0.0.0.0") || !strcmp(c->listen, "::"), v6 = strchr(c->listen, ':');
	if (*c->url)
		printf("judge: %s\n", c->url);
	else
		printf("judge: %s://%s%s%s:%u/\n", *c->tls_certificate ? "https" : "http", v6 && !all ? "[" : "", all ? "localhost" : c->listen,
		       v6 && !all ? "]" : "", http_port(s->http));
	printf("judge: data in %s; stop with Ctrl-C\n", s->data);
	if (store && store_user_count(store, true, &admins, &e) == STORE_OK && !admins)
		printf("judge: there is no administrator yet; make one: judge user add NAME --role admin --data %s\n", s->data);
	struct address a;
	if (address_parse(c->listen, &a) == 0 && !address_loopback(&a) && !*c->tls_certificate && !c->proxies[0])
		printf("judge: without TLS passwords can be read on the way: see tls_certificate and proxies in judge.conf\n");
	fflush(stdout);
}

static int signal_pipe[2];

static void on_signal(int number)
{
	int saved = errno;
	signal(number, SIG_DFL);
	if (write(signal_pipe[1], "", 1) < 0)
		_exit(EXIT_JUDGE);
	errno = saved;
}

static void wait_for_signal(void)
{
	char c;
	while (read(signal_pipe[0], &c, 1) < 0 && errno == EINTR)
		;
	printf("judge: stopping\n");
	fflush(stdout);
}

static int serve(struct server *s, const struct options *o, struct err *e)
{
	if (networks_parse(s->conf.proxies, &s->proxies, e) < 0)
		return err_wrap(e, "proxies");
	if (keep_folder(s->conf.data, 0700) < 0)
		return err_errno(e, "cannot make the data folder %s", s->conf.data);
	CLEANUP_FREE char *data = realpath(s->conf.data, NULL);
	if (!data)
		return err_errno(e, "cannot use the data folder %s", s->conf.data);
	s->data = s->database = data;
	CLEANUP_FD int lock = lock_data(data, e);
	if (lock < 0)
		return -1;
	if (pipe2(signal_pipe, O_CLOEXEC) < 0)
		return err_errno(e, "cannot make a pipe");
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	int status = start(s, o, e);
	if (status == 0) {
		greet(s);
		wait_for_signal();
	}
	stop(s);
	return status;
}

int cmd_serve(const struct options *o)
{
	static struct server s;
	struct err e = {0};
	if (options_want(o, COMMAND_serve, 0, &e) < 0)
		return complain(&e);
	if (o->print_config) {
		CLEANUP_BUF struct buf text = {0};
		conf_print(&text);
		fputs(buf_str(&text), stdout);
		return 0;
	}
	if (sodium_init() < 0)
		BUG("libsodium does not start");
	if (configure(o, &s.conf, &e) < 0 || serve(&s, o, &e) < 0)
		return complain(&e);
	return 0;
}
