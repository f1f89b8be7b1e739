/* Lowered code: a module's functions as arrays of fixed-size instructions that the executor walks.
 *
 * Theory of operation.  A function's registers become rows of a frame (layout of rows: alu.h), shared by registers
 * whose lives don't overlap; lanes are columns that never see each other, so what holds for one thread's control flow
 * holds for the rows.  Immediates, special registers, addresses of variables and kernel parameters are constants: rows
 * filled once for a warp.  Copies of single-assignment registers and of constants vanish, as does what nobody reads.
 *
 * A frame is laid out
 *	[return place, caller's frame, local base]	functions that are called
 *	[parameters][results][.param variables]		bytes, by lane: byte o of lane l is at (o & ~3) * 32 + 4 * l + (o & 3)
 *	[predicates][32-bit rows][64-bit rows][constants]
 * A call puts the callee's frame behind the caller's.
 *
 * Every lowered instruction stands for a range of PTX instructions inside one basic block (what vanished belongs to a
 * neighbour), so that counters can be given for the PTX.
 */
#ifndef PTX_LOWER_H
#define PTX_LOWER_H

#include "alu.h"
#include "mem.h"
#include "ptx.h"

enum { ROW32 = 128, ROW64 = 256, NO_ROW = 0xffffffff };

struct exec;
struct insn;
/* Does the instruction for the lanes of mask (never empty).  0, or -1: fault is set. */
typedef int exec_op(struct exec *x, const struct insn *in, uint32_t mask);

enum insn_kind {
	K_ALU,			/* register to register */
	K_OP,			/* exec_op: memory and the like; control goes on to the next instruction */
	K_NOP,			/* a block of which nothing is left */
	K_ALU_IF, K_OP_IF,	/* with a guard */
	K_BRA,			/* guarded or not; target */
	K_BRX, K_CALL, K_RET, K_EXIT,
	K_BARRIER,		/* bar, barrier: detail is a struct barrier_op */
	K_COLLECTIVE,		/* shfl, vote, match, ...: detail is a struct collective_op */
	K_EXTERN,		/* vprintf, malloc, ...: detail is a struct call_op */
	K_NANOSLEEP		/* gives way to other warps */
};

struct insn {
	union {
		struct alu_insn alu;
		struct {
			exec_op *op;
			uint32_t d, a, b, c;
			uint32_t d2, imm, aux, aux2;
			const void *detail;
		};
	};
	uint32_t guard;		/* row of the predicate; NO_ROW: always */
	uint8_t kind;		/* enum insn_kind */
	uint8_t guard_not;
	uint16_t spin;		/* K_OP: looks at what others may change: spinning on it gives way soon */
	uint32_t target;	/* code index */
	uint32_t before;	/* PTX instructions that the program's lowered code before this one stands for */
};

/* ---- details of instructions ---- */

enum access_kind { ACCESS_LOADS, ACCESS_STORES, ACCESS_ATOMICS, ACCESS_COPIES /* global to shared */ };

struct access {			/* ld, st, atom, red, cp.async, matrix and wmma accesses, mbarrier */
	struct mem_op op;
	uint32_t address;	/* row of the address; NO_ROW: offset is all */
	uint8_t address_bits;	/* 32 or 64 */
	uint8_t n_rows;
	uint8_t transpose, count;	/* ldmatrix, stmatrix */
	uint8_t kind;			/* enum access_kind: for the counters of its line */
	bool drop;			/* mbarrier.arrive_drop */
	int64_t offset;
	uint32_t rows[8];	/* d of a load, b of the others; NO_ROW: sink */
	uint32_t rows_c[8];	/* c of cas */
	uint32_t rows_d[8];	/* d of atom */
	uint32_t source;	/* cp.async: row of the source address; its offset and size */
	uint8_t source_bits;
	int64_t source_offset;
	uint32_t size;		/* cp.async: row of src-size; NO_ROW: whole */
	const struct wmma_layout *layout;
};

struct wmma_layout {
	uint8_t fragment, type, m, n, k, column_major;
	uint32_t stride;	/* row of the leading dimension, NO_ROW: the default */
	uint32_t n_rows, per_lane;
	const uint32_t *rows;
};

struct barrier_op {
	bool arrive, aligned;
	uint8_t reduce;		/* 0; 1 popc, 2 and, 3 or */
	uint8_t d_pred;		/* result is a predicate */
	uint32_t id, count;	/* rows; count NO_ROW: all warps */
	uint32_t source;	/* row of the predicate */
	bool source_not;
	bool cluster;
};

enum collective {
	C_SHFL_UP, C_SHFL_DOWN, C_SHFL_BFLY, C_SHFL_IDX, C_VOTE_ALL, C_VOTE_ANY, C_VOTE_UNI, C_VOTE_BALLOT, C_MATCH_ANY, C_MATCH_ALL,
	C_REDUX_ADD, C_REDUX_MIN, C_REDUX_MAX, C_REDUX_UMIN, C_REDUX_UMAX, C_REDUX_AND, C_REDUX_OR, C_REDUX_XOR,
	C_REDUX_FMIN, C_REDUX_FMAX, C_WARP_SYNC, C_ELECT,
	C_WHOLE			/* mma, ldmatrix, ...: all 32 lanes, then the inner instruction */
};

struct collective_op {
	uint8_t what;		/* enum collective */
	uint8_t bits;		/* of match's operand */
	bool source_not;	/* vote */
	bool nan, absolute;	/* redux.f32 */
	bool unsynced;		/* shfl, vote without .sync: the lanes that are there */
	uint32_t d, d2, a, b, c, member;	/* rows; NO_ROW: none */
	const struct insn *inner;		/* C_WHOLE */
};

enum extern_fn { EXTERN_VPRINTF, EXTERN_ASSERTFAIL, EXTERN_MALLOC, EXTERN_FREE };

struct move {			/* of n bytes by lane, between places of the parameter areas */
	uint32_t from, to, n;	/* from and to: offsets in the frames, in bytes of a lane; rows begin at 32 times that */
};

struct call_op {
	const struct lowered *callee;	/* NULL: indirect */
	uint32_t pointer;		/* row of the function's address */
	uint32_t n_args, n_rets;
	const struct move *args;	/* from: the caller's, to: the n-th parameter's place counted from the area's start */
	const struct move *rets;
	uint8_t external;		/* enum extern_fn */
};

struct branch_table { uint32_t n; const uint32_t *targets; };

/* ---- constants ---- */

enum constant_kind {
	CONST_VALUE,		/* value */
	CONST_SREG,		/* value: enum ptx_sreg */
	CONST_VAR,		/* address of var + value; shared: offset in the kernel's layout */
	CONST_LOCAL,		/* local base of the frame + value */
	CONST_PARAM,		/* value: offset in the kernel's parameters; size, sign */
	CONST_PARAM_ADDRESS,	/* generic address of the kernel's parameters + value */
	CONST_FUNC		/* address of a function: value is its index */
};

struct constant {
	uint8_t kind, bits;	/* bits: 1, 16, 32, 64 */
	uint8_t size;		/* CONST_PARAM: bytes */
	bool sign;
	uint32_t row;
	uint64_t value;
	const struct ptx_var *var;
};

/* ---- functions and programs ---- */

struct ptx_range { uint32_t first, end, own; };	/* own: the one it was made from */

struct reg_place {			/* where a register is */
	uint32_t root;			/* the register whose row it shares, being a copy of it, or itself; what follows is said of that */
	uint32_t row, start, end;	/* life: positions 2i (PTX instruction i reads it) and 2i + 1 (writes) */
	uint8_t bits;			/* 1, 32, 64, 128 */
	bool varies;			/* no constant, and used */
};

struct lowered {
	struct ptx_func *func;
	uint32_t index;			/* among the program's */
	uint32_t first, n;		/* code[first .. first+n) */
	const struct ptx_range *ranges;	/* n: of PTX instructions, that each lowered one stands for */
	const uint8_t *pipes;		/* by PTX instruction: enum alu_pipe */
	const uint32_t *flops;		/* by PTX instruction, or NULL */
	const struct pace *pace;	/* by PTX instruction */
	const struct access **sites;	/* memory sites first_site .. +n_sites, with the PTX instruction of each */
	const uint32_t *site_insn;
	uint32_t first_site, n_sites;

	uint32_t frame_bytes;
	uint32_t registers;		/* 32-bit registers that live at once: an estimate of ptxas's figure */
	uint32_t header_bytes;		/* 0 or 3 rows */
	uint32_t param_area;		/* row offset of parameters, then results, then .param variables */
	uint32_t ret_place;		/* byte of a lane where results start, counted from the area's start */
	const uint32_t *param_place, *ret_places;	/* of each parameter and result, likewise */
	const struct reg_place *places;	/* by register, then the carry's */
	const struct constant *constants;
	uint32_t n_constants;
	uint32_t local_bytes;		/* of .local variables and the alloca room */

	/* what it does by itself; the kernel's closure is in struct reach */
	bool communicates, fences, calls_indirect, uses_heap, has_alloca;
	uint32_t n_callees;
	struct ptx_func *const *callees;
	uint32_t n_shared;
	const struct ptx_var *const *shared;	/* shared variables mentioned */
};

struct program {
	struct arena *arena;
	const struct ptx_module *module;
	struct insn *code;
	uint32_t n_code;
	struct lowered **funcs;		/* by ptx_func.index; NULL: not reachable */
	uint32_t n_funcs;
	uint32_t n_sites;
	const uint32_t *func_of;	/* by code index: index of its function */
	uint32_t *called_by;		/* while it is made: by ptx_func.index, 1 + index of the last caller that lists it */
};

/* Lower every function that a kernel of the module can reach.  NULL and e if an instruction is not implemented. */
struct program *lower_module(const struct ptx_module *m, struct arena *a, struct err *e);

/* The PTX instruction that a lowered one was made from, for places in messages; NULL: the end of a function. */
const struct ptx_insn *lower_origin(const struct program *p, uint32_t code_index, const struct lowered **f);

/* Addresses of functions as values. */
#define FUNC_BASE 0x0000030000000000ull
static inline uint64_t func_address(uint32_t index) { return FUNC_BASE + 16 * (uint64_t)(index + 1); }

/* Bytes of local memory that alloca may take in a function that uses it. */
enum { ALLOCA_ROOM = 16 << 10 };

#endif
