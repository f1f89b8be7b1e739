/* Registers to rows: who reads and writes what, lives over the control flow, and a linear scan that lets registers
 * whose lives don't overlap share a row.
 *
 * Lives are intervals of positions in the text: instruction i reads at 2i and writes at 2i + 1.  An instruction with
 * several destinations holds its sources until it has written, so that it never overwrites one too early.  A guarded
 * write doesn't end a life.
 */
#include "lower_func.h"

#include <stdlib.h>
#include <string.h>

bool regs_has_destination(const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_ST:
	case PTX_RED:
	case PTX_BRA:
	case PTX_BRX:
	case PTX_CALL:
	case PTX_RET:
	case PTX_EXIT:
	case PTX_TRAP:
	case PTX_BRKPT:
	case PTX_MEMBAR:
	case PTX_FENCE:
	case PTX_NANOSLEEP:
	case PTX_PREFETCH:
	case PTX_PREFETCHU:
	case PTX_CP:
	case PTX_STMATRIX:
	case PTX_GRIDDEPCONTROL:
	case PTX_SETMAXNREG:
	case PTX_DISCARD:
	case PTX_APPLYPRIORITY:
	case PTX_PMEVENT:
	case PTX_STACKRESTORE:
		return false;
	case PTX_BAR:
	case PTX_BARRIER:
		return ptx_has(in, PTX_MOD_RED);
	case PTX_WMMA:
		return !ptx_has(in, PTX_MOD_STORE);
	case PTX_MBARRIER:
		return !ptx_has(in, PTX_MOD_INIT) && !ptx_has(in, PTX_MOD_INVAL) &&
		       !(ptx_has(in, PTX_MOD_EXPECT_TX) && !ptx_has(in, PTX_MOD_ARRIVE) && !ptx_has(in, PTX_MOD_ARRIVE_DROP)) &&
		       !ptx_has(in, PTX_MOD_COMPLETE_TX);
	default:
		return in->n_ops > 0;
	}
}

void regs_visit_operand(const struct ptx_operand *o, bool def, visit_fn *visit, void *user)
{
	switch (o->kind) {
	case PTX_O_REG:
		visit(user, (uint32_t)o->reg, def);
		break;
	case PTX_O_PAIR:
		if (o->reg >= 0)
			visit(user, (uint32_t)o->reg, def);
		if (o->reg2 >= 0)
			visit(user, (uint32_t)o->reg2, def);
		break;
	case PTX_O_MEM:
		if (o->reg >= 0)
			visit(user, (uint32_t)o->reg, false);
		break;
	case PTX_O_VEC:
	case PTX_O_LIST:
		for (uint32_t i = 0; i < o->n; i++)
			regs_visit_operand(&o->elems[i], def, visit, user);
		break;
	default:
		break;
	}
}

void regs_visit(const struct lower *l, uint32_t insn, visit_fn *visit, void *user)
{
	const struct ptx_insn *in = &l->f->insns[insn];
	bool dest = regs_has_destination(in);
	if (in->guard >= 0)
		visit(user, (uint32_t)in->guard, false);
	for (unsigned i = dest ? 1 : 0; i < in->n_ops; i++)
		regs_visit_operand(&in->ops[i], false, visit, user);
	if (l->is_alu[insn] && l->choices[insn].uses_carry)
		visit(user, l->f->n_regs, false);
	if (dest)
		regs_visit_operand(&in->ops[0], true, visit, user);
	if (l->is_alu[insn] && l->choices[insn].sets_carry)
		visit(user, l->f->n_regs, true);
}

uint32_t regs_root(const struct lower *l, uint32_t r)
{
	while (l->regs[r].alias >= 0)
		r = (uint32_t)l->regs[r].alias;
	return r;
}

/* ---- definitions and single assignment ---- */

struct scan {
	struct lower *l;
	uint32_t insn;
};

static void count_definition(void *user, uint32_t r, bool def)
{
	struct scan *s = user;
	struct reg *g = &s->l->regs[r];
	if (!def)
		return;
	g->n_defs += s->l->f->insns[s->insn].guard >= 0 ? 2 : 1;
	g->def = s->insn;
}

static void check_dominance(void *user, uint32_t r, bool def)
{
	struct scan *s = user;
	const struct flow *w = &s->l->flow;
	struct reg *g = &s->l->regs[r];
	if (def || !g->ssa)
		return;
	uint32_t a = w->block_of[g->def], b = w->block_of[s->insn];
	if (a == b ? g->def >= s->insn : !flow_dominates(w, a, b))
		g->ssa = false;
}

static void each_insn(struct lower *l, visit_fn *visit)
{
	struct scan s = {.l = l};
	for (s.insn = 0; s.insn < l->f->n_insns; s.insn++)
		if (!l->gone[s.insn])
			regs_visit(l, s.insn, visit, &s);
}

static void describe_regs(struct lower *l)
{
	l->n_regs = l->f->n_regs + 1;
	l->regs = arena_new_array(l->scratch, struct reg, l->n_regs);
	for (uint32_t r = 0; r < l->n_regs; r++) {
		struct reg *g = &l->regs[r];
		unsigned bits = r < l->f->n_regs ? ptx_type_bits(l->f->regs[r].type) : 1;
		g->narrow = bits > 1 && bits < 32 ? (uint8_t)bits : 0;
		g->bits = bits == 1 ? 1 : bits <= 32 ? 32 : bits <= 64 ? 64 : 128;
		g->alias = g->constant = -1;
	}
}

void regs_analyse(struct lower *l)
{
	describe_regs(l);
	each_insn(l, count_definition);
	for (uint32_t r = 0; r < l->n_regs; r++)
		l->regs[r].ssa = l->regs[r].n_defs == 1;
	each_insn(l, check_dominance);
}

/* ---- what nobody reads ---- */

static void count_use(void *user, uint32_t r, bool def)
{
	struct scan *s = user;
	if (!def)
		s->l->regs[regs_root(s->l, r)].n_uses++;
}

static void drop_use(void *user, uint32_t r, bool def)
{
	struct scan *s = user;
	if (!def)
		s->l->regs[regs_root(s->l, r)].n_uses--;
}

static void any_used(void *user, uint32_t r, bool def)
{
	struct scan *s = user;
	if (def && s->l->regs[r].n_uses)
		s->insn = 1;
}

static bool is_pure(const struct lower *l, uint32_t i)
{
	const struct ptx_insn *in = &l->f->insns[i];
	if (l->is_alu[i])
		return !l->choices[i].whole_warp;
	switch (in->op) {
	case PTX_MOV:
	case PTX_CVTA:
	case PTX_ISSPACEP:
	case PTX_MAPA:
	case PTX_GETCTARANK:
	case PTX_CREATEPOLICY:
		return true;
	case PTX_LD:
		return ptx_insn_space(in) == PTX_SPACE_PARAM && in->n_ops > 1 && const_is_entry_param(l, &in->ops[1]);
	default:
		return false;
	}
}

/* Backwards, so that a chain that ends in nothing goes in one pass; what loops feed to themselves stays. */
void regs_drop_unused(struct lower *l)
{
	each_insn(l, count_use);
	for (uint32_t i = l->f->n_insns; i-- > 0;) {
		if (l->gone[i] || !is_pure(l, i))
			continue;
		struct scan s = {.l = l, .insn = 0};
		regs_visit(l, i, any_used, &s);
		if (s.insn)
			continue;
		s.insn = i;
		regs_visit(l, i, drop_use, &s);
		l->gone[i] = 1;
	}
}

/* ---- liveness of registers that live across blocks ---- */

enum { MAX_SET_WORDS = 4 << 20 };

struct live {
	struct lower *l;
	uint32_t *first_block;		/* by register: UINT32_MAX not met, UINT32_MAX - 1 global */
	uint32_t *dense;		/* by register: number among the global ones */
	uint32_t *global, n_global;
	size_t words;
	uint64_t *exposed, *killed, *in, *out;	/* bit sets by block */
	uint64_t *defined;		/* by register: block + 1 that has defined it so far */
	uint32_t insn, block;
};

static void find_global(void *user, uint32_t r, bool def)
{
	struct live *v = user;
	r = regs_root(v->l, r);
	if (v->l->regs[r].constant >= 0)
		return;
	if (v->first_block[r] == UINT32_MAX)
		v->first_block[r] = v->block;
	bool guarded = v->l->f->insns[v->insn].guard >= 0;
	bool exposed = !def && v->defined[r] != v->block + 1ull;
	if (v->first_block[r] != v->block || exposed || (def && guarded && v->defined[r] != v->block + 1ull)) {
		if (v->first_block[r] != UINT32_MAX - 1) {
			v->dense[r] = v->n_global;
			v->global[v->n_global++] = r;
		}
		v->first_block[r] = UINT32_MAX - 1;
	}
	if (def && !guarded)
		v->defined[r] = v->block + 1ull;
}

static void expose(void *user, uint32_t r, bool def)
{
	struct live *v = user;
	r = regs_root(v->l, r);
	if (v->first_block[r] != UINT32_MAX - 1 || v->l->regs[r].constant >= 0)
		return;
	uint64_t *killed = v->killed + v->block * v->words, bit = 1ull << (v->dense[r] & 63);
	size_t w = v->dense[r] >> 6;
	bool guarded = v->l->f->insns[v->insn].guard >= 0;
	if (!def && !(killed[w] & bit))
		v->exposed[v->block * v->words + w] |= bit;
	if (def && !guarded)
		killed[w] |= bit;
}

static void each_block_insn(struct live *v, visit_fn *visit)
{
	const struct flow *w = &v->l->flow;
	for (uint32_t i = 0; i < w->n_order; i++) {
		v->block = w->order[i];
		for (v->insn = w->blocks[v->block].first; v->insn < w->blocks[v->block].end; v->insn++)
			if (!v->l->gone[v->insn])
				regs_visit(v->l, v->insn, visit, v);
	}
}

static bool flow_back(struct live *v, uint32_t b)
{
	const struct flow_block *p = &v->l->flow.blocks[b];
	uint64_t *out = v->out + b * v->words, *in = v->in + b * v->words;
	bool changed = false;
	for (uint32_t k = 0; k < p->n_succ; k++) {
		const uint64_t *s = v->in + p->succ[k] * v->words;
		for (size_t w = 0; w < v->words; w++)
			out[w] |= s[w];
	}
	for (size_t w = 0; w < v->words; w++) {
		uint64_t fresh = v->exposed[b * v->words + w] | (out[w] & ~v->killed[b * v->words + w]);
		changed |= fresh != in[w];
		in[w] = fresh;
	}
	return changed;
}

static void widen(struct reg *g, uint32_t at)
{
	if (at < g->start)
		g->start = at;
	if (at > g->end)
		g->end = at;
}

static void widen_over_block(struct live *v, uint32_t b)
{
	const struct flow_block *p = &v->l->flow.blocks[b];
	const uint64_t *in = v->in + b * v->words, *out = v->out + b * v->words;
	for (size_t w = 0; w < v->words; w++) {
		for (uint64_t m = in[w]; m; m &= m - 1)
			widen(&v->l->regs[v->global[w * 64 + (unsigned)__builtin_ctzll(m)]], 2 * p->first);
		for (uint64_t m = out[w]; m; m &= m - 1)
			widen(&v->l->regs[v->global[w * 64 + (unsigned)__builtin_ctzll(m)]], 2 * p->end - 1);
	}
}

static bool has_several_destinations(const struct lower *l, uint32_t i)
{
	const struct ptx_insn *in = &l->f->insns[i];
	if (!regs_has_destination(in))
		return false;
	return in->ops[0].kind == PTX_O_VEC || in->ops[0].kind == PTX_O_PAIR ||
	       (l->is_alu[i] && l->choices[i].sets_carry) || l->regs[in->ops[0].kind == PTX_O_REG ? in->ops[0].reg : 0].bits == 128;
}

static void widen_by_insn(void *user, uint32_t r, bool def)
{
	struct live *v = user;
	r = regs_root(v->l, r);
	if (v->l->regs[r].constant >= 0)
		return;
	widen(&v->l->regs[r], 2 * v->insn + (def || has_several_destinations(v->l, v->insn)));
}

/* For hostile text, where the sets would not fit: whatever crosses a block lives everywhere. */
static void widen_all(struct live *v)
{
	for (uint32_t i = 0; i < v->n_global; i++) {
		widen(&v->l->regs[v->global[i]], 0);
		widen(&v->l->regs[v->global[i]], 2 * v->l->f->n_insns - 1);
	}
}

static void solve(struct live *v)
{
	const struct flow *w = &v->l->flow;
	size_t n = v->words * w->n_blocks;
	v->exposed = arena_new_array(v->l->scratch, uint64_t, n);
	v->killed = arena_new_array(v->l->scratch, uint64_t, n);
	v->in = arena_new_array(v->l->scratch, uint64_t, n);
	v->out = arena_new_array(v->l->scratch, uint64_t, n);
	each_block_insn(v, expose);
	uint64_t left = 2 * MAX_SET_WORDS + 200 * (uint64_t)n;	/* compilers' code takes a few passes */
	for (bool changed = true; changed && left >= n; left -= n) {
		changed = false;
		for (uint32_t i = w->n_order; i-- > 0;)
			changed |= flow_back(v, w->order[i]);
		if (changed && left < 2 * n)
			widen_all(v);
	}
	for (uint32_t i = 0; i < w->n_order; i++)
		widen_over_block(v, w->order[i]);
}

static void find_lives(struct lower *l)
{
	struct live v = {.l = l};
	const struct flow *w = &l->flow;
	v.first_block = arena_new_array(l->scratch, uint32_t, l->n_regs);
	memset(v.first_block, 0xff, sizeof(uint32_t) * l->n_regs);
	v.dense = arena_new_array(l->scratch, uint32_t, l->n_regs);
	v.global = arena_new_array(l->scratch, uint32_t, l->n_regs);
	v.defined = arena_new_array(l->scratch, uint64_t, l->n_regs);
	each_block_insn(&v, find_global);
	for (uint32_t r = 0; r < l->n_regs; r++)
		l->regs[r].start = UINT32_MAX;
	each_block_insn(&v, widen_by_insn);
	v.words = (v.n_global + 63) / 64;
	if (v.words * w->n_blocks > MAX_SET_WORDS)
		widen_all(&v);
	else
		solve(&v);
}

/* ---- linear scan ---- */

static enum reg_class class_of(const struct reg *g)
{
	return g->bits == 1 ? CLASS_PRED : g->bits == 32 ? CLASS_32 : g->bits == 64 ? CLASS_64 : CLASS_128;
}

struct pool {
	uint32_t *free, n_free, n;
};

static uint32_t pool_take(struct pool *p)
{
	return p->n_free ? p->free[--p->n_free] : p->n++;
}

/* Registers by the position at which they start and end, as chains. */
struct chains {
	uint32_t *starts, *ends, *next_start, *next_end;
};

static void chain_lives(struct lower *l, struct chains *c)
{
	size_t n = 2 * (size_t)l->f->n_insns + 2;
	c->starts = arena_new_array(l->scratch, uint32_t, n);
	c->ends = arena_new_array(l->scratch, uint32_t, n);
	c->next_start = arena_new_array(l->scratch, uint32_t, l->n_regs);
	c->next_end = arena_new_array(l->scratch, uint32_t, l->n_regs);
	for (uint32_t r = l->n_regs; r-- > 0;) {
		const struct reg *g = &l->regs[r];
		if (g->start == UINT32_MAX)
			continue;
		c->next_start[r] = c->starts[g->start];
		c->starts[g->start] = r + 1;
		c->next_end[r] = c->ends[g->end];
		c->ends[g->end] = r + 1;
	}
}

void regs_allocate(struct lower *l, uint32_t at)
{
	static const uint32_t row_bytes[REG_CLASSES] = {4, ROW32, ROW64, 2 * ROW64};
	struct pool pools[REG_CLASSES] = {0};
	struct chains c;
	find_lives(l);
	chain_lives(l, &c);
	for (int k = 0; k < REG_CLASSES; k++)
		pools[k].free = arena_new_array(l->scratch, uint32_t, l->n_regs);
	for (size_t pos = 0; pos < 2 * (size_t)l->f->n_insns + 1; pos++) {
		for (uint32_t r = c.starts[pos]; r; r = c.next_start[r - 1])
			l->regs[r - 1].slot = pool_take(&pools[class_of(&l->regs[r - 1])]);
		for (uint32_t r = c.ends[pos]; r; r = c.next_end[r - 1]) {
			struct pool *p = &pools[class_of(&l->regs[r - 1])];
			p->free[p->n_free++] = l->regs[r - 1].slot;
		}
	}
	uint64_t end = at;
	for (int k = 0; k < REG_CLASSES; k++) {
		l->rows_base[k] = (uint32_t)end;
		end = (end + (uint64_t)pools[k].n * row_bytes[k] + 63) & ~63ull;
	}
	l->frame_end = end;
	l->out->registers = pools[CLASS_32].n + 2 * pools[CLASS_64].n + 4 * pools[CLASS_128].n;
}

uint32_t regs_row(const struct lower *l, uint32_t r)
{
	static const uint32_t row_bytes[REG_CLASSES] = {4, ROW32, ROW64, 2 * ROW64};
	const struct reg *g = &l->regs[r];
	enum reg_class k = class_of(g);
	return l->rows_base[k] + g->slot * row_bytes[k];
}

const struct reg_place *regs_places(const struct lower *l)
{
	struct reg_place *places = arena_new_array(l->arena, struct reg_place, l->n_regs);
	for (uint32_t r = 0; r < l->n_regs; r++) {
		const struct reg *g = &l->regs[r];
		places[r] = (struct reg_place){.root = regs_root(l, r), .start = g->start, .end = g->end, .bits = g->bits,
					       .varies = g->constant < 0 && g->start != UINT32_MAX};
		if (places[r].varies)
			places[r].row = regs_row(l, r);
	}
	return places;
}
