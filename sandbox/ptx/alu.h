/* Register-to-register instructions on a whole warp: integer, logic, float, conversion, packing, matrix.
 *
 * A warp's registers are one block of memory, a row per register, 32 lanes each:
 *	pred			one uint32_t, bit i is lane i (a row of 4 bytes)
 *	8, 16, 32 bit		uint32_t[32]; 16-bit values are kept zero-extended to 32 bits
 *	64 bit			uint64_t[32]
 *	128 bit			two rows of uint64_t[32]: low, then high
 * Rows are 64-byte aligned (pred: 4).  Immediates have rows of their own, filled once, as have special registers, so
 * that each operand is an offset in bytes from the warp's base.
 *
 * A handler computes d for the lanes of `mask` and leaves other lanes of d as they are.  d may be the same row as
 * any source.  Handlers come in three builds, AVX-512, AVX2 and plain x86-64, of the same source, with bit-identical
 * results; alu_isa() picks one at run time ($JUDGE_ISA=plain|avx2|avx512 overrides for tests).
 */
#ifndef PTX_ALU_H
#define PTX_ALU_H

#include "ptx.h"

struct alu_insn;
typedef void alu_fn(unsigned char *regs, const struct alu_insn *in, uint32_t mask);

struct alu_insn {
	alu_fn *fn;
	uint32_t d, a, b, c;		/* rows of the first destination and the first three source operands */
	uint32_t d2;			/* row of the second destination: q of setp p|q */
	uint32_t cc;			/* row of the carry predicate (add.cc, addc, ...) */
	uint32_t imm;			/* what alu_select set: packed modifiers */
	uint32_t scratch;
	const uint32_t *rows;		/* instructions with vector operands (mma, mov pack/unpack, wmma.mma, ...) or with
					 * more than three sources (bfi, lop3 with a predicate): rows of every element of
					 * every operand, in the order of the text; d|p is two; ALU_SINK for _ */
};

enum { ALU_SINK = 0xffffffff };

enum alu_pipe { PIPE_FP32, PIPE_FP16, PIPE_FP64, PIPE_INT, PIPE_CONVERT, PIPE_CONVERT_SLOW, PIPE_SFU, PIPE_TENSOR, PIPE_MEMORY, PIPE_CONTROL };

struct alu_choice {
	alu_fn *fn;
	uint32_t imm;
	enum alu_pipe pipe;
	uint32_t tensor_flops;		/* of one warp instruction; mma and wmma only */
	bool uses_carry, sets_carry;
	bool whole_warp;		/* mma, movmatrix, wmma.mma: all 32 lanes must be converged */
};

/* Choose the handler of an instruction that is register to register.  0: chosen.  -1 and e: this form is not
 * implemented, or not legal ("line 12: cvt.rn.s8.e4m3 is not supported"; ERR_INPUT).
 * alu_handles: whether the op is the alu's at all (else it is memory, control or a collective: the executor's). */
bool alu_handles(const struct ptx_insn *in);
int alu_select(const struct ptx_func *f, const struct ptx_insn *in, struct alu_choice *out, struct err *e);

/* How operand i (element j of it, if a vector) is stored: 1 pred, 32, 64 or 128 bits.  For registers this is the
 * declared type's; for immediates, what the instruction wants. */
unsigned alu_operand_bits(const struct ptx_func *f, const struct ptx_insn *in, unsigned i, unsigned j);
/* The bits to put into the row of an immediate operand (float literals converted to the instruction's type). */
uint64_t alu_immediate(const struct ptx_func *f, const struct ptx_insn *in, unsigned i, unsigned j);

/* Build chosen at run time: "avx512", "avx2" or "plain". */
const char *alu_isa(void);

/* ---- matrix fragments, shared by wmma.load/store, ldmatrix and mma ---- */

enum alu_fragment { FRAGMENT_A, FRAGMENT_B, FRAGMENT_C };	/* C is also D */

/* Our layout of a wmma fragment (opaque in PTX): the matrix element that lane `lane` holds as its element i
 * (elements are counted, two to a register for 16-bit types, four for 8-bit).  m, n, k of the shape. */
unsigned alu_wmma_elements(enum alu_fragment f, enum ptx_type t, unsigned m, unsigned n, unsigned k);	/* per lane */
void alu_wmma_coord(enum alu_fragment f, enum ptx_type t, unsigned m, unsigned n, unsigned k,
		    unsigned lane, unsigned i, unsigned *row, unsigned *column);

/* ---- single-value conversions, for memory atomics and tests ---- */
float alu_f16_to_f32(uint16_t h);
uint16_t alu_f32_to_f16(float f);	/* round to nearest even */
float alu_bf16_to_f32(uint16_t h);
uint16_t alu_f32_to_bf16(float f);

#endif
