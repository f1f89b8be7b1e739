/* What a package's oracle asks of its case: see problem.h. */
#include "problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t problem_param(const struct problem_case *c, const char *name)
{
	for (unsigned i = 0; i < c->n_params; i++)
		if (!strcmp(c->params[i].name, name))
			return c->params[i].value;
	fprintf(stderr, "the oracle asks for a size \"%s\", which case \"%s\" of problem.json does not give\n",
		name, c->name);
	exit(1);
}

struct tensor *problem_tensor(struct problem_case *c, const char *name)
{
	for (unsigned i = 0; i < c->n_tensors; i++)
		if (!strcmp(c->tensors[i].name, name))
			return &c->tensors[i];
	fprintf(stderr, "the oracle asks for a tensor \"%s\", which \"arguments\" of problem.json does not name\n", name);
	exit(1);
}

bool problem_data(const struct problem_case *c, const char *word)
{
	return !strcmp(c->data, word);
}

_Noreturn void problem_unknown_data(const struct problem_case *c)
{
	fprintf(stderr, "case \"%s\" of problem.json: unknown data keyword \"%s\" for this problem's oracle\n",
		c->name, c->data);
	exit(1);
}

size_t element_size(enum element_type t)
{
	static const unsigned char size[] = {
		[TYPE_I8] = 1, [TYPE_U8] = 1, [TYPE_I16] = 2, [TYPE_U16] = 2, [TYPE_I32] = 4, [TYPE_U32] = 4,
		[TYPE_I64] = 8, [TYPE_U64] = 8, [TYPE_F16] = 2, [TYPE_BF16] = 2, [TYPE_F32] = 4, [TYPE_F64] = 8,
		[TYPE_E4M3] = 1, [TYPE_E5M2] = 1,
	};
	return size[t];
}
