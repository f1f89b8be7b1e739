/* Markdown to HTML: see markup.h.  md4c parses; what is written here is a fixed set of tags, all else is escaped. */
#include "markup.h"

#include <md4c.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct state {
	struct buf *out;
	unsigned in_image;		/* inside of an image only its text counts, as the alternative */
	unsigned bad_links;		/* how deep in links that are left out */
};

static void escape(struct buf *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		switch (text[i]) {
		case '&': buf_adds(out, "&amp;"); break;
		case '<': buf_adds(out, "&lt;"); break;
		case '>': buf_adds(out, "&gt;"); break;
		case '"': buf_adds(out, "&quot;"); break;
		case '\'': buf_adds(out, "&#39;"); break;
		default: buf_addc(out, text[i]);
		}
	}
}

/* An entity of the text stays one: md4c has checked its form, which has no character that HTML would mind. */
static void put_attribute(struct buf *out, const MD_ATTRIBUTE *a)
{
	for (int i = 0; a->size && a->substr_offsets[i] < a->size; i++) {
		const char *text = a->text + a->substr_offsets[i];
		size_t size = a->substr_offsets[i + 1] - a->substr_offsets[i];
		if (a->substr_types[i] == MD_TEXT_ENTITY)
			buf_add(out, text, size);
		else if (a->substr_types[i] == MD_TEXT_NULLCHAR)
			buf_adds(out, "\xef\xbf\xbd");
		else
			escape(out, text, size);
	}
}

/* May an address be linked to?  An entity could hide a scheme's letters or colon, so an address with one must be plainly http. */
static bool may_link(const MD_ATTRIBUTE *a, bool image)
{
	static const char *const schemes[] = {"https://", "http://", "mailto:"};
	for (int i = 0; i < (image ? 0 : 3); i++)
		if (a->size >= strlen(schemes[i]) && !strncasecmp(a->text, schemes[i], strlen(schemes[i])))
			return true;
	if (image || !a->size)		/* pictures of other hosts would tell them who reads; a package has none of its own */
		return false;
	for (int i = 0; a->substr_offsets[i] < a->size; i++)
		if (a->substr_types[i] != MD_TEXT_NORMAL)
			return false;
	for (size_t i = 0; i < a->size; i++) {
		unsigned char c = (unsigned char)a->text[i];
		if (c <= ' ' || c == '\\' || c == ':')
			return false;
	}
	/* of this site: "/problems/x", "#part"; not "//host" */
	return a->text[0] == '#' || (a->text[0] == '/' && (a->size < 2 || a->text[1] != '/'));
}

static void open_cell(struct state *s, const char *tag, const MD_BLOCK_TD_DETAIL *d)
{
	static const char *const classes[] = {"", " class=\"left\"", " class=\"center\"", " class=\"right\""};
	buf_printf(s->out, "<%s%s>", tag, classes[d->align]);
}

static void open_code(struct state *s, const MD_BLOCK_CODE_DETAIL *d)
{
	buf_adds(s->out, "<pre><code");
	if (d->lang.size) {
		buf_adds(s->out, " class=\"language-");
		put_attribute(s->out, &d->lang);
		buf_addc(s->out, '"');
	}
	buf_addc(s->out, '>');
}

/* The page's own title is the only h1. */
static unsigned level_of(const MD_BLOCK_H_DETAIL *d)
{
	return d->level < 2 ? 2 : d->level;
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *user)
{
	struct state *s = user;
	switch (type) {
	case MD_BLOCK_QUOTE: buf_adds(s->out, "<blockquote>"); break;
	case MD_BLOCK_UL: buf_adds(s->out, "<ul>"); break;
	case MD_BLOCK_OL: buf_printf(s->out, "<ol start=\"%u\">", ((MD_BLOCK_OL_DETAIL *)detail)->start); break;
	case MD_BLOCK_LI: buf_adds(s->out, "<li>"); break;
	case MD_BLOCK_HR: buf_adds(s->out, "<hr>"); break;
	case MD_BLOCK_H: buf_printf(s->out, "<h%u>", level_of(detail)); break;
	case MD_BLOCK_CODE: open_code(s, detail); break;
	case MD_BLOCK_P: buf_adds(s->out, "<p>"); break;
	case MD_BLOCK_TABLE: buf_adds(s->out, "<table>"); break;
	case MD_BLOCK_THEAD: buf_adds(s->out, "<thead>"); break;
	case MD_BLOCK_TBODY: buf_adds(s->out, "<tbody>"); break;
	case MD_BLOCK_TR: buf_adds(s->out, "<tr>"); break;
	case MD_BLOCK_TH: open_cell(s, "th scope=\"col\"", detail); break;
	case MD_BLOCK_TD: open_cell(s, "td", detail); break;
	case MD_BLOCK_DOC: case MD_BLOCK_HTML: break;
	}
	return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *user)
{
	struct state *s = user;
	switch (type) {
	case MD_BLOCK_QUOTE: buf_adds(s->out, "</blockquote>\n"); break;
	case MD_BLOCK_UL: buf_adds(s->out, "</ul>\n"); break;
	case MD_BLOCK_OL: buf_adds(s->out, "</ol>\n"); break;
	case MD_BLOCK_LI: buf_adds(s->out, "</li>\n"); break;
	case MD_BLOCK_H: buf_printf(s->out, "</h%u>\n", level_of(detail)); break;
	case MD_BLOCK_CODE: buf_adds(s->out, "</code></pre>\n"); break;
	case MD_BLOCK_P: buf_adds(s->out, "</p>\n"); break;
	case MD_BLOCK_TABLE: buf_adds(s->out, "</table>\n"); break;
	case MD_BLOCK_THEAD: buf_adds(s->out, "</thead>"); break;
	case MD_BLOCK_TBODY: buf_adds(s->out, "</tbody>"); break;
	case MD_BLOCK_TR: buf_adds(s->out, "</tr>\n"); break;
	case MD_BLOCK_TH: buf_adds(s->out, "</th>"); break;
	case MD_BLOCK_TD: buf_adds(s->out, "</td>"); break;
	case MD_BLOCK_DOC: case MD_BLOCK_HTML: case MD_BLOCK_HR: break;
	}
	return 0;
}

static void open_link(struct state *s, const MD_SPAN_A_DETAIL *d)
{
	if (s->bad_links || !may_link(&d->href, false)) {
		s->bad_links++;
		return;
	}
	buf_adds(s->out, "<a href=\"");
	put_attribute(s->out, &d->href);
	buf_adds(s->out, "\" rel=\"noopener noreferrer nofollow\"");
	if (d->title.size) {
		buf_adds(s->out, " title=\"");
		put_attribute(s->out, &d->title);
		buf_addc(s->out, '"');
	}
	buf_addc(s->out, '>');
}

static int enter_span(MD_SPANTYPE type, void *detail, void *user)
{
	struct state *s = user;
	if (type == MD_SPAN_IMG)
		s->in_image++;
	if (s->in_image)
		return 0;
	switch (type) {
	case MD_SPAN_EM: buf_adds(s->out, "<em>"); break;
	case MD_SPAN_STRONG: buf_adds(s->out, "<strong>"); break;
	case MD_SPAN_A: open_link(s, detail); break;
	case MD_SPAN_CODE: buf_adds(s->out, "<code>"); break;
	case MD_SPAN_DEL: buf_adds(s->out, "<del>"); break;
	case MD_SPAN_LATEXMATH: buf_adds(s->out, "<span class=\"math inline\">"); break;
	case MD_SPAN_LATEXMATH_DISPLAY: buf_adds(s->out, "<span class=\"math display\">"); break;
	case MD_SPAN_IMG: case MD_SPAN_WIKILINK: case MD_SPAN_U: break;
	}
	return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *user)
{
	struct state *s = user;
	(void)detail;
	if (type == MD_SPAN_IMG)
		s->in_image--;
	if (s->in_image || type == MD_SPAN_IMG)
		return 0;
	switch (type) {
	case MD_SPAN_EM: buf_adds(s->out, "</em>"); break;
	case MD_SPAN_STRONG: buf_adds(s->out, "</strong>"); break;
	case MD_SPAN_A:
		if (s->bad_links)
			s->bad_links--;
		else
			buf_adds(s->out, "</a>");
		break;
	case MD_SPAN_CODE: buf_adds(s->out, "</code>"); break;
	case MD_SPAN_DEL: buf_adds(s->out, "</del>"); break;
	case MD_SPAN_LATEXMATH: case MD_SPAN_LATEXMATH_DISPLAY: buf_adds(s->out, "</span>"); break;
	case MD_SPAN_IMG: case MD_SPAN_WIKILINK: case MD_SPAN_U: break;
	}
	return 0;
}

static int text(MD_TEXTTYPE type, const MD_CHAR *from, MD_SIZE size, void *user)
{
	struct state *s = user;
	switch (type) {
	case MD_TEXT_NULLCHAR: buf_adds(s->out, "\xef\xbf\xbd"); break;
	case MD_TEXT_BR: buf_adds(s->out, "<br>\n"); break;
	case MD_TEXT_SOFTBR: buf_addc(s->out, '\n'); break;
	case MD_TEXT_ENTITY: buf_add(s->out, from, size); break;
	case MD_TEXT_NORMAL: case MD_TEXT_CODE: case MD_TEXT_HTML: case MD_TEXT_LATEXMATH: escape(s->out, from, size); break;
	}
	return 0;
}

void markup_html(const char *from, size_t size, struct buf *out)
{
	struct state s = {.out = out};
	MD_PARSER parser = {
		.flags = MD_FLAG_NOHTML | MD_FLAG_LATEXMATHSPANS | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH,
		.enter_block = enter_block, .leave_block = leave_block,
		.enter_span = enter_span, .leave_span = leave_span, .text = text,
	};
	if (md_parse(from, (MD_SIZE)size, &parser, &s) != 0)
		BUG("the Markdown parser is out of memory");
}
