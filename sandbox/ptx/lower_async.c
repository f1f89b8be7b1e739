/* Lowering of asynchronous copies, mbarriers, and of the matrix accesses: ldmatrix, stmatrix, wmma.load, wmma.store. */
#include "lower_func.h"
#include "exec_ops.h"

static int address(struct lower *l, const struct ptx_insn *in, const struct ptx_operand *o, uint32_t *row, uint8_t *bits, int64_t *offset)
{
	*bits = 64;
	*row = NO_ROW;
	*offset = 0;
	if (o->kind != PTX_O_MEM && o->kind != PTX_O_VAR)
		return lower_unsupported(l, in);
	if (o->reg >= 0) {
		*bits = l->regs[o->reg].bits;
		if (*bits < 32 || *bits > 64)
			return lower_unsupported(l, in);
		struct ptx_operand reg = {.kind = PTX_O_REG, .reg = o->reg, .reg2 = -1};
		*row = lower_row(l, &reg, *bits);
		*offset = (int64_t)o->imm;
	} else if (o->var) {
		*row = const_row(l, const_of_var(l, o->var, o->imm, 64));
	} else {
		*offset = (int64_t)o->imm;
	}
	return 0;
}

static struct insn *emit(struct lower *l, const struct ptx_insn *in, const struct access *a, exec_op *op)
{
	struct access *kept = lower_detail(l, a, sizeof *a);
	lower_site(l, kept);
	l->pipes[l->current] = PIPE_MEMORY;
	struct insn *to = lower_emit(l, K_OP);
	to->op = op;
	to->d = NO_ROW;
	to->detail = kept;
	lower_guard(l, in, to);
	return to;
}

/* ---- cp.async ---- */

static bool is_immediate(const struct ptx_operand *o)
{
	return o->kind == PTX_O_INT;
}

static int lower_copy(struct lower *l, const struct ptx_insn *in)
{
	struct access a = {.size = NO_ROW};
	if (in->n_ops < 3 || !is_immediate(&in->ops[2]))
		return lower_unsupported(l, in);
	uint64_t n = in->ops[2].imm;
	if (n != 16 && (ptx_has(in, PTX_MOD_CG) || (n != 4 && n != 8)))
		return lower_fail(l, in, "cp.async copies 4, 8 or 16 bytes (.cg: 16), not %llu", (unsigned long long)n);
	a.op.bytes = (uint8_t)n;
	a.op.n = 1;
	a.op.space = PTX_SPACE_GLOBAL;
	a.op.flags = ptx_has(in, PTX_MOD_CG) ? MEM_NO_L1 : 0;
	a.kind = ACCESS_COPIES;
	/* the last operand may be a cache policy; what comes before it and after cp-size is src-size, or ignore-src */
	unsigned rest = in->n_ops - 3u - (ptx_has(in, PTX_MOD_L2_CACHE_HINT) ? 1 : 0);
	if (rest > 1)
		return lower_unsupported(l, in);
	if (rest == 1) {
		if (lower_width(l, &in->ops[3]) == 1)
			a.count = in->ops[3].neg ? 2 : 1;	/* ignore-src: a predicate */
		a.size = lower_row(l, &in->ops[3], lower_width(l, &in->ops[3]) == 1 ? 1 : 32);
	}
	if (address(l, in, &in->ops[0], &a.address, &a.address_bits, &a.offset) < 0 ||
	    address(l, in, &in->ops[1], &a.source, &a.source_bits, &a.source_offset) < 0)
		return -1;
	emit(l, in, &a, exec_async_copy);
	return 1;
}

/* cp.async.bulk.shared.global [dst], [src], size, [mbar]; and .global.shared [dst], [src], size of a bulk group */
static int lower_bulk(struct lower *l, const struct ptx_insn *in)
{
	bool in_mbarrier = ptx_has(in, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
	if (ptx_has(in, PTX_MOD_TENSOR) || ptx_has(in, PTX_MOD_REDUCE) || ptx_has(in, PTX_MOD_MULTICAST_CLUSTER) ||
	    ptx_has(in, PTX_MOD_CP_MASK))
		return lower_unsupported(l, in);
	if (ptx_has(in, PTX_MOD_PREFETCH)) {	/* [address], size */
		lower_emit(l, K_NOP);
		return 1;
	}
	if (in->n_ops < (in_mbarrier ? 4 : 3))
		return lower_unsupported(l, in);
	struct access a = {.size = NO_ROW};
	bool to_shared = in->n_mods > 2 && (in->mods[2] == PTX_MOD_SHARED_CLUSTER || in->mods[2] == PTX_MOD_SHARED_CTA);
	if (to_shared != in_mbarrier || !ptx_has(in, PTX_MOD_GLOBAL))
		return lower_unsupported(l, in);
	a.count = to_shared;
	a.size = lower_row(l, &in->ops[2], 32);
	uint32_t row = NO_ROW;
	uint8_t bits = 0;
	int64_t offset = 0;
	if (address(l, in, &in->ops[0], &a.address, &a.address_bits, &a.offset) < 0 ||
	    address(l, in, &in->ops[1], &a.source, &a.source_bits, &a.source_offset) < 0 ||
	    (in_mbarrier && address(l, in, &in->ops[3], &row, &bits, &offset) < 0))
		return -1;
	a.rows[0] = row;
	a.rows[1] = bits;
	a.rows[2] = (uint32_t)offset;
	a.op.bytes = 16;
	a.op.n = 1;
	a.op.space = PTX_SPACE_GLOBAL;
	a.kind = to_shared ? ACCESS_COPIES : ACCESS_STORES;
	emit(l, in, &a, exec_bulk_copy);
	return 1;
}

static int lower_wait(struct lower *l, const struct ptx_insn *in)
{
	bool all = ptx_has(in, PTX_MOD_WAIT_ALL);
	if (!all && (in->n_ops < 1 || !is_immediate(&in->ops[0])))
		return lower_unsupported(l, in);
	struct insn *to = lower_emit(l, K_OP);
	to->op = exec_async_wait;
	to->imm = all ? 0 : (uint32_t)in->ops[0].imm;
	to->aux = all;
	lower_guard(l, in, to);
	return 1;
}

static int lower_cp(struct lower *l, const struct ptx_insn *in)
{
	if (!ptx_has(in, PTX_MOD_ASYNC))
		return lower_unsupported(l, in);
	if (ptx_has(in, PTX_MOD_BULK)) {
		if (ptx_has(in, PTX_MOD_COMMIT_GROUP) || ptx_has(in, PTX_MOD_WAIT_GROUP)) {
			lower_emit(l, K_NOP);	/* bulk copies are done when they are issued */
			return 1;
		}
		return lower_bulk(l, in);
	}
	if (ptx_has(in, PTX_MOD_MBARRIER)) {
		struct access a = {.count = ptx_has(in, PTX_MOD_NOINC)};
		if (in->n_ops < 1 || address(l, in, &in->ops[0], &a.address, &a.address_bits, &a.offset) < 0)
			return -1;
		emit(l, in, &a, exec_async_arrive);
		return 1;
	}
	if (ptx_has(in, PTX_MOD_COMMIT_GROUP)) {
		struct insn *to = lower_emit(l, K_OP);
		to->op = exec_async_commit;
		lower_guard(l, in, to);
		return 1;
	}
	if (ptx_has(in, PTX_MOD_WAIT_GROUP) || ptx_has(in, PTX_MOD_WAIT_ALL))
		return lower_wait(l, in);
	return lower_copy(l, in);
}

/* ---- mbarrier ---- */

static int lower_mbarrier_wait(struct lower *l, const struct ptx_insn *in)
{
	struct access a = {.count = ptx_has(in, PTX_MOD_PARITY)};
	if (in->n_ops < 3 || lower_width(l, &in->ops[0]) != 1 ||
	    address(l, in, &in->ops[1], &a.address, &a.address_bits, &a.offset) < 0)
		return lower_unsupported(l, in);
	a.rows[0] = lower_row(l, &in->ops[2], a.count ? 32 : 64);
	struct insn *to = emit(l, in, &a, exec_mbarrier_wait);
	to->d = lower_row(l, &in->ops[0], 1);
	to->spin = 1;
	return 1;
}

/* mbarrier.arrive{.expect_tx, .noComplete, _drop} state, [addr]{, count} */
static int lower_mbarrier_arrive(struct lower *l, const struct ptx_insn *in)
{
	bool expect = ptx_has(in, PTX_MOD_EXPECT_TX);
	struct access a = {.count = expect, .drop = ptx_has(in, PTX_MOD_ARRIVE_DROP), .size = NO_ROW};
	if (in->n_ops < 2 || address(l, in, &in->ops[1], &a.address, &a.address_bits, &a.offset) < 0)
		return lower_unsupported(l, in);
	if (in->n_ops > 2)
		a.size = lower_row(l, &in->ops[2], 32);
	uint32_t d = lower_row(l, &in->ops[0], 64);
	emit(l, in, &a, exec_mbarrier_arrive)->d = d;
	return 1;
}

static int lower_mbarrier(struct lower *l, const struct ptx_insn *in)
{
	struct access a = {.size = NO_ROW};
	if (ptx_has(in, PTX_MOD_TEST_WAIT) || ptx_has(in, PTX_MOD_TRY_WAIT))
		return lower_mbarrier_wait(l, in);
	if (ptx_has(in, PTX_MOD_ARRIVE) || ptx_has(in, PTX_MOD_ARRIVE_DROP))
		return lower_mbarrier_arrive(l, in);
	if (ptx_has(in, PTX_MOD_PENDING_COUNT)) {
		if (in->n_ops < 2)
			return lower_unsupported(l, in);
		uint32_t d = lower_row(l, &in->ops[0], 32), s = lower_row(l, &in->ops[1], 64);
		struct insn *to = lower_emit(l, K_OP);
		to->op = exec_mbarrier_pending;
		to->d = d;
		to->a = s;
		lower_guard(l, in, to);
		return 1;
	}
	if (in->n_ops < 1 || address(l, in, &in->ops[0], &a.address, &a.address_bits, &a.offset) < 0)
		return lower_unsupported(l, in);
	bool counted = !ptx_has(in, PTX_MOD_INVAL);
	if (counted && in->n_ops < 2)
		return lower_unsupported(l, in);
	if (counted)
		a.size = lower_row(l, &in->ops[1], 32);
	a.count = ptx_has(in, PTX_MOD_COMPLETE_TX);
	emit(l, in, &a, ptx_has(in, PTX_MOD_INIT) ? exec_mbarrier_init : counted ? exec_mbarrier_expect : exec_mbarrier_inval);
	return 1;
}

/* ---- matrices ---- */

/* The access wants the whole warp: it runs inside a collective. */
static int emit_whole(struct lower *l, const struct ptx_insn *in, const struct access *a, exec_op *op)
{
	struct access *kept = lower_detail(l, a, sizeof *a);
	lower_site(l, kept);
	l->pipes[l->current] = PIPE_MEMORY;
	struct insn inner = {.kind = K_OP, .guard = NO_ROW};
	inner.op = op;
	inner.detail = kept;
	struct collective_op c = {.what = C_WHOLE, .member = NO_ROW, .inner = lower_detail(l, &inner, sizeof inner)};
	struct insn *to = lower_emit(l, K_COLLECTIVE);
	to->detail = lower_detail(l, &c, sizeof c);
	lower_guard(l, in, to);
	return 1;
}

static int lower_matrix(struct lower *l, const struct ptx_insn *in)
{
	bool load = in->op == PTX_LDMATRIX;
	struct access a = {.transpose = ptx_has(in, PTX_MOD_TRANS)};
	a.count = ptx_has(in, PTX_MOD_X4) ? 4 : ptx_has(in, PTX_MOD_X2) ? 2 : 1;
	if (!ptx_has(in, PTX_MOD_M8N8) || in->n_types < 1 || ptx_type_bits(in->types[0]) != 16 || in->n_ops != 2)
		return lower_unsupported(l, in);
	const struct ptx_operand *data = &in->ops[load ? 0 : 1], *elems = data->kind == PTX_O_VEC ? data->elems : data;
	if ((data->kind == PTX_O_VEC ? data->n : 1) != a.count)
		return lower_fail(l, in, "%u registers expected", a.count);
	for (unsigned i = 0; i < a.count; i++) {
		if (lower_width(l, &elems[i]) == 64)
			return lower_unsupported(l, in);
		a.rows[i] = lower_row(l, &elems[i], 32);
	}
	a.n_rows = a.count;
	a.kind = load ? ACCESS_LOADS : ACCESS_STORES;
	a.op.space = PTX_SPACE_SHARED;
	a.op.bytes = 16;
	a.op.n = 1;
	if (address(l, in, &in->ops[load ? 1 : 0], &a.address, &a.address_bits, &a.offset) < 0)
		return -1;
	return emit_whole(l, in, &a, load ? exec_matrix_load : exec_matrix_store);
}

static bool wmma_shape(const struct ptx_insn *in, struct wmma_layout *w)
{
	static const struct { uint8_t mod, m, n, k; } shapes[] = {
		{PTX_MOD_M16N16K16, 16, 16, 16}, {PTX_MOD_M8N32K16, 8, 32, 16}, {PTX_MOD_M32N8K16, 32, 8, 16},
		{PTX_MOD_M16N16K8, 16, 16, 8}, {PTX_MOD_M8N8K4, 8, 8, 4}, {PTX_MOD_M8N8K32, 8, 8, 32}, {PTX_MOD_M8N8K128, 8, 8, 128},
	};
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
		if (ptx_has(in, shapes[i].mod)) {
			w->m = shapes[i].m;
			w->n = shapes[i].n;
			w->k = shapes[i].k;
			return true;
		}
	return false;
}

/* wmma.load.a.sync.aligned.row.m16n16k16{.space}.type {regs}, [p]{, stride}; wmma.store.d... [p], {regs}{, stride} */
static int lower_wmma(struct lower *l, const struct ptx_insn *in)
{
	bool load = ptx_has(in, PTX_MOD_LOAD);
	struct wmma_layout w = {.stride = NO_ROW};
	struct access a = {0};
	if ((!load && !ptx_has(in, PTX_MOD_STORE)) || in->n_ops < 2 || in->n_types != 1 || !wmma_shape(in, &w))
		return lower_unsupported(l, in);
	w.fragment = ptx_has(in, PTX_MOD_A) ? FRAGMENT_A : ptx_has(in, PTX_MOD_B) ? FRAGMENT_B : FRAGMENT_C;
	w.type = in->types[0];
	w.column_major = ptx_has(in, PTX_MOD_COL);
	w.per_lane = alu_wmma_elements(w.fragment, w.type, w.m, w.n, w.k);
	const struct ptx_operand *regs = &in->ops[load ? 0 : 1], *elems = regs->kind == PTX_O_VEC ? regs->elems : regs;
	unsigned bits = ptx_type_bits(w.type);
	w.n_rows = regs->kind == PTX_O_VEC ? regs->n : 1;
	if (w.per_lane == 0 || w.n_rows * (bits == 64 ? 64 : 32) != w.per_lane * bits)
		return lower_unsupported(l, in);
	uint32_t *rows = arena_new_array(l->arena, uint32_t, w.n_rows);
	for (uint32_t i = 0; i < w.n_rows; i++) {
		if (lower_width(l, &elems[i]) != (bits == 64 ? 64 : 32))
			return lower_unsupported(l, in);
		rows[i] = lower_row(l, &elems[i], 32);
	}
	w.rows = rows;
	if (in->n_ops > 2)
		w.stride = lower_row(l, &in->ops[2], 32);
	enum ptx_space space = ptx_insn_space(in);
	a.op.space = space == PTX_SPACE_NONE ? PTX_SPACE_GENERIC : (uint8_t)space;
	a.op.type = bits == 64 ? PTX_T_B64 : PTX_T_B32;
	if (address(l, in, &in->ops[load ? 1 : 0], &a.address, &a.address_bits, &a.offset) < 0)
		return -1;
	a.kind = load ? ACCESS_LOADS : ACCESS_STORES;
	a.layout = lower_detail(l, &w, sizeof w);
	return emit_whole(l, in, &a, load ? exec_wmma_load : exec_wmma_store);
}

int lower_async(struct lower *l, const struct ptx_insn *in)
{
	switch (in->op) {
	case PTX_CP:
		return lower_cp(l, in);
	case PTX_MBARRIER:
		return lower_mbarrier(l, in);
	case PTX_LDMATRIX:
	case PTX_STMATRIX:
		return lower_matrix(l, in);
	case PTX_WMMA:
		return lower_wmma(l, in);
	default:
		return 0;
	}
}
