/* The pace of a warp, block by block: see pace.h.
 *
 * A load's result counts as there one round after its address; a round is a wait for memory.  Loads that don't depend on
 * each other share a round, since ptxas moves them together inside a basic block.  It can't move a load above a barrier,
 * nor above a store that may write what it reads.  A result that is used in another block only is taken to have come by
 * then: that is software pipelining, and its point.
 *
 * Latencies are those of Hopper, in cycles, as measured or published; they differ little since Volta.
 */
#include "pace.h"

#include <stdlib.h>
#include <string.h>

enum {
	ALU_CYCLES = 4, WIDE_CYCLES = 8, XU_CYCLES = 18, SPECIAL_CYCLES = 60, SHARED_CYCLES = 29, SHUFFLE_CYCLES = 24,
	MMA_CYCLES = 33, LOCAL_CYCLES = 32, BARRIER_CYCLES = 20,
	MOST = UINT16_MAX
};

struct value {			/* of a register inside the block */
	uint32_t block;		/* that set it: its first instruction + 1; else it was there before */
	uint16_t round, ready;
};

struct state {
	const struct ptx_func *f;
	struct value *values;
	uint32_t block;
	uint16_t round, ready;	/* longest so far of what was used, of what was made */
	uint16_t floor, start;	/* round and cycle before which nothing starts: of a barrier */
	uint16_t stored;	/* round of the latest store to global memory */
	uint32_t issue;		/* since the barrier: cycles that instructions hold the scheduler or their pipe */
};

static uint16_t most(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

static uint16_t plus(uint16_t a, uint32_t b)
{
	return b > MOST || a + b > MOST ? MOST : (uint16_t)(a + b);
}

/* ---- blocks ---- */

static bool ends_block(const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_BRA: case PTX_BRX: case PTX_CALL: case PTX_RET: case PTX_EXIT: case PTX_TRAP:
		return true;
	default:
		return false;
	}
}

static void mark_targets(const struct ptx_func *f, const struct ptx_insn *in, uint8_t *leads)
{
	for (unsigned i = 0; i < in->n_ops; i++) {
		const struct ptx_operand *o = &in->ops[i];
		if (o->kind == PTX_O_LABEL)
			leads[o->target] = 1;
		for (uint32_t j = 0; o->kind == PTX_O_TABLE && j < o->table->n && o->table->targets; j++)
			leads[o->table->targets[j]] = 1;
	}
	if (ends_block(in))
		leads[(in - f->insns) + 1] = 1;
}

/* ---- one instruction ---- */

static uint16_t latency(const struct ptx_insn *in)
{
	bool wide = in->n_types && ptx_type_bits((enum ptx_type)in->types[0]) == 64;

	switch (in->op) {
	case PTX_MOV: case PTX_CVTA:
		return 0;
	case PTX_SHFL: case PTX_VOTE: case PTX_MATCH: case PTX_REDUX:
		return SHUFFLE_CYCLES;
	case PTX_MMA: case PTX_WMMA: case PTX_LDMATRIX:
		return MMA_CYCLES;
	case PTX_EX2: case PTX_LG2: case PTX_SIN: case PTX_COS: case PTX_RCP: case PTX_RSQRT: case PTX_TANH:
		return XU_CYCLES;
	case PTX_DIV: case PTX_REM: case PTX_SQRT:
		return ptx_has(in, PTX_MOD_APPROX) ? XU_CYCLES + ALU_CYCLES : SPECIAL_CYCLES;
	case PTX_LD: case PTX_ATOM:
		switch (ptx_insn_space(in)) {
		case PTX_SPACE_SHARED:
			return SHARED_CYCLES;
		case PTX_SPACE_LOCAL:
			return LOCAL_CYCLES;
		default:
			return 0;
		}
	case PTX_FMA: case PTX_MUL: case PTX_ADD: case PTX_SUB: case PTX_MAD:
		return wide ? WIDE_CYCLES : ALU_CYCLES;
	default:
		return ALU_CYCLES;
	}
}

/* Cycles until the warp's next instruction may go to the same pipe: full rate is one, the integer pipe has half. */
static unsigned issue(const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_MOV: case PTX_CVTA:
		return 0;
	case PTX_MMA: case PTX_WMMA:
		return 6;
	case PTX_EX2: case PTX_LG2: case PTX_SIN: case PTX_COS: case PTX_RCP: case PTX_RSQRT: case PTX_TANH: case PTX_DIV:
	case PTX_REM: case PTX_SQRT:
		return 8;
	case PTX_LD: case PTX_ST:
		return ptx_insn_space(in) == PTX_SPACE_PARAM ? 0 : 2;
	case PTX_FMA: case PTX_MUL: case PTX_ADD: case PTX_SUB:
		break;
	default:
		return 2;
	}
	switch (in->n_types ? in->types[0] : PTX_T_NONE) {
	case PTX_T_F32: case PTX_T_F16: case PTX_T_F16X2: case PTX_T_BF16: case PTX_T_BF16X2:
		return 1;
	default:
		return 2;
	}
}

static bool is_global(const struct ptx_insn *in)
{
	enum ptx_space s = ptx_insn_space(in);
	return s == PTX_SPACE_GLOBAL || s == PTX_SPACE_GENERIC;
}

static bool from_memory(const struct ptx_insn *in)
{
	return (in->op == PTX_LD || in->op == PTX_ATOM || in->op == PTX_LDU || in->op == PTX_WMMA) && is_global(in);
}

static bool is_barrier(const struct ptx_insn *in)
{
	return (in->op == PTX_BAR || in->op == PTX_BARRIER) && !ptx_has(in, PTX_MOD_ARRIVE);
}

/* cp.async.wait_all, and wait_group 0: nothing is left in flight. */
static bool waits_for_copies(const struct ptx_insn *in)
{
	return in->op == PTX_CP && (ptx_has(in, PTX_MOD_WAIT_ALL) || (ptx_has(in, PTX_MOD_WAIT_GROUP) && in->n_ops &&
				    in->ops[0].kind == PTX_O_INT && in->ops[0].imm == 0));
}

/* Whether the first operand is what the instruction makes. */
static bool has_result(const struct ptx_insn *in)
{
	if (!in->n_ops || in->op == PTX_BRX || in->op == PTX_NANOSLEEP || in->op == PTX_CALL)
		return false;
	if ((in->op == PTX_BAR || in->op == PTX_BARRIER) && !ptx_has(in, PTX_MOD_RED))
		return false;
	return in->ops[0].kind == PTX_O_REG || in->ops[0].kind == PTX_O_PAIR || in->ops[0].kind == PTX_O_VEC;
}

static void use_reg(const struct state *s, int32_t reg, uint16_t *round, uint16_t *ready)
{
	if (reg < 0 || s->values[reg].block != s->block)
		return;
	*round = most(*round, s->values[reg].round);
	*ready = most(*ready, s->values[reg].ready);
}

static void use(const struct state *s, const struct ptx_operand *o, uint16_t *round, uint16_t *ready)
{
	bool list = o->kind == PTX_O_VEC || o->kind == PTX_O_LIST || o->kind == PTX_O_MEM;

	use_reg(s, o->reg, round, ready);
	use_reg(s, o->reg2, round, ready);
	for (uint32_t i = 0; list && i < o->n; i++)
		use_reg(s, o->elems[i].reg, round, ready);
}

static void set_reg(struct state *s, int32_t reg, uint16_t round, uint16_t ready)
{
	if (reg >= 0)
		s->values[reg] = (struct value){s->block, round, ready};
}

static void set(struct state *s, const struct ptx_operand *o, uint16_t round, uint16_t ready)
{
	set_reg(s, o->reg, round, ready);
	set_reg(s, o->reg2, round, ready);
	for (uint32_t i = 0; o->kind == PTX_O_VEC && i < o->n; i++)
		set_reg(s, o->elems[i].reg, round, ready);
}

/* Instructions go out in order, one by one; what the chain waits for comes on top. */
static uint16_t cycles_of(const struct state *s)
{
	return plus(most(s->ready, s->start), s->issue);
}

static void step(struct state *s, const struct ptx_insn *in)
{
	uint16_t round = s->floor, ready = s->start;
	bool result = has_result(in), load = from_memory(in);

	use_reg(s, in->guard, &round, &ready);
	for (unsigned i = result; i < in->n_ops; i++)
		use(s, &in->ops[i], &round, &ready);
	if (load && !ptx_has(in, PTX_MOD_NC))
		round = most(round, s->stored);
	s->round = most(s->round, round);
	if (waits_for_copies(in))
		s->round = s->floor = plus(s->round, 1);
	if (is_barrier(in)) {
		s->floor = s->round;
		s->start = plus(cycles_of(s), BARRIER_CYCLES);
		s->issue = 0;
	}
	if (in->op == PTX_ST && is_global(in))
		s->stored = most(s->stored, round);
	s->issue += issue(in);
	ready = plus(ready, latency(in));
	s->ready = most(s->ready, ready);
	if (result)
		set(s, &in->ops[0], load ? plus(round, 1) : round, ready);
}

void pace_of(const struct ptx_func *f, struct pace *out)
{
	uint8_t *leads = calloc(f->n_insns + 2u, 1);
	struct state s = {.f = f, .values = calloc(f->n_regs + 1u, sizeof *s.values)};

	if (!leads || !s.values)
		BUG("out of memory");
	memset(out, 0, f->n_insns * sizeof *out);
	for (uint32_t i = 0; i < f->n_insns; i++)
		mark_targets(f, &f->insns[i], leads);
	for (uint32_t i = 0, end; i < f->n_insns; i = end) {
		s = (struct state){.f = f, .values = s.values, .block = i + 1};
		for (end = i; end == i || (end < f->n_insns && !leads[end]); end++)
			step(&s, &f->insns[end]);
		out[i] = (struct pace){s.round, cycles_of(&s)};
	}
	free(leads);
	free(s.values);
}
