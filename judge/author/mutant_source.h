/* What the mutation operators know of a source: its functions, statements, declared names, where operands begin and end.
 *
 * This is no parser of C++: it knows the shapes that kernels are written in, and where it guesses wrong a mutant does not compile,
 * which costs time and nothing else.
 */
#ifndef JUDGE_MUTANT_SOURCE_H
#define JUDGE_MUTANT_SOURCE_H

#include "mutant_token.h"

struct function {
	const char *name;
	unsigned parameters;		/* its ( */
	unsigned open, close;		/* its { and } */
	bool device;			/* compiled for the device */
	bool host;			/* compiled for the host: a body that matters to what runs there */
};

struct variable {			/* a parameter or local variable */
	const char *name, *type;	/* type: "float", "uint32_t*"; without const, references and dimensions */
	unsigned dims;
	unsigned function;
	bool parameter;
};

enum {
	SOURCE_FROZEN = 1,		/* not to be changed: asm, template arguments, dimensions, the size of a block */
	SOURCE_TEMPLATE = 2,		/* < > of template arguments */
	SOURCE_BLOCK = 4,		/* { of statements, not of an initialiser */
	SOURCE_START = 8,		/* a statement begins */
	SOURCE_DECLARATION = 16,	/* and it is a declaration; also where one begins in a for's header */
	SOURCE_GRID = 32,		/* in the first argument of <<< >>>, or in what makes a variable that is only used there */
	SOURCE_DECLARATOR = 64		/* * & [ ( that belong to a declared name, or to a type */
};

struct source {
	struct arena *arena;
	struct tokens t;
	unsigned char *flags;		/* of each token */
	int *in;			/* index of its function; -1: in none */
	struct function *functions;
	unsigned n_functions;
	struct variable *variables;
	unsigned n_variables;
};

void source_read(const char *text, size_t size, struct arena *a, struct source *out);

bool source_is(const struct source *s, unsigned i, const char *word);
bool source_in(const struct source *s, unsigned i, const char *words);
bool source_name(const struct source *s, unsigned i);		/* a name that is no keyword */
/* The token before i or after it, preprocessor lines apart; s->t.n if there is none. */
unsigned source_before(const struct source *s, unsigned i);
unsigned source_after(const struct source *s, unsigned i);
/* Tokens first .. end-1 with single blanks where there was space, without comments. */
const char *source_text(const struct source *s, unsigned first, unsigned end);

/* May token i be changed? */
bool source_free(const struct source *s, unsigned i);
/* Is the operator i between two operands? */
bool source_binary(const struct source *s, unsigned i);
/* The end of the operand that begins at i (casts, calls, subscripts), exclusive; i if there is none. */
unsigned source_operand_end(const struct source *s, unsigned i);
/* The start of the operand whose last token is i. */
unsigned source_operand_start(const struct source *s, unsigned i);
/* From i on, brackets in one piece, to the first token that is one of `stops`, or closes what i is in, or ends the statement. */
unsigned source_until(const struct source *s, unsigned i, const char *stops);
/* The ; of the statement that begins at i; s->t.n if it is none of the simple kind. */
unsigned source_statement_end(const struct source *s, unsigned i);
/* The declared name, as the function of token i sees it; NULL: unknown. */
const struct variable *source_variable(const struct source *s, unsigned i);
/* The ( of a control statement's header, if i is it: its keyword, else NULL. */
const char *source_control(const struct source *s, unsigned i);

#endif
