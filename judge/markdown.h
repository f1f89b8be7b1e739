/* Markdown on a terminal: headings, lists, tables, code, emphasis, and $math$ as plain text. */
#ifndef JUDGE_MARKDOWN_H
#define JUDGE_MARKDOWN_H

#include "term.h"

void markdown_print(const struct term *t, const char *text, size_t size);

#endif
