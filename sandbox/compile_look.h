/* A look at a source before it is compiled: which of the kept headers (compile_prefix.h) may stand for those it would include. */
#ifndef SANDBOX_COMPILE_LOOK_H
#define SANDBOX_COMPILE_LOOK_H

#include "base/buf.h"

enum compile_headers {
	COMPILE_HEADERS_OWN,	/* the preprocessor must have seen the headers themselves: it saves and restores macros, or may include
				 * libraries (CUB, Thrust, libcu++) that bring toolkit headers in as a system's, by another path */
	COMPILE_HEADERS_FULL,
	COMPILE_HEADERS_LEAN	/* it can't name the special mathematical functions of C++17: their templates may be left out */
};

/* The source with its continued lines joined: a backslash at a line's end, blanks behind it allowed, as gcc does. */
void compile_join_lines(const char *source, size_t size, struct buf *out);
/* In doubt, more. */
enum compile_headers compile_look(const char *source, size_t size);

#endif
