/* The input designs that problems share: each exists to catch a kind of mistake.
 *
 * A design is the "data" keyword of a case in problem.json, and says how activations, codes, zero points and scales are
 * made.  problems/README.md describes them for authors; the table below is the one list.
 */
#ifndef REFERENCE_DESIGN_H
#define REFERENCE_DESIGN_H

#include "format_int4.h"
#include "problem.h"

/* Where all weights of a group are equal their roundings are too, and add up by sum(x): such designs have x centred on 0.
 *
 *	keyword			activations	codes		zero points	scales		exact	catches */
#define DESIGNS(X) \
	X("normal",		NORMAL,		QUANTIZED,	QUANTIZED,	QUANTIZED,	false,	"the plain case: normal weights through the real quantizer") \
	X("shifted",		SHIFTED,	QUANTIZED,	QUANTIZED,	QUANTIZED,	false,	"a zero point that is missing or wrong: sum(x) is far from 0") \
	X("outliers",		OUTLIERS,	QUANTIZED,	QUANTIZED,	QUANTIZED,	false,	"0.5% of activations 20 to 60 times as large") \
	X("uniform",		NORMAL,		UNIFORM,	MIDDLE,		TYPICAL,	false,	"timing: codes drawn directly, which is fast") \
	X("one-hot",		ONE_HOT,	UNIFORM,	UNIFORM,	TYPICAL,	false,	"order of nibbles and words, edges of groups: one x is not 0") \
	X("edges",		EDGES,		UNIFORM,	UNIFORM,	TYPICAL,	false,	"the same, all edge positions at once") \
	X("identity",		IDENTITY,	UNIFORM,	UNIFORM,	TYPICAL,	false,	"any error of layout: row m of x selects weight m") \
	X("exact",		EXACT,		UNIFORM,	CLASSES,	POWERS,		true,	"zero point, scale, tail, sums in FP16: every order gives the same bits") \
	X("overflow",		OVERFLOW,	MIRRORED,	MIRRORED,	ONE,		true,	"sums in FP16: partial sums pass 65504, the answer is small") \
	X("zeros-lowest",	SHIFTED,	UNIFORM,	LOWEST,		TYPICAL,	false,	"z = 0 everywhere") \
	X("zeros-highest",	SHIFTED,	UNIFORM,	HIGHEST,	TYPICAL,	false,	"z = 15 everywhere") \
	X("codes-lowest",	NORMAL,	LOWEST,		UNIFORM,	TYPICAL,	false,	"q = 0 (or -128) everywhere") \
	X("codes-highest",	NORMAL,	HIGHEST,	UNIFORM,	TYPICAL,	false,	"q = 15 (or 127) everywhere: sign extension, shifts of negative words") \
	X("codes-alternating",	NORMAL,		ALTERNATING,	UNIFORM,	TYPICAL,	false,	"q = 0, 15, 0, 15, ...: neighbours swapped") \
	X("scale-grid",		NORMAL,		UNIFORM,	UNIFORM,	GRID,		false,	"another power of two for each neighbouring (row, group): a group off by one, scales transposed") \
	X("negative-scales",	SHIFTED,	UNIFORM,	UNIFORM,	NEGATIVE,	false,	"scales of both signs") \
	X("zero-groups",	SHIFTED,	UNIFORM,	UNIFORM,	SOME_ZERO,	false,	"groups whose scale is 0") \
	X("tiny-scales",	NORMAL,		UNIFORM,	UNIFORM,	TINY,		false,	"scales that FP16 or flush-to-zero arithmetic loses") \
	X("zero-rows",		ZERO_ROWS,	UNIFORM,	UNIFORM,	TYPICAL,	false,	"activation rows of zeros")

#define DESIGN_PARTS(X) X(NORMAL) X(SHIFTED) X(OUTLIERS) X(ONE_HOT) X(EDGES) X(IDENTITY) X(EXACT) X(OVERFLOW) X(ZERO_ROWS) \
	X(QUANTIZED) X(UNIFORM) X(MIRRORED) X(LOWEST) X(HIGHEST) X(ALTERNATING) X(MIDDLE) X(CLASSES) \
	X(TYPICAL) X(POWERS) X(ONE) X(GRID) X(NEGATIVE) X(SOME_ZERO) X(TINY)
#define X(part) DESIGN_##part,
enum design_part { DESIGN_PARTS(X) };
#undef X

struct design {
	const char *keyword;
	enum design_part x, codes, zeros, scales;
	bool exact;			/* every partial sum is exact in f32: use bound_exact() */
	const char *catches;
};

/* The design of a case; ends the oracle with a message if its keyword is not in the table. */
const struct design *design_of(const struct problem_case *c);

/* Row m of the activations, k doubles; the caller stores them in x's type.  `peak` bounds "overflow": 255 for 4-bit
 * codes, 63 for 8-bit codes, with k <= 4096. */
void design_activations(const struct design *d, const struct random *r, size_t m, size_t k, int peak, double *x);

/* Row n of the weights as "seed INT4": words, and scale and zero a group.  True where float weights exist; then `w` holds
 * them. k must be a multiple of 8 and of the group. */
bool design_int4_row(const struct design *d, const struct int4_rule *rule, const struct random *r, size_t n, size_t k,
		     uint32_t *words, double *scale, double *zero, double *w);
/* Row n of the weights as per-channel INT8; the design's zero points are not used. */
bool design_int8_row(const struct design *d, const struct random *r, size_t n, size_t k, int8_t *q, double *scale,
		     double *w);

/* RMS of (y from float weights - y from stored integers) over RMS of y from float weights. */
double quantization_error(const double *y_float, const double *y, size_t count);

#endif
