/* Inside of the PTX parser: what its files share. */
#ifndef PTX_PARSE_H
#define PTX_PARSE_H

#include "../base/buf.h"
#include "lex.h"
#include "ptx.h"
#include "symbols.h"

/* A use of a label, until the block that holds it ends. */
struct pending {
	struct pending *next;
	struct symbol *symbol;
	uint32_t *slot;			/* where the instruction's index goes */
	uint32_t line;
};

struct block {				/* one nesting level of a function's body */
	struct pending *pending, *pending_last;
	bool has_labels;
};

/* Errors are sticky: after the first, the current token is T_EOF for good, so that every loop comes to its end. */
struct parser {
	struct lex lex;
	struct token t;			/* the current token */
	bool failed;
	struct err *err;
	struct arena *arena, *scratch;
	size_t arena_before;
	struct symbols *symbols;
	struct ptx_module *module;
	unsigned depth;			/* of expressions */

	struct buf vars, funcs, locs;	/* growing arrays of the module */
	struct buf aliases;		/* struct alias */
	struct places *places;
	uint32_t loc;			/* of the next instruction */

	struct ptx_func *func;		/* whose body this is */
	struct buf regs, insns, func_vars;
	struct buf operands, elements;	/* of the instruction at hand */
	struct block blocks[PTX_MAX_NESTING + 4];
	struct pending *spare;
};

/* ---- parse.c: tokens and errors ---- */

int parser_fail(struct parser *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int parser_fail_at(struct parser *p, uint32_t line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int parser_unexpected(struct parser *p, const char *wanted);
void parser_advance(struct parser *p);
bool parser_accept(struct parser *p, int kind);
int parser_expect(struct parser *p, int kind, const char *wanted);
bool parser_is_word(const struct parser *p, const char *word);	/* ".reg" */
bool parser_accept_word(struct parser *p, const char *word);
void parser_skip_parens(struct parser *p);
int parser_skip_statement(struct parser *p);	/* to behind its `;` */
/* Fails if the text would take more memory than PTX_MAX_MEMORY with `more` bytes. */
int parser_memory(struct parser *p, uint64_t more);
#define parser_text(t) (int)((t)->n > 80 ? 80 : (t)->n), (t)->s	/* for %.*s */

/* ---- parse_expr.c: constant expressions ---- */

struct value {
	int kind;			/* T_INT, T_F32, T_F64 */
	bool is_unsigned;
	uint64_t bits;
};
int parser_expr(struct parser *p, struct value *out);
int parser_int(struct parser *p, uint64_t max, const char *what, uint64_t *out);

/* ---- parse_var.c: variables and their initial values ---- */

enum linkage { LINK_NONE = 0, LINK_EXTERN = 1, LINK_VISIBLE = 2, LINK_WEAK = 4, LINK_COMMON = 8 };
/* From behind the state space to the `;`. */
int parser_vars(struct parser *p, enum ptx_space space, unsigned linkage);
/* A parameter list from behind its `(`. */
int parser_params(struct parser *p, struct ptx_var **params, uint32_t *n, uint64_t *bytes);
/* Make parameters visible in the innermost scope. */
int parser_bind_params(struct parser *p, struct ptx_var *params, uint32_t n);
bool parser_fundamental_type(struct parser *p, enum ptx_type *type, uint32_t *vector);

/* ---- parse_loc.c: .file and .loc ---- */

struct places *places_new(struct arena *scratch);
void places_free(struct places *l);
int parser_file(struct parser *p);
int parser_loc(struct parser *p);
int places_finish(struct parser *p);

/* ---- parse_func.c: functions ---- */

int parser_function(struct parser *p, bool is_entry, unsigned linkage);
int parser_alias(struct parser *p);
void parser_resolve_aliases(struct parser *p);
/* A use of a label; *slot gets its instruction when the block ends. */
void parser_label_use(struct parser *p, const struct token *name, uint32_t *slot);

/* ---- parse_insn.c: one instruction ---- */

/* From the guard or opcode to the `;`. */
int parser_insn(struct parser *p);

/* ---- words.c: the tables by their text ---- */

enum word_kind { WORD_OP = 1, WORD_MOD, WORD_TYPE, WORD_SREG };
/* The id of a word (without its dot or percent sign), or -1. */
int words_find(enum word_kind kind, const char *s, size_t n);

#endif
