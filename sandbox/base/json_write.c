/* Writing JSON: see json_write.h. */
#include "json_write.h"

#include "json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void quoted(struct buf *b, const char *s)
{
	size_t left = strlen(s);
	buf_addc(b, '"');
	while (left) {
		unsigned char c = (unsigned char)*s;
		size_t n = 1;
		if (c == '"' || c == '\\') {
			buf_printf(b, "\\%c", c);
		} else if (c == '\n') {
			buf_adds(b, "\\n");
		} else if (c == '\t') {
			buf_adds(b, "\\t");
		} else if (c < 0x20 || c == 0x7f) {
			buf_printf(b, "\\u%04x", c);
		} else if (c < 0x80) {
			buf_addc(b, (char)c);
		} else {
			n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
			if (n <= left && utf8_valid(s, n, NULL))
				buf_add(b, s, n);
			else
				buf_adds(b, "\xef\xbf\xbd"), n = 1;
		}
		s += n;
		left -= n;
	}
	buf_addc(b, '"');
}

static void newline(struct json_writer *w)
{
	if (!w->indent)
		return;
	buf_addc(w->out, '\n');
	for (int i = 0; i < w->depth; i++)
		buf_adds(w->out, "  ");
}

/* Comma, line break and key: what stands before any value. */
static void before(struct json_writer *w, const char *key)
{
	if (w->begun[w->depth])
		buf_addc(w->out, ',');
	if (w->depth)
		newline(w);
	w->begun[w->depth] = true;
	if (!key)
		return;
	quoted(w->out, key);
	buf_adds(w->out, w->indent ? ": " : ":");
}

void json_open(struct json_writer *w, const char *key, char bracket)
{
	before(w, key);
	buf_addc(w->out, bracket);
	if (++w->depth == JSON_WRITE_DEPTH)
		BUG("JSON nested deeper than %d", JSON_WRITE_DEPTH);
	w->begun[w->depth] = false;
}

void json_close(struct json_writer *w, char bracket)
{
	if (w->depth == 0)
		BUG("a JSON bracket too many");
	bool empty = !w->begun[w->depth--];
	if (!empty)
		newline(w);
	buf_addc(w->out, bracket);
}

void json_write_string(struct json_writer *w, const char *key, const char *value)
{
	before(w, key);
	if (value)
		quoted(w->out, value);
	else
		buf_adds(w->out, "null");
}

/* The shortest text that reads back as the same number. */
void json_write_number(struct json_writer *w, const char *key, double value)
{
	char text[40];
	before(w, key);
	if (!isfinite(value)) {
		buf_adds(w->out, "null");
		return;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	buf_adds(w->out, text);
}

void json_write_ratio(struct json_writer *w, const char *key, double value)
{
	if (isinf(value))
		json_write_string(w, key, "inf");
	else
		json_write_number(w, key, value);
}

void json_write_integer(struct json_writer *w, const char *key, int64_t value)
{
	before(w, key);
	buf_printf(w->out, "%lld", (long long)value);
}

void json_write_unsigned(struct json_writer *w, const char *key, uint64_t value)
{
	before(w, key);
	buf_printf(w->out, "%llu", (unsigned long long)value);
}

void json_write_bool(struct json_writer *w, const char *key, bool value)
{
	before(w, key);
	buf_adds(w->out, value ? "true" : "false");
}

void json_write_null(struct json_writer *w, const char *key)
{
	before(w, key);
	buf_adds(w->out, "null");
}
