/* y = 2 x. */
#include "element.h"

void generate(struct problem_case *c)
{
	struct tensor *x = problem_tensor(c, "x");
	for (uint64_t i = 0; i < x->count; i++) {
		double v = random_normal(&c->random);
		element_store(x, i, 1, &v);
	}
}

void expect(struct problem_case *c)
{
	struct tensor *x = problem_tensor(c, "x"), *y = problem_tensor(c, "y");
	for (uint64_t i = 0; i < y->count; i++) {
		double v;
		element_load(x, i, 1, &v);
		y->expected[i] = 2 * v;
		y->bound[i] = 0;
	}
}
