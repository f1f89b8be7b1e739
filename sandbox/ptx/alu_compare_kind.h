/* The types that setp and set compare, in imm. */
#ifndef PTX_ALU_COMPARE_KIND_H
#define PTX_ALU_COMPARE_KIND_H

enum {
	COMPARE_S32 = 0 << 2, COMPARE_U32 = 1 << 2, COMPARE_S64 = 2 << 2, COMPARE_U64 = 3 << 2, COMPARE_S16 = 4 << 2,
	COMPARE_F32 = 5 << 2, COMPARE_F64 = 6 << 2, COMPARE_F16 = 7 << 2, COMPARE_BF16 = 8 << 2,
	COMPARE_F16X2 = 9 << 2, COMPARE_BF16X2 = 10 << 2, COMPARE_KIND = 15 << 2
};

#endif
