/* One PTX instruction: guard, opcode with its suffixes, operands. */
#include "parse.h"

#include <stdio.h>
#include <string.h>

enum { MAX_OPERANDS = 64, MAX_ELEMENTS = 4096 };

static int operand(struct parser *p, struct ptx_operand *o);

static struct ptx_operand blank(enum ptx_operand_kind kind)
{
	return (struct ptx_operand){.kind = (uint8_t)kind, .reg = -1, .reg2 = -1};
}

static const struct binding *find(struct parser *p, int32_t *reg)
{
	return symbols_find(p->symbols, p->t.s, p->t.n, reg);
}

static bool is_sink(const struct token *t)
{
	return t->kind == T_IDENT && t->n == 1 && *t->s == '_';
}

static int unknown_name(struct parser *p)
{
	return parser_fail(p, "'%.*s' is not declared", parser_text(&p->t));
}

/* ---- registers ---- */

/* .b0, .h1, .b3210 behind a register: see PTX_SELECT_COUNT */
static int selector(struct parser *p, struct ptx_operand *o)
{
	const char *s = p->t.s + 1;
	uint32_t n = p->t.n - 1, parts = 0;

	if ((*s != 'b' && *s != 'h') || n < 2 || n > 5)
		return parser_fail(p, "'%.*s' is no part of a register", parser_text(&p->t));
	for (uint32_t i = 1; i < n; i++) {
		if (s[i] < '0' || s[i] > '7')
			return parser_fail(p, "'%.*s' is no part of a register", parser_text(&p->t));
		parts = parts << 4 | (uint32_t)(s[i] - '0');
	}
	o->n = parts << 4 | (*s == 'h' ? 8u : 0u) | (n - 1);
	parser_advance(p);
	return 0;
}

static int one_register(struct parser *p, int32_t *out)
{
	int32_t reg;

	if (is_sink(&p->t)) {
		*out = -1;
	} else {
		const struct binding *b = p->t.kind == T_IDENT ? find(p, &reg) : NULL;
		if (!b || b->kind != B_REG)
			return parser_unexpected(p, "a register");
		*out = reg;
	}
	parser_advance(p);
	return 0;
}

/* p|q, where p was taken */
static int pair(struct parser *p, struct ptx_operand *o)
{
	o->kind = PTX_O_PAIR;
	parser_advance(p);
	return one_register(p, &o->reg2);
}

static int vector_register(struct parser *p, struct ptx_operand *o, const struct binding *b)
{
	static const char parts[] = "xyzw";

	if (p->t.kind == T_WORD) {
		const char *part = p->t.n == 2 ? memchr(parts, p->t.s[1], 4) : NULL;
		if (!part || part - parts >= (ptrdiff_t)b->count)
			return parser_unexpected(p, "an element such as .x");
		o->reg = b->reg + (int32_t)(part - parts);
		parser_advance(p);
		return 0;
	}
	*o = blank(PTX_O_VEC);
	o->n = b->count;
	o->elems = arena_new_array(p->arena, struct ptx_operand, b->count);
	for (uint32_t i = 0; i < b->count; i++) {
		o->elems[i] = blank(PTX_O_REG);
		o->elems[i].reg = b->reg + (int32_t)i;
	}
	return 0;
}

/* %laneid, %tid.x */
static int special_register(struct parser *p, struct ptx_operand *o)
{
	char text[48];
	struct token name = p->t;
	int id;

	if (*name.s != '%' || name.n >= 32)
		return unknown_name(p);
	memcpy(text, name.s + 1, name.n - 1);
	size_t n = name.n - 1;
	id = words_find(WORD_SREG, text, n);
	if (id < 0 && lex_peek(&p->lex) == '.') {
		parser_advance(p);
		if (p->t.n > 2)
			return parser_unexpected(p, ".x, .y or .z");
		memcpy(text + n, p->t.s, p->t.n);
		id = words_find(WORD_SREG, text, n + p->t.n);
	}
	if (id < 0)
		return parser_fail_at(p, name.line, "'%.*s' is neither declared nor a special register",
				     parser_text(&name));
	*o = blank(PTX_O_SREG);
	o->sreg = (uint16_t)id;
	parser_advance(p);
	return 0;
}

/* ---- names ---- */

static int offset(struct parser *p, uint64_t *imm)
{
	struct value v;

	if (p->t.kind != '+' && p->t.kind != '-')
		return 0;
	if (p->t.kind == '+')
		parser_advance(p);
	if (parser_expr(p, &v) < 0)
		return -1;
	if (v.kind != T_INT)
		return parser_fail(p, "an offset is an integer");
	*imm = v.bits;
	return 0;
}

static int named(struct parser *p, struct ptx_operand *o)
{
	int32_t reg;
	const struct binding *b = find(p, &reg);

	if (!b)
		return special_register(p, o);
	parser_advance(p);
	switch ((enum binding_kind)b->kind) {
	case B_REG:
		*o = blank(PTX_O_REG);
		o->reg = reg;
		if (p->t.kind == '|')
			return pair(p, o);
		return p->t.kind == T_WORD ? selector(p, o) : 0;
	case B_VECTOR:
		*o = blank(PTX_O_REG);
		return vector_register(p, o, b);
	case B_VAR:
		*o = blank(PTX_O_VAR);
		o->var = b->var;
		return offset(p, &o->imm);
	case B_FUNC:
		*o = blank(PTX_O_FUNC);
		o->func = b->func;
		return 0;
	case B_TABLE:
		*o = blank(PTX_O_TABLE);
		o->table = b->table;
		return 0;
	case B_LABEL:
		break;
	}
	return parser_fail(p, "a label is no operand of this instruction");
}

static int sink(struct parser *p, struct ptx_operand *o)
{
	*o = blank(PTX_O_SINK);
	parser_advance(p);
	return p->t.kind == '|' ? pair(p, o) : 0;
}

/* !p, -r */
static int negated(struct parser *p, struct ptx_operand *o)
{
	*o = blank(PTX_O_REG);
	o->neg = true;
	parser_advance(p);
	if (is_sink(&p->t))
		return parser_unexpected(p, "a register");
	return one_register(p, &o->reg);
}

static bool starts_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

/* ---- constants, addresses, vectors ---- */

static int constant(struct parser *p, struct ptx_operand *o)
{
	struct value v;

	if (parser_expr(p, &v) < 0)
		return -1;
	*o = blank(v.kind == T_INT ? PTX_O_INT : v.kind == T_F32 ? PTX_O_F32 : PTX_O_F64);
	o->imm = v.bits;
	return 0;
}

/* What stands between an opening and a closing token, as elements of o. */
static int sequence(struct parser *p, struct ptx_operand *o, enum ptx_operand_kind kind, int close)
{
	size_t from = p->elements.size;

	*o = blank(kind);
	parser_advance(p);
	while (p->t.kind != close) {
		struct ptx_operand element;
		if (p->elements.size > from && parser_expect(p, ',', "',' or the closing bracket") < 0)
			return -1;
		if (p->t.kind == '{' || p->t.kind == '[' || p->t.kind == '(')
			return parser_unexpected(p, "a register or constant");
		if (operand(p, &element) < 0)
			return -1;
		if (++o->n > MAX_ELEMENTS)
			return parser_fail(p, "more than %d elements", MAX_ELEMENTS);
		buf_add(&p->elements, &element, sizeof element);
	}
	parser_advance(p);
	if (parser_memory(p, p->elements.size - from) < 0)
		return -1;
	if (o->n)
		o->elems = arena_dup(p->arena, p->elements.data + from, p->elements.size - from);
	p->elements.size = from;
	return 0;
}

static int address_base(struct parser *p, struct ptx_operand *o)
{
	int32_t reg;
	const struct binding *b;

	if (p->t.kind != T_IDENT)
		return constant(p, o);
	b = find(p, &reg);
	if (!b)
		return unknown_name(p);
	if (b->kind == B_REG)
		o->reg = reg;
	else if (b->kind == B_VAR)
		o->var = b->var;
	else
		return parser_unexpected(p, "a register or variable");
	parser_advance(p);
	return offset(p, &o->imm);
}

static int memory(struct parser *p, struct ptx_operand *o)
{
	struct ptx_operand coordinates;

	*o = blank(PTX_O_MEM);
	parser_advance(p);
	if (address_base(p, o) < 0)
		return -1;
	if (o->kind == PTX_O_F32 || o->kind == PTX_O_F64)
		return parser_fail(p, "an address is an integer");
	o->kind = PTX_O_MEM;
	if (parser_accept(p, ',')) {
		if (p->t.kind != '{')
			return parser_unexpected(p, "coordinates such as {%r1, %r2}");
		if (o->reg < 0)
			return parser_fail(p, "the address of a tensor map must be in a register");
		if (sequence(p, &coordinates, PTX_O_VEC, '}') < 0)
			return -1;
		o->elems = coordinates.elems;
		o->n = coordinates.n;
	}
	return parser_expect(p, ']', "']'");
}

static int operand(struct parser *p, struct ptx_operand *o)
{
	char next;

	switch (p->t.kind) {
	case '[':
		return memory(p, o);
	case '{':
		return sequence(p, o, PTX_O_VEC, '}');
	case '!':
	case '-':
		next = lex_peek(&p->lex);
		if (starts_name(next) && strncmp(p->lex.p, "WARP_SZ", 7))
			return negated(p, o);
		return constant(p, o);
	case T_IDENT:
		if (is_sink(&p->t))
			return sink(p, o);
		if (p->t.n == 7 && !memcmp(p->t.s, "WARP_SZ", 7))
			return constant(p, o);
		return named(p, o);
	case ';':
	case ',':
		return parser_unexpected(p, "an operand");
	default:
		return constant(p, o);
	}
}

/* ---- the instruction ---- */

static int guard(struct parser *p, struct ptx_insn *in)
{
	in->guard = -1;
	if (!parser_accept(p, '@'))
		return 0;
	in->guard_not = parser_accept(p, '!');
	if (is_sink(&p->t))
		return parser_unexpected(p, "a predicate register");
	return one_register(p, &in->guard);
}

static int suffix(struct parser *p, struct ptx_insn *in)
{
	const char *s = p->t.s + 1;
	size_t n = p->t.n - 1;
	int id = words_find(WORD_TYPE, s, n);

	if (id >= 0) {
		if (in->n_types == sizeof in->types)
			return parser_fail(p, "too many types after '%s'", ptx_op_name(in->op));
		in->types[in->n_types++] = (uint8_t)id;
		return 0;
	}
	id = words_find(WORD_MOD, s, n);
	if (id < 0)
		return parser_fail(p, "unknown suffix '%.*s' of '%s'", parser_text(&p->t), ptx_op_name(in->op));
	if (in->n_mods == sizeof in->mods)
		return parser_fail(p, "too many suffixes after '%s'", ptx_op_name(in->op));
	in->mods[in->n_mods++] = (uint8_t)id;
	in->modset[id >> 6] |= 1ull << (id & 63);
	return 0;
}

static int opcode(struct parser *p, struct ptx_insn *in)
{
	int id = p->t.kind == T_IDENT ? words_find(WORD_OP, p->t.s, p->t.n) : -1;

	if (p->t.kind != T_IDENT)
		return parser_unexpected(p, "an instruction");
	if (id < 0)
		return parser_fail(p, "unknown instruction '%.*s'", parser_text(&p->t));
	in->op = (uint16_t)id;
	in->ptx_line = p->t.line;
	in->loc = p->loc;
	for (parser_advance(p); p->t.kind == T_WORD; parser_advance(p))
		if (suffix(p, in) < 0)
			return -1;
	return 0;
}

/* A branch's target is the only operand that may be named before it is defined. */
static int branch_target(struct parser *p, struct ptx_operand *o)
{
	*o = blank(PTX_O_LABEL);
	if (p->t.kind != T_IDENT)
		return parser_unexpected(p, "a label");
	return 0;
}

static int operands(struct parser *p, struct ptx_insn *in)
{
	struct token label = {0};

	p->operands.size = p->elements.size = 0;
	while (p->t.kind != ';') {
		struct ptx_operand o;
		int r;
		if (in->n_ops && parser_expect(p, ',', "',' or ';'") < 0)
			return -1;
		if (in->n_ops == MAX_OPERANDS)
			return parser_fail(p, "too many operands of '%s'", ptx_op_name(in->op));
		if (in->op == PTX_BRA) {
			if (in->n_ops)
				return parser_unexpected(p, "';'");
			label = p->t;
			r = branch_target(p, &o);
			parser_advance(p);
		} else if (in->op == PTX_CALL && p->t.kind == '(') {
			r = sequence(p, &o, PTX_O_LIST, ')');
		} else {
			r = operand(p, &o);
		}
		if (r < 0)
			return -1;
		in->n_ops++;
		buf_add(&p->operands, &o, sizeof o);
	}
	in->ops = arena_dup(p->arena, p->operands.data, p->operands.size);
	if (label.n)
		parser_label_use(p, &label, &in->ops[0].target);
	parser_advance(p);
	return 0;
}

int parser_insn(struct parser *p)
{
	struct ptx_insn in = {0};

	if (guard(p, &in) < 0 || opcode(p, &in) < 0 || operands(p, &in) < 0)
		return -1;
	if (p->insns.size / sizeof in >= PTX_MAX_INSNS)
		return parser_fail(p, "function '%.80s' has more than %d instructions", p->func->name, PTX_MAX_INSNS);
	buf_add(&p->insns, &in, sizeof in);
	return 0;
}
