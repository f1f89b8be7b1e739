/* CUDA C++ source as tokens.  Any bytes are taken: what is no token of the language is a token of one byte, and what does not end
 * (a string, a comment) ends with its line or with the text. */
#ifndef JUDGE_MUTANT_TOKEN_H
#define JUDGE_MUTANT_TOKEN_H

#include "../../sandbox/base/arena.h"

#include <stdbool.h>
#include <stddef.h>

enum token_kind {
	TOKEN_NAME, TOKEN_NUMBER, TOKEN_STRING, TOKEN_CHAR, TOKEN_MARK,
	TOKEN_DIRECTIVE,		/* a whole preprocessor line, with its continuations */
	TOKEN_END
};

struct token {
	enum token_kind kind;
	size_t at, size;		/* bytes of the text */
	int line;			/* of its first byte, from 1 */
	unsigned match;			/* partner of ( ) [ ] { }; its own index where it has none */
	unsigned parent;		/* the innermost bracket that it is in; its own index where there is none */
};

struct tokens {
	const char *text;
	size_t size;
	struct token *list;		/* the last is TOKEN_END */
	unsigned n;			/* without it */
};

void tokens_of(const char *text, size_t size, struct arena *a, struct tokens *out);
/* Is token i this one?  false beyond the end; string literals and directives are never equal to a word. */
bool token_is(const struct tokens *t, unsigned i, const char *word);
/* The same, of a list of words separated by blanks. */
bool token_in(const struct tokens *t, unsigned i, const char *words);

#endif
