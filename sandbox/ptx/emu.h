/* The emulated GPU: loads PTX, owns memory, launches kernels on host threads, reports counters and faults.
 *
 * Results, counters and faults are bit-identical from run to run and for any number of host threads: blocks that
 * cannot talk to each other run side by side; a kernel with global atomics that return values, float atomics, fences
 * or cooperative sync runs its blocks on one host thread, time-sliced in canonical order.
 */
#ifndef PTX_EMU_H
#define PTX_EMU_H

#include "../base/err.h"
#include "../fault.h"
#include "../counters.h"
#include "model.h"
#include "mem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emu;
struct emu_module;
struct emu_kernel;

struct emu_options {
	unsigned threads;		/* host threads; 0: as many as cores */
	uint64_t memory;		/* limit of device memory, bytes */
	uint64_t budget;		/* warp-instructions of one launch; more is fault BUDGET; 0: 20e9.  What is seen to
					 * have no end is fault ENDLESS before: see endless.h */
	bool checks;			/* shadow checks on */
	/* device printf and assert text; NULL: dropped.  Called from the launching thread only. */
	void (*print)(void *user, const char *text, size_t size);
	void *user;
};

struct emu *emu_open(const struct profile *p, const struct emu_options *o, struct err *e);
void emu_close(struct emu *g);
const struct profile *emu_profile(const struct emu *g);
struct mem *emu_mem(struct emu *g);		/* for allocation, copies and marks: see mem.h */

/* What ptxas said of a kernel (registers, static shared memory, spills); a kernel that is not named gets figures
 * computed from its PTX. */
struct emu_resources { const char *name; int registers, shared, stack, spill_store, spill_load; };

/* Parse, check every reachable instruction, lower.  NULL and e (ERR_INPUT): an instruction that is not implemented
 * ("gemv.cu:12: tcgen05.mma is not supported by the emulated device") or bad PTX. */
struct emu_module *emu_load(struct emu *g, const char *ptx, size_t size, const struct emu_resources *r, size_t n,
			    struct err *e);
void emu_unload(struct emu *g, struct emu_module *m);

enum { EMU_KERNELS_MAX = 4096 };	/* of a module */
unsigned emu_kernel_count(const struct emu_module *m);
const struct emu_kernel *emu_kernel_at(const struct emu_module *m, unsigned i);
const struct emu_kernel *emu_kernel_find(const struct emu_module *m, const char *mangled);

struct emu_kernel_info {
	const char *name;			/* mangled */
	char pretty[128];			/* demangled, without parameters where that is unambiguous: "gemv" */
	unsigned n_params;
	const struct emu_param { uint32_t offset, size; } *params;
	uint32_t param_bytes;
	uint32_t registers, shared_static, local_bytes, max_threads;
};
void emu_kernel_info(const struct emu_kernel *k, struct emu_kernel_info *out);

/* A module-scope variable (cudaMemcpyToSymbol): 0, or -1 if there is none. */
int emu_symbol(const struct emu_module *m, const char *name, uint64_t *addr, uint64_t *size);
/* As if just opened, and m (NULL: nothing) just loaded: all memory is released, module variables have their first values,
 * caches are cold.  What is allocated from here on lies where it would on a new device: where things lie decides which of
 * them share a set of a cache, so counts must not depend on what ran before. */
void emu_reset(struct emu *g, struct emu_module *m);

struct emu_launch {
	const struct emu_kernel *kernel;
	uint32_t grid[3], block[3];
	uint32_t shared_dynamic;
	const void *params;			/* param_bytes bytes, laid out as emu_kernel_info says */
	bool cooperative;
};

struct emu_line {				/* counters of one source line */
	const char *file;			/* owned by the module */
	uint32_t line;
	struct counters counters;		/* instructions, lanes, requests, sectors, wavefronts, conflicts, pipes */
};

struct emu_report {
	struct fault fault;			/* kind NONE: all well; counters hold what was done until then */
	struct counters counters;
	struct occupancy occupancy;
	struct modelled modelled;
	struct emu_line *lines;			/* malloc'd, sorted by file and line; freed by emu_report_free */
	size_t n_lines;
};

/* Run to the end.  0: ran (a fault is in the report).  -1 and e: the judge's own failure. */
int emu_launch(struct emu *g, const struct emu_launch *l, struct emu_report *out, struct err *e);
void emu_report_free(struct emu_report *r);
/* Cold caches, as before each timed kernel of a new input set. */
void emu_flush_caches(struct emu *g);
/* Highest number of blocks that can be resident at once per SM, for the occupancy API. */
uint32_t emu_occupancy(const struct emu *g, const struct emu_kernel *k, uint32_t threads, uint32_t shared_dynamic);

#endif
