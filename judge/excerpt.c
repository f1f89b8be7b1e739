/* A line of the submission: see excerpt.h. */
#include "excerpt.h"

#include <string.h>

enum { TAB = 4, GUTTER = 8, ENDLESS = 1 << 20 };

const char *excerpt_line(const char *source, size_t size, int line, size_t *length)
{
	const char *end = source + size;
	for (int i = 1; i < line; i++) {
		const char *next = memchr(source, '\n', (size_t)(end - source));
		if (!next)
			return NULL;
		source = next + 1;
	}
	if (line < 1 || source >= end)
		return NULL;
	const char *stop = memchr(source, '\n', (size_t)(end - source));
	*length = (size_t)((stop ? stop : end) - source);
	if (*length && source[*length - 1] == '\r')
		--*length;
	return source;
}

/* 1 too for what is no character, and for control characters of two bytes. */
static size_t char_bytes(const char *p, size_t left)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	if (n > left || (c == 0xc2 && (unsigned char)p[1] < 0xa0))
		return 1;
	for (size_t i = 1; i < n; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80)
			return 1;
	return n;
}

/* Columns that the character at p takes when the cursor is at `at`. */
static int char_columns(const char *p, size_t n, int at)
{
	char one[8] = {0};
	if (*p == '\t')
		return TAB - at % TAB;
	if (n == 1)
		return 1;
	memcpy(one, p, n);
	return term_columns(one);
}

int excerpt_text(const struct term *t, const char *line, size_t length, size_t from, int width)
{
	int at = 0;
	for (size_t i = from; i < length;) {
		size_t n = char_bytes(line + i, length - i);
		int columns = char_columns(line + i, n, at);
		if (at + columns > width)
			break;
		if (line[i] == '\t')
			fprintf(t->file, "%*s", columns, "");
		else if (n == 1 && ((unsigned char)line[i] < 0x20 || (unsigned char)line[i] >= 0x7f))
			fputc('?', t->file);
		else
			fwrite(line + i, 1, n, t->file);
		at += columns;
		i += n;
	}
	return at;
}

/* The column on the screen of byte `column` (from 1) of a line whose text begins at byte `from`. */
static int caret_at(const char *line, size_t length, size_t from, size_t column)
{
	int at = 0;
	for (size_t i = from; i < length && i + 1 < column;) {
		size_t n = char_bytes(line + i, length - i);
		at += char_columns(line + i, n, at);
		i += n;
	}
	return at;
}

void excerpt_print(const struct term *t, const char *source, size_t size, int line, int column)
{
	size_t length, from = 0;
	const char *text = excerpt_line(source, size, line, &length);
	const char *bar = t->utf8 ? "│" : "|";
	int width = t->is_terminal ? t->width - GUTTER - 2 : ENDLESS;
	if (!text)
		return;
	while (column > 0 && caret_at(text, length, from, (size_t)column) >= width - 4 && from < length)
		from += char_bytes(text + from, length - from);
	term_put(t, STYLE_DIM, "%*d %s ", GUTTER - 2, line, bar);
	bool cut = caret_at(text, length, from, length + 1) > width;
	excerpt_text(t, text, length, from, cut ? width - 1 : width);
	if (cut)
		fputs(t->utf8 ? "…" : "~", t->file);
	fputc('\n', t->file);
	if (column < 1 || (size_t)column > length + 1)
		return;
	term_put(t, STYLE_DIM, "%*s %s ", GUTTER - 2, "", bar);
	fprintf(t->file, "%*s", caret_at(text, length, from, (size_t)column), "");
	term_put(t, STYLE_BAD, "^\n");
}
