/* mbarrier objects in shared memory, and the copies that report to them.
 *
 * The word: bits 0..19 arrivals still to come, 20..39 arrivals of a phase, 40..61 bytes still to come (signed),
 * 63 the phase.  A phase completes when both counts are zero.  The state that arrive returns is the word before it.
 * An arrival hands the warp's clock to the object, a wait that succeeds takes it: so the race checker sees the order.
 */
#include "exec.h"
#include "exec_ops.h"

#include <string.h>

enum { COUNT_BITS = 20, COUNT_MAX = (1 << COUNT_BITS) - 1, TX_BITS = 22 };

struct object { uint32_t pending, expected, phase; int32_t tx; };

static struct object unpack(uint64_t w)
{
	struct object o = {.pending = (uint32_t)(w & COUNT_MAX), .expected = (uint32_t)(w >> COUNT_BITS & COUNT_MAX),
			   .phase = (uint32_t)(w >> 63)};
	o.tx = (int32_t)((uint32_t)(w >> 40 & ((1u << TX_BITS) - 1)) << (32 - TX_BITS)) >> (32 - TX_BITS);
	return o;
}

static uint64_t pack(const struct object *o)
{
	return o->pending | (uint64_t)o->expected << COUNT_BITS | (uint64_t)((uint32_t)o->tx & ((1u << TX_BITS) - 1)) << 40 |
	       (uint64_t)o->phase << 63;
}

static uint64_t address(const struct exec *x, uint32_t row, unsigned bits, int64_t offset, int lane)
{
	uint64_t a = (uint64_t)offset;
	if (row != NO_ROW && bits == 32)
		a = ((const uint32_t *)(x->regs + row))[lane] + (uint32_t)offset;
	else if (row != NO_ROW)
		a += ((const uint64_t *)(x->regs + row))[lane];
	return a;
}

static uint64_t shared_offset(uint64_t a)
{
	return a - MEM_SHARED_BASE < MEM_WINDOW ? a - MEM_SHARED_BASE : a;
}

static const struct mem_op *word_op(struct mem_op *op, uint32_t site)
{
	*op = (struct mem_op){.space = PTX_SPACE_SHARED, .bytes = 8, .n = 1, .flags = MEM_VOLATILE, .type = PTX_T_B64, .wide = 1, .site = site};
	return op;
}

static int read_word(struct exec *x, const struct access *a, uint64_t addr, int lane, uint64_t *word)
{
	struct mem_op op;
	uint64_t addrs[32], row[32] __attribute__((aligned(64)));
	for (int i = 0; i < 32; i++)
		addrs[i] = addr;
	void *rows[1] = {row};
	int r = mem_load(&x->block->ctx, word_op(&op, a->op.site), &x->worker->sites[a->op.site], addrs, 1u << lane, rows);
	*word = row[lane];
	return r;
}

static int write_word(struct exec *x, const struct access *a, uint64_t addr, int lane, uint64_t word)
{
	struct mem_op op;
	uint64_t addrs[32], row[32] __attribute__((aligned(64))) = {0};
	for (int i = 0; i < 32; i++)
		addrs[i] = addr;
	row[lane] = word;
	const void *rows[1] = {row};
	return mem_store(&x->block->ctx, word_op(&op, a->op.site), &x->worker->sites[a->op.site], addrs, 1u << lane, rows);
}

static void complete_if_done(struct object *o)
{
	if (o->pending || o->tx)
		return;
	o->phase ^= 1;
	o->pending = o->expected;
}

/* Arrivals and bytes taken off (or, bytes, put on) the object at addr. */
static int change(struct exec *x, const struct access *a, uint64_t addr, int lane, uint32_t arrivals, int64_t bytes, bool drop,
		  uint64_t *before)
{
	uint64_t word;
	if (read_word(x, a, addr, lane, &word) < 0)
		return -1;
	struct object o = unpack(word);
	if (arrivals > o.pending)
		return exec_fault(x, FAULT_BAD_INSTRUCTION, 1u << lane, "%u arrivals at an mbarrier that expects %u more in this phase", arrivals,
				  o.pending);
	int64_t tx = o.tx + bytes;
	if (tx > COUNT_MAX || tx < -COUNT_MAX)
		return exec_fault(x, FAULT_BAD_INSTRUCTION, 1u << lane, "the byte count of an mbarrier leaves its range: %lld", (long long)tx);
	o.tx = (int32_t)tx;
	o.pending -= arrivals;
	if (drop)
		o.expected -= arrivals;
	if (arrivals || bytes < 0)
		complete_if_done(&o);
	if (arrivals)
		mem_release_clock(x->block->memory, x->warp->index, addr);
	if (before)
		*before = word;
	return write_word(x, a, addr, lane, pack(&o));
}

static uint32_t operand(const struct exec *x, uint32_t row, int lane, uint32_t otherwise)
{
	return row == NO_ROW ? otherwise : ((const uint32_t *)(x->regs + row))[lane];
}

static uint64_t object_address(const struct exec *x, const struct access *a, int lane)
{
	return shared_offset(address(x, a->address, a->address_bits, a->offset, lane));
}

int exec_mbarrier_init(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	for (uint32_t m = mask; m; m &= m - 1) {
		int lane = __builtin_ctz(m);
		uint32_t n = operand(x, a->size, lane, 1);
		if (n == 0 || n > COUNT_MAX)
			return exec_fault(x, FAULT_BAD_INSTRUCTION, m & -m, "mbarrier.init with %u arrivals", n);
		if (write_word(x, a, object_address(x, a, lane), lane, pack(&(struct object){.pending = n, .expected = n})) < 0)
			return -1;
	}
	return 0;
}

/* The object's bytes are ordinary memory again. */
int exec_mbarrier_inval(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	for (uint32_t m = mask; m; m &= m - 1) {
		uint64_t word;
		int lane = __builtin_ctz(m);
		if (read_word(x, a, object_address(x, a, lane), lane, &word) < 0)
			return -1;
	}
	return 0;
}

int exec_mbarrier_arrive(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	for (uint32_t m = mask; m; m &= m - 1) {
		int lane = __builtin_ctz(m);
		uint32_t n = operand(x, a->size, lane, 1);
		uint64_t before = 0;
		if (change(x, a, object_address(x, a, lane), lane, a->count ? 1 : n, a->count ? n : 0, a->drop, &before) < 0)
			return -1;
		if (in->d != NO_ROW)
			((uint64_t *)(x->regs + in->d))[lane] = before;
	}
	return 0;
}

/* expect_tx, or (count) complete_tx */
int exec_mbarrier_expect(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	for (uint32_t m = mask; m; m &= m - 1) {
		int lane = __builtin_ctz(m);
		int64_t n = operand(x, a->size, lane, 0);
		if (change(x, a, object_address(x, a, lane), lane, 0, a->count ? -n : n, false, NULL) < 0)
			return -1;
	}
	return 0;
}

/* Bulk copies that report to the object arrive, once they are all that is missing. */
static int let_copies_arrive(struct exec *x, const struct access *a, uint64_t addr, int lane, uint64_t *word)
{
	struct mem_block *b = x->block->memory;
	if (unpack(*word).pending || !mem_bulk_pending(b, addr))
		return 0;
	mem_acquire_clock(b, x->warp->index, addr);
	uint32_t bytes = mem_bulk_arrive(&x->block->ctx, addr);
	mem_release_clock(b, x->warp->index, addr);
	if (change(x, a, addr, lane, 0, -(int64_t)bytes, false, NULL) < 0)
		return -1;
	return read_word(x, a, addr, lane, word);
}

int exec_mbarrier_wait(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	uint32_t *d = (uint32_t *)(x->regs + in->d), done = 0;
	for (uint32_t m = mask; m; m &= m - 1) {
		int lane = __builtin_ctz(m);
		uint64_t addr = object_address(x, a, lane), word;
		if (read_word(x, a, addr, lane, &word) < 0)
			return -1;
		uint32_t phase = a->count ? ((const uint32_t *)(x->regs + a->rows[0]))[lane] & 1
					  : (uint32_t)(((const uint64_t *)(x->regs + a->rows[0]))[lane] >> 63);
		if (unpack(word).phase == phase && let_copies_arrive(x, a, addr, lane, &word) < 0)
			return -1;
		if (unpack(word).phase == phase)
			continue;
		done |= m & -m;
		mem_acquire_clock(x->block->memory, x->warp->index, addr);
	}
	*d = (*d & ~mask) | done;
	return 0;
}

int exec_mbarrier_pending(struct exec *x, const struct insn *in, uint32_t mask)
{
	for (uint32_t m = mask; m; m &= m - 1) {
		int lane = __builtin_ctz(m);
		((uint32_t *)(x->regs + in->d))[lane] = unpack(((const uint64_t *)(x->regs + in->a))[lane]).pending;
	}
	return 0;
}

/* ---- copies ---- */

/* cp.async.mbarrier.arrive: the arrival comes when the lane's copies so far are done.  They are done now: without a wait
 * on the object others are not ordered behind them.  Without .noinc the arrival is put on the phase first. */
int exec_async_arrive(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	mem_async_wait(&x->block->ctx, mask, 0, true);
	for (uint32_t m = mask; m; m &= m - 1) {
		int lane = __builtin_ctz(m);
		uint64_t addr = object_address(x, a, lane);
		if (!a->count)
			mem_release_clock(x->block->memory, x->warp->index, addr);
		else if (change(x, a, addr, lane, 1, 0, false, NULL) < 0)
			return -1;
	}
	return 0;
}

/* To shared memory: on its way from now on.  The issuing warp's clock goes to the object at once, the bytes when they arrive. */
static int copy_to_shared(struct exec *x, const struct access *a, uint64_t dst, uint64_t src, uint32_t size, int lane)
{
	uint64_t object = shared_offset(address(x, a->rows[0], a->rows[1], (int32_t)a->rows[2], lane));
	int there = mem_bulk_copy(&x->block->ctx, &x->worker->sites[a->op.site], shared_offset(dst), src, size, object);
	if (there < 0)
		return -1;
	mem_release_clock(x->block->memory, x->warp->index, object);
	return there ? change(x, a, object, lane, 0, -(int64_t)size, false, NULL) : 0;
}

int exec_bulk_copy(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct access *a = in->detail;
	for (uint32_t m = mask; m; m &= m - 1) {
		int lane = __builtin_ctz(m);
		uint64_t dst = address(x, a->address, a->address_bits, a->offset, lane);
		uint64_t src = address(x, a->source, a->source_bits, a->source_offset, lane);
		uint32_t size = operand(x, a->size, lane, 0);
		if (size % 16)
			return exec_fault(x, FAULT_MISALIGNED, m & -m, "cp.async.bulk of %u bytes: the size must be a multiple of 16", size);
		if ((a->count ? copy_to_shared(x, a, dst, src, size, lane)
			      : mem_bulk_out(&x->block->ctx, &x->worker->sites[a->op.site], dst, shared_offset(src), size)) < 0)
			return -1;
	}
	return 0;
}
