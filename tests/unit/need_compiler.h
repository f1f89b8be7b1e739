/* For tests that compile: skipped where there is no toolkit, or no jail. */
#ifndef TESTS_NEED_COMPILER_H
#define TESTS_NEED_COMPILER_H

#include "sandbox/compile.h"
#include "sandbox/jail.h"
#include "tests/unit/test.h"

static inline void need_compiler(void)
{
	struct err e = {0};
	struct jail_host h;
	if (!toolchain_find(&e) || !guest_library_path(&e))
		test_skip(e.text);
	jail_host(&h);
	if (!h.usable)
		test_skip(h.why);
}

#endif
