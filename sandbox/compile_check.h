/* What a compilation gave, before anyone uses it: a part of the compile step. */
#ifndef SANDBOX_COMPILE_CHECK_H
#define SANDBOX_COMPILE_CHECK_H

#include "compile.h"

enum { COMPILE_PTX_MAX = 32 << 20 };	/* bytes; the largest libraries' kernels have a few MiB */

/* NULL if the device code and the guest's executable are what the judge can take, else why not, in a line.  guest -1: there is
 * to be none, and no cubin. */
const char *compile_refuse(const struct compiled *c, int guest, struct arena *a);

#endif
