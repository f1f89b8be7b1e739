/* The emulated GPU's memory: allocations, shadow state, and the warp-level access functions.
 *
 * Theory of operation.  Global memory is one reserved range of host memory, so that translation is an addition; an
 * address is legal only inside a live allocation.  Allocations are 256-byte aligned with guard zones around them.
 * Each byte of a read-write allocation has shadow state: whether it was ever written, and who wrote and read it in this
 * launch.  Allocations marked read-only (inputs of a case) need no shadow: they are whole, and a write to them is a
 * fault.  A block sees as written what was so before the launch and what it wrote itself.
 *
 * Races.  Two accesses to the same byte, one of them a write, not both atomic, not ordered by a barrier, from different
 * warps.  Inside a block, order comes from a vector clock per warp: a barrier joins the clocks of those that take part;
 * barrier.arrive hands its clock to those that wait.  Between blocks of one launch nothing orders, except in a launch
 * marked MEM_COMMUNICATES (its code has fences, acquire/release, or cooperative grid sync), where cross-block reports
 * are off.  Lanes of one store instruction that write different values to one address are a race too; writers that all
 * write the same value are not.  Races inside a block are faults of the access; races between blocks come at the end of
 * the launch, and don't depend on the order in which blocks ran.
 *
 * An access function works on up to 32 lanes: `addr` is what each lane's address operand plus offset gives, `mask` the
 * active lanes.  It checks (space, bounds, alignment, initialised, race, cp.async pending), moves the data, counts
 * (requests, sectors, wavefronts, conflicts), and tells the L1 model.  0, or -1 with ctx->fault filled in except for
 * kernel, file and line, which the executor adds.
 */
#ifndef PTX_MEM_H
#define PTX_MEM_H

#include "../base/err.h"
#include "../counters.h"
#include "../fault.h"
#include "model.h"
#include "ptx.h"

#include <stdbool.h>
#include <stdint.h>

/* Generic address windows.  Shared and local windows are small ranges of the 64-bit space; all else is global (const
 * variables and kernel parameters have global addresses too, in allocations of their own).  Global memory lies where no
 * host program's does: above its heap, below where Linux puts mappings and stacks, wherever these are moved at random.  The guest
 * runtime tells host from device by address. */
#define MEM_SHARED_BASE 0x0000010000000000ull	/* .. + 16 MiB: this block's shared memory */
#define MEM_LOCAL_BASE  0x0000020000000000ull	/* .. + 16 MiB: this thread's local memory */
#define MEM_WINDOW      0x0000000001000000ull
#define MEM_GLOBAL_BASE 0x0000100000000000ull

/* ---- the device's global memory ---- */

struct mem;
struct mem_options {
	uint64_t limit;			/* bytes of all allocations together; more is cudaErrorMemoryAllocation */
	bool checks;			/* initialised and race checks; bounds and alignment are always on */
};

struct mem *mem_new(const struct mem_options *o, struct err *e);
void mem_free(struct mem *m);

enum { MEM_READ_ONLY = 1,	/* whole from the start, a device write faults (fault READ_ONLY) */
       MEM_INITIALISED = 2,	/* contents count as written (module variables, cudaMemset'd...) */
       MEM_ZERO = 4 };
/* name: for messages ("Wq"), may be NULL; copied.  0 and *addr, or -1: out of memory. */
int mem_alloc(struct mem *m, uint64_t size, unsigned flags, const char *name, uint64_t *addr);
/* -1: not the start of a live allocation.  The range is not reused while anything else is free, to catch stale use. */
int mem_release(struct mem *m, uint64_t addr);
void mem_release_all(struct mem *m);
/* Change flags of a live allocation (an output becomes read-only input...). */
int mem_protect(struct mem *m, uint64_t addr, unsigned flags);
/* Host-side copies: NULL and *why (static text) if [addr, addr+size) is not inside one live allocation. */
void *mem_host(struct mem *m, uint64_t addr, uint64_t size, const char **why);
/* The live allocation that holds addr: where it begins and ends, whether a device may not write it.  False: there is none. */
bool mem_range(const struct mem *m, uint64_t addr, uint64_t *lo, uint64_t *hi, bool *read_only);
void mem_mark_written(struct mem *m, uint64_t addr, uint64_t size);
/* Whether every byte of [addr, addr+size) was written since allocation or mem_mark_unwritten; *first gets the offset
 * of the first byte that was not. */
bool mem_is_written(struct mem *m, uint64_t addr, uint64_t size, uint64_t *first);
void mem_mark_unwritten(struct mem *m, uint64_t addr, uint64_t size);
/* Live allocation that holds or is nearest to addr, as a sentence fragment for messages:
 * "4 bytes past the end of y (1028 bytes)". */
void mem_describe(struct mem *m, uint64_t addr, uint32_t bytes, char *text, size_t size);
uint64_t mem_used(const struct mem *m);
/* Sum over allocations named name, those released since too ("": all that have none), of bytes loaded / stored by
 * kernels since mem_traffic_reset (for the book: weight passes, intermediate bytes).  Counted per lane-request sectors x 32 at warp level, before caches. */
struct mem_traffic { char name[32]; uint64_t size, load_bytes, store_bytes; };
unsigned mem_traffic(struct mem *m, struct mem_traffic *out, unsigned max);
void mem_traffic_reset(struct mem *m);

/* ---- one launch, one host thread, one block ---- */

enum { MEM_COMMUNICATES = 1 };
void mem_launch_begin(struct mem *m, unsigned flags, const uint32_t grid[3]);
/* After the last block.  -1: blocks raced on global memory, and *f (block: the lowest that took part) and the sites of
 * two accesses, a write first, are filled in; the lowest address of all races is reported.  Of no meaning after a launch
 * that another fault ended.  f may be NULL. */
int mem_launch_end(struct mem *m, struct fault *f, uint32_t sites[2]);
enum { MEM_NO_SITE = 0xffffffff };

/* Per-access-site statistics, one per memory instruction of the kernel and host thread; summed by the executor. */
struct mem_site {
	uint64_t requests, lanes, sectors, wavefronts, conflicts, bytes;
};

struct mem_block;		/* shared memory of a resident block with its shadow; local memory of its threads */

/* One context per resident block (blocks are resumable); not shared between host threads at the same time. */
struct mem_ctx {
	struct mem *mem;
	struct mem_block *block;
	struct counters *counters;	/* of this host thread */
	struct l1 *l1;			/* of this block */
	struct fault fault;
	uint32_t block_linear;		/* id of the block in the launch, for race tags */
	uint32_t block_index[3];
	uint32_t warp;			/* warp of the block that executes now: set by the executor before each access */
	uint32_t block_dim[3];
	struct mem_site *sites;		/* of this host thread: names the site of accesses that carry no struct mem_op */
	uint32_t other_site;		/* with a race or ASYNC_NOT_WAITED: site of the other access, or MEM_NO_SITE */
};

/* Make (or re-make for the next block) the block part: `shared` bytes of shared memory in all, `local` bytes of local
 * memory a thread, `warps` warps.  Shared memory starts unwritten.  A block is reset or freed when it has run, before
 * mem_launch_end. */
struct mem_block *mem_block_new(struct mem *m, uint32_t shared, uint32_t local, uint32_t warps);
void mem_block_reset(struct mem_block *b);
void mem_block_free(struct mem_block *b);
/* What stands in bytes of shared memory, without an access; NULL: there are none. */
const unsigned char *mem_shared_at(const struct mem_block *b, uint64_t offset, uint32_t bytes);
/* A barrier completed: warps in `arrived` handed in their clocks, warps in `waited` go on.  bar.sync: both the same.
 * Bit i is warp i of the block; warps that have exited count in both.  __syncwarp needs no call. */
void mem_barrier(struct mem_block *b, uint32_t arrived, uint32_t waited);
/* mbarrier and other acquire/release inside a block: release joins the warp's clock into that of a shared object,
 * acquire takes it. */
void mem_release_clock(struct mem_block *b, uint32_t warp, uint64_t object);
void mem_acquire_clock(struct mem_block *b, uint32_t warp, uint64_t object);

enum mem_flag {
	MEM_VOLATILE = 1,		/* .volatile, .relaxed, .acquire, .release: races with plain accesses, as atomics do */
	MEM_NC = 2,			/* ld.global.nc, ldg */
	MEM_NO_L1 = 4,			/* .cg, .cv, .L1::no_allocate, volatile: does not allocate in L1 */
	MEM_UNCHECKED = 8		/* cp.async bookkeeping and the like */
};

/* As mem_op.joined: counted with another load; from constant memory, an operand of the instruction that uses it. */
enum { MEM_JOINED_ELSEWHERE = 255 };

/* What is known of an access when the kernel is lowered. */
struct mem_op {
	uint8_t space;			/* enum ptx_space: GLOBAL, SHARED (offsets), LOCAL (offsets), GENERIC; CONST and PARAM:
					 * global addresses, plain loads of which nothing but the request is counted */
	uint8_t bytes;			/* of one element: 1, 2, 4, 8, 16 */
	uint8_t n;			/* elements: 1, 2, 4, 8 */
	uint8_t flags;
	uint8_t type;			/* enum ptx_type: sign extension of loads; arithmetic of atomics */
	uint8_t wide;			/* bitmask: element i's register row is uint64_t[32], else uint32_t[32] */
	uint8_t narrow;			/* bitmask: element i's register has 16 bits: a sign goes no further than those */
	uint8_t atom;			/* enum mem_atom */
	uint8_t joined;			/* load from shared memory: bytes of the access that ptxas makes of it and its neighbours,
					 * which is counted here; MEM_JOINED_ELSEWHERE; 0: it is one by itself */
	uint32_t site;			/* index into the sites of this host thread */
};

enum mem_atom { ATOM_ADD, ATOM_MIN, ATOM_MAX, ATOM_INC, ATOM_DEC, ATOM_AND, ATOM_OR, ATOM_XOR, ATOM_EXCH, ATOM_CAS };

/* rows[i]: the register row of element i (NULL: sink), layout as alu.h says; sub-32-bit loads are extended to the
 * row's width by the type's sign.  site: statistics of this instruction. */
int mem_load(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const uint64_t *addr, uint32_t mask,
	     void *const *rows);
int mem_store(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const uint64_t *addr, uint32_t mask,
	      const void *const *rows);
/* Atomic on op->n elements (vector atomics: each element by itself).  d may be NULL (red).  Lanes take effect in lane
 * order.  16-bit and packed types too.  cas: b compare, c new value; others: b operand. */
int mem_atomic(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const uint64_t *addr, uint32_t mask,
	       void *const *d, const void *const *b, const void *const *c_rows);

/* cp.async.{ca,cg}.shared.global: n bytes (4, 8, 16) from src to dst, src_bytes[lane] of them read, the rest zero.  Data
 * arrives when its group is waited for; until then the destination is poison for reads and a write to it is a race. */
int mem_async_copy(struct mem_ctx *c, struct mem_site *site, const uint64_t *dst, const uint64_t *src, uint32_t mask,
		   unsigned n, const uint32_t *src_bytes, unsigned flags);
void mem_async_commit(struct mem_ctx *c, uint32_t mask);
/* Wait until at most `newest` of the newest groups of each lane are pending; all: wait_all (uncommitted ones too). */
void mem_async_wait(struct mem_ctx *c, uint32_t mask, unsigned newest, bool all);

/* cp.async.bulk.shared.global of size bytes (a multiple of 16), from src to offset dst of shared memory, for the mbarrier at offset
 * object.  1: the bytes are there; 0: they are under way; -1: fault. */
int mem_bulk_copy(struct mem_ctx *c, struct mem_site *site, uint64_t dst, uint64_t src, uint32_t size, uint64_t object);
/* The other way, from offset src of shared memory: done at once. */
int mem_bulk_out(struct mem_ctx *c, struct mem_site *site, uint64_t dst, uint64_t src, uint32_t size);
bool mem_bulk_pending(const struct mem_block *b, uint64_t object);
/* All that is under way for object arrives, as writes of this warp; bytes. */
uint32_t mem_bulk_arrive(struct mem_ctx *c, uint64_t object);

/* ldmatrix / stmatrix: `count` (1, 2, 4) 8x8 matrices of 16-bit elements; addr[8*m .. 8*m+7] are the rows of matrix m. */
int mem_matrix_load(struct mem_ctx *c, struct mem_site *site, const uint64_t *addr, unsigned count, bool transpose,
		    uint32_t *const *rows);
int mem_matrix_store(struct mem_ctx *c, struct mem_site *site, const uint64_t *addr, unsigned count, bool transpose,
		     const uint32_t *const *rows);

#endif
