/* A problem package: a folder with problem.json, statements, starter, oracle and sample submissions.
 *
 * problem.json, field by field (all are required but those marked ?; no other is allowed):
 *
 *	format		1
 *	id		the folder's name: small letters, digits, "-"
 *	title		{"en": "...", "zh"?: "..."}
 *	difficulty	"easy", "medium", "hard"
 *	tags		list of words
 *	teaches ?	{"en": a sentence, "zh"?: the same}: what one can do after it
 *	needs ?		ids of problems to be solved first, at most 8; they need not be installed
 *	entry		"solve"
 *	arguments	of solve, in order: {"name", "role": "input" | "output" | "workspace" | "scalar", "type", "shape"}
 *			shape: list of up to 4 size expressions (sizes.h); a scalar (i32, i64) has none: it is the size of its name
 *	prepare ?	names of the arguments of `extern "C" void prepare(...)`, in order; inputs and workspaces and scalars
 *	sizes ?		names of further sizes that cases give to the oracle, besides those in shapes and scalars
 *	cases		{"name", "visible"?: false, "data"?: "normal", SIZE: value ...}; value: a number, a list to choose from,
 *			or {"from", "to", "multiple"?: 1}
 *	timing		{"name", "device": "gpu" | "emulated", "data"?: "normal", SIZE: number ...}
 *	baseline ?	{"gemm": "f16", "M", "N", "K": expressions}: the product C[M, N] = A[M, K] W[N, K]^T that times on a GPU are
 *			compared with, in FP16 by cuBLAS
 *	work		{"bytes": "auto" | expression, "flops": expression, "unit": "fp32" | "fp16" | "tensor_f16" | "tensor_i8"}
 *	rules		{"max_launches": null | number, "scratch_bytes": null | number or expression,
 *			 "max_intermediate_bytes"?: the same, "max_weight_passes"?: null | {INPUT: number of times it may be read}}
 *	score		{"correct", "efficiency", "full_at", "tiers": {"bronze", "silver", "gold"}}
 *	limits ?	{"seconds"?: wall time of one case, "memory_mib"?: of the host program,
 *			 "million_instructions"?: of a warp, of one launch on the emulated GPU,
 *			 "compile_seconds"?, "compile_mib"?: of the compiler}
 */
#ifndef JUDGE_PROBLEM_H
#define JUDGE_PROBLEM_H

#include "../sandbox/base/arena.h"
#include "../sandbox/base/buf.h"
#include "sizes.h"

struct argument {
	char name[PROBLEM_NAME];
	enum tensor_role role;
	enum element_type type;
	unsigned dims;
	const char *shape[PROBLEM_MAX_DIMS];
};

struct case_spec {
	char name[64], data[64];
	bool visible, timing, gpu;	/* gpu: a timing case for real GPUs, else for the emulated one */
	unsigned n_sizes;
	struct size_draw sizes[PROBLEM_MAX_PARAMS];
};

enum { TIER_NONE, TIER_BRONZE, TIER_SILVER, TIER_GOLD, TIERS };
const char *tier_name(int tier);

struct gemm_shape {
	int64_t m, n, k;
};

struct problem {
	struct arena *arena;
	char id[64], folder[500], version[33];	/* version: hash of problem.json and oracle.c, hexadecimal */
	const char *title, *title_zh;	/* title_zh: NULL if there is none */
	const char *difficulty;
	const char **tags;
	unsigned n_tags, n_needs;
	const char *teaches, *teaches_zh;	/* NULL if there is none */
	const char **needs;
	unsigned n_arguments, n_prepare;
	struct argument arguments[PROBLEM_MAX_TENSORS];
	unsigned prepare[PROBLEM_MAX_TENSORS];	/* indices into arguments */
	unsigned n_names;		/* every size that a case must give */
	char names[PROBLEM_MAX_PARAMS][PROBLEM_NAME];
	unsigned n_cases;		/* cases, then timing cases */
	struct case_spec *cases;
	const char *gemm[3];		/* M, N, K of the product to compare with; NULL: there is none */
	const char *bytes, *flops, *unit;	/* bytes: NULL for auto */
	int64_t max_launches;		/* -1: any number */
	const char *scratch_bytes, *max_intermediate_bytes;	/* NULL: any size */
	double max_passes[PROBLEM_MAX_TENSORS];	/* of each argument: how often it may be read; 0: any number of times */
	double score_correct, score_efficiency, full_at, tiers[TIERS];
	double seconds, compile_seconds;	/* the latter: processor time of each step of the compiler */
	uint64_t memory, instructions, compile_memory;
};

/* Is it made as an id is?  Small letters, digits and "-", below 64 bytes. */
bool problem_is_id(const char *s);
/* From a folder.  NULL and e: file, field, what is wrong, what would be right. */
struct problem *problem_open(const char *folder, struct err *e);
/* By id among the judge's problems, or by a path (it has a slash).  Unknown: e suggests the nearest. */
struct problem *problem_find(const char *id, struct err *e);
void problem_close(struct problem *p);
void problem_closep(struct problem **p);
/* The ids of all packages, sorted; memory from a. */
int problem_ids(struct arena *a, const char *const **ids, size_t *n, struct err *e);

/* Includes and prototypes that are put before a submission. */
void problem_prelude(const struct problem *p, struct buf *out);
/* `extern "C" void solve(const uint32_t *Wq, ...)`, for messages. */
void problem_prototype(const struct problem *p, bool prepare, struct buf *out);
/* "easy", or in Chinese. */
const char *problem_difficulty(const struct problem *p, const char *lang);
/* The product to compare with, which the problem has, at these sizes.  e: "K: K/7: 256 is not a multiple of 7". */
int problem_gemm(const struct problem *p, const struct sizes *sizes, struct gemm_shape *out, struct err *e);
/* A file of the package ("statement.en.md", "starter.cu"). */
int problem_file(const struct problem *p, const char *name, struct buf *out, struct err *e);

#endif
