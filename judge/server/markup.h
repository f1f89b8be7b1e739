/* Markdown of statements to HTML that is safe whoever wrote it: no HTML of theirs, no link but to http, https, mailto or this
 * site.  Math becomes <span class="math inline">TeX</span> or "math display", for the browser to set. */
#ifndef SERVER_MARKUP_H
#define SERVER_MARKUP_H

#include "../../sandbox/base/buf.h"

void markup_html(const char *text, size_t size, struct buf *out);

#endif
