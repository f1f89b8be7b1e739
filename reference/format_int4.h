/* "seed INT4": eight 4-bit codes in a u32, nibble i (bits 4i..4i+3) of word c is element k = 8c + i of the row.
 *
 * w = (q - z) s with one scale s and one zero point z for each group of consecutive elements of a row.  Scales are
 * kept as f32, or as f16 (then every stored value is representable in f16).  Zero points are whole numbers.
 */
#ifndef REFERENCE_FORMAT_INT4_H
#define REFERENCE_FORMAT_INT4_H

#include "problem.h"

struct int4_rule {
	size_t group;			/* elements a group; the last one of a row may be shorter */
	enum element_type scales;	/* TYPE_F32 or TYPE_F16: what s is rounded to before codes are made */
	bool zero_in_range;		/* the range of a group is widened to hold 0, so that z lies in 0..15 */
};

/* s = (max - min)/15 (1 if that is 0, or below the type's smallest normal number), z = round(-min/s),
 * q = clamp(round(w/s + z), 0, 15); rounding to nearest, ties to even.  scale and zero have one entry a group. */
void int4_quantize_row(const struct int4_rule *rule, const double *w, size_t k, uint8_t *q, double *scale, double *zero);

/* k must be a multiple of 8. */
void int4_pack_row(const uint8_t *q, size_t k, uint32_t *words);
void int4_unpack_row(const uint32_t *words, size_t k, uint8_t *q);

/* The weights w = (q - z) s in float64, and c = |s| (|q| + |z|), the size of their parts (see bound.h).  `group` must be
 * a multiple of 8. */
void int4_expand_row(const uint32_t *words, const double *scale, const double *zero, size_t k, size_t group,
		     double *w, double *c);

#endif
