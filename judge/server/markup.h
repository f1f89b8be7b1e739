/* Markdown of statements to HTML that is safe whoever wrote it: no HTML of theirs, no link but to http, https, mailto or this
 * site.  Math becomes <span class="math inline">TeX</span> or "math display", for the browser to set. */
#ifndef SERVER_MARKUP_H
#define SERVER_MARKUP_H

#include "../../sandbox/base/buf.h"

void markup_html(const char *text, size_t size, struct buf *out);

/* A statement and its hints: the "###" sections of the last "##" section, if that is called Hints (提示). */
size_t markup_statement_size(const char *text);			/* without the hints */
unsigned markup_hints(const char *text);
/* Hint n, from 1.  -1: there is none. */
int markup_hint(const char *text, unsigned n, const char **from, size_t *size);

#endif
