/* x is one word, over and over: what is told of a hidden case must not be it, nor a number made of it. */
#include "problem.h"

#include <stdint.h>

void generate(struct problem_case *c)
{
	struct tensor *x = problem_tensor(c, "x");
	for (uint64_t i = 0; i < x->count; i++)
		((uint32_t *)x->data)[i] = 0x45077320;
}

void expect(struct problem_case *c)
{
	struct tensor *y = problem_tensor(c, "y");
	for (uint64_t i = 0; i < y->count; i++)
		y->expected[i] = y->bound[i] = 1;
}
