/* The rules of a problem: see rules.h.
 *
 * Every broken rule is told, in one sentence, with what it costs where that is plain arithmetic: bytes over the rate at which the
 * device reads memory.  Those figures say something in a timing case, whose sizes are those that count; a small case tells the bytes
 * alone.
 */
#include "rules.h"

#include "figures.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct trial {
	const struct testcase *t;
	const struct session_run *r;
	const struct book *b;
	const struct profile *counted;
	bool told, timed, costs;	/* numbers may be told; they are those of a timing case; costs are among them */
	char *why;
	size_t size, length;
	unsigned broken;
};

__attribute__((format(printf, 2, 3)))
static void add(struct trial *x, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(x->why + x->length, x->size - x->length, fmt, ap);
	va_end(ap);
	x->length = x->length + (size_t)n < x->size ? x->length + (size_t)n : x->size - 1;
}

static void begin(struct trial *x)
{
	add(x, "%s", x->broken++ ? "; " : "");
}

bool rules_count_bytes(const struct problem *p)
{
	bool counts = p->max_intermediate_bytes;
	for (unsigned i = 0; i < p->n_arguments; i++)
		counts |= p->max_passes[i] > 0;
	return counts;
}

int rules_limit(const char *field, const char *expression, const struct sizes *sizes, int64_t *out, struct err *e)
{
	*out = INT64_MAX;
	if (!expression)
		return 0;
	return sizes_eval(expression, sizes, out, e) < 0 ? err_wrap(e, "rules.%s", field) : 0;
}

static const char *allowed_bytes(struct figure *f, int64_t limit)
{
	if (limit)
		figure_count(f, (uint64_t)limit);
	return limit ? strncat(f->text, " B", 3) : strcpy(f->text, "none");
}

/* ---- launches and allocations ---- */

static void try_launches(struct trial *x)
{
	long long most = x->t->problem->max_launches;
	if (most < 0 || x->b->launches <= most)
		return;
	begin(x);
	if (x->told)
		add(x, "%u launches, %lld allowed", x->b->launches, most);
	else
		add(x, "more launches than are allowed");
}

static int try_scratch(struct trial *x, struct err *e)
{
	struct figure used, most;
	int64_t limit;
	if (rules_limit("scratch_bytes", x->t->problem->scratch_bytes, &x->t->sizes, &limit, e) < 0)
		return -1;
	if (x->r->allocated_bytes <= (uint64_t)limit)
		return 0;
	begin(x);
	if (x->told)
		add(x, "%s B of memory allocated, %s allowed", figure_count(&used, x->r->allocated_bytes), allowed_bytes(&most, limit));
	else
		add(x, "more memory allocated than is allowed");
	return 0;
}

/* ---- intermediates ---- */

static const struct argument *argument_named(const struct problem *p, const char *name)
{
	for (unsigned i = 0; i < p->n_arguments; i++)
		if (!strcmp(p->arguments[i].name, name))
			return &p->arguments[i];
	return NULL;
}

/* Where they lie: "workspace", "memory of its own" (allocated, or variables), or both; and what is read of them. */
static uint64_t find_intermediates(const struct trial *x, char *where, size_t size)
{
	uint64_t read = 0;
	bool own = false;
	size_t n = 0;
	*where = 0;
	for (unsigned i = 0; i < x->r->n_traffic; i++) {
		const struct mem_traffic *m = &x->r->traffic[i];
		const struct argument *a = argument_named(x->t->problem, m->name);
		if (!m->store_bytes || (a && a->role == ROLE_OUTPUT))
			continue;
		read += m->load_bytes;
		if (a && n < size)
			n += (size_t)snprintf(where + n, size - n, "%s%s", n ? ", " : "", a->name);
		own |= !a;
	}
	if (own && n < size)
		snprintf(where + n, size - n, "%s", n ? " and memory of its own" : "memory of its own");
	return read;
}

/* The kernel that stores most, where it is plain: of several. */
static const struct kernel_book *writer(const struct book *b)
{
	const struct kernel_book *most = NULL;
	unsigned kernels = 0;
	for (unsigned i = 0; i < b->n_kernels; i++) {
		const struct kernel_book *k = &b->kernels[i];
		kernels += !k->prepare;
		if (!k->prepare && (!most || k->counters.global_store_bytes > most->counters.global_store_bytes))
			most = k;
	}
	return kernels > 1 && most->counters.global_store_bytes * 2 > b->intermediate_bytes ? most : NULL;
}

/* What moving so many bytes takes; less if a cache keeps them. */
static void add_cost(struct trial *x, double bytes)
{
	struct figure f;
	if (!x->timed)
		return;
	add(x, ": up to %s of DRAM's time", figure_time(&f, bytes / (x->counted->dram_read_gbs * 1e3), true));
	x->costs = true;
}

/* What costs are to be compared with. */
static int add_least(struct trial *x, struct err *e)
{
	double bytes, flops;
	struct figure f;
	if (testcase_work(x->t, &bytes, &flops, e) < 0)
		return -1;
	add(x, ". All that must be moved takes %s, at %.2f TB/s", figure_time(&f, bytes / (x->counted->dram_read_gbs * 1e3), true),
	    x->counted->dram_read_gbs / 1e3);
	return 0;
}

static int try_intermediates(struct trial *x, struct err *e)
{
	struct figure f, most;
	char where[120];
	int64_t limit;
	if (rules_limit("max_intermediate_bytes", x->t->problem->max_intermediate_bytes, &x->t->sizes, &limit, e) < 0)
		return -1;
	const uint64_t written = x->b->intermediate_bytes;
	if (!x->counted || written <= (uint64_t)limit)
		return 0;
	begin(x);
	add(x, "intermediates pass through memory");
	if (!x->told)
		return 0;
	const struct kernel_book *k = writer(x->b);
	const uint64_t read = find_intermediates(x, where, sizeof where);
	add(x, " (%s): %s written", where, figure_bytes(&f, (double)written));
	if (k)
		add(x, ", most of it by %.60s", k->name);
	if (read)
		add(x, ", and %s read again", figure_bytes(&f, (double)read));
	add(x, ", %s allowed", allowed_bytes(&most, limit));
	add_cost(x, (double)(written + read));
	return 0;
}

/* ---- passes ---- */

/* Weights that prepare() has repacked are read where it put them: the book knows. */
static double passes_of(const struct trial *x, unsigned i)
{
	const char *name = x->t->problem->arguments[i].name;
	uint64_t loaded = 0;
	if (!strcmp(x->b->weights, name))
		return x->b->weight_passes;
	for (unsigned k = 0; k < x->r->n_traffic; k++)
		loaded += strcmp(x->r->traffic[k].name, name) ? 0 : x->r->traffic[k].load_bytes;
	return (double)loaded / (double)x->t->tensors[i].bytes;
}

static void try_passes(struct trial *x)
{
	const struct problem *p = x->t->problem;
	for (unsigned i = 0; x->counted && i < p->n_arguments; i++) {
		const double most = p->max_passes[i], bytes = (double)x->t->tensors[i].bytes;
		if (!(most > 0) || bytes < RULES_LEAST_WEIGHTS || passes_of(x, i) <= most)
			continue;
		begin(x);
		if (!x->told) {
			add(x, "%s read more often than is allowed", p->arguments[i].name);
			continue;
		}
		const double passes = passes_of(x, i);
		add(x, "%s read %.*f times, %.4g allowed", p->arguments[i].name, passes < most + 0.05 ? 3 : passes < 10 ? 2 : 1, passes, most);
		add_cost(x, (passes - 1) * bytes);
	}
}

int rules_broken(const struct testcase *t, const struct session_run *r, const struct book *b, const struct profile *counted, char *why,
		 size_t size, struct err *e)
{
	struct trial x = {.t = t, .r = r, .b = b, .counted = counted, .told = t->spec->visible || t->spec->timing, .timed = t->spec->timing,
			  .why = why, .size = size};
	*why = 0;
	try_launches(&x);
	if (try_scratch(&x, e) < 0 || try_intermediates(&x, e) < 0)
		return -1;
	try_passes(&x);
	if (x.costs && add_least(&x, e) < 0)
		return -1;
	return x.broken > 0;
}
