/* Variables, parameters and initial values of PTX. */
#include "parse.h"

#include <math.h>
#include <string.h>

enum { MAX_ALIGN = 4096 };
static const uint64_t MAX_SIZE = 1ull << 40;

bool parser_fundamental_type(struct parser *p, enum ptx_type *type, uint32_t *vector)
{
	*vector = 1;
	if (parser_accept_word(p, ".v2"))
		*vector = 2;
	else if (parser_accept_word(p, ".v4"))
		*vector = 4;
	else if (parser_accept_word(p, ".v8"))
		*vector = 8;
	int id = p->t.kind == T_WORD ? words_find(WORD_TYPE, p->t.s + 1, p->t.n - 1) : -1;
	if (id < 0 || (ptx_type_bits((enum ptx_type)id) < 8 && id != PTX_T_PRED)) {
		parser_unexpected(p, "a type such as .b32");
		return false;
	}
	*type = (enum ptx_type)id;
	parser_advance(p);
	return true;
}

/* What stands between the state space and the name, in any order that ptxas takes. */
static int header(struct parser *p, struct ptx_var *v)
{
	uint64_t align = 0, ignored;
	uint32_t vector;

	for (;;) {
		if (parser_accept_word(p, ".align")) {
			if (parser_int(p, MAX_ALIGN, "the alignment", &align) < 0)
				return -1;
			if (!align || align & (align - 1))
				return parser_fail(p, "the alignment %llu is no power of two", (unsigned long long)align);
		} else if (parser_accept_word(p, ".attribute")) {
			if (p->t.kind != '(')
				return parser_unexpected(p, "'('");
			parser_skip_parens(p);
		} else {
			break;
		}
	}
	if (!parser_fundamental_type(p, &v->type, &vector))
		return -1;
	if (v->type == PTX_T_PRED)
		return parser_fail(p, "predicates are registers only: .pred cannot be in memory");
	v->size = (uint64_t)ptx_type_bits(v->type) / 8 * vector;
	v->align = align ? (uint32_t)align : (uint32_t)v->size;
	if (parser_accept_word(p, ".ptr")) {
		while (p->t.kind == T_WORD) {
			bool is_align = parser_is_word(p, ".align");
			parser_advance(p);
			if (is_align && parser_int(p, MAX_ALIGN, "the alignment", &ignored) < 0)
				return -1;
		}
	}
	return 0;
}

static int redeclared(struct parser *p, const struct token *name)
{
	return parser_fail_at(p, name->line, "'%.*s' is declared twice in one scope", parser_text(name));
}

/* [2][3]: the size grows by it; an empty first pair leaves *open set. */
static int dimensions(struct parser *p, struct ptx_var *v, bool *open)
{
	*open = false;
	for (bool first = true; parser_accept(p, '['); first = false) {
		uint64_t n;
		if (p->t.kind == ']' && first) {
			*open = true;
		} else {
			if (parser_int(p, MAX_SIZE, "the array size", &n) < 0)
				return -1;
			if (__builtin_mul_overflow(v->size, n, &v->size) || v->size > MAX_SIZE)
				return parser_fail(p, "this array is too large");
		}
		if (parser_expect(p, ']', "']'") < 0)
			return -1;
	}
	return 0;
}

/* ---- initial values ---- */

struct image {				/* an initial value as it grows */
	struct buf bytes, relocs;
	unsigned width;			/* of an element, bytes */
	enum ptx_type type;
	uint64_t max;
	/* 0xff(sym), 0xff00(sym), ...: the bytes of one address; next: the mask that must follow, 0: none */
	uint64_t next_mask;
};

static uint64_t as_element(const struct value *v, enum ptx_type type)
{
	double d;
	float f;
	uint32_t bits;

	if (type != PTX_T_F32 && type != PTX_T_F64)
		return v->bits;
	if (v->kind == T_INT) {
		d = v->is_unsigned ? (double)v->bits : (double)(int64_t)v->bits;
	} else if (v->kind == T_F32) {
		if (type == PTX_T_F32)
			return v->bits;
		bits = (uint32_t)v->bits;
		memcpy(&f, &bits, sizeof f);
		d = (double)f;
	} else {
		memcpy(&d, &v->bits, sizeof d);
	}
	if (type == PTX_T_F32) {
		f = (float)d;
		memcpy(&bits, &f, sizeof bits);
		return bits;
	}
	uint64_t wide;
	memcpy(&wide, &d, sizeof wide);
	return wide;
}

static int put(struct parser *p, struct image *im, const uint64_t parts[2])
{
	if (im->bytes.size + im->width > im->max)
		return parser_fail(p, "more initial values than the variable holds");
	if (im->bytes.size % (1 << 20) == 0 && parser_memory(p, im->bytes.size) < 0)
		return -1;
	buf_add(&im->bytes, parts, im->width);
	return 0;
}

static int symbol_target(struct parser *p, struct ptx_reloc *r)
{
	int32_t reg;
	const struct binding *b;

	if (p->t.kind != T_IDENT)
		return parser_unexpected(p, "the name of a variable or function");
	b = symbols_find(p->symbols, p->t.s, p->t.n, &reg);
	if (!b || (b->kind != B_VAR && b->kind != B_FUNC))
		return parser_fail(p, "'%.*s' is no variable or function declared before", parser_text(&p->t));
	if (b->kind == B_VAR)
		r->var = b->var;
	else
		r->func = b->func;
	parser_advance(p);
	return 0;
}

/* sym, generic(sym), each with + or - a constant */
static int address(struct parser *p, struct ptx_reloc *r)
{
	struct value v = {0};

	if (p->t.n == 7 && !memcmp(p->t.s, "generic", 7) && lex_peek(&p->lex) == '(') {
		r->generic = true;
		parser_advance(p);
		parser_advance(p);
		if (symbol_target(p, r) < 0 || parser_expect(p, ')', "')'") < 0)
			return -1;
	} else if (symbol_target(p, r) < 0) {
		return -1;
	}
	if (p->t.kind == '+')
		parser_advance(p);
	else if (p->t.kind != '-')
		return 0;
	if (parser_expr(p, &v) < 0)
		return -1;
	if (v.kind != T_INT)
		return parser_fail(p, "an integer is wanted here");
	r->addend = (int64_t)v.bits;
	return 0;
}

static int put_address(struct parser *p, struct image *im)
{
	struct ptx_reloc r = {.offset = im->bytes.size, .width = (uint8_t)im->width};

	if (address(p, &r) < 0)
		return -1;
	if (im->width != 4 && im->width != 8)
		return parser_fail(p, "an address needs an element of 4 or 8 bytes");
	if (put(p, im, (const uint64_t[2]){0}) < 0)
		return -1;
	buf_add(&im->relocs, &r, sizeof r);
	return 0;
}

/* One byte of an address: mask(sym).  All eight in a row make one relocation; other patterns do not occur. */
static int put_masked(struct parser *p, struct image *im, uint64_t mask)
{
	struct ptx_reloc r = {.offset = im->bytes.size, .width = 8};

	parser_advance(p);
	if (address(p, &r) < 0 || parser_expect(p, ')', "')'") < 0)
		return -1;
	if (im->width != 1 || mask != (im->next_mask ? im->next_mask : 0xff))
		return parser_fail(p, "masked addresses are understood as eight bytes in a row, 0xff first");
	if (!im->next_mask) {
		buf_add(&im->relocs, &r, sizeof r);
	} else {
		const struct ptx_reloc *first =
			(const struct ptx_reloc *)(void *)(im->relocs.data + im->relocs.size) - 1;
		if (first->var != r.var || first->func != r.func || first->addend != r.addend ||
		    first->generic != r.generic)
			return parser_fail(p, "the bytes of two addresses are mixed");
	}
	im->next_mask = mask << 8;
	return put(p, im, (const uint64_t[2]){0});
}

static int element(struct parser *p, struct image *im)
{
	struct value v;

	if (p->t.kind == T_IDENT && !(p->t.n == 7 && !memcmp(p->t.s, "WARP_SZ", 7)))
		return put_address(p, im);
	if (parser_expr(p, &v) < 0)
		return -1;
	if (p->t.kind == '(' && v.kind == T_INT)
		return put_masked(p, im, v.bits);
	if (im->next_mask)
		return parser_fail(p, "the address before this value lacks bytes");
	uint64_t bits = as_element(&v, im->type);
	bool minus = v.kind == T_INT && !v.is_unsigned && bits >> 63;
	return put(p, im, (const uint64_t[2]){bits, minus ? ~0ull : 0});
}

/* The elements between braces, which may be nested; nesting only groups (each group in full). */
static int braced(struct parser *p, struct image *im)
{
	unsigned depth = 0;

	do {
		if (parser_accept(p, '{')) {
			if (++depth > PTX_MAX_NESTING)
				return parser_fail(p, "these initial values are nested too deep");
		} else if (parser_accept(p, '}')) {
			depth--;
			parser_accept(p, ',');
		} else {
			if (element(p, im) < 0)
				return -1;
			if (p->t.kind != '}' && parser_expect(p, ',', "',' or '}'") < 0)
				return -1;
		}
	} while (depth);
	return 0;
}

static int initial_value(struct parser *p, struct ptx_var *v, bool open, uint64_t element_size, struct image *im)
{
	if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
		return parser_fail(p, "only .global and .const variables can have initial values");
	im->width = ptx_type_bits(v->type) / 8;
	im->type = v->type;
	im->max = open ? PTX_MAX_TEXT : v->size;
	if (p->t.kind == '{' ? braced(p, im) < 0 : element(p, im) < 0)
		return -1;
	if (im->next_mask)
		return parser_fail(p, "the last address lacks bytes");
	if (open)
		v->size = (im->bytes.size + element_size - 1) / element_size * element_size;
	if (parser_memory(p, v->size + im->relocs.size) < 0)
		return -1;
	v->init = arena_alloc(p->arena, v->size);
	memcpy(v->init, buf_str(&im->bytes), im->bytes.size);
	v->relocs = arena_dup(p->arena, im->relocs.data, im->relocs.size);
	v->n_relocs = (uint32_t)(im->relocs.size / sizeof *v->relocs);
	return 0;
}

/* ---- declarations ---- */

/* An extern variable that gets its definition, or is declared again. */
static int merge(struct parser *p, const struct token *name, struct ptx_var *old, struct ptx_var *v)
{
	if (old->space != v->space || (!old->is_extern && !v->is_extern))
		return redeclared(p, name);
	if (old->is_extern) {
		v->index = old->index;
		v->is_extern &= old->is_extern;
		if (v->align < old->align)
			v->align = old->align;
		*old = *v;
	}
	return 0;
}

static int declare(struct parser *p, const struct token *name, struct ptx_var *v)
{
	struct buf *table = p->func ? &p->func_vars : &p->vars;
	struct binding *b = symbols_bind(p->symbols, name->s, name->n, B_VAR);

	if (!b) {
		int32_t reg;
		const struct binding *old = symbols_find(p->symbols, name->s, name->n, &reg);
		return old && old->kind == B_VAR && !p->func ? merge(p, name, old->var, v) : redeclared(p, name);
	}
	b->var = v;
	v->index = (uint32_t)(table->size / sizeof v);
	buf_add(table, &v, sizeof v);
	return 0;
}

static int declarator(struct parser *p, struct ptx_var like)
{
	struct ptx_var *v = arena_dup(p->arena, &like, sizeof like);
	struct token name = p->t;
	uint64_t element_size = v->size;
	bool open;

	if (name.kind != T_IDENT)
		return parser_unexpected(p, "a variable's name");
	parser_advance(p);
	if (p->t.kind == '<')
		return parser_fail(p, "numbered names are understood for registers only");
	v->name = arena_strndup(p->arena, name.s, name.n);
	if (dimensions(p, v, &open) < 0)
		return -1;
	if (parser_accept(p, '=')) {
		struct image im = {0};
		int r = initial_value(p, v, open, element_size, &im);
		buf_free(&im.bytes);
		buf_free(&im.relocs);
		if (r < 0)
			return -1;
	} else if (open) {
		if (!v->is_extern)
			return parser_fail(p, "the size of '%.*s' is missing", parser_text(&name));
		v->size = 0;
	}
	return declare(p, &name, v);
}

int parser_vars(struct parser *p, enum ptx_space space, unsigned linkage)
{
	struct ptx_var like = {.space = space, .owner = p->func, .is_extern = linkage & LINK_EXTERN,
			       .is_weak = linkage & (LINK_WEAK | LINK_COMMON)};

	if (header(p, &like) < 0)
		return -1;
	do
		if (declarator(p, like) < 0)
			return -1;
	while (parser_accept(p, ','));
	return parser_expect(p, ';', "';'");
}

static int parameter(struct parser *p, struct ptx_var *v)
{
	bool open;

	if (parser_is_word(p, ".reg"))
		return parser_fail(p, "parameters in registers are not supported: use .param");
	if (!parser_accept_word(p, ".param"))
		return parser_unexpected(p, "a .param parameter");
	v->space = PTX_SPACE_PARAM;
	v->owner = p->func;
	if (header(p, v) < 0)
		return -1;
	if (p->t.kind != T_IDENT)
		return parser_unexpected(p, "a parameter's name");
	v->name = arena_strndup(p->arena, p->t.s, p->t.n);
	parser_advance(p);
	if (dimensions(p, v, &open) < 0)
		return -1;
	if (open)
		v->size = 0;
	return 0;
}

int parser_bind_params(struct parser *p, struct ptx_var *params, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *name = params[i].name;
		struct binding *b = symbols_bind(p->symbols, name, (uint32_t)strlen(name), B_VAR);
		if (b)
			b->var = &params[i];
		else if (strcmp(name, "_"))
			return parser_fail(p, "two parameters have the name '%.80s'", name);
	}
	return 0;
}

int parser_params(struct parser *p, struct ptx_var **params, uint32_t *n, uint64_t *bytes)
{
	struct buf list = {0};
	uint64_t offset = 0;
	int r = 0;

	while (!parser_accept(p, ')')) {
		struct ptx_var v = {.index = (uint32_t)(list.size / sizeof v)};
		if ((list.size && parser_expect(p, ',', "',' or ')'") < 0) || parameter(p, &v) < 0 ||
		    parser_memory(p, list.size) < 0) {
			r = -1;
			break;
		}
		offset = (offset + v.align - 1) / v.align * v.align;
		v.address = offset;
		offset += v.size;
		buf_add(&list, &v, sizeof v);
	}
	*params = arena_dup(p->arena, list.data, list.size);
	*n = (uint32_t)(list.size / sizeof **params);
	*bytes = offset;
	buf_free(&list);
	return r;
}
