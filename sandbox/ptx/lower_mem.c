/* Lowering of ld, st, atom, red, and of what is about addresses: cvta, isspacep, mapa, prefetch, alloca. */
#include "lower_func.h"
#include "exec_ops.h"

/* ---- what an access is ---- */

static bool is_signed(enum ptx_type t)
{
	return t == PTX_T_S8 || t == PTX_T_S16 || t == PTX_T_S32 || t == PTX_T_S64;
}

static bool is_float(enum ptx_type t)
{
	switch (t) {
	case PTX_T_F16:
	case PTX_T_F16X2:
	case PTX_T_BF16:
	case PTX_T_BF16X2:
	case PTX_T_F32:
	case PTX_T_F64:
		return true;
	default:
		return false;
	}
}

static unsigned vector_length(const struct ptx_insn *in)
{
	return ptx_has(in, PTX_MOD_V8) ? 8 : ptx_has(in, PTX_MOD_V4) ? 4 : ptx_has(in, PTX_MOD_V2) ? 2 : 1;
}

static unsigned order_flags(const struct ptx_insn *in)
{
	unsigned flags = 0;
	if (ptx_has(in, PTX_MOD_VOLATILE) || ptx_has(in, PTX_MOD_RELAXED) || ptx_has(in, PTX_MOD_ACQUIRE) ||
	    ptx_has(in, PTX_MOD_RELEASE) || ptx_has(in, PTX_MOD_ACQ_REL) || ptx_has(in, PTX_MOD_MMIO) || ptx_has(in, PTX_MOD_SC))
		flags |= MEM_VOLATILE | MEM_NO_L1;
	if (ptx_has(in, PTX_MOD_NC))
		flags |= MEM_NC;
	if (ptx_has(in, PTX_MOD_CG) || ptx_has(in, PTX_MOD_CV) || ptx_has(in, PTX_MOD_L1_NO_ALLOCATE))
		flags |= MEM_NO_L1;
	return flags;
}

/* Blocks can see each other's order through it: such kernels run on one host thread. */
static void note_order(struct lower *l, const struct ptx_insn *in, const struct access *a)
{
	if (a->op.space != PTX_SPACE_GLOBAL && a->op.space != PTX_SPACE_GENERIC)
		return;
	if (ptx_has(in, PTX_MOD_CTA))
		return;
	if (a->op.flags & MEM_VOLATILE)
		l->out->communicates = true;
	if (ptx_has(in, PTX_MOD_ACQUIRE) || ptx_has(in, PTX_MOD_RELEASE) || ptx_has(in, PTX_MOD_ACQ_REL) || ptx_has(in, PTX_MOD_SC))
		l->out->fences = true;
}

static int set_address(struct lower *l, const struct ptx_insn *in, const struct ptx_operand *o, uint32_t *row, uint8_t *bits,
		       int64_t *offset)
{
	*bits = 64;
	*row = NO_ROW;
	*offset = 0;
	if (o->kind == PTX_O_MEM && o->reg >= 0) {
		*bits = l->regs[o->reg].bits;
		if (*bits != 32 && *bits != 64)
			return lower_fail(l, in, "an address of %u bits", *bits);
		struct ptx_operand reg = {.kind = PTX_O_REG, .reg = o->reg, .reg2 = -1};
		*row = lower_row(l, &reg, *bits);
		*offset = (int64_t)o->imm;
	} else if ((o->kind == PTX_O_MEM || o->kind == PTX_O_VAR) && o->var) {
		if (o->var->space == PTX_SPACE_PARAM && !const_is_entry_param(l, o))
			return lower_unsupported(l, in);
		*row = const_row(l, const_of_var(l, o->var, o->imm, 64));
	} else if (o->kind == PTX_O_MEM) {
		*offset = (int64_t)o->imm;
	} else {
		return lower_unsupported(l, in);
	}
	return 0;
}

/* The rows of a register, immediate or vector operand.  128-bit elements are two of 64. */
static int set_rows(struct lower *l, const struct ptx_insn *in, const struct ptx_operand *o, unsigned n, unsigned bits, uint32_t *rows,
		    struct mem_op *op)
{
	const struct ptx_operand *elems = o->kind == PTX_O_VEC ? o->elems : o;
	unsigned parts = bits == 128 ? 2 : 1;
	if ((o->kind == PTX_O_VEC ? o->n : 1) != n || n * parts > 8)
		return lower_fail(l, in, "%u elements expected", n);
	op->wide = op->narrow = 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned width = lower_width(l, &elems[i]);
		uint32_t row = lower_row(l, &elems[i], bits < 32 ? 32 : bits);
		if (width == 1 || (bits == 128 && width != 128 && elems[i].kind != PTX_O_SINK) || (width && bits > width))
			return lower_unsupported(l, in);
		for (unsigned k = 0; k < parts; k++) {
			rows[i * parts + k] = row == NO_ROW ? NO_ROW : row + k * ROW64;
			if ((width ? width : bits) >= 64)
				op->wide |= (uint8_t)(1u << (i * parts + k));
		}
		if (lower_narrow(l, &elems[i]) == 16)
			op->narrow |= (uint8_t)(1u << i);
	}
	return 0;
}

static void set_shape(const struct ptx_insn *in, struct access *a)
{
	enum ptx_type t = in->types[in->n_types - 1];
	unsigned bits = ptx_type_bits(t), n = vector_length(in);
	a->op.type = (uint8_t)t;
	a->op.bytes = (uint8_t)(bits == 128 ? 8 : bits / 8);
	a->op.n = (uint8_t)(bits == 128 ? 2 * n : n);
	a->n_rows = a->op.n;
	a->op.space = (uint8_t)ptx_insn_space(in);
	a->op.flags = (uint8_t)order_flags(in);
}

static struct insn *emit_access(struct lower *l, const struct ptx_insn *in, const struct access *a, exec_op *op)
{
	struct access *kept = lower_detail(l, a, sizeof *a);
	lower_site(l, kept);
	l->pipes[l->current] = PIPE_MEMORY;
	struct insn *to = lower_emit(l, K_OP);
	to->op = op;
	to->detail = kept;
	lower_guard(l, in, to);
	return to;
}

/* ---- parameters ---- */

/* The place of a .param variable in the function's area, or UINT32_MAX: not one. */
static uint32_t param_place(const struct lower *l, const struct ptx_operand *o)
{
	const struct ptx_var *v = o->var;
	if (o->kind != PTX_O_MEM || o->reg >= 0 || !v || v->space != PTX_SPACE_PARAM)
		return UINT32_MAX;
	if (v->index < l->f->n_params && v == &l->f->params[v->index])
		return l->out->param_place ? l->out->param_place[v->index] : UINT32_MAX;
	if (v->index < l->f->n_rets && v == &l->f->rets[v->index])
		return l->out->ret_places[v->index];
	return v->index < l->f->n_vars && l->f->vars[v->index] == v ? l->var_place[v->index] : UINT32_MAX;
}

static int lower_param_access(struct lower *l, const struct ptx_insn *in, bool store, uint32_t place)
{
	const struct ptx_operand *mem = &in->ops[store ? 0 : 1], *data = &in->ops[store ? 1 : 0];
	struct access a = {0};
	set_shape(in, &a);
	if (mem->imm + (uint64_t)a.op.bytes * a.op.n > mem->var->size)
		return lower_fail(l, in, "access past the end of parameter %s", mem->var->name);
	a.offset = place + (int64_t)mem->imm;
	if (set_rows(l, in, data, vector_length(in), ptx_type_bits(a.op.type), a.rows, &a.op) < 0)
		return -1;
	struct insn *to = lower_emit(l, K_OP);
	to->op = store ? exec_param_store : exec_param_load;
	to->aux = l->out->param_area;
	to->detail = lower_detail(l, &a, sizeof a);
	l->pipes[l->current] = PIPE_INT;
	lower_guard(l, in, to);
	return 1;
}

/* A kernel parameter that could not be renamed away: copies from its constant's row. */
static int lower_kernel_param(struct lower *l, const struct ptx_insn *in)
{
	const struct ptx_operand *o = &in->ops[0], *elems = o->kind == PTX_O_VEC ? o->elems : o;
	enum ptx_type t = in->types[in->n_types - 1];
	unsigned bytes = ptx_type_bits(t) / 8, n = o->kind == PTX_O_VEC ? o->n : 1;
	for (unsigned i = 0; i < n; i++) {
		unsigned bits = lower_width(l, &elems[i]), narrow = lower_narrow(l, &elems[i]);
		uint64_t offset = in->ops[1].var->address + in->ops[1].imm + i * bytes;
		if (elems[i].kind == PTX_O_SINK)
			continue;
		if (bytes > 8 || (bits != 32 && bits != 64) || offset > l->f->param_bytes || bytes > l->f->param_bytes - offset)
			return lower_unsupported(l, in);
		uint32_t from = const_row(l, const_add(l, &(struct constant){.kind = CONST_PARAM, .bits = (uint8_t)(narrow ? narrow : bits),
			.size = (uint8_t)bytes, .sign = is_signed(t), .value = offset}));
		struct insn *to = lower_emit(l, K_ALU);
		to->alu.fn = bits == 32 ? exec_copy32 : exec_copy64;
		to->alu.a = from;
		to->alu.d = lower_row(l, &elems[i], bits);
		lower_guard(l, in, to);
	}
	if (n == 0)
		lower_emit(l, K_NOP);
	return 1;
}

/* ---- loads, stores, atomics ---- */

/* `old = *p; do ... while ((old = atomicCAS(p, ...)) != ...)`, as the programming guide writes it: the plain load at the
 * address of a compare-and-swap is only a guess, which the swap checks.  It counts as a relaxed one. */
static struct cas_place place_of(const struct lower *l, const struct ptx_operand *o)
{
	struct cas_place p = {.reg = -1, .imm = o->imm};
	if (o->reg >= 0)
		p.reg = (int32_t)regs_root(l, (uint32_t)o->reg);
	else
		p.var = o->var;
	return p;
}

void lower_note_cas(struct lower *l)
{
	for (uint32_t pass = 0; pass < 2; pass++) {
		if (pass)
			l->cas = arena_new_array(l->scratch, struct cas_place, l->n_cas + 1);
		l->n_cas = 0;
		for (uint32_t i = 0; i < l->f->n_insns; i++) {
			const struct ptx_insn *in = &l->f->insns[i];
			if (l->gone[i] || in->op != PTX_ATOM || !ptx_has(in, PTX_MOD_CAS) || in->n_ops < 3 || in->ops[1].kind != PTX_O_MEM)
				continue;
			if (pass)
				l->cas[l->n_cas] = place_of(l, &in->ops[1]);
			l->n_cas++;
		}
	}
}

static bool guesses(const struct lower *l, const struct ptx_operand *o)
{
	struct cas_place p = place_of(l, o);
	for (uint32_t i = 0; i < l->n_cas; i++)
		if (l->cas[i].reg == p.reg && l->cas[i].var == p.var && l->cas[i].imm == p.imm)
			return true;
	return false;
}

static int lower_load(struct lower *l, const struct ptx_insn *in)
{
	if (in->n_ops < 2 || in->n_types < 1)
		return lower_unsupported(l, in);
	if (ptx_insn_space(in) == PTX_SPACE_PARAM) {
		uint32_t place = param_place(l, &in->ops[1]);
		if (place != UINT32_MAX)
			return lower_param_access(l, in, false, place);
		if (const_is_entry_param(l, &in->ops[1]))
			return lower_kernel_param(l, in);
		if (!l->f->is_entry)
			return lower_unsupported(l, in);
	}
	struct access a = {0};
	set_shape(in, &a);
	if (ptx_insn_space(in) == PTX_SPACE_CONST || ptx_insn_space(in) == PTX_SPACE_PARAM)
		a.op.flags |= MEM_NC;
	if (set_address(l, in, &in->ops[1], &a.address, &a.address_bits, &a.offset) < 0 ||
	    set_rows(l, in, &in->ops[0], vector_length(in), ptx_type_bits(in->types[in->n_types - 1]), a.rows, &a.op) < 0)
		return -1;
	note_order(l, in, &a);
	a.op.joined = l->joined[l->current];
	if (ptx_insn_space(in) == PTX_SPACE_CONST && !(in->ops[1].kind == PTX_O_MEM && in->ops[1].reg >= 0))
		a.op.joined = MEM_JOINED_ELSEWHERE;
	if (l->n_cas && in->ops[1].kind == PTX_O_MEM && guesses(l, &in->ops[1]))
		a.op.flags |= MEM_VOLATILE;
	emit_access(l, in, &a, exec_load)->spin = (a.op.flags & MEM_VOLATILE) != 0;
	return 1;
}

static int lower_store(struct lower *l, const struct ptx_insn *in)
{
	if (in->n_ops < 2 || in->n_types < 1)
		return lower_unsupported(l, in);
	if (ptx_has(in, PTX_MOD_ASYNC) || ptx_has(in, PTX_MOD_BULK))
		return lower_unsupported(l, in);
	if (ptx_insn_space(in) == PTX_SPACE_PARAM) {
		uint32_t place = param_place(l, &in->ops[0]);
		return place == UINT32_MAX ? lower_unsupported(l, in) : lower_param_access(l, in, true, place);
	}
	struct access a = {0};
	set_shape(in, &a);
	if (set_address(l, in, &in->ops[0], &a.address, &a.address_bits, &a.offset) < 0 ||
	    set_rows(l, in, &in->ops[1], vector_length(in), ptx_type_bits(in->types[in->n_types - 1]), a.rows, &a.op) < 0)
		return -1;
	a.kind = ACCESS_STORES;
	note_order(l, in, &a);
	emit_access(l, in, &a, exec_store);
	return 1;
}

static int atom_operation(const struct ptx_insn *in)
{
	static const struct { uint8_t mod, atom; } table[] = {
		{PTX_MOD_ADD, ATOM_ADD}, {PTX_MOD_MIN, ATOM_MIN}, {PTX_MOD_MAX, ATOM_MAX}, {PTX_MOD_INC, ATOM_INC},
		{PTX_MOD_DEC, ATOM_DEC}, {PTX_MOD_AND, ATOM_AND}, {PTX_MOD_OR, ATOM_OR}, {PTX_MOD_XOR, ATOM_XOR},
		{PTX_MOD_EXCH, ATOM_EXCH}, {PTX_MOD_CAS, ATOM_CAS},
	};
	for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
		if (ptx_has(in, table[i].mod))
			return table[i].atom;
	return -1;
}

static bool commutes(const struct access *a)
{
	switch (a->op.atom) {
	case ATOM_ADD:
	case ATOM_MIN:
	case ATOM_MAX:
	case ATOM_AND:
	case ATOM_OR:
	case ATOM_XOR:
		return !is_float(a->op.type);
	default:
		return false;
	}
}

static bool result_is_used(const struct lower *l, const struct ptx_operand *d)
{
	if (d->kind == PTX_O_REG)
		return l->regs[regs_root(l, (uint32_t)d->reg)].n_uses > 0;
	return d->kind != PTX_O_SINK;
}

static int lower_atomic(struct lower *l, const struct ptx_insn *in)
{
	bool returns = in->op == PTX_ATOM;
	unsigned mem = returns ? 1 : 0, n = vector_length(in);
	int what = atom_operation(in);
	if (in->n_ops < mem + 2 || in->n_types < 1 || what < 0 || ptx_has(in, PTX_MOD_ASYNC))
		return lower_unsupported(l, in);
	struct access a = {0};
	struct mem_op ignored;
	set_shape(in, &a);
	a.op.atom = (uint8_t)what;
	a.kind = ACCESS_ATOMICS;
	unsigned bits = ptx_type_bits(a.op.type);
	if (bits > 64 || (what == ATOM_CAS && in->n_ops < mem + 3))
		return lower_unsupported(l, in);
	for (unsigned i = 0; i < 8; i++)
		a.rows_d[i] = a.rows_c[i] = NO_ROW;
	if (set_address(l, in, &in->ops[mem], &a.address, &a.address_bits, &a.offset) < 0 ||
	    set_rows(l, in, &in->ops[mem + 1], n, bits, a.rows, &a.op) < 0 ||
	    (what == ATOM_CAS && set_rows(l, in, &in->ops[mem + 2], n, bits, a.rows_c, &ignored) < 0))
		return -1;
	bool used = returns && result_is_used(l, &in->ops[0]);
	if (used && in->ops[0].kind != PTX_O_SINK && set_rows(l, in, &in->ops[0], n, bits, a.rows_d, &ignored) < 0)
		return -1;
	note_order(l, in, &a);
	if ((a.op.space == PTX_SPACE_GLOBAL || a.op.space == PTX_SPACE_GENERIC) && (used || !commutes(&a)))
		l->out->communicates = true;
	emit_access(l, in, &a, exec_atomic)->spin = used;
	return 1;
}

/* ---- addresses ---- */

static uint64_t window_of(const struct ptx_insn *in)
{
	if (ptx_has(in, PTX_MOD_SHARED) || ptx_has(in, PTX_MOD_SHARED_CTA) || ptx_has(in, PTX_MOD_SHARED_CLUSTER))
		return MEM_SHARED_BASE;
	return ptx_has(in, PTX_MOD_LOCAL) ? MEM_LOCAL_BASE : 0;
}

static int lower_cvta(struct lower *l, const struct ptx_insn *in)
{
	if (in->n_ops != 2 || lower_width(l, &in->ops[0]) != 64)
		return lower_unsupported(l, in);
	uint64_t base = window_of(in);
	uint32_t from = lower_row(l, &in->ops[1], 64);
	struct insn *to = lower_emit(l, K_OP);
	to->op = exec_cvta;
	to->d = lower_row(l, &in->ops[0], 64);
	to->a = from;
	uint64_t add = ptx_has(in, PTX_MOD_TO) ? 0 - base : base;
	to->detail = lower_detail(l, &add, sizeof add);
	lower_guard(l, in, to);
	return 1;
}

static int lower_isspacep(struct lower *l, const struct ptx_insn *in)
{
	if (in->n_ops != 2 || lower_width(l, &in->ops[0]) != 1 || lower_width(l, &in->ops[1]) == 32)
		return lower_unsupported(l, in);
	uint32_t from = lower_row(l, &in->ops[1], 64);
	struct insn *to = lower_emit(l, K_OP);
	to->op = exec_isspacep;
	to->d = lower_row(l, &in->ops[0], 1);
	to->a = from;
	to->imm = ptx_insn_space(in);
	lower_guard(l, in, to);
	return 1;
}

/* d = the value of operand s, or of a constant: what mapa, getctarank and createpolicy come to with one block a cluster. */
static int lower_copy(struct lower *l, const struct ptx_insn *in, const struct ptx_operand *s)
{
	unsigned bits = lower_width(l, &in->ops[0]);
	if (in->n_ops < 1 || (bits != 32 && bits != 64) || (s && lower_width(l, s) && lower_width(l, s) != bits))
		return lower_unsupported(l, in);
	uint32_t from = s ? lower_row(l, s, bits) : const_row(l, const_value(l, 0, bits));
	struct insn *to = lower_emit(l, K_ALU);
	to->alu.fn = bits == 32 ? exec_copy32 : exec_copy64;
	to->alu.d = lower_row(l, &in->ops[0], bits);
	to->alu.a = from;
	lower_guard(l, in, to);
	return 1;
}

static int lower_stack(struct lower *l, const struct ptx_insn *in)
{
	l->out->has_alloca = true;
	unsigned last = in->op == PTX_ALLOCA ? 1 : 0;
	if (in->n_ops <= last)
		return lower_unsupported(l, in);
	struct insn to = {.kind = K_OP, .guard = NO_ROW};
	to.op = in->op == PTX_ALLOCA ? exec_alloca : in->op == PTX_STACKSAVE ? exec_stacksave : exec_stackrestore;
	to.aux = lower_width(l, &in->ops[0]);
	to.d = lower_row(l, &in->ops[0], in->op == PTX_ALLOCA || to.aux != 32 ? 64 : 32);
	if (in->op == PTX_ALLOCA) {
		to.aux = lower_width(l, &in->ops[1]) == 32 ? 32 : 64;
		to.a = lower_row(l, &in->ops[1], to.aux);
		to.imm = in->n_ops > 2 && in->ops[2].imm ? (uint32_t)in->ops[2].imm : 8;
		if (to.imm & (to.imm - 1) || to.imm > 128)
			return lower_fail(l, in, "alloca: an alignment of %u", to.imm);
	}
	struct insn *at = lower_emit(l, K_OP);
	*at = to;
	lower_guard(l, in, at);
	return 1;
}

/* Hints: they cost an instruction, and do nothing. */
static int lower_nothing(struct lower *l)
{
	lower_emit(l, K_NOP);
	return 1;
}

int lower_memory(struct lower *l, const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_LD:
	case PTX_LDU:
		return lower_load(l, in);
	case PTX_ST:
		return lower_store(l, in);
	case PTX_ATOM:
	case PTX_RED:
		return lower_atomic(l, in);
	case PTX_CVTA:
		return window_of(in) ? lower_cvta(l, in) : lower_copy(l, in, &in->ops[1]);
	case PTX_ISSPACEP:
		return lower_isspacep(l, in);
	case PTX_MAPA:
		return in->n_ops < 2 ? lower_unsupported(l, in) : lower_copy(l, in, &in->ops[1]);
	case PTX_GETCTARANK:
	case PTX_CREATEPOLICY:
		return lower_copy(l, in, NULL);
	case PTX_ALLOCA:
	case PTX_STACKSAVE:
	case PTX_STACKRESTORE:
		return lower_stack(l, in);
	case PTX_PREFETCH:
	case PTX_PREFETCHU:
	case PTX_DISCARD:
	case PTX_APPLYPRIORITY:
		return lower_nothing(l);
	default:
		return 0;
	}
}
