/* What the parts of the emulated GPU's outside share: emu.c, emu_module.c, emu_launch.c, emu_report.c, sched.c. */
#ifndef PTX_EMU_INT_H
#define PTX_EMU_INT_H

#include "exec.h"

#include <pthread.h>

struct emu {
	struct profile profile;
	struct emu_options options;
	struct mem *mem;
	struct l2 *l2;
	uint64_t launches, launches_before;	/* so far; before the last reset */
	uint64_t workspace;		/* of cooperative groups' grid.sync */
	struct worker *workers;		/* options.threads of them */
	const struct program *fitted;	/* the program that the workers' arrays are made for */
	struct heap_piece { uint64_t addr, size; } *heap;	/* what device malloc gave out */
	uint64_t heap_used;
	size_t n_heap, room_heap;
};

struct shared_place { const struct ptx_var *var; uint32_t offset; };

struct emu_kernel {
	struct emu_module *module;
	const struct lowered *entry;
	struct emu_kernel_info info;
	uint32_t n_reach, *reach;	/* functions it can reach, by index */
	bool communicates, fences, uses_heap;
	uint32_t stack_bytes;
	struct shared_place *shared;
	uint32_t n_shared, dynamic_align;
};

struct emu_module {
	struct emu *emu;
	struct arena *arena;
	const struct ptx_module *ptx;
	struct program *program;
	struct emu_kernel *kernels;
	unsigned n_kernels;
	uint64_t param_address, param_bytes;	/* where the parameters of a launch lie for the kernel to see */
};

/* emu_kernel.c: everything of k but its entry and module is made. */
int kernel_prepare(struct emu_kernel *k, const struct emu_resources *r, size_t n, struct err *e);

/* sched.c: run all blocks.  The fault of the launch is in *f. */
struct totals {				/* of a launch, over host threads */
	struct counters counters;
	struct tally *tally;
	uint64_t *diverged;
	struct mem_site *sites;
};
void sched_run(struct emu *g, struct launch *l, uint32_t resident, struct totals *t, struct fault *f);
void sched_fit(struct emu *g, const struct program *p);
void sched_free(struct emu *g);

/* emu_report.c: counters of what the tallies and sites say, by line and in all. */
void report_make(const struct launch *l, const struct totals *t, struct emu_report *out);

#endif
