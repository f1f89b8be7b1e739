/* A case made concrete: see testcase.h. */
#include "testcase.h"

#include "element.h"

#include <stdio.h>
#include <string.h>

static int lay_out(const struct argument *a, const struct sizes *sizes, struct testcase_tensor *t, struct err *e)
{
	if (a->role == ROLE_SCALAR) {
		if (sizes_find(sizes, a->name, &t->scalar) < 0)
			BUG("scalar %s without a size", a->name);
		if (a->type == TYPE_I32 && t->scalar > INT32_MAX)
			return err_input(e, "%s is %lld, which an i32 can't hold", a->name, (long long)t->scalar);
		return 0;
	}
	t->count = 1;
	for (unsigned i = 0; i < a->dims; i++) {
		int64_t n;
		if (sizes_eval(a->shape[i], sizes, &n, e) < 0)
			return err_wrap(e, "shape of %s", a->name);
		if (n == 0)
			return err_input(e, "shape of %s: %s is 0: a tensor holds at least one element", a->name, a->shape[i]);
		t->shape[i] = (uint64_t)n;
		if (__builtin_mul_overflow(t->count, t->shape[i], &t->count))
			return err_input(e, "shape of %s: too many elements", a->name);
	}
	if (__builtin_mul_overflow(t->count, (uint64_t)element_bytes(a->type), &t->bytes) ||
	    t->bytes > (uint64_t)TESTCASE_MAX_MIB << 20)
		return err_input(e, "%s has %llu elements of %u bytes; a case holds at most %d MiB", a->name,
				 (unsigned long long)t->count, element_bytes(a->type), TESTCASE_MAX_MIB);
	return 0;
}

/* sizes: NULL to draw them. */
static int make(const struct problem *p, const struct case_spec *spec, const struct sizes *sizes, const struct secret *s, const char *judging,
		struct testcase *t, struct err *e)
{
	struct secret samples;
	if (spec->visible)
		secret_of_samples(&samples);
	struct seed_scope scope = {p->id, p->version, spec->visible ? "sample" : judging, spec->name};
	const struct secret *used = spec->visible ? &samples : s;
	uint64_t total = 0;

	memset(t, 0, sizeof *t);
	t->problem = p;
	t->spec = spec;
	if (sizes)
		t->sizes = *sizes;
	for (unsigned i = 0; i < spec->n_sizes && !sizes; i++) {
		char purpose[PROBLEM_NAME + 8];
		snprintf(purpose, sizeof purpose, "size %s", spec->sizes[i].name);
		if (!sizes_add(&t->sizes, spec->sizes[i].name, size_drawn(&spec->sizes[i], seed_u64(used, &scope, purpose))))
			BUG("too many sizes");
	}
	seed_derive(used, &scope, spec->timing ? "timing data" : "data", t->seed);
	for (unsigned i = 0; i < p->n_arguments; i++) {
		if (lay_out(&p->arguments[i], &t->sizes, &t->tensors[i], e) < 0)
			return -1;
		total += t->tensors[i].bytes;
	}
	if (total > (uint64_t)TESTCASE_MAX_MIB << 20)
		return err_input(e, "its tensors take %llu MiB; a case holds at most %d MiB", (unsigned long long)(total >> 20),
				 TESTCASE_MAX_MIB);
	return 0;
}

int testcase_make(const struct problem *p, const struct case_spec *spec, const struct secret *s, const char *judging,
		  struct testcase *out, struct err *e)
{
	return testcase_make_sized(p, spec, NULL, s, judging, out, e);
}

int testcase_make_sized(const struct problem *p, const struct case_spec *spec, const struct sizes *sizes, const struct secret *s,
			const char *judging, struct testcase *out, struct err *e)
{
	if (make(p, spec, sizes, s, judging, out, e) < 0)
		return err_wrap(e, "%s/problem.json: case \"%s\"", p->id, spec->name);
	return 0;
}

int testcase_work(const struct testcase *t, double *bytes, double *flops, struct err *e)
{
	const struct problem *p = t->problem;
	int64_t n, sum = 0;
	if (p->bytes) {
		if (sizes_eval(p->bytes, &t->sizes, &sum, e) < 0)
			return err_wrap(e, "%s/problem.json: work.bytes", p->id);
	} else {
		for (unsigned i = 0; i < p->n_arguments; i++)
			if (p->arguments[i].role == ROLE_INPUT || p->arguments[i].role == ROLE_OUTPUT)
				sum += (int64_t)t->tensors[i].bytes;
	}
	if (sizes_eval(p->flops, &t->sizes, &n, e) < 0)
		return err_wrap(e, "%s/problem.json: work.flops", p->id);
	*bytes = (double)sum;
	*flops = (double)n;
	return 0;
}

uint64_t testcase_outputs(const struct testcase *t)
{
	uint64_t size = 0;
	for (unsigned i = 0; i < t->problem->n_arguments; i++)
		size += t->problem->arguments[i].role == ROLE_OUTPUT ? t->tensors[i].bytes : 0;
	return size;
}
