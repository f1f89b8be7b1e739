/* Markdown on a terminal: see markdown.h.  Line by line; a paragraph's lines are joined and wrapped anew. */
#include "markdown.h"

#include "../sandbox/base/buf.h"
#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/tame.h"

#include <ctype.h>
#include <string.h>

enum { MAX_CELLS = 8 };

struct page {
	const struct term *t;
	struct buf paragraph;		/* text gathered, with escapes */
	struct buf table;		/* rows gathered, one a line */
	int indent;			/* of its lines after the first */
	bool code;			/* inside a fence */
	bool blank;			/* the last thing printed was a blank line */
};

/* TeX words as characters; what is not here loses its backslash. */
static const struct { const char *tex, *utf8, *ascii; } symbols[] = {
	{"\\cdot", "·", "*"}, {"\\times", "×", "x"}, {"\\le", "≤", "<="}, {"\\leq", "≤", "<="}, {"\\ge", "≥", ">="}, {"\\geq", "≥", ">="},
	{"\\ne", "≠", "!="}, {"\\neq", "≠", "!="}, {"\\sum", "Σ", "sum"}, {"\\in", "∈", "in"}, {"\\dots", "…", "..."},
	{"\\ldots", "…", "..."}, {"\\cdots", "…", "..."}, {"\\approx", "≈", "~"}, {"\\lfloor", "⌊", "floor("}, {"\\rfloor", "⌋", ")"}, {"\\lceil", "⌈", "ceil("},
	{"\\rceil", "⌉", ")"}, {"\\sqrt", "√", "sqrt"}, {"\\infty", "∞", "inf"}, {"\\pm", "±", "+-"}, {"\\to", "→", "->"},
	{"\\sigma", "σ", "sigma"}, {"\\alpha", "α", "alpha"}, {"\\epsilon", "ε", "eps"}, {"\\eta", "η", "eta"}, {"\\mu", "µ", "mu"}, {"\\top", "ᵀ", "^T"},
	{"\\quad", "  ", "  "}, {"\\qquad", "   ", "   "}, {"\\,", " ", " "}, {"\\;", " ", " "}, {"\\ ", " ", " "}, {"\\left", "", ""}, {"\\right", "", ""}, {"\\big", "", ""}, {"\\Big", "", ""}, {"\\bigl", "", ""}, {"\\bigr", "", ""}, {"\\mathrm", "", ""},
	{"\\text", "", ""}, {"\\operatorname", "", ""}, {"\\mathbb", "", ""}, {"\\{", "{", "{"}, {"\\}", "}", "}"}, {"\\_", "_", "_"}, {"\\%", "%", "%"},
	{"\\|", "‖", "||"}, {"\\bmod", "mod", "mod"}, {"\\&", "&", "&"}, {"\\\\", " ", " "},
};

/* The symbol that begins at p, longest word first; its length, or 0. */
static size_t symbol_at(const char *p, size_t left, const struct term *t, const char **out)
{
	size_t n = 1;
	while (n < left && isalpha((unsigned char)p[n]))
		n++;
	if (n == 1 && left > 1)
		n = 2;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (strlen(symbols[i].tex) == n && !memcmp(symbols[i].tex, p, n)) {
			*out = t->utf8 ? symbols[i].utf8 : symbols[i].ascii;
			return n;
		}
	return 0;
}

static void math(struct page *p, const char *s, size_t n)
{
	const char *out;
	bool round[16] = {false};	/* which of the open braces are shown as parentheses */
	int depth = 0;
	for (size_t i = 0; i < n;) {
		size_t used = s[i] == '\\' ? symbol_at(s + i, n - i, p->t, &out) : 0;
		if (used) {
			buf_adds(&p->paragraph, out);
			i += used;
			continue;
		}
		if (s[i] == '{' && depth < 15) {
			/* an index or exponent of more than one character is held together */
			round[++depth] = i > 0 && strchr("_^", s[i - 1]) && i + 2 < n && s[i + 2] != '}';
			if (round[depth])
				buf_addc(&p->paragraph, '(');
		} else if (s[i] == '}' && depth > 0) {
			if (round[depth--])
				buf_addc(&p->paragraph, ')');
		} else if (s[i] != '\\') {
			buf_addc(&p->paragraph, s[i]);
		}
		i++;
	}
}

static void styled(struct page *p, enum style s, const char *text, size_t n)
{
	buf_adds(&p->paragraph, term_on(p->t, s));
	buf_add(&p->paragraph, text, n);
	buf_adds(&p->paragraph, term_off(p->t));
}

/* Where `mark` of length m comes again after s[from]; n if it does not. */
static size_t closing(const char *s, size_t from, size_t n, const char *mark, size_t m)
{
	for (size_t i = from; i + m <= n; i++)
		if (!memcmp(s + i, mark, m))
			return i;
	return n;
}

/* Where *emphasis* that begins after s[i] ends; n if the star is only a star. */
static size_t emphasis(const char *s, size_t i, size_t n)
{
	if ((i && isalnum((unsigned char)s[i - 1])) || i + 1 >= n || s[i + 1] == ' ' || s[i + 1] == '*')
		return n;
	size_t end = closing(s, i + 1, n, "*", 1);
	return end < n && s[end - 1] != ' ' ? end : n;
}

static void inline_text(struct page *p, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t end;
		if (s[i] == '`' && (end = closing(s, i + 1, n, "`", 1)) < n) {
			styled(p, STYLE_CODE, s + i + 1, end - i - 1);
			i = end + 1;
		} else if (s[i] == '$') {
			size_t m = i + 1 < n && s[i + 1] == '$' ? 2 : 1;
			end = closing(s, i + m, n, "$$", m);
			if (end == n)
				m = 0, end = n;
			math(p, s + i + m, end - i - m);
			i = end + m;
		} else if (i + 1 < n && s[i] == '*' && s[i + 1] == '*' && (end = closing(s, i + 2, n, "**", 2)) < n) {
			buf_adds(&p->paragraph, term_on(p->t, STYLE_BOLD));
			inline_text(p, s + i + 2, end - i - 2);
			buf_adds(&p->paragraph, term_off(p->t));
			i = end + 2;
		} else if (s[i] == '*' && (end = emphasis(s, i, n)) < n) {
			styled(p, STYLE_BOLD, s + i + 1, end - i - 1);
			i = end + 1;
		} else {
			buf_addc(&p->paragraph, s[i++]);
		}
	}
}

static void blank(struct page *p)
{
	if (!p->blank)
		fputc('\n', p->t->file);
	p->blank = true;
}

static void table_end(struct page *p);

static void flush_paragraph(struct page *p)
{
	if (!p->paragraph.size)
		return;
	term_wrap(p->t, buf_str(&p->paragraph), 0, p->indent);
	fputc('\n', p->t->file);
	buf_free(&p->paragraph);
	p->indent = 0;
	p->blank = false;
}

static void flush(struct page *p)
{
	flush_paragraph(p);
	if (p->table.size)
		table_end(p);
}

static void heading(struct page *p, const char *s, size_t n)
{
	while (n && (*s == '#' || *s == ' '))
		s++, n--;
	flush(p);
	blank(p);
	styled(p, STYLE_BOLD, s, n);
	flush(p);
}

/* Bytes of a list mark ("- ", "12. ") at s, with the blanks before it; 0 if there is none. */
static size_t list_mark(const char *s, size_t n)
{
	size_t i = 0;
	while (i < n && s[i] == ' ')
		i++;
	if (i + 1 < n && (s[i] == '-' || s[i] == '*') && s[i + 1] == ' ')
		return i + 2;
	size_t d = i;
	while (d < n && isdigit((unsigned char)s[d]))
		d++;
	return d > i && d + 1 < n && s[d] == '.' && s[d + 1] == ' ' ? d + 2 : 0;
}

static void item(struct page *p, const char *s, size_t mark, size_t n)
{
	flush(p);
	p->indent = (int)mark;
	for (size_t i = 0; i < mark; i++)
		if (s[i] == '-' || s[i] == '*')
			buf_adds(&p->paragraph, p->t->utf8 ? "•" : "-");
		else
			buf_addc(&p->paragraph, s[i]);
	inline_text(p, s + mark, n - mark);
}

/* ---- tables: gathered row by row, set when they end ---- */

/* The next cell of a row from *i on, trimmed; false at the end. */
static bool next_cell(const char *s, size_t n, size_t *i, const char **cell, size_t *length)
{
	bool code = false;
	size_t begin = *i + 1, end;
	if (begin >= n)
		return false;
	for (end = begin; end < n && (s[end] != '|' || code); end++)
		code ^= s[end] == '`';
	*i = end;
	while (begin < end && s[begin] == ' ')
		begin++;
	while (end > begin && s[end - 1] == ' ')
		end--;
	*cell = s + begin;
	*length = end - begin;
	return true;
}

/* The rule under the head. */
static bool is_rule(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strchr("|-: ", s[i]))
			return false;
	return true;
}

/* Columns that a cell takes once its marks are gone. */
static int cell_columns(struct page *p, const char *cell, size_t n)
{
	inline_text(p, cell, n);
	int columns = term_columns(buf_str(&p->paragraph));
	buf_free(&p->paragraph);
	return columns;
}

static void row_widths(struct page *p, const char *s, size_t n, int widths[MAX_CELLS])
{
	const char *cell;
	size_t i = 0, length;
	for (int c = 0; c < MAX_CELLS && next_cell(s, n, &i, &cell, &length); c++) {
		int w = cell_columns(p, cell, length);
		if (w > widths[c])
			widths[c] = w;
	}
}

static void row_print(struct page *p, const char *s, size_t n, const int widths[MAX_CELLS])
{
	const char *cell;
	size_t i = 0, length;
	int at = 2;
	buf_adds(&p->paragraph, "  ");
	for (int c = 0; c < MAX_CELLS && next_cell(s, n, &i, &cell, &length); c++) {
		size_t before = p->paragraph.size;
		p->indent = at;
		inline_text(p, cell, length);
		for (int w = term_columns(p->paragraph.data + before); w < widths[c] + 2 && i + 1 < n; w++)
			buf_addc(&p->paragraph, ' ');
		at += widths[c] + 2;
	}
	if (p->indent > p->t->width / 2)
		p->indent = 4;
	flush_paragraph(p);
}

static void table_end(struct page *p)
{
	int widths[MAX_CELLS] = {0};
	struct buf rows = p->table;
	p->table = (struct buf){0};
	for (int print = 0; print < 2; print++)
		for (const char *s = rows.data, *end = s + rows.size; s < end;) {
			size_t n = (size_t)((const char *)memchr(s, '\n', (size_t)(end - s)) - s);
			if (!is_rule(s, n)) {
				if (print)
					row_print(p, s, n, widths);
				else
					row_widths(p, s, n, widths);
			}
			s += n + 1;
		}
	buf_free(&rows);
}

static void table_row(struct page *p, const char *s, size_t n)
{
	if (!p->table.size)
		flush(p);
	buf_add(&p->table, s, n);
	buf_addc(&p->table, '\n');
}

static void line(struct page *p, const char *s, size_t n)
{
	size_t mark, lead = 0;
	if (n >= 3 && !memcmp(s, "```", 3)) {
		flush(p);
		p->code = !p->code;
		return;
	}
	if (p->code) {
		fputs("    ", p->t->file);
		term_put(p->t, STYLE_CODE, "%.*s\n", (int)n, s);
		p->blank = false;
		return;
	}
	while (lead < n && s[lead] == ' ')
		lead++;
	if (lead == n) {
		flush(p);
		blank(p);
	} else if (p->table.size && *s != '|') {
		flush(p);
		line(p, s, n);
	} else if (*s == '#') {
		heading(p, s, n);
	} else if (*s == '|') {
		table_row(p, s, n);
	} else if ((mark = list_mark(s, n))) {
		item(p, s, mark, n);
	} else {
		if (p->paragraph.size && !(p->paragraph.data[p->paragraph.size - 1] & 0x80 && s[lead] & 0x80))
			buf_addc(&p->paragraph, ' ');
		inline_text(p, s + lead, n - lead);
	}
}

/* A statement comes with a package, from anybody: nothing in it but our own styles may be obeyed by the terminal. */
static void tame_line(struct buf *copy, const char *text, size_t n)
{
	copy->size = 0;
	buf_add(copy, text, n);
	buf_addc(copy, 0);
	for (size_t i = 0; i < n; i++)
		if (!copy->data[i])
			copy->data[i] = '?';
	tame(copy->data);
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\t')
			copy->data[i] = '\t';
}

void markdown_print(const struct term *t, const char *text, size_t size)
{
	struct page p = {.t = t, .blank = true};
	CLEANUP_BUF struct buf copy = {0};
	const char *end = text + size;
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		if (!stop)
			stop = end;
		size_t n = (size_t)(stop - text);
		if (n && text[n - 1] == '\r')
			n--;
		tame_line(&copy, text, n);
		line(&p, copy.data, n);
		text = stop + 1;
	}
	flush(&p);
}
