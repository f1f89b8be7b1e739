/* Loads from shared memory that ptxas makes one of.
 *
 * Bank conflicts are those of the accesses that the hardware sees.  ptxas joins loads of a basic block that lie side by side
 * into one of 16 or 8 bytes, where it can prove that one aligned.  The loads keep their places here, but what they cost is
 * counted with the first of them, as one access of all their bytes.  A row of loads is cut from its start: if that lies
 * between what is aligned, none of it is joined.  (Seen in what ptxas 13.0 makes of the sample submissions, and of kernels
 * made for it: nothing of this is documented.)
 *
 * The proof is the low bits of each register, as far as they are known for all its definitions.  ptxas knows where a kernel's
 * own variables lie: one after the other, as they are declared.
 */
#include "lower_func.h"

enum { LOW_BITS = 6 };

/* The n lowest bits are those of value. */
struct low { uint8_t n, value; bool known; /* false: no definition met yet */ };

static struct low low(unsigned n, uint64_t value)
{
	n = n < LOW_BITS ? n : LOW_BITS;
	return (struct low){.n = (uint8_t)n, .value = (uint8_t)(value & ((1u << n) - 1)), .known = true};
}

/* ---- low bits ---- */

static struct low low_meet(struct low a, struct low b)
{
	if (!a.known || !b.known)
		return a.known ? a : b;
	unsigned n = a.n < b.n ? a.n : b.n, differ = (unsigned)(a.value ^ b.value);
	while (n && differ & ((1u << n) - 1))
		n--;
	return low(n, a.value);
}

static unsigned zeros(struct low a)
{
	unsigned n = 0;
	while (n < a.n && !(a.value >> n & 1))
		n++;
	return n;
}

/* What is not known of a is a multiple of 2^n: with what b is a multiple of, it begins that much higher in the product. */
static struct low low_product(struct low a, struct low b)
{
	unsigned of_a = a.n + zeros(b), of_b = b.n + zeros(a);
	return low(of_a < of_b ? of_a : of_b, (uint64_t)a.value * b.value);
}

static struct low low_and(struct low a, struct low b)
{
	unsigned n = 0;
	while (n < LOW_BITS && ((n < a.n && n < b.n) || (n < a.n && !(a.value >> n & 1)) || (n < b.n && !(b.value >> n & 1))))
		n++;
	uint64_t x = a.value | ~0ull << a.n, y = b.value | ~0ull << b.n;
	return low(n, x & y);
}

struct bits {
	const struct lower *l;
	uint64_t *places;		/* of the function's own variables in shared memory */
	struct low *regs, gives;
	bool changed;
};

static bool has_place(const struct ptx_func *f, const struct ptx_var *v)
{
	return f->is_entry && v->space == PTX_SPACE_SHARED && !v->is_extern && v->index < f->n_vars && f->vars[v->index] == v;
}

static void find_places(struct bits *b)
{
	const struct ptx_func *f = b->l->f;
	uint64_t at = 0;
	b->places = arena_new_array(b->l->scratch, uint64_t, f->n_vars + 1);
	for (uint32_t i = 0; i < f->n_vars; i++) {
		uint32_t align = f->vars[i]->align ? f->vars[i]->align : 1;
		if (!has_place(f, f->vars[i]))
			continue;
		b->places[i] = at = (at + align - 1) / align * align;
		at += f->vars[i]->size;
	}
}

static struct low of_var(const struct bits *b, const struct ptx_var *v)
{
	if (has_place(b->l->f, v))
		return low(LOW_BITS, b->places[v->index]);
	return low(v->align ? (unsigned)__builtin_ctz(v->align) : 0, 0);
}

static struct low of_operand(const struct bits *b, const struct ptx_operand *o)
{
	struct low v;
	switch (o->kind) {
	case PTX_O_REG:
		return o->neg ? low(0, 0) : b->regs[o->reg];
	case PTX_O_INT:
		return low(LOW_BITS, o->imm);
	case PTX_O_VAR:
		v = of_var(b, o->var);
		return low(v.n, v.value + o->imm);
	default:
		return low(0, 0);
	}
}

static bool is_integer(enum ptx_type t)
{
	switch (t) {
	case PTX_T_U16: case PTX_T_S16: case PTX_T_B16:
	case PTX_T_U32: case PTX_T_S32: case PTX_T_B32:
	case PTX_T_U64: case PTX_T_S64: case PTX_T_B64:
		return true;
	default:
		return false;
	}
}

static bool all_integer(const struct ptx_insn *in)
{
	for (unsigned i = 0; i < in->n_types; i++)
		if (!is_integer(in->types[i]))
			return false;
	return in->n_types > 0;
}

static struct low of_shift(struct low a, struct low by)
{
	return by.n < LOW_BITS ? low(0, 0) : low(a.n + by.value, (uint64_t)a.value << by.value);
}

/* What an instruction gives; not known while an operand is not. */
static struct low of_insn(const struct bits *b, const struct ptx_insn *in)
{
	struct low v[3] = {{.known = true}, {.known = true}, {.known = true}};
	if (!all_integer(in) || in->n_ops < 2 || in->n_ops > 4 || ptx_has(in, PTX_MOD_HI) || ptx_has(in, PTX_MOD_SAT))
		return low(0, 0);
	for (unsigned i = 1; i < in->n_ops; i++)
		v[i - 1] = of_operand(b, &in->ops[i]);
	if (!v[0].known || !v[1].known || !v[2].known)
		return (struct low){.known = false};
	unsigned n = v[0].n < v[1].n ? v[0].n : v[1].n;
	struct low p;
	switch (in->op) {
	case PTX_MOV:
	case PTX_CVTA:
	case PTX_CVT:
		return v[0];
	case PTX_ADD:
		return low(n, (uint64_t)v[0].value + v[1].value);
	case PTX_SUB:
		return low(n, (uint64_t)v[0].value - v[1].value);
	case PTX_SHL:
		return of_shift(v[0], v[1]);
	case PTX_MUL:
		return low_product(v[0], v[1]);
	case PTX_MAD:
		p = low_product(v[0], v[1]);
		return low(p.n < v[2].n ? p.n : v[2].n, (uint64_t)p.value + v[2].value);
	case PTX_AND:
		return low_and(v[0], v[1]);
	case PTX_OR:
		return low(n, v[0].value | v[1].value);
	case PTX_XOR:
		return low(n, v[0].value ^ v[1].value);
	default:
		return low(0, 0);
	}
}

static void meet_definition(void *user, uint32_t r, bool def)
{
	struct bits *b = user;
	if (!def)
		return;
	struct low now = low_meet(b->regs[r], b->gives);
	b->changed |= now.known != b->regs[r].known || now.n != b->regs[r].n;
	b->regs[r] = now;
}

/* From all bits known downwards, until nothing changes.  false: that takes too long, in code that no compiler writes. */
static bool find_low_bits(struct bits *b)
{
	enum { MOST_PASSES = 40 };
	const struct lower *l = b->l;
	b->regs = arena_new_array(l->scratch, struct low, l->n_regs);
	b->changed = true;
	find_places(b);
	for (unsigned pass = 0; b->changed; pass++) {
		if (pass == MOST_PASSES)
			return false;
		b->changed = false;
		for (uint32_t i = 0; i < l->f->n_insns; i++) {
			const struct ptx_insn *in = &l->f->insns[i];
			if (!l->flow.blocks[l->flow.block_of[i]].reachable)
				continue;
			b->gives = in->n_ops && in->ops[0].kind == PTX_O_REG ? of_insn(b, in) : low(0, 0);
			regs_visit(l, i, meet_definition, b);
		}
	}
	return true;
}

/* ---- loads side by side ---- */

struct piece {
	uint32_t insn;
	int32_t reg;			/* its address counts from a register, or -1: */
	const struct ptx_var *var;	/* from a variable */
	struct low base;		/* of that */
	int64_t at;			/* offset from there */
	uint8_t bytes;
};

struct joining {
	struct lower *l;
	struct bits bits;
	struct piece *open;		/* since what loads are not moved across */
	uint32_t n;
};

static unsigned bytes_of(const struct ptx_insn *in)
{
	unsigned n = ptx_has(in, PTX_MOD_V4) ? 4 : ptx_has(in, PTX_MOD_V2) ? 2 : 1;
	return in->n_types ? n * ptx_type_bits(in->types[in->n_types - 1]) / 8 : 0;
}

/* Offsets beyond this are of no use, and sums with them would not fit. */
static const uint64_t FAR = 1ull << 30;

static bool may_join(const struct ptx_insn *in)
{
	static const uint8_t ordered[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE, PTX_MOD_SHARED_CLUSTER};
	for (size_t i = 0; i < sizeof ordered; i++)
		if (ptx_has(in, ordered[i]))
			return false;
	return in->op == PTX_LD && in->guard < 0 && in->n_ops == 2 && ptx_insn_space(in) == PTX_SPACE_SHARED &&
	       in->ops[1].kind == PTX_O_MEM && (in->ops[1].reg >= 0 || in->ops[1].var) &&
	       in->ops[1].imm + FAR < 2 * FAR && (bytes_of(in) == 4 || bytes_of(in) == 8) &&
	       ptx_type_bits(in->types[in->n_types - 1]) >= 32;
}

/* Might shared memory be other behind it? */
static bool stops(const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_LD:
		return ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_ACQUIRE);
	case PTX_ST:
	case PTX_RED:
	case PTX_ATOM:
		return ptx_insn_space(in) == PTX_SPACE_SHARED || ptx_insn_space(in) == PTX_SPACE_GENERIC;
	case PTX_WMMA:
		return ptx_has(in, PTX_MOD_STORE);
	case PTX_BAR:
	case PTX_BARRIER:
	case PTX_CALL:
	case PTX_CP:
	case PTX_FENCE:
	case PTX_MBARRIER:
	case PTX_MEMBAR:
	case PTX_STMATRIX:
		return true;
	default:
		return false;
	}
}

static bool belongs(const struct piece *p, const struct piece *to, int64_t from, unsigned bytes)
{
	return p->reg == to->reg && p->var == to->var && p->at >= from && p->at + p->bytes <= from + bytes;
}

/* Join the open pieces that fill [from, from + bytes), counted as `in` counts, if that is aligned. */
static bool join_window(struct joining *j, const struct piece *in, int64_t from, unsigned bytes)
{
	unsigned filled = 0, n = 0;
	uint32_t first = UINT32_MAX;
	if (in->base.n < __builtin_ctz(bytes) || (from + in->base.value) & (bytes - 1))
		return false;
	for (uint32_t i = 0; i < j->n; i++) {
		const struct piece *p = &j->open[i];
		if (!belongs(p, in, from, bytes))
			continue;
		unsigned mask = ((1u << p->bytes) - 1) << (p->at - from);
		if (filled & mask)
			return false;
		filled |= mask;
		first = p->insn < first ? p->insn : first;
		n++;
	}
	if (n < 2 || filled != (1u << bytes) - 1)
		return false;
	for (uint32_t i = 0; i < j->n; i++) {
		const struct piece *p = &j->open[i];
		if (belongs(p, in, from, bytes))
			j->l->joined[p->insn] = p->insn == first ? (uint8_t)bytes : MEM_JOINED_ELSEWHERE;
	}
	return true;
}

/* Where the row of pieces that begins with p ends; p->at: it begins before p. */
static int64_t row_end(const struct joining *j, const struct piece *p)
{
	int64_t end = p->at + p->bytes;
	for (uint32_t i = 0; i < j->n; i++)
		if (j->open[i].at + j->open[i].bytes == p->at && belongs(&j->open[i], p, j->open[i].at, j->open[i].bytes))
			return p->at;
	for (uint32_t i = 0; i < j->n; i++)
		if (j->open[i].at == end && belongs(&j->open[i], p, end, j->open[i].bytes)) {
			end += j->open[i].bytes;
			i = UINT32_MAX;		/* from the first again */
		}
	return end;
}

static void close_pieces(struct joining *j)
{
	for (uint32_t i = 0; i < j->n; i++) {
		const struct piece *p = &j->open[i];
		int64_t end = p->base.known && !j->l->joined[p->insn] ? row_end(j, p) : p->at;
		for (int64_t at = p->at; at < end;)
			at += join_window(j, p, at, 16) ? 16 : (join_window(j, p, at, 8), 8);
	}
	j->n = 0;
}

static void open_piece(struct joining *j, uint32_t insn)
{
	const struct ptx_insn *in = &j->l->f->insns[insn];
	const struct ptx_operand *o = &in->ops[1];
	struct piece p = {.insn = insn, .reg = -1, .at = (int64_t)o->imm, .bytes = (uint8_t)bytes_of(in)};
	if (o->reg >= 0) {
		p.base = j->bits.regs[o->reg];
		p.reg = (int32_t)regs_root(j->l, (uint32_t)o->reg);
	} else {
		p.base = of_var(&j->bits, o->var);
		p.var = o->var;
	}
	j->open[j->n++] = p;
}

static void close_key(void *user, uint32_t r, bool def)
{
	struct joining *j = user;
	if (!def)
		return;
	for (uint32_t i = 0; i < j->n; i++)
		if (j->open[i].reg == (int32_t)r) {
			close_pieces(j);
			return;
		}
}

enum { MOST_OPEN = 512 };		/* a longer row of loads is taken in parts */

static void join_block(struct joining *j, const struct flow_block *b)
{
	struct lower *l = j->l;
	for (uint32_t i = b->first; i < b->end; i++) {
		const struct ptx_insn *in = &l->f->insns[i];
		if (l->gone[i])
			continue;
		if (stops(in) || j->n == MOST_OPEN)
			close_pieces(j);
		if (may_join(in))
			open_piece(j, i);
		regs_visit(l, i, close_key, j);
	}
	close_pieces(j);
}

void lower_join_loads(struct lower *l)
{
	struct joining j = {.l = l, .bits = {.l = l}};
	uint32_t n = 0;
	l->joined = arena_alloc(l->scratch, l->f->n_insns + 1);
	for (uint32_t i = 0; i < l->f->n_insns; i++)
		n += !l->gone[i] && may_join(&l->f->insns[i]);
	if (n < 2 || !find_low_bits(&j.bits))
		return;
	j.open = arena_new_array(l->scratch, struct piece, MOST_OPEN);
	for (uint32_t b = 0; b < l->flow.n_blocks; b++)
		if (l->flow.blocks[b].reachable)
			join_block(&j, &l->flow.blocks[b]);
}
