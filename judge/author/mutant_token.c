/* The tokenizer: see mutant_token.h. */
#include "mutant_token.h"

#include <stdlib.h>
#include <string.h>

struct scan {
	const char *p, *end;
	int line;
	bool fresh;			/* only blanks since the line began */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' || c & 0x80;
}

static size_t left(const struct scan *s)
{
	return (size_t)(s->end - s->p);
}

static bool ahead(const struct scan *s, const char *word)
{
	size_t n = strlen(word);
	return left(s) >= n && !memcmp(s->p, word, n);
}

static void step(struct scan *s)
{
	s->line += *s->p == '\n';
	s->p++;
}

static void step_to(struct scan *s, const char *to)
{
	while (s->p < to)
		step(s);
}

/* ---- what lies between tokens ---- */

/* A line that ends in a backslash goes on. */
static bool spliced(const struct scan *s)
{
	return *s->p == '\\' && (ahead(s, "\\\n") || ahead(s, "\\\r\n"));
}

static void skip_splice(struct scan *s)
{
	step_to(s, memchr(s->p, '\n', left(s)));
	step(s);
}

static void skip_line_comment(struct scan *s)
{
	while (s->p < s->end && *s->p != '\n')
		if (spliced(s))
			skip_splice(s);
		else
			step(s);
}

static void skip_block_comment(struct scan *s)
{
	const char *end = left(s) > 2 ? memmem(s->p + 2, left(s) - 2, "*/", 2) : NULL;
	step_to(s, end ? end + 2 : s->end);
}

static bool skip_one(struct scan *s)
{
	if (ahead(s, "//"))
		skip_line_comment(s);
	else if (ahead(s, "/*"))
		skip_block_comment(s);
	else if (spliced(s))
		skip_splice(s);
	else if (strchr(" \t\r\n\v\f", *s->p) && *s->p) {
		s->fresh |= *s->p == '\n';
		step(s);
	} else
		return false;
	return true;
}

static void skip(struct scan *s)
{
	while (s->p < s->end && skip_one(s))
		;
}

/* ---- tokens ---- */

static void take_directive(struct scan *s)
{
	while (s->p < s->end && *s->p != '\n' && !ahead(s, "//"))
		if (ahead(s, "/*"))
			skip_block_comment(s);
		else if (spliced(s))
			skip_splice(s);
		else
			step(s);
}

static void take_quoted(struct scan *s)
{
	char quote = *s->p;
	step(s);
	while (s->p < s->end && *s->p != quote && *s->p != '\n') {
		if (spliced(s)) {
			skip_splice(s);
			continue;
		}
		if (*s->p == '\\' && left(s) > 1 && s->p[1] != '\n')
			step(s);
		step(s);
	}
	if (s->p < s->end && *s->p == quote)
		step(s);
}

/* R"mark( ... )mark" */
static void take_raw(struct scan *s)
{
	enum { MARK = 16 };
	char close[MARK + 2] = ")";
	const char *open = memchr(s->p, '(', left(s) < MARK + 2 ? left(s) : MARK + 2), *mark = s->p + 1, *stop;
	size_t n = open ? (size_t)(open - mark) : MARK + 1;
	if (n > MARK || memchr(mark, '\n', n)) {
		take_quoted(s);
		return;
	}
	memcpy(close + 1, mark, n);
	close[1 + n] = '"';
	stop = memmem(open + 1, (size_t)(s->end - open - 1), close, n + 2);
	step_to(s, stop ? stop + n + 2 : s->end);
}

static void take_number(struct scan *s)
{
	while (s->p < s->end && (is_name(*s->p) || *s->p == '.' || (*s->p == '\'' && left(s) > 1 && is_name(s->p[1])))) {
		bool hexadecimal = s->p[0] == 'p' || s->p[0] == 'P', exponent = hexadecimal || s->p[0] == 'e' || s->p[0] == 'E';
		step(s);
		if (exponent && s->p < s->end && (*s->p == '+' || *s->p == '-') && s->p + 1 < s->end && is_digit(s->p[1]))
			step(s);
	}
}

/* 0x1e+5 is a sum: an exponent of a hexadecimal number begins with p. */
static size_t number_size(const char *p, const char *end)
{
	struct scan s = {.p = p, .end = end};
	if (end - p > 2 && *p == '0' && (p[1] == 'x' || p[1] == 'X')) {
		const char *stop = p + 2;
		while (stop < end && (is_name(*stop) || *stop == '.' || (*stop == '\'' && stop + 1 < end && is_name(stop[1])))) {
			bool sign = (*stop == 'p' || *stop == 'P') && stop + 2 < end && (stop[1] == '+' || stop[1] == '-') && is_digit(stop[2]);
			stop += sign ? 2 : 1;
		}
		return (size_t)(stop - p);
	}
	take_number(&s);
	return (size_t)(s.p - p);
}

static size_t mark_size(const struct scan *s)
{
	static const char *const marks[] = {"<<<", ">>>", "<<=", ">>=", "...", "->*", "<=>", "<<", ">>", "<=", ">=", "==", "!=", "&&",
					    "||",  "++",  "--",	 "+=",	"-=",  "*=",  "/=",  "%=", "&=", "|=", "^=", "->", "::", "##"};
	for (unsigned i = 0; i < sizeof marks / sizeof *marks; i++)
		if (ahead(s, marks[i]))
			return strlen(marks[i]);
	return 1;
}

/* A prefix of a literal: L, u8, R, LR. */
static bool literal_prefix(const char *name, size_t n)
{
	static const char *const all[] = {"L", "u8", "u", "U", "R", "LR", "u8R", "uR", "UR"};
	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (strlen(all[i]) == n && !memcmp(all[i], name, n))
			return true;
	return false;
}

static enum token_kind take_literal(struct scan *s, bool raw)
{
	enum token_kind kind = *s->p == '"' ? TOKEN_STRING : TOKEN_CHAR;
	if (raw && kind == TOKEN_STRING)
		take_raw(s);
	else
		take_quoted(s);
	return kind;
}

static enum token_kind take_name(struct scan *s)
{
	const char *start = s->p;
	while (s->p < s->end && is_name(*s->p))
		step(s);
	bool quote = s->p < s->end && (*s->p == '"' || *s->p == '\'');
	if (quote && literal_prefix(start, (size_t)(s->p - start)))
		return take_literal(s, s->p[-1] == 'R');
	return TOKEN_NAME;
}

static enum token_kind take(struct scan *s)
{
	if (*s->p == '#' && s->fresh) {
		take_directive(s);
		return TOKEN_DIRECTIVE;
	}
	if (is_digit(*s->p) || (*s->p == '.' && left(s) > 1 && is_digit(s->p[1]))) {
		step_to(s, s->p + number_size(s->p, s->end));
		return TOKEN_NUMBER;
	}
	if (is_name(*s->p))
		return take_name(s);
	if (*s->p == '"' || *s->p == '\'')
		return take_literal(s, false);
	step_to(s, s->p + mark_size(s));
	return TOKEN_MARK;
}

/* ---- brackets ---- */

static char partner(char c)
{
	return c == ')' ? '(' : c == ']' ? '[' : c == '}' ? '{' : 0;
}

static bool is_open(char c)
{
	return c == '(' || c == '[' || c == '{';
}

static unsigned kind_of(char open)
{
	return open == '(' ? 0 : open == '[' ? 1 : 2;
}

/* A closing bracket ends the nearest open one of its kind; brackets that it passes over have no partner. */
static void match_brackets(struct tokens *t)
{
	unsigned *open = malloc((t->n + 1) * sizeof *open), depth = 0, count[3] = {0};
	if (!open)
		abort();
	for (unsigned i = 0; i <= t->n; i++) {
		struct token *k = &t->list[i];
		char c = k->kind == TOKEN_MARK ? t->text[k->at] : 0;
		k->match = i;
		if (partner(c) && count[kind_of(partner(c))]) {
			char o;
			do {
				o = t->text[t->list[open[--depth]].at];
				count[kind_of(o)]--;
			} while (o != partner(c));
			k->match = open[depth];
			t->list[open[depth]].match = i;
		}
		k->parent = depth ? open[depth - 1] : i;
		if (is_open(c)) {
			open[depth++] = i;
			count[kind_of(c)]++;
		}
	}
	free(open);
}

void tokens_of(const char *text, size_t size, struct arena *a, struct tokens *out)
{
	struct scan s = {.p = text, .end = text + size, .line = 1, .fresh = true};
	size_t room = 64;
	struct token *list = malloc(room * sizeof *list);
	*out = (struct tokens){.text = text, .size = size};
	for (;;) {
		if (out->n + 1 >= room && list)
			list = realloc(list, (room *= 2) * sizeof *list);
		if (!list)
			abort();
		skip(&s);
		struct token *k = &list[out->n];
		*k = (struct token){.kind = TOKEN_END, .at = (size_t)(s.p - text), .line = s.line};
		if (s.p == s.end)
			break;
		k->kind = take(&s);
		k->size = (size_t)(s.p - text) - k->at;
		s.fresh = false;
		out->n++;
	}
	out->list = arena_dup(a, list, (out->n + 1) * sizeof *list);
	free(list);
	match_brackets(out);
}

bool token_is(const struct tokens *t, unsigned i, const char *word)
{
	const struct token *k = i < t->n ? &t->list[i] : NULL;
	return k && k->kind != TOKEN_STRING && k->kind != TOKEN_DIRECTIVE && strlen(word) == k->size && !memcmp(t->text + k->at, word, k->size);
}

bool token_in(const struct tokens *t, unsigned i, const char *words)
{
	const struct token *k = i < t->n ? &t->list[i] : NULL;
	if (!k || k->kind == TOKEN_STRING || k->kind == TOKEN_DIRECTIVE)
		return false;
	while (*words) {
		size_t n = strcspn(words, " ");
		if (n == k->size && !memcmp(t->text + k->at, words, n))
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}
