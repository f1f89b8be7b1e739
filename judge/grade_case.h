/* One case of a grading: lay out, run, check.  Used inside the grading alone: grade.c, timing.c, baseline.c. */
#ifndef JUDGE_GRADE_CASE_H
#define JUDGE_GRADE_CASE_H

#include "grade.h"
#include "oracle.h"

struct runner {
	const struct grade_options *options;
	const char *device;		/* for session_open */
	struct grading *grading;	/* other runners share it: what is written goes to the case's report */
	struct arena *arena;		/* of this runner alone; lives as long as the grading */
	struct session *session;	/* NULL: to be opened */
	struct device_kernel *kernels;	/* of the loaded image */
	unsigned n_kernels;
	unsigned deaths, kills;		/* of device processes, in a row: by themselves, and from outside */
};

int runner_open(struct runner *r, struct err *e);	/* start the device process */
int runner_load(struct runner *r, struct err *e);	/* give it the compiled image; ERR_INPUT: it refuses */
/* The same, but a device process that dies of it is started again, once: then the program is to blame, and *v and why say so. */
int runner_load_or_blame(struct runner *r, enum verdict *v, char *why, size_t size, struct err *e);
void runner_close(struct runner *r);

/* 0: *out tells how it went; -1: our own failure. */
int runner_case(struct runner *r, const struct testcase *t, const struct answer *a, struct case_report *out, struct err *e);

/* The steps of one case, and what they share. */
struct run_case {
	struct runner *runner;
	const struct testcase *t;
	const struct answer *answer;
	struct case_report *out;
	uint32_t ids[PROBLEM_MAX_TENSORS];	/* of the session, by argument */
	struct session_argument solve[PROBLEM_MAX_TENSORS], prepare[PROBLEM_MAX_TENSORS];
	struct session_run run;
};

int case_lay_out(struct run_case *c, struct err *e);		/* tensors, beside those that are there */
/* A guest; c->run is session_run_free's to free.  again: as the last one left the module's variables. */
int case_run(struct run_case *c, bool again, bool tape, struct err *e);
int case_judge(struct run_case *c, struct err *e);		/* verdict and book, to c->out */
void case_say(struct case_report *out, enum verdict v, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
