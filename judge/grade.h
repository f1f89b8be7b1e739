/* Grading one submission: compile, samples, hidden cases, timing cases, score.
 *
 * Theory of operation.  Three things start at once: nvcc (in its jail, on a thread), the device processes, and the
 * oracles of all cases (a pool of threads, one jailed process a case).  Then the cases run, each with a fresh guest:
 * samples, hidden cases, and, only if all were right, the timing cases, which are checked like any other.  Samples and
 * hidden cases go to two device processes at once, since starting a guest is mostly waiting; a case's result does not
 * depend on its neighbours.  Timing cases have the machine to themselves.
 *
 * The first case, in order, that is not accepted gives the verdict; but a broken rule (RV, rules.h) gives way to whatever else is
 * wrong, and is told by the emulated timing case, which runs for it as well.  A case whose program would not end (TLE, DL) stops
 * the run, as the next would be no better: those after it count as not run, whether they were or not.  After any other
 * the rest still run, for the table.
 *
 * With a GPU, samples and hidden cases run on the emulated device first: it finds races, wild and uninitialised reads with
 * their place, which hardware does not, and what it rejects never reaches the GPU.  Then the same cases run on the GPU, the
 * emulated timing case gives the book (what was read, how often, with what conflicts), and the GPU's is timed (timing.h).  Code
 * that only the hardware knows (wgmma, tensor maps) skips the emulated device, which the report says.
 *
 * What was timed on the GPU is then compared with the package's reference.cu and with cuBLAS (baseline.h); on the emulated device
 * with the former, where a profile is asked for.
 *
 * A device process that dies is started again and the case repeated, once; if it dies again the program is at fault.
 */
#ifndef JUDGE_GRADE_H
#define JUDGE_GRADE_H

#include "../sandbox/compile.h"
#include "../sandbox/ptx/profile.h"
#include "book.h"
#include "calibration.h"
#include "check.h"
#include "kept.h"
#include "pattern.h"
#include "seed.h"
#include "verdict.h"

struct progress;
struct oracle_pool;
struct sanitizer_report;
struct ncu_counts;
struct device_choice;
struct advice;

/* How much of a problem is graded: only GRADE_ALL has a score. */
enum grade_scope {
	GRADE_ALL,
	GRADE_UNTIMED,			/* no timing cases */
	GRADE_SAMPLES,			/* only visible cases */
};

struct grade_options {
	const struct problem *problem;
	const char *name;		/* of the submission, for messages */
	const char *source;
	size_t size;
	struct device_choice *device;	/* its session, if open, is taken */
	struct secret secret;
	const char *judging;		/* "local", or the number of a judging */
	unsigned threads;		/* 0: as many as cores */
	enum grade_scope scope;
	bool profile_lines, unsandboxed;
	bool gpu_only;			/* with a GPU: leave out the emulated device */
	bool sanitize;			/* with a GPU: small cases again under compute-sanitizer (sanitize.h) */
	struct progress *progress;	/* or NULL */
	/* Of many programs for one problem, as a package's check grades them: */
	bool brief;			/* the first case that is not accepted ends the run; times are compared with nothing */
	struct oracle_pool *answers;	/* of all cases of the problem, in their order, drawn with this secret; NULL: they are asked for */
	enum compile_parts parts;	/* of grade_compile: not all, if the caller has the guest of the same host code */
	const struct compiled *compiled;	/* the source, compiled by grade_compile; NULL: to be compiled */
};

struct wrong_element {
	char tensor[PROBLEM_NAME];
	struct check_element element;
	bool unwritten;			/* got is what the judge put there */
};

struct timing {				/* of a timing case on a GPU; times of one solve() */
	unsigned sets, passes;		/* input sets in turn; passes over all of them */
	double low_us, high_us;		/* 95% confidence interval of the median, which is the book's time */
	double spread;			/* (95th - 5th percentile) / median */
	double cold_us;			/* one solve() alone, by events around it */
	struct device_clocks before, after;
	bool disturbed;			/* throttled, or not steady, also when it was measured again */
};

struct case_report {
	const struct case_spec *spec;
	const char *stage;		/* "samples", "hidden cases", "timing", ... */
	bool gpu;			/* ran on the GPU */
	struct sizes sizes;
	enum verdict verdict;		/* NONE: not run */
	char why[700];			/* one sentence, empty where accepted; reveals no values of hidden cases */
	char note[500];			/* of a run that is right all the same: a CUDA call that failed, unheeded */
	struct fault fault;
	double error_ratio;		/* largest of all outputs; NaN: not compared */
	double bound_use;		/* the same without the rounding of outputs (check_use) */
	double quantization_error;	/* NaN: none */
	uint64_t wrong, elements;
	unsigned n_wrong;		/* visible cases only */
	struct wrong_element worst[CHECK_WORST];
	struct pattern pattern;		/* of the first output that is wrong */
	const char *printed;		/* device printf and host output, visible cases only; NULL: none */
	struct book book;
	bool ran;			/* the book is of a run */
	uint64_t host_memory;		/* bytes, of solve()'s process at the most */
	struct device_line *lines;	/* counters by source line, where asked for */
	unsigned n_lines;
	double bytes, flops, floor_us, efficiency;	/* timing cases; bytes, flops: that nobody can avoid */
	struct timing timing;		/* with gpu */
	struct kept_time reference, cublas;	/* what the time is compared with (baseline.h); cublas: with gpu */
	bool impossible;
};

enum { GRADE_LANES = 2 };

struct grading {
	struct arena *arena, *lanes[GRADE_LANES];	/* lanes: memory of each device process's reports */
	const struct problem *problem;
	const char *name, *source;
	size_t size;
	struct profile device;
	struct device_properties gpu;	/* with a GPU, as is its calibration, which floors are made of */
	struct calibration calibration;
	bool modelled;			/* false: on a GPU, after the same cases on the emulated one */
	char cublas[24];		/* its version, if the times are compared with it; "" if not */
	char reference_note[300], cublas_note[300];	/* why they are not compared with these; "" if they are, or need not be */
	char not_emulated[300];		/* why the emulated device could not check it first; "" if it could */
	char seed[SEED_HEX + 1];
	enum verdict verdict;
	char why[1000];
	const struct case_report *decisive;	/* the case that gave the verdict; NULL: none did */
	struct compiled compiled;	/* its guest is closed */
	struct case_report *cases;
	unsigned n_cases, n_timing;	/* timing cases are the last of them */
	enum grade_scope scope;
	double score, efficiency, time_us;	/* efficiency, time_us: NaN if not timed */
	int tier;
	struct sanitizer_report *sanitizer;	/* NULL: not asked for */
	struct ncu_counts *hardware;	/* of the shown case's launches on the GPU; NULL: not asked for */
	const struct case_report *shown;	/* whose book the report shows; NULL: nothing ran */
	bool unsandboxed;		/* without jails: of one's own code, and a result to be trusted as that code is */
	uint64_t host_memory;		/* bytes, the most that solve() took on the host in any case; 0: the host can't tell */
	const struct advice *advice;	/* of a report that was read (report_read.h); NULL: drawn from the rest */
	double seconds;			/* wall time of the whole */
};

/* 0: graded; g's memory is its arena, freed by grading_free.  -1 and e: the judge's own failure, or (ERR_INPUT) an option
 * that is wrong. */
int grade(const struct grade_options *o, struct grading *g, struct err *e);
/* The compile step alone; out's memory is in a, to be closed by compiled_close. */
int grade_compile(const struct grade_options *o, struct arena *a, struct compiled *out, struct err *e);
void grading_free(struct grading *g);

#endif
