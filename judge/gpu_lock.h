/* Who uses a GPU, whoever's: one that measures time has it alone.  Advisory locks that die with their owner. */
#ifndef JUDGE_GPU_LOCK_H
#define JUDGE_GPU_LOCK_H

#include "../sandbox/base/err.h"

enum gpu_use {
	GPU_SHARED,	/* beside others that measure nothing */
	GPU_ALONE,	/* to measure; who asks for it next waits behind it */
};

/* Wait for the GPU of this uuid, half an hour at most.  A descriptor to close when done, or -1.  Not to be held twice. */
int gpu_lock(const char *uuid, enum gpu_use use, struct err *e);

#endif
