/* What a submission's times are compared with: the package's reference.cu and, on a GPU, an FP16 product by cuBLAS.
 *
 * Both are measured as the submission is, on this very GPU, once, and kept (kept.h); on an emulated device the reference's
 * time is modelled, each time.  That they can't be had is told by a note and never held against a submission.
 */
#ifndef JUDGE_BASELINE_H
#define JUDGE_BASELINE_H

#include "grade_case.h"

/* For each timing case of the grading that was accepted on its device: what is kept, else measured now. */
void baseline_add(const struct grade_options *o, const char *device, struct grading *g);

/* By what a time is kept.  program: hash of the reference and how it is compiled. */
void baseline_key_reference(const struct grading *g, const struct case_report *r, const char *program, char *out, size_t size);
void baseline_key_cublas(const struct device_properties *gpu, const char *version, const struct gemm_shape *s, char *out, size_t size);

#endif
