/* Of the kept headers' text (compile_prefix.h), the declarations that a source can name.
 *
 * Four fifths of what cicc does for a small kernel are the declarations of the CUDA runtime and the C++ library, and the kernel names
 * a tenth of them.  A slice is the same text, in the same order and with every declaration at its own line, without those
 * that neither the source names, nor a macro that it names, nor a declaration that is in the slice: a function goes or stays with
 * all its overloads, a template with all its specialisations, an operator with the types of its operands.
 */
#ifndef SANDBOX_COMPILE_SLICE_H
#define SANDBOX_COMPILE_SLICE_H

#include "base/buf.h"

#include <stdbool.h>

struct compile_slicer;

/* Of a pass's output for the headers, and the #define lines of what they define; the buffers are taken over.  It may serve several
 * threads. */
struct compile_slicer *compile_slicer_new(struct buf *text, struct buf *macros);
void compile_slicer_free(struct compile_slicer *s);	/* NULL is fine */

/* Append the slice.  source: with continued lines joined, one that compile_look takes for COMPILE_HEADERS_LEAN.  False: what it
 * names can't be told (it includes another header, or names a macro that makes names of parts), or the text is not
 * understood; out is as it was.  A slice that lacks something makes the compiler complain, and the whole text is to be taken. */
bool compile_slice(const struct compile_slicer *s, const char *source, size_t size, struct buf *out);

#endif
