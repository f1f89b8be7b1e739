/* Reading a request: see request.h. */
#include "request.h"

#include "../../sandbox/base/cleanup.h"

#include <ctype.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- target ---- */

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Percent escapes (and, in a query, "+") away.  NULL: one is bad, or what comes out is no text of one line. */
static char *decode(struct arena *a, const char *from, size_t size, bool query)
{
	char *out = arena_alloc(a, size + 1), *to = out;
	for (size_t i = 0; i < size; i++) {
		char c = from[i];
		if (c == '%') {
			if (i + 2 >= size || hex(from[i + 1]) < 0 || hex(from[i + 2]) < 0)
				return NULL;
			c = (char)(hex(from[i + 1]) << 4 | hex(from[i + 2]));
			i += 2;
		} else if (c == '+' && query) {
			c = ' ';
		}
		if ((unsigned char)c < 0x20 || c == 0x7f)
			return NULL;
		*to++ = c;
	}
	return utf8_valid(out, (size_t)(to - out), NULL) ? out : NULL;
}

static bool split_query(struct request *r, const char *at)
{
	const struct pair **end = &r->query;
	while (*at) {
		size_t n = strcspn(at, "&"), name = strcspn(at, "=&");
		size_t value = name < n ? name + 1 : n;
		if (n) {
			struct pair *p = arena_new_array(r->arena, struct pair, 1);
			p->name = decode(r->arena, at, name, true);
			p->value = decode(r->arena, at + value, n - value, true);
			if (!p->name || !p->value)
				return false;
			*end = p;
			end = (const struct pair **)&p->next;
		}
		at += n + (at[n] == '&');
	}
	return true;
}

bool request_split(struct request *r)
{
	size_t n = strcspn(r->target, "?");
	r->path = decode(r->arena, r->target, n, false);
	if (!r->path || *r->path != '/' || strchr(r->target, '#'))
		return false;
	return !r->target[n] || split_query(r, r->target + n + 1);
}

const char *request_query(const struct request *r, const char *name)
{
	for (const struct pair *p = r->query; p; p = p->next)
		if (!strcmp(p->name, name))
			return p->value;
	return NULL;
}

/* ---- headers ---- */

const char *request_header(const struct request *r, const char *name)
{
	return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

bool request_cookie(const struct request *r, const char *name, char *out, size_t size)
{
	const char *at = request_header(r, "Cookie");
	size_t n = strlen(name);
	while (at && *at) {
		at += strspn(at, " \t;");
		size_t all = strcspn(at, ";");
		if (all > n && !strncmp(at, name, n) && at[n] == '=') {
			size_t value = all - n - 1;
			if (value >= size)
				return false;
			memcpy(out, at + n + 1, value);
			out[value] = 0;
			return true;
		}
		at += all;
	}
	return false;
}

/* Of en and zh the one with the greater q; the earlier if they are equal. */
static const char *accepted(const char *header)
{
	const char *best = "en";
	double most = 0;
	for (const char *at = header; at && *at;) {
		at += strspn(at, " \t,");
		size_t n = strcspn(at, ",");
		const char *q = memmem(at, n, "q=", 2);
		double weight = q ? atof(q + 2) : 1;
		bool zh = !strncasecmp(at, "zh", 2), en = !strncasecmp(at, "en", 2);
		if ((zh || en) && weight > most) {
			most = weight;
			best = zh ? "zh" : "en";
		}
		at += n;
	}
	return best;
}

const char *request_lang(const struct request *r)
{
	const char *asked = request_query(r, "lang");
	if (!asked && r->caller.id)
		asked = r->caller.user.language;
	if (asked && (!strcmp(asked, "en") || !strcmp(asked, "zh")))
		return strcmp(asked, "zh") ? "en" : "zh";
	return accepted(request_header(r, "Accept-Language"));
}

bool request_role(const struct request *r, enum store_role least)
{
	return r->caller.role >= (int)least;
}

/* ---- JSON ---- */

static const struct cJSON *member(struct request *r, const char *field, bool needed, bool *ok)
{
	const struct cJSON *v = json_get(json_root(r->json), field);
	*ok = v || !needed || reply_refuse(r, MESSAGE_missing, field, field, NULL);
	return v;
}

bool request_only(struct request *r, const char *const *names)
{
	for (const struct cJSON *v = json_first(json_root(r->json)); v; v = json_next(v)) {
		const char *const *n = names;
		while (*n && strcmp(*n, json_key(v)))
			n++;
		if (!*n)
			return reply_refuse(r, MESSAGE_unknown_field, json_key(v), json_key(v), NULL);
	}
	return true;
}

static size_t characters(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += (*s & 0xc0) != 0x80;
	return n;
}

bool request_text(struct request *r, const char *field, bool needed, size_t min, size_t max, const char **out)
{
	bool ok;
	char number[24];
	const struct cJSON *v = member(r, field, needed, &ok);
	if (!v)
		return ok;
	if (!json_is_string(v))
		return reply_refuse(r, MESSAGE_want_string, field, field, NULL);
	size_t n = characters(json_text(v));
	if (n < min) {
		snprintf(number, sizeof number, "%zu", min);
		return reply_refuse(r, MESSAGE_too_short, field, field, number, NULL);
	}
	if (n > max) {
		snprintf(number, sizeof number, "%zu", max);
		return reply_refuse(r, MESSAGE_too_long, field, field, number, NULL);
	}
	*out = json_text(v);
	return true;
}

/* Control characters, and those that turn the direction of text around them. */
static bool one_line(const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		if (*s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f))
			return false;
		if (*s == 0xe2 && s[1] == 0x80 && ((s[2] >= 0xa8 && s[2] <= 0xae) || s[2] == 0x8e || s[2] == 0x8f))
			return false;
		if (*s == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9)
			return false;
	}
	return true;
}

bool request_line(struct request *r, const char *field, bool needed, size_t min, size_t max, const char **out)
{
	const char *text = NULL;
	if (!request_text(r, field, needed, min, max, &text))
		return false;
	if (text && !one_line(text))
		return reply_refuse(r, MESSAGE_control_characters, field, field, NULL);
	if (text)
		*out = text;
	return true;
}

static bool want_integer(struct request *r, const char *field, int64_t min, int64_t max)
{
	char least[24], most[24];
	snprintf(least, sizeof least, "%lld", (long long)min);
	snprintf(most, sizeof most, "%lld", (long long)max);
	return reply_refuse(r, MESSAGE_want_integer, field, field, least, most, NULL);
}

bool request_integer(struct request *r, const char *field, bool needed, int64_t min, int64_t max, int64_t *out)
{
	bool ok;
	const struct cJSON *v = member(r, field, needed, &ok);
	if (!v)
		return ok;
	if (!json_is_integer(v) || json_value(v) < (double)min || json_value(v) > (double)max)
		return want_integer(r, field, min, max);
	*out = (int64_t)json_value(v);
	return true;
}

bool request_bool(struct request *r, const char *field, bool *out)
{
	struct err e;
	if (!json_get(json_root(r->json), field))
		return true;
	if (json_bool(r->json, json_root(r->json), field, out, &e) < 0)
		return reply_refuse(r, MESSAGE_want_bool, field, field, NULL);
	return true;
}

bool request_word(struct request *r, const char *field, bool needed, const char *const *words, const char **out)
{
	const char *text = NULL;
	CLEANUP_BUF struct buf list = {0};
	if (!request_text(r, field, needed, 0, 100, &text))
		return false;
	if (!text)
		return true;
	for (const char *const *w = words; *w; w++) {
		if (!strcmp(*w, text)) {
			*out = *w;
			return true;
		}
		buf_printf(&list, "%s%s", w == words ? "" : ", ", *w);
	}
	return reply_refuse(r, MESSAGE_want_one_of, field, field, buf_str(&list), NULL);
}

/* ---- times and numbers ---- */

static bool digits(const char **at, int n, int *out)
{
	*out = 0;
	for (; n; n--, ++*at) {
		if (!isdigit((unsigned char)**at))
			return false;
		*out = *out * 10 + (**at - '0');
	}
	return true;
}

static bool sign(const char **at, char c)
{
	return *(*at)++ == c;
}

int time_parse(const char *s, int64_t *out)
{
	struct tm tm = {0};
	int year, month, ms = 0, hours = 0, minutes = 0, east = 1;
	if (!digits(&s, 4, &year) || !sign(&s, '-') || !digits(&s, 2, &month) || !sign(&s, '-') || !digits(&s, 2, &tm.tm_mday) ||
	    !sign(&s, 'T') || !digits(&s, 2, &tm.tm_hour) || !sign(&s, ':') || !digits(&s, 2, &tm.tm_min))
		return -1;
	if (*s == ':' && (s++, !digits(&s, 2, &tm.tm_sec)))
		return -1;
	if (*s == '.') {
		s++;
		for (int i = 0, place = 100; isdigit((unsigned char)*s) && i < 9; i++, place /= 10)
			ms += (*s++ - '0') * place;
	}
	if (*s == '+' || *s == '-') {
		east = *s++ == '+' ? 1 : -1;
		if (!digits(&s, 2, &hours) || (*s == ':' && !s++) || !digits(&s, 2, &minutes))
			return -1;
	} else if (*s++ != 'Z') {
		return -1;
	}
	if (*s || year < 1970 || year > 9999 || month < 1 || month > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 || tm.tm_hour > 23 ||
	    tm.tm_min > 59 || tm.tm_sec > 59 || hours > 14 || minutes > 59)
		return -1;
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	int day = tm.tm_mday;
	int64_t seconds = timegm(&tm);
	if (tm.tm_mday != day)		/* February 30 */
		return -1;
	*out = (seconds - east * (hours * 3600 + minutes * 60)) * 1000 + ms;
	return 0;
}

bool request_time(struct request *r, const char *field, bool needed, int64_t *out)
{
	const char *text = NULL;
	if (!request_text(r, field, needed, 0, 100, &text))
		return false;
	if (text && time_parse(text, out) < 0)
		return reply_refuse(r, MESSAGE_want_time, field, field, NULL);
	return true;
}

bool request_query_time(struct request *r, const char *name, int64_t *out)
{
	const char *text = request_query(r, name);
	if (text && *text && time_parse(text, out) < 0)
		return reply_refuse(r, MESSAGE_want_time, name, name, NULL);
	return true;
}

static bool number(const char *text, int64_t *out)
{
	char *end;
	errno = 0;
	*out = strtoll(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

bool request_id(struct request *r, int i, int64_t *out)
{
	if (number(r->arguments[i], out) && *out > 0)
		return true;
	return reply_refuse(r, MESSAGE_not_found, NULL, NULL);
}

bool request_query_integer(struct request *r, const char *name, int64_t min, int64_t max, int64_t *out)
{
	const char *text = request_query(r, name);
	int64_t v;
	if (!text || !*text)
		return true;
	if (!number(text, &v) || v < min || v > max)
		return want_integer(r, name, min, max);
	*out = v;
	return true;
}

bool request_cursor(struct request *r, int64_t *out)
{
	const char *text = request_query(r, "cursor");
	*out = 0;
	if (text && *text && (!number(text, out) || *out < 0))
		return reply_refuse(r, MESSAGE_bad_cursor, "cursor", NULL);
	return true;
}
