/* What a problem package's oracle.c is written against.
 *
 * A package defines generate() and expect().  The judge draws sizes and a seed for a case, lays out its tensors, and
 * runs the oracle (package's oracle.c + reference/oracle_main.c, one process a case, in a jail): generate() fills the
 * inputs, expect() fills, for every output element, the float64 value and the bound of tolerance (see bound.h).
 * Nothing here depends on the machine: the same seed gives the same bits everywhere (-ffp-contract=off, own
 * generators, no libm function whose result may differ; see random.h).
 */
#ifndef REFERENCE_PROBLEM_H
#define REFERENCE_PROBLEM_H

#include "random.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum element_type { TYPE_I8, TYPE_U8, TYPE_I16, TYPE_U16, TYPE_I32, TYPE_U32, TYPE_I64, TYPE_U64,
		    TYPE_F16, TYPE_BF16, TYPE_F32, TYPE_F64, TYPE_E4M3, TYPE_E5M2 };

enum tensor_role { ROLE_INPUT, ROLE_OUTPUT, ROLE_WORKSPACE, ROLE_SCALAR };

enum { PROBLEM_MAX_DIMS = 4, PROBLEM_MAX_TENSORS = 16, PROBLEM_MAX_PARAMS = 16, PROBLEM_NAME = 32 };

struct tensor {
	char name[PROBLEM_NAME];
	enum tensor_role role;
	enum element_type type;
	unsigned dims;
	uint64_t shape[PROBLEM_MAX_DIMS];
	uint64_t count;			/* product of shape */
	void *data;			/* inputs: generate() fills count elements; outputs: NULL */
	double *expected, *bound;	/* outputs: expect() fills count elements each; bound 0 means exact bits of value */
};

struct param {				/* sizes and scalars of the case: N, K, M, G, ... */
	char name[PROBLEM_NAME];
	int64_t value;
};

struct problem_case {
	char name[64];			/* "odd-rows" */
	char data[64];			/* the case's "data" keyword: which distribution or special design */
	bool timing;			/* a large case */
	unsigned n_params, n_tensors;
	struct param params[PROBLEM_MAX_PARAMS];
	struct tensor tensors[PROBLEM_MAX_TENSORS];
	struct random random;		/* seeded by the case's 256-bit seed */
	double quantization_error;	/* set by expect(): RMS of (y from float weights - y from stored integers) over
					 * RMS of y from float weights; NaN where the case has no float weights */
	void *package;			/* the package's own, e.g. float weights kept from generate() for expect() */
};

/* Defined by the package.  expect() is also called without generate(), for inputs that were changed meanwhile: each element is
 * then one that generate() gave at the same place of the same tensor, for one seed or another, and `package` is NULL. */
void generate(struct problem_case *c);
void expect(struct problem_case *c);

/* The value of a parameter, or the tensor of that name; an unknown name ends the oracle with a message. */
int64_t problem_param(const struct problem_case *c, const char *name);
struct tensor *problem_tensor(struct problem_case *c, const char *name);
/* true if the case's data keyword is `word`; problem_unknown_data() ends the oracle: "unknown data keyword". */
bool problem_data(const struct problem_case *c, const char *word);
_Noreturn void problem_unknown_data(const struct problem_case *c);
size_t element_size(enum element_type t);

/* The judge's side of the pipe.  The oracle is run as `oracle` with two descriptors: ORACLE_FD_CASE, a memory file of
 * struct oracle_header followed by the areas it names; it maps it shared, calls generate() and expect(), sets
 * `done`, and exits 0.  A message for a person goes to stderr with exit status 1.  Offsets are from the file's start,
 * multiples of 64, inside its size; the judge makes the layout and reads back only what it laid out. */
enum { ORACLE_FD_CASE = 3, ORACLE_MAGIC = 0x4a4f5243 /* "JORC" */ };

struct oracle_tensor {
	struct tensor tensor;		/* pointers are ignored */
	uint64_t data, expected, bound;	/* offsets; 0 where there is no such area */
};

struct oracle_header {
	uint32_t magic, done;		/* done: set to 1 by the oracle at its end */
	uint64_t size;			/* of the file */
	unsigned char seed[32];
	char name[64], data[64];
	uint32_t timing, n_params, n_tensors, given;	/* given: the inputs are filled already */
	struct param params[PROBLEM_MAX_PARAMS];
	struct oracle_tensor tensors[PROBLEM_MAX_TENSORS];
	double quantization_error;	/* out */
};

#endif
