/* One function on its way from PTX to lowered code: what the passes of lower*.c share. */
#ifndef PTX_LOWER_FUNC_H
#define PTX_LOWER_FUNC_H

#include "lower.h"

struct flow_block {
	uint32_t first, end;		/* PTX instructions */
	uint32_t n_succ, *succ;
	uint32_t idom, enter, leave;	/* immediate dominator; numbering of the dominator tree */
	bool reachable;
};

struct flow {
	uint32_t n_blocks;
	struct flow_block *blocks;
	uint32_t *block_of;		/* by PTX instruction */
	uint32_t *order;		/* reachable blocks in reverse postorder */
	uint32_t n_order;
};

struct reg {
	uint8_t bits;			/* 1, 32, 64, 128 */
	uint8_t narrow;			/* declared width if under 32, else 0 */
	bool ssa;			/* one definition, that dominates its uses */
	uint32_t n_defs, n_uses, def;	/* def: the instruction, if one */
	int32_t alias;			/* register of the same value, or -1 */
	int32_t constant;		/* constant of the same value, or -1 */
	uint32_t start, end;		/* life: positions 2i (use) and 2i + 1 (definition) */
	uint32_t slot;			/* in its class */
};

struct lower {
	struct program *program;
	const struct ptx_module *module;
	struct ptx_func *f;
	struct lowered *out;
	struct arena *arena;		/* of the program */
	struct arena *scratch;		/* of this function's lowering */
	struct err *e;

	struct flow flow;
	struct reg *regs;		/* f->n_regs, then the carry */
	uint32_t n_regs;
	uint8_t *gone;			/* by PTX instruction: vanished */
	struct alu_choice *choices;	/* by PTX instruction: of those of the alu */
	uint8_t *is_alu;
	uint32_t rows_base[4];		/* offsets of the classes' rows */
	uint64_t frame_end;		/* where the next row of a constant goes */

	struct constant *constants;
	uint32_t n_constants, room_constants, *constant_hash, hash_size;

	struct insn *code;
	struct ptx_range *ranges;
	uint32_t n_code, room_code;
	uint32_t current;		/* PTX instruction being emitted */
	uint8_t *pipes;
	uint32_t *flops;

	const struct access **sites;
	uint32_t *site_insn, n_sites, room_sites;
	bool misfit;			/* an operand was not what its instruction takes: nothing may run */
	struct ptx_func **callees;
	uint32_t n_callees, room_callees;
	const struct ptx_var **shared;
	uint32_t n_shared, room_shared;
	struct cas_place { int32_t reg; const struct ptx_var *var; uint64_t imm; } *cas;	/* addresses of atom.cas */
	uint32_t n_cas;
	uint8_t *joined;		/* by PTX instruction: mem_op.joined of loads from shared memory */
	uint32_t *var_place;		/* by f->vars index: place of .param variables, offset of .local ones */
};

/* ---- lower_flow.c ---- */
void flow_build(struct lower *l);
bool flow_dominates(const struct flow *f, uint32_t a, uint32_t b);	/* blocks */

/* ---- lower_regs.c ---- */
enum reg_class { CLASS_PRED, CLASS_32, CLASS_64, CLASS_128, REG_CLASSES };

typedef void visit_fn(void *user, uint32_t reg, bool def);
/* Each register that the instruction reads (first) or writes. */
void regs_visit(const struct lower *l, uint32_t insn, visit_fn *visit, void *user);
void regs_visit_operand(const struct ptx_operand *o, bool def, visit_fn *visit, void *user);
bool regs_has_destination(const struct ptx_insn *in);
uint32_t regs_root(const struct lower *l, uint32_t reg);
void regs_analyse(struct lower *l);		/* definitions, uses, single assignment */
void regs_drop_unused(struct lower *l);
void regs_allocate(struct lower *l, uint32_t at);	/* rows from `at` on; leaves frame_end behind them */
uint32_t regs_row(const struct lower *l, uint32_t reg);
const struct reg_place *regs_places(const struct lower *l);

/* ---- lower_const.c ---- */
uint32_t const_add(struct lower *l, const struct constant *c);		/* index */
uint32_t const_value(struct lower *l, uint64_t value, unsigned bits);	/* index */
void const_propagate(struct lower *l);		/* copies and constants vanish */
/* The row of a constant, made at its first use. */
uint32_t const_row(struct lower *l, uint32_t index);
/* The place of a variable as a constant: for operands `var`, `var+4`. */
uint32_t const_of_var(struct lower *l, const struct ptx_var *var, uint64_t addend, unsigned bits);
bool const_is_entry_param(const struct lower *l, const struct ptx_operand *o);

/* ---- lower.c ---- */
/* "gemv.cu:12: ..." ; returns -1 */
int lower_fail(struct lower *l, const struct ptx_insn *in, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int lower_unsupported(struct lower *l, const struct ptx_insn *in);
struct insn *lower_emit(struct lower *l, enum insn_kind kind);
/* Row of operand i, as a value of `bits`; NO_ROW for a sink. */
uint32_t lower_row(struct lower *l, const struct ptx_operand *o, unsigned bits);
void lower_guard(struct lower *l, const struct ptx_insn *in, struct insn *to);
void *lower_detail(struct lower *l, const void *data, size_t size);
void lower_site(struct lower *l, struct access *a);
/* Declared width of a register operand if under 32, else 0. */
unsigned lower_narrow(const struct lower *l, const struct ptx_operand *o);
unsigned lower_width(const struct lower *l, const struct ptx_operand *o);	/* of its row: 1, 32, 64, 128; 0: no register */
void lower_callee(struct lower *l, struct ptx_func *f);

/* ---- lower_join.c ---- */
void lower_join_loads(struct lower *l);		/* after aliases are known */

/* ---- lower_mem.c, lower_sync.c, lower_call.c ---- */
/* 1: emitted; 0: not theirs; -1: error. */
int lower_memory(struct lower *l, const struct ptx_insn *in);
int lower_async(struct lower *l, const struct ptx_insn *in);
int lower_sync(struct lower *l, const struct ptx_insn *in);
int lower_control(struct lower *l, const struct ptx_insn *in);
void lower_params(struct lower *l);
void lower_note_cas(struct lower *l);		/* after aliases are known */

#endif
