/* The shell commands that make and use the kept headers (compile_prefix.h). */
#ifndef SANDBOX_COMPILE_KEPT_H
#define SANDBOX_COMPILE_KEPT_H

#include "compile_plan.h"

#include <stdbool.h>

/* A preprocessor's step, which is given the kept headers where they are there and gets by without; the caller's.  NULL: the
 * command, as nvcc prints it, isn't understood. */
char *compile_kept_pass(enum compile_step step, const char *command);

/* A script that makes them: of the commands of nvcc's steps, after the assignments of variables that these need.  It prints the
 * paths of the headers.  lean: without the special mathematical functions, if it can be done.  The caller's; NULL: it can't be. */
char *compile_kept_script(const char *variables, const char *module_id, const char *const *commands, bool lean);

#endif
