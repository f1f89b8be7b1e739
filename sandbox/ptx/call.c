/* Calls of device functions.  A call puts the callee's frame behind the caller's; where to return to, the caller's
 * frame and the base of local memory are columns of the frame, so that splits of different callers can merge in a
 * callee and part again when they return.
 */
#include "exec.h"
#include "exec_ops.h"

#include <string.h>

enum { HEAD_PLACE = 0, HEAD_FRAME = ROW32, HEAD_LOCAL = 2 * ROW32 };

static const struct lowered *function_at(const struct exec *x, uint32_t pc)
{
	return x->launch->program->funcs[x->launch->program->func_of[pc]];
}

static void move_rows(unsigned char *to, const unsigned char *from, uint32_t bytes, uint32_t mask)
{
	if (mask == ~0u) {
		memcpy(to, from, 32 * (size_t)bytes);
		return;
	}
	for (uint32_t k = 0; k < bytes / 4; k++)
		for (uint32_t m = mask; m; m &= m - 1) {
			int i = __builtin_ctz(m);
			((uint32_t *)to)[32 * k + i] = ((const uint32_t *)from)[32 * k + i];
		}
}

/* ---- in ---- */

static int enter_function(struct exec *x, struct split *s, const struct lowered *f, const struct insn *in)
{
	const struct call_op *c = in->detail;
	struct warp *w = x->warp;
	uint32_t pc = (uint32_t)(in - x->code), frame = s->frame + function_at(x, pc)->frame_bytes;
	if ((uint64_t)frame + f->frame_bytes > x->launch->stack_bytes)
		return exec_fault(x, FAULT_STACK_OVERFLOW, s->mask, "the stack of calls is full at %s", f->func->name);
	unsigned char *caller = w->regs + s->frame, *callee = w->regs + frame;
	uint32_t *head = (uint32_t *)callee, local[32] = {0};
	for (uint32_t m = s->mask; m; m &= m - 1) {
		int i = __builtin_ctz(m);
		local[i] = (w->local_top[i] + 15u) & ~15u;
		if (local[i] + f->local_bytes > x->launch->local_bytes)
			return exec_fault(x, FAULT_STACK_OVERFLOW, m & -m, "local memory is full at the call of %s", f->func->name);
		head[HEAD_PLACE / 4 + i] = pc + 1;
		head[HEAD_FRAME / 4 + i] = s->frame;
		head[HEAD_LOCAL / 4 + i] = w->local_top[i];
		w->local_top[i] = local[i] + f->local_bytes;
	}
	for (uint32_t k = 0; k < c->n_args; k++)
		move_rows(callee + f->param_area + 32 * c->args[k].to, caller + in->aux + 32 * c->args[k].from, c->args[k].n, s->mask);
	block_fill(x->block, w, f, callee, s->mask, local);
	s->frame = frame;
	s->pc = f->first;
	return 0;
}

static const struct lowered *callee_of(struct exec *x, uint64_t address, const struct call_op *c, uint32_t lanes)
{
	const struct program *p = x->launch->program;
	uint64_t index = (address - FUNC_BASE) / 16 - 1;
	if (address < FUNC_BASE + 16 || address % 16 || index >= p->n_funcs || !p->funcs[index] || p->funcs[index]->func->is_entry) {
		exec_fault(x, FAULT_BAD_INSTRUCTION, lanes, "a call through 0x%llx, which is no function", (unsigned long long)address);
		return NULL;
	}
	const struct lowered *f = p->funcs[index];
	bool fits = f->func->n_params == c->n_args && f->func->n_rets == c->n_rets;
	for (uint32_t i = 0; fits && i < c->n_args; i++)
		fits = ((f->func->params[i].size + 3) & ~3ull) == c->args[i].n;
	for (uint32_t i = 0; fits && i < c->n_rets; i++)
		fits = ((f->func->rets[i].size + 3) & ~3ull) == c->rets[i].n;
	if (fits)
		return f;
	exec_fault(x, FAULT_BAD_INSTRUCTION, lanes, "%s is called through a pointer of another type", f->func->name);
	return NULL;
}

int call_enter(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct call_op *c = in->detail;
	exec_part(x, mask);
	if (in->a == NO_ROW)
		return enter_function(x, x->split, x->launch->program->funcs[in->aux2], in);
	const uint64_t *pointer = (const uint64_t *)(x->regs + in->a);
	struct split *s = x->split;
	while (mask) {
		uint64_t target = pointer[__builtin_ctz(mask)];
		uint32_t group = 0;
		for (uint32_t m = mask; m; m &= m - 1)
			if (pointer[__builtin_ctz(m)] == target)
				group |= m & -m;
		const struct lowered *f = callee_of(x, target, c, group);
		if (!f)
			return -1;
		struct split *to = group == s->mask ? s : warp_split(x->warp, s);
		if (to != s)
			s->mask &= ~group;
		to->mask = group;
		mask &= ~group;
		if (enter_function(x, to, f, in) < 0)
			return -1;
	}
	return 0;
}

/* ---- out ---- */

static void leave_function(struct exec *x, struct split *s, const struct lowered *f, uint32_t place, uint32_t frame)
{
	struct warp *w = x->warp;
	const struct insn *call = &x->code[place - 1];
	const struct call_op *c = call->detail;
	unsigned char *callee = w->regs + s->frame, *caller = w->regs + frame;
	for (uint32_t k = 0; k < c->n_rets; k++)
		move_rows(caller + call->aux + 32 * c->rets[k].from, callee + f->param_area + 32 * (f->ret_place + c->rets[k].to),
			  c->rets[k].n, s->mask);
	const uint32_t *head = (const uint32_t *)callee;
	for (uint32_t m = s->mask; m; m &= m - 1)
		w->local_top[__builtin_ctz(m)] = head[HEAD_LOCAL / 4 + __builtin_ctz(m)];
	s->frame = frame;
	s->pc = place;
}

int call_return(struct exec *x, uint32_t mask)
{
	const struct lowered *f = function_at(x, (uint32_t)(x->at - x->code));
	exec_part(x, mask);
	struct split *s = x->split;
	const uint32_t *head = (const uint32_t *)(x->warp->regs + s->frame);
	while (mask) {
		int lane = __builtin_ctz(mask);
		uint32_t place = head[HEAD_PLACE / 4 + lane], frame = head[HEAD_FRAME / 4 + lane], group = 0;
		for (uint32_t m = mask; m; m &= m - 1) {
			int i = __builtin_ctz(m);
			if (head[HEAD_PLACE / 4 + i] == place && head[HEAD_FRAME / 4 + i] == frame)
				group |= m & -m;
		}
		struct split *to = group == s->mask ? s : warp_split(x->warp, s);
		if (to != s)
			s->mask &= ~group;
		to->mask = group;
		mask &= ~group;
		leave_function(x, to, f, place, frame);
	}
	return 0;
}

/* ---- functions of the device runtime ---- */

static uint64_t argument(const struct exec *x, const struct insn *in, unsigned i, int lane)
{
	const struct call_op *c = in->detail;
	const uint32_t *at = (const uint32_t *)(x->regs + in->aux + 32 * c->args[i].from);
	return c->args[i].n >= 8 ? at[lane] | (uint64_t)at[32 + lane] << 32 : at[lane];
}

static void result(const struct exec *x, const struct insn *in, int lane, uint64_t v)
{
	const struct call_op *c = in->detail;
	if (c->n_rets == 0)
		return;
	uint32_t *at = (uint32_t *)(x->regs + in->aux + 32 * c->rets[0].from);
	at[lane] = (uint32_t)v;
	if (c->rets[0].n >= 8)
		at[32 + lane] = (uint32_t)(v >> 32);
}

static int fail_assertion(struct exec *x, const struct insn *in, int lane)
{
	char message[160], file[96], function[96];
	if (printf_string(x, (unsigned)lane, argument(x, in, 0, lane), message, sizeof message) < 0 ||
	    printf_string(x, (unsigned)lane, argument(x, in, 1, lane), file, sizeof file) < 0 ||
	    printf_string(x, (unsigned)lane, argument(x, in, 3, lane), function, sizeof function) < 0)
		return -1;
	const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	return exec_fault(x, FAULT_ASSERT, 1u << lane, "%s:%u: %s: assertion `%s' failed", base, (unsigned)argument(x, in, 2, lane), function,
			  message);
}

static int run_extern(struct exec *x, const struct insn *in, unsigned fn, int lane)
{
	uint32_t printed;
	uint64_t addr;
	switch (fn) {
	case EXTERN_VPRINTF:
		if (printf_device(x, (unsigned)lane, argument(x, in, 0, lane), argument(x, in, 1, lane), &printed) < 0)
			return -1;
		result(x, in, lane, printed);
		return 0;
	case EXTERN_ASSERTFAIL:
		return fail_assertion(x, in, lane);
	case EXTERN_MALLOC:
		result(x, in, lane, emu_heap_alloc(x->launch->emu, argument(x, in, 0, lane)));
		return 0;
	default:
		addr = argument(x, in, 0, lane);
		if (addr && emu_heap_free(x->launch->emu, addr) < 0)
			return exec_fault(x, FAULT_BAD_ARGUMENT, 1u << lane, "free of 0x%llx, which malloc did not return", (unsigned long long)addr);
		return 0;
	}
}

int call_extern(struct exec *x, const struct insn *in, uint32_t mask)
{
	const struct call_op *c = in->detail;
	for (uint32_t m = mask; m; m &= m - 1)
		if (run_extern(x, in, c->external, __builtin_ctz(m)) < 0)
			return -1;
	return 0;
}
