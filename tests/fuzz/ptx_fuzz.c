/* libFuzzer target of the PTX parser and printer.
 *
 *	clang -g -O1 -D_GNU_SOURCE -fsanitize=fuzzer,address,undefined tests/fuzz/ptx_fuzz.c \
 *		sandbox/ptx/{lex,symbols,words,print,parse,parse_*}.c sandbox/base/{arena,buf,err}.c -o ptx_fuzz
 *	mkdir -p found && ./ptx_fuzz -dict=tests/fuzz/ptx.dict found tests/fuzz/corpus
 */
#include "../../sandbox/ptx/ptx.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct err e = {0};
	const struct ptx_module *m = ptx_parse((const char *)data, size, a, &e);

	if (!m && (e.kind != ERR_INPUT || !e.text[0]))
		BUG("a refusal without a reason");
	for (uint32_t i = 0; m && i < m->n_funcs; i++) {
		const struct ptx_func *f = m->funcs[i];
		for (uint32_t j = 0; j < f->n_insns; j++) {
			const struct ptx_insn *in = &f->insns[j];
			if (in->loc >= m->n_locs || in->ptx_line > m->n_lines || in->guard >= (int32_t)f->n_regs)
				BUG("an instruction with a wrong place or guard");
			if (in->op == PTX_BRA && in->n_ops && in->ops[0].target > f->n_insns)
				BUG("a branch out of its function");
			ptx_print_insn(f, in, a);
		}
	}
	arena_free(a);
	return 0;
}
