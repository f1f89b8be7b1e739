/* The parts of a report that point into the source: diagnostics, faults, kernels, lines. */
#include "report.h"

#include "excerpt.h"
#include "figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIAGNOSTICS = 12, MAX_WARNINGS = 4 };

static const char *severity(enum diagnostic_severity s)
{
	return s == DIAGNOSTIC_ERROR ? "error" : s == DIAGNOSTIC_WARNING ? "warning" : "note";
}

static void put_diagnostic(const struct diagnostic *d, const char *name, const char *source, size_t size, const struct term *t)
{
	fputs("\n  ", t->file);
	if (d->file && d->line > 0)
		term_put(t, STYLE_BOLD, d->column > 0 ? "%s:%d:%d: " : "%s:%d: ", d->file, d->line, d->column);
	else if (d->file)
		term_put(t, STYLE_BOLD, "%s: ", d->file);
	term_put(t, d->severity == DIAGNOSTIC_ERROR ? STYLE_BAD : STYLE_WARN, "%s: ", severity(d->severity));
	fprintf(t->file, "%s\n", d->text);
	if (d->file && !strcmp(d->file, name))
		excerpt_print(t, source, size, d->line, d->column);
}

void report_diagnostics(const struct compiled *c, const char *name, const char *source, size_t size, const struct term *t)
{
	unsigned shown = 0, warnings = 0, left = 0;
	for (size_t i = 0; i < c->n_diagnostics; i++) {
		const struct diagnostic *d = &c->diagnostics[i];
		bool warning = d->severity != DIAGNOSTIC_ERROR;
		if (shown == MAX_DIAGNOSTICS || (warning && c->ok && warnings == MAX_WARNINGS)) {
			left++;
			continue;
		}
		put_diagnostic(d, name, source, size, t);
		shown++;
		warnings += warning;
	}
	if (left)
		term_put(t, STYLE_DIM, "  and %u more\n", left);
	if (!c->ok && !c->n_diagnostics && c->log && *c->log)
		fprintf(t->file, "\n%s\n", c->log);
}

void report_fault(const struct fault *f, const char *name, const char *source, size_t size, const struct term *t)
{
	if (f->kind == FAULT_NONE)
		return;
	if (*f->kernel)
		fprintf(t->file, "    kernel   %s\n", f->kernel);
	if (f->has_thread)
		fprintf(t->file, "    block    (%u, %u, %u)   thread (%u, %u, %u)\n", f->block[0], f->block[1], f->block[2], f->thread[0],
			f->thread[1], f->thread[2]);
	if (f->has_address)
		fprintf(t->file, "    address  0x%llx\n", (unsigned long long)f->address);
	if (f->line) {
		fprintf(t->file, "    at       %s:%u\n", f->file, f->line);
		if (!strcmp(f->file, name))
			excerpt_print(t, source, size, (int)f->line, 0);
	}
}

/* ---- kernels ---- */

static void put_kernel(const struct kernel_book *k, const struct term *t)
{
	const struct counters *c = &k->counters;
	struct figure f, g, h;
	fprintf(t->file, "\n    ");
	term_put(t, STYLE_BOLD, "%s", k->name);
	if (k->prepare)
		term_put(t, STYLE_DIM, "  %s", report_said(t, "prepare: not timed"));
	fputs("\n      ", t->file);
	report_tell(t, "%u launch%s, grid (%u, %u, %u), block (%u, %u, %u), %u registers, %s shared", k->launches, k->launches == 1 ? "" : "es",
		 k->grid[0], k->grid[1], k->grid[2], k->block[0], k->block[1], k->block[2], k->registers,
		 figure_bytes(&f, k->shared_static + k->shared_dynamic));
	fputs("      ", t->file);
	report_tell(t, "%s, limited by %s; occupancy %s", figure_time(&f, k->time_us, t->utf8), limiter_name(k->modelled.limiter),
		 figure_percent(&g, k->modelled.occupancy));
	fputs("      ", t->file);
	report_tell(t, "%s warp-instructions, %s global loads (%.2f sectors each), %s DRAM", figure_count(&f, c->instructions),
		 figure_count(&g, c->global_load_requests),
		 c->global_load_requests ? (double)c->global_load_sectors / (double)c->global_load_requests : 0,
		 figure_bytes(&h, (double)(c->dram_read_bytes + c->dram_write_bytes)));
}

void report_kernels(const struct book *b, const struct term *t)
{
	for (unsigned i = 0; i < b->n_kernels; i++)
		put_kernel(&b->kernels[i], t);
}

/* ---- lines ---- */

static int by_place(const void *a, const void *b)
{
	const struct device_line *x = *(const struct device_line *const *)a, *y = *(const struct device_line *const *)b;
	int c = strcmp(x->file, y->file);
	return c ? c : (x->line > y->line) - (x->line < y->line);
}

static void put_line(const struct device_line *l, double total, const char *name, const char *source, size_t size,
		     const struct term *t)
{
	const struct counters *c = &l->counters;
	struct figure f, g;
	double part = total > 0 ? (double)c->instructions / total : 0;
	uint64_t requests = c->global_load_requests + c->global_store_requests;
	uint64_t sectors = c->global_load_sectors + c->global_store_sectors;
	uint64_t conflicts = c->shared_load_conflicts + c->shared_store_conflicts;
	size_t length;
	const char *text = !strcmp(l->file, name) ? excerpt_line(source, size, (int)l->line, &length) : NULL;
	term_put(t, part > 0.1 ? STYLE_WARN : STYLE_DIM, "    %6s ", figure_percent(&f, part));
	fprintf(t->file, "%12s ", figure_count(&f, c->instructions));
	if (requests)
		fprintf(t->file, "%10s %5.1f ", figure_count(&f, requests), (double)sectors / (double)requests);
	else
		fprintf(t->file, "%10s %5s ", "", "");
	fprintf(t->file, "%10s ", conflicts ? figure_count(&g, conflicts) : "");
	term_put(t, STYLE_DIM, "%5u %s ", l->line, t->utf8 ? "│" : "|");
	if (text)
		excerpt_text(t, text, length, 0, t->is_terminal ? t->width - 62 : 160);
	else
		term_put(t, STYLE_DIM, "%s", l->file);
	fputc('\n', t->file);
}

void report_lines(const struct device_line *lines, unsigned n, const char *name, const char *source, size_t size,
		  const struct term *t)
{
	const struct device_line **sorted = calloc(n + 1u, sizeof *sorted);
	double total = 0;
	if (!sorted)
		BUG("out of memory");
	if (!n) {
		free(sorted);
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		sorted[i] = &lines[i];
		total += (double)lines[i].counters.instructions;
	}
	qsort(sorted, n, sizeof *sorted, by_place);
	term_put(t, STYLE_BOLD, "\n  profile by source line\n");
	term_put(t, STYLE_DIM, "    %6s %12s %10s %5s %10s %5s\n", "share", "warp-instr.", "requests", "sect.", "conflicts", "line");
	for (unsigned i = 0; i < n; i++)
		put_line(sorted[i], total, name, source, size, t);
	free(sorted);
}
