/* A case made concrete: its sizes drawn, its tensors laid out, its seed fixed. */
#ifndef JUDGE_TESTCASE_H
#define JUDGE_TESTCASE_H

#include "problem.h"
#include "seed.h"

struct testcase_tensor {		/* of argument i of the problem */
	uint64_t shape[PROBLEM_MAX_DIMS], count, bytes;	/* scalar: count 0 */
	int64_t scalar;
};

struct testcase {
	const struct problem *problem;
	const struct case_spec *spec;
	struct sizes sizes;
	struct testcase_tensor tensors[PROBLEM_MAX_TENSORS];
	unsigned char seed[SEED_BYTES];
	unsigned oracle_ms;		/* processor time that its oracle may take; 0: a minute */
};

enum { TESTCASE_MAX_MIB = 4096 };	/* all tensors of a case together */

/* e: "problem int4-gemv, case odd-rows: shape of Wq: K/8: 100 is not a multiple of 8". */
int testcase_make(const struct problem *p, const struct case_spec *spec, const struct secret *s, const char *judging,
		  struct testcase *out, struct err *e);
/* The same with these sizes, all that the case has; NULL: drawn. */
int testcase_make_sized(const struct problem *p, const struct case_spec *spec, const struct sizes *sizes, const struct secret *s,
			const char *judging, struct testcase *out, struct err *e);
/* Compulsory work: bytes (each input read once, each output written once, unless the problem says otherwise), flops. */
int testcase_work(const struct testcase *t, double *bytes, double *flops, struct err *e);

/* Bytes of all outputs together. */
uint64_t testcase_outputs(const struct testcase *t);

#endif
