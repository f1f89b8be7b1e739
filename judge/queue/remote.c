/* Talking to a judge on the web: see remote.h. */
#include "remote.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json_write.h"
#include "../../sandbox/base/keep.h"
#include "../../sandbox/base/tame.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <libgen.h>
#include <string.h>
#include <strings.h>

enum { CONNECT_S = 15, WHOLE_S = 120, ERROR_BYTES = 64 << 10 };

/* ---- libcurl ---- */

static struct curl {
	void *library;
	CURL *(*init)(void);
	CURLcode (*set)(CURL *, CURLoption, ...);
	CURLcode (*perform)(CURL *);
	CURLcode (*info)(CURL *, CURLINFO, ...);
	void (*cleanup)(CURL *);
	const char *(*error)(CURLcode);
	struct curl_slist *(*append)(struct curl_slist *, const char *);
	void (*free_list)(struct curl_slist *);
} curl;

static bool find_all(void)
{
	const struct {
		const char *name;
		void *place;
	} wanted[] = {
		{"curl_easy_init", &curl.init},		{"curl_easy_setopt", &curl.set},	{"curl_easy_perform", &curl.perform},
		{"curl_easy_getinfo", &curl.info},	{"curl_easy_cleanup", &curl.cleanup},	{"curl_easy_strerror", &curl.error},
		{"curl_slist_append", &curl.append},	{"curl_slist_free_all", &curl.free_list},
	};
	for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *found = dlsym(curl.library, wanted[i].name);
		if (!found)
			return false;
		memcpy(wanted[i].place, &found, sizeof found);
	}
	return true;
}

static int need_curl(struct err *e)
{
	static const char *const names[] = {"libcurl-gnutls.so.4", "libcurl.so.4"};
	for (unsigned i = 0; i < sizeof names / sizeof *names && !curl.library; i++) {
		curl.library = dlopen(names[i], RTLD_NOW);
		if (curl.library && !find_all()) {
			dlclose(curl.library);
			curl.library = NULL;
		}
	}
	return curl.library ? 0 : err_system(e, "to talk to a server libcurl is needed: install the package libcurl3-gnutls (or libcurl4)");
}

/* ---- where, and as whom ---- */

int remote_url(struct remote *r, const char *url, struct err *e)
{
	size_t scheme = !strncasecmp(url, "http://", 7) ? 7 : !strncasecmp(url, "https://", 8) ? 8 : 0;
	size_t n = strcspn(url, "?#");
	while (n && url[n - 1] == '/')
		n--;
	if (!scheme || n <= scheme)
		return err_input(e, "%.200s: write the whole address, as in https://judge.example.org", url);
	if (n >= sizeof r->url)
		return err_input(e, "this address is too long");
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)url[i] <= ' ' || url[i] == '@' || url[i] == 0x7f)
			return err_input(e, "the address must have no blanks, and no name or password in it");
	snprintf(r->url, sizeof r->url, "%.*s", (int)n, url);
	return 0;
}

/* ~/.config/judge/server.json */
static int kept_at(char *out, size_t size, struct err *e)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	if (config && *config == '/')
		snprintf(out, size, "%.400s/judge/server.json", config);
	else if (home && *home == '/')
		snprintf(out, size, "%.400s/.config/judge/server.json", home);
	else
		return err_input(e, "HOME is not set: there is no place for what judge login keeps");
	return 0;
}

int remote_load(struct remote *r, struct err *e)
{
	char path[440];
	const char *url, *token;
	struct err why = {0};
	memset(r, 0, sizeof *r);
	if (kept_at(path, sizeof path, e) < 0)
		return -1;
	CLEANUP(json_freep) struct json *j = json_read_file(path, path, &why);
	if (!j || json_string(j, json_root(j), "url", "the server's address", &url, &why) < 0 ||
	    json_string(j, json_root(j), "token", "its token", &token, &why) < 0)
		return err_input(e, "no server is known yet: sign in once by judge login URL");
	if (remote_url(r, url, e) < 0)
		return err_wrap(e, "%s", path);
	snprintf(r->token, sizeof r->token, "%s", token);
	return 0;
}

int remote_keep(const struct remote *r, struct err *e)
{
	char path[440], folder[440];
	CLEANUP_BUF struct buf text = {0};
	struct json_writer w = {.out = &text, .indent = true};
	if (kept_at(path, sizeof path, e) < 0)
		return -1;
	snprintf(folder, sizeof folder, "%s", path);
	if (keep_folder(dirname(folder), 0700) < 0)
		return err_input(e, "cannot make the folder of %s: %s", path, strerror(errno));
	json_open(&w, NULL, '{');
	json_write_string(&w, "url", r->url);
	json_write_string(&w, "token", r->token);
	json_close(&w, '}');
	buf_addc(&text, '\n');
	return keep_file(path, 0600, &(struct keep){.data = text.data, .size = text.size, .fd = -1}, e);
}

/* ---- a request ---- */

struct call {
	struct remote *remote;
	struct buf *out;
	bool too_long;
};

static size_t take_body(char *data, size_t one, size_t n, void *context)
{
	struct call *c = context;
	if (c->out->size + one * n > REMOTE_MAX_BYTES) {
		c->too_long = true;
		return 0;
	}
	buf_add(c->out, data, one * n);
	return one * n;
}

/* Set-Cookie: judge_session=...; HttpOnly */
static size_t take_header(char *data, size_t one, size_t n, void *context)
{
	static const char name[] = "set-cookie: judge_session=";
	struct call *c = context;
	size_t size = one * n, skip = sizeof name - 1 - strlen("judge_session=");
	if (size > sizeof name && !strncasecmp(data, name, sizeof name - 1)) {
		size_t length = 0;
		while (skip + length < size && !strchr(";\r\n", data[skip + length]))
			length++;
		if (length < sizeof c->remote->cookie)
			snprintf(c->remote->cookie, sizeof c->remote->cookie, "%.*s", (int)length, data + skip);
	}
	return size;
}

static struct curl_slist *headers_of(const struct remote *r, bool body)
{
	char line[600];
	struct curl_slist *h = curl.append(NULL, "Accept: application/json");
	if (body)
		h = curl.append(h, "Content-Type: application/json");
	if (*r->token) {
		snprintf(line, sizeof line, "Authorization: Bearer %s", r->token);
		h = curl.append(h, line);
	}
	if (*r->cookie) {
		snprintf(line, sizeof line, "Cookie: %s", r->cookie);
		h = curl.append(h, line);
		const char *host = strstr(r->url, "://") + 3;	/* an origin has no path */
		snprintf(line, sizeof line, "Origin: %.*s", (int)(host - r->url + (ptrdiff_t)strcspn(host, "/")), r->url);
		h = curl.append(h, line);
	}
	return h;
}

/* What the server says of its refusal, in its own words, harmless for a terminal. */
static int refusal(const struct remote *r, long status, const struct buf *answer, struct err *e)
{
	char text[1000];
	const struct cJSON *error;
	const char *message;
	if (status == 401)
		return err_input(e, "%s does not know you (any more): sign in by judge login %s", r->url, r->url);
	CLEANUP(json_freep) struct json *j = answer->size <= ERROR_BYTES ? json_parse(buf_str(answer), answer->size, "answer", &(struct err){0}) : NULL;
	if (!j || json_object(j, json_root(j), "error", "", &error, &(struct err){0}) < 0 ||
	    json_string(j, error, "message", "", &message, &(struct err){0}) < 0)
		return err_system(e, "%s answered with HTTP status %ld; is it a judge?", r->url, status);
	snprintf(text, sizeof text, "%s", message);
	tame(text);
	return status >= 500 ? err_system(e, "%s: %s", r->url, text) : err_input(e, "%s: %s", r->url, text);
}

static CURLcode perform(CURL *h, struct call *c, const char *method, const char *url, const struct buf *body, struct curl_slist *headers)
{
	curl.set(h, CURLOPT_URL, url);
	curl.set(h, CURLOPT_CUSTOMREQUEST, method);
	curl.set(h, CURLOPT_HTTPHEADER, headers);
	curl.set(h, CURLOPT_NOSIGNAL, 1L);
	curl.set(h, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl.set(h, CURLOPT_TIMEOUT, (long)WHOLE_S);
	curl.set(h, CURLOPT_USERAGENT, "judge/" JUDGE_VERSION);
	curl.set(h, CURLOPT_WRITEFUNCTION, take_body);
	curl.set(h, CURLOPT_WRITEDATA, c);
	curl.set(h, CURLOPT_HEADERFUNCTION, take_header);
	curl.set(h, CURLOPT_HEADERDATA, c);
	curl.set(h, CURLOPT_ACCEPT_ENCODING, "");
	if (body) {
		curl.set(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->size);
		curl.set(h, CURLOPT_POSTFIELDS, body->data);
	}
	return curl.perform(h);
}

static int request(struct remote *r, const char *method, const char *path, const struct buf *body, struct buf *out, struct err *e)
{
	char url[REMOTE_URL + 300];
	long status = 0;
	struct call c = {.remote = r, .out = out};
	if (need_curl(e) < 0)
		return -1;
	CURL *h = curl.init();
	if (!h)
		return err_system(e, "libcurl cannot start");
	snprintf(url, sizeof url, "%s/api/v1%s", r->url, path);
	struct curl_slist *headers = headers_of(r, body);
	CURLcode rc = perform(h, &c, method, url, body, headers);
	curl.info(h, CURLINFO_RESPONSE_CODE, &status);
	curl.free_list(headers);
	curl.cleanup(h);
	if (c.too_long)
		return err_system(e, "%s sends more than %d MB", r->url, REMOTE_MAX_BYTES >> 20);
	if (rc != CURLE_OK)
		return err_system(e, "cannot reach %s: %s", r->url, curl.error(rc));
	return status >= 200 && status < 300 ? 0 : refusal(r, status, out, e);
}

int remote_get(struct remote *r, const char *path, struct buf *out, struct err *e)
{
	return request(r, "GET", path, NULL, out, e);
}

int remote_call(struct remote *r, const char *method, const char *path, const struct buf *body, struct json **answer, struct err *e)
{
	CLEANUP_BUF struct buf out = {0};
	if (request(r, method, path, body, &out, e) < 0)
		return -1;
	struct json *j = NULL;
	if (out.size && !(j = json_parse(buf_str(&out), out.size, "the server's answer", e))) {
		e->kind = ERR_SYSTEM;
		return err_wrap(e, "%s", r->url);
	}
	*answer = j;
	return 0;
}
