/* The head of a request: see guard.h.
 *
 * What two servers in a row could read differently lets one smuggle a request past the first: where a body ends must be
 * beyond doubt.  libmicrohttpd takes several forms that leave doubt; they are refused here, by walking all headers.
 */
#include "guard.h"

#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct walk {
	unsigned lengths, encodings, hosts, origins, authorizations, count;
	const char *length, *encoding, *wrong;
};

enum { MAX_HEADERS = 100 };

static bool is_token(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("!#$%&'*+-.^_`|~", s[i]))
			return false;
	return n > 0;
}

static bool is_value(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool is(const char *name, size_t n, const char *wanted)
{
	return n == strlen(wanted) && !strncasecmp(name, wanted, n);
}

static enum MHD_Result look(void *user, enum MHD_ValueKind kind, const char *name, size_t n_name, const char *value, size_t n_value)
{
	struct walk *w = user;
	(void)kind;
	value = value ? value : "";
	if (++w->count > MAX_HEADERS)
		w->wrong = "too many headers";
	else if (!is_token(name, n_name))
		w->wrong = "a header's name has a character that it must not have";
	else if (!is_value(value, n_value))
		w->wrong = "a header's value has a control character";
	if (w->wrong)
		return MHD_NO;
	if (is(name, n_name, "Content-Length")) {
		w->lengths++;
		w->length = value;
	} else if (is(name, n_name, "Transfer-Encoding")) {
		w->encodings++;
		w->encoding = value;
	}
	w->hosts += is(name, n_name, "Host");
	w->origins += is(name, n_name, "Origin");
	w->authorizations += is(name, n_name, "Authorization");
	return MHD_YES;
}

static const char *body_length(const struct walk *w, const char *version, struct guarded *out)
{
	out->length = 0;
	if (w->encodings) {
		if (strcmp(version, "HTTP/1.1") != 0)
			return "Transfer-Encoding is of HTTP/1.1";
		if (strcasecmp(w->encoding, "chunked") != 0)
			return "of Transfer-Encoding only chunked is known";
		out->length = -1;
	}
	if (w->lengths) {
		char *end;
		errno = 0;
		out->length = strtoll(w->length, &end, 10);
		if (!isdigit((unsigned char)*w->length) || *end || errno)
			return "Content-Length is not a number";
	}
	return NULL;
}

const char *guard_head(struct MHD_Connection *c, const char *version, struct guarded *out)
{
	struct walk w = {0};
	MHD_get_connection_values_n(c, MHD_HEADER_KIND, look, &w);
	if (w.wrong)
		return w.wrong;
	if (strcmp(version, "HTTP/1.1") && strcmp(version, "HTTP/1.0"))
		return "the version is neither HTTP/1.1 nor HTTP/1.0";
	if (w.lengths > 1)
		return "Content-Length is given twice";
	if (w.encodings > 1)
		return "Transfer-Encoding is given twice";
	if (w.lengths && w.encodings)
		return "both Content-Length and Transfer-Encoding are given";
	if (w.hosts > 1 || (!w.hosts && !strcmp(version, "HTTP/1.1")))
		return "Host must be given once";
	if (w.origins > 1 || w.authorizations > 1)
		return "Origin or Authorization is given twice";
	return body_length(&w, version, out);
}
