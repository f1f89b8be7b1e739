/* Sentences in the reader's language: see saying.h. */
#include "saying.h"

#include "../sandbox/base/buf.h"
#include "../sandbox/base/cleanup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS = 9, DEPTH = 8, STEPS = 50000, PUNCTUATION = 3 };

static const char hidden[] = "…";	/* in the place of a number that is not told (untold.h) */

static const struct {
	const char *en, *zh;
} rows[] = {
#define SAYING(en, zh) {en, zh},
#include "sayings.def"
#undef SAYING
};
enum { ROWS = sizeof rows / sizeof *rows };

struct span {
	const char *at;
	size_t size;
};

struct match {
	struct span arguments[ARGUMENTS];
	unsigned n, literal, steps;	/* literal: characters that are the row's own; steps: a bound on what a text may cost */
};

/* ---- matching ---- */

static bool ends(const char *s, const char *end)
{
	return s == end;
}

static size_t hidden_at(const char *s, const char *end)
{
	size_t n = sizeof hidden - 1;
	return (size_t)(end - s) >= n && !memcmp(s, hidden, n) ? n : 0;
}

/* The characters that a number can have: of any base, with separators of thousands, an exponent, a sign. */
static size_t number_at(const char *s, const char *end)
{
	const char *from = s;
	if (s < end && (*s == '-' || *s == '+'))
		s++;
	while (s < end && (isalnum((unsigned char)*s) || *s == '.' || *s == ',' || ((*s == '-' || *s == '+') && s > from && s[-1] == 'e')))
		s++;
	return (size_t)(s - from);
}

static bool match(const char *format, const char *s, const char *end, struct match *m);

/* An argument of up to `most` bytes, then the rest; the longest first for a number, and before the parenthesis that ends a sentence; else
 * the shortest. */
static bool match_argument(const char *rest, const char *s, const char *end, bool number, struct match *m)
{
	bool longest = number || !strncmp(rest, " (", 2);
	size_t most = number ? number_at(s, end) : (size_t)(end - s), untold = number ? hidden_at(s, end) : 0;
	unsigned at = m->n, literal = m->literal;
	if (at == ARGUMENTS)
		return false;
	for (size_t i = 0; i <= most; i++) {
		size_t n = untold ? untold : longest ? most - i : i;
		if (number && !n)
			return false;
		m->arguments[at] = (struct span){s, n};
		m->n = at + 1;
		m->literal = literal;
		if (match(rest, s + n, end, m))
			return true;
		if (untold || m->steps > STEPS)
			return false;
	}
	return false;
}

static bool match(const char *format, const char *s, const char *end, struct match *m)
{
	for (; *format; format++) {
		if (++m->steps > STEPS)
			return false;
		if (*format == '%' && format[1] != '%' && format[1] != ' ') {
			const char *kind = format + 1 + strspn(format + 1, "0123456789.*+-#lz");
			return match_argument(kind + 1, s, end, *kind != 's' && *kind != 'c', m);
		}
		size_t untold = isdigit((unsigned char)*format) ? hidden_at(s, end) : 0;
		if (untold) {
			while (isalnum((unsigned char)format[1]))
				format++;
			s += untold;
			continue;
		}
		if (*format == '%' && format[1] == '%')
			format++;
		if (ends(s, end) || *s != *format)
			return false;
		s++;
		m->literal++;
	}
	return ends(s, end);
}

/* ---- saying ---- */

static bool say(struct span text, unsigned depth, struct buf *out);

/* True if there was something to say of it in the other language. */
static bool say_argument(struct span s, unsigned depth, struct buf *out)
{
	if (depth < DEPTH && say(s, depth + 1, out))
		return true;
	buf_add(out, s.at, s.size);
	return false;
}

static bool fill(const char *zh, const struct match *m, unsigned depth, struct buf *out)
{
	bool known = false;
	for (; *zh; zh++) {
		bool plain = !strncmp(zh, "{=", 2);
		char digit = *zh == '{' ? zh[plain ? 2 : 1] : 0;
		unsigned i = isdigit((unsigned char)digit) ? (unsigned)(digit - '0') : 0;
		if (i && i <= m->n) {
			known |= say_argument(m->arguments[i - 1], plain ? DEPTH : depth, out);
			zh += plain ? 3 : 2;
		} else {
			buf_addc(out, *zh);
		}
	}
	return known;
}

/* A row that begins with any text at all claims a sentence less than one that begins with words; a parenthesis is taken off last. */
static unsigned claim(const struct match *m, const char *format)
{
	if (!strncmp(format, "%s (", 4))
		return 0;
	return strncmp(format, "%s", 2) ? m->literal : m->literal / 2;
}

/* By the row that has most of the sentence in its own words.  One that is little but punctuation around arguments must have one that is
 * known. */
static bool say(struct span text, unsigned depth, struct buf *out)
{
	struct match best = {0};
	unsigned most = 0;
	int row = -1;
	for (int i = 0; i < ROWS && text.size; i++) {
		struct match m = {0};
		if (match(rows[i].en, text.at, text.at + text.size, &m) && (row < 0 || claim(&m, rows[i].en) > most)) {
			best = m;
			most = claim(&m, rows[i].en);
			row = i;
		}
	}
	if (row < 0)
		return false;
	size_t size = out->size;
	if (fill(rows[row].zh, &best, depth, out) || best.literal > PUNCTUATION || !best.n)
		return true;
	out->size = size;
	if (out->data)
		out->data[size] = 0;
	return false;
}

/* Of a character that is as wide as a Chinese one: U+3000 to U+9FFF, U+F000 to U+FFFF. */
static bool wide(unsigned char first)
{
	return (first >= 0xe3 && first <= 0xe9) || first == 0xef;
}

/* Blanks set arguments off from Chinese; where an argument begins or ends in Chinese itself there are none. */
static void close_up(char *s)
{
	char *to = s;
	unsigned char last = 0;		/* first byte of the last character */
	for (const char *from = s; *from; from++) {
		if (*from == ' ' && wide(last) && wide((unsigned char)from[1]))
			continue;
		if (((unsigned char)*from & 0xc0) != 0x80)
			last = (unsigned char)*from;
		*to++ = *from;
	}
	*to = 0;
}

const char *saying_in(const char *lang, const char *text, struct arena *a)
{
	CLEANUP_BUF struct buf out = {0};
	if (!text || !lang || strcmp(lang, "zh") || !say((struct span){text, strlen(text)}, 0, &out))
		return text;
	char *said = arena_strdup(a, buf_str(&out));
	close_up(said);
	return said;
}
