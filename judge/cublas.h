/* cuBLAS, asked in a process of its own: `judge __cublas` (sandbox/device/gemm.h). */
#ifndef JUDGE_CUBLAS_H
#define JUDGE_CUBLAS_H

#include "../sandbox/session.h"
#include "kept.h"
#include "problem.h"

struct cublas {
	char version[24], library[300];	/* "13.1.0", its path */
};

/* -1 and e: there is none, or it can't be opened; why, and what mends it. */
int cublas_find(struct cublas *out, struct err *e);

/* The time of an FP16 product on this GPU, measured as timing.h does.  Takes the GPU's lock meanwhile. */
int cublas_measure(const struct device_properties *gpu, const struct gemm_shape *s, struct kept_time *out, struct err *e);

/* Parts of the above: what the process printed.  gpu NULL: no times are there. */
int cublas_parse(const char *text, size_t size, const struct device_properties *gpu, struct cublas *c, struct kept_time *t,
		 struct err *e);

#endif
