/* Functions of PTX: headers, nested blocks, registers, labels and tables of labels. */
#include "parse.h"

#include <stdio.h>
#include <string.h>

struct alias {
	struct ptx_func *name, *of;
};

/* ---- labels ---- */

void parser_label_use(struct parser *p, const struct token *name, uint32_t *slot)
{
	struct block *b = &p->blocks[symbols_depth(p->symbols)];
	struct pending *u = p->spare;

	if (u)
		p->spare = u->next;
	else
		u = arena_alloc(p->scratch, sizeof *u);
	*u = (struct pending){NULL, symbols_intern(p->symbols, name->s, name->n), slot, name->line};
	if (b->pending)
		b->pending_last->next = u;
	else
		b->pending = u;
	b->pending_last = u;
}

static void append(struct block *b, struct pending *first, struct pending *last)
{
	if (!first)
		return;
	if (b->pending)
		b->pending_last->next = first;
	else
		b->pending = first;
	b->pending_last = last;
}

/* Labels are visible in their block and those inside it, before and after their place: so uses are resolved when a
 * block ends; what is left goes to the block around. */
static void resolve_labels(struct parser *p)
{
	uint32_t depth = symbols_depth(p->symbols);
	struct block *b = &p->blocks[depth], *outer = &p->blocks[depth - 1];

	if (!b->has_labels) {
		append(outer, b->pending, b->pending_last);
		return;
	}
	for (struct pending *u = b->pending, *next; u; u = next) {
		const struct binding *label = symbols_label_here(p->symbols, u->symbol);
		next = u->next;
		u->next = NULL;
		if (!label) {
			append(outer, u, u);
			continue;
		}
		*u->slot = label->label;
		u->next = p->spare;
		p->spare = u;
	}
}

static int define_label(struct parser *p, const struct token *name)
{
	struct binding *b = symbols_bind(p->symbols, name->s, name->n, B_LABEL);

	if (!b)
		return parser_fail_at(p, name->line, "'%.*s' is declared twice in one scope", parser_text(name));
	b->label = (uint32_t)(p->insns.size / sizeof(struct ptx_insn));
	p->blocks[symbols_depth(p->symbols)].has_labels = true;
	return 0;
}

static int branch_targets(struct parser *p, struct ptx_table *t)
{
	struct buf names = {0};

	do {
		if (p->t.kind != T_IDENT) {
			buf_free(&names);
			return parser_unexpected(p, "a label");
		}
		buf_add(&names, &p->t, sizeof p->t);
		parser_advance(p);
	} while (parser_accept(p, ','));
	const struct token *labels = (const struct token *)(void *)names.data;
	t->n = (uint32_t)(names.size / sizeof *labels);
	t->targets = arena_new_array(p->arena, uint32_t, t->n);
	for (uint32_t i = 0; i < t->n; i++)
		parser_label_use(p, &labels[i], &t->targets[i]);
	buf_free(&names);
	return 0;
}

static int call_targets(struct parser *p, struct ptx_table *t)
{
	struct buf funcs = {0};
	int r = 0;

	do {
		int32_t reg;
		const struct binding *b =
			p->t.kind == T_IDENT ? symbols_find(p->symbols, p->t.s, p->t.n, &reg) : NULL;
		if (!b || b->kind != B_FUNC) {
			r = parser_unexpected(p, "a function declared before");
			break;
		}
		buf_add(&funcs, &b->func, sizeof b->func);
		parser_advance(p);
	} while (parser_accept(p, ','));
	t->n = (uint32_t)(funcs.size / sizeof *t->funcs);
	t->funcs = arena_dup(p->arena, funcs.data, funcs.size);
	buf_free(&funcs);
	return r;
}

static int call_prototype(struct parser *p, struct ptx_table *t)
{
	uint64_t bytes;

	if (parser_accept(p, '(') && parser_params(p, &t->rets, &t->n_rets, &bytes) < 0)
		return -1;
	if (p->t.kind != T_IDENT)
		return parser_unexpected(p, "'_'");
	parser_advance(p);
	if (parser_accept(p, '(') && parser_params(p, &t->params, &t->n_params, &bytes) < 0)
		return -1;
	while (p->t.kind == T_WORD || p->t.kind == T_INT)	/* .noreturn, .abi_preserve 4 */
		parser_advance(p);
	return 0;
}

static int table(struct parser *p, const struct token *name)
{
	struct ptx_table *t = arena_alloc(p->arena, sizeof *t);
	int r;

	t->name = arena_strndup(p->arena, name->s, name->n);
	if (parser_accept_word(p, ".branchtargets"))
		r = branch_targets(p, t);
	else if (parser_accept_word(p, ".calltargets"))
		r = call_targets(p, t);
	else if (parser_accept_word(p, ".callprototype"))
		r = call_prototype(p, t);
	else
		return 1;			/* a plain label before some other directive */
	if (r < 0)
		return -1;
	struct binding *b = symbols_bind(p->symbols, name->s, name->n, B_TABLE);
	if (!b)
		return parser_fail_at(p, name->line, "'%.*s' is declared twice in one scope", parser_text(name));
	b->table = t;
	return parser_expect(p, ';', "';'");
}

static int label(struct parser *p)
{
	struct token name = p->t;

	parser_advance(p);
	parser_advance(p);
	int r = p->t.kind == T_WORD ? table(p, &name) : 1;
	return r <= 0 ? r : define_label(p, &name);
}

/* ---- registers ---- */

static int new_regs(struct parser *p, uint64_t count, int32_t *first)
{
	uint64_t have = p->regs.size / sizeof(struct ptx_reg);

	if (count > PTX_MAX_REGS || have + count > PTX_MAX_REGS)
		return parser_fail(p, "function '%.80s' has more than %d registers", p->func->name, PTX_MAX_REGS);
	*first = (int32_t)have;
	return parser_memory(p, p->regs.size + count * (sizeof(struct ptx_reg) + 16));
}

static void add_reg(struct parser *p, const char *name, enum ptx_type type)
{
	struct ptx_reg r = {name, type};
	buf_add(&p->regs, &r, sizeof r);
}

/* %r<173>: all names in one piece of memory */
static int register_range(struct parser *p, const struct token *name, enum ptx_type type)
{
	uint64_t count;
	int32_t first = 0;

	parser_advance(p);
	if (p->t.kind != T_INT)
		return parser_unexpected(p, "the number of registers");
	count = p->t.value;
	parser_advance(p);
	if (parser_expect(p, '>', "'>'") < 0 || new_regs(p, count, &first) < 0)
		return -1;
	if (!symbols_bind_range(p->symbols, name->s, name->n, first, (uint32_t)count))
		return parser_fail_at(p, name->line, "'%.*s' is declared twice in one scope", parser_text(name));
	unsigned digits = 1;
	for (uint64_t n = count; n > 9; n /= 10)
		digits++;
	size_t each = name->n + digits + 1;
	if (parser_memory(p, count * each) < 0)
		return -1;
	char *names = arena_alloc(p->arena, count * each);
	for (uint64_t i = 0; i < count; i++, names += each) {
		memcpy(names, name->s, name->n);
		char *end = names + name->n;
		char text[8];
		unsigned n = 0;
		for (uint64_t v = i; !n || v; v /= 10)
			text[n++] = (char)('0' + v % 10);
		while (n)
			*end++ = text[--n];
		add_reg(p, names, type);
	}
	return 0;
}

static int register_vector(struct parser *p, const struct token *name, enum ptx_type type, uint32_t n)
{
	int32_t first = 0;
	struct binding *b;

	if (n > 4)
		return parser_fail(p, "registers have at most 4 elements");
	if (new_regs(p, n, &first) < 0)
		return -1;
	b = symbols_bind(p->symbols, name->s, name->n, B_VECTOR);
	if (!b)
		return parser_fail_at(p, name->line, "'%.*s' is declared twice in one scope", parser_text(name));
	b->reg = first;
	b->count = n;
	for (uint32_t i = 0; i < n; i++)
		add_reg(p, arena_printf(p->arena, "%.*s.%c", (int)name->n, name->s, "xyzw"[i]), type);
	return 0;
}

static int registers(struct parser *p)
{
	enum ptx_type type;
	uint32_t vector;
	uint64_t align;

	if (parser_accept_word(p, ".align") && parser_int(p, 4096, "the alignment", &align) < 0)
		return -1;
	if (!parser_fundamental_type(p, &type, &vector))
		return -1;
	do {
		struct token name = p->t;
		int32_t first = 0;
		if (name.kind != T_IDENT)
			return parser_unexpected(p, "a register's name");
		if (name.n == 1 && *name.s == '_')
			return parser_fail(p, "'_' cannot be declared");
		parser_advance(p);
		if (vector > 1) {
			if (register_vector(p, &name, type, vector) < 0)
				return -1;
		} else if (p->t.kind == '<') {
			if (register_range(p, &name, type) < 0)
				return -1;
		} else {
			if (new_regs(p, 1, &first) < 0)
				return -1;
			struct binding *b = symbols_bind(p->symbols, name.s, name.n, B_REG);
			if (!b)
				return parser_fail_at(p, name.line, "'%.*s' is declared twice in one scope",
						     parser_text(&name));
			b->reg = first;
			add_reg(p, arena_strndup(p->arena, name.s, name.n), type);
		}
	} while (parser_accept(p, ','));
	return parser_expect(p, ';', "';'");
}

/* ---- bodies ---- */

static int open_block(struct parser *p)
{
	uint32_t depth = symbols_depth(p->symbols) + 1;

	if (depth > PTX_MAX_NESTING)
		return parser_fail(p, "blocks are nested more than %d deep", PTX_MAX_NESTING);
	symbols_push(p->symbols);
	p->blocks[depth] = (struct block){0};
	parser_advance(p);
	return 0;
}

static int body_directive(struct parser *p)
{
	if (parser_accept_word(p, ".loc"))
		return parser_loc(p);
	if (parser_accept_word(p, ".reg"))
		return registers(p);
	if (parser_accept_word(p, ".param"))
		return parser_vars(p, PTX_SPACE_PARAM, 0);
	if (parser_accept_word(p, ".local"))
		return parser_vars(p, PTX_SPACE_LOCAL, 0);
	if (parser_accept_word(p, ".shared"))
		return parser_vars(p, PTX_SPACE_SHARED, 0);
	if (parser_accept_word(p, ".pragma"))
		return parser_skip_statement(p);
	if (parser_is_word(p, ".global") || parser_is_word(p, ".const"))
		return parser_fail(p, "%.*s variables are declared outside functions", parser_text(&p->t));
	return parser_fail(p, "'%.*s' is no directive that a function's body may have", parser_text(&p->t));
}

static int statement(struct parser *p)
{
	switch (p->t.kind) {
	case T_WORD:
		return body_directive(p);
	case T_IDENT:
		if (lex_peek(&p->lex) == ':')
			return label(p);
		/* fall through */
	case '@':
		return parser_insn(p);
	case ';':
		parser_advance(p);
		return 0;
	default:
		return parser_unexpected(p, "an instruction, a directive, '{' or '}'");
	}
}

static int body(struct parser *p)
{
	uint32_t outside = symbols_depth(p->symbols);

	if (open_block(p) < 0)
		return -1;
	while (symbols_depth(p->symbols) > outside) {
		if (p->t.kind == '{') {
			if (open_block(p) < 0)
				return -1;
		} else if (p->t.kind == '}') {
			resolve_labels(p);
			symbols_pop(p->symbols);
			parser_advance(p);
		} else if (p->t.kind == T_EOF) {
			return parser_fail_at(p, p->t.line, "function '%.80s' of line %u has no '}'", p->func->name,
					     p->func->ptx_line);
		} else if (statement(p) < 0 || parser_memory(p, p->insns.size + p->regs.size) < 0) {
			return -1;
		}
	}
	const struct pending *u = p->blocks[outside].pending;
	if (u) {
		struct token name = {0};
		name.s = symbol_text(u->symbol, &name.n);
		return parser_fail_at(p, u->line, "label '%.*s' is not defined in this block or one around it",
				     parser_text(&name));
	}
	return 0;
}

static void keep_body(struct parser *p, struct ptx_func *f)
{
	f->regs = arena_dup(p->arena, p->regs.data, p->regs.size);
	f->n_regs = (uint32_t)(p->regs.size / sizeof *f->regs);
	f->vars = arena_dup(p->arena, p->func_vars.data, p->func_vars.size);
	f->n_vars = (uint32_t)(p->func_vars.size / sizeof *f->vars);
	f->insns = arena_dup(p->arena, p->insns.data, p->insns.size);
	f->n_insns = (uint32_t)(p->insns.size / sizeof *f->insns);
	p->regs.size = p->func_vars.size = p->insns.size = 0;
}

/* ---- headers ---- */

static int dimensions(struct parser *p, uint32_t out[3])
{
	uint32_t n = 0;

	do {
		uint64_t v;
		if (n == 3)
			return parser_fail(p, "at most three dimensions");
		if (parser_int(p, UINT32_MAX, "the size", &v) < 0)
			return -1;
		out[n++] = (uint32_t)v;
	} while (parser_accept(p, ','));
	for (; n < 3; n++)
		out[n] = 1;
	return 0;
}

/* .maxntid and the like, between the parameters and the body */
static int performance(struct parser *p, struct ptx_func *f)
{
	static const char *const flags[] = {".noreturn", ".explicitcluster", ".blocksareclusters"};
	static const char *const numbers[] = {".maxnctapersm", ".maxnreg", ".maxclusterrank", ".abi_preserve",
					      ".abi_preserve_control"};
	uint32_t ignored[3];
	uint64_t n;

	if (parser_accept_word(p, ".maxntid"))
		return dimensions(p, f->maxntid);
	if (parser_accept_word(p, ".reqntid"))
		return dimensions(p, f->reqntid);
	if (parser_accept_word(p, ".reqnctapercluster"))
		return dimensions(p, ignored);
	if (parser_accept_word(p, ".minnctapersm")) {
		if (parser_int(p, UINT32_MAX, ".minnctapersm", &n) < 0)
			return -1;
		f->minnctapersm = (uint32_t)n;
		return 0;
	}
	if (parser_accept_word(p, ".pragma"))
		return parser_skip_statement(p);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		if (parser_accept_word(p, flags[i]))
			return 0;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (parser_accept_word(p, numbers[i]))
			return parser_int(p, UINT32_MAX, numbers[i], &n);
	return parser_fail(p, "'%.*s' is no directive that a function may have", parser_text(&p->t));
}

/* The function of this name: declared before, or new. */
static struct ptx_func *function_named(struct parser *p, const struct token *name)
{
	struct binding *b = symbols_bind(p->symbols, name->s, name->n, B_FUNC);
	struct ptx_func *f;

	if (!b) {
		int32_t reg;
		const struct binding *old = symbols_find(p->symbols, name->s, name->n, &reg);
		if (old && old->kind == B_FUNC)
			return old->func;
		parser_fail(p, "'%.*s' is declared twice", parser_text(name));
		return NULL;
	}
	f = b->func = arena_alloc(p->arena, sizeof *f);
	f->name = arena_strndup(p->arena, name->s, name->n);
	f->index = (uint32_t)(p->funcs.size / sizeof f);
	buf_add(&p->funcs, &f, sizeof f);
	return f;
}

static void take_params(struct ptx_func *f, struct ptx_var *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		v[i].owner = f;
}

static int definition(struct parser *p, struct ptx_func *f, uint32_t line)
{
	int r = -1;

	if (f->ptx_line)
		return parser_fail_at(p, line, "function '%.80s' is defined twice, first in line %u", f->name,
				     f->ptx_line);
	f->ptx_line = line;
	f->is_extern = false;
	p->func = f;
	p->loc = 0;
	symbols_push(p->symbols);
	p->blocks[symbols_depth(p->symbols)] = (struct block){0};
	if (parser_bind_params(p, f->rets, f->n_rets) == 0 && parser_bind_params(p, f->params, f->n_params) == 0 &&
	    body(p) == 0) {
		keep_body(p, f);
		symbols_pop(p->symbols);
		r = 0;
	}
	p->func = NULL;
	return r;
}

int parser_function(struct parser *p, bool is_entry, unsigned linkage)
{
	struct ptx_func like = {.is_entry = is_entry}, *f;
	uint64_t ret_bytes;

	if (parser_accept_word(p, ".attribute"))
		parser_skip_parens(p);
	if (!is_entry && parser_accept(p, '(') && parser_params(p, &like.rets, &like.n_rets, &ret_bytes) < 0)
		return -1;
	struct token name = p->t;
	if (name.kind != T_IDENT)
		return parser_unexpected(p, "a function's name");
	parser_advance(p);
	if (parser_accept(p, '(') && parser_params(p, &like.params, &like.n_params, &like.param_bytes) < 0)
		return -1;
	while (p->t.kind == T_WORD)
		if (performance(p, &like) < 0)
			return -1;
	f = function_named(p, &name);
	if (!f)
		return -1;
	bool body_follows = p->t.kind == '{';
	if (body_follows || !f->ptx_line) {		/* a declaration after the body adds nothing */
		like.name = f->name;
		like.index = f->index;
		like.ptx_line = f->ptx_line;
		like.is_extern = linkage & LINK_EXTERN;
		like.is_weak = f->is_weak || linkage & LINK_WEAK;
		like.is_visible = f->is_visible || linkage & (LINK_VISIBLE | LINK_WEAK);
		*f = like;
		take_params(f, f->rets, f->n_rets);
		take_params(f, f->params, f->n_params);
	}
	if (body_follows)
		return definition(p, f, name.line);
	return parser_expect(p, ';', "';' or the function's body");
}

/* ---- .alias name, of; ---- */

static struct ptx_func *known_function(struct parser *p)
{
	int32_t reg;
	const struct binding *b = p->t.kind == T_IDENT ? symbols_find(p->symbols, p->t.s, p->t.n, &reg) : NULL;

	if (!b || b->kind != B_FUNC) {
		parser_unexpected(p, "a function declared before");
		return NULL;
	}
	parser_advance(p);
	return b->func;
}

int parser_alias(struct parser *p)
{
	struct alias a;

	if (!(a.name = known_function(p)) || parser_expect(p, ',', "','") < 0 || !(a.of = known_function(p)))
		return -1;
	buf_add(&p->aliases, &a, sizeof a);
	return parser_expect(p, ';', "';'");
}

/* An alias is the function itself under a second name: it shares the body. */
void parser_resolve_aliases(struct parser *p)
{
	const struct alias *a = (const struct alias *)(void *)p->aliases.data;

	for (size_t i = 0; i < p->aliases.size / sizeof *a; i++) {
		struct ptx_func own = *a[i].name;
		*a[i].name = *a[i].of;
		a[i].name->name = own.name;
		a[i].name->index = own.index;
		a[i].name->is_visible = own.is_visible;
		a[i].name->is_weak = own.is_weak;
	}
}
