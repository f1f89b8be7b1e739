/* Per-channel symmetric INT8: see format_int8.h. */
#include "format_int8.h"

#include <math.h>

double int8_quantize_row(const double *w, size_t k, int8_t *q)
{
	double top = 0;
	for (size_t i = 0; i < k; i++)
		top = fabs(w[i]) > top ? fabs(w[i]) : top;
	double s = (double)(float)(top / 127);
	if (s < 0x1p-126)
		s = 1;
	for (size_t i = 0; i < k; i++) {
		double code = rint(w[i] / s);
		q[i] = (int8_t)(code < -127 ? -127 : code > 127 ? 127 : code);
	}
	return s;
}

void int8_expand_row(const int8_t *q, double scale, size_t k, double *w)
{
	for (size_t i = 0; i < k; i++)
		w[i] = q[i] * scale;
}
