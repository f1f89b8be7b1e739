/* Element types of tensors: names, sizes, and values as doubles.  Types are those of reference/problem.h. */
#ifndef JUDGE_ELEMENT_H
#define JUDGE_ELEMENT_H

#include "../reference/problem.h"

const char *element_name(enum element_type t);		/* "f16" */
const char *element_cuda(enum element_type t);		/* "__half" */
const char *element_header(enum element_type t);	/* "cuda_fp16.h", or NULL */
unsigned element_bytes(enum element_type t);
int element_find(const char *name, enum element_type *out);	/* -1: no such type */
const char *element_names(void);			/* "i8, u8, ...", for messages */

/* Element i of an array, exactly (but for the low bits of 64-bit integers). */
double element_value(enum element_type t, const void *data, uint64_t i);
/* How far the nearest value of the type may be from x, at the most; 0 for integers. */
double element_rounding(enum element_type t, double x);

#endif
