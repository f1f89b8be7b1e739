/* Runs straight-line PTX on one warp by the alu's handlers alone: a row for every register, immediates in rows of their
 * own.  For tests and benchmarks.
 */
#ifndef TESTS_ALU_RUN_H
#define TESTS_ALU_RUN_H

#include "sandbox/ptx/alu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_ROW = 512, RUN_MAX_INSNS = 64, RUN_MAX_ROWS = 1024 };

struct run {
	struct arena *arena;
	struct ptx_func *f;
	unsigned char *regs;
	uint32_t n_rows;
	unsigned n;
	struct alu_insn insns[RUN_MAX_INSNS];
	struct alu_choice choices[RUN_MAX_INSNS];
};

static inline void run_fill(unsigned char *row, unsigned bits, uint64_t v)
{
	if (bits == 1)
		*(uint32_t *)row = (uint32_t)v;
	for (int i = 0; i < 32 && bits == 32; i++)
		((uint32_t *)row)[i] = (uint32_t)v;
	for (int i = 0; i < 32 && bits >= 64; i++)
		((uint64_t *)row)[i] = v;
}

static inline uint32_t run_row_of(struct run *r, const struct ptx_insn *in, unsigned i, unsigned j)
{
	const struct ptx_operand *o = &in->ops[i];
	if (o->kind == PTX_O_VEC)
		o = &o->elems[j];
	if (o->kind == PTX_O_PAIR)
		return (uint32_t)(j ? o->reg2 : o->reg) == ALU_SINK ? ALU_SINK : RUN_ROW * (uint32_t)(j ? o->reg2 : o->reg);
	if (o->kind == PTX_O_REG)
		return RUN_ROW * (uint32_t)o->reg;
	if (o->kind == PTX_O_SINK)
		return ALU_SINK;
	uint32_t row = RUN_ROW * r->n_rows++;
	run_fill(r->regs + row, alu_operand_bits(r->f, in, i, j), alu_immediate(r->f, in, i, j));
	return row;
}

static inline void run_lower(struct run *r, const struct ptx_insn *in, struct alu_insn *out, const struct alu_choice *c)
{
	uint32_t n = 0, *rows = arena_new_array(r->arena, uint32_t, 64);
	uint32_t *const slot[4] = {&out->d, &out->a, &out->b, &out->c};
	for (unsigned i = 0; i < in->n_ops; i++) {
		const struct ptx_operand *o = &in->ops[i];
		unsigned elems = o->kind == PTX_O_VEC ? o->n : o->kind == PTX_O_PAIR ? 2 : 1;
		if (i < 4)
			*slot[i] = ALU_SINK;
		for (unsigned j = 0; j < elems; j++) {
			rows[n++] = run_row_of(r, in, i, j);
			if (i < 4 && j == 0)
				*slot[i] = rows[n - 1];
			if (i == 0 && j == 1)
				out->d2 = rows[n - 1];
		}
	}
	out->fn = c->fn;
	out->imm = c->imm;
	out->cc = RUN_ROW * (RUN_MAX_ROWS - 1);
	out->rows = rows;
}

/* `text`: declarations and instructions of a function's body.  NULL and e if one is not PTX or not implemented; other
 * instructions than the alu's are left out. */
static inline struct run *run_new(struct arena *a, const char *text, struct err *e)
{
	struct run *r = arena_alloc(a, sizeof *r);
	const char *whole = arena_printf(a, ".version 8.5\n.target sm_90\n.address_size 64\n.visible .entry f()\n{\n%s\n}\n", text);
	const struct ptx_module *m = ptx_parse(whole, strlen(whole), a, e);
	if (!m)
		return NULL;
	r->arena = a;
	r->f = m->funcs[0];
	r->n_rows = r->f->n_regs;
	unsigned char *room = arena_alloc(a, RUN_ROW * RUN_MAX_ROWS + 64);
	r->regs = room + (64 - (uintptr_t)room % 64) % 64;
	for (uint32_t i = 0; i < r->f->n_insns && r->n < RUN_MAX_INSNS; i++) {
		const struct ptx_insn *in = &r->f->insns[i];
		if (!alu_handles(in))
			continue;
		if (alu_select(r->f, in, &r->choices[r->n], e) < 0)
			return NULL;
		run_lower(r, in, &r->insns[r->n], &r->choices[r->n]);
		r->n++;
	}
	return r;
}

/* The row of a register by name, with its percent sign. */
static inline void *run_row(struct run *r, const char *name)
{
	for (uint32_t i = 0; i < r->f->n_regs; i++)
		if (strcmp(r->f->regs[i].name, name) == 0)
			return r->regs + RUN_ROW * i;
	printf("no register %s\n", name);
	abort();
}

static inline void run_exec(struct run *r, uint32_t mask)
{
	for (unsigned i = 0; i < r->n; i++)
		r->insns[i].fn(r->regs, &r->insns[i], mask);
}

#endif
