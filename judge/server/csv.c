/* CSV: see csv.h. */
#include "csv.h"

#include "../../sandbox/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *at, *end;
	char separator;
	unsigned line;
	struct arena *arena;
	struct err *e;
};

static int quoted(struct reader *r, struct buf *cell)
{
	for (r->at++; r->at < r->end; r->at++) {
		if (*r->at == '\n')
			r->line++;
		if (*r->at != '"') {
			buf_addc(cell, *r->at);
		} else if (r->at + 1 < r->end && r->at[1] == '"') {
			buf_addc(cell, *r->at++);
		} else {
			r->at++;
			return 0;
		}
	}
	return err_input(r->e, "a quote is not closed");
}

static int read_cell(struct reader *r, const char **out)
{
	struct buf cell = {0};
	while (r->at < r->end && *r->at == ' ')
		r->at++;
	if (r->at < r->end && *r->at == '"' && quoted(r, &cell) < 0) {
		buf_free(&cell);
		return -1;
	}
	while (r->at < r->end && *r->at != r->separator && *r->at != '\n' && *r->at != '\r')
		buf_addc(&cell, *r->at++);
	while (cell.size && cell.data[cell.size - 1] == ' ')
		cell.data[--cell.size] = 0;
	*out = arena_strdup(r->arena, buf_str(&cell));
	buf_free(&cell);
	return 0;
}

static int read_row(struct reader *r, struct csv_row *row)
{
	*row = (struct csv_row){.line = r->line};
	for (;;) {
		if (row->n == CSV_COLUMNS)
			return err_input(r->e, "more than %d columns", CSV_COLUMNS);
		if (read_cell(r, &row->at[row->n++]) < 0)
			return -1;
		if (r->at == r->end || *r->at != r->separator)
			break;
		r->at++;
	}
	if (r->at < r->end && *r->at == '\r')
		r->at++;
	if (r->at < r->end && *r->at == '\n')
		r->at++;
	r->line++;
	return 0;
}

static char separator_of(const char *text, size_t size)
{
	for (size_t i = 0; i < size && text[i] != '\n'; i++)
		if (text[i] == ',' || text[i] == ';' || text[i] == '\t')
			return text[i];
	return ',';
}

int csv_parse(const char *text, size_t size, struct arena *a, struct csv *out, unsigned *line, struct err *e)
{
	*line = 1;
	if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
		text += 3;
		size -= 3;
	}
	if (!utf8_valid(text, size, NULL))
		return err_input(e, "this is not UTF-8: save the sheet as \"CSV UTF-8\"");
	if (memchr(text, 0, size))
		return err_input(e, "this has a NUL byte: it is not CSV");
	struct reader r = {text, text + size, separator_of(text, size), 1, a, e};
	size_t room = 1;
	for (size_t i = 0; i < size; i++)
		room += text[i] == '\n' || text[i] == '\r';
	out->rows = arena_new_array(a, struct csv_row, room);
	out->n = 0;
	while (r.at < r.end) {
		struct csv_row row;
		*line = r.line;
		if (read_row(&r, &row) < 0)
			return -1;
		if (row.n > 1 || *row.at[0])
			out->rows[out->n++] = row;
	}
	return 0;
}

void csv_text(struct buf *out, const char *text, bool first)
{
	if (!first)
		buf_addc(out, ',');
	buf_addc(out, '"');
	if (*text && strchr("=+-@\t\r|%", *text))
		buf_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '"')
			buf_addc(out, '"');
		buf_addc(out, *text);
	}
	buf_addc(out, '"');
}

void csv_number(struct buf *out, double v, bool first)
{
	if (!first)
		buf_addc(out, ',');
	if (!isnan(v))
		buf_printf(out, "%.15g", v);
}
