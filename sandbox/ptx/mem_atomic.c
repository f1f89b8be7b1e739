/* atom and red: every operation on every type, lane after lane.
 *
 * An element is read, combined and written by compare-and-swap, so that integer reductions of blocks on several host
 * threads add up.  Float operations depend on order; their kernels run on one host thread.  atom.add.f32 flushes
 * subnormals in global memory and keeps them in shared memory, as the hardware does.
 */
#include "mem_state.h"
#include "alu.h"

#include <math.h>

/* One element's operation. */
struct rmw {
	enum mem_atom atom;
	enum ptx_type type;
	bool flush;			/* f32 subnormals are zero */
	bool own;			/* no other host thread works on this memory */
};

/* ---- floats ---- */

static float as_f32(uint32_t bits)
{
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

static uint32_t f32_bits(float f)
{
	uint32_t bits;
	memcpy(&bits, &f, sizeof bits);
	return bits;
}

static double as_f64(uint64_t bits)
{
	double d;
	memcpy(&d, &bits, sizeof d);
	return d;
}

static uint64_t f64_bits(double d)
{
	uint64_t bits;
	memcpy(&bits, &d, sizeof bits);
	return bits;
}

static uint32_t flushed(uint32_t bits)
{
	return bits & 0x7f800000 ? bits : bits & 0x80000000;
}

static uint32_t add_f32(uint32_t a, uint32_t b, bool flush)
{
	if (flush) {
		a = flushed(a);
		b = flushed(b);
	}
	float sum = as_f32(a) + as_f32(b);
	uint32_t bits = isnan(sum) ? 0x7fffffff : f32_bits(sum);
	return flush ? flushed(bits) : bits;
}

/* min or max of two floats: the one that is a number; -0 is less than +0. */
static float pick(float a, float b, bool max)
{
	if (isnan(a) || isnan(b))
		return isnan(a) ? b : a;
	if (a == b)
		return !signbit(a) == max ? a : b;
	return (a > b) == max ? a : b;
}

static uint32_t half(const struct rmw *r, uint32_t a, uint32_t b, bool bf16)
{
	float x = bf16 ? alu_bf16_to_f32((uint16_t)a) : alu_f16_to_f32((uint16_t)a);
	float y = bf16 ? alu_bf16_to_f32((uint16_t)b) : alu_f16_to_f32((uint16_t)b);
	/* 24 bits are enough to round a sum of two 11-bit numbers twice without harm. */
	float f = r->atom == ATOM_ADD ? x + y : pick(x, y, r->atom == ATOM_MAX);
	if (isnan(f))
		return 0x7fff;
	return bf16 ? alu_f32_to_bf16(f) : alu_f32_to_f16(f);
}

static uint32_t halves(const struct rmw *r, uint32_t a, uint32_t b, bool bf16)
{
	return half(r, a & 0xffff, b & 0xffff, bf16) | half(r, a >> 16, b >> 16, bf16) << 16;
}

/* ---- one operation ---- */

static bool is_signed(enum ptx_type t)
{
	return t == PTX_T_S32 || t == PTX_T_S64;
}

static uint64_t min_max(const struct rmw *r, uint64_t a, uint64_t b, bool max)
{
	bool greater = r->type == PTX_T_S32   ? (int32_t)a > (int32_t)b
		       : is_signed(r->type) ? (int64_t)a > (int64_t)b
					      : a > b;
	return greater == max ? a : b;
}

static uint64_t add(const struct rmw *r, uint64_t a, uint64_t b)
{
	switch (r->type) {
	case PTX_T_F32:
		return add_f32((uint32_t)a, (uint32_t)b, r->flush);
	case PTX_T_F64:
		return f64_bits(as_f64(a) + as_f64(b));
	default:
		return a + b;
	}
}

static uint64_t combine(const struct rmw *r, uint64_t a, uint64_t b, uint64_t c)
{
	if (r->atom == ATOM_ADD || r->atom == ATOM_MIN || r->atom == ATOM_MAX) {
		switch (r->type) {
		case PTX_T_F16:
		case PTX_T_BF16:
			return half(r, (uint32_t)a, (uint32_t)b, r->type == PTX_T_BF16);
		case PTX_T_F16X2:
		case PTX_T_BF16X2:
			return halves(r, (uint32_t)a, (uint32_t)b, r->type == PTX_T_BF16X2);
		default:
			break;
		}
	}
	switch (r->atom) {
	case ATOM_ADD:
		return add(r, a, b);
	case ATOM_MIN:
	case ATOM_MAX:
		return min_max(r, a, b, r->atom == ATOM_MAX);
	case ATOM_INC:
		return a >= b ? 0 : a + 1;
	case ATOM_DEC:
		return !a || a > b ? b : a - 1;
	case ATOM_AND:
		return a & b;
	case ATOM_OR:
		return a | b;
	case ATOM_XOR:
		return a ^ b;
	case ATOM_EXCH:
		return b;
	case ATOM_CAS:
		return a == b ? c : a;
	}
	BUG("atomic operation %d", r->atom);
}

/* On an element in memory; gives the value before.  Shared memory is one host thread's own. */
#define ELEMENT(T)                                                                                             \
	static uint64_t on_##T(void *p, const struct rmw *r, uint64_t b, uint64_t c)                           \
	{                                                                                                      \
		if (r->own) {                                                                                  \
			T was = *(T *)p;                                                                       \
			*(T *)p = (T)combine(r, was, (T)b, (T)c);                                              \
			return was;                                                                            \
		}                                                                                              \
		T old = __atomic_load_n((T *)p, __ATOMIC_RELAXED);                                             \
		while (!__atomic_compare_exchange_n((T *)p, &old, (T)combine(r, old, (T)b, (T)c), false,       \
						    __ATOMIC_RELAXED, __ATOMIC_RELAXED))                       \
			;                                                                                      \
		return old;                                                                                    \
	}
ELEMENT(uint16_t)
ELEMENT(uint32_t)
ELEMENT(uint64_t)

static uint64_t on_element(void *p, unsigned bytes, const struct rmw *r, uint64_t b, uint64_t c)
{
	return bytes == 2 ? on_uint16_t(p, r, b, c) : bytes == 4 ? on_uint32_t(p, r, b, c) : on_uint64_t(p, r, b, c);
}

/* ---- rows ---- */

static uint64_t row_get(const struct mem_op *op, const void *const *rows, unsigned e, unsigned lane)
{
	if (!rows || !rows[e])
		return 0;
	return op->wide >> e & 1 ? ((const uint64_t *)rows[e])[lane] : ((const uint32_t *)rows[e])[lane];
}

static void row_set(const struct mem_op *op, void *const *rows, unsigned e, unsigned lane, uint64_t v)
{
	if (!rows || !rows[e])
		return;
	if (op->wide >> e & 1)
		((uint64_t *)rows[e])[lane] = v;
	else
		((uint32_t *)rows[e])[lane] = (uint32_t)v;
}

/* 128-bit exch and cas are two elements that go together. */
static void pair(unsigned char *p, const struct mem_op *op, unsigned lane, void *const *d, const void *const *b,
		 const void *const *c)
{
	uint64_t old[2];
	memcpy(old, p, 16);
	bool store = op->atom == ATOM_EXCH ||
		     (old[0] == row_get(op, b, 0, lane) && old[1] == row_get(op, b, 1, lane));
	const void *const *from = op->atom == ATOM_EXCH ? b : c;
	uint64_t new[2] = {row_get(op, from, 0, lane), row_get(op, from, 1, lane)};
	if (store)
		memcpy(p, new, 16);
	row_set(op, d, 0, lane, old[0]);
	row_set(op, d, 1, lane, old[1]);
}

/* Sums of 32-bit integers of which nobody wants the old value. */
static void add_words(const struct lanes *l, uintptr_t memory, const uint32_t *b, bool own)
{
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		uint32_t *p = (uint32_t *)mem_from(memory, lane_address(l, lane));
		if (own)
			*p += b[lane];
		else
			__atomic_fetch_add(p, b[lane], __ATOMIC_RELAXED);
	}
}

static void every_lane(const struct lanes *l, uintptr_t memory, const struct mem_op *op, bool shared, void *const *d,
		       const void *const *b, const void *const *c)
{
	struct rmw r = {op->atom, op->type, !shared, shared};
	bool word = op->n == 1 && op->bytes == 4 && (op->type == PTX_T_U32 || op->type == PTX_T_S32);
	if (word && op->atom == ATOM_ADD && (!d || !d[0])) {
		add_words(l, memory, b[0], shared);
		return;
	}
	for (uint32_t rest = l->mask; rest; rest &= rest - 1) {
		unsigned lane = first_lane(rest);
		unsigned char *p = mem_from(memory, lane_address(l, lane));
		if (op->type == PTX_T_B128) {
			pair(p, op, lane, d, b, c);
			continue;
		}
		uint64_t operand[8];		/* d may be the same registers in another order */
		for (unsigned e = 0; e < op->n; e++)
			operand[e] = row_get(op, b, e, lane);
		for (unsigned e = 0; e < op->n; e++, p += op->bytes)
			row_set(op, d, e, lane, on_element(p, op->bytes, &r, operand[e], row_get(op, c, e, lane)));
	}
}

/* ---- the instruction ---- */

/* Does the old value matter? */
static enum access_kind kind_of(const struct mem_op *op, void *const *d)
{
	return op->atom == ATOM_EXCH && !d ? ACCESS_VOLATILE_WRITE : ACCESS_ATOMIC;
}

static int in_global(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const struct lanes *l,
		     void *const *d, const void *const *b, const void *const *c_rows)
{
	uint32_t shadow;
	if (mem_check_global(c, l, op->site, true, &shadow) < 0)
		return -1;
	if (shadow && c->mem->checks && mem_lines_access(c, l, shadow, op->site, kind_of(op, d), NULL) < 0)
		return -1;
	every_lane(l, mem_origin(c->mem), op, false, d, b, c_rows);
	mem_count_global(c, site, l, op->site, ACCESS_ATOMIC, op->flags);
	return 0;
}

static int in_shared(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, struct lanes *l, void *const *d,
		     const void *const *b, const void *const *c_rows)
{
	if (mem_check_shared(c, l, true) < 0)
		return -1;
	if (c->block->wtag && mem_tags_access(c, l, op->site, kind_of(op, d), NULL) < 0)
		return -1;
	every_lane(l, (uintptr_t)c->block->shared, op, true, d, b, c_rows);
	mem_count_shared(c, site, l, op->site, ACCESS_ATOMIC);
	return 0;
}

int mem_atomic(struct mem_ctx *c, const struct mem_op *op, struct mem_site *site, const uint64_t *addr, uint32_t mask,
	       void *const *d, const void *const *b, const void *const *c_rows)
{
	while (mask) {		/* once, but for generic addresses in several spaces */
		struct lanes l;
		uint32_t in = mask;
		uint64_t at[LANES];
		enum ptx_space space = op->space;
		if (space == PTX_SPACE_GENERIC)
			space = mem_window(addr, mask, &in, at);
		mem_lanes(&l, space == op->space ? addr : at, in, (uint32_t)op->bytes * op->n);
		if (space == PTX_SPACE_LOCAL)
			return mem_fault(c, FAULT_WRONG_SPACE, first_lane(in), addr[first_lane(in)], l.size,
					 "%u-byte atomic on local memory: only global and shared memory have atomics", l.size);
		if ((space == PTX_SPACE_SHARED ? in_shared(c, op, site, &l, d, b, c_rows)
					       : in_global(c, op, site, &l, d, b, c_rows)) < 0)
			return -1;
		mask &= ~in;
	}
	return 0;
}
