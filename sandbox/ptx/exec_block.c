/* Resident blocks: their registers, shared memory and L1, and the rows of constants. */
#include "endless.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- constants ---- */

/* How far a constant is the same. */
enum reach { SAME_IN_LAUNCH, SAME_IN_BLOCK, SAME_IN_WARP, BY_LANE };

static enum reach reach_of(const struct constant *c)
{
	if (c->kind == CONST_LOCAL)
		return BY_LANE;
	if (c->kind != CONST_SREG)
		return SAME_IN_LAUNCH;
	switch (c->value) {
	case PTX_SREG_CTAID_X:
	case PTX_SREG_CTAID_Y:
	case PTX_SREG_CTAID_Z:
	case PTX_SREG_CLUSTERID_X:
	case PTX_SREG_CLUSTERID_Y:
	case PTX_SREG_CLUSTERID_Z:
	case PTX_SREG_SMID:
		return SAME_IN_BLOCK;
	case PTX_SREG_WARPID:
		return SAME_IN_WARP;
	case PTX_SREG_TID_X:
	case PTX_SREG_TID_Y:
	case PTX_SREG_TID_Z:
	case PTX_SREG_LANEID:
	case PTX_SREG_LANEMASK_EQ:
	case PTX_SREG_LANEMASK_LE:
	case PTX_SREG_LANEMASK_LT:
	case PTX_SREG_LANEMASK_GE:
	case PTX_SREG_LANEMASK_GT:
		return BY_LANE;
	default:
		return SAME_IN_LAUNCH;
	}
}

static uint64_t block_sreg(const struct block *b, uint64_t sreg)
{
	switch (sreg) {
	case PTX_SREG_CTAID_X:
	case PTX_SREG_CLUSTERID_X:
		return b->index[0];
	case PTX_SREG_CTAID_Y:
	case PTX_SREG_CLUSTERID_Y:
		return b->index[1];
	case PTX_SREG_CTAID_Z:
	case PTX_SREG_CLUSTERID_Z:
		return b->index[2];
	default:
		return b->linear % b->launch->sms;
	}
}

static uint64_t lane_sreg(const struct launch *l, const struct warp *w, uint64_t sreg, unsigned lane)
{
	uint32_t t = w->index * 32 + lane;
	switch (sreg) {
	case PTX_SREG_TID_X:
		return t % l->block[0];
	case PTX_SREG_TID_Y:
		return t / l->block[0] % l->block[1];
	case PTX_SREG_TID_Z:
		return t / l->block[0] / l->block[1];
	case PTX_SREG_LANEID:
		return lane;
	case PTX_SREG_LANEMASK_EQ:
		return 1u << lane;
	case PTX_SREG_LANEMASK_LE:
		return (2u << lane) - 1;
	case PTX_SREG_LANEMASK_LT:
		return (1u << lane) - 1;
	case PTX_SREG_LANEMASK_GE:
		return (uint32_t)(~0u << lane);
	default:
		return (uint32_t)~((2u << lane) - 1);
	}
}

static uint64_t cut(uint64_t v, unsigned bits)
{
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static void put_lane(unsigned char *frame, const struct constant *c, unsigned lane, uint64_t v)
{
	if (c->bits == 1) {
		uint32_t *p = (uint32_t *)(frame + c->row);
		*p = (*p & ~(1u << lane)) | (uint32_t)(v & 1) << lane;
	} else if (c->bits == 64) {
		((uint64_t *)(frame + c->row))[lane] = v;
	} else {
		((uint32_t *)(frame + c->row))[lane] = (uint32_t)cut(v, c->bits);
	}
}

static uint64_t constant_value(const struct block *b, const struct warp *w, const struct lowered *f, uint32_t i, unsigned lane,
			       const uint32_t *local)
{
	const struct constant *c = &f->constants[i];
	switch (reach_of(c)) {
	case SAME_IN_LAUNCH:
		return b->launch->values[f->index][i];
	case SAME_IN_BLOCK:
		return block_sreg(b, c->value);
	case SAME_IN_WARP:
		return w->index;
	default:
		return c->kind == CONST_LOCAL ? c->value + local[lane] : lane_sreg(b->launch, w, c->value, lane);
	}
}

void block_fill(struct block *b, struct warp *w, const struct lowered *f, unsigned char *frame, uint32_t mask, const uint32_t *local)
{
	for (uint32_t i = 0; i < f->n_constants; i++) {
		const struct constant *c = &f->constants[i];
		bool by_lane = reach_of(c) == BY_LANE;
		uint64_t v = by_lane ? 0 : constant_value(b, w, f, i, 0, local);
		for (uint32_t m = mask; m; m &= m - 1) {
			unsigned lane = (unsigned)__builtin_ctz(m);
			put_lane(frame, c, lane, by_lane ? constant_value(b, w, f, i, lane, local) : v);
		}
	}
}

/* The next block of a launch in the same place: only what differs between blocks. */
static void refill(struct block *b, struct warp *w, const struct lowered *f)
{
	for (uint32_t i = 0; i < f->n_constants; i++)
		if (reach_of(&f->constants[i]) == SAME_IN_BLOCK)
			for (unsigned lane = 0; lane < 32; lane++)
				put_lane(w->regs, &f->constants[i], lane, block_sreg(b, f->constants[i].value));
}

/* ---- life ---- */

struct block *block_new(void)
{
	struct block *b = calloc(1, sizeof *b);
	if (!b)
		BUG("out of memory");
	b->l1 = l1_new();
	return b;
}

static void drop_registers(struct block *b)
{
	if (b->registers)
		munmap(b->registers, b->registers_size);
	b->registers = NULL;
	b->registers_size = 0;
}

void block_free(struct block *b)
{
	if (!b)
		return;
	drop_registers(b);
	if (b->memory)
		mem_block_free(b->memory);
	l1_free(b->l1);
	buf_free(&b->text);
	free(b);
}

static void fit_registers(struct block *b, const struct launch *l)
{
	/* an odd number of cache lines between warps, so that their rows don't fall into the same sets */
	size_t stride = ((size_t)l->stack_bytes + 127) / 128 * 128 + 64, size = stride * l->n_warps;
	if (b->registers_size < size) {
		drop_registers(b);
		b->registers = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (b->registers == MAP_FAILED)
			BUG("out of memory for %zu bytes of registers", size);
		b->registers_size = size;
		b->filled_launch = 0;
	}
	if (b->warp_stride != stride)
		b->filled_launch = 0;
	b->warp_stride = stride;
}

static void fit_memory(struct block *b, const struct launch *l)
{
	if (b->memory && b->mem_shared == l->shared_bytes && b->mem_local == l->local_bytes && b->mem_warps == l->n_warps)
		return;
	if (b->memory)
		mem_block_free(b->memory);
	b->memory = mem_block_new(emu_mem(l->emu), l->shared_bytes, l->local_bytes, l->n_warps);
	b->mem_shared = l->shared_bytes;
	b->mem_local = l->local_bytes;
	b->mem_warps = l->n_warps;
}

static void set_context(struct block *b)
{
	const struct launch *l = b->launch;
	b->ctx = (struct mem_ctx){.mem = emu_mem(l->emu), .block = b->memory, .counters = &b->worker->counters, .l1 = b->l1,
				  .block_linear = (uint32_t)b->linear, .sites = b->worker->sites, .other_site = MEM_NO_SITE};
	for (int i = 0; i < 3; i++) {
		b->ctx.block_index[i] = b->index[i];
		b->ctx.block_dim[i] = l->block[i];
	}
}

static void start_warp(struct block *b, unsigned i)
{
	static const uint32_t no_local[32];
	const struct launch *l = b->launch;
	struct warp *w = &b->warps[i];
	uint32_t left = l->threads - 32 * i;
	w->index = i;
	w->regs = b->registers + i * b->warp_stride;
	warp_start(w, left >= 32 ? ~0u : (1u << left) - 1, l->entry->first);
	for (unsigned k = 0; k < 32; k++)
		w->local_top[k] = l->entry->local_bytes;
	if (b->filled_launch == l->id)
		refill(b, w, l->entry);
	else
		block_fill(b, w, l->entry, w->regs, ~0u, no_local);
}

void block_begin(struct block *b, struct worker *w, uint64_t linear, struct trace *t)
{
	const struct launch *l = w->launch;
	b->launch = l;
	b->worker = w;
	b->linear = linear;
	b->index[0] = (uint32_t)(linear % l->grid[0]);
	b->index[1] = (uint32_t)(linear / l->grid[0] % l->grid[1]);
	b->index[2] = (uint32_t)(linear / l->grid[0] / l->grid[1]);
	b->n_warps = l->n_warps;
	b->live_warps = l->n_warps == 32 ? ~0u : (1u << l->n_warps) - 1;
	b->executed = 0;
	b->abandoned = false;
	b->shares = b->window = b->grace = 0;
	memset(b->barriers, 0, sizeof b->barriers);
	fit_registers(b, l);
	fit_memory(b, l);
	set_context(b);
	l1_begin(b->l1, l->l1_bytes, t);
	for (unsigned i = 0; i < l->n_warps; i++)
		start_warp(b, i);
	b->filled_launch = l->id;
}

void block_end(struct block *b)
{
	endless_end(b);
	mem_block_reset(b->memory);
}
