/* Executor state: launch, host thread, resident block, warp, split; and what the parts of the executor call of each
 * other. */
#ifndef PTX_EXEC_H
#define PTX_EXEC_H

#include "../base/buf.h"
#include "../fault.h"
#include "emu.h"
#include "lower.h"

/* ---- a launch ---- */

struct launch {
	struct emu *emu;
	const struct program *program;
	const struct lowered *entry;
	const struct emu_kernel *kernel;
	uint32_t grid[3], block[3], threads, n_warps;
	uint64_t n_blocks;
	uint32_t shared_static, shared_dynamic, local_bytes, shared_bytes;
	uint64_t *const *values;	/* by function index, then constant: launch-wide values */
	uint64_t param_address;		/* of the parameters' copy in device memory */
	uint64_t id;			/* counts launches */
	uint32_t stack_bytes;		/* of a warp's frames together */
	uint32_t l1_bytes, sms;
	uint64_t budget;		/* what is left of it when the wave begins */
	bool sliced;			/* blocks take turns on one host thread */
	struct grid_watch *grid_watch;	/* then: see endless.h */
	_Atomic uint64_t lowest_fault;	/* linear block; those above it need not run on */
};

/* Instructions are tallied as differences: +1 where a split enters straight-line code, -1 behind where it leaves. */
struct tally { uint64_t n, lanes; };

struct worker {				/* a host thread's own */
	const struct launch *launch;
	struct counters counters;
	struct tally *tally;		/* by code index */
	uint64_t *diverged;		/* by code index */
	struct mem_site *sites;
	struct block *block;		/* a resident block, reused */
	struct wmma_plan *plans;	/* of wmma accesses, made when there is one: see exec_matrix.c */
};

/* ---- a resident block ---- */

/* A share is measured in jumps backwards; an instruction that looks at what others may change counts for many.  The first
 * is a smaller one, so that loops without end are soon looked at. */
#ifdef FUZZING				/* whose budgets are small: they are met only at the end of a share */
enum { SHARE = 1 << 9, SPIN_COST = 1 << 4, FIRST_SHARE = SHARE / 4 };
#else
enum { SHARE = 1 << 16, SPIN_COST = 1 << 10, FIRST_SHARE = SHARE / 4 };
#endif

enum split_state { SPLIT_READY, SPLIT_AT_BARRIER, SPLIT_AT_COLLECTIVE };

struct split {
	uint32_t mask, pc;		/* pc: the next instruction; of a waiting split the one it waits at */
	uint32_t frame;			/* offset in the warp's registers */
	uint32_t turn;			/* how often it used up its share while others waited */
	uint8_t state;			/* enum split_state */
	uint8_t barrier;		/* id it waits at */
	uint8_t what;			/* enum collective it waits at */
	uint32_t members;		/* collective: the mask it named */
};

struct warp {
	unsigned char *regs;
	uint32_t index, started, live;	/* lanes */
	uint32_t n_splits, spins, effort;
	struct split splits[32];
	uint64_t executed;		/* PTX instructions */
	uint32_t local_top[32];		/* by lane: bytes of local memory in use */
	uint16_t counted;		/* barriers that have counted this warp's arrival, bit by id */
	struct endless *endless;	/* its watch, or NULL: see endless.h */
};

enum { BARRIERS = 16 };

struct barrier {
	uint32_t arrived, waiting;	/* warps */
	uint32_t count, expected;	/* in warps; expected 0: all that live */
	bool open;			/* a round has begun */
	uint8_t reduce;
	uint32_t lanes_count, ones_count;	/* .red: that took part, whose predicate held */
	uint32_t pc;			/* of the first arrival */
};

struct block {
	const struct launch *launch;
	struct worker *worker;
	struct mem_ctx ctx;
	struct mem_block *memory;
	struct l1 *l1;
	uint64_t linear;
	uint32_t index[3];
	uint32_t n_warps, live_warps;
	struct warp warps[32];
	struct barrier barriers[BARRIERS];
	uint64_t executed;
	struct buf text;		/* device printf */
	uint64_t filled_launch;		/* whose constants stand in the warps' registers; 0: none */
	bool abandoned;			/* a lower block has a fault */
	unsigned char *registers;
	size_t registers_size, warp_stride;
	uint32_t mem_shared, mem_local, mem_warps;

	/* endless.h: rounds in which shares were used up, the window that is open, rounds of grace, changes of memory */
	uint32_t shares, window, grace;
	uint64_t changes[2];
};

/* ---- a running split ---- */

struct exec {
	struct worker *worker;
	const struct launch *launch;
	struct block *block;
	struct warp *warp;
	struct split *split;
	unsigned char *regs;		/* of the split's frame */
	const struct insn *code;
	const struct insn *at;		/* the instruction in hand */
	const struct insn *entered;	/* where the tally stands */
	struct endless *watch;		/* NULL: the warp is not watched */
};

/* What a block or warp did before it gave way. */
enum ran { RAN_DONE, RAN_BLOCKED, RAN_YIELDED, RAN_FAULT };

enum ran block_run(struct block *b);
/* exec.c */
enum ran warp_run(struct block *b, struct warp *w);
void exec_leave(struct exec *x);	/* tally up to and with x->at */
/* The lanes of mask (of x->split) as a split of their own, which is x->split from then on; the others go on behind x->at. */
void exec_part(struct exec *x, uint32_t mask);

/* warp.c */
void warp_start(struct warp *w, uint32_t lanes, uint32_t pc);
struct split *warp_split(struct warp *w, const struct split *like);
void warp_drop(struct warp *w, struct split *s);	/* moves the last into its place */
struct split *warp_pick(struct warp *w);		/* merges, then the one to run; NULL: none is ready */
uint32_t warp_stop(const struct warp *w, const struct split *s);	/* pc at which another waits to be met */

/* sync.c: 0: go on; 1: the split waits; -1 fault */
int sync_arrive(struct exec *x, const struct insn *in, uint32_t mask);
int sync_lanes_left(struct exec *x);			/* lanes exited: barriers may complete */
void sync_describe_stall(struct block *b);		/* fills the fault */
/* collective.c */
int collective_arrive(struct exec *x, const struct insn *in, uint32_t mask);
const char *collective_name(unsigned what);		/* enum collective */
int collective_lanes_left(struct exec *x);

/* The fast way of a collective: 1 if it is done, 0 if it must wait or is wrong, -1: fault. */
int collective_at_once(struct exec *x, const struct insn *in, uint32_t mask);

/* call.c: 0, or -1: fault.  The splits are where they go on. */
int call_enter(struct exec *x, const struct insn *in, uint32_t mask);
int call_return(struct exec *x, uint32_t mask);
int call_extern(struct exec *x, const struct insn *in, uint32_t mask);

/* exec_block.c */
struct block *block_new(void);
void block_free(struct block *b);
/* Make b the block `linear` of a launch, ready to run; its misses go to t. */
void block_begin(struct block *b, struct worker *w, uint64_t linear, struct trace *t);
void block_end(struct block *b);		/* it has run */
/* The constants of a function into its frame, for the lanes of mask; local: where each lane's local variables begin. */
void block_fill(struct block *b, struct warp *w, const struct lowered *f, unsigned char *frame, uint32_t mask, const uint32_t *local);

/* exec_mem.c: the lanes' addresses (row + offset) into out; those that are generic addresses of shared memory to offsets */
void exec_addresses(const unsigned char *regs, uint32_t row, unsigned bits, int64_t offset, uint64_t *out);
void exec_shared_offsets(uint64_t *addr);
static inline struct mem_site *exec_site(const struct exec *x, const struct access *a)
{
	return &x->worker->sites[a->op.site];
}

/* exec_fault.c: fill block->ctx.fault; return -1 */
int exec_fault(struct exec *x, enum fault_kind kind, uint32_t lanes, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void exec_fault_place(struct block *b, uint32_t pc);	/* kernel, file, line of an instruction */
const char *exec_place(const struct launch *l, uint32_t pc, char *text, size_t size);	/* "gemv.cu:12" */
void exec_fault_thread(struct block *b, const struct warp *w, uint32_t lanes);

bool exec_is_constant(const struct launch *l, uint64_t addr);	/* of a .const variable */
uint32_t exec_site_pc(const struct launch *l, uint32_t site);	/* code index of a memory site; UINT32_MAX: none */

/* emu_module.c: the heap of device malloc; 0: full */
uint64_t emu_heap_alloc(struct emu *g, uint64_t size);
int emu_heap_free(struct emu *g, uint64_t addr);

/* printf.c */
int printf_device(struct exec *x, unsigned lane, uint64_t format, uint64_t args, uint32_t *result);
/* A NUL-terminated string of device memory; -1: fault set. */
int printf_string(struct exec *x, unsigned lane, uint64_t addr, char *out, size_t size);

#endif
