/* Per-channel symmetric INT8: w = q s, one scale s a row, q in -127..127.
 *
 * A kernel must take -128 as well: codes of another quantizer may hold it.
 */
#ifndef REFERENCE_FORMAT_INT8_H
#define REFERENCE_FORMAT_INT8_H

#include "problem.h"

/* s = max |w| / 127 rounded to f32 (1 if that is 0), q = clamp(round(w/s), -127, 127), ties to even.  Returns s. */
double int8_quantize_row(const double *w, size_t k, int8_t *q);

/* The weights w = q s in float64; being symmetric, they are the c of bound_dot() too. */
void int8_expand_row(const int8_t *q, double scale, size_t k, double *w);

#endif
