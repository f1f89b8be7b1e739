/* INT8 rows, symmetric and asymmetric: see format_int8.h. */
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

double int8_quantize_asymmetric_row(const double *x, size_t k, int8_t *q, int32_t *zero)
{
	double low = x[0], high = x[0];
	for (size_t i = 0; i < k; i++) {
		low = x[i] < low ? x[i] : low;
		high = x[i] > high ? x[i] : high;
	}
	double s = (double)(float)((high - low) / 255);
	if (s < 0x1p-126)
		s = 1;
	*zero = (int32_t)rint(-128 - low / s);
	for (size_t i = 0; i < k; i++) {
		double code = rint(x[i] / s) + *zero;
		q[i] = (int8_t)(code < -128 ? -128 : code > 127 ? 127 : code);
	}
	return s;
}

void int8_expand_row(const int8_t *q, double scale, size_t k, double *w)
{
	for (size_t i = 0; i < k; i++)
		w[i] = q[i] * scale;
}
