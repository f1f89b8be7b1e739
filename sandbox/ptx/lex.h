/* PTX text to tokens. */
#ifndef PTX_LEX_H
#define PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Other kinds are the character itself, or one of the two-character operators below. */
enum token_kind {
	T_EOF = 256,
	T_IDENT,	/* name, %name, $name, _ */
	T_WORD,		/* .name, with ::name parts; text includes the dot */
	T_INT,
	T_F32,		/* 0f..., value: the bits */
	T_F64,		/* 0d... or decimal, value: the bits */
	T_STRING,	/* text without the quotes */
	T_SHL, T_SHR, T_LE, T_GE, T_EQ, T_NE, T_AND, T_OR,
	T_BAD		/* what it is: in `wrong` of the lexer */
};

struct token {
	int kind;
	uint32_t line;
	const char *s;	/* text, inside the lexer's buffer */
	uint32_t n;
	bool is_unsigned;	/* T_INT: with U suffix, or too large for 63 bits */
	uint64_t value;
};

/* Lines of the buffer end in NUL instead of newline, so that they serve as strings too. */
struct lex {
	const char *p, *end;	/* *end is a NUL past the last line's own */
	uint32_t line;
	const char *wrong;
};

void lex_init(struct lex *l, const char *text, size_t size);
struct token lex_next(struct lex *l);
/* The next character that is neither space nor comment, without taking it; NUL at the end. */
char lex_peek(struct lex *l);
/* Take a decimal fraction without leading digit (`.5e-3`), which lex_next gave as a word. */
struct token lex_fraction(struct lex *l, const struct token *word);
/* Behind a `{`: go past its `}` without looking at what is inside; false: there is none. */
bool lex_skip_block(struct lex *l);

#endif
