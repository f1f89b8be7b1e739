/* NF4, the 4-bit "normal float" of QLoRA, with double quantization, as bitsandbytes stores it.
 *
 * The weights are one run of numbers, rows one after the other.  A code is an index into a table of 16 values in -1..1; two
 * are in a byte, the first in the HIGH nibble.  64 weights in a row of that run are a block, whether or not they lie in one row
 * of the matrix; w = table[code] absmax, with one absmax a block.  The absmax are quantized too: their mean is taken off
 * (offset), and what is left becomes an 8-bit index into a map of 256 values, with an f32 scale for 256 blocks:
 *
 *	absmax[b] = map[index[b]] scale[b / 256] + offset
 */
#ifndef REFERENCE_FORMAT_NF4_H
#define REFERENCE_FORMAT_NF4_H

#include <stddef.h>
#include <stdint.h>

enum { NF4_BLOCK = 64, NF4_GROUP = 256 /* blocks */, NF4_MAP = 256 };

extern const double nf4_table[16];

struct nf4 {
	const uint8_t *codes;		/* two a byte */
	const uint8_t *index;		/* one a block */
	const double *map, *scale;	/* 256; one a group of 256 blocks */
	double offset;
};

/* bitsandbytes' dynamic map, ascending: of both signs 2^i values between 10^(i-7) and 10^(i-6), i = 0..6, and 0 and 1. */
void nf4_dynamic_map(double map[NF4_MAP]);

/* Codes of `count` weights, an even number, and the f32 absmax of each block; in a block of zeros all codes are that of 0. */
void nf4_quantize(const double *w, size_t count, uint8_t *codes, double *absmax);
/* scale = the largest distance from the offset in a group; where that is 0, so is the scale, and indices are that of 0. */
void nf4_quantize_absmax(const double *absmax, size_t blocks, const double map[NF4_MAP], uint8_t *index, double *scale,
			 double *offset);

double nf4_absmax(const struct nf4 *f, size_t block);
/* Weights first .. first + n - 1 of the run in float64, both even, and c = |table| (|map scale| + |offset|), the size of
 * their parts (see bound.h). */
void nf4_expand(const struct nf4 *f, size_t first, size_t n, double *w, double *c);
/* G2 of bound.h for kernels that round the table: each of its 16 values is rounded once, and the error is the same wherever
 * the code occurs, so it is the sums by code that count: sum over codes of (sum of w x where the code is that one)^2. */
double nf4_table_term(const struct nf4 *f, size_t first, size_t n, const double *w, const double *x);

#endif
