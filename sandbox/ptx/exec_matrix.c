/* Matrix accesses: ldmatrix, stmatrix, and wmma.load and wmma.store, whose fragments are made of plain accesses.
 *
 * What a wmma access does depends on its layout, the leading dimension and how the matrix is aligned, and mostly repeats:
 * the host thread keeps the last plan of each instruction.
 */
#include "exec.h"
#include "exec_ops.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 16, MAX_WORDS = 16, PLANS = 16 };

int exec_matrix_load(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t addr[32] __attribute__((aligned(64)));
	uint32_t *rows[4];
	(void)mask;
	exec_addresses(x->regs, a->address, a->address_bits, a->offset, addr);
	exec_shared_offsets(addr);
	uint32_t sink[32];
	for (unsigned i = 0; i < a->count; i++)
		rows[i] = a->rows[i] == NO_ROW ? sink : (uint32_t *)(x->regs + a->rows[i]);
	return mem_matrix_load(&x->block->ctx, exec_site(x, a), addr, a->count, a->transpose, rows);
}

int exec_matrix_store(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t addr[32] __attribute__((aligned(64)));
	const uint32_t *rows[4];
	(void)mask;
	exec_addresses(x->regs, a->address, a->address_bits, a->offset, addr);
	exec_shared_offsets(addr);
	for (unsigned i = 0; i < a->count; i++)
		rows[i] = (const uint32_t *)(x->regs + a->rows[i]);
	return mem_matrix_store(&x->block->ctx, exec_site(x, a), addr, a->count, a->transpose, rows);
}

/* ---- plans of wmma accesses ---- */

/* A fragment as runs of elements that lie side by side in every lane, each an access of its own. */
struct wmma_plan {
	const struct wmma_layout *layout;	/* the key; NULL: none yet */
	uint32_t stride, phase;			/* of all lanes: leading dimension, address modulo 16 */
	unsigned n_runs;
	uint8_t first[MAX_ELEMENTS], n[MAX_ELEMENTS];
	uint64_t offset[MAX_ELEMENTS][32];	/* bytes, by lane */
};

struct placing { const struct wmma_layout *w; const uint32_t *stride; const uint64_t *base; };

static uint64_t element_offset(const struct placing *p, unsigned lane, unsigned i)
{
	const struct wmma_layout *w = p->w;
	unsigned row, column;
	alu_wmma_coord(w->fragment, w->type, w->m, w->n, w->k, lane, i, &row, &column);
	return w->column_major ? (uint64_t)column * p->stride[lane] + row : (uint64_t)row * p->stride[lane] + column;
}

/* Longest run from element i whose bytes are a power of two that an access can have. */
static unsigned run_length(const struct placing *p, unsigned i)
{
	unsigned bits = ptx_type_bits(p->w->type), best = 0;
	for (unsigned n = 1; n * bits <= 128 && i + n <= p->w->per_lane; n *= 2) {
		if (n * bits < 8)
			continue;
		for (unsigned lane = 0; lane < 32; lane++) {
			uint64_t at = element_offset(p, lane, i);
			if ((at * bits + p->base[lane] * 8) % (n * bits))
				return best ? best : n;
			for (unsigned k = 1; k < n; k++)
				if (element_offset(p, lane, i + k) != at + k)
					return best ? best : n;
		}
		best = n;
	}
	return best;
}

/* False: elements of less than a byte do not lie side by side. */
static bool make_plan(struct wmma_plan *plan, const struct placing *p)
{
	unsigned bits = ptx_type_bits(p->w->type);
	plan->n_runs = 0;
	for (unsigned i = 0, n; i < p->w->per_lane; i += n) {
		unsigned run = plan->n_runs;
		n = run_length(p, i);
		if (n == 0)
			return false;
		if (run == MAX_ELEMENTS)
			BUG("a fragment of more than %u runs", (unsigned)MAX_ELEMENTS);
		for (unsigned lane = 0; lane < 32; lane++)
			plan->offset[run][lane] = element_offset(p, lane, i) * bits / 8;
		plan->first[run] = (uint8_t)i;
		plan->n[run] = (uint8_t)n;
		plan->n_runs++;
	}
	return true;
}

static bool lanes_agree(const struct placing *p)
{
	uint64_t differs = 0;
	for (unsigned i = 1; i < 32; i++)
		differs |= (p->stride[i] ^ p->stride[0]) | ((p->base[i] ^ p->base[0]) & 15);
	return !differs;
}

/* The plan of an access: the kept one, or one that is made; in *own if lanes differ, which no program may rely on. */
static const struct wmma_plan *plan_of(struct worker *worker, const struct access *a, const struct placing *p, struct wmma_plan *own)
{
	if (!lanes_agree(p))
		return make_plan(own, p) ? own : NULL;
	if (!worker->plans)
		worker->plans = calloc(PLANS, sizeof *worker->plans);
	if (!worker->plans)
		BUG("out of memory");
	struct wmma_plan *plan = &worker->plans[a->op.site % PLANS];
	uint32_t phase = p->base[0] & 15;
	if (plan->layout == p->w && plan->stride == p->stride[0] && plan->phase == phase)
		return plan;
	plan->layout = NULL;
	if (!make_plan(plan, p))
		return NULL;
	plan->layout = p->w;
	plan->stride = p->stride[0];
	plan->phase = phase;
	return plan;
}

/* ---- wmma ---- */

static uint32_t default_stride(const struct wmma_layout *w)
{
	unsigned rows = w->fragment == FRAGMENT_B ? w->k : w->m, columns = w->fragment == FRAGMENT_A ? w->k : w->n;
	return w->column_major ? rows : columns;
}

static void strides_of(const struct exec *x, const struct wmma_layout *w, uint32_t *stride)
{
	uint32_t usual = default_stride(w);
	const uint32_t *given = w->stride == NO_ROW ? NULL : (const uint32_t *)(x->regs + w->stride);
	for (unsigned i = 0; i < 32; i++)
		stride[i] = given ? given[i] : usual;
}

/* A fragment as memory has it: by lane, per_lane * bits bits.  Registers of 64 bits are two words. */
struct fragment {
	unsigned bits, words;
	uint32_t *row[MAX_WORDS];	/* of each word: a register's, or one of data */
	uint32_t data[MAX_WORDS][32];
};

static void fragment_begin(struct exec *x, const struct wmma_layout *w, struct fragment *f)
{
	f->bits = ptx_type_bits(w->type);
	f->words = (w->per_lane * f->bits + 31) / 32;
	if (f->words > MAX_WORDS)
		BUG("a fragment of %u words", f->words);
	for (unsigned i = 0; i < f->words; i++)
		f->row[i] = f->bits == 64 ? f->data[i] : (uint32_t *)(x->regs + w->rows[i]);
}

static void split_wide(const struct exec *x, const struct wmma_layout *w, struct fragment *f)
{
	for (unsigned i = 0; i < f->words; i++)
		for (unsigned lane = 0; lane < 32; lane++)
			f->data[i][lane] = (uint32_t)(((const uint64_t *)(x->regs + w->rows[i / 2]))[lane] >> 32 * (i & 1));
}

static void join_wide(struct exec *x, const struct wmma_layout *w, const struct fragment *f)
{
	for (unsigned i = 0; i < f->words; i += 2)
		for (unsigned lane = 0; lane < 32; lane++)
			((uint64_t *)(x->regs + w->rows[i / 2]))[lane] = f->data[i][lane] | (uint64_t)f->data[i + 1][lane] << 32;
}

/* One run.  A run of less than a word goes through `part`, as the rest of the word belongs to other runs. */
static int access_run(struct exec *x, const struct access *a, struct fragment *f, unsigned first, unsigned n, const uint64_t *addr,
		      bool load)
{
	struct mem_op op = a->op;
	struct mem_site *site = exec_site(x, a);
	unsigned bytes = n * f->bits / 8, bit = first * f->bits;
	uint32_t part[32] __attribute__((aligned(64))), *row = f->row[bit / 32], ones = bytes < 4 ? (1u << 8 * bytes) - 1 : ~0u;
	op.bytes = bytes < 4 ? (uint8_t)bytes : 4;
	op.n = bytes < 4 ? 1 : (uint8_t)(bytes / 4);
	op.type = bytes == 1 ? PTX_T_B8 : bytes == 2 ? PTX_T_B16 : PTX_T_B32;
	if (bytes >= 4 && load)
		return mem_load(&x->block->ctx, &op, site, addr, ~0u, (void *const *)&f->row[bit / 32]);
	if (bytes >= 4)
		return mem_store(&x->block->ctx, &op, site, addr, ~0u, (const void *const *)&f->row[bit / 32]);
	for (unsigned lane = 0; lane < 32; lane++)
		part[lane] = row[lane] >> bit % 32;
	if (!load)
		return mem_store(&x->block->ctx, &op, site, addr, ~0u, (const void *const[]){part});
	if (mem_load(&x->block->ctx, &op, site, addr, ~0u, (void *const[]){part}) < 0)
		return -1;
	for (unsigned lane = 0; lane < 32; lane++)
		row[lane] = (row[lane] & ~(ones << bit % 32)) | part[lane] << bit % 32;
	return 0;
}

static int wmma_access(struct exec *x, const struct access *a, bool load)
{
	const struct wmma_layout *w = a->layout;
	uint64_t base[32] __attribute__((aligned(64))), addr[32] __attribute__((aligned(64)));
	uint32_t stride[32];
	struct wmma_plan own;
	struct fragment f;
	exec_addresses(x->regs, a->address, a->address_bits, a->offset, base);
	strides_of(x, w, stride);
	fragment_begin(x, w, &f);
	const struct wmma_plan *plan = plan_of(x->worker, a, &(struct placing){w, stride, base}, &own);
	if (!plan)
		return exec_fault(x, FAULT_BAD_INSTRUCTION, ~0u, "elements of %u bits do not lie side by side in this layout", f.bits);
	if (f.bits == 64 && !load)
		split_wide(x, w, &f);
	for (unsigned r = 0; r < plan->n_runs; r++) {
		for (unsigned lane = 0; lane < 32; lane++)
			addr[lane] = base[lane] + plan->offset[r][lane];
		if (access_run(x, a, &f, plan->first[r], plan->n[r], addr, load) < 0)
			return -1;
	}
	if (f.bits == 64 && load)
		join_wide(x, w, &f);
	return 0;
}

int exec_wmma_load(struct exec *x, const struct insn *in, uint32_t mask)
{
	(void)mask;
	return wmma_access(x, in->detail, true);
}

int exec_wmma_store(struct exec *x, const struct insn *in, uint32_t mask)
{
	(void)mask;
	return wmma_access(x, in->detail, false);
}
