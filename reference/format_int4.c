/* "seed INT4": see format_int4.h. */
#include "format_int4.h"

#include "f16.h"

#include <math.h>

static double clamp(double v, double low, double high)
{
	return v < low ? low : v > high ? high : v;
}

static double group_scale(const struct int4_rule *rule, double low, double high)
{
	double s = (high - low) / 15;
	s = rule->scales == TYPE_F16 ? f16_round(s) : (double)(float)s;
	return s < (rule->scales == TYPE_F16 ? 0x1p-14 : 0x1p-126) ? 1 : s;
}

void int4_quantize_row(const struct int4_rule *rule, const double *w, size_t k, uint8_t *q, double *scale, double *zero)
{
	for (size_t start = 0, g = 0; start < k; start += rule->group, g++) {
		size_t end = start + rule->group < k ? start + rule->group : k;
		double low = w[start], high = w[start];
		for (size_t i = start; i < end; i++) {
			low = w[i] < low ? w[i] : low;
			high = w[i] > high ? w[i] : high;
		}
		if (rule->zero_in_range) {
			low = low > 0 ? 0 : low;
			high = high < 0 ? 0 : high;
		}
		double s = group_scale(rule, low, high), z = rint(-low / s);
		if (rule->zero_in_range)
			z = clamp(z, 0, 15);
		for (size_t i = start; i < end; i++)
			q[i] = (uint8_t)clamp(rint(w[i] / s + z), 0, 15);
		scale[g] = s;
		zero[g] = z;
	}
}

void int4_pack_row(const uint8_t *q, size_t k, uint32_t *words)
{
	for (size_t c = 0; c < k / 8; c++) {
		uint32_t word = 0;
		for (size_t i = 0; i < 8; i++)
			word |= (uint32_t)q[8 * c + i] << 4 * i;
		words[c] = word;
	}
}

void int4_unpack_row(const uint32_t *words, size_t k, uint8_t *q)
{
	for (size_t i = 0; i < k; i++)
		q[i] = words[i / 8] >> 4 * (i % 8) & 15;
}

/* Two codes a byte, from a table of pairs: one load instead of shifts, masks and conversions. */
static double pairs[256][2];

static void make_pairs(void)
{
	for (int byte = 0; byte < 256; byte++) {
		pairs[byte][0] = byte & 15;
		pairs[byte][1] = byte >> 4;
	}
}

void int4_expand_row(const uint32_t *words, const double *scale, const double *zero, size_t k, size_t group,
		     double *w, double *c)
{
	if (pairs[1][0] == 0)
		make_pairs();
	for (size_t start = 0, g = 0; start < k; start += group, g++) {
		const double s = scale[g], z = zero[g], size = fabs(s), reach = fabs(z);
		size_t end = start + group < k ? start + group : k;
		for (size_t i = start; i < end; i += 8)
			for (size_t b = 0; b < 8; b += 2) {
				const double *q = pairs[words[i / 8] >> 4 * b & 255];
				w[i + b] = (q[0] - z) * s;
				w[i + b + 1] = (q[1] - z) * s;
				c[i + b] = (q[0] + reach) * size;
				c[i + b + 1] = (q[1] + reach) * size;
			}
	}
}
