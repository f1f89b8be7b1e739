/* The memory hierarchy and time of the emulated GPU: deterministic caches, occupancy, modelled time.
 *
 * L1 is modelled in two steps.  While a block runs it has its share of the SM's cache (what shared memory of the
 * resident blocks leaves, divided by them), so that what it finds depends on nothing but the block.  Sectors that miss
 * go to a trace; after a wave of blocks the traces are replayed in a canonical interleaving (round robin, 64 entries a
 * turn, by block id; block i of the wave is on SM i mod SMs) through the cache of each SM, where blocks find what their
 * neighbours loaded, and into L2.  So counts are the same for any number of host threads.  L2 is sectored (128-byte
 * lines, 32-byte sectors), set-associative, LRU, write-back; what misses there is DRAM traffic.
 */
#ifndef PTX_MODEL_H
#define PTX_MODEL_H

#include "../counters.h"
#include "profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- L1 and the trace of what passes it ---- */

enum trace_kind { TRACE_READ, TRACE_WRITE, TRACE_ATOMIC /* read-modify-write in L2 */, TRACE_READ_PAST_L1 };

struct trace_entry {
	uint64_t line;			/* address / 128 */
	uint8_t sectors;		/* bits 0..3 */
	uint8_t write;			/* enum trace_kind */
	uint8_t pad[2];
	uint32_t request;		/* number of the warp-level load */
};

struct trace {
	struct trace_entry *entries;
	size_t n, room;
	uint32_t request;		/* replay: the load it is at, and how far that had to go */
	uint8_t reached;
};

struct l1;
struct l1 *l1_new(void);
void l1_free(struct l1 *l);
/* Empty it for a block that has `bytes` of cache, and send its misses to t. */
void l1_begin(struct l1 *l, uint32_t bytes, struct trace *t);
/* The loads that follow are those of one warp-level request. */
void l1_request(struct l1 *l);
/* A load of `sectors` of a line.  allocate: false for .cg and no_allocate (goes straight to L2).  Returns the sectors
 * that hit. */
unsigned l1_load(struct l1 *l, uint64_t line, unsigned sectors, bool allocate);
/* Stores write through and do not allocate; they update lines that are there. */
void l1_store(struct l1 *l, uint64_t line, unsigned sectors);
void l1_atomic(struct l1 *l, uint64_t line, unsigned sectors);	/* at L2: invalidates the line here */
/* The same without a trace: which sectors are there; now all are. */
unsigned l1_look(struct l1 *l, uint64_t line, unsigned sectors);
void l1_forget(struct l1 *l, uint64_t line, unsigned sectors);
void l1_prefetch(const struct l1 *l, uint64_t line);	/* the host fetches what a look at the line will need */

struct l2;
struct l2 *l2_new(const struct profile *p);
void l2_free(struct l2 *l);
void l2_flush(struct l2 *l);		/* cold cache: nothing in it, nothing dirty */
/* A launch begins: the L1 of each SM is empty, and has l1_bytes (occupancy.l1_bytes_per_sm). */
void l2_begin(struct l2 *l, uint32_t l1_bytes);
/* Replay the traces of n blocks (one wave) and count what neighbours had in L1, what is asked of L2 and DRAM; traces are
 * emptied. */
void l2_replay(struct l2 *l, struct trace *const *traces, unsigned n, struct counters *c);
/* Write back all that is dirty: counts dram_write_bytes. */
void l2_write_back(struct l2 *l, struct counters *c);

/* ---- occupancy ---- */

enum limiter { LIMIT_NONE, LIMIT_LAUNCH, LIMIT_DRAM, LIMIT_L2, LIMIT_L1, LIMIT_SHARED, LIMIT_CONSTANT, LIMIT_ISSUE, LIMIT_FP32, LIMIT_FP16,
	       LIMIT_FP64, LIMIT_INT, LIMIT_CONVERT, LIMIT_SFU, LIMIT_TENSOR, LIMIT_LATENCY };
const char *limiter_name(enum limiter l);	/* "DRAM bandwidth", "memory latency (too few bytes in flight)" */

struct occupancy {
	uint32_t blocks_per_sm, warps_per_sm;	/* 0 blocks: the launch is impossible, `limit` says what */
	uint32_t shared_per_block;		/* with the driver's reserved part */
	uint32_t l1_bytes_per_block;		/* cache share, for l1_begin */
	uint32_t l1_bytes_per_sm;		/* for l2_begin */
	const char *limit;			/* "registers", "shared memory", "threads", "blocks", "registers per thread" */
};
struct launch_shape {
	uint32_t grid[3], block[3];
	uint32_t registers, shared_static, shared_dynamic;
};
void occupancy_of(const struct profile *p, const struct launch_shape *s, struct occupancy *out);

/* ---- time ---- */

/* What the time of a launch is made of, in microseconds; how they combine: model.c.  latency_us: what the warps of each
 * wave wait, one wave after another. */
struct modelled {
	double time_us, launch_us, dram_us, l2_us, l1_us, shared_us, issue_us, pipe_us, latency_us;
	double tail;			/* >= 1 */
	double occupancy;		/* resident warps / maximum, averaged over waves */
	enum limiter limiter;
};
void model_time(const struct profile *p, const struct launch_shape *s, const struct occupancy *o,
		const struct counters *c, struct modelled *out);

/* Roofline floor of a problem: max(bytes / DRAM bandwidth, flops / rate of unit), microseconds. */
double model_floor_us(const struct profile *p, double bytes, double flops, const char *unit /* "fp32", "fp16", "tensor_f16", "tensor_i8" */);

#endif
