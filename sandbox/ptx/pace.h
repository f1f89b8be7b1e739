/* The pace of one warp alone: what it waits for, from the dependences between its instructions. */
#ifndef PTX_PACE_H
#define PTX_PACE_H

#include "ptx.h"

struct pace {
	uint16_t rounds;	/* waits for loads from global memory, one after another */
	uint16_t cycles;	/* the chain of dependent instructions apart from these waits */
};

/* For each basic block, at its first instruction (elsewhere zero); out has f->n_insns elements.  How often a block runs
 * times its pace, summed over blocks, is the life of a warp. */
void pace_of(const struct ptx_func *f, struct pace *out);

#endif
