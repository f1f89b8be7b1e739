/* The slice of a loop: see slice.h.  A fixpoint over the PTX instructions that ran, in no order: a register counts if an
 * instruction needs it to decide, or makes from it one that counts. */
#include "slice.h"
#include "lower_func.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_INSNS = 1 << 14, MAX_PASSES = 16 };

struct item {
	uint32_t insn, pc;
};

struct work {
	const struct lowered *f;
	const struct ptx_func *func;
	const uint8_t *spaces;
	struct slice *out;
	struct item *items;
	uint32_t n;
	uint8_t *counts;		/* by register */
	uint8_t data;			/* spaces: what is stored there decides too */
	bool changed, found, opaque;
};

/* What an instruction needs whether or not its result counts, and what its result is made of. */
struct rule {
	bool guard, address, last, all, data;
	bool opaque;			/* it is not looked into */
	bool unsteady;			/* its result changes by itself, or is another warp's doing */
	bool barrier;
	uint8_t reads, writes;
};

static bool reads_clock(const struct ptx_insn *in)
{
	for (unsigned i = 0; i < in->n_ops; i++)
		if (in->ops[i].kind == PTX_O_SREG && in->ops[i].sreg >= PTX_SREG_CLOCK && in->ops[i].sreg <= PTX_SREG_GLOBALTIMER_HI)
			return true;
	return false;
}

static struct rule memory_rule(const struct ptx_insn *in, uint8_t spaces)
{
	switch (in->op) {
	case PTX_LD:
	case PTX_LDU:
		return (struct rule){.guard = true, .address = true, .reads = spaces};
	case PTX_ST:
		return (struct rule){.guard = true, .address = true, .data = true, .opaque = ptx_insn_space(in) == PTX_SPACE_PARAM};
	case PTX_ATOM:
	case PTX_RED:
		return (struct rule){.guard = true, .address = true, .data = true, .reads = spaces};
	case PTX_LDMATRIX:
		return (struct rule){.guard = true, .address = true, .reads = SLICE_SHARED};
	case PTX_STMATRIX:
		return (struct rule){.guard = true, .address = true, .writes = SLICE_SHARED};
	case PTX_WMMA:
		if (ptx_has(in, PTX_MOD_LOAD))
			return (struct rule){.guard = true, .all = true, .reads = SLICE_GLOBAL | SLICE_SHARED};
		if (ptx_has(in, PTX_MOD_STORE))
			return (struct rule){.guard = true, .address = true, .last = true, .writes = SLICE_GLOBAL | SLICE_SHARED};
		return (struct rule){0};
	case PTX_MBARRIER:
		if (ptx_has(in, PTX_MOD_TEST_WAIT) || ptx_has(in, PTX_MOD_TRY_WAIT))
			return (struct rule){.guard = true, .all = true, .reads = SLICE_SHARED};
		return (struct rule){.guard = true, .all = true, .reads = SLICE_SHARED, .writes = SLICE_SHARED};
	default:			/* cp */
		return (struct rule){.guard = true, .all = true, .writes = SLICE_GLOBAL | SLICE_SHARED};
	}
}

static struct rule rule_of(const struct ptx_insn *in, uint8_t spaces)
{
	switch (in->op) {
	case PTX_BRA:
	case PTX_EXIT:
	case PTX_RET:
	case PTX_TRAP:
	case PTX_BRKPT:
		return (struct rule){.guard = true};
	case PTX_BRX:
		return (struct rule){.guard = true, .all = true};
	case PTX_CALL:
	case PTX_ALLOCA:
	case PTX_STACKSAVE:
	case PTX_STACKRESTORE:
		return (struct rule){.opaque = true};
	case PTX_ACTIVEMASK:
		return (struct rule){.unsteady = true};
	case PTX_SHFL:
	case PTX_VOTE:
	case PTX_MATCH:
	case PTX_REDUX:
	case PTX_ELECT:
		return (struct rule){.guard = true, .last = true, .unsteady = in->op != PTX_ELECT && !ptx_has(in, PTX_MOD_SYNC)};
	case PTX_BAR:
	case PTX_BARRIER:
		return (struct rule){.guard = true, .all = true, .unsteady = ptx_has(in, PTX_MOD_RED), .barrier = !ptx_has(in, PTX_MOD_WARP)};
	case PTX_LD:
	case PTX_LDU:
	case PTX_ST:
	case PTX_ATOM:
	case PTX_RED:
	case PTX_LDMATRIX:
	case PTX_STMATRIX:
	case PTX_WMMA:
	case PTX_MBARRIER:
	case PTX_CP:
		return memory_rule(in, spaces);
	default:
		return (struct rule){.unsteady = reads_clock(in)};
	}
}

/* ---- marks ---- */

static void mark(struct work *w, uint32_t reg)
{
	const struct reg_place *g = &w->f->places[w->f->places[reg].root];
	uint8_t *c = &w->counts[w->f->places[reg].root];
	w->changed |= g->varies && !*c;
	*c = 1;
}

static void mark_use(void *user, uint32_t reg, bool def)
{
	if (!def)
		mark(user, reg);
}

static void find_counting(void *user, uint32_t reg, bool def)
{
	struct work *w = user;
	w->found |= def && w->counts[w->f->places[reg].root];
}

static bool sets_carry(const struct ptx_insn *in)
{
	return ptx_has(in, PTX_MOD_CC);
}

static bool uses_carry(const struct ptx_insn *in)
{
	return in->op == PTX_ADDC || in->op == PTX_SUBC || in->op == PTX_MADC;
}

static bool result_counts(struct work *w, const struct ptx_insn *in)
{
	w->found = sets_carry(in) && w->counts[w->func->n_regs];
	if (regs_has_destination(in))
		regs_visit_operand(&in->ops[0], true, find_counting, w);
	return w->found;
}

static void mark_operands(struct work *w, const struct ptx_insn *in)
{
	for (unsigned i = regs_has_destination(in) ? 1 : 0; i < in->n_ops; i++)
		regs_visit_operand(&in->ops[i], false, mark_use, w);
	if (uses_carry(in))
		mark(w, w->func->n_regs);
}

static void mark_insn(struct work *w, const struct item *at)
{
	const struct ptx_insn *in = &w->func->insns[at->insn];
	struct rule r = rule_of(in, w->spaces[at->pc % SLICE_SPACES]);
	bool counts = result_counts(w, in);
	w->opaque |= r.opaque || (counts && r.unsteady);
	w->out->barriers |= r.barrier;
	w->out->writes |= r.writes;
	if (counts)
		w->out->reads |= r.reads;
	if (in->guard >= 0 && (r.guard || counts))
		mark(w, (uint32_t)in->guard);
	if (counts || r.all || (r.data && w->data & w->spaces[at->pc % SLICE_SPACES])) {
		mark_operands(w, in);
		return;
	}
	for (unsigned i = 0; i < in->n_ops; i++)
		if ((r.address && in->ops[i].kind == PTX_O_MEM) || (r.last && i && i + 1 == in->n_ops))
			regs_visit_operand(&in->ops[i], false, mark_use, w);
}

/* ---- all of it ---- */

static bool gather(struct work *w, const struct program *p, const struct code_run *runs, uint32_t n)
{
	w->f = p->funcs[p->func_of[runs[0].from]];
	w->func = w->f->func;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t pc = runs[i].from; pc <= runs[i].to; pc++) {
			if (pc - w->f->first >= w->f->n)
				return false;
			const struct ptx_range *r = &w->f->ranges[pc - w->f->first];
			for (uint32_t k = r->first; k < r->end; k++) {
				if (w->n == MAX_INSNS)
					return false;
				w->items[w->n++] = (struct item){k, pc};
			}
		}
	return w->n > 0;
}

static bool settle(struct work *w)
{
	w->changed = true;
	for (unsigned pass = 0; w->changed && !w->opaque; pass++) {
		if (pass == MAX_PASSES)
			return false;
		w->changed = false;
		for (uint32_t i = w->n; i-- > 0;)
			mark_insn(w, &w->items[i]);
	}
	return !w->opaque;
}

static void collect(struct work *w)
{
	struct slice *s = w->out;
	for (uint32_t r = 0; r <= w->func->n_regs; r++) {
		const struct reg_place *g = &w->f->places[r];
		if (g->root != r || !g->varies || !w->counts[r])
			continue;
		if (s->n == s->room) {
			s->room = s->room ? 2 * s->room : 16;
			s->regs = realloc(s->regs, s->room * sizeof *s->regs);
			if (!s->regs)
				BUG("out of memory");
		}
		s->regs[s->n++] = (struct slice_reg){.row = g->row, .start = g->start, .end = g->end, .bits = g->bits};
	}
}

bool slice_make(struct slice *s, const struct program *p, const struct code_run *runs, uint32_t n, const uint8_t *spaces)
{
	struct work w = {.out = s, .spaces = spaces};
	s->n = 0;
	s->reads = s->writes = 0;
	s->barriers = false;
	if (n == 0)
		return false;
	w.items = malloc(MAX_INSNS * sizeof *w.items);
	if (!w.items)
		BUG("out of memory");
	bool ok = gather(&w, p, runs, n);
	if (ok) {
		s->f = w.f;
		w.counts = calloc(w.func->n_regs + 1u, 1);
		if (!w.counts)
			BUG("out of memory");
		ok = settle(&w);
		/* decided by memory: then what is written there decides as well */
		while (ok && w.data != s->reads) {
			w.data = s->reads;
			ok = settle(&w);
		}
		if (ok)
			collect(&w);
	}
	free(w.items);
	free(w.counts);
	return ok;
}

void slice_free(struct slice *s)
{
	free(s->regs);
	*s = (struct slice){0};
}
