/* INT8 rows.  Symmetric, for the channels of weights or for tokens: w = q s, one scale s a row, q in -127..127.
 * Asymmetric, for tokens: x = (q - z) s, with a zero point z a row as well, q in -128..127.
 *
 * A kernel must take -128 as well: codes of another quantizer may hold it.
 */
#ifndef REFERENCE_FORMAT_INT8_H
#define REFERENCE_FORMAT_INT8_H

#include "problem.h"

/* s = max |w| / 127 rounded to f32 (1 if that is 0), q = clamp(round(w/s), -127, 127), ties to even.  Returns s. */
double int8_quantize_row(const double *w, size_t k, int8_t *q);

/* s = (max - min) / 255 rounded to f32 (1 if that is 0), z = round(-128 - min/s), q = clamp(round(x/s) + z, -128, 127), ties
 * to even.  z lies in -128..127 where the row has numbers of both signs or a 0; otherwise beyond.  Returns s. */
double int8_quantize_asymmetric_row(const double *x, size_t k, int8_t *q, int32_t *zero);

/* The weights w = q s in float64; being symmetric, they are the c of bound_dot() too. */
void int8_expand_row(const int8_t *q, double scale, size_t k, double *w);

#endif
