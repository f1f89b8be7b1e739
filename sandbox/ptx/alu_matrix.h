/* Shapes and fragments of mma and wmma: what alu_select finds out, and the map of elements to lanes. */
#ifndef PTX_ALU_MATRIX_H
#define PTX_ALU_MATRIX_H

#include "alu.h"

/* Element formats of A and B. */
enum matrix_type { MATRIX_F16, MATRIX_BF16, MATRIX_TF32, MATRIX_E4M3, MATRIX_E5M2, MATRIX_S8, MATRIX_U8, MATRIX_S4, MATRIX_U4,
		   MATRIX_F64 };
/* Accumulators: C and D. */
enum matrix_sum { SUM_F32, SUM_F16, SUM_S32 };

/* imm: the shape in eighths (k in its own unit), formats, register counts.  A register of A or B holds 8 rows (columns
 * of B) by 128 bits; the registers go through the matrix rows first (B: k first). */
enum {
	MATRIX_A_SHIFT = 0,		/* 4 bits: enum matrix_type */
	MATRIX_B_SHIFT = 4,		/* 4 bits */
	MATRIX_C_SHIFT = 8,		/* 2 bits: enum matrix_sum */
	MATRIX_D_SHIFT = 10,		/* 2 bits */
	MATRIX_M_SHIFT = 12,		/* 3 bits: m / 8 */
	MATRIX_N_SHIFT = 15,		/* 3 bits: n / 8 */
	MATRIX_K_SHIFT = 18,		/* 3 bits: registers along k */
	MATRIX_SATFINITE = 1 << 21,
	MATRIX_A_REGS_SHIFT = 22,	/* 4 bits: registers of A in the text; those beyond the matrix repeat it */
	MATRIX_B_REGS_SHIFT = 26,	/* 4 bits */
};

#endif
