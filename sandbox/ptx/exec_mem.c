/* Memory instructions: addresses of the lanes, rows of the data, and over to mem.h.
 *
 * Device functions' parameters live by lane in the frame: byte o of lane l at (o & ~3) * 32 + 4 * l + (o & 3).
 */
#include "exec.h"
#include "exec_ops.h"

#include <string.h>

typedef uint32_t __attribute__((may_alias)) u32;

/* Built for AVX2 and plain x86-64, chosen when the program starts. */
#ifdef __clang__		/* see MEM_FAST */
#define FAST
#else
#define FAST __attribute__((target_clones("avx2", "default")))
#endif

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

__attribute__((no_stack_protector)) int exec_load(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t made[32] __attribute__((aligned(64)));
	const uint64_t *addr = addresses_apart(x->regs, a, a->rows, made);
	void *rows[8];
	for (unsigned i = 0; i < a->n_rows; i++)
		rows[i] = a->rows[i] == NO_ROW ? NULL : x->regs + a->rows[i];
	return mem_load(&x->block->ctx, &a->op, exec_site(x, a), addr, mask, rows);
}

__attribute__((no_stack_protector)) int exec_store(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint64_t made[32] __attribute__((aligned(64)));
	const uint64_t *addr = addresses(x->regs, a->address, a->address_bits, a->offset, made);
	const void *rows[8];
	for (unsigned i = 0; i < a->n_rows; i++)
		rows[i] = x->regs + a->rows[i];
	return mem_store(&x->block->ctx, &a->op, exec_site(x, a), addr, mask, rows);
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
	return mem_atomic(&x->block->ctx, &a->op, exec_site(x, a), addr, mask, returns ? d : NULL, b, c);
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

void exec_addresses(const unsigned char *regs, uint32_t row, unsigned bits, int64_t offset, uint64_t *out)
{
	const uint64_t *a = addresses(regs, row, bits, offset, out);
	if (a != out)
		memcpy(out, a, 32 * sizeof *out);
}

void exec_shared_offsets(uint64_t *addr)
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
	exec_addresses(x->regs, a->address, a->address_bits, a->offset, dst);
	exec_addresses(x->regs, a->source, a->source_bits, a->source_offset, src);
	exec_shared_offsets(dst);
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
	return mem_async_copy(&x->block->ctx, exec_site(x, a), dst, src, mask, a->op.bytes, size, a->op.flags);
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
