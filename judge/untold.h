/* What is said of a hidden case to those who must not know its sizes and values.
 *
 * A submission sees the inputs, and may put them into whatever is told of it: an address, a size, a count, an exit status, how wrong its
 * outputs are.  So of a hidden case is told only what has few values: the verdict; of a fault its kind, kernel and line; which CUDA
 * error, signal or system call it was; roughly how near the bound was.  That is some 30 bits a case, of inputs that are drawn anew for each
 * judging and never used again. */
#ifndef JUDGE_UNTOLD_H
#define JUDGE_UNTOLD_H

#include "../sandbox/base/buf.h"

/* Appends the sentence without its numbers, but for lines of the source: " (N=34 K=384)" is left out, "10 of 34" becomes "… of …". */
void untold(const char *text, struct buf *out);
/* Error/bound, rounded up to 1, 2 or 5 times a power of ten, 0.001 at the least; NaN above 1, where the verdict says it. */
double untold_ratio(double ratio);

#endif
