/* The book of a run: what its launches cost, which is what these exercises are about. */
#ifndef JUDGE_BOOK_H
#define JUDGE_BOOK_H

#include "../sandbox/session.h"
#include "testcase.h"

struct kernel_book {			/* all launches of one kernel in a run */
	char name[128];
	bool prepare;			/* launched by prepare(): not timed */
	unsigned launches;
	struct counters counters;
	double time_us;
	struct modelled modelled;	/* of its slowest launch */
	uint32_t grid[3], block[3], shared_dynamic;	/* of the slowest launch */
	uint32_t warps_per_sm;
	char occupancy_limit[32];
	uint32_t registers, shared_static, local_bytes;
};

enum { BOOK_KERNELS = 32 };

struct book {
	unsigned launches;		/* of solve() */
	double time_us;			/* modelled time of these, and of copies and fills */
	char weights[PROBLEM_NAME];	/* the input that is largest in the timing case */
	uint64_t weight_bytes;
	double weight_passes;		/* bytes loaded from it / its size */
	uint64_t intermediate_bytes;	/* stored to memory that is no output */
	uint64_t scratch_bytes, host_copy_bytes;
	uint64_t syncs;
	struct counters counters;	/* of solve()'s launches */
	double sectors_per_request, store_sectors_per_request;	/* NaN without requests */
	double load_efficiency;		/* bytes asked for / bytes of the sectors loaded; NaN without loads */
	uint64_t shared_conflicts, shared_wavefronts;
	enum limiter limiter;		/* of the kernel that takes longest */
	double occupancy;
	unsigned n_kernels;
	struct kernel_book kernels[BOOK_KERNELS];	/* longest first; prepare()'s last */
};

/* kernels: by session_kernel's index.  t: NULL for a whole program, which has no tensors and no weights. */
void book_keep(const struct testcase *t, const struct session_run *r, const struct device_kernel *kernels, unsigned n_kernels,
	       struct book *out);

#endif
