/* Instruction forms and their operands: the same kernels and inputs for the GPU that makes golden data and for the
 * emulator that is held against it.
 *
 * forms.txt has a form a line:   D=r A=r:i B=r:i ; <add|sub>.<s32|u32> D, A, B;
 * Before the `;`: destinations D, E, F, G and sources A, B, C, H.. with a register kind (p pred, h 16 bit, r 32 bit,
 * l 64 bit) and, for sources, a pool of values.  `tol=N` allows N units in the last place of the destination's float
 * type; `ftype=` names it (f32 unless said).  `arch=90a` etc. where sm_90 is not enough.
 * After it: the instruction; <x|y|z> stands for each alternative in turn.  Scratch registers: %q (pred), %t (b32).
 */
#ifndef TESTS_FORMS_H
#define TESTS_FORMS_H

#include "sandbox/base/arena.h"
#include "sandbox/base/err.h"

#include <stddef.h>
#include <stdint.h>

enum { FORM_THREADS = 256, FORM_MAX_OPERANDS = 16 };

struct form_operand {
	char name, kind;		/* 'A', 'r' */
	char pool[8];			/* sources */
};

struct form {
	const char *text;		/* the instruction */
	const char *line;		/* as expanded, with operands: its identity */
	unsigned n_out, n_in;
	struct form_operand out[8], in[FORM_MAX_OPERANDS];
	double tolerance;		/* ulp */
	char ftype[8];
	uint64_t hash;			/* of `line` */
};

/* Read and expand a forms file.  0, or -1 and e with the line. */
int forms_read(const char *path, struct arena *a, struct form **out, size_t *n, struct err *e);
/* A PTX module with entry `form`(.u64 in, .u64 out): thread t reads in[i * FORM_THREADS + t] for source i (8 bytes
 * each) and writes out[j * FORM_THREADS + t] for destination j. */
char *form_ptx(const struct form *f, struct arena *a);
/* n_in * FORM_THREADS values. */
uint64_t *form_inputs(const struct form *f, struct arena *a);

#endif
