/* Memory instructions: addresses of the lanes, rows of the data, and over to mem.h.
 *
 * Device functions' parameters live by lane in the frame: byte o of lane l at (o & ~3) * 32 + 4 * l + (o & 3).
 */
#include "exec.h"
#include "exec_ops.h"

#include <string.h>

typedef uint32_t __attribute__((may_alias)) u32;

/* Built for AVX2 and plain x86-64, chosen when the program starts. */
#define FAST __attribute__((target_clones("avx2", "default")))

FAST static void widen_addresses(const u32 *row, uint32_t add, uint64_t *out)
{
	const u32 *r = __builtin_assume_aligned(row, 64);
	uint64_t *o = __builtin_assume_aligned(out, 64);
	for (int i = 0; i < 32; i++)
		o[i] = r[i] + add;
}

FAST static void add_addresses(const uint64_t *row, uint64_t add, uint64_t *out)
{
	const uint64_t *r = __builtin_assume_aligned(row, 64);
	uint64_t *o = __builtin_assume_aligned(out, 64);
	for (int i = 0; i < 32; i++)
		o[i] = r[i] + add;
}

/* The lanes' addresses: the row itself if it holds them, else made in `out`. */
static const uint64_t *addresses(const unsigned char *regs, uint32_t row, unsigned bits, int64_t offset, uint64_t *out)
{
	if (row == NO_ROW) {
		for (int i = 0; i < 32; i++)
			out[i] = (uint64_t)offset;
	} else if (bits == 32) {
		widen_addresses((const u32 *)(regs + row), (uint32_t)offset, out);
	} else if (offset == 0) {
		return (const uint64_t *)(regs + row);
	} else {
		add_addresses((const uint64_t *)(regs + row), (uint64_t)offset, out);
	}
	return out;
}

/* The same for an instruction that may write the row before it has read all of it. */
static const uint64_t *addresses_apart(const unsigned char *regs, const struct access *a, const uint32_t *d, uint64_t *out)
{
	const uint64_t *addr = addresses(regs, a->address, a->address_bits, a->offset, out);
	if (addr != out && a->address == d[0])
		addr = memcpy(out, addr, 32 * sizeof *out);
	return addr;
}

static inline struct mem_site *site_of(const struct exec *x, const struct access *a)
{
	return &x->worker->sites[a->op.site];
}

int exec_load(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t made[32] __attribute__((aligned(64)));
	const uint64_t *addr = addresses_apart(x->regs, a, a->rows, made);
	void *rows[8];
	for (unsigned i = 0; i < a->n_rows; i++)
		rows[i] = a->rows[i] == NO_ROW ? NULL : x->regs + a->rows[i];
	return mem_load(&x->block->ctx, &a->op, site_of(x, a), addr, mask, rows);
}

int exec_store(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t made[32] __attribute__((aligned(64)));
	const uint64_t *addr = addresses(x->regs, a->address, a->address_bits, a->offset, made);
	const void *rows[8];
	for (unsigned i = 0; i < a->n_rows; i++)
		rows[i] = x->regs + a->rows[i];
	return mem_store(&x->block->ctx, &a->op, site_of(x, a), addr, mask, rows);
}

int exec_atomic(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t made[32] __attribute__((aligned(64)));
	const uint64_t *addr = addresses_apart(x->regs, a, a->rows_d, made);
	void *d[8];
	const void *b[8], *c[8];
	bool returns = false;
	for (unsigned i = 0; i < a->n_rows; i++) {
		d[i] = a->rows_d[i] == NO_ROW ? NULL : x->regs + a->rows_d[i];
		returns |= d[i] != NULL;
		b[i] = x->regs + a->rows[i];
		c[i] = a->rows_c[i] == NO_ROW ? NULL : x->regs + a->rows_c[i];
	}
	return mem_atomic(&x->block->ctx, &a->op, site_of(x, a), addr, mask, returns ? d : NULL, b, c);
}

/* ---- parameters of device functions ---- */

static unsigned char *param_byte(unsigned char *area, uint64_t offset, unsigned lane)
{
	return area + (offset & ~3ull) * 32 + 4 * lane + (offset & 3);
}

static uint64_t read_param(unsigned char *area, uint64_t offset, unsigned bytes, unsigned lane)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)*param_byte(area, offset + i, lane) << 8 * i;
	return v;
}

static uint64_t sign_extend(uint64_t v, const struct mem_op *op, unsigned to)
{
	bool sign = op->type == PTX_T_S8 || op->type == PTX_T_S16 || op->type == PTX_T_S32;
	unsigned bits = 8u * op->bytes;
	if (sign && bits < 64)
		v = (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
	return to < 64 ? v & ((1ull << to) - 1) : v;
}

int exec_param_load(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	unsigned char *area = x->regs + in->aux;
	for (unsigned e = 0; e < a->n_rows; e++) {
		if (a->rows[e] == NO_ROW)
			continue;
		unsigned to = a->op.wide >> e & 1 ? 64 : a->op.narrow >> e & 1 ? 16 : 32;
		for (uint32_t m = mask; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m);
			uint64_t v = sign_extend(read_param(area, (uint64_t)a->offset + e * a->op.bytes, a->op.bytes, i), &a->op, to);
			if (to == 64)
				((uint64_t *)(x->regs + a->rows[e]))[i] = v;
			else
				((uint32_t *)(x->regs + a->rows[e]))[i] = (uint32_t)v;
		}
	}
	return 0;
}

int exec_param_store(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	unsigned char *area = x->regs + in->aux;
	for (unsigned e = 0; e < a->n_rows; e++)
		for (uint32_t m = mask; m; m &= m - 1) {
			unsigned i = (unsigned)__builtin_ctz(m);
			uint64_t v = a->op.wide >> e & 1 ? ((const uint64_t *)(x->regs + a->rows[e]))[i]
							 : ((const uint32_t *)(x->regs + a->rows[e]))[i];
			for (unsigned k = 0; k < a->op.bytes; k++)
				*param_byte(area, (uint64_t)a->offset + e * a->op.bytes + k, i) = (unsigned char)(v >> 8 * k);
		}
	return 0;
}

/* ---- asynchronous copies ---- */

/* As addresses(), always a copy. */
static void copy_addresses(const unsigned char *regs, uint32_t row, unsigned bits, int64_t offset, uint64_t *out)
{
	const uint64_t *a = addresses(regs, row, bits, offset, out);
	if (a != out)
		memcpy(out, a, 32 * sizeof *out);
}

static void shared_offsets(uint64_t *addr)
{
	for (int i = 0; i < 32; i++)
		if (addr[i] - MEM_SHARED_BASE < MEM_WINDOW)
			addr[i] -= MEM_SHARED_BASE;
}

int exec_async_copy(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t dst[32] __attribute__((aligned(64))), src[32] __attribute__((aligned(64)));
	uint32_t size[32];
	copy_addresses(x->regs, a->address, a->address_bits, a->offset, dst);
	copy_addresses(x->regs, a->source, a->source_bits, a->source_offset, src);
	shared_offsets(dst);
	const uint32_t *given = a->size == NO_ROW ? NULL : (const uint32_t *)(x->regs + a->size);
	for (unsigned i = 0; i < 32; i++) {
		if (!given)
			size[i] = a->op.bytes;
		else if (a->count)	/* ignore-src */
			size[i] = (given[0] >> i & 1) == (a->count == 1) ? 0 : a->op.bytes;
		else
			size[i] = given[i];
		if (size[i] > a->op.bytes && mask >> i & 1)
			return exec_fault(x, FAULT_BAD_INSTRUCTION, 1u << i, "cp.async with src-size %u over cp-size %u", size[i], a->op.bytes);
	}
	return mem_async_copy(&x->block->ctx, site_of(x, a), dst, src, mask, a->op.bytes, size, a->op.flags);
}

int exec_async_commit(struct exec *x, const struct insn *in, uint32_t mask)
{
	(void)in;
	mem_async_commit(&x->block->ctx, mask);
	return 0;
}

int exec_async_wait(struct exec *x, const struct insn *in, uint32_t mask)
{
	mem_async_wait(&x->block->ctx, mask, in->imm, in->aux != 0);
	return 0;
}

/* ---- matrices ---- */

int exec_matrix_load(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t addr[32] __attribute__((aligned(64)));
	uint32_t *rows[4];
	(void)mask;
	copy_addresses(x->regs, a->address, a->address_bits, a->offset, addr);
	shared_offsets(addr);
	uint32_t sink[32];
	for (unsigned i = 0; i < a->count; i++)
		rows[i] = a->rows[i] == NO_ROW ? sink : (uint32_t *)(x->regs + a->rows[i]);
	return mem_matrix_load(&x->block->ctx, site_of(x, a), addr, a->count, a->transpose, rows);
}

int exec_matrix_store(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t addr[32] __attribute__((aligned(64)));
	const uint32_t *rows[4];
	(void)mask;
	copy_addresses(x->regs, a->address, a->address_bits, a->offset, addr);
	shared_offsets(addr);
	for (unsigned i = 0; i < a->count; i++)
		rows[i] = (const uint32_t *)(x->regs + a->rows[i]);
	return mem_matrix_store(&x->block->ctx, site_of(x, a), addr, a->count, a->transpose, rows);
}

static uint64_t element_offset(const struct wmma_layout *w, uint32_t stride, unsigned lane, unsigned i)
{
	unsigned row, column;
	alu_wmma_coord(w->fragment, w->type, w->m, w->n, w->k, lane, i, &row, &column);
	return w->column_major ? (uint64_t)column * stride + row : (uint64_t)row * stride + column;
}

static uint32_t default_stride(const struct wmma_layout *w)
{
	unsigned rows = w->fragment == FRAGMENT_B ? w->k : w->m, columns = w->fragment == FRAGMENT_A ? w->k : w->n;
	return w->column_major ? rows : columns;
}

/* Longest run from element i whose bytes are a power of two that an access can have. */
static unsigned run_length(const struct wmma_layout *w, const uint32_t *stride, unsigned i, const uint64_t *base)
{
	unsigned bits = ptx_type_bits(w->type), best = 0;
	for (unsigned n = 1; n * bits <= 128 && i + n <= w->per_lane; n *= 2) {
		if (n * bits < 8)
			continue;
		for (unsigned lane = 0; lane < 32; lane++) {
			uint64_t at = element_offset(w, stride[lane], lane, i);
			if ((at * bits + base[lane] * 8) % (n * bits))
				return best ? best : n;
			for (unsigned k = 1; k < n; k++)
				if (element_offset(w, stride[lane], lane, i + k) != at + k)
					return best ? best : n;
		}
		best = n;
	}
	return best;
}

static void wmma_addresses(struct exec *x, const struct access *a, uint64_t *base, uint32_t *stride)
{
	const struct wmma_layout *w = a->layout;
	copy_addresses(x->regs, a->address, a->address_bits, a->offset, base);
	for (unsigned i = 0; i < 32; i++)
		stride[i] = w->stride == NO_ROW ? default_stride(w) : ((const uint32_t *)(x->regs + w->stride))[i];
}

/* Elements packed as memory has them: by lane, per_lane * bits bits. */
static int wmma_access(struct exec *x, const struct access *a, bool load)
{
	const struct wmma_layout *w = a->layout;
	unsigned bits = ptx_type_bits(w->type), lane_words = (w->per_lane * bits + 31) / 32;
	uint64_t base[32] __attribute__((aligned(64))), addr[32];
	uint32_t stride[32], data[16][32] = {0}, parts[4][32];
	wmma_addresses(x, a, base, stride);
	if (lane_words > 16)
		BUG("a fragment of %u words", lane_words);
	if (!load)
		for (unsigned i = 0; i < lane_words; i++)
			for (unsigned lane = 0; lane < 32; lane++)
				data[i][lane] = bits == 64 ? (uint32_t)(((const uint64_t *)(x->regs + w->rows[i / 2]))[lane] >> 32 * (i & 1))
							   : ((const uint32_t *)(x->regs + w->rows[i]))[lane];
	for (unsigned i = 0, n; i < w->per_lane; i += n) {
		n = run_length(w, stride, i, base);
		if (n == 0)
			return exec_fault(x, FAULT_BAD_INSTRUCTION, ~0u, "elements of %u bits do not lie side by side in this layout", bits);
		struct mem_op op = a->op;
		unsigned bytes = n * bits / 8, first = i * bits, words = bytes < 4 ? 1 : bytes / 4;
		op.bytes = bytes < 4 ? (uint8_t)bytes : 4;
		op.n = (uint8_t)words;
		op.type = bytes == 1 ? PTX_T_B8 : bytes == 2 ? PTX_T_B16 : PTX_T_B32;
		for (unsigned lane = 0; lane < 32; lane++) {
			addr[lane] = base[lane] + element_offset(w, stride[lane], lane, i) * bits / 8;
			for (unsigned k = 0; k < words; k++)
				parts[k][lane] = data[first / 32 + k][lane] >> first % 32;
		}
		void *rows[4] = {parts[0], parts[1], parts[2], parts[3]};
		int r = load ? mem_load(&x->block->ctx, &op, site_of(x, a), addr, ~0u, rows)
			     : mem_store(&x->block->ctx, &op, site_of(x, a), addr, ~0u, (const void *const *)rows);
		if (r < 0)
			return -1;
		for (unsigned lane = 0; load && lane < 32; lane++)
			for (unsigned k = 0; k < words; k++)
				data[first / 32 + k][lane] |= parts[k][lane] << first % 32;
	}
	for (unsigned i = 0; load && i < lane_words; i++)
		for (unsigned lane = 0; lane < 32; lane++) {
			if (bits != 64)
				((uint32_t *)(x->regs + w->rows[i]))[lane] = data[i][lane];
			else if (i & 1)
				((uint64_t *)(x->regs + w->rows[i / 2]))[lane] = data[i - 1][lane] | (uint64_t)data[i][lane] << 32;
		}
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
