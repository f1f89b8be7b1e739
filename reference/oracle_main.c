/* The oracle's process: maps the case that the judge laid out, and lets the package fill it.
 *
 * Linked with one package's oracle.c and libreference.a.  The protocol is at the end of problem.h.  The judge gives
 * this process nothing but the case, so the layout is trusted; the package's code is not, and runs in a jail.
 */
#include "problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "oracle: %s\n", what);
	exit(1);
}

static struct oracle_header *map_case(void)
{
	struct stat st;
	if (fstat(ORACLE_FD_CASE, &st) < 0 || (uint64_t)st.st_size < sizeof(struct oracle_header))
		fail("descriptor 3 is no case file: this program is started by the judge");
	struct oracle_header *h = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, ORACLE_FD_CASE, 0);
	if (h == MAP_FAILED)
		fail("cannot map the case file");
	if (h->magic != ORACLE_MAGIC || h->size != (uint64_t)st.st_size || h->n_tensors > PROBLEM_MAX_TENSORS ||
	    h->n_params > PROBLEM_MAX_PARAMS)
		fail("the case file's header is from another version of the judge");
	return h;
}

static void *area(struct oracle_header *h, uint64_t offset)
{
	return offset ? (char *)h + offset : NULL;
}

static void open_case(struct oracle_header *h, struct problem_case *c)
{
	memcpy(c->name, h->name, sizeof c->name);
	memcpy(c->data, h->data, sizeof c->data);
	c->timing = h->timing != 0;
	c->n_params = h->n_params;
	c->n_tensors = h->n_tensors;
	memcpy(c->params, h->params, sizeof c->params);
	for (unsigned i = 0; i < h->n_tensors; i++) {
		const struct oracle_tensor *t = &h->tensors[i];
		c->tensors[i] = t->tensor;
		c->tensors[i].data = area(h, t->data);
		c->tensors[i].expected = area(h, t->expected);
		c->tensors[i].bound = area(h, t->bound);
	}
	random_seed(&c->random, h->seed);
	c->quantization_error = NAN;
}

int main(void)
{
	static struct problem_case c;
	struct oracle_header *h = map_case();
	open_case(h, &c);
	if (!h->given)
		generate(&c);
	expect(&c);
	h->quantization_error = c.quantization_error;
	h->done = 1;
	return 0;
}
