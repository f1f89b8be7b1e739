/* What decides where a loop goes: of the instructions that ran in it, the registers on which branches, addresses and all
 * else depend that could end it.  A sum that is only added to is none of them. */
#ifndef PTX_SLICE_H
#define PTX_SLICE_H

#include "lower.h"

/* Spaces, as bits. */
enum { SLICE_GLOBAL = 1, SLICE_SHARED = 2, SLICE_LOCAL = 4 };

struct slice_reg {
	uint32_t row, start, end;	/* life: as in struct reg_place */
	uint8_t bits;
};

struct slice {
	const struct lowered *f;	/* its function */
	struct slice_reg *regs;
	uint32_t n, room;
	uint8_t reads;			/* spaces: what stands there decides too */
	uint8_t writes;			/* spaces that it writes by instructions which are not looked at one by one */
	bool barriers;			/* it passes barriers of the block */
};

struct code_run { uint32_t from, to; };	/* code indices, both in it */

/* spaces: what the accesses at code index i touch that may change, at i modulo SLICE_SPACES.  False: the loop is
 * decided by what changes by itself or is not looked into (clocks, calls, results of other warps). */
enum { SLICE_SPACES = 256 };
bool slice_make(struct slice *s, const struct program *p, const struct code_run *runs, uint32_t n, const uint8_t *spaces);
void slice_free(struct slice *s);

/* The position at code index pc, to hold against lives. */
static inline uint32_t slice_position(const struct slice *s, uint32_t pc)
{
	return 2 * s->f->ranges[pc - s->f->first].first;
}

static inline bool slice_lives(const struct slice_reg *r, uint32_t position)
{
	return r->start <= position && position <= r->end;
}

#endif
