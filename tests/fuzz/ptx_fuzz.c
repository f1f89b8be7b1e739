/* The PTX parser and printer: an index that a parsed module holds is always inside the table it is for. */
#include "fuzz.h"
#include "sandbox/ptx/ptx.h"

#include <string.h>

static void check_func(const struct ptx_module *m, const struct ptx_func *f, struct arena *a)
{
	for (uint32_t j = 0; j < f->n_insns; j++) {
		const struct ptx_insn *in = &f->insns[j];
		if (in->loc >= m->n_locs || in->ptx_line > m->n_lines || in->guard >= (int32_t)f->n_regs)
			BUG("an instruction with a wrong place or guard");
		if (in->op == PTX_BRA && in->n_ops && in->ops[0].target > f->n_insns)
			BUG("a branch out of its function");
		for (uint32_t k = 0; k < in->n_ops; k++)
			if (in->ops[k].reg >= (int32_t)f->n_regs || in->ops[k].reg2 >= (int32_t)f->n_regs)
				BUG("a register that there is none");
		ptx_print_insn(f, in, a);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct err e = {0};
	const struct ptx_module *m = ptx_parse((const char *)data, size, a, &e);

	if (!m && (e.kind != ERR_INPUT || !e.text[0]))
		BUG("a refusal without a reason");
	for (uint32_t i = 0; m && i < m->n_funcs; i++)
		check_func(m, m->funcs[i], a);
	arena_free(a);
	return 0;
}

#ifdef FUZZING
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct draws d = {seed};
	return draw(&d, 4) ? mutate_words(data, size, max, &d) : LLVMFuzzerMutate(data, size, max);
}
#endif
