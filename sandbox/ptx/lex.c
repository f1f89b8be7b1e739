/* PTX text to tokens: see lex.h. */
#include "lex.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LETTER = 1, DIGIT = 2, SIGIL = 4, SPACE = 8 };	/* SIGIL: % and $, which may start a name */

static const unsigned char classes[256] = {
	['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER, ['_'] = LETTER, ['0' ... '9'] = DIGIT,
	['$'] = LETTER | SIGIL, ['%'] = SIGIL,
	[' '] = SPACE, ['\t'] = SPACE, ['\r'] = SPACE, ['\v'] = SPACE, ['\f'] = SPACE,
};

static bool is(char c, int class)
{
	return classes[(unsigned char)c] & class;
}

void lex_init(struct lex *l, const char *text, size_t size)
{
	*l = (struct lex){.p = text, .end = text + size, .line = 1};
}

static bool at_newline(struct lex *l)
{
	return !*l->p && l->p < l->end;
}

/* false: a comment that is not closed */
static bool skip_comment(struct lex *l)
{
	for (l->p += 2; l->p < l->end; l->p++) {
		if (!*l->p)
			l->line++;
		if (l->p[0] == '*' && l->p[1] == '/') {
			l->p += 2;
			return true;
		}
	}
	return false;
}

static bool skip_space(struct lex *l)
{
	for (;;) {
		if (is(*l->p, SPACE)) {
			l->p++;
		} else if (at_newline(l)) {
			l->p++;
			l->line++;
		} else if (l->p[0] == '/' && l->p[1] == '/') {
			l->p += strlen(l->p);
		} else if (l->p[0] == '/' && l->p[1] == '*') {
			if (!skip_comment(l))
				return false;
		} else {
			return true;
		}
	}
}

char lex_peek(struct lex *l)
{
	return skip_space(l) ? *l->p : 0;
}

static struct token bad(struct lex *l, struct token t, const char *why)
{
	t.kind = T_BAD;
	t.n = (uint32_t)(l->p - t.s);
	l->wrong = why;
	return t;
}

static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 99;
}

/* The digits of an integer in this base; false: more than 64 bits. */
static bool digits(struct lex *l, unsigned base, uint64_t *value)
{
	bool fits = true;

	*value = 0;
	for (unsigned d; (d = digit_value(*l->p)) < base; l->p++)
		fits &= !__builtin_mul_overflow(*value, (uint64_t)base, value) &&
			!__builtin_add_overflow(*value, (uint64_t)d, value);
	return fits;
}

static struct token float_bits(struct lex *l, struct token t, int kind, unsigned n)
{
	l->p += 2;
	const char *from = l->p;
	if (!digits(l, 16, &t.value) || l->p - from != (ptrdiff_t)n || is(*l->p, LETTER | DIGIT))
		return bad(l, t, n == 8 ? "0f wants 8 hexadecimal digits" : "0d wants 16 hexadecimal digits");
	t.kind = kind;
	t.n = (uint32_t)(l->p - t.s);
	return t;
}

static struct token decimal_float(struct lex *l, struct token t)
{
	char text[64], *stop;
	const char *from = t.s;

	for (l->p = from; is(*l->p, DIGIT) || *l->p == '.'; l->p++)
		;
	if ((*l->p | 32) == 'e') {
		l->p++;
		if (*l->p == '+' || *l->p == '-')
			l->p++;
		while (is(*l->p, DIGIT))
			l->p++;
	}
	size_t n = (size_t)(l->p - from);
	if (n >= sizeof text || is(*l->p, LETTER))
		return bad(l, t, "malformed number");
	memcpy(text, from, n);
	text[n] = 0;
	double v = strtod(text, &stop);
	if (*stop || !isfinite(v))
		return bad(l, t, "malformed number");
	memcpy(&t.value, &v, sizeof v);
	t.kind = T_F64;
	t.n = (uint32_t)n;
	return t;
}

static struct token number(struct lex *l, struct token t)
{
	const char *p = l->p;
	unsigned base = 10;
	char second = p[0] == '0' ? (char)(p[1] | 32) : 0;

	if (second == 'f')
		return float_bits(l, t, T_F32, 8);
	if (second == 'd')
		return float_bits(l, t, T_F64, 16);
	if (second == 'x' || second == 'b') {
		base = second == 'x' ? 16 : 2;
		l->p += 2;
		if (digit_value(*l->p) >= base)
			return bad(l, t, "malformed number");
	} else {
		while (is(*p, DIGIT))
			p++;
		if (*p == '.' || (*p | 32) == 'e')
			return decimal_float(l, t);
		if (l->p[0] == '0' && is(l->p[1], DIGIT))
			base = 8;
	}
	if (!digits(l, base, &t.value))
		return bad(l, t, "number does not fit in 64 bits");
	t.is_unsigned = t.value >> 63;
	if (*l->p == 'U') {
		t.is_unsigned = true;
		l->p++;
	}
	if (is(*l->p, LETTER | DIGIT))
		return bad(l, t, "malformed number");
	t.kind = T_INT;
	t.n = (uint32_t)(l->p - t.s);
	return t;
}

struct token lex_fraction(struct lex *l, const struct token *word)
{
	return decimal_float(l, *word);
}

static struct token word(struct lex *l, struct token t)
{
	const char *p = l->p + 1;

	while (is(*p, LETTER | DIGIT) || (p[0] == ':' && p[1] == ':' && is(p[2], LETTER | DIGIT)))
		p += *p == ':' ? 2 : 1;
	l->p = p;
	if (p == t.s + 1)
		return bad(l, t, "a name is wanted after '.'");
	t.kind = T_WORD;
	t.n = (uint32_t)(p - t.s);
	return t;
}

static struct token name(struct lex *l, struct token t)
{
	for (l->p++; is(*l->p, LETTER | DIGIT); l->p++)
		;
	t.kind = T_IDENT;
	t.n = (uint32_t)(l->p - t.s);
	if (t.n == 1 && *t.s == '%')
		t.kind = '%';		/* the operator */
	return t;
}

static struct token string(struct lex *l, struct token t)
{
	l->p++;
	while (*l->p && *l->p != '"')
		l->p += l->p[0] == '\\' && l->p[1] ? 2 : 1;
	if (*l->p != '"')
		return bad(l, t, "string without an end");
	t.kind = T_STRING;
	t.s++;
	t.n = (uint32_t)(l->p - t.s);
	l->p++;
	return t;
}

static struct token operator(struct lex *l, struct token t)
{
	static const struct { char text[3]; int kind; } pairs[] = {
		{"<<", T_SHL}, {">>", T_SHR}, {"<=", T_LE}, {">=", T_GE},
		{"==", T_EQ}, {"!=", T_NE}, {"&&", T_AND}, {"||", T_OR},
	};

	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (l->p[0] == pairs[i].text[0] && l->p[1] == pairs[i].text[1]) {
			t.kind = pairs[i].kind;
			t.n = 2;
			l->p += 2;
			return t;
		}
	}
	l->p++;
	if (!strchr("{}[]()<>,;:@!+-*/&|^~=?", *t.s))
		return bad(l, t, "stray character");
	t.kind = *t.s;
	t.n = 1;
	return t;
}

struct token lex_next(struct lex *l)
{
	bool closed = skip_space(l);
	struct token t = {.kind = T_EOF, .line = l->line, .s = l->p};

	if (!closed)
		return bad(l, t, "comment without an end");
	if (l->p >= l->end)
		return t;
	if (is(*l->p, LETTER | SIGIL))
		return name(l, t);
	if (is(*l->p, DIGIT))
		return number(l, t);
	if (*l->p == '.')
		return word(l, t);
	if (*l->p == '"')
		return string(l, t);
	return operator(l, t);
}

bool lex_skip_block(struct lex *l)
{
	for (unsigned depth = 1; l->p < l->end; l->p++) {
		if (!*l->p)
			l->line++;
		else if (*l->p == '{')
			depth++;
		else if (*l->p == '}' && --depth == 0) {
			l->p++;
			return true;
		}
	}
	return false;
}
