/* An instruction while a handler is chosen for it.
 *
 * A chooser asks has() for each modifier that it knows, so that at the end one that nobody asked for can be refused.
 * It gives the operands' kinds as a text, one letter an operand, and returns the handler:
 *	p predicate		h, r, l, q	16, 32, 64, 128 bits of an integer or of anything
 *	F, D, H, B		f32, f64, f16, bf16: what literals become
 *	P			d|p: the register before the bar is the next letter's kind ("Pr"), or a predicate ("Pp")
 *	*			before a letter: a vector of such
 *	x			32 bits, no register (a table)
 */
#ifndef PTX_ALU_FORM_H
#define PTX_ALU_FORM_H

#include "alu_fns.h"

struct form {
	const struct ptx_func *f;
	const struct ptx_insn *in;
	uint64_t seen[4];
	uint32_t imm;
	enum alu_pipe pipe;
	uint32_t tensor_flops;
	bool uses_carry, sets_carry, whole_warp;
	char kinds[32];
	const char *why;		/* a better message than "not supported" */
};

enum { NO_FN = -1 };
typedef int alu_chooser(struct form *s);

alu_chooser choose_add, choose_sub, choose_mul, choose_mad, choose_fma, choose_mul24, choose_carry, choose_div, choose_rem,
	    choose_minmax, choose_abs, choose_sad, choose_dp, choose_rcp, choose_sqrt, choose_rsqrt, choose_sfu,
	    choose_logic, choose_not, choose_shift, choose_shf, choose_lop3, choose_prmt, choose_bfe, choose_bfi, choose_count,
	    choose_bmsk, choose_szext, choose_fns, choose_mov, choose_selp, choose_slct, choose_setp, choose_set, choose_testp,
	    choose_copysign, choose_cvt, choose_video, choose_mma, choose_wmma, choose_movmatrix;

/* The integer part of instructions that floats have too. */
alu_chooser choose_add_int, choose_sub_int, choose_mul_int, choose_mad_int, choose_div_int, choose_minmax_int, choose_abs_int;

bool has(struct form *s, enum ptx_mod m);
/* The handler, with kinds. */
int form_is(struct form *s, int id, const char *kinds);
/* .rn .rz .rm .rp, as enum alu_round; nearest if none is given. */
uint32_t form_round(struct form *s);
/* .ftz and so on as bits of imm. */
uint32_t form_flag(struct form *s, enum ptx_mod m, uint32_t bit);
/* Which of n types the only type of the instruction is, or -1. */
int form_type(const struct form *s, unsigned n, const uint8_t *types);
/* Kind of the operand that a type makes: h, r, l, F, D, H, B. */
char form_kind(enum ptx_type t);
/* Three operands of one kind, and so on. */
int form_same(struct form *s, int id, enum ptx_type t, unsigned operands);
enum ptx_type form_t(const struct form *s, unsigned i);

#endif
