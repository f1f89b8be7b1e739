/* Conversions of one value: every pair of types, every rounding.  The vector forms in alu_lanes_cvt.c cover the common
 * pairs; this is the rest, and what they are tested against.
 */
#ifndef PTX_ALU_CVT_H
#define PTX_ALU_CVT_H

#include <stdbool.h>
#include <stdint.h>

/* The types as numbers in imm. */
enum cvt_type { CVT_U8, CVT_S8, CVT_U16, CVT_S16, CVT_U32, CVT_S32, CVT_U64, CVT_S64,
		CVT_F16, CVT_BF16, CVT_TF32, CVT_F32, CVT_F64, CVT_E4M3, CVT_E5M2, CVT_E2M1 };

enum cvt_round { CVT_RN, CVT_RM, CVT_RP, CVT_RZ, CVT_RNA };	/* the first four as enum alu_round */

/* imm of the conversions.  The row of the source may be wider than its type, that of the destination too: a value is
 * extended to cvt_reg by its type's sign. */
enum {
	CVT_FROM_SHIFT = 0,		/* 4 bits: enum cvt_type */
	CVT_TO_SHIFT = 4,		/* 4 bits */
	CVT_ROUND_SHIFT = 8,		/* 3 bits: enum cvt_round */
	CVT_INTEGRAL = 1 << 11,		/* .rni and its kin: the rounding is to an integer */
	CVT_FTZ = 1 << 12,
	CVT_SAT = 1 << 13,
	CVT_RELU = 1 << 14,
	CVT_SATFINITE = 1 << 15,
	CVT_FROM_WIDE = 1 << 16,	/* the source's row is 64 bits */
	CVT_TO_WIDE = 1 << 17,		/* the destination's row is 64 bits */
	CVT_TO_HALF = 1 << 18,		/* the destination's register has 16 bits */
	CVT_FROM_PAIR = 1 << 19,	/* two values packed in a */
};

uint64_t cvt_one(uint64_t bits, uint32_t imm);	/* without extension to the register */

static inline enum cvt_type cvt_from(uint32_t imm) { return imm >> CVT_FROM_SHIFT & 15; }
static inline enum cvt_type cvt_to(uint32_t imm) { return imm >> CVT_TO_SHIFT & 15; }
static inline enum cvt_round cvt_rounding(uint32_t imm) { return imm >> CVT_ROUND_SHIFT & 7; }
unsigned cvt_bits(enum cvt_type t);
static inline bool cvt_is_int(enum cvt_type t) { return t <= CVT_S64; }
static inline bool cvt_is_signed(enum cvt_type t) { return t <= CVT_S64 && (t & 1); }

#endif
