/* Elements of a tensor as doubles: loads are exact, stores round once to the nearest value of the type. */
#ifndef REFERENCE_ELEMENT_H
#define REFERENCE_ELEMENT_H

#include "problem.h"

/* TYPE_F16, TYPE_BF16, TYPE_F32 or TYPE_F64, elements first .. first + count - 1 of t's data. */
void element_load(const struct tensor *t, size_t first, size_t count, double *out);
void element_store(struct tensor *t, size_t first, size_t count, const double *values);
/* The nearest value of the type. */
double element_round(enum element_type type, double value);

#endif
