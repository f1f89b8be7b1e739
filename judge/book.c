/* The book of a run: see book.h. */
#include "book.h"

#include "element.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct kernel_book *kernel_of(struct book *b, const struct session_launch *l, const struct device_kernel *k)
{
	for (unsigned i = 0; i < b->n_kernels; i++)
		if (b->kernels[i].prepare == l->prepare && !strcmp(b->kernels[i].name, k->pretty))
			return &b->kernels[i];
	if (b->n_kernels == BOOK_KERNELS)
		return NULL;
	struct kernel_book *n = &b->kernels[b->n_kernels++];
	snprintf(n->name, sizeof n->name, "%s", k->pretty);
	n->prepare = l->prepare;
	n->registers = k->registers;
	n->shared_static = k->shared_static;
	n->local_bytes = k->local_bytes;
	return n;
}

static void add_launch(struct kernel_book *k, const struct session_launch *l)
{
	k->launches++;
	k->time_us += l->modelled.time_us;
	counters_add(&k->counters, &l->counters);
	if (k->launches > 1 && l->modelled.time_us <= k->modelled.time_us)
		return;
	k->modelled = l->modelled;
	memcpy(k->grid, l->grid, sizeof k->grid);
	memcpy(k->block, l->block, sizeof k->block);
	k->shared_dynamic = l->shared_dynamic;
	k->warps_per_sm = l->occupancy.warps_per_sm;
	snprintf(k->occupancy_limit, sizeof k->occupancy_limit, "%s", l->occupancy.limit ? l->occupancy.limit : "");
}

static int longest_first(const void *a, const void *b)
{
	const struct kernel_book *x = a, *y = b;
	if (x->prepare != y->prepare)
		return x->prepare - y->prepare;
	return (x->time_us < y->time_us) - (x->time_us > y->time_us);
}

static void add_launches(struct book *b, const struct session_run *r, const struct device_kernel *kernels, unsigned n_kernels)
{
	for (unsigned i = 0; i < r->n_launches; i++) {
		const struct session_launch *l = &r->launches[i];
		if (l->kernel >= n_kernels)
			continue;
		struct kernel_book *k = kernel_of(b, l, &kernels[l->kernel]);
		if (k)
			add_launch(k, l);
		if (l->prepare)
			continue;
		b->launches++;
		b->time_us += l->modelled.time_us;
		counters_add(&b->counters, &l->counters);
	}
	qsort(b->kernels, b->n_kernels, sizeof *b->kernels, longest_first);
	if (b->n_kernels && !b->kernels[0].prepare) {
		b->limiter = b->kernels[0].modelled.limiter;
		b->occupancy = b->kernels[0].modelled.occupancy;
	}
}

/* Elements of an input in the problem's first timing case; 0 if there is none. */
static double timed_elements(const struct problem *p, const struct argument *a)
{
	struct sizes sizes = {0};
	double n = 1;
	unsigned c = 0;
	while (c < p->n_cases && !p->cases[c].timing)
		c++;
	if (c == p->n_cases)
		return 0;
	for (unsigned i = 0; i < p->cases[c].n_sizes; i++)
		sizes_add(&sizes, p->cases[c].sizes[i].name, size_drawn(&p->cases[c].sizes[i], 0));
	for (unsigned d = 0; d < a->dims; d++) {
		int64_t x;
		struct err e;
		n *= sizes_eval(a->shape[d], &sizes, &x, &e) < 0 ? 0 : (double)x;
	}
	return n;
}

/* The weights are the input that is largest where it counts, in the timing case: in these problems the one that is worth
 * reading once.  In a small case another may be larger. */
static void find_weights(struct book *b, const struct testcase *t)
{
	const struct problem *p = t->problem;
	double most = -1;
	for (unsigned i = 0; i < p->n_arguments; i++) {
		const struct argument *a = &p->arguments[i];
		if (a->role != ROLE_INPUT)
			continue;
		double bytes = timed_elements(p, a) * element_bytes(a->type);
		if (bytes == 0)
			bytes = (double)t->tensors[i].bytes;
		if (bytes <= most)
			continue;
		most = bytes;
		b->weight_bytes = t->tensors[i].bytes;
		snprintf(b->weights, sizeof b->weights, "%s", a->name);
	}
}

static const struct argument *argument_named(const struct problem *p, const char *name)
{
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (!strcmp(p->arguments[i].name, name))
			return &p->arguments[i];
	return NULL;
}

/* Traffic is counted in sectors; what the lanes stored is exact, but not by tensor.  So: all that was stored, less the
 * outputs, where anything went elsewhere at all. */
static void add_traffic(struct book *b, const struct testcase *t, const struct session_run *r)
{
	const struct problem *p = t->problem;
	uint64_t elsewhere = 0, weights = 0, repacked = 0, outputs = testcase_outputs(t);
	find_weights(b, t);
	for (unsigned i = 0; i < r->n_traffic; i++) {
		const struct mem_traffic *m = &r->traffic[i];
		const struct argument *a = argument_named(p, m->name);
		if (!a || a->role != ROLE_OUTPUT)
			elsewhere += m->store_bytes;
		if (!strcmp(m->name, b->weights))
			weights += m->load_bytes;
		else if (a && a->role == ROLE_WORKSPACE && !m->store_bytes)
			repacked += m->load_bytes;
	}
	/* weights that prepare() repacked are read from the workspace */
	if (r->has_prepare && repacked > weights)
		weights = repacked;
	if (b->weight_bytes)
		b->weight_passes = (double)weights / (double)b->weight_bytes;
	uint64_t stored = b->counters.global_store_bytes;
	if (elsewhere)
		b->intermediate_bytes = stored > outputs && stored - outputs < elsewhere ? stored - outputs : elsewhere;
}

static double share(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : NAN;
}

void book_keep(const struct testcase *t, const struct session_run *r, const struct device_kernel *kernels, unsigned n_kernels,
	       struct book *out)
{
	memset(out, 0, sizeof *out);
	add_launches(out, r, kernels, n_kernels);
	out->time_us += r->copies_us;
	if (t)
		add_traffic(out, t, r);
	const struct counters *c = &out->counters;
	out->scratch_bytes = r->allocated_bytes;
	out->host_copy_bytes = r->host_copy_bytes;
	out->syncs = r->syncs;
	out->sectors_per_request = share(c->global_load_sectors, c->global_load_requests);
	out->store_sectors_per_request = share(c->global_store_sectors, c->global_store_requests);
	/* lanes that read the same word ask for more bytes than come: such a load is whole */
	out->load_efficiency = fmin(1, share(c->global_load_bytes, 32 * c->global_load_sectors));
	if (!c->global_load_sectors)
		out->load_efficiency = NAN;
	out->shared_conflicts = c->shared_load_conflicts + c->shared_store_conflicts;
	out->shared_wavefronts = c->shared_load_wavefronts + c->shared_store_wavefronts;
}
