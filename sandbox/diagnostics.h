/* Compiler output as data: the parts of compile.h's diagnostics that only the compile step uses. */
#ifndef SANDBOX_DIAGNOSTICS_H
#define SANDBOX_DIAGNOSTICS_H

#include "compile.h"

/* Printable UTF-8 of what may be anything: terminal escapes and other control characters go, wrong bytes become U+FFFD.
 * At most `max` bytes. */
char *diagnostics_clean(const char *text, size_t size, size_t max, struct arena *a);
/* Move what ptxas says of lines of the PTX to the lines of the source they were compiled from (through .loc). */
void diagnostics_map_ptx(struct diagnostic *d, size_t n, const char *name, const char *ptx);

/* What a diagnostic says of a symbol at link time, where `text` is "undefined: NAME" or "multiple: NAME": the linker's
 * words in a form of ours, for compile_explain. */
#define DIAGNOSTIC_UNDEFINED "undefined: "
#define DIAGNOSTIC_MULTIPLE "multiple: "

/* Put link errors and clashes with the judge's prototype into words that help (compile_explain.c). */
void compile_explain(const struct compile_request *rq, struct arena *a, struct diagnostic *d, size_t n);

#endif
