/* One timing run a GPU at a time, whoever's: an advisory lock that dies with its owner. */
#ifndef JUDGE_GPU_LOCK_H
#define JUDGE_GPU_LOCK_H

#include "../sandbox/base/err.h"

/* Wait for the GPU of this uuid, half an hour at most.  A descriptor to close when done, or -1. */
int gpu_lock(const char *uuid, struct err *e);

#endif
