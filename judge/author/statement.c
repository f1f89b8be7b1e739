/* A package's texts: see statement.h. */
#include "statement.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json.h"
#include "../hints.h"

#include <ctype.h>
#include <errno.h>
#include <md4c.h>
#include <string.h>
#include <strings.h>

struct reading {
	const char *file, *source;
	size_t size;
	struct findings *findings;
	unsigned in_code;		/* blocks and spans of code: a dollar sign is one */
	bool in_math, in_heading, display;
	struct buf math, heading;
	int math_line;
	bool has_sample;
};

static int line_in(const char *source, const char *at)
{
	int line = 1;
	for (const char *p = source; p < at; p++)
		line += *p == '\n';
	return line;
}

static int line_at(const struct reading *r, const char *at)
{
	return at < r->source || at > r->source + r->size ? 0 : line_in(r->source, at);
}

/* ---- mathematics ---- */

static bool known_word(const char *word, size_t n)
{
	static const char *const words[] = {
#define TEX(word) #word,
#include "tex.def"
#undef TEX
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strlen(words[i]) == n && !memcmp(words[i], word, n))
			return true;
	return false;
}

static bool is_word(const char *word, size_t n, const char *what)
{
	return n == strlen(what) && !memcmp(word, what, n);
}

enum { SHOWN = 60 };

static void math_fault(struct reading *r, const char *what)
{
	const char *math = buf_str(&r->math);
	finding_add(r->findings, r->file, r->math_line, NULL, "%s in the mathematics \"%.*s%s\"", what, SHOWN, math,
		    r->math.size > SHOWN ? "..." : "");
}

/* Of \begin{x} and \end{x}: nesting by depth, names by a small stack. */
struct environments {
	const char *name[8];
	size_t size[8];
	unsigned depth;
};

static void take_environment(struct reading *r, struct environments *s, bool begin, const char *at)
{
	const char *open = *at == '{' ? at + 1 : NULL;
	size_t n = open ? strcspn(open, "}") : 0;
	if (!n) {
		math_fault(r, begin ? "\\begin without {name}" : "\\end without {name}");
	} else if (begin) {
		if (s->depth < 8) {
			s->name[s->depth] = open;
			s->size[s->depth] = n;
		}
		s->depth++;
	} else if (!s->depth || (s->depth <= 8 && (s->size[s->depth - 1] != n || memcmp(s->name[s->depth - 1], open, n) != 0))) {
		math_fault(r, "an \\end that closes no \\begin of its name");
	} else {
		s->depth--;
	}
}

static void check_math(struct reading *r)
{
	const char *s = buf_str(&r->math);
	int braces = 0, lefts = 0;
	struct environments e = {.depth = 0};
	if (strspn(s, " \n\t") == r->math.size)
		math_fault(r, "nothing");
	for (size_t i = 0; s[i]; i++) {
		if (s[i] == '{') {
			braces++;
		} else if (s[i] == '}') {
			if (--braces < 0)
				break;
		} else if (s[i] == '\\') {
			size_t n = 0;
			while (isalpha((unsigned char)s[i + 1 + n]))
				n++;
			const char *word = s + i + 1;
			char what[80];
			snprintf(what, sizeof what, "\\%.*s, which KaTeX does not know,", (int)n, word);
			if (n && !known_word(word, n))
				math_fault(r, what);
			lefts += is_word(word, n, "left") - is_word(word, n, "right");
			if (is_word(word, n, "begin") || is_word(word, n, "end"))
				take_environment(r, &e, *word == 'b', word + n);
			i += n ? n : s[i + 1] != 0;
		}
	}
	if (braces)
		math_fault(r, braces > 0 ? "a { that is not closed" : "a } that closes nothing");
	if (lefts)
		math_fault(r, lefts > 0 ? "a \\left without \\right" : "a \\right without \\left");
	if (e.depth)
		math_fault(r, "a \\begin without \\end");
}

/* ---- Markdown ---- */

/* A dollar sign that the parser left as text opens no mathematics, or closes none. */
static void check_dollars(struct reading *r, const char *from, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const char *at = from + i;
		bool escaped = at > r->source && at <= r->source + r->size && at[-1] == '\\';
		if (*at != '$' || escaped)
			continue;
		finding_add(r->findings, r->file, line_at(r, at), NULL,
			    "a $ that begins or ends no mathematics: close it (no blank after the first $, none before the last), or write \\$ for the sign");
		return;
	}
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *user)
{
	struct reading *r = user;
	(void)detail;
	r->in_code += type == MD_BLOCK_CODE;
	r->in_heading |= type == MD_BLOCK_H;
	return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *user)
{
	static const char *const words[] = {"example", "sample", "例", "样例"};
	struct reading *r = user;
	(void)detail;
	r->in_code -= type == MD_BLOCK_CODE;
	if (type != MD_BLOCK_H)
		return 0;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		r->has_sample |= strcasestr(buf_str(&r->heading), words[i]) != NULL;
	r->in_heading = false;
	buf_free(&r->heading);
	return 0;
}

static int enter_span(MD_SPANTYPE type, void *detail, void *user)
{
	struct reading *r = user;
	(void)detail;
	r->in_code += type == MD_SPAN_CODE;
	if (type == MD_SPAN_LATEXMATH || type == MD_SPAN_LATEXMATH_DISPLAY) {
		r->in_math = true;
		r->math_line = 0;
		buf_free(&r->math);
	}
	return 0;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *user)
{
	struct reading *r = user;
	(void)detail;
	r->in_code -= type == MD_SPAN_CODE;
	if (type == MD_SPAN_LATEXMATH || type == MD_SPAN_LATEXMATH_DISPLAY) {
		r->in_math = false;
		check_math(r);
	}
	return 0;
}

static int text(MD_TEXTTYPE type, const MD_CHAR *from, MD_SIZE size, void *user)
{
	struct reading *r = user;
	if (r->in_math) {
		if (!r->math_line)
			r->math_line = line_at(r, from);
		buf_add(&r->math, from, size);
		return 0;
	}
	if (r->in_heading)
		buf_add(&r->heading, from, size);
	if (type == MD_TEXT_NORMAL && !r->in_code)
		check_dollars(r, from, size);
	return 0;
}

static bool read_markdown(const char *file, const char *source, size_t size, struct findings *f)
{
	struct reading r = {.file = file, .source = source, .size = size, .findings = f};
	MD_PARSER parser = {
		.flags = MD_FLAG_NOHTML | MD_FLAG_LATEXMATHSPANS | MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH,
		.enter_block = enter_block, .leave_block = leave_block, .enter_span = enter_span, .leave_span = leave_span, .text = text,
	};
	if (md_parse(source, (MD_SIZE)size, &parser, &r) != 0)
		BUG("the Markdown parser is out of memory");
	buf_free(&r.math);
	buf_free(&r.heading);
	return r.has_sample;
}

void statement_math(const char *file, const char *source, size_t size, struct findings *f)
{
	read_markdown(file, source, size, f);
}

/* ---- what a statement must say ---- */

static bool names_word(const char *text, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) {
		bool before = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
		if (!before && !isalnum((unsigned char)at[n]) && at[n] != '_')
			return true;
	}
	return false;
}

/* The same text without blanks, and int32_t as int: how lines break and where a star stands is the author's choice. */
static void squeeze(const char *from, size_t size, struct buf *out)
{
	for (size_t i = 0; i < size; i++) {
		bool begins = i && !isalnum((unsigned char)from[i - 1]) && from[i - 1] != '_';
		if (begins && strncmp(from + i, "int32_t", 7) == 0) {
			buf_adds(out, "int");
			i += 6;
		} else if (!isspace((unsigned char)from[i])) {
			buf_add(out, &from[i], 1);
		}
	}
}

/* Students copy the signature from the statement: it is to be the one that their file is compiled with. */
static void check_prototype(const struct problem *p, const char *file, const char *source, bool prepare, struct findings *f)
{
	const char *name = prepare ? "void prepare(" : "void solve(", *at = strstr(source, name);
	CLEANUP_BUF struct buf right = {0}, squeezed = {0}, said = {0};
	problem_prototype(p, prepare, &right);
	squeeze(strstr(buf_str(&right), name), strlen(strstr(buf_str(&right), name)), &squeezed);
	if (!at && !prepare)
		finding_add(f, file, 0, NULL, "does not show the signature: write %s; in a block of code", buf_str(&right));
	if (!at)
		return;
	squeeze(at, strcspn(at, ")") + 1, &said);
	if (strcmp(buf_str(&said), buf_str(&squeezed)) == 0)
		return;
	finding_add(f, file, line_in(source, at), NULL, "shows another signature than problem.json's, which is %s;", buf_str(&right));
}

static void check_statement(const struct problem *p, const char *file, const char *source, size_t size, struct findings *f)
{
	bool zh = strstr(file, ".zh.") != NULL;
	if (!read_markdown(file, source, size, f))
		finding_add(f, file, 0, NULL, "has no heading with \"%s\": explain a sample under one, e.g. \"## %s\"", zh ? "例" : "Example",
			    zh ? "例子" : "Example");
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (!names_word(source, p->arguments[i].name))
			finding_add(f, file, 0, NULL, "does not name the argument %s: say what it is, e.g. in a table of arguments",
				    p->arguments[i].name);
	check_prototype(p, file, source, false, f);
	if (p->n_prepare)
		check_prototype(p, file, source, true, f);
	if (!hints_count(source))
		finding_add(f, file, 0, NULL, "has no hints: end it with a section \"## %s\" of \"### ...\" sections, one a hint", zh ? "提示" : "Hints");
}

/* Every solution that the steps name is there. */
static void check_steps(const struct problem *p, const char *file, const char *source, size_t size, struct findings *f)
{
	read_markdown(file, source, size, f);
	for (const char *at = strstr(source, ".cu"); at; at = strstr(at + 1, ".cu")) {
		const char *from = at;
		char path[700];
		while (from > source && (isalnum((unsigned char)from[-1]) || strchr("_-", from[-1])))
			from--;
		if (from == at || isalnum((unsigned char)at[3]))
			continue;
		snprintf(path, sizeof path, "%s/submissions/accepted/%.*s", p->folder, (int)(at + 3 - from), from);
		bool there = access(path, F_OK) == 0;
		snprintf(path, sizeof path, "%s/%.*s", p->folder, (int)(at + 3 - from), from);
		if (!there && access(path, F_OK) < 0)
			finding_add(f, file, line_in(source, from), NULL, "names %.*s, which is not in submissions/accepted/", (int)(at + 3 - from), from);
	}
}

/* False if it is not there; *b: its text, if that is text. */
static bool read_text(const struct problem *p, const char *name, struct buf *b, struct findings *f)
{
	struct err e = {0};
	size_t at;
	if (problem_file(p, name, b, &e) < 0) {
		char path[700];
		snprintf(path, sizeof path, "%s/%s", p->folder, name);
		if (access(path, F_OK) == 0)
			finding_grave(f, name, 0, NULL, "can't be read: %s", e.text);
		return access(path, F_OK) == 0;
	}
	if (!utf8_valid(buf_str(b), b->size, &at) || memchr(buf_str(b), 0, b->size)) {
		finding_grave(f, name, 0, NULL, "is not UTF-8 text: save it as such");
		buf_free(b);
	} else if (!b->size) {
		finding_grave(f, name, 0, NULL, "is empty");
	}
	return true;
}

static void check_pair(const struct problem *p, const char *kind, bool needed,
		       void (*check)(const struct problem *, const char *, const char *, size_t, struct findings *), struct findings *f)
{
	static const char *const languages[] = {"en", "zh"};
	struct buf texts[2] = {{0}, {0}};
	bool there[2];
	char name[40];
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "%s.%s.md", kind, languages[i]);
		there[i] = read_text(p, name, &texts[i], f);
		if (texts[i].size)
			check(p, name, buf_str(&texts[i]), texts[i].size, f);
	}
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof name, "%s.%s.md", kind, languages[i]);
		if (!there[i] && needed && !i)
			finding_grave(f, name, 0, NULL, "is not there: every package has one");
		else if (!there[i] && (needed || there[!i]))
			finding_add(f, name, 0, NULL, "is not there: write it in both languages");
	}
	unsigned hints[2] = {hints_count(buf_str(&texts[0])), hints_count(buf_str(&texts[1]))};
	if (needed && texts[0].size && texts[1].size && hints[0] != hints[1])
		finding_add(f, name, 0, NULL, "has %u hints, and the English one %u: make them the same", hints[1], hints[0]);
	buf_free(&texts[0]);
	buf_free(&texts[1]);
}

void statements_check(const struct problem *p, struct findings *f)
{
	check_pair(p, "statement", true, check_statement, f);
	check_pair(p, "steps", false, check_steps, f);
}
