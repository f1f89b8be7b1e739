/* The hints of a statement: the "###" sections of its last "##" section, if that is called Hints (提示). */
#ifndef JUDGE_HINTS_H
#define JUDGE_HINTS_H

#include <stddef.h>

size_t hints_begin(const char *statement);			/* how much of it stands before them; all, if there are none */
unsigned hints_count(const char *statement);
/* Hint n, from 1, which stays a part of the statement.  -1: there is none. */
int hints_find(const char *statement, unsigned n, const char **from, size_t *size);

#endif
