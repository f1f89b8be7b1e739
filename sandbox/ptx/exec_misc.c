/* Small instructions that need the executor's state: copies, clocks, address windows, the stack of alloca, trap. */
#include "exec.h"
#include "exec_ops.h"

#include <string.h>

void exec_copy1(unsigned char *regs, const struct alu_insn *in, uint32_t mask)
{
	uint32_t *d = (uint32_t *)(regs + in->d), a = *(const uint32_t *)(regs + in->a);
	*d = (*d & ~mask) | (a & mask);
}

void exec_copy32(unsigned char *regs, const struct alu_insn *in, uint32_t mask)
{
	uint32_t *d = (uint32_t *)(regs + in->d);
	const uint32_t *a = (const uint32_t *)(regs + in->a);
	if (mask == ~0u) {
		memmove(d, a, ROW32);
		return;
	}
	for (uint32_t m = mask; m; m &= m - 1)
		d[__builtin_ctz(m)] = a[__builtin_ctz(m)];
}

void exec_copy64(unsigned char *regs, const struct alu_insn *in, uint32_t mask)
{
	uint64_t *d = (uint64_t *)(regs + in->d);
	const uint64_t *a = (const uint64_t *)(regs + in->a);
	if (mask == ~0u) {
		memmove(d, a, ROW64);
		return;
	}
	for (uint32_t m = mask; m; m &= m - 1)
		d[__builtin_ctz(m)] = a[__builtin_ctz(m)];
}

static void set_all(struct exec *x, const struct insn *in, uint32_t mask, unsigned bits, uint64_t value)
{
	for (uint32_t m = mask; m; m &= m - 1) {
		int i = __builtin_ctz(m);
		if (bits == 64)
			((uint64_t *)(x->regs + in->d))[i] = value;
		else
			((uint32_t *)(x->regs + in->d))[i] = (uint32_t)value;
	}
}

int exec_activemask(struct exec *x, const struct insn *in, uint32_t mask)
{
	set_all(x, in, mask, 32, mask);
	return 0;
}

/* Time is counted in instructions of the warp, so that it is the same in every run. */
int exec_clock(struct exec *x, const struct insn *in, uint32_t mask)
{
	uint64_t now = x->warp->executed + (in->before - x->entered->before);
	bool high = in->imm == PTX_SREG_CLOCK_HI || in->imm == PTX_SREG_GLOBALTIMER_HI;
	if (in->imm == PTX_SREG_GLOBALTIMER || in->imm == PTX_SREG_GLOBALTIMER_LO || in->imm == PTX_SREG_GLOBALTIMER_HI)
		now += 1000000000;
	set_all(x, in, mask, in->aux, high ? now >> 32 : now);
	return 0;
}

int exec_cvta(struct exec *x, const struct insn *in, uint32_t mask)
{
	uint64_t add = *(const uint64_t *)in->detail, *d = (uint64_t *)(x->regs + in->d);
	const uint64_t *a = (const uint64_t *)(x->regs + in->a);
	for (uint32_t m = mask; m; m &= m - 1)
		d[__builtin_ctz(m)] = a[__builtin_ctz(m)] + add;
	return 0;
}

int exec_isspacep(struct exec *x, const struct insn *in, uint32_t mask)
{
	const uint64_t *a = (const uint64_t *)(x->regs + in->a);
	uint32_t *d = (uint32_t *)(x->regs + in->d), is = 0;
	for (uint32_t m = mask; m; m &= m - 1) {
		int i = __builtin_ctz(m);
		bool shared = a[i] - MEM_SHARED_BASE < MEM_WINDOW, local = a[i] - MEM_LOCAL_BASE < MEM_WINDOW, in_space;
		bool param = a[i] - x->launch->param_address < x->launch->program->funcs[x->launch->entry->index]->func->param_bytes;
		switch (in->imm) {
		case PTX_SPACE_SHARED:
			in_space = shared;
			break;
		case PTX_SPACE_LOCAL:
			in_space = local;
			break;
		case PTX_SPACE_PARAM:
			in_space = param;
			break;
		case PTX_SPACE_CONST:
			in_space = exec_is_constant(x->launch, a[i]);
			break;
		default:
			in_space = !shared && !local;
		}
		is |= (uint32_t)in_space << i;
	}
	*d = (*d & ~mask) | is;
	return 0;
}

bool exec_is_constant(const struct launch *l, uint64_t addr)
{
	const struct ptx_module *m = l->program->module;
	for (uint32_t i = 0; i < m->n_vars; i++)
		if (m->vars[i]->space == PTX_SPACE_CONST && addr - m->vars[i]->address < m->vars[i]->size)
			return true;
	return false;
}

/* ---- the stack ---- */

static uint64_t value(const struct exec *x, uint32_t row, unsigned bits, int lane)
{
	return bits == 64 ? ((const uint64_t *)(x->regs + row))[lane] : ((const uint32_t *)(x->regs + row))[lane];
}

int exec_alloca(struct exec *x, const struct insn *in, uint32_t mask)
{
	uint64_t *d = (uint64_t *)(x->regs + in->d);
	for (uint32_t m = mask; m; m &= m - 1) {
		int i = __builtin_ctz(m);
		uint64_t size = value(x, in->a, in->aux, i), at = (x->warp->local_top[i] + in->imm - 1ull) & ~(in->imm - 1ull);
		if (size > x->launch->local_bytes || at + size > x->launch->local_bytes)
			return exec_fault(x, FAULT_STACK_OVERFLOW, m & -m, "alloca of %llu bytes: the stack has %u, %u of them in use",
					  (unsigned long long)size, x->launch->local_bytes, x->warp->local_top[i]);
		d[i] = at;
		x->warp->local_top[i] = (uint32_t)(at + size);
	}
	return 0;
}

int exec_stacksave(struct exec *x, const struct insn *in, uint32_t mask)
{
	for (uint32_t m = mask; m; m &= m - 1)
		set_all(x, in, m & -m, in->aux, x->warp->local_top[__builtin_ctz(m)]);
	return 0;
}

int exec_stackrestore(struct exec *x, const struct insn *in, uint32_t mask)
{
	for (uint32_t m = mask; m; m &= m - 1) {
		int i = __builtin_ctz(m);
		uint64_t top = value(x, in->d, in->aux, i);
		if (top > x->launch->local_bytes)
			return exec_fault(x, FAULT_STACK_OVERFLOW, m & -m, "stackrestore to %llu: the stack has %u bytes",
					  (unsigned long long)top, x->launch->local_bytes);
		x->warp->local_top[i] = (uint32_t)top;
	}
	return 0;
}

/* ---- ends ---- */

int exec_trap(struct exec *x, const struct insn *in, uint32_t mask)
{
	(void)in;
	return exec_fault(x, FAULT_TRAP, mask, "the kernel executed a trap instruction");
}

int exec_brkpt(struct exec *x, const struct insn *in, uint32_t mask)
{
	(void)in;
	return exec_fault(x, FAULT_TRAP, mask, "the kernel executed a breakpoint");
}
