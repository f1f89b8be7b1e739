/* What is said of a hidden case to those who must not know its sizes and values. */
#ifndef JUDGE_UNTOLD_H
#define JUDGE_UNTOLD_H

#include "../sandbox/base/buf.h"

/* Appends the sentence without its numbers, but for lines of the source: " (N=34 K=384)" is left out, "10 of 34" becomes "… of …". */
void untold(const char *text, struct buf *out);

#endif
