/* One case of a grading: lay out, run, check.  Used by grade.c alone. */
#ifndef JUDGE_GRADE_CASE_H
#define JUDGE_GRADE_CASE_H

#include "grade.h"
#include "oracle.h"

struct runner {
	const struct grade_options *options;
	struct grading *grading;	/* other runners share it: what is written goes to the case's report */
	struct arena *arena;		/* of this runner alone; lives as long as the grading */
	struct session *session;	/* NULL: to be opened */
	struct device_kernel *kernels;	/* of the loaded image */
	unsigned n_kernels;
	unsigned deaths;		/* of device processes, in a row */
};

int runner_open(struct runner *r, struct err *e);	/* start the device process */
int runner_load(struct runner *r, struct err *e);	/* give it the compiled image; ERR_INPUT: it refuses */
void runner_close(struct runner *r);

/* 0: *out tells how it went; -1: our own failure. */
int runner_case(struct runner *r, const struct testcase *t, const struct answer *a, struct case_report *out, struct err *e);

#endif
