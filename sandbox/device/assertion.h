/* What NVIDIA's driver says on stderr of a kernel's failed assertion, as a fault's place and sentence. */
#ifndef DEVICE_ASSERTION_H
#define DEVICE_ASSERTION_H

#include "../fault.h"

#include <stdbool.h>

/* The first failed assertion in the text, which ends with a NUL:
 *
 *	/tmp/solution.cu:28: void check(int): block: [0,0,0], thread: [31,0,0] Assertion `threadIdx.x < limit` failed.
 *
 * becomes f's line, block, thread, and the detail that the emulated device gives, "solution.cu:28: void check(int): assertion
 * `threadIdx.x < limit' failed".  false: there is none, and f is as it was. */
bool assertion_read(const char *text, struct fault *f);

#endif
