/* Constant expressions of PTX: 64-bit integers with C's operators, signed unless a side is unsigned; single floats. */
#include "parse.h"

#include <string.h>

static int ternary(struct parser *p, struct value *out);
static int unary(struct parser *p, struct value *out);

static int enter(struct parser *p)
{
	if (++p->depth > PTX_MAX_NESTING)
		return parser_fail(p, "this expression is nested more than %d deep", PTX_MAX_NESTING);
	return 0;
}

static int want_int(struct parser *p, const struct value *v)
{
	return v->kind == T_INT ? 0 : parser_fail(p, "an integer is wanted here, not a float");
}

static bool is_cast(const struct parser *p)
{
	return parser_is_word(p, ".s64") || parser_is_word(p, ".u64");
}

static int parens(struct parser *p, struct value *out)
{
	parser_advance(p);
	if (is_cast(p)) {
		bool is_unsigned = parser_is_word(p, ".u64");
		parser_advance(p);
		if (parser_expect(p, ')', "')'") < 0 || enter(p) < 0 || unary(p, out) < 0 || want_int(p, out) < 0)
			return -1;
		p->depth--;
		out->is_unsigned = is_unsigned;
		return 0;
	}
	return ternary(p, out) < 0 ? -1 : parser_expect(p, ')', "')'");
}

static int primary(struct parser *p, struct value *out)
{
	if (p->t.kind == '(')
		return parens(p, out);
	if (p->t.kind == T_WORD && p->t.n > 1 && p->t.s[1] >= '0' && p->t.s[1] <= '9') {
		p->t = lex_fraction(&p->lex, &p->t);
		if (p->t.kind == T_BAD)
			return parser_fail(p, "%s: '%.*s'", p->lex.wrong, parser_text(&p->t));
	}
	if (p->t.kind == T_IDENT && p->t.n == 7 && !memcmp(p->t.s, "WARP_SZ", 7)) {
		*out = (struct value){.kind = T_INT, .bits = 32};
		parser_advance(p);
		return 0;
	}
	if (p->t.kind != T_INT && p->t.kind != T_F32 && p->t.kind != T_F64)
		return parser_unexpected(p, "a constant");
	*out = (struct value){p->t.kind, p->t.is_unsigned, p->t.value};
	parser_advance(p);
	return 0;
}

static int unary(struct parser *p, struct value *out)
{
	int op = p->t.kind;

	if (op != '-' && op != '+' && op != '~' && op != '!')
		return primary(p, out);
	parser_advance(p);
	if (enter(p) < 0 || unary(p, out) < 0)
		return -1;
	p->depth--;
	if (op == '+')
		return 0;
	if (op == '-' && out->kind != T_INT) {
		out->bits ^= out->kind == T_F32 ? 1u << 31 : 1ull << 63;
		return 0;
	}
	if (want_int(p, out) < 0)
		return -1;
	if (op == '-')
		out->bits = -out->bits;
	else if (op == '~')
		out->bits = ~out->bits;
	else
		*out = (struct value){.kind = T_INT, .bits = !out->bits};
	return 0;
}

static int precedence(int op)
{
	switch (op) {
	case T_OR: return 1;
	case T_AND: return 2;
	case '|': return 3;
	case '^': return 4;
	case '&': return 5;
	case T_EQ: case T_NE: return 6;
	case '<': case '>': case T_LE: case T_GE: return 7;
	case T_SHL: case T_SHR: return 8;
	case '+': case '-': return 9;
	case '*': case '/': case '%': return 10;
	default: return 0;
	}
}

static uint64_t shift(int op, const struct value *a, uint64_t by)
{
	bool minus = !a->is_unsigned && a->bits >> 63;

	if (by > 63)
		return op == T_SHR && minus ? ~0ull : 0;
	if (op == T_SHL)
		return a->bits << by;
	uint64_t v = a->bits >> by;
	return minus && by ? v | ~0ull << (64 - by) : v;
}

static uint64_t divide(int op, const struct value *a, const struct value *b, bool is_unsigned)
{
	if (is_unsigned)
		return op == '/' ? a->bits / b->bits : a->bits % b->bits;
	if (b->bits == ~0ull)				/* the smallest number / -1 must not trap */
		return op == '/' ? -a->bits : 0;
	int64_t x = (int64_t)a->bits, y = (int64_t)b->bits;
	return (uint64_t)(op == '/' ? x / y : x % y);
}

static bool less(const struct value *a, const struct value *b, bool is_unsigned)
{
	return is_unsigned ? a->bits < b->bits : (int64_t)a->bits < (int64_t)b->bits;
}

static int combine(struct parser *p, int op, struct value *a, const struct value *b)
{
	bool u = a->is_unsigned || b->is_unsigned;
	uint64_t v = 0;

	if (want_int(p, a) < 0 || want_int(p, b) < 0)
		return -1;
	switch (op) {
	case '+': v = a->bits + b->bits; break;
	case '-': v = a->bits - b->bits; break;
	case '*': v = a->bits * b->bits; break;
	case '&': v = a->bits & b->bits; break;
	case '|': v = a->bits | b->bits; break;
	case '^': v = a->bits ^ b->bits; break;
	case T_SHL: case T_SHR:
		a->bits = shift(op, a, b->bits);
		return 0;
	case '/': case '%':
		if (!b->bits)
			return parser_fail(p, "division by zero");
		v = divide(op, a, b, u);
		break;
	case T_OR: v = a->bits || b->bits; u = false; break;
	case T_AND: v = a->bits && b->bits; u = false; break;
	case T_EQ: v = a->bits == b->bits; u = false; break;
	case T_NE: v = a->bits != b->bits; u = false; break;
	case '<': v = less(a, b, u); u = false; break;
	case '>': v = less(b, a, u); u = false; break;
	case T_LE: v = !less(b, a, u); u = false; break;
	case T_GE: v = !less(a, b, u); u = false; break;
	default: BUG("operator %d", op);
	}
	a->bits = v;
	a->is_unsigned = u;
	return 0;
}

static int binary(struct parser *p, int level, struct value *out)
{
	if (unary(p, out) < 0)
		return -1;
	for (int op, own; own = precedence(op = p->t.kind), own >= level && own;) {
		struct value right;
		parser_advance(p);
		if (binary(p, own + 1, &right) < 0 || combine(p, op, out, &right) < 0)
			return -1;
	}
	return 0;
}

static int ternary(struct parser *p, struct value *out)
{
	struct value yes, no;

	if (enter(p) < 0 || binary(p, 1, out) < 0)
		return -1;
	if (parser_accept(p, '?')) {
		if (want_int(p, out) < 0 || ternary(p, &yes) < 0 || parser_expect(p, ':', "':'") < 0 ||
		    ternary(p, &no) < 0)
			return -1;
		*out = out->bits ? yes : no;
	}
	p->depth--;
	return 0;
}

int parser_expr(struct parser *p, struct value *out)
{
	p->depth = 0;
	return ternary(p, out);
}

int parser_int(struct parser *p, uint64_t max, const char *what, uint64_t *out)
{
	struct value v;

	if (parser_expr(p, &v) < 0 || want_int(p, &v) < 0)
		return -1;
	if ((!v.is_unsigned && v.bits >> 63) || v.bits > max)
		return parser_fail(p, "%s is not in 0..%llu", what, (unsigned long long)max);
	*out = v.bits;
	return 0;
}
