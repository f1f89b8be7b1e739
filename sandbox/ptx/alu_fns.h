/* The handlers by name, and what alu_select packs into alu_insn.imm for them. */
#ifndef PTX_ALU_FNS_H
#define PTX_ALU_FNS_H

#include "alu.h"

enum alu_id {
#define FN(name) ALU_##name,
#include "alu_fns.def"
#undef FN
	ALU_FNS
};

/* imm of most handlers.  The rounding field is the x86 MXCSR.RC encoding. */
enum {
	IMM_FTZ = 1 << 0,
	IMM_SAT = 1 << 1,
	IMM_RELU = 1 << 2,
	IMM_NAN = 1 << 3,		/* min, max: a NaN operand gives NaN */
	IMM_XORSIGN = 1 << 4,		/* min, max: .xorsign.abs */
	IMM_MAX = 1 << 5,
	IMM_SIGNED = 1 << 6,
	IMM_WRAP = 1 << 7,		/* shf, bmsk, szext: .wrap instead of .clamp */
	IMM_NOT_A = 1 << 8,		/* the predicate operand is negated */
	IMM_NOT_B = 1 << 9,
	IMM_NOT_C = 1 << 10,
	IMM_THREE = 1 << 11,		/* min, max of three */
	IMM_SATFINITE = 1 << 11,	/* cvt, mma */
	IMM_ROUND_SHIFT = 12,		/* 2 bits: enum alu_round */
	IMM_BOOL_SHIFT = 14,		/* 2 bits: enum alu_bool */
	IMM_CMP_SHIFT = 16,		/* 4 bits: enum alu_cmp */
	IMM_Q = 1 << 20,		/* setp: a second destination */
	IMM_TRUE_SHIFT = 21,		/* 3 bits: enum alu_true */
	IMM_CARRY_IN = 1 << 24,
	IMM_CARRY_OUT = 1 << 25,
	IMM_SHIFTAMT = 1 << 26,
	IMM_HIGH = 1 << 27,		/* dp2a.hi */
	IMM_SIGNED_B = 1 << 28,		/* dp4a, dp2a: type of b */
	IMM_BYTE_SHIFT = 24		/* 8 bits: lop3's table, prmt's mode */
};

enum alu_round { ROUND_NEAREST, ROUND_DOWN, ROUND_UP, ROUND_ZERO };
enum alu_bool { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR };

/* Integer comparisons use the first six; the sign is the handler's. */
enum alu_cmp { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU, CMP_GEU,
	       CMP_NUM, CMP_ISNAN };

/* What `set` writes for true. */
enum alu_true { TRUE_ONES32, TRUE_F32, TRUE_ONES16, TRUE_F16, TRUE_BF16 };

/* testp */
enum alu_class { CLASS_FINITE, CLASS_INFINITE, CLASS_NUMBER, CLASS_NAN, CLASS_NORMAL, CLASS_SUBNORMAL };

/* prmt */
enum alu_prmt { PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };

/* Video instructions and packed integer arithmetic: imm is op | SIMD_* */
enum alu_simd { SIMD_ADD, SIMD_SUB, SIMD_AVRG, SIMD_ABSDIFF, SIMD_MIN, SIMD_MAX, SIMD_SET, SIMD_SHL, SIMD_SHR, SIMD_MAD };
enum {
	SIMD_A_SIGNED = 1 << 4, SIMD_B_SIGNED = 1 << 5, SIMD_D_SIGNED = 1 << 6, SIMD_SAT = 1 << 7,
	SIMD_ACCUMULATE = 1 << 8,	/* .add: d = c + the sum of the lanes */
	SIMD_THEN_MIN = 2 << 8,		/* scalar forms with a signed d: what is done with c */
	SIMD_THEN_MAX = 3 << 8,
	SIMD_SECOND = 3 << 8,
	SIMD_WRAP = 1 << 10,		/* vshl, vshr */
	SIMD_CMP_SHIFT = 16		/* 4 bits: enum alu_cmp; the shift of vmad */
};

/* Conversions: imm is a description of both types; see alu_cvt.h. */

#endif
