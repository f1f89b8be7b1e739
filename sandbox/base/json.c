/* Strict JSON over cJSON: see json.h.
 *
 * A scan comes first.  It checks what cJSON lets pass (UTF-8, control characters, number grammar, depth, \u0000) and
 * knows the line of what it refuses.  What passes the scan goes to cJSON for the tree; keys are then checked for
 * duplicates.  The path of a value is found by a search from the root, only when a message needs it.
 */
#include "json.h"

#include "buf.h"
#include "cleanup.h"
#include "nearest.h"
#include "tame.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct json {
	cJSON *root;
	char *what;
};

/* ---- UTF-8 ---- */

static size_t utf8_length(const unsigned char *p, size_t left)
{
	unsigned c = p[0];
	if (c < 0x80)
		return 1;
	size_t n = c >= 0xc2 && c <= 0xdf ? 2 : (c & 0xf0) == 0xe0 ? 3 : c >= 0xf0 && c <= 0xf4 ? 4 : 0;
	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f) || (c == 0xf0 && p[1] < 0x90) ||
	    (c == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

bool utf8_valid(const char *text, size_t size, size_t *where)
{
	for (size_t i = 0; i < size;) {
		size_t n = utf8_length((const unsigned char *)text + i, size - i);
		if (!n) {
			if (where)
				*where = i;
			return false;
		}
		i += n;
	}
	return true;
}

/* ---- the scan ---- */

struct scan {
	const char *text, *at, *end;
	const char *what;
	struct err *e;
};

__attribute__((format(printf, 3, 4)))
static int refuse(struct scan *s, const char *where, const char *fmt, ...)
{
	int line = 1, column = 1;
	for (const char *p = s->text; p < where && p < s->end; p++) {
		column++;
		if (*p == '\n') {
			line++;
			column = 1;
		}
	}
	char text[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return err_input(s->e, "%s: line %d, column %d: %s", s->what, line, column, text);
}

static void skip_space(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static int peek(const struct scan *s)
{
	return s->at < s->end ? (unsigned char)*s->at : -1;
}

static int hex4(const char *p, const char *end, unsigned *out)
{
	unsigned v = 0;
	for (int i = 0; i < 4; i++, p++) {
		if (p >= end)
			return -1;
		unsigned char c = (unsigned char)*p;
		unsigned low = c | 32u, d = c >= '0' && c <= '9' ? c - 48u : low >= 'a' && low <= 'f' ? low - 'a' + 10u : 16u;
		if (d > 15)
			return -1;
		v = v << 4 | d;
	}
	*out = v;
	return 0;
}

static int scan_escape(struct scan *s)
{
	const char *start = s->at++;
	int c = peek(s);
	if (c != 'u') {
		if (c < 0 || !strchr("\"\\/bfnrt", c) || !c)
			return refuse(s, start, "no such escape: JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX");
		s->at++;
		return 0;
	}
	unsigned v, w;
	if (hex4(s->at + 1, s->end, &v) < 0)
		return refuse(s, start, "\\u wants four hexadecimal digits");
	if (v == 0)
		return refuse(s, start, "\\u0000 is not allowed in a string");
	s->at += 5;
	if (v >= 0xdc00 && v <= 0xdfff)
		return refuse(s, start, "half of a surrogate pair");
	if (v >= 0xd800 && v <= 0xdbff) {
		if (s->end - s->at < 6 || s->at[0] != '\\' || s->at[1] != 'u' || hex4(s->at + 2, s->end, &w) < 0 ||
		    w < 0xdc00 || w > 0xdfff)
			return refuse(s, start, "half of a surrogate pair");
		s->at += 6;
	}
	return 0;
}

static int scan_string(struct scan *s)
{
	const char *start = s->at++;
	for (;;) {
		int c = peek(s);
		if (c < 0)
			return refuse(s, start, "this string has no closing quote");
		if (c == '"') {
			s->at++;
			return 0;
		}
		if (c < 0x20)
			return refuse(s, s->at, c == '\n' ? "a string ends at the end of its line: write \\n inside it" :
				      "control character 0x%02x in a string: write it as \\u%04x", c, c);
		if (c == '\\') {
			if (scan_escape(s) < 0)
				return -1;
		} else {
			s->at++;
		}
	}
}

static bool digits(struct scan *s)
{
	const char *start = s->at;
	while (peek(s) >= '0' && peek(s) <= '9')
		s->at++;
	return s->at > start;
}

static int scan_number(struct scan *s)
{
	const char *start = s->at;
	if (peek(s) == '-')
		s->at++;
	const char *first = s->at;
	bool good = digits(s) && (*first != '0' || s->at == first + 1);
	if (good && peek(s) == '.') {
		s->at++;
		good = digits(s);
	}
	if (good && (peek(s) | 32) == 'e') {
		s->at++;
		if (peek(s) == '+' || peek(s) == '-')
			s->at++;
		good = digits(s);
	}
	if (!good)
		return refuse(s, start, "not a JSON number");
	if (s->at - start > 60)
		return refuse(s, start, "a number of more than 60 characters");
	char copy[64];
	memcpy(copy, start, (size_t)(s->at - start));
	copy[s->at - start] = 0;
	if (!isfinite(strtod(copy, NULL)))
		return refuse(s, start, "this number is too large");
	return 0;
}

static int scan_value(struct scan *s, int depth);

/* The inside of {...} or [...], from after its opening bracket. */
static int scan_inside(struct scan *s, int depth, char close)
{
	skip_space(s);
	if (peek(s) == close) {
		s->at++;
		return 0;
	}
	for (;;) {
		skip_space(s);
		if (close == '}') {
			if (peek(s) != '"')
				return refuse(s, s->at, peek(s) == '}' ? "a comma before }: remove it" : "a key in double quotes is missing here");
			if (scan_string(s) < 0)
				return -1;
			skip_space(s);
			if (peek(s) != ':')
				return refuse(s, s->at, "\":\" is missing after the key");
			s->at++;
			skip_space(s);
		} else if (peek(s) == ']') {
			return refuse(s, s->at, "a comma before ]: remove it");
		}
		if (scan_value(s, depth + 1) < 0)
			return -1;
		skip_space(s);
		if (peek(s) == close) {
			s->at++;
			return 0;
		}
		if (peek(s) != ',')
			return refuse(s, s->at, peek(s) < 0 ? "the text ends before its \"%c\"" : "\",\" or \"%c\" is missing here", close);
		s->at++;
	}
}

static int scan_value(struct scan *s, int depth)
{
	static const char *const words[] = {"true", "false", "null"};
	int c = peek(s);
	if (depth > JSON_MAX_DEPTH)
		return refuse(s, s->at, "nested deeper than %d levels", JSON_MAX_DEPTH);
	if (c == '{' || c == '[') {
		s->at++;
		return scan_inside(s, depth, c == '{' ? '}' : ']');
	}
	if (c == '"')
		return scan_string(s);
	if (c == '-' || (c >= '0' && c <= '9'))
		return scan_number(s);
	for (unsigned i = 0; i < 3; i++) {
		size_t n = strlen(words[i]);
		if ((size_t)(s->end - s->at) >= n && !memcmp(s->at, words[i], n)) {
			s->at += n;
			return 0;
		}
	}
	if (c < 0)
		return refuse(s, s->at, s->at == s->text ? "the file is empty" : "the text ends where a value should be");
	return refuse(s, s->at, "this is no JSON value (a string wants double quotes; comments are not allowed)");
}

static int scan_document(struct scan *s)
{
	size_t bad;
	if (s->end - s->text > JSON_MAX_BYTES)
		return err_input(s->e, "%s: %zu bytes; at most %d are read", s->what, (size_t)(s->end - s->text), JSON_MAX_BYTES);
	if (!utf8_valid(s->text, (size_t)(s->end - s->text), &bad))
		return refuse(s, s->text + bad, "byte 0x%02x is not UTF-8: save the file as UTF-8",
			      (unsigned char)s->text[bad]);
	skip_space(s);
	if (scan_value(s, 0) < 0)
		return -1;
	skip_space(s);
	if (s->at < s->end)
		return refuse(s, s->at, "text after the end of the JSON value");
	return 0;
}

/* ---- documents ---- */

static int by_key(const void *a, const void *b)
{
	return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

static int check_keys(const struct json *j, const cJSON *object, struct err *e)
{
	size_t n = json_count(object), i = 0;
	CLEANUP_FREE const cJSON **members = malloc((n + 1) * sizeof *members);
	const cJSON *child;
	if (!members)
		BUG("out of memory");
	cJSON_ArrayForEach(child, object)
		members[i++] = child;
	qsort(members, n, sizeof *members, by_key);
	for (i = 1; i < n; i++)
		if (!strcmp(members[i - 1]->string, members[i]->string))
			return json_fail(j, members[i], e, "this key is there twice: remove one");
	return 0;
}

static int check_duplicates(const struct json *j, const cJSON *v, struct err *e)
{
	const cJSON *child;
	if (cJSON_IsObject(v) && check_keys(j, v, e) < 0)
		return -1;
	cJSON_ArrayForEach(child, v)
		if (check_duplicates(j, child, e) < 0)
			return -1;
	return 0;
}

struct json *json_parse(const char *text, size_t size, const char *what, struct err *e)
{
	struct scan s = {.text = text, .at = text, .end = text + size, .what = what, .e = e};
	if (scan_document(&s) < 0)
		return NULL;
	struct json *j = calloc(1, sizeof *j);
	if (!j)
		BUG("out of memory");
	j->what = strdup(what);
	j->root = cJSON_ParseWithLength(text, size);
	if (!j->root) {
		err_input(e, "%s: not JSON", what);
		json_free(j);
		return NULL;
	}
	if (check_duplicates(j, j->root, e) < 0) {
		json_free(j);
		return NULL;
	}
	return j;
}

struct json *json_read_file(const char *path, const char *what, struct err *e)
{
	CLEANUP_BUF struct buf text = {0};
	if (buf_read_file(&text, path, JSON_MAX_BYTES, e) < 0)
		return NULL;
	return json_parse(buf_str(&text), text.size, what, e);
}

void json_free(struct json *j)
{
	if (!j)
		return;
	cJSON_Delete(j->root);
	free(j->what);
	free(j);
}

void json_freep(struct json **j)
{
	json_free(*j);
}

const struct cJSON *json_root(const struct json *j)
{
	return j->root;
}

/* ---- messages ---- */

/* Append the path from `from` down to `to`; false (and nothing appended) if it is not below. */
static bool find_path(const cJSON *from, const cJSON *to, struct buf *path)
{
	if (from == to)
		return true;
	const cJSON *child;
	int i = 0;
	size_t mark = path->size;
	cJSON_ArrayForEach(child, from) {
		if (cJSON_IsObject(from))
			buf_printf(path, "%s%s", mark ? "." : "", child->string);
		else
			buf_printf(path, "[%d]", i++);
		if (find_path(child, to, path))
			return true;
		path->size = mark;
		path->data[mark] = 0;
	}
	return false;
}

static void path_of(const struct json *j, const cJSON *v, const char *field, struct buf *path)
{
	if (!find_path(j->root, v, path))
		BUG("a value of another document");
	if (field)
		buf_printf(path, "%s%s", path->size ? "." : "", field);
}

/* Keys and strings are anybody's, and messages go to terminals. */
static int tamed(struct err *e)
{
	if (e)
		tame(e->text);
	return -1;
}

int json_fail(const struct json *j, const struct cJSON *v, struct err *e, const char *fmt, ...)
{
	char text[1500];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	CLEANUP_BUF struct buf path = {0};
	path_of(j, v, NULL, &path);
	err_input(e, "%s: %s%s%s", j->what, buf_str(&path), path.size ? ": " : "", text);
	return tamed(e);
}

/* What a value is, for "is 3, ..." in messages. */
static void show_value(const cJSON *v, char *out, size_t size)
{
	if (cJSON_IsString(v))
		snprintf(out, size, "\"%.40s%s\"", v->valuestring, strlen(v->valuestring) > 40 ? "..." : "");
	else if (cJSON_IsNumber(v))
		snprintf(out, size, "%.12g", v->valuedouble);
	else
		snprintf(out, size, "%s", cJSON_IsBool(v) ? (cJSON_IsTrue(v) ? "true" : "false") :
			 cJSON_IsObject(v) ? "an object" : cJSON_IsArray(v) ? "an array" : "null");
}

/* The member, or NULL and a message that it is missing or of another kind. */
static const cJSON *want(const struct json *j, const cJSON *object, const char *field, const char *right,
			 cJSON_bool (*is)(const cJSON *), struct err *e)
{
	CLEANUP_BUF struct buf path = {0};
	const cJSON *v = json_get(object, field);
	if (v && is(v))
		return v;
	path_of(j, object, field, &path);
	if (!v) {
		err_input(e, "%s: field %s is missing: write %s", j->what, buf_str(&path), right);
		tamed(e);
		return NULL;
	}
	char shown[80];
	show_value(v, shown, sizeof shown);
	err_input(e, "%s: field %s is %s: write %s", j->what, buf_str(&path), shown, right);
	tamed(e);
	return NULL;
}

/* ---- getters ---- */

int json_string(const struct json *j, const struct cJSON *object, const char *field, const char *right,
		const char **out, struct err *e)
{
	const cJSON *v = want(j, object, field, right, cJSON_IsString, e);
	if (!v)
		return -1;
	*out = v->valuestring;
	return 0;
}

int json_number(const struct json *j, const struct cJSON *object, const char *field, double min, double max,
		double *out, struct err *e)
{
	char right[100];
	snprintf(right, sizeof right, "a number from %.12g to %.12g", min, max);
	const cJSON *v = want(j, object, field, right, cJSON_IsNumber, e);
	if (!v)
		return -1;
	if (!(v->valuedouble >= min && v->valuedouble <= max))
		return json_fail(j, v, e, "%.12g is out of range: write %s", v->valuedouble, right);
	*out = v->valuedouble;
	return 0;
}

int json_integer(const struct json *j, const struct cJSON *object, const char *field, int64_t min, int64_t max,
		 int64_t *out, struct err *e)
{
	char right[100];
	if (min == max)
		snprintf(right, sizeof right, "%lld", (long long)min);
	else
		snprintf(right, sizeof right, "a whole number from %lld to %lld", (long long)min, (long long)max);
	const cJSON *v = want(j, object, field, right, cJSON_IsNumber, e);
	if (!v)
		return -1;
	if (!json_is_integer(v) || v->valuedouble < (double)min || v->valuedouble > (double)max)
		return json_fail(j, v, e, "%.17g is not right: write %s", v->valuedouble, right);
	*out = (int64_t)v->valuedouble;
	return 0;
}

int json_bool(const struct json *j, const struct cJSON *object, const char *field, bool *out, struct err *e)
{
	const cJSON *v = want(j, object, field, "true or false", cJSON_IsBool, e);
	if (!v)
		return -1;
	*out = cJSON_IsTrue(v);
	return 0;
}

int json_object(const struct json *j, const struct cJSON *object, const char *field, const char *right,
		const struct cJSON **out, struct err *e)
{
	const cJSON *v = want(j, object, field, right, cJSON_IsObject, e);
	if (!v)
		return -1;
	*out = v;
	return 0;
}

int json_array(const struct json *j, const struct cJSON *object, const char *field, const char *right,
	       const struct cJSON **out, struct err *e)
{
	const cJSON *v = want(j, object, field, right, cJSON_IsArray, e);
	if (!v)
		return -1;
	*out = v;
	return 0;
}

const struct cJSON *json_get(const struct cJSON *object, const char *field)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, field);
	return cJSON_IsNull(v) ? NULL : v;
}

int json_only(const struct json *j, const struct cJSON *object, const char *const *names, struct err *e)
{
	const cJSON *v;
	cJSON_ArrayForEach(v, object) {
		bool known = false;
		for (size_t i = 0; names[i] && !known; i++)
			known = !strcmp(names[i], v->string);
		if (known)
			continue;
		const char *near = nearest_name(v->string, names, 0);
		if (near)
			return json_fail(j, v, e, "no such field: did you mean \"%s\"?", near);
		CLEANUP_BUF struct buf list = {0};
		for (size_t i = 0; names[i]; i++)
			buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
		return json_fail(j, v, e, "no such field; known here: %s", buf_str(&list));
	}
	return 0;
}

bool json_is_object(const struct cJSON *v) { return cJSON_IsObject(v); }
bool json_is_array(const struct cJSON *v) { return cJSON_IsArray(v); }
bool json_is_string(const struct cJSON *v) { return cJSON_IsString(v); }
bool json_is_number(const struct cJSON *v) { return cJSON_IsNumber(v); }

bool json_is_integer(const struct cJSON *v)
{
	return cJSON_IsNumber(v) && fabs(v->valuedouble) <= 9007199254740992.0 && floor(v->valuedouble) == v->valuedouble;
}

const char *json_text(const struct cJSON *v) { return v->valuestring; }
double json_value(const struct cJSON *v) { return v->valuedouble; }
const char *json_key(const struct cJSON *v) { return v->string; }
const struct cJSON *json_first(const struct cJSON *v) { return v->child; }
const struct cJSON *json_next(const struct cJSON *v) { return v->next; }
size_t json_count(const struct cJSON *v) { return (size_t)cJSON_GetArraySize(v); }
