/* What the files of the emulated memory share: allocations, blocks, lanes of an access, shadow.  Private to mem*.c.
 *
 *	mem.c		allocations, host-side access
 *	mem_access.c	loads and stores: spaces, bounds, alignment
 *	mem_move.c	data between memory and register rows
 *	mem_pattern.c	sectors, wavefronts, conflicts
 *	mem_block.c	shared and local memory of a block, barriers and clocks
 *	mem_tags.c	shadow of shared memory
 *	mem_reads.c	reads that the shadow of shared memory need not know yet
 *	mem_lines.c	shadow of global memory
 *	mem_atomic.c, mem_async.c, mem_bulk.c, mem_matrix.c	what their names say
 *	mem_fault.c	faults in words
 */
#ifndef PTX_MEM_STATE_H
#define PTX_MEM_STATE_H

#include "mem.h"

#include <pthread.h>
#include <string.h>

/* Built for AVX2 and plain x86-64, chosen when the program starts. */
#ifdef __clang__		/* cannot clone a function that was declared before; it builds the fuzzers alone */
#define MEM_FAST
#else
#define MEM_FAST __attribute__((target_clones("avx2", "default"), no_stack_protector))
#endif
#define MEM_INLINE static inline __attribute__((always_inline))

#define ALL_LANES 0xffffffffu

enum { LANES = 32, LINE = 128, SECTOR = 32, GRANULE = 4, MAX_WARPS = 32 };

typedef unsigned __int128 u128;			/* a bit for each byte of a line */

/* ---- the device ---- */

struct mem_alloc {
	uint64_t addr, size;
	uint64_t prefix;		/* bytes from the start that are all written; beyond it the bitmap counts */
	unsigned flags;
	bool live;
	char name[32];
	_Atomic uint64_t load_bytes, store_bytes;
};

struct line;
struct lines_table;
struct clock_object;

struct mem {
	uint64_t limit, used;
	bool checks;
	unsigned char *base;		/* host address of MEM_GLOBAL_BASE */
	uint64_t room;			/* bytes reserved there */
	uint64_t top;			/* offset where the next allocation may start */
	u128 *written;			/* by line: bytes written before this launch (or so far, if it communicates) */
	struct line *lines;		/* by line: who touched it in this launch */
	pthread_rwlock_t lock;		/* of allocs */
	struct mem_alloc **allocs;	/* live and released, by address, disjoint */
	size_t n_allocs, room_allocs;
	_Atomic uint32_t version;	/* changes when an allocation dies or changes its flags */

	/* the launch */
	uint32_t launch;		/* counts them */
	bool communicates;
	uint32_t grid[3];
	pthread_mutex_t launch_lock;	/* of what follows */
	uint64_t *touched;		/* lines with a record of this launch */
	size_t n_touched, room_touched;
	uint64_t race;			/* lowest line with a race; NO_LINE: none */
};

MEM_INLINE unsigned char *mem_at(const struct mem *m, uint64_t addr)
{
	return m->base + (addr - MEM_GLOBAL_BASE);
}

/* Host address of device address 0 of a space, as a number: for global memory no object is there, so it is no pointer. */
MEM_INLINE uintptr_t mem_origin(const struct mem *m)
{
	return (uintptr_t)m->base - MEM_GLOBAL_BASE;
}

MEM_INLINE unsigned char *mem_from(uintptr_t origin, uint64_t addr)
{
	return (unsigned char *)(origin + addr);
}

/* Allocation that holds addr, live or not, or NULL; call with the lock held or no launch running. */
struct mem_alloc *mem_find(const struct mem *m, uint64_t addr);

/* The same while a launch runs. */
static inline struct mem_alloc *mem_find_running(struct mem *m, uint64_t addr)
{
	pthread_rwlock_rdlock(&m->lock);
	struct mem_alloc *a = mem_find(m, addr);
	pthread_rwlock_unlock(&m->lock);
	return a;
}

/* ---- a block ---- */

/* The allocation that an instruction used last. */
struct way {
	uint64_t lo, hi;		/* addresses lo .. hi-1 */
	uint64_t load_sectors, store_sectors;	/* not yet added to the allocation */
	struct mem_alloc *alloc;
	uint32_t version;
	bool read_only;
};

enum { WAYS = 16, PATTERNS = 32, SHAPES = 64 };

/* How all lanes of an instruction lay to each other last time: mostly they do again. */
struct shape {
	uint64_t delta[LANES];		/* address - address of the first lane */
	uint64_t lo, hi;		/* lowest and highest delta */
	uint64_t bits;			/* or of all deltas */
	uint32_t site;
	uint32_t serial;		/* of the block's shapes; 0: none yet */
	bool strided;
};

enum pattern_kind { PATTERN_NONE, SHARED_LOAD, SHARED_STORE, GLOBAL_LOAD, GLOBAL_STORE };

/* How the lanes of an access lie to each other, with what follows from it: see mem_pattern.c. */
struct pattern {
	uint32_t delta[LANES];		/* address - address of the first lane; inactive lanes 0 */
	uint32_t mask;
	uint32_t serial;		/* of the shape that has these deltas; 0: not known */
	uint8_t size, kind;		/* bytes a lane */
	uint8_t word_phase;		/* first address modulo 4; the key of what holds wherever the lanes are ends here */
	uint8_t wavefronts, conflicts;	/* of banks alone */
	uint8_t n_distinct;
	uint32_t distinct[LANES];	/* deltas, in order of the lanes */

	uint8_t phase;			/* first address modulo 128: the key of what follows */
	bool placed;			/* what follows is there */
	uint8_t all_wavefronts;		/* of banks and lines */
	uint8_t sectors, n_lines;
	int32_t line[LANES];		/* (address / 128) - (first address / 128), in order of the lanes */
	uint8_t line_sectors[LANES];
};

/* A read that was sound, and still is if it has the block's version.  lie: how its lanes lie to each other. */
enum { PROOFS = 512 };
struct proof { uint64_t lie; uint32_t base, size, version; };

struct async_queue;
struct bulk_copy;
struct cell;

struct mem_block {
	struct mem *mem;
	uint32_t shared_bytes, local_bytes, warps;
	unsigned char *shared;

	/* shadow of shared memory, by granule; NULL if checks are off: see mem_tags.c */
	uint32_t *wtag, *rtag;
	uint16_t *wsite;
	uint32_t granules;
	uint32_t gen;			/* interval between barriers of the whole block, modulo what a tag holds; never 0 */
	struct cell *cells;
	uint32_t n_cells, room_cells;
	uint32_t *cell_of;

	/* reads put off: see mem_reads.c */
	uint64_t *sound;		/* bit by line */
	uint32_t *log, n_log;
	bool puts_off;			/* in this interval, so far */
	uint32_t notes_at_once;		/* intervals yet that don't */
	struct proof proofs[PROOFS];
	uint32_t version;		/* of what is sound: changes when something stops being so */

	/* clocks: see mem_block.c */
	bool precise;			/* order since the last whole barrier is not plain */
	uint32_t epoch;			/* every warp's own clock at the start of this interval */
	uint32_t clock[MAX_WARPS][MAX_WARPS];
	struct clock_object *objects;
	uint32_t n_objects, room_objects;

	struct lines_table *table;	/* this block's view of global lines: see mem_lines.c */
	struct async_queue *async;	/* by warp */
	struct bulk_copy *bulk;		/* under way, oldest first */

	unsigned char *local;		/* by warp, 16-byte unit, lane */
	uint32_t local_units;
	uint32_t *local_dirty;		/* by warp: units used, from 0; and from the end */

	struct way ways[WAYS];
	struct shape shapes[SHAPES];	/* by site */
	uint32_t n_shapes;		/* so far */
	struct pattern patterns[PATTERNS];
};

/* ---- an access ---- */

/* The lanes of one access.  strided: address of lane i is base + i * stride for every active lane, and either all lanes
 * are active or stride is 0.  Else addr holds them; inactive lanes have the address of an active one. */
struct lanes {
	uint64_t base, stride;
	uint64_t lo, hi;		/* lowest and highest address */
	uint64_t bits;			/* or of all addresses */
	uint32_t mask;
	uint32_t size;			/* bytes a lane */
	bool strided;
	uint32_t shape;			/* serial of the shape they are in; 0: not known */
	const uint64_t *addr;
	uint64_t filled[LANES];
};

MEM_INLINE unsigned first_lane(uint32_t mask)
{
	return (unsigned)__builtin_ctz(mask);
}

MEM_INLINE uint64_t lane_address(const struct lanes *l, unsigned lane)
{
	return l->strided ? l->base + lane * l->stride : l->addr[lane];
}

/* Only to count: MATRIX, ldmatrix, whose passes are never done together; COPY, what cp.async writes. */
enum access_kind { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC, ACCESS_VOLATILE_READ, ACCESS_VOLATILE_WRITE, ACCESS_MATRIX, ACCESS_COPY };

void mem_lanes(struct lanes *l, const uint64_t *addr, uint32_t mask, uint32_t size);
/* The same for an instruction that mostly repeats its shape. */
void mem_lanes_again(struct mem_block *b, struct lanes *l, const uint64_t *addr, uint32_t mask, uint32_t size, uint32_t site);
/* Generic addresses: the window of the first lane, the lanes that are in it, and the addresses relative to it (of those
 * lanes; of others they mean nothing). */
enum ptx_space mem_window(const uint64_t *addr, uint32_t mask, uint32_t *inside, uint64_t *at);

/* Bounds and alignment.  0, or -1 with the fault.  Global: *shadow gets the lanes that are not in read-only memory. */
int mem_check_global(struct mem_ctx *c, const struct lanes *l, uint32_t site, bool write, uint32_t *shadow);
int mem_check_shared(struct mem_ctx *c, struct lanes *l, bool write);
int mem_check_local(struct mem_ctx *c, struct lanes *l, bool write);

/* ---- counting ---- */

void mem_count_global(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, uint32_t site, enum access_kind k,
		      unsigned flags);
void mem_count_shared(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, uint32_t site, enum access_kind k);
void mem_count_local(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, bool write);
/* A load of all lanes from the allocation that the instruction used last, at one address or side by side. */
void mem_count_run(struct mem_ctx *c, struct mem_site *s, const struct lanes *l, const struct mem_op *op);
/* Whether lanes share bytes. */
bool mem_overlap(const struct lanes *l);

/* ---- moving ---- */

/* memory: the space's origin, see mem_origin.  bytes, n, wide, type as in struct mem_op. */
void mem_move_in(const struct lanes *l, uintptr_t memory, const struct mem_op *op, void *const *rows);
/* A load of all lanes at p + stride * lane, stride being 0 or the size of a lane.  False: not a shape it knows. */
bool mem_move_run(const unsigned char *p, uint64_t stride, const struct mem_op *op, void *const *rows);
void mem_move_out(const struct lanes *l, uintptr_t memory, const struct mem_op *op, const void *const *rows);
/* The bytes that the lanes store, op->bytes * op->n apart; inactive lanes' are undefined. */
void mem_gather(const struct mem_op *op, uint32_t mask, const void *const *rows, unsigned char *out);

/* ---- shadow ---- */

/* What a store is about to write. */
struct stored {
	const struct mem_op *op;
	const void *const *rows;
};

/* Check an access and note it.  s: of stores; NULL for all else.  0, or -1 with the fault. */
int mem_tags_access(struct mem_ctx *c, const struct lanes *l, uint32_t site, enum access_kind k, const struct stored *s);
/* The same for the tags alone: of a read the log is not asked. */
int mem_tags_note(struct mem_ctx *c, const struct lanes *l, uint32_t site, enum access_kind k, const struct stored *s);
bool mem_tags_new(struct mem_block *b);		/* false: out of memory */
void mem_tags_free(struct mem_block *b);
void mem_tags_reset(struct mem_block *b);
void mem_tags_new_interval(struct mem_block *b);
/* cp.async: 16 bytes or less of one lane begin to arrive; have arrived. */
int mem_tags_async_begin(struct mem_ctx *c, const struct lanes *l, uint32_t site);
void mem_tags_async_end(struct mem_block *b, uint32_t warp, uint64_t at, uint32_t bytes, uint32_t site);

/* Of a write tag, for mem_reads.c; the rest is mem_tags.c's. */
enum { TAG_INIT = 0xf, TAG_POISON = 1 << 8, TAG_COMPLEX = 1 << 9 };

/* Not 0: bytes of the word were never written, a cp.async is on its way to it, or it needs a closer look. */
MEM_INLINE uint32_t mem_tags_unsound(uint32_t wtag)
{
	return (wtag ^ TAG_INIT) & (TAG_INIT | TAG_POISON | TAG_COMPLEX);
}

bool mem_reads_new(struct mem_block *b);	/* false: out of memory */
void mem_reads_free(struct mem_block *b);
void mem_reads_reset(struct mem_block *b);
void mem_reads_new_interval(struct mem_block *b);
/* A plain read, while b->puts_off: 0, or -1 with the fault. */
int mem_reads_access(struct mem_ctx *c, const struct lanes *l, uint32_t site);
/* Before anything that is no plain read, and before order stops being plain: the tags get to know what was put off. */
void mem_reads_settle(struct mem_block *b);
/* Word g is not sound any more. */
MEM_INLINE void mem_reads_unsound(struct mem_block *b, uint32_t g)
{
	uint64_t line = g / (LINE / GRANULE);
	b->sound[line / 64] &= ~(1ull << line % 64);
	b->version++;
}

int mem_lines_access(struct mem_ctx *c, const struct lanes *l, uint32_t shadow, uint32_t site, enum access_kind k,
		     const struct stored *s);
/* The block has run: tell its accesses to the launch's book of lines. */
void mem_lines_merge(struct mem_block *b);
void mem_lines_free(struct mem_block *b);
size_t mem_line_bytes(void);

void mem_flush_ways(struct mem_block *b);
void mem_async_reset(struct mem_block *b);
void mem_bulk_reset(struct mem_block *b);
bool mem_bulk_covers(const struct mem_block *b, uint64_t at);	/* a bulk copy is on its way there */

/* Warp's own clock. */
MEM_INLINE uint32_t mem_epoch(const struct mem_block *b, uint32_t warp)
{
	return b->precise ? b->clock[warp][warp] : b->epoch;
}

/* Is what warp `other` did at its time `epoch` ordered before what warp `me` does now? */
MEM_INLINE bool mem_ordered(const struct mem_block *b, uint32_t me, uint32_t other, uint32_t epoch)
{
	return b->precise ? epoch <= b->clock[me][other] : epoch < b->epoch;
}

/* Site of an access that carries no struct mem_op. */
MEM_INLINE uint32_t mem_site_index(const struct mem_ctx *c, const struct mem_site *s)
{
	return c->sites ? (uint32_t)(s - c->sites) : MEM_NO_SITE;
}

#define NO_LINE UINT64_MAX

/* Bits lo .. hi-1 of a line. */
MEM_INLINE u128 line_bits(uint64_t lo, uint64_t hi)
{
	u128 upto = hi >= LINE ? ~(u128)0 : ((u128)1 << hi) - 1;
	return upto & ~(((u128)1 << lo) - 1);
}

MEM_INLINE unsigned first_bit(u128 mask)
{
	uint64_t low = (uint64_t)mask;
	return low ? (unsigned)__builtin_ctzll(low) : 64 + (unsigned)__builtin_ctzll((uint64_t)(mask >> 64));
}

/* ---- faults ---- */

/* Fills c->fault for the thread of `lane` and returns -1. */
int mem_fault(struct mem_ctx *c, enum fault_kind kind, unsigned lane, uint64_t addr, uint32_t bytes, const char *fmt, ...)
	__attribute__((format(printf, 6, 7)));
/* Two lanes of a store write different values to one address: 0, or -1 with the fault.  where: "shared memory". */
int mem_check_agree(struct mem_ctx *c, const struct lanes *l, enum fault_kind kind, uint32_t site, const struct stored *s);
/* "wrote", "read": what an access of this kind did. */
const char *mem_deed(enum access_kind k);
/* "y (1028 bytes)" or "an allocation of 1028 bytes" */
const char *mem_alloc_text(const struct mem_alloc *a, char *text, size_t size);

#endif
