/* Proofs that a loop never ends.
 *
 * Theory of operation.  A warp that has jumped back very often is watched for a while.  Of the code that it runs meanwhile
 * slice.h says which registers decide where it goes.  When these hold what they held at an earlier time (Brent's way of
 * finding a cycle: what is compared with is taken anew after 1, 2, 4, 8... turns), the warp goes around in a circle:
 *
 *	- for ever, if nothing that it read from memory had a part in it, or only what cannot change (inputs, constants) or
 *	  the thread's own;
 *	- for as long as memory stays what it is, if it read what others may write.  It waits.
 *
 * A launch never ends if a warp runs for ever, or if all warps that could move wait, and memory has not changed since
 * before the first of their circles began.  A store counts as a change if a byte is another one after it, so a lock that
 * is tried in vain does not.  Warps that are not watched may have changed everything.  Blocks that are not resident do
 * not count: they begin when another one ends, as on a GPU.  A warp that runs for ever lets the others run on for some
 * time, as a fault of theirs would be the end after all.
 *
 * Watching costs little, and begins after a first share of 16384 jumps: kernels that end are hardly ever watched.
 */
#ifndef PTX_ENDLESS_H
#define PTX_ENDLESS_H

#include "exec.h"

/* Of blocks that take turns: what they have in common. */
struct grid_watch {
	uint32_t sweeps;		/* rounds in which all resident blocks had their turn */
	uint32_t window;		/* 0: nobody is watched now; else its number */
	uint32_t grace;			/* sweeps that others were given, while a warp runs for ever */
	uint64_t changes;		/* of global memory */
};

/* ---- for the executor's loop ---- */

/* The watch of a warp that is about to run; NULL: it isn't watched. */
struct endless *endless_begin(struct block *b, struct warp *w);
/* What x->at and the code before it from x->entered on did, ran. */
void endless_ran(struct exec *x);
/* It has jumped (x->at) to `target`.  True: it has proved that it goes around in a circle, and should give way. */
bool endless_turn(struct exec *x, uint32_t target);
/* in->op, looking at what it does to memory. */
int endless_op(struct exec *x, const struct insn *in, uint32_t mask);
/* An instruction that is not looked at changes memory. */
void endless_changed(struct exec *x);

/* ---- for those who give turns ---- */

/* All warps of a block that does not take turns with others had theirs; some used up their share.  True: it never ends,
 * and the fault is set. */
bool endless_round(struct block *b);
/* All resident blocks had their turn; `left` blocks have not begun, though (room) one might on a GPU.  The one that never
 * ends, its fault being set, or NULL. */
struct block *endless_sweep(struct grid_watch *g, struct block *const *resident, uint32_t n, uint64_t left, bool room);
/* The block has run. */
void endless_end(struct block *b);

#endif
