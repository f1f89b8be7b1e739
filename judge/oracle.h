/* Oracles: what a case's inputs are and what its outputs should be.
 *
 * A package's oracle runs as a jailed process for each case (protocol at the end of reference/problem.h).  Whatever goes
 * wrong in it is the judge's failure, ERR_SYSTEM, never the submission's: a crash, a loop, NaN, an element left unset.
 *
 * A pool runs the oracles of many cases on threads of its own, beside the compile step.
 */
#ifndef JUDGE_ORACLE_H
#define JUDGE_ORACLE_H

#include "testcase.h"

/* Open the oracle's executable: the prebuilt one where it is that of this package and not older than its source, else
 * built in a jail and kept in the user's cache.  A descriptor, or -1. */
int oracle_open(const struct problem *p, bool unsandboxed, struct err *e);

struct answer {
	void *map;			/* the case file of the protocol, mapped; the pointers below lie in it */
	size_t size;
	struct {
		const void *data;	/* inputs */
		const double *expected, *bound;	/* outputs */
	} tensors[PROBLEM_MAX_TENSORS];
	double quantization_error;	/* NaN where there is none */
};

int oracle_run(int exe_fd, const struct testcase *t, bool unsandboxed, struct answer *out, struct err *e);
/* What is expected of inputs that were changed in place: a's expected values and bounds are replaced. */
int oracle_again(int exe_fd, const struct testcase *t, bool unsandboxed, struct answer *a, struct err *e);
void answer_free(struct answer *a);
/* Bytes that the answer of a case takes. */
size_t answer_size(const struct testcase *t);

struct oracle_pool;
/* cases must stay where they are until oracle_pool_stop.  Timing cases of GPUs, which ask oracles of their own (timing.h), are left
 * out.  Answers that are not released are kept; of more than ORACLE_POOL_HELD bytes of these the pool waits to be rid. */
#define ORACLE_POOL_HELD (2ull << 30)
struct oracle_pool *oracle_pool_start(const struct problem *p, const struct testcase *cases, unsigned n, unsigned threads,
				      bool unsandboxed);
/* Wait for case i.  The answer is the pool's until released; -1 and e if its oracle failed. */
int oracle_pool_get(struct oracle_pool *pool, unsigned i, const struct answer **out, struct err *e);
void oracle_pool_release(struct oracle_pool *pool, unsigned i);
/* Cases done so far, for progress. */
unsigned oracle_pool_done(struct oracle_pool *pool);
void oracle_pool_stop(struct oracle_pool *pool);	/* also while cases are still running; NULL is fine */

#endif
