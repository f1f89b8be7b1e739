/* Lowering: drives the passes over one function, then over all that a module's kernels can reach. */
#include "lower_func.h"
#include "exec_ops.h"
#include "pace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FRAME = 8 << 20 };		/* bytes of a warp's registers */

/* ---- messages ---- */

static const char *base_name(const char *path)
{
	const char *s = strrchr(path, '/');
	return s ? s + 1 : path;
}

int lower_fail(struct lower *l, const struct ptx_insn *in, const char *fmt, ...)
{
	char text[600];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	const struct ptx_loc *loc = &l->module->locs[in->loc];
	if (in->loc && loc->file && loc->line)
		return err_input(l->e, "%s:%u: %s", base_name(loc->file), loc->line, text);
	return err_input(l->e, "PTX line %u: %s", in->ptx_line, text);
}

int lower_unsupported(struct lower *l, const struct ptx_insn *in)
{
	return lower_fail(l, in, "%s is not supported by the emulated device", ptx_print_insn(l->f, in, l->scratch));
}

/* ---- emission ---- */

struct insn *lower_emit(struct lower *l, enum insn_kind kind)
{
	if (l->n_code == l->room_code) {
		l->room_code = l->room_code ? 2 * l->room_code : 256;
		struct insn *code = arena_new_array(l->scratch, struct insn, l->room_code);
		struct ptx_range *ranges = arena_new_array(l->scratch, struct ptx_range, l->room_code);
		if (l->n_code) {
			memcpy(code, l->code, l->n_code * sizeof *code);
			memcpy(ranges, l->ranges, l->n_code * sizeof *ranges);
		}
		l->code = code;
		l->ranges = ranges;
	}
	struct insn *in = &l->code[l->n_code];
	*in = (struct insn){.kind = (uint8_t)kind, .guard = NO_ROW};
	l->ranges[l->n_code++] = (struct ptx_range){l->current, l->current + 1, l->current};
	return in;
}

void *lower_detail(struct lower *l, const void *data, size_t size)
{
	return arena_dup(l->arena, data, size);
}

void lower_site(struct lower *l, struct access *a)
{
	if (l->n_sites == l->room_sites) {
		l->room_sites = l->room_sites ? 2 * l->room_sites : 64;
		const struct access **sites = arena_new_array(l->scratch, const struct access *, l->room_sites);
		uint32_t *insns = arena_new_array(l->scratch, uint32_t, l->room_sites);
		if (l->n_sites) {
			memcpy(sites, l->sites, l->n_sites * sizeof *sites);
			memcpy(insns, l->site_insn, l->n_sites * sizeof *insns);
		}
		l->sites = sites;
		l->site_insn = insns;
	}
	a->op.site = l->program->n_sites + l->n_sites;
	l->sites[l->n_sites] = a;
	l->site_insn[l->n_sites++] = l->current;
}

unsigned lower_width(const struct lower *l, const struct ptx_operand *o)
{
	return o->kind == PTX_O_REG ? l->regs[o->reg].bits : 0;
}

unsigned lower_narrow(const struct lower *l, const struct ptx_operand *o)
{
	return o->kind == PTX_O_REG ? l->regs[o->reg].narrow : 0;
}

static uint32_t reg_row(struct lower *l, uint32_t r)
{
	r = regs_root(l, r);
	return l->regs[r].constant >= 0 ? const_row(l, (uint32_t)l->regs[r].constant) : regs_row(l, r);
}

static uint64_t literal(const struct ptx_operand *o, unsigned bits)
{
	uint64_t v = o->imm;
	if (o->kind == PTX_O_F64 && bits == 32) {
		double d;
		memcpy(&d, &v, sizeof d);
		float f = (float)d;
		uint32_t u;
		memcpy(&u, &f, sizeof u);
		v = u;
	}
	return v;
}

uint32_t lower_row(struct lower *l, const struct ptx_operand *o, unsigned bits)
{
	switch (o->kind) {
	case PTX_O_REG:
		l->misfit |= bits > l->regs[o->reg].bits;	/* its row would end too early */
		return reg_row(l, (uint32_t)o->reg);
	case PTX_O_INT:
	case PTX_O_F32:
	case PTX_O_F64:
		return const_row(l, const_value(l, literal(o, bits), bits));
	case PTX_O_SREG:
		return const_row(l, const_add(l, &(struct constant){.kind = CONST_SREG, .bits = (uint8_t)bits, .value = o->sreg}));
	case PTX_O_VAR:
		return const_row(l, const_of_var(l, o->var, o->imm, bits));
	case PTX_O_FUNC:
		lower_callee(l, o->func);
		return const_row(l, const_add(l, &(struct constant){.kind = CONST_FUNC, .bits = 64, .value = o->func->index}));
	default:
		l->misfit |= o->kind != PTX_O_SINK;
		return NO_ROW;
	}
}

void lower_guard(struct lower *l, const struct ptx_insn *in, struct insn *to)
{
	if (in->guard < 0)
		return;
	to->guard = reg_row(l, (uint32_t)in->guard);
	to->guard_not = in->guard_not;
	if (to->kind == K_ALU)
		to->kind = K_ALU_IF;
	if (to->kind == K_OP)
		to->kind = K_OP_IF;
}

void lower_callee(struct lower *l, struct ptx_func *f)
{
	if (l->program->called_by[f->index] == l->f->index + 1)
		return;
	l->program->called_by[f->index] = l->f->index + 1;
	if (l->n_callees == l->room_callees) {
		l->room_callees = l->room_callees ? 2 * l->room_callees : 8;
		struct ptx_func **more = arena_new_array(l->scratch, struct ptx_func *, l->room_callees);
		if (l->n_callees)
			memcpy(more, l->callees, l->n_callees * sizeof *more);
		l->callees = more;
	}
	l->callees[l->n_callees++] = f;
}

/* ---- register to register ---- */

static uint32_t alu_row(struct lower *l, const struct ptx_insn *in, unsigned i, unsigned j)
{
	const struct ptx_operand *o = &in->ops[i];
	if (o->kind == PTX_O_VEC)
		o = &o->elems[j];
	if (o->kind == PTX_O_INT || o->kind == PTX_O_F32 || o->kind == PTX_O_F64)
		return const_row(l, const_value(l, alu_immediate(l->f, in, i, j), alu_operand_bits(l->f, in, i, j)));
	if (o->kind == PTX_O_PAIR)
		return o->reg >= 0 ? reg_row(l, (uint32_t)o->reg) : ALU_SINK;
	return lower_row(l, o, o->kind == PTX_O_REG ? 0 : alu_operand_bits(l->f, in, i, j));
}

static const uint32_t *alu_rows(struct lower *l, const struct ptx_insn *in)
{
	uint32_t n = 0, at = 0;
	for (unsigned i = 0; i < in->n_ops; i++)
		n += in->ops[i].kind == PTX_O_VEC ? in->ops[i].n : in->ops[i].kind == PTX_O_PAIR ? 2 : 1;
	uint32_t *rows = arena_new_array(l->arena, uint32_t, n);
	for (unsigned i = 0; i < in->n_ops; i++) {
		uint32_t elems = in->ops[i].kind == PTX_O_VEC ? in->ops[i].n : 1;
		for (uint32_t j = 0; j < elems; j++)
			rows[at++] = alu_row(l, in, i, j);
		if (in->ops[i].kind == PTX_O_PAIR)
			rows[at++] = in->ops[i].reg2 >= 0 ? reg_row(l, (uint32_t)in->ops[i].reg2) : ALU_SINK;
	}
	return rows;
}

static bool has_vector(const struct ptx_insn *in)
{
	for (unsigned i = 0; i < in->n_ops; i++)
		if (in->ops[i].kind == PTX_O_VEC)
			return true;
	return false;
}

static void fill_alu(struct lower *l, const struct ptx_insn *in, const struct alu_choice *c, struct alu_insn *out)
{
	uint32_t *slot[4] = {&out->d, &out->a, &out->b, &out->c};
	out->fn = c->fn;
	out->imm = c->imm;
	out->d2 = ALU_SINK;
	if (c->uses_carry || c->sets_carry)
		out->cc = reg_row(l, l->f->n_regs);
	if (has_vector(in) || in->n_ops > 4)
		out->rows = alu_rows(l, in);
	for (unsigned i = 0; i < in->n_ops && i < 4; i++)
		if (in->ops[i].kind != PTX_O_VEC)
			*slot[i] = alu_row(l, in, i, 0);
	if (in->n_ops && in->ops[0].kind == PTX_O_PAIR && in->ops[0].reg2 >= 0)
		out->d2 = reg_row(l, (uint32_t)in->ops[0].reg2);
}

static int emit_alu(struct lower *l, const struct ptx_insn *in, const struct alu_choice *c)
{
	for (unsigned i = 0; i < in->n_ops; i++)
		if (in->ops[i].kind == PTX_O_SREG && in->ops[i].sreg >= PTX_SREG_CLOCK && in->ops[i].sreg <= PTX_SREG_GLOBALTIMER_HI)
			return lower_fail(l, in, "%s can be read by mov alone", "a clock register");
	l->pipes[l->current] = (uint8_t)c->pipe;
	if (c->tensor_flops) {
		if (!l->flops)
			l->flops = arena_new_array(l->arena, uint32_t, l->f->n_insns);
		l->flops[l->current] = c->tensor_flops;
	}
	if (!c->whole_warp) {
		struct alu_insn alu = {0};
		fill_alu(l, in, c, &alu);
		struct insn *to = lower_emit(l, K_ALU);
		to->alu = alu;
		lower_guard(l, in, to);
		return 0;
	}
	struct insn inner = {.kind = K_ALU, .guard = NO_ROW};
	fill_alu(l, in, c, &inner.alu);
	struct collective_op op = {.what = C_WHOLE, .member = NO_ROW, .inner = lower_detail(l, &inner, sizeof inner)};
	struct insn *to = lower_emit(l, K_COLLECTIVE);
	to->detail = lower_detail(l, &op, sizeof op);
	lower_guard(l, in, to);
	return 0;
}

/* ---- moves that are not the alu's ---- */

static bool is_special_move(const struct ptx_insn *in)
{
	if (in->op != PTX_MOV || in->n_ops != 2)
		return false;
	uint8_t k = in->ops[1].kind;
	return k == PTX_O_SREG || k == PTX_O_VAR || k == PTX_O_FUNC;
}

static int emit_special_move(struct lower *l, const struct ptx_insn *in)
{
	const struct ptx_operand *d = &in->ops[0], *s = &in->ops[1];
	unsigned bits = lower_width(l, d);
	if (bits == 0 || bits > 64)
		return lower_unsupported(l, in);
	l->pipes[l->current] = PIPE_INT;
	if (s->kind == PTX_O_SREG && s->sreg >= PTX_SREG_CLOCK && s->sreg <= PTX_SREG_GLOBALTIMER_HI) {
		struct insn *to = lower_emit(l, K_OP);
		to->op = exec_clock;
		to->d = lower_row(l, d, bits);
		to->aux = bits;
		to->imm = s->sreg;
		to->spin = 1;
		lower_guard(l, in, to);
		return 0;
	}
	if (s->kind == PTX_O_VAR && s->var->space == PTX_SPACE_PARAM && !const_is_entry_param(l, s))
		return lower_fail(l, in, "the address of parameter %s of a device function is taken: pass it by pointer", s->var->name);
	uint32_t from = lower_row(l, s, lower_narrow(l, d) ? lower_narrow(l, d) : bits);
	struct insn *to = lower_emit(l, K_ALU);
	to->alu.fn = bits == 1 ? exec_copy1 : bits == 32 ? exec_copy32 : exec_copy64;
	to->alu.d = lower_row(l, d, bits);
	to->alu.a = from;
	lower_guard(l, in, to);
	return 0;
}

/* ---- one function ---- */

/* What stands where a result goes. */
static bool takes_result(const struct ptx_operand *o)
{
	return o->kind == PTX_O_REG || o->kind == PTX_O_PAIR || o->kind == PTX_O_SINK || o->kind == PTX_O_VEC;
}

static int emit_kind(struct lower *l, const struct ptx_insn *in)
{
	if (l->is_alu[l->current])
		return emit_alu(l, in, &l->choices[l->current]);
	if (regs_has_destination(in) && !takes_result(&in->ops[0]))
		return lower_unsupported(l, in);
	if (is_special_move(in))
		return emit_special_move(l, in);
	int (*const parts[])(struct lower *, const struct ptx_insn *) = {lower_memory, lower_async, lower_sync, lower_control};
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
		int r = parts[i](l, in);
		if (r)
			return r < 0 ? -1 : 0;
	}
	return lower_unsupported(l, in);
}

static int emit_insn(struct lower *l, const struct ptx_insn *in)
{
	if (emit_kind(l, in) < 0)
		return -1;
	return l->misfit ? lower_unsupported(l, in) : 0;
}

static int choose(struct lower *l)
{
	l->choices = arena_new_array(l->scratch, struct alu_choice, l->f->n_insns);
	l->is_alu = arena_alloc(l->scratch, l->f->n_insns);
	for (uint32_t i = 0; i < l->f->n_insns; i++) {
		const struct ptx_insn *in = &l->f->insns[i];
		if (l->gone[i] || is_special_move(in) || !alu_handles(in))
			continue;
		l->is_alu[i] = 1;
		if (alu_select(l->f, in, &l->choices[i], l->e) == 0)
			continue;
		const struct ptx_loc *loc = &l->module->locs[in->loc];
		if (in->loc && loc->file && loc->line)
			return err_wrap(l->e, "%s:%u", base_name(loc->file), loc->line);
		return -1;
	}
	return 0;
}

/* What vanished from a block is counted with the lowered instruction before it, or the block's first. */
static int emit_block(struct lower *l, const struct flow_block *b)
{
	uint32_t first = l->n_code;
	for (l->current = b->first; l->current < b->end; l->current++)
		if (!l->gone[l->current] && emit_insn(l, &l->f->insns[l->current]) < 0)
			return -1;
	if (l->n_code == first) {
		l->current = b->first;
		lower_emit(l, K_NOP);
	}
	l->ranges[first].first = b->first;
	for (uint32_t i = first; i + 1 < l->n_code; i++)
		l->ranges[i].end = l->ranges[i + 1].first;
	l->ranges[l->n_code - 1].end = b->end;
	return 0;
}

static int emit_blocks(struct lower *l)
{
	const struct flow *w = &l->flow;
	uint32_t *place = arena_new_array(l->scratch, uint32_t, w->n_blocks + 1);
	for (uint32_t b = 0; b < w->n_blocks; b++) {
		place[b] = l->n_code;
		if (w->blocks[b].reachable && emit_block(l, &w->blocks[b]) < 0)
			return -1;
	}
	l->current = l->f->n_insns;
	place[w->n_blocks] = l->n_code;
	lower_emit(l, l->f->is_entry ? K_EXIT : K_RET);
	l->ranges[l->n_code - 1] = (struct ptx_range){l->f->n_insns, l->f->n_insns, l->f->n_insns - 1};
	lower_emit(l, K_NOP);	/* never run: a place for the tallies behind the last instruction */
	l->ranges[l->n_code - 1] = (struct ptx_range){0};
	for (uint32_t i = 0; i < l->n_code; i++) {
		struct insn *in = &l->code[i];
		if (in->kind == K_BRA)
			in->target = place[in->target >= l->f->n_insns ? w->n_blocks : w->block_of[in->target]];
		if (in->kind != K_BRX)
			continue;
		struct branch_table *t = (struct branch_table *)in->detail;
		uint32_t *targets = arena_new_array(l->arena, uint32_t, t->n);
		for (uint32_t k = 0; k < t->n; k++)
			targets[k] = place[t->targets[k] >= l->f->n_insns ? w->n_blocks : w->block_of[t->targets[k]]];
		t->targets = targets;
	}
	return 0;
}

static void default_pipes(struct lower *l)
{
	l->pipes = arena_alloc(l->arena, l->f->n_insns + 1);
	for (uint32_t i = 0; i < l->f->n_insns; i++) {
		const struct ptx_insn *in = &l->f->insns[i];
		if (l->is_alu[i])
			l->pipes[i] = (uint8_t)l->choices[i].pipe;
		else if (in->op == PTX_MOV || in->op == PTX_CVTA || in->op == PTX_ISSPACEP || in->op == PTX_MAPA)
			l->pipes[i] = PIPE_INT;
		else if (in->op == PTX_LD || in->op == PTX_PREFETCH || in->op == PTX_PREFETCHU || in->op == PTX_CREATEPOLICY)
			l->pipes[i] = PIPE_MEMORY;
		else
			l->pipes[i] = PIPE_CONTROL;
	}
}

static void mark_unreachable(struct lower *l)
{
	l->gone = arena_alloc(l->scratch, l->f->n_insns + 1);
	for (uint32_t i = 0; i < l->f->n_insns; i++)
		l->gone[i] = !l->flow.blocks[l->flow.block_of[i]].reachable;
}

/* Each branch through a table is an edge to each of its targets. */
static int check_tables(struct lower *l)
{
	enum { MAX_TARGETS = 4 << 20 };
	uint64_t n = 0;
	for (uint32_t i = 0; i < l->f->n_insns; i++) {
		const struct ptx_insn *in = &l->f->insns[i];
		for (unsigned k = 0; in->op == PTX_BRX && k < in->n_ops; k++)
			n += in->ops[k].kind == PTX_O_TABLE ? in->ops[k].table->n : 0;
	}
	if (n > MAX_TARGETS)
		return err_input(l->e, "%s has branches through tables with %llu targets in all; at most %d are supported", l->f->name,
				 (unsigned long long)n, MAX_TARGETS);
	return 0;
}

static int run_passes(struct lower *l)
{
	if (check_tables(l) < 0)
		return -1;
	if (l->f->n_insns) {
		flow_build(l);
		mark_unreachable(l);
	}
	if (choose(l) < 0)
		return -1;
	default_pipes(l);
	lower_params(l);
	regs_analyse(l);
	const_propagate(l);
	lower_note_cas(l);
	lower_join_loads(l);
	regs_drop_unused(l);
	regs_allocate(l, (uint32_t)l->frame_end);
	if (l->f->n_insns)
		return emit_blocks(l);
	lower_emit(l, l->f->is_entry ? K_EXIT : K_RET);
	lower_emit(l, K_NOP);
	l->ranges[0] = l->ranges[1] = (struct ptx_range){0};
	return 0;
}

static void place_constants(struct lower *l)
{
	uint32_t n = 0;
	struct constant *out = arena_new_array(l->arena, struct constant, l->n_constants);
	for (uint32_t i = 0; i < l->n_constants; i++)
		if (l->constants[i].row != NO_ROW)
			out[n++] = l->constants[i];
	l->out->constants = out;
	l->out->n_constants = n;
}

static void keep(struct lower *l, uint32_t first)
{
	struct lowered *o = l->out;
	o->first = first;
	o->n = l->n_code;
	o->ranges = arena_dup(l->arena, l->ranges, l->n_code * sizeof *l->ranges);
	o->pipes = l->pipes;
	o->flops = l->flops;
	struct pace *pace = arena_new_array(l->arena, struct pace, l->f->n_insns + 1);
	pace_of(l->f, pace);
	o->pace = pace;
	o->n_sites = l->n_sites;
	o->first_site = l->program->n_sites;
	if (l->n_sites) {
		o->sites = arena_dup(l->arena, l->sites, l->n_sites * sizeof *l->sites);
		o->site_insn = arena_dup(l->arena, l->site_insn, l->n_sites * sizeof *l->site_insn);
	}
	l->program->n_sites += l->n_sites;
	if (l->n_callees)
		o->callees = arena_dup(l->arena, l->callees, l->n_callees * sizeof *l->callees);
	o->n_callees = l->n_callees;
	if (l->n_shared)
		o->shared = arena_dup(l->arena, l->shared, l->n_shared * sizeof *l->shared);
	o->n_shared = l->n_shared;
	o->frame_bytes = (uint32_t)((l->frame_end + 63) & ~63ull);
	o->places = regs_places(l);
	place_constants(l);
}

static int append_code(struct lower *l, uint32_t *room)
{
	struct program *p = l->program;
	uint32_t first = p->n_code;
	if (p->n_code + l->n_code > *room) {
		*room = 2 * (p->n_code + l->n_code);
		struct insn *more = arena_new_array(p->arena, struct insn, *room);
		if (p->n_code)
			memcpy(more, p->code, p->n_code * sizeof *more);
		p->code = more;
	}
	for (uint32_t i = 0; i < l->n_code; i++) {
		struct insn *to = &p->code[first + i];
		*to = l->code[i];
		if (to->kind == K_BRA)
			to->target += first;
		if (to->kind == K_BRX) {
			struct branch_table *t = (struct branch_table *)to->detail;
			for (uint32_t k = 0; k < t->n; k++)
				((uint32_t *)t->targets)[k] += first;
		}
	}
	p->n_code += l->n_code;
	keep(l, first);
	return 0;
}

static int lower_function(struct program *p, struct ptx_func *f, uint32_t *room, struct err *e)
{
	struct arena *scratch = arena_new();
	struct lower l = {.program = p, .module = p->module, .f = f, .out = p->funcs[f->index], .arena = p->arena, .scratch = scratch, .e = e};
	int r = run_passes(&l);
	if (r == 0 && l.frame_end > MAX_FRAME)
		r = err_input(e, "%s needs %llu bytes of registers a warp: more than the emulated device has", f->name,
			      (unsigned long long)l.frame_end);
	if (r == 0)
		r = append_code(&l, room);
	arena_free(scratch);
	return r;
}

/* ---- the module ---- */

struct worklist {
	struct ptx_func **items;
	uint32_t n;
};

static void want(struct program *p, struct worklist *w, struct ptx_func *f)
{
	if (p->funcs[f->index] || f->is_extern)
		return;
	p->funcs[f->index] = arena_alloc(p->arena, sizeof(struct lowered));
	p->funcs[f->index]->func = f;
	p->funcs[f->index]->index = f->index;
	w->items[w->n++] = f;
}

/* Functions whose addresses stand in variables can be called through them. */
static void want_addressed(struct program *p, struct worklist *w)
{
	for (uint32_t i = 0; i < p->module->n_vars; i++)
		for (uint32_t k = 0; k < p->module->vars[i]->n_relocs; k++)
			if (p->module->vars[i]->relocs[k].func)
				want(p, w, (struct ptx_func *)p->module->vars[i]->relocs[k].func);
}

static void index_functions(struct program *p)
{
	uint32_t before = 0;
	uint32_t *of = arena_new_array(p->arena, uint32_t, p->n_code + 1);
	for (uint32_t i = 0; i < p->n_funcs; i++)
		for (uint32_t k = 0; p->funcs[i] && k < p->funcs[i]->n; k++)
			of[p->funcs[i]->first + k] = i;
	p->func_of = of;
	for (uint32_t i = 0; i < p->n_code; i++) {
		const struct lowered *o = p->funcs[of[i]];
		p->code[i].before = before;
		before += o->ranges[i - o->first].end - o->ranges[i - o->first].first;
	}
}

struct program *lower_module(const struct ptx_module *m, struct arena *a, struct err *e)
{
	struct program *p = arena_alloc(a, sizeof *p);
	struct worklist w = {arena_new_array(a, struct ptx_func *, m->n_funcs), 0};
	uint32_t room = 0;
	p->arena = a;
	p->module = m;
	p->n_funcs = m->n_funcs;
	p->funcs = arena_new_array(a, struct lowered *, m->n_funcs);
	p->called_by = arena_new_array(a, uint32_t, m->n_funcs);
	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (m->funcs[i]->is_entry)
			want(p, &w, m->funcs[i]);
	bool addressed = false;
	for (uint32_t i = 0; i < w.n; i++) {
		struct ptx_func *f = w.items[i];
		if (lower_function(p, f, &room, e) < 0)
			return NULL;
		struct lowered *o = p->funcs[f->index];
		for (uint32_t k = 0; k < o->n_callees; k++)
			want(p, &w, o->callees[k]);
		if (o->calls_indirect && !addressed) {
			addressed = true;
			want_addressed(p, &w);
		}
	}
	index_functions(p);
	return p;
}

const struct ptx_insn *lower_origin(const struct program *p, uint32_t code_index, const struct lowered **f)
{
	const struct lowered *o = p->funcs[p->func_of[code_index]];
	const struct ptx_range *r = &o->ranges[code_index - o->first];
	if (f)
		*f = o;
	return r->end > r->first || r->own ? &o->func->insns[r->own] : NULL;
}
