/* PTX text to a module: functions, variables, instructions.  Pure syntax and names; no meaning of instructions.
 *
 * Opcode roots, modifiers and types are X-macro tables (ptx_ops.def, ptx_mods.def, ptx_types.def).  An instruction
 * `cp.async.ca.shared.global.L2::128B [%r1], [%rd2], 16, %r3;` is op PTX_CP, mods ASYNC CA SHARED GLOBAL L2_128B in
 * order, no types, four operands.  `@!%p1 cvt.rn.f16x2.f32 %r1, %f1, %f2` is op PTX_CVT, guard %p1 negated, mods RN,
 * types F16X2 F32.  Suffixes that are type names go to types in their order, all others to mods in their order.
 *
 * Registers of nested blocks get numbers of their own: reg indices are unique in a function.  Branch labels are
 * resolved to instruction indices.  Everything lives in the arena given to ptx_parse.
 */
#ifndef PTX_PTX_H
#define PTX_PTX_H

#include "../base/arena.h"
#include "../base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_op {
#define OP(id, text) PTX_##id,
#include "ptx_ops.def"
#undef OP
	PTX_OPS
};

enum ptx_mod {
#define MOD(id, text) PTX_MOD_##id,
#include "ptx_mods.def"
#undef MOD
	PTX_MODS
};

enum ptx_type {
	PTX_T_NONE,
#define TYPE(id, text, bits) PTX_T_##id,
#include "ptx_types.def"
#undef TYPE
	PTX_TYPES
};

enum ptx_sreg {
#define SREG(id, text, bits) PTX_SREG_##id,
#include "ptx_sregs.def"
#undef SREG
	PTX_SREGS
};

enum ptx_space { PTX_SPACE_NONE, PTX_SPACE_GLOBAL, PTX_SPACE_SHARED, PTX_SPACE_CONST, PTX_SPACE_LOCAL, PTX_SPACE_PARAM,
		 PTX_SPACE_GENERIC };

const char *ptx_op_name(enum ptx_op op);
const char *ptx_mod_name(enum ptx_mod m);
const char *ptx_type_name(enum ptx_type t);
unsigned ptx_type_bits(enum ptx_type t);	/* 1 for pred; 4 for u4, s4; 32 for f16x2; 128 for b128 */

/* A variable: module scope (global, const, shared, extern shared) or function scope (shared, local, param, .reg .param). */
struct ptx_var {
	const char *name;
	enum ptx_space space;
	enum ptx_type type;		/* element type */
	uint32_t align;
	uint64_t size;			/* bytes; 0: extern array of unknown size (dynamic shared) */
	bool is_extern, is_weak;
	unsigned char *init;		/* size bytes, or NULL: zero */
	struct ptx_reloc *relocs;	/* places in init that hold addresses */
	uint32_t n_relocs;
	uint32_t index;			/* position in the table that owns it */
	struct ptx_func *owner;		/* NULL at module scope */
	uint64_t address;		/* for the loader's use */
};

struct ptx_reloc {
	uint64_t offset;
	uint8_t width;			/* 4 or 8 bytes */
	bool generic;			/* generic(sym): a generic address */
	const struct ptx_var *var;	/* or NULL: func */
	const struct ptx_func *func;
	int64_t addend;
};

enum ptx_operand_kind {
	PTX_O_REG,		/* reg; `neg`: !p or -r; n: PTX_SELECT of %r1.b0, %r1.h1, %r1.b3210 (video), else 0 */
	PTX_O_PAIR,		/* p|q : reg and reg2; either may be -1 for the sink `_` */
	PTX_O_SINK,		/* _ */
	PTX_O_INT,		/* imm: two's complement 64 bits */
	PTX_O_F32,		/* imm: bits of a 0f literal */
	PTX_O_F64,		/* imm: bits of a 0d or decimal literal */
	PTX_O_SREG,		/* sreg; .x .y .z are separate sregs */
	PTX_O_VAR,		/* var (+ imm): its address as a value; also [var+imm] has kind MEM */
	PTX_O_FUNC,		/* func */
	PTX_O_MEM,		/* [reg + imm], [var + imm] or [imm]: reg >= 0, or var set, or neither (both never) */
	PTX_O_LABEL,		/* target: instruction index */
	PTX_O_TABLE,		/* table: .branchtargets / .calltargets / .callprototype */
	PTX_O_VEC,		/* elems, n: {a, b, ...}; tensor coordinates inside [] too (see MEM with elems) */
	PTX_O_LIST		/* elems, n: ( ... ) argument lists of call */
};

struct ptx_operand {
	uint8_t kind;			/* enum ptx_operand_kind */
	bool neg;
	uint16_t sreg;
	uint32_t n;
	int32_t reg, reg2;		/* register numbers, -1 if none */
	uint32_t target;		/* label: index into insns (may equal n_insns: end of function) */
	uint64_t imm;
	union {
		const struct ptx_var *var;
		struct ptx_func *func;
		const struct ptx_table *table;
		struct ptx_operand *elems;
	};
};

/* Parts of a register that a video instruction reads, in .n of a REG operand: count 1..4, then 4 bits for each part's
 * number, the first in the text highest; bit 3: halves, not bytes. */
#define PTX_SELECT_COUNT(n) ((n) & 7u)
#define PTX_SELECT_HALVES(n) ((n) >> 3 & 1u)
#define PTX_SELECT_PART(n, i) ((n) >> (4 + 4 * (i)) & 15u)	/* i counts from the end of the text */

struct ptx_table {			/* .branchtargets, .calltargets, .callprototype */
	const char *name;
	uint32_t n;
	uint32_t *targets;		/* branchtargets: instruction indices */
	struct ptx_func **funcs;	/* calltargets */
	struct ptx_var *rets, *params;	/* callprototype */
	uint32_t n_rets, n_params;
};

struct ptx_insn {
	uint16_t op;			/* enum ptx_op */
	bool guard_not;
	uint8_t n_types, n_mods, n_ops;
	int32_t guard;			/* predicate register, -1: always */
	uint8_t types[6];		/* enum ptx_type, in order */
	uint8_t mods[14];		/* enum ptx_mod, in order (fewer than 256 modifiers) */
	uint64_t modset[4];		/* the same as a set */
	uint32_t ptx_line;		/* line in the PTX text, from 1 */
	uint32_t loc;			/* index into module->locs; 0: none */
	struct ptx_operand *ops;
};

static inline bool ptx_has(const struct ptx_insn *in, enum ptx_mod m)
{
	return in->modset[m >> 6] >> (m & 63) & 1;
}

struct ptx_reg {
	const char *name;
	enum ptx_type type;		/* as declared: pred, b16/u16/s16/f16, b32..., b64..., b128 */
};

struct ptx_func {
	const char *name;
	bool is_entry, is_extern, is_weak, is_visible;
	struct ptx_var *rets, *params;	/* space PARAM; offsets by alignment in .address */
	uint32_t n_rets, n_params;
	uint64_t param_bytes;		/* entry: size of the parameter block */
	struct ptx_reg *regs;
	uint32_t n_regs;
	struct ptx_var **vars;		/* shared, local and param variables declared inside */
	uint32_t n_vars;
	struct ptx_insn *insns;
	uint32_t n_insns;
	uint32_t maxntid[3], reqntid[3], minnctapersm;	/* 0: not given */
	uint32_t index;
	uint32_t ptx_line;		/* of its body; 0: there is none */
	void *user;			/* for the executor */
};

/* A place in the source, from .loc; for inlined code the innermost place in the file of the outermost call. */
struct ptx_loc {
	const char *file;		/* as in .file */
	uint32_t line, column;
};

struct ptx_module {
	int version_major, version_minor;
	const char *target;		/* "sm_90" */
	struct ptx_var **vars;		/* module scope */
	uint32_t n_vars;
	struct ptx_func **funcs;
	uint32_t n_funcs;
	struct ptx_loc *locs;		/* [0] is empty */
	uint32_t n_locs;
	const char **lines;		/* the text by line, for messages; [0] unused */
	uint32_t n_lines;
};

/* Limits on hostile text: bytes of text, nesting, registers and instructions a function, arena bytes. */
enum { PTX_MAX_TEXT = 64 << 20, PTX_MAX_NESTING = 256, PTX_MAX_INSNS = 4 << 20, PTX_MAX_MEMORY = 1 << 30 };
#ifdef FUZZING				/* whose time is not for declaring registers */
enum { PTX_MAX_REGS = 1 << 12 };
#else
enum { PTX_MAX_REGS = 1 << 20 };
#endif

/* NULL and e ("line 12: unknown instruction 'foo': ...") if the text is not PTX that we know. */
struct ptx_module *ptx_parse(const char *text, size_t size, struct arena *a, struct err *e);
struct ptx_func *ptx_find_func(const struct ptx_module *m, const char *name);
struct ptx_var *ptx_find_var(const struct ptx_module *m, const char *name);
/* The instruction as text again, for messages and listings. */
char *ptx_print_insn(const struct ptx_func *f, const struct ptx_insn *in, struct arena *a);
/* The space an instruction names (.global, .shared, .shared::cta, ...), GENERIC for ld/st/atom/red without one. */
enum ptx_space ptx_insn_space(const struct ptx_insn *in);

#endif
