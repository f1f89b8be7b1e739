/* A package's texts: Markdown with mathematics, as the pages and the terminal will read it. */
#ifndef AUTHOR_STATEMENT_H
#define AUTHOR_STATEMENT_H

#include "../problem.h"
#include "finding.h"

/* statement.en.md, statement.zh.md, steps.en.md, steps.zh.md: those that there are, and whether both languages are. */
void statements_check(const struct problem *p, struct findings *f);

/* One text's mathematics: dollar signs in pairs, braces, \left and \right, \begin and \end, words that KaTeX knows. */
void statement_math(const char *file, const char *text, size_t size, struct findings *f);

#endif
