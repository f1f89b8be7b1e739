/* Faults of the executor, and the places in the source that all faults get. */
#include "exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct ptx_loc *loc_of(const struct launch *l, uint32_t pc, uint32_t *ptx_line)
{
	const struct ptx_insn *in = lower_origin(l->program, pc, NULL);
	const struct ptx_loc *loc = in && in->loc ? &l->program->module->locs[in->loc] : NULL;
	*ptx_line = in ? in->ptx_line : 0;
	return loc && loc->file && loc->line ? loc : NULL;
}

static const char *base_name(const char *path)
{
	const char *s = strrchr(path, '/');
	return s ? s + 1 : path;
}

const char *exec_place(const struct launch *l, uint32_t pc, char *text, size_t size)
{
	uint32_t ptx_line;
	const struct ptx_loc *loc = loc_of(l, pc, &ptx_line);
	if (loc)
		snprintf(text, size, "%s:%u", base_name(loc->file), loc->line);
	else
		snprintf(text, size, "PTX line %u", ptx_line);
	return text;
}

void exec_fault_place(struct block *b, uint32_t pc)
{
	struct fault *f = &b->ctx.fault;
	struct emu_kernel_info info;
	uint32_t ptx_line;
	const struct ptx_loc *loc = loc_of(b->launch, pc, &ptx_line);
	emu_kernel_info(b->launch->kernel, &info);
	snprintf(f->kernel, sizeof f->kernel, "%s", info.pretty);
	f->line = loc ? loc->line : 0;
	snprintf(f->file, sizeof f->file, "%s", loc ? base_name(loc->file) : "");
	if (b->ctx.other_site == MEM_NO_SITE)
		return;
	uint32_t other = exec_site_pc(b->launch, b->ctx.other_site);
	size_t n = strlen(f->detail);
	char place[96];
	if (other != UINT32_MAX && n + 1 < sizeof f->detail)
		snprintf(f->detail + n, sizeof f->detail - n, " (%s)", exec_place(b->launch, other, place, sizeof place));
}

void exec_fault_thread(struct block *b, const struct warp *w, uint32_t lanes)
{
	struct fault *f = &b->ctx.fault;
	const uint32_t *dim = b->launch->block;
	uint32_t t = w->index * 32 + (lanes ? (uint32_t)__builtin_ctz(lanes) : 0);
	f->has_thread = 1;
	for (int i = 0; i < 3; i++)
		f->block[i] = b->index[i];
	f->thread[0] = t % dim[0];
	f->thread[1] = t / dim[0] % dim[1];
	f->thread[2] = t / dim[0] / dim[1];
}

int exec_fault(struct exec *x, enum fault_kind kind, uint32_t lanes, const char *fmt, ...)
{
	struct fault *f = &x->block->ctx.fault;
	va_list ap;
	memset(f, 0, sizeof *f);
	f->kind = kind;
	va_start(ap, fmt);
	vsnprintf(f->detail, sizeof f->detail, fmt, ap);
	va_end(ap);
	x->block->ctx.other_site = MEM_NO_SITE;
	exec_fault_thread(x->block, x->warp, lanes);
	return -1;
}

/* The lowered instruction of a memory site. */
uint32_t exec_site_pc(const struct launch *l, uint32_t site)
{
	const struct program *p = l->program;
	for (uint32_t i = 0; i < p->n_funcs; i++) {
		const struct lowered *o = p->funcs[i];
		if (!o || site < o->first_site || site >= o->first_site + o->n_sites)
			continue;
		uint32_t insn = o->site_insn[site - o->first_site];
		for (uint32_t k = 0; k < o->n; k++)
			if (insn >= o->ranges[k].first && insn < o->ranges[k].end)
				return o->first + k;
	}
	return UINT32_MAX;
}
