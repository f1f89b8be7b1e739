/* The report of a grading as one JSON object, for programs. */
#include "report.h"

#include "ncu.h"
#include "sanitize.h"
#include "untold.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/json.h"
#include "../sandbox/base/json_write.h"
#include "advice.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static void put_counters(struct json_writer *w, struct counters c)
{
	json_open(w, "counters", '{');
	for (unsigned i = 0; i < COUNTER_COUNT; i++)
		json_write_unsigned(w, counter_name(i), *counter_at(&c, i));
	json_close(w, '}');
}

static void put_triple(struct json_writer *w, const char *key, const uint32_t v[3])
{
	json_open(w, key, '[');
	for (int i = 0; i < 3; i++)
		json_write_unsigned(w, NULL, v[i]);
	json_close(w, ']');
}

enum { KEPT_LINES = 400, KEPT_PRINTED = 8000 };

/* What of a grading is written. */
struct part {
	bool profile, hidden;		/* hidden: the seed, and sizes of hidden cases */
	unsigned max_lines;
	size_t max_printed;		/* bytes of what a case printed */
};

/* ---- cases ---- */

/* place: only where in the source it was; what it touched could tell sizes. */
static void put_fault(struct json_writer *w, const char *key, const struct fault *f, bool place)
{
	if (f->kind == FAULT_NONE)
		return;
	json_open(w, key, '{');
	json_write_string(w, "kind", fault_name(f->kind));
	if (!place)
		json_write_string(w, "detail", f->detail);
	json_write_string(w, "kernel", *f->kernel ? f->kernel : NULL);
	if (f->has_thread && !place) {
		put_triple(w, "block", f->block);
		put_triple(w, "thread", f->thread);
	}
	if (f->has_address && !place) {
		char text[24];
		snprintf(text, sizeof text, "0x%llx", (unsigned long long)f->address);
		json_write_string(w, "address", text);
		json_write_unsigned(w, "bytes", f->bytes);
	}
	if (f->line) {
		json_write_string(w, "file", f->file);
		json_write_unsigned(w, "line", f->line);
	}
	json_close(w, '}');
}

static void put_value(struct json_writer *w, const char *key, double v)
{
	if (isnan(v))
		json_write_string(w, key, "nan");
	else if (isinf(v))
		json_write_string(w, key, v > 0 ? "inf" : "-inf");
	else
		json_write_number(w, key, v);
}

static void put_worst(struct json_writer *w, const char *key, const struct case_report *r)
{
	if (!r->n_wrong)
		return;
	json_open(w, key, '[');
	for (unsigned i = 0; i < r->n_wrong; i++) {
		const struct check_element *x = &r->worst[i].element;
		json_open(w, NULL, '{');
		json_write_string(w, "tensor", r->worst[i].tensor);
		json_write_unsigned(w, "index", x->index);
		if (r->worst[i].unwritten)
			json_write_null(w, "got");
		else
			put_value(w, "got", x->got);
		put_value(w, "expected", x->expected);
		put_value(w, "bound", x->bound);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_clocks(struct json_writer *w, const char *key, const struct device_clocks *c)
{
	json_open(w, key, '{');
	json_write_unsigned(w, "sm_mhz", c->sm_mhz);
	json_write_unsigned(w, "memory_mhz", c->memory_mhz);
	json_write_unsigned(w, "temperature", c->temperature);
	json_write_number(w, "watts", c->milliwatts / 1e3);
	json_write_unsigned(w, "throttle", c->throttle);
	json_close(w, '}');
}

static void put_measurement(struct json_writer *w, const struct timing *t)
{
	json_open(w, "measurement", '{');
	json_write_unsigned(w, "sets", t->sets);
	json_write_unsigned(w, "passes", t->passes);
	json_write_number(w, "low_us", t->low_us);
	json_write_number(w, "high_us", t->high_us);
	json_write_number(w, "spread", t->spread);
	json_write_number(w, "cold_us", t->cold_us);
	json_write_bool(w, "disturbed", t->disturbed);
	put_clocks(w, "before", &t->before);
	put_clocks(w, "after", &t->after);
	json_close(w, '}');
}

static void put_baselines(struct json_writer *w, const struct case_report *r)
{
	json_open(w, "baselines", '{');
	json_write_number(w, "reference_us", r->reference.us > 0 ? r->reference.us : NAN);
	json_write_number(w, "cublas_f16_us", r->cublas.us > 0 ? r->cublas.us : NAN);
	json_close(w, '}');
}

static void put_printed(struct json_writer *w, const char *key, const char *text, size_t max)
{
	CLEANUP_BUF struct buf cut = {0};
	size_t n = strlen(text);
	buf_add(&cut, text, n < max ? n : max);
	json_write_string(w, key, buf_str(&cut));
}

static bool open_case(const struct case_report *r, const struct part *part)
{
	return part->hidden || r->spec->visible || r->spec->timing;
}

/* The most that solve() took on the host in any case of which that may be told. */
static uint64_t host_memory(const struct grading *g, const struct part *part)
{
	uint64_t most = 0;
	for (unsigned i = 0; i < g->n_cases; i++)
		if (open_case(&g->cases[i], part) && g->cases[i].host_memory > most)
			most = g->cases[i].host_memory;
	return most;
}

/* The sentence; of a hidden case without what tells of its sizes. */
static void put_why(struct json_writer *w, const char *why, const struct case_report *r, const struct part *part)
{
	CLEANUP_BUF struct buf text = {0};
	if (r && !open_case(r, part))
		untold(why, &text);
	else
		buf_adds(&text, why);
	json_write_string(w, "text", text.size ? buf_str(&text) : NULL);
}

static void put_case(struct json_writer *w, const struct case_report *r, const struct part *part)
{
	json_open(w, NULL, '{');
	json_write_string(w, "name", r->spec->name);
	json_write_bool(w, "visible", r->spec->visible);
	json_write_bool(w, "timing", r->spec->timing);
	json_write_bool(w, "gpu", r->gpu);
	json_open(w, "sizes", '{');
	for (unsigned i = 0; i < r->sizes.n && open_case(r, part); i++)
		json_write_integer(w, r->sizes.at[i].name, r->sizes.at[i].value);
	json_close(w, '}');
	json_write_string(w, "verdict", r->verdict == VERDICT_NONE ? NULL : verdict_code(r->verdict));
	json_write_ratio(w, "error_ratio", open_case(r, part) ? r->error_ratio : untold_ratio(r->error_ratio));
	json_write_number(w, "quantization_error", r->quantization_error);
	put_why(w, r->why, r, part);
	if (*r->note)
		json_write_string(w, "note", r->note);
	json_write_string(w, "stage", r->stage);
	json_write_bool(w, "ran", r->ran);
	put_fault(w, "fault", &r->fault, !open_case(r, part));
	put_worst(w, "worst", r);
	if (r->printed)
		put_printed(w, "printed", r->printed, part->max_printed);
	if (r->spec->timing && (r->verdict == VERDICT_AC || r->verdict == VERDICT_RV) && r->floor_us > 0) {
		json_write_number(w, "bytes", r->bytes);
		json_write_number(w, "flops", r->flops);
		json_write_bool(w, "impossible", r->impossible);
		json_write_number(w, "time_us", r->book.time_us);
		json_write_number(w, "floor_us", r->floor_us);
		json_write_number(w, "efficiency", r->efficiency);
		json_write_string(w, "limiter", limiter_name(r->book.limiter));
		if (r->gpu)
			put_measurement(w, &r->timing);
		if (r->gpu || r->reference.us > 0)
			put_baselines(w, r);
	}
	json_close(w, '}');
}

/* ---- kernels, lines, book ---- */

static void put_kernel(struct json_writer *w, const struct kernel_book *k)
{
	json_open(w, NULL, '{');
	json_write_string(w, "name", k->name);
	json_write_bool(w, "prepare", k->prepare);
	json_write_unsigned(w, "launches", k->launches);
	json_write_number(w, "time_us", k->time_us);
	json_write_string(w, "limiter", limiter_name(k->modelled.limiter));
	json_write_number(w, "occupancy", k->modelled.occupancy);
	put_triple(w, "grid", k->grid);
	put_triple(w, "block", k->block);
	json_write_unsigned(w, "registers", k->registers);
	json_write_unsigned(w, "shared_bytes", k->shared_static + k->shared_dynamic);
	json_write_unsigned(w, "local_bytes", k->local_bytes);
	put_counters(w, k->counters);
	json_close(w, '}');
}

static int by_instructions(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x < y) - (x > y);
}

/* How many instructions a line must have to be among the first `max`. */
static uint64_t least_instructions(const struct case_report *r, unsigned max)
{
	if (r->n_lines <= max)
		return 0;
	CLEANUP_FREE uint64_t *all = calloc(r->n_lines, sizeof *all);
	if (!all)
		BUG("out of memory");
	for (unsigned i = 0; i < r->n_lines; i++)
		all[i] = r->lines[i].counters.instructions;
	qsort(all, r->n_lines, sizeof *all, by_instructions);
	return all[max];		/* the first that is too many */
}

static void put_lines(struct json_writer *w, const struct case_report *r, unsigned max)
{
	uint64_t least = least_instructions(r, max);
	json_open(w, "lines", '[');
	for (unsigned i = 0; i < r->n_lines; i++) {
		if (r->n_lines > max && r->lines[i].counters.instructions <= least)
			continue;
		json_open(w, NULL, '{');
		json_write_string(w, "file", r->lines[i].file);
		json_write_unsigned(w, "line", r->lines[i].line);
		put_counters(w, r->lines[i].counters);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_book(struct json_writer *w, const struct case_report *r)
{
	const struct book *b = &r->book;
	json_open(w, "book", '{');
	json_write_string(w, "case", r->spec->name);
	json_write_unsigned(w, "launches", b->launches);
	json_write_string(w, "weights", b->weights);
	json_write_number(w, "weight_passes", b->weight_passes);
	json_write_unsigned(w, "intermediate_bytes", b->intermediate_bytes);
	json_write_number(w, "sectors_per_request", b->sectors_per_request);
	json_write_number(w, "store_sectors_per_request", b->store_sectors_per_request);
	json_write_number(w, "load_efficiency", b->load_efficiency);
	json_write_unsigned(w, "shared_conflicts", b->shared_conflicts);
	json_write_unsigned(w, "shared_wavefronts", b->shared_wavefronts);
	json_write_unsigned(w, "dram_read_bytes", b->counters.dram_read_bytes);
	json_write_unsigned(w, "dram_write_bytes", b->counters.dram_write_bytes);
	json_write_number(w, "occupancy", b->occupancy);
	json_write_string(w, "limiter", limiter_name(b->limiter));
	json_write_unsigned(w, "scratch_bytes", b->scratch_bytes);
	json_write_unsigned(w, "weight_bytes", b->weight_bytes);
	json_write_unsigned(w, "host_copy_bytes", b->host_copy_bytes);
	json_close(w, '}');
}

/* Whose book is told: of those that may be, the one that did most, where the one that is shown may not. */
static const struct case_report *shown_of(const struct grading *g, const struct part *part)
{
	const struct case_report *most = NULL;
	if (g->shown && open_case(g->shown, part))
		return g->shown;
	for (unsigned i = 0; i < g->n_cases; i++) {
		const struct case_report *r = &g->cases[i];
		if (r->ran && open_case(r, part) && (!most || r->book.counters.instructions > most->book.counters.instructions))
			most = r;
	}
	return most;
}

static void put_shown(struct json_writer *w, const struct case_report *r, const struct part *part)
{
	json_open(w, "kernels", '[');
	for (unsigned i = 0; r && i < r->book.n_kernels; i++)
		put_kernel(w, &r->book.kernels[i]);
	json_close(w, ']');
	if (r)
		put_book(w, r);
	else
		json_write_null(w, "book");
	if (part->profile && r)
		put_lines(w, r, part->max_lines);
}

static void put_diagnostics(struct json_writer *w, const struct compiled *c)
{
	static const char *const names[] = {"error", "warning", "note"};
	json_open(w, "diagnostics", '[');
	for (size_t i = 0; i < c->n_diagnostics; i++) {
		const struct diagnostic *d = &c->diagnostics[i];
		json_open(w, NULL, '{');
		json_write_string(w, "file", d->file);
		json_write_integer(w, "line", d->line);
		json_write_integer(w, "column", d->column);
		json_write_string(w, "severity", names[d->severity]);
		json_write_string(w, "text", d->text);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_advice(struct json_writer *w, const struct grading *g)
{
	struct advice a;
	advice_of(g, &a);
	json_open(w, "advice", '[');
	for (unsigned i = 0; i < a.n; i++)
		json_write_string(w, NULL, a.lines[i]);
	json_close(w, ']');
}

static void put_sanitizer(struct json_writer *w, const struct sanitizer_report *s)
{
	json_open(w, "sanitizer", '[');
	for (unsigned i = 0; i < s->n; i++) {
		json_open(w, NULL, '{');
		json_write_string(w, "tool", s->findings[i].tool);
		json_write_string(w, "verdict", verdict_code(s->findings[i].verdict));
		put_fault(w, "fault", &s->findings[i].fault, false);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void put_hardware(struct json_writer *w, const struct grading *g)
{
	const struct ncu_counts *h = g->hardware;
	const struct book *emulated = g->shown && !g->shown->gpu ? &g->shown->book : NULL;
	json_open(w, "hardware", '{');
	json_write_string(w, "note", *h->note ? h->note : NULL);
	json_write_unsigned(w, "launches", h->launches);
	json_write_number(w, "measured_us", h->us > 0 ? h->us : NAN);
	json_write_number(w, "modelled_us", emulated ? emulated->time_us : NAN);
	json_open(w, "counters", '{');
	for (unsigned i = 0; i < NCU_METRICS; i++) {
		if (!h->counted[i])
			continue;
		json_open(w, ncu_name(i), '{');
		json_write_number(w, "gpu", h->value[i]);
		json_write_number(w, "emulated", emulated ? ncu_emulated(&emulated->counters, i) : NAN);
		json_close(w, '}');
	}
	json_close(w, '}');
	json_close(w, '}');
}

/* What only a program that prints the report again wants to know. */
static void put_rest(struct json_writer *w, const struct grading *g, const struct case_report *shown)
{
	static const char *const scopes[] = {"full", "untimed", "samples"};
	json_write_string(w, "title", g->problem->title);
	json_write_string(w, "scope", scopes[g->scope]);
	json_write_number(w, "score_correct", g->problem->score_correct);
	if (shown)
		json_write_integer(w, "shown", shown - g->cases);
	if (g->decisive)
		json_write_integer(w, "decisive", g->decisive - g->cases);
	if (!g->compiled.ok && !g->compiled.n_diagnostics && g->compiled.log && *g->compiled.log)
		put_printed(w, "log", g->compiled.log, KEPT_PRINTED);
}

static void put_report(struct json_writer *to, const struct grading *g, const struct part *part)
{
	struct json_writer w = *to;
	const struct case_report *shown = shown_of(g, part);
	json_open(&w, NULL, '{');
	json_write_string(&w, "problem", g->problem->id);
	json_write_string(&w, "version", g->problem->version);
	json_write_string(&w, "submission", g->name);
	json_write_string(&w, "device", g->device.name);
	json_write_bool(&w, "modelled", g->modelled);
	json_write_bool(&w, "sandbox", !g->unsandboxed);
	if (!g->modelled) {
		json_write_string(&w, "uuid", g->gpu.uuid);
		json_write_string(&w, "driver", g->gpu.driver);
		json_write_number(&w, "read_gbs", g->calibration.read_gbs);
		json_write_string(&w, "not_emulated", *g->not_emulated ? g->not_emulated : NULL);
		json_write_string(&w, "cublas", *g->cublas ? g->cublas : NULL);
		json_write_string(&w, "reference_note", *g->reference_note ? g->reference_note : NULL);
		json_write_string(&w, "cublas_note", *g->cublas_note ? g->cublas_note : NULL);
	}
	json_write_string(&w, "verdict", verdict_code(g->verdict));
	put_why(&w, *g->why ? g->why : verdict_text(g->verdict), g->decisive, part);
	json_write_number(&w, "score", g->scope != GRADE_ALL ? NAN : g->score);
	json_write_number(&w, "efficiency", g->efficiency);
	json_write_string(&w, "tier", g->tier ? tier_name(g->tier) : NULL);
	json_write_number(&w, "time_us", g->time_us);
	json_write_string(&w, "seed", *g->seed && part->hidden ? g->seed : NULL);
	json_open(&w, "cases", '[');
	for (unsigned i = 0; i < g->n_cases; i++)
		put_case(&w, &g->cases[i], part);
	json_close(&w, ']');
	put_shown(&w, shown, part);
	if (g->sanitizer)
		put_sanitizer(&w, g->sanitizer);
	if (g->hardware)
		put_hardware(&w, g);
	put_diagnostics(&w, &g->compiled);
	put_advice(&w, g);
	uint64_t memory = host_memory(g, part);
	if (memory)
		json_write_unsigned(&w, "host_memory_bytes", memory);
	else
		json_write_null(&w, "host_memory_bytes");
	put_rest(&w, g, shown);
	json_write_number(&w, "seconds", g->seconds);
	json_close(&w, '}');
	buf_addc(w.out, '\n');
}

void report_told(const struct grading *g, struct buf *out)
{
	const char *why = *g->why ? g->why : verdict_text(g->verdict);
	if (g->decisive && !open_case(g->decisive, &(struct part){0}))
		untold(why, out);
	else
		buf_adds(out, why);
}

void report_json_fault(const struct fault *f, struct buf *out)
{
	put_fault(&(struct json_writer){.out = out}, NULL, f, false);
}

void report_json_worst(const struct case_report *r, struct buf *out)
{
	put_worst(&(struct json_writer){.out = out}, NULL, r);
}

void report_json_sizes(const struct case_report *r, struct buf *out)
{
	struct json_writer w = {.out = out};
	json_open(&w, NULL, '{');
	for (unsigned i = 0; i < r->sizes.n; i++)
		json_write_integer(&w, r->sizes.at[i].name, r->sizes.at[i].value);
	json_close(&w, '}');
}

void report_json(const struct grading *g, bool profile, struct buf *out)
{
	struct part all = {.profile = profile, .hidden = true, .max_lines = UINT_MAX, .max_printed = SIZE_MAX};
	put_report(&(struct json_writer){.out = out, .indent = true}, g, &all);
}

void report_json_kept(const struct grading *g, bool whole, struct buf *out)
{
	struct part kept = {.profile = true, .hidden = whole, .max_lines = KEPT_LINES, .max_printed = KEPT_PRINTED};
	for (;;) {
		size_t before = out->size;
		put_report(&(struct json_writer){.out = out}, g, &kept);
		if (out->size - before <= JSON_MAX_BYTES || (!kept.max_lines && !kept.max_printed))
			return;
		out->size = before;	/* much was printed by many cases, or hardly a line is like another */
		kept.max_lines /= 2;
		kept.max_printed /= 2;
	}
}
