/* NF4 with double quantization: see format_nf4.h. */
#include "format_nf4.h"

#include <math.h>

/* Each is an f32 number, written with as many digits as tell it from its neighbours in f64. */
const double nf4_table[16] = {
	-1, -.6961928009986877, -.5250730514526367, -.39491748809814453, -.28444138169288635, -.18477343022823334,
	-.09105003625154495, 0, .07958029955625534, .16093020141124725, .24611230194568634, .33791524171829224,
	.44070982933044434, .5626170039176941, .7229568362236023, 1};

/* Nearest of n ascending values; between two, the lower one. */
static uint8_t nearest(const double *values, size_t n, double v)
{
	size_t low = 0, high = n - 1;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		if (values[middle] <= v)
			low = middle;
		else
			high = middle;
	}
	return (uint8_t)(v - values[low] <= values[high] - v ? low : high);
}

void nf4_dynamic_map(double map[NF4_MAP])
{
	static const double tenths[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
	const size_t zero = 127;		/* 1 + 2 + 4 + ... + 64 values below it */
	size_t at = zero;
	map[at++] = 0;
	for (size_t i = 0; i < 7; i++)
		for (size_t j = 0; j < (size_t)1 << i; j++, at++) {
			map[at] = (double)(float)(tenths[i] * (.1 + .9 * ((double)j + .5) / (double)(1 << i)));
			map[2 * zero - at] = -map[at];
		}
	map[at] = 1;
}

void nf4_quantize(const double *w, size_t count, uint8_t *codes, double *absmax)
{
	for (size_t start = 0; start < count; start += NF4_BLOCK) {
		const size_t end = start + NF4_BLOCK < count ? start + NF4_BLOCK : count;
		double top = 0;
		for (size_t i = start; i < end; i++)
			top = fabs(w[i]) > top ? fabs(w[i]) : top;
		top = (double)(float)top;
		absmax[start / NF4_BLOCK] = top;
		for (size_t i = start; i < end; i += 2) {
			const uint8_t first = nearest(nf4_table, 16, top > 0 ? w[i] / top : 0);
			const uint8_t second = nearest(nf4_table, 16, top > 0 ? w[i + 1] / top : 0);
			codes[i / 2] = (uint8_t)(first << 4 | second);
		}
	}
}

void nf4_quantize_absmax(const double *absmax, size_t blocks, const double map[NF4_MAP], uint8_t *index, double *scale,
			 double *offset)
{
	double sum = 0;
	for (size_t b = 0; b < blocks; b++)
		sum += absmax[b];
	*offset = (double)(float)(sum / (double)blocks);
	for (size_t start = 0; start < blocks; start += NF4_GROUP) {
		const size_t end = start + NF4_GROUP < blocks ? start + NF4_GROUP : blocks;
		double top = 0;
		for (size_t b = start; b < end; b++)
			top = fabs(absmax[b] - *offset) > top ? fabs(absmax[b] - *offset) : top;
		top = (double)(float)top;
		scale[start / NF4_GROUP] = top;
		for (size_t b = start; b < end; b++)
			index[b] = nearest(map, NF4_MAP, top > 0 ? (absmax[b] - *offset) / top : 0);
	}
}

double nf4_absmax(const struct nf4 *f, size_t block)
{
	return f->map[f->index[block]] * f->scale[block / NF4_GROUP] + f->offset;
}

static uint8_t code(const struct nf4 *f, size_t i)
{
	return i % 2 ? f->codes[i / 2] & 15 : f->codes[i / 2] >> 4;
}

void nf4_expand(const struct nf4 *f, size_t first, size_t n, double *w, double *c)
{
	for (size_t i = 0; i < n;) {
		const size_t block = (first + i) / NF4_BLOCK, rest = NF4_BLOCK - (first + i) % NF4_BLOCK;
		const size_t end = i + rest < n ? i + rest : n;
		const double part = f->map[f->index[block]] * f->scale[block / NF4_GROUP];
		double value[16], size[16];
		for (size_t q = 0; q < 16; q++) {
			value[q] = nf4_table[q] * (part + f->offset);
			size[q] = fabs(nf4_table[q]) * (fabs(part) + fabs(f->offset));
		}
		for (; i < end; i++) {
			const uint8_t q = code(f, first + i);
			w[i] = value[q];
			c[i] = size[q];
		}
	}
}

double nf4_table_term(const struct nf4 *f, size_t first, size_t n, const double *w, const double *x)
{
	double sums[16] = {0}, term = 0;
	for (size_t i = 0; i < n; i++)
		sums[code(f, first + i)] += w[i] * x[i];
	for (size_t q = 0; q < 16; q++)
		term += sums[q] * sums[q];
	return term;
}
