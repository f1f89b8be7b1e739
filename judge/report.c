/* The report of a grading on a terminal: verdict, what went wrong and where, cases, timing, book, advice. */
#include "report.h"

#include "../sandbox/base/arena.h"
#include "../sandbox/base/cleanup.h"
#include "advice.h"
#include "figures.h"
#include "lang.h"
#include "ncu.h"
#include "saying.h"
#include "sanitize.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { BAR_WIDTH = 8, TIMES_WIDTH = 11 };

/* Tables are about 90 columns wide; a terminal that has fewer gets narrower columns, and no bars. */
static bool narrow(const struct term *t) { return t->is_terminal && t->width < 90; }
static int name_width(const struct term *t) { return narrow(t) ? 18 : 22; }
static int sizes_width(const struct term *t) { return narrow(t) ? 17 : 22; }
static int bar_width(const struct term *t) { return narrow(t) ? 0 : BAR_WIDTH; }
static int ratio_width(const struct term *t) { return bar_width(t) + 10; }

static void put_time(const struct term *t, double us, int width)
{
	struct figure f;
	const char *text = figure_time(&f, us, t->utf8);
	fprintf(t->file, "%*s%s", width - term_columns(text), "", text);
}

static void pad(const struct term *t, const char *text, int width)
{
	int n = width - term_columns(text);
	fprintf(t->file, "%s%*s", text, n > 0 ? n : 1, "");
}

/* The same to the right, after a blank. */
static void pad_left(const struct term *t, const char *text, int width)
{
	int n = width - term_columns(text);
	fprintf(t->file, " %*s%s", n > 0 ? n : 0, "", text);
}

const char *report_said(const struct term *t, const char *text)
{
	return t->arena ? saying_in(t->lang, text, t->arena) : text;
}

void report_tell(const struct term *t, const char *fmt, ...)
{
	char text[400];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	fprintf(t->file, "%s\n", report_said(t, text));
}

/* In the language of the page. */
__attribute__((format(printf, 3, 4)))
static void say(const struct term *t, enum style s, const char *fmt, ...)
{
	char text[1000];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	term_put(t, s, "%s", report_said(t, text));
}

static void heading(const struct term *t, const char *text)
{
	fputc('\n', t->file);
	term_put(t, STYLE_BOLD, "  %s", report_said(t, text));
	fputc('\n', t->file);
}

static enum style verdict_style(enum verdict v)
{
	return v == VERDICT_AC ? STYLE_GOOD : v == VERDICT_NONE ? STYLE_DIM : v == VERDICT_SE ? STYLE_WARN : STYLE_BAD;
}

/* ---- the head ---- */

static void put_score(const struct grading *g, const struct term *t)
{
	struct figure f;
	if (g->scope != GRADE_ALL) {
		fputs("   ", t->file);
		say(t, STYLE_DIM, g->scope == GRADE_SAMPLES ? "samples only: no score" : "not timed: no score");
		return;
	}
	fputs("   ", t->file);
	say(t, STYLE_BOLD, "score %.1f of 100", g->score);
	if (isnan(g->efficiency))
		return;
	fputs("   ", t->file);
	say(t, STYLE_BOLD, "efficiency %s", figure_percent(&f, g->efficiency));
	if (g->tier)
		fprintf(t->file, " (%s)", report_said(t, tier_name(g->tier)));
}

static void put_head(const struct grading *g, const struct term *t)
{
	char upper[80];
	size_t n = 0;
	for (const char *s = report_said(t, verdict_name(g->verdict)); *s && n + 1 < sizeof upper; s++)
		upper[n++] = (char)(*s >= 'a' && *s <= 'z' ? *s - 32 : *s);
	upper[n] = 0;
	fputs("\n  ", t->file);
	fputs(term_on(t, STYLE_BOLD), t->file);
	term_put(t, verdict_style(g->verdict), "%s", upper);
	if (g->verdict == VERDICT_AC)
		put_score(g, t);
	else
		term_put(t, STYLE_DIM, "  %s", verdict_code(g->verdict));
	fputs("\n  ", t->file);
	term_put(t, STYLE_DIM, "%s: %s, %s, ", g->problem->id, text_in((struct text){g->problem->title, g->problem->title_zh}, t->lang), g->name);
	say(t, STYLE_DIM, g->modelled ? "modelled on %s" : "measured on %s", g->device.name);
	fputc('\n', t->file);
}

/* ---- what went wrong ---- */

static void put_worst(const struct case_report *r, const struct term *t)
{
	if (!r->n_wrong)
		return;
	fputs("    ", t->file);
	pad(t, report_said(t, "element"), 18);
	pad_left(t, report_said(t, "got"), 16);
	pad_left(t, report_said(t, "expected"), 16);
	pad_left(t, report_said(t, "difference"), 12);
	pad_left(t, report_said(t, "bound"), 12);
	fputc('\n', t->file);
	for (unsigned i = 0; i < r->n_wrong; i++) {
		const struct check_element *x = &r->worst[i].element;
		char where[64];
		snprintf(where, sizeof where, "%s[%llu]", r->worst[i].tensor, (unsigned long long)x->index);
		if (r->worst[i].unwritten || isnan(x->got)) {
			fprintf(t->file, "    %-18s", where);
			pad_left(t, r->worst[i].unwritten ? report_said(t, "not written") : "nan", 16);
			fprintf(t->file, " %16.9g %12s %12.3g\n", x->expected, "", x->bound);
		} else {
			fprintf(t->file, "    %-18s %16.9g %16.9g %12.3g %12.3g\n", where, x->got, x->expected, x->got - x->expected,
				x->bound);
		}
	}
}

static void put_printed(const struct case_report *r, const struct term *t)
{
	enum { SHOWN = 2000 };
	if (!r->printed)
		return;
	size_t n = strlen(r->printed);
	fputs("    ", t->file);
	say(t, STYLE_DIM, "case %s printed:", r->spec->name);
	fputc('\n', t->file);
	term_untrusted(t, r->printed, n < SHOWN ? n : SHOWN);
	if (n && r->printed[(n < SHOWN ? n : SHOWN) - 1] != '\n')
		fputc('\n', t->file);
	if (n > SHOWN) {
		fputs("    ", t->file);
		say(t, STYLE_DIM, "(%zu bytes more)", n - SHOWN);
		fputc('\n', t->file);
	}
}

static void put_reason(const struct grading *g, const struct term *t)
{
	const struct case_report *r = g->decisive;
	fputs("\n  ", t->file);
	if (r) {
		char sizes[200], where[300];
		sizes_text(&r->sizes, sizes, sizeof sizes);
		snprintf(where, sizeof where, "case %s (%s): ", r->spec->name, sizes);
		const char *head = report_said(t, where);
		fputs(head, t->file);
		term_wrap(t, report_said(t, *g->why ? g->why : verdict_text(g->verdict)), 2 + term_columns(head), 4);
	} else {
		term_wrap(t, report_said(t, *g->why ? g->why : verdict_text(g->verdict)), 2, 4);
	}
	fputc('\n', t->file);
	if (r) {
		report_fault(&r->fault, g->name, g->source, g->size, t);
		put_worst(r, t);
	}
}

/* ---- cases ---- */

static void put_ratio(const struct case_report *r, const struct term *t)
{
	struct figure f;
	if (isnan(r->error_ratio)) {
		fprintf(t->file, "%*s", ratio_width(t), "");
		return;
	}
	fputs(term_on(t, r->error_ratio > 1 ? STYLE_BAD : r->error_ratio > 0.7 ? STYLE_WARN : STYLE_GOOD), t->file);
	term_bar(t, r->error_ratio, bar_width(t));
	fputs(term_off(t), t->file);
	fprintf(t->file, "  %-8s", figure_ratio(&f, r->error_ratio));
}

static void put_case(const struct case_report *r, const struct term *t)
{
	char sizes[200];
	struct figure f;
	sizes_text(&r->sizes, sizes, sizeof sizes);
	fputs("  ", t->file);
	term_put(t, verdict_style(r->verdict), "%-5s", verdict_code(r->verdict));
	pad(t, r->spec->name, name_width(t));
	pad(t, sizes, sizes_width(t));
	put_ratio(r, t);
	bool quantized = !isnan(r->quantization_error) && r->verdict != VERDICT_NONE;
	if (narrow(t)) {
		fputc('\n', t->file);
		return;
	}
	if (quantized || r->spec->visible)
		term_put(t, STYLE_DIM, " %12s", quantized ? figure_percent(&f, r->quantization_error) : "");
	if (r->spec->visible)
		term_put(t, STYLE_DIM, "  %s", report_said(t, "sample"));
	fputc('\n', t->file);
}

/* A failed call that did no harm is told once. */
static void put_note(const struct grading *g, const struct term *t)
{
	for (unsigned i = 0; i < g->n_cases; i++) {
		const struct case_report *r = &g->cases[i];
		if (!*r->note)
			continue;
		fprintf(t->file, "\n%s", term_on(t, STYLE_WARN));
		char where[100];
		snprintf(where, sizeof where, "note, case %s: ", r->spec->name);
		const char *head = report_said(t, where);
		fprintf(t->file, "  %s", head);
		term_wrap(t, report_said(t, r->note), 2 + term_columns(head), 4);
		fputs(term_off(t), t->file);
		fputc('\n', t->file);
		return;
	}
}

static bool any_quantization(const struct grading *g)
{
	for (unsigned i = 0; i < g->n_cases; i++)
		if (!isnan(g->cases[i].quantization_error))
			return true;
	return false;
}

static void put_cases(const struct grading *g, const struct term *t)
{
	unsigned n = g->n_cases, counted = 0, right = 0;
	bool quantization = any_quantization(g) && !narrow(t);
	for (unsigned i = 0; i < n; i++) {
		bool counts = g->cases[i].gpu || !*g->not_emulated;
		counted += counts;
		right += counts && g->cases[i].verdict == VERDICT_AC;
	}
	heading(t, "cases");
	fputs(term_on(t, STYLE_DIM), t->file);
	fputs("       ", t->file);
	pad(t, report_said(t, "name"), name_width(t));
	pad(t, report_said(t, "sizes"), sizes_width(t));
	pad(t, report_said(t, narrow(t) ? "  err/bound" : "worst error/bound"), ratio_width(t));
	fprintf(t->file, "%s%s\n", quantization ? report_said(t, " quantization") : "", term_off(t));
	/* on the GPU the same cases ran again: only what differs is worth a line */
	for (unsigned i = 0; i < n; i++)
		if (*g->not_emulated ? g->cases[i].gpu : !g->cases[i].gpu || (g->cases[i].verdict != VERDICT_AC && g->cases[i].ran))
			put_case(&g->cases[i], t);
	fputs("       ", t->file);
	say(t, STYLE_DIM, "%u of %u accepted", right, counted);
	if (!g->modelled)
		say(t, STYLE_DIM, *g->not_emulated ? ", on the GPU alone" : ", on the emulated device and then on the GPU");
	if (quantization)
		say(t, STYLE_DIM, "; quantization: RMS error of the stored integers themselves, not held against the kernel");
	fputc('\n', t->file);
}

/* ---- timing ---- */

/* How many times as fast it is. */
static void put_times(double us, double baseline_us, const struct term *t)
{
	struct figure f;
	char text[40] = "-";
	if (baseline_us > 0)
		snprintf(text, sizeof text, "%s%s", figure_ratio(&f, baseline_us / us), t->utf8 ? "×" : "x");
	fprintf(t->file, "%*s%s", TIMES_WIDTH - term_columns(text), "", text);
}

/* Which of the baselines there are times of. */
struct compared {
	bool reference, cublas;
};

static struct compared compared(const struct grading *g)
{
	struct compared c = {0};
	for (unsigned i = 0; i < g->n_cases; i++) {
		c.reference |= g->cases[i].reference.us > 0;
		c.cublas |= g->cases[i].cublas.us > 0;
	}
	return c;
}

static void put_reference(const struct grading *g, const struct term *t)
{
	struct figure f;
	bool first = true;
	term_put(t, STYLE_DIM, "       reference: how many times as fast as the package's reference.cu");
	for (unsigned i = 0; i < g->n_cases && g->modelled; i++) {	/* of measured ones more is told below */
		const struct case_report *r = &g->cases[i];
		if (!(r->reference.us > 0))
			continue;
		term_put(t, STYLE_DIM, "%s%s %s", first ? " (" : ", ", r->spec->name, figure_time(&f, r->reference.us, t->utf8));
		first = false;
	}
	term_put(t, STYLE_DIM, "%s\n", first ? "" : ")");
}

static void put_not_compared(const char *note, const struct term *t)
{
	if (!*note)
		return;
	fputs(term_on(t, STYLE_WARN), t->file);
	int n = fprintf(t->file, "       not compared with ");
	term_wrap(t, note, n, 9);
	fprintf(t->file, "%s\n", term_off(t));
}

static void put_compared(const struct grading *g, struct compared c, const struct term *t)
{
	if (c.reference)
		put_reference(g, t);
	if (c.cublas)
		term_put(t, STYLE_DIM, "       cuBLAS: how many times as fast as the same product in FP16 by cuBLAS %s\n", g->cublas);
	put_not_compared(g->reference_note, t);
	put_not_compared(g->cublas_note, t);
}

static void put_timing_case(const struct case_report *r, struct compared c, const struct term *t)
{
	char sizes[200];
	struct figure f;
	sizes_text(&r->sizes, sizes, sizeof sizes);
	fputs("       ", t->file);
	pad(t, r->spec->name, name_width(t));
	pad(t, sizes, sizes_width(t));
	if (!(r->floor_us > 0)) {
		term_put(t, verdict_style(r->verdict), "%s\n", report_said(t, verdict_name(r->verdict)));
		return;
	}
	put_time(t, r->book.time_us, 9);
	put_time(t, r->floor_us, 10);
	fputs("  ", t->file);
	if (r->impossible) {
		term_put(t, STYLE_WARN, "%s\n", report_said(t, "below the floor: impossible, not rewarded"));
		return;
	}
	fputs(term_on(t, STYLE_NOTE), t->file);
	term_bar(t, r->efficiency, bar_width(t));
	fprintf(t->file, "%s %6s", term_off(t), figure_percent(&f, r->efficiency));
	if (c.reference)
		put_times(r->book.time_us, r->reference.us, t);
	if (c.cublas)
		put_times(r->book.time_us, r->cublas.us, t);
	fprintf(t->file, "   %s\n", report_said(t, limiter_name(r->book.limiter)));
}

/* How a time was come by, for whoever doubts it. */
static void put_measurement(const struct case_report *r, const struct term *t)
{
	const struct timing *m = &r->timing;
	struct figure low, high, cold, spread;
	term_put(t, STYLE_DIM, "       %s: median of %u passes over %u input sets, 95%% sure between %s and %s, spread %s; alone and cold %s",
		 r->spec->name, m->passes, m->sets, figure_time(&low, m->low_us, t->utf8), figure_time(&high, m->high_us, t->utf8),
		 figure_percent(&spread, m->spread), figure_time(&cold, m->cold_us, t->utf8));
	if (m->after.sm_mhz)
		term_put(t, STYLE_DIM, "; SM %u MHz, memory %u MHz", m->after.sm_mhz, m->after.memory_mhz);
	if (r->reference.us > 0)
		term_put(t, STYLE_DIM, "; reference.cu %s", figure_time(&low, r->reference.us, t->utf8));
	if (r->cublas.us > 0)
		term_put(t, STYLE_DIM, "; cuBLAS %s", figure_time(&low, r->cublas.us, t->utf8));
	fputc('\n', t->file);
	if (m->disturbed)
		term_put(t, STYLE_WARN, "       this measurement was disturbed (clocks changed, or times were not steady): grade again when "
			 "the GPU is quiet\n");
}

static void right_of(const struct term *t, const char *text, int width)
{
	const char *said = report_said(t, text);
	fprintf(t->file, "%*s%s", width > term_columns(said) ? width - term_columns(said) : 0, "", said);
}

static void put_times_head(struct compared c, const struct term *t)
{
	fprintf(t->file, "%s       ", term_on(t, STYLE_DIM));
	pad(t, report_said(t, "name"), name_width(t));
	pad(t, report_said(t, "sizes"), sizes_width(t));
	right_of(t, "time", 9);
	right_of(t, "floor", 10);
	fputs("  ", t->file);
	pad(t, report_said(t, "efficiency"), bar_width(t) + 7);
	if (c.reference)
		right_of(t, "reference", TIMES_WIDTH);
	if (c.cublas)
		right_of(t, "cuBLAS", TIMES_WIDTH);
	fprintf(t->file, "   %s%s\n", report_said(t, "limited by"), term_off(t));
}

static void put_timing(const struct grading *g, const struct term *t)
{
	if (g->scope != GRADE_ALL)
		return;
	heading(t, "timing");
	if (!g->n_timing) {
		fputs("       ", t->file);
		say(t, STYLE_DIM, "problem %s has no timing case for the emulated device: no efficiency, %g points at most", g->problem->id,
		    g->problem->score_correct);
		fputc('\n', t->file);
		return;
	}
	if (g->verdict != VERDICT_AC && g->cases[g->n_cases - g->n_timing].verdict == VERDICT_NONE) {
		fprintf(t->file, "       %s\n", report_said(t, "not timed: only a right answer is"));
		return;
	}
	struct compared c = compared(g);
	put_times_head(c, t);
	bool modelled = g->modelled || g->verdict == VERDICT_RV;	/* what breaks a rule gets no time on a GPU */
	for (unsigned i = g->n_cases - g->n_timing; i < g->n_cases; i++)
		if (g->cases[i].gpu != modelled)
			put_timing_case(&g->cases[i], c, t);
	fputs("       ", t->file);
	if (modelled)
		say(t, STYLE_DIM, "time: modelled on %s, cold caches; floor: the bytes (or flops) that nobody can avoid, at its peak rate", g->device.name);
	else
		say(t, STYLE_DIM, "time: measured on this %s; floor: the bytes (or flops) that nobody can avoid, at the peak measured here (%.0f GB/s)",
		    g->device.name, g->calibration.read_gbs);
	fputc('\n', t->file);
	put_compared(g, c, t);
	for (unsigned i = g->n_cases - g->n_timing; i < g->n_cases && !g->modelled; i++)
		if (g->cases[i].gpu && g->cases[i].timing.passes)
			put_measurement(&g->cases[i], t);
}

/* ---- the book ---- */

static void entry(const struct term *t, const char *name)
{
	const char *said = report_said(t, name);
	int n = 21 - term_columns(said);
	fprintf(t->file, "    %s%*s", said, n > 0 ? n : 1, "");
}

static void put_book(const struct book *b, const struct term *t)
{
	struct figure f, g;
	entry(t, "kernel launches");
	fprintf(t->file, "%u\n", b->launches);
	entry(t, "weight passes");
	fprintf(t->file, "%.2f  (%s, %s)\n", b->weight_passes, b->weights, figure_bytes(&f, (double)b->weight_bytes));
	entry(t, "intermediates");
	fprintf(t->file, "%s\n", figure_bytes(&f, (double)b->intermediate_bytes));
	entry(t, "sectors per request");
	if (isnan(b->sectors_per_request))
		fprintf(t->file, "%s\n", report_said(t, "no loads"));
	else
		report_tell(t, "%.2f loads, %.2f stores; %s of the loaded bytes used", b->sectors_per_request,
			isnan(b->store_sectors_per_request) ? 0 : b->store_sectors_per_request, figure_percent(&f, b->load_efficiency));
	entry(t, "bank conflicts");
	report_tell(t, "%s of %s shared-memory wavefronts", figure_count(&f, b->shared_conflicts), figure_count(&g, b->shared_wavefronts));
	entry(t, "DRAM");
	report_tell(t, "%s read, %s written", figure_bytes(&f, (double)b->counters.dram_read_bytes),
		figure_bytes(&g, (double)b->counters.dram_write_bytes));
	entry(t, "occupancy");
	fprintf(t->file, "%s\n", figure_percent(&f, b->occupancy));
	if (b->scratch_bytes) {
		entry(t, "allocated");
		fprintf(t->file, "%s\n", figure_bytes(&f, (double)b->scratch_bytes));
	}
	if (b->host_copy_bytes) {
		entry(t, "host copies");
		fprintf(t->file, "%s\n", figure_bytes(&f, (double)b->host_copy_bytes));
	}
}

/* A GPU counts nothing by itself. */
static void put_gpu_book(const struct grading *g, const struct book *b, const struct term *t)
{
	entry(t, "kernel launches");
	fprintf(t->file, "%u\n", b->launches);
	for (unsigned i = 0; i < b->n_kernels; i++) {
		entry(t, b->kernels[i].prepare ? "kernel of prepare()" : "kernel");
		fprintf(t->file, "%s, %u registers\n", b->kernels[i].name, b->kernels[i].registers);
	}
	entry(t, "not counted");
	term_wrap(t, report_said(t, g->not_emulated), 25, 25);
	fputc('\n', t->file);
}

static void put_books(const struct grading *g, const struct term *t, bool profile)
{
	const struct case_report *r = g->shown;
	char title[240], sizes[120];
	bool right = g->verdict == VERDICT_AC || (g->verdict == VERDICT_RV && r && r->spec->timing);
	if (!r || !r->book.launches || (!right && !profile))
		return;			/* the cost of what is wrong is of little use */
	sizes_text(&r->sizes, sizes, sizeof sizes);
	snprintf(title, sizeof title, "book of %s (%s)%s", r->spec->name, sizes,
		 g->modelled ? "" : r->gpu ? ", on the GPU" : ", counted on the emulated device");
	heading(t, title);
	if (r->gpu) {
		put_gpu_book(g, &r->book, t);
		return;
	}
	put_book(&r->book, t);
	if (profile || r->book.n_kernels > 1)
		report_kernels(&r->book, t);
	if (profile)
		report_lines(r->lines, r->n_lines, g->name, g->source, g->size, t);
}

static void put_sanitizer(const struct grading *g, const struct term *t)
{
	const struct sanitizer_report *s = g->sanitizer;
	heading(t, "compute-sanitizer");
	if (!s->n)
		fprintf(t->file, "    memcheck, racecheck, initcheck and synccheck found nothing in %u small cases\n", s->cases);
	for (unsigned i = 0; i < s->n; i++) {
		int n = fprintf(t->file, "    %s: ", s->findings[i].tool);
		term_wrap(t, report_said(t, s->findings[i].fault.detail), n, 6);
		fputc('\n', t->file);
		report_fault(&s->findings[i].fault, g->name, g->source, g->size, t);
	}
	if (s->more)
		term_put(t, STYLE_DIM, "    and %u more\n", s->more);
}

/* What the GPU counted, beside the emulated device's counts of the same case. */
static void put_hardware(const struct grading *g, const struct term *t)
{
	const struct ncu_counts *h = g->hardware;
	heading(t, "counters on the GPU (ncu)");
	if (!h->ran) {
		fputs("    ", t->file);
		term_wrap(t, h->note, 4, 4);
		fputc('\n', t->file);
		return;
	}
	bool beside = g->shown && !g->shown->gpu;
	if (beside && h->us > 0) {
		struct figure a, b;
		fprintf(t->file, "    the case takes %s on the GPU; the model says %s (%+.0f %%)\n", figure_time(&a, h->us, t->utf8),
			figure_time(&b, g->shown->book.time_us, t->utf8), 100 * (g->shown->book.time_us / h->us - 1));
	}
	term_put(t, STYLE_DIM, "    %16s%s\n", "GPU", beside ? "        emulated   ratio" : "");
	for (unsigned i = 0; i < NCU_METRICS; i++) {
		struct figure a, b;
		double emulated = beside ? ncu_emulated(&g->shown->book.counters, i) : 0;
		if (!h->counted[i])
			continue;
		fprintf(t->file, "    %16s", figure_count(&a, (uint64_t)h->value[i]));
		if (beside)
			fprintf(t->file, "%16s", figure_count(&b, (uint64_t)emulated));
		if (beside && h->value[i] > 0)
			fprintf(t->file, "%8.3f", emulated / h->value[i]);
		else if (beside)
			fprintf(t->file, "%8s", "");
		fprintf(t->file, "  %s\n", ncu_text(i));
	}
}

static void put_advice(const struct grading *g, const struct term *t)
{
	struct advice a;
	if (g->advice)
		a = *g->advice;
	else
		advice_of(g, &a);
	if (!a.n)
		return;
	heading(t, "advice");
	for (unsigned i = 0; i < a.n; i++) {
		term_put(t, STYLE_NOTE, "    %s ", t->utf8 ? "→" : ">");
		term_wrap(t, report_said(t, a.lines[i]), 6, 6);
		fputc('\n', t->file);
	}
}

static void put_foot(const struct grading *g, const struct term *t)
{
	fputc('\n', t->file);
	struct figure f;
	term_put(t, STYLE_DIM, "  %.1f s", g->seconds);
	if (g->host_memory)
		say(t, STYLE_DIM, ", %s of host memory", figure_bytes(&f, (double)g->host_memory));
	if (*g->seed && g->scope != GRADE_SAMPLES && g->verdict != VERDICT_CE)
		say(t, STYLE_DIM, "; repeat with --seed %s", g->seed);
	fputc('\n', t->file);
	if (g->unsandboxed)
		term_put(t, STYLE_WARN, "  %s\n", report_said(t, "no sandbox: a result to be trusted as far as its author is"));
}

static bool any_ran(const struct grading *g)
{
	unsigned i = 0;
	while (i < g->n_cases && !g->cases[i].ran)
		i++;
	return i < g->n_cases;
}

static void put_report(const struct grading *g, const struct term *t, bool profile)
{
	bool ran = any_ran(g);
	put_head(g, t);
	if (g->verdict != VERDICT_AC)
		put_reason(g, t);
	report_diagnostics(&g->compiled, g->name, g->source, g->size, t);
	for (unsigned i = 0; i < g->n_cases; i++)
		put_printed(&g->cases[i], t);
	put_note(g, t);
	if (ran) {
		/* the timing cases have a table of their own, unless one of them is wrong */
		put_cases(g, t);
		put_timing(g, t);
		put_books(g, t, profile);
	}
	if (g->sanitizer && g->sanitizer->ran)
		put_sanitizer(g, t);
	if (g->hardware)
		put_hardware(g, t);
	put_advice(g, t);
	put_foot(g, t);
}

/* One line: no blanks at its end; on a terminal no wider than that. */
static void put_line(const struct term *t, char *line)
{
	size_t n = strlen(line), style = *line == '\033' ? strcspn(line, "m") + 1 : 0, indent = style <= n ? strspn(line + style, " ") : 0;
	while (n && line[n - 1] == ' ')
		line[--n] = 0;
	if (t->is_terminal && term_columns(line) > t->width)
		term_wrap(t, line, 0, (int)indent + 2);
	else
		fputs(line, t->file);
	fputc('\n', t->file);
}

void report_print(const struct grading *g, const struct term *t, bool profile)
{
	CLEANUP_FREE char *text = NULL;
	size_t size;
	struct term page = *t;
	CLEANUP(arena_freep) struct arena *arena = arena_new();
	page.arena = arena;
	page.file = open_memstream(&text, &size);
	if (!page.file)
		BUG("out of memory");
	put_report(g, &page, profile);
	fclose(page.file);
	char *next;
	for (char *line = text; (next = strchr(line, '\n')); line = next + 1) {
		*next = 0;
		put_line(t, line);
	}
}
