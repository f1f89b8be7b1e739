/* Counters of a launch from what was tallied: sums along the code give how often each instruction ran. */
#include "emu_int.h"

#include "pace.h"

#include <stdlib.h>
#include <string.h>

/* Counters by index into the module's places, of which those in use become lines. */
struct by_place {
	const struct ptx_module *m;
	struct counters *of;		/* n_locs */
	uint8_t *used;
};

static void add_pipe(struct counters *c, unsigned pipe, uint64_t n)
{
	switch ((enum alu_pipe)pipe) {
	case PIPE_FP32:
		c->issue_fp32 += n;
		break;
	case PIPE_FP16:
		c->issue_fp16 += n;
		break;
	case PIPE_FP64:
		c->issue_fp64 += n;
		break;
	case PIPE_INT:
		c->issue_int += n;
		break;
	case PIPE_CONVERT:
		c->issue_convert += n;
		break;
	case PIPE_CONVERT_SLOW:
		c->issue_convert += n;
		c->issue_convert_slow += n;
		break;
	case PIPE_SFU:
		c->issue_sfu += n;
		break;
	case PIPE_TENSOR:
		c->issue_tensor += n;
		break;
	case PIPE_MEMORY:
		c->issue_memory += n;
		break;
	case PIPE_CONTROL:
		c->issue_control += n;
		break;
	}
}

static void add_insn(struct by_place *b, struct counters *sum, const struct lowered *f, uint32_t insn, uint64_t n, uint64_t lanes)
{
	struct counters *both[2] = {sum, &b->of[f->func->insns[insn].loc]};
	b->used[f->func->insns[insn].loc] = 1;
	for (int i = 0; i < 2; i++) {
		both[i]->instructions += n;
		both[i]->lanes += lanes;
		both[i]->load_rounds += n * f->pace[insn].rounds;
		both[i]->chain_cycles += n * f->pace[insn].cycles;
		add_pipe(both[i], f->pipes[insn], n);
		if (f->flops)
			both[i]->tensor_flops += n * f->flops[insn];
	}
}

static void add_event(struct by_place *b, struct counters *sum, const struct lowered *f, const struct insn *in, uint32_t own, uint64_t n,
		      uint64_t diverged)
{
	struct counters *both[2] = {sum, &b->of[f->func->insns[own].loc]};
	for (int i = 0; i < 2; i++) {
		if ((in->kind == K_BRA && in->guard != NO_ROW) || in->kind == K_BRX) {
			both[i]->branches += n;
			both[i]->divergent_branches += diverged;
		}
		if (in->kind == K_BARRIER)
			both[i]->barriers += n;
	}
}

static void add_function(struct by_place *b, struct counters *sum, const struct launch *l, const struct totals *t, const struct lowered *f)
{
	uint64_t n = 0, lanes = 0;
	for (uint32_t k = 0; k < f->n; k++) {
		const struct ptx_range *r = &f->ranges[k];
		n += t->tally[f->first + k].n;
		lanes += t->tally[f->first + k].lanes;
		if (n == 0)
			continue;
		for (uint32_t i = r->first; i < r->end; i++)
			add_insn(b, sum, f, i, n, lanes);
		if (r->end > r->first)
			add_event(b, sum, f, &l->program->code[f->first + k], r->own, n, t->diverged[f->first + k]);
	}
}

/* The memory functions count into the launch's sums; by line it is made up from the sites. */
static void add_site(struct counters *c, const struct access *a, const struct mem_site *s)
{
	bool shared = a->op.space == PTX_SPACE_SHARED, local = a->op.space == PTX_SPACE_LOCAL;
	if (a->kind == ACCESS_ATOMICS) {
		if (shared) {
			c->shared_atomic_requests += s->requests;
		} else {
			c->global_atomic_requests += s->requests;
			c->global_atomic_lanes += s->lanes;
		}
	} else if (shared && a->kind == ACCESS_LOADS) {
		c->shared_load_requests += s->requests;
		c->shared_load_wavefronts += s->wavefronts;
		c->shared_load_conflicts += s->conflicts;
	} else if (shared) {
		c->shared_store_requests += s->requests;
		c->shared_store_wavefronts += s->wavefronts;
		c->shared_store_conflicts += s->conflicts;
	} else if (local) {
		if (a->kind == ACCESS_LOADS)
			c->local_load_sectors += s->sectors;
		else
			c->local_store_sectors += s->sectors;
	} else if (a->op.space == PTX_SPACE_CONST || a->op.space == PTX_SPACE_PARAM) {
		c->constant_load_requests += s->requests;
		c->constant_load_passes += s->wavefronts;
	} else if (a->kind == ACCESS_STORES) {
		c->global_store_requests += s->requests;
		c->global_store_sectors += s->sectors;
		c->global_store_bytes += s->bytes;
	} else {
		c->global_load_requests += s->requests;
		c->global_load_sectors += s->sectors;
		c->global_load_bytes += s->bytes;
	}
}

static void add_sites(struct by_place *b, const struct totals *t, const struct lowered *f)
{
	for (uint32_t i = 0; i < f->n_sites; i++) {
		const struct mem_site *s = &t->sites[f->first_site + i];
		uint32_t loc = f->func->insns[f->site_insn[i]].loc;
		if (s->requests == 0)
			continue;
		b->used[loc] = 1;
		add_site(&b->of[loc], f->sites[i], s);
	}
}

/* ---- lines ---- */

static int by_file_and_line(const void *pa, const void *pb)
{
	const struct emu_line *a = pa, *b = pb;
	int r = strcmp(a->file, b->file);
	return r ? r : a->line < b->line ? -1 : a->line > b->line;
}

static void make_lines(const struct by_place *b, struct emu_report *out)
{
	size_t n = 0, kept = 0;
	for (uint32_t i = 1; i < b->m->n_locs; i++)
		n += b->used[i];
	out->lines = calloc(n ? n : 1, sizeof *out->lines);
	if (!out->lines)
		BUG("out of memory");
	n = 0;
	for (uint32_t i = 1; i < b->m->n_locs; i++) {
		const struct ptx_loc *loc = &b->m->locs[i];
		if (b->used[i] && loc->file && loc->line)
			out->lines[n++] = (struct emu_line){.file = loc->file, .line = loc->line, .counters = b->of[i]};
	}
	qsort(out->lines, n, sizeof *out->lines, by_file_and_line);
	for (size_t i = 0; i < n; i++) {
		if (kept && by_file_and_line(&out->lines[kept - 1], &out->lines[i]) == 0)
			counters_add(&out->lines[kept - 1].counters, &out->lines[i].counters);
		else
			out->lines[kept++] = out->lines[i];
	}
	out->n_lines = kept;
}

void report_make(const struct launch *l, const struct totals *t, struct emu_report *out)
{
	struct by_place b = {.m = l->program->module};
	b.of = calloc(b.m->n_locs + 1u, sizeof *b.of);
	b.used = calloc(b.m->n_locs + 1u, 1);
	if (!b.of || !b.used)
		BUG("out of memory");
	out->counters = t->counters;
	for (uint32_t i = 0; i < l->kernel->n_reach; i++) {
		const struct lowered *f = l->program->funcs[l->kernel->reach[i]];
		add_function(&b, &out->counters, l, t, f);
		add_sites(&b, t, f);
	}
	make_lines(&b, out);
	free(b.of);
	free(b.used);
}
