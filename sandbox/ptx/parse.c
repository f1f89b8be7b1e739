/* PTX text to a module: the module level; see ptx.h.
 *
 * Theory of operation.  One pass, one token ahead, no backtracking and no recursion but in constant expressions, whose
 * depth is bounded.  The text is copied once into the arena with NULs for newlines: tokens point into the copy, and
 * its lines are the strings of module->lines.  Growing arrays are malloc'd and copied into the arena when their length
 * is known.  The symbol table and pending labels live in a scratch arena that dies with the parser.
 *
 * parse.c	tokens, errors, module directives
 * parse_var.c	variables, parameters, initial values
 * parse_func.c	functions: headers, blocks, registers, labels
 * parse_insn.c	one instruction and its operands
 * parse_expr.c	constant expressions
 * parse_loc.c	source places
 */
#include "parse.h"

#include "../base/cleanup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int parser_fail_at(struct parser *p, uint32_t line, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	if (p->failed)
		return -1;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	p->failed = true;
	p->t.kind = T_EOF;
	return err_input(p->err, "line %u: %s", line, text);
}

int parser_fail(struct parser *p, const char *fmt, ...)
{
	char text[500];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	return parser_fail_at(p, p->t.line, "%s", text);
}

int parser_unexpected(struct parser *p, const char *wanted)
{
	if (p->t.kind == T_EOF)
		return parser_fail(p, "%s wanted, but the text ends here", wanted);
	return parser_fail(p, "%s wanted, not '%.*s'", wanted, parser_text(&p->t));
}

void parser_advance(struct parser *p)
{
	if (p->failed)
		return;
	p->t = lex_next(&p->lex);
	if (p->t.kind == T_BAD)
		parser_fail(p, "%s: '%.*s'", p->lex.wrong, parser_text(&p->t));
}

bool parser_accept(struct parser *p, int kind)
{
	if (p->t.kind != kind)
		return false;
	parser_advance(p);
	return true;
}

int parser_expect(struct parser *p, int kind, const char *wanted)
{
	return parser_accept(p, kind) ? 0 : parser_unexpected(p, wanted);
}

bool parser_is_word(const struct parser *p, const char *word)
{
	return p->t.kind == T_WORD && p->t.n == strlen(word) && !memcmp(p->t.s, word, p->t.n);
}

bool parser_accept_word(struct parser *p, const char *word)
{
	if (!parser_is_word(p, word))
		return false;
	parser_advance(p);
	return true;
}

void parser_skip_parens(struct parser *p)
{
	unsigned depth = 0;

	do {
		if (p->t.kind == T_EOF) {
			parser_unexpected(p, "')'");
			return;
		}
		depth += p->t.kind == '(';
		depth -= p->t.kind == ')';
		parser_advance(p);
	} while (depth);
}

int parser_skip_statement(struct parser *p)
{
	while (p->t.kind != ';' && p->t.kind != T_EOF)
		parser_advance(p);
	return parser_expect(p, ';', "';'");
}

int parser_memory(struct parser *p, uint64_t more)
{
	size_t used = arena_used(p->arena) - p->arena_before + arena_used(p->scratch);

	if (more > PTX_MAX_MEMORY || used + more > PTX_MAX_MEMORY)
		return parser_fail(p, "this PTX takes more than %u MB of memory", PTX_MAX_MEMORY >> 20);
	return 0;
}

/* ---- module directives ---- */

static int parse_version(struct parser *p)
{
	struct ptx_module *m = p->module;
	char text[16];

	if (p->t.kind != T_F64 || p->t.n >= sizeof text)
		return parser_unexpected(p, "a version such as 9.0");
	memcpy(text, p->t.s, p->t.n);
	text[p->t.n] = 0;
	if (sscanf(text, "%d.%d", &m->version_major, &m->version_minor) != 2)
		return parser_unexpected(p, "a version such as 9.0");
	parser_advance(p);
	return 0;
}

static int parse_target(struct parser *p)
{
	if (p->t.kind != T_IDENT)
		return parser_unexpected(p, "a target such as sm_90");
	p->module->target = arena_strndup(p->arena, p->t.s, p->t.n);
	do
		parser_advance(p);
	while (p->t.kind == ',' && (parser_advance(p), p->t.kind == T_IDENT));
	return 0;
}

static int parse_address_size(struct parser *p)
{
	if (p->t.kind != T_INT || p->t.value != 64)
		return parser_unexpected(p, "an address size of 64");
	parser_advance(p);
	return 0;
}

static int parse_section(struct parser *p)
{
	if (p->t.kind != T_WORD && p->t.kind != T_IDENT)
		return parser_unexpected(p, "a section's name");
	parser_advance(p);
	if (p->t.kind != '{')
		return parser_unexpected(p, "'{'");
	if (!lex_skip_block(&p->lex))
		return parser_fail(p, "this section has no '}'");
	parser_advance(p);
	return 0;
}

static unsigned parse_linkage(struct parser *p)
{
	static const struct { const char *word; unsigned link; } words[] = {
		{".extern", LINK_EXTERN}, {".visible", LINK_VISIBLE}, {".weak", LINK_WEAK}, {".common", LINK_COMMON},
	};
	unsigned link = 0, before;

	do {
		before = link;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (parser_accept_word(p, words[i].word))
				link |= words[i].link;
	} while (link != before);
	return link;
}

static int parse_module_item(struct parser *p)
{
	unsigned linkage = parse_linkage(p);

	if (parser_accept_word(p, ".entry"))
		return parser_function(p, true, linkage);
	if (parser_accept_word(p, ".func"))
		return parser_function(p, false, linkage);
	if (parser_accept_word(p, ".global"))
		return parser_vars(p, PTX_SPACE_GLOBAL, linkage);
	if (parser_accept_word(p, ".const"))
		return parser_vars(p, PTX_SPACE_CONST, linkage);
	if (parser_accept_word(p, ".shared"))
		return parser_vars(p, PTX_SPACE_SHARED, linkage);
	if (linkage)
		return parser_unexpected(p, ".func, .entry, .global, .const or .shared");
	if (parser_accept_word(p, ".version"))
		return parse_version(p);
	if (parser_accept_word(p, ".target"))
		return parse_target(p);
	if (parser_accept_word(p, ".address_size"))
		return parse_address_size(p);
	if (parser_accept_word(p, ".file"))
		return parser_file(p);
	if (parser_accept_word(p, ".loc"))
		return parser_loc(p);
	if (parser_accept_word(p, ".section"))
		return parse_section(p);
	if (parser_accept_word(p, ".pragma"))
		return parser_skip_statement(p);
	if (parser_accept_word(p, ".alias"))
		return parser_alias(p);
	if (parser_accept(p, ';'))
		return 0;
	if (p->t.kind == T_WORD)
		return parser_fail(p, "'%.*s' is no directive that we know", parser_text(&p->t));
	return parser_unexpected(p, "a directive such as .func or .global");
}

static int parse_module(struct parser *p)
{
	parser_advance(p);
	if (!parser_is_word(p, ".version"))
		return parser_unexpected(p, "a .version directive");
	while (p->t.kind != T_EOF)
		if (parse_module_item(p) < 0 || parser_memory(p, 0) < 0)
			return -1;
	if (p->failed)
		return -1;
	if (!p->module->target)
		return parser_fail(p, "there is no .target directive");
	parser_resolve_aliases(p);
	return places_finish(p);
}

/* The text as lines that end in NUL. */
static int split_lines(struct parser *p, const char *text, size_t size, const char **copy)
{
	struct ptx_module *m = p->module;
	size_t n = 1;

	if (size > PTX_MAX_TEXT)
		return err_input(p->err, "PTX of %zu bytes: at most %d are allowed", size, PTX_MAX_TEXT);
	const char *zero = memchr(text, 0, size);
	for (const char *s = text; (s = memchr(s, '\n', (size_t)(text + size - s))); s++) {
		if (zero && zero < s)
			break;
		n++;
	}
	if (zero)
		return err_input(p->err, "line %zu: a NUL byte in the text", n);
	char *c = arena_alloc(p->arena, size + 9);	/* room for symbols to be read by words */
	memcpy(c, text, size);
	m->lines = arena_new_array(p->arena, const char *, n + 1);
	m->lines[0] = "";
	for (size_t i = 1; i <= n; i++) {
		m->lines[i] = i == 1 ? c : m->lines[i - 1] + strlen(m->lines[i - 1]) + 1;
		char *end = memchr(m->lines[i], '\n', (size_t)(c + size - m->lines[i]));
		if (end)
			*end = 0;
	}
	m->n_lines = (uint32_t)n;
	*copy = c;
	return 0;
}

static void parser_free(struct parser *p)
{
	struct buf *const bufs[] = {&p->vars, &p->funcs, &p->locs, &p->aliases, &p->regs,
				    &p->insns, &p->func_vars, &p->operands, &p->elements};

	for (size_t i = 0; i < sizeof bufs / sizeof *bufs; i++)
		buf_free(bufs[i]);
	if (p->symbols)
		symbols_free(p->symbols);
	if (p->places)
		places_free(p->places);
	arena_free(p->scratch);
}

struct ptx_module *ptx_parse(const char *text, size_t size, struct arena *a, struct err *e)
{
	CLEANUP(parser_free) struct parser p = {
		.err = e, .arena = a, .scratch = arena_new(), .arena_before = arena_used(a)};
	struct ptx_module *m = arena_alloc(a, sizeof *m);
	const char *copy = NULL;

	p.module = m;
	if (split_lines(&p, text, size, &copy) < 0)
		return NULL;
	p.symbols = symbols_new(p.scratch);
	p.places = places_new(p.scratch);
	lex_init(&p.lex, copy, size);
	if (parse_module(&p) < 0)
		return NULL;
	m->vars = arena_dup(a, p.vars.data, p.vars.size);
	m->n_vars = (uint32_t)(p.vars.size / sizeof *m->vars);
	m->funcs = arena_dup(a, p.funcs.data, p.funcs.size);
	m->n_funcs = (uint32_t)(p.funcs.size / sizeof *m->funcs);
	return m;
}

struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (!strcmp(m->funcs[i]->name, name))
			return m->funcs[i];
	return NULL;
}

struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name)
{
	for (uint32_t i = 0; i < m->n_vars; i++)
		if (!strcmp(m->vars[i]->name, name))
			return m->vars[i];
	return NULL;
}
