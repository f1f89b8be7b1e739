/* A line of the submission, with a caret under the column that is meant. */
#ifndef JUDGE_EXCERPT_H
#define JUDGE_EXCERPT_H

#include "term.h"

/* line and column from 1; column 0: no caret.  Nothing is printed if there is no such line. */
void excerpt_print(const struct term *t, const char *source, size_t size, int line, int column);
/* Line `line` of the source, without its end; *length gets its bytes.  NULL if there is none. */
const char *excerpt_line(const char *source, size_t size, int line, size_t *length);
/* Print at most `width` columns of a line, tabs as blanks, control characters as "?"; returns the columns printed. */
int excerpt_text(const struct term *t, const char *line, size_t length, size_t from, int width);

#endif
