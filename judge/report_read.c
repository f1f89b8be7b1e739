/* Reading a report: see report_read.h.  It may come from a server, so every string is made harmless for a terminal, and every count is
 * bounded. */
#include "report_read.h"

#include "../sandbox/base/tame.h"
#include "advice.h"
#include "ncu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CASES = 10000, MAX_ITEMS = 5000 };

/* ---- values ---- */

static double number(const struct cJSON *o, const char *field)
{
	const struct cJSON *v = json_get(o, field);
	if (v && json_is_number(v))
		return json_value(v);
	if (v && json_is_string(v) && !strcmp(json_text(v), "inf"))
		return INFINITY;
	if (v && json_is_string(v) && !strcmp(json_text(v), "-inf"))
		return -INFINITY;
	return NAN;
}

static uint64_t count(const struct cJSON *o, const char *field)
{
	double v = number(o, field);
	return v >= 0 && v < 1.8e19 ? (uint64_t)v : 0;
}

static unsigned small(const struct cJSON *o, const char *field)
{
	uint64_t v = count(o, field);
	return v <= UINT32_MAX ? (unsigned)v : UINT32_MAX;
}

static bool flag(const struct cJSON *o, const char *field, const struct json *j)
{
	bool v = false;
	return json_bool(j, o, field, &v, NULL) == 0 && v;
}

static const char *text(struct arena *a, const struct cJSON *o, const char *field)
{
	const struct cJSON *v = json_get(o, field);
	if (!v || !json_is_string(v))
		return NULL;
	char *s = arena_strdup(a, json_text(v));
	tame(s);
	return s;
}

/* The same of a text of several lines. */
static const char *lines_of(struct arena *a, const struct cJSON *o, const char *field)
{
	const struct cJSON *v = json_get(o, field);
	if (!v || !json_is_string(v))
		return NULL;
	char *s = arena_strdup(a, json_text(v));
	for (char *line = s, *end; line; line = end ? end + 1 : NULL) {
		end = strchr(line, '\n');
		if (end)
			*end = 0;
		tame(line);
		if (end)
			*end = '\n';
	}
	return s;
}

static void fill(char *out, size_t size, const struct cJSON *o, const char *field)
{
	const struct cJSON *v = json_get(o, field);
	snprintf(out, size, "%s", v && json_is_string(v) ? json_text(v) : "");
	tame(out);
}

static size_t items(const struct cJSON *o, const char *field, const struct cJSON **list, size_t max)
{
	*list = json_get(o, field);
	if (!*list || !json_is_array(*list))
		return 0;
	size_t n = json_count(*list);
	return n < max ? n : max;
}

static enum verdict verdict(const struct cJSON *o)
{
	const struct cJSON *v = json_get(o, "verdict");
	return v && json_is_string(v) ? verdict_find(json_text(v)) : VERDICT_NONE;
}

static enum limiter limiter(const struct cJSON *o)
{
	const struct cJSON *v = json_get(o, "limiter");
	for (int l = LIMIT_NONE; v && json_is_string(v) && l <= LIMIT_LATENCY; l++)
		if (!strcmp(json_text(v), limiter_name((enum limiter)l)))
			return (enum limiter)l;
	return LIMIT_NONE;
}

static void read_counters(const struct cJSON *o, struct counters *out)
{
	const struct cJSON *c = json_get(o, "counters");
	for (unsigned i = 0; c && i < COUNTER_COUNT; i++)
		*counter_at(out, i) = count(c, counter_name(i));
}

static void read_triple(const struct cJSON *o, const char *field, uint32_t out[3])
{
	const struct cJSON *list, *v;
	if (items(o, field, &list, 3) != 3)
		return;
	v = json_first(list);
	for (int i = 0; i < 3; i++, v = json_next(v))
		out[i] = json_is_number(v) && json_value(v) >= 0 && json_value(v) < 4e9 ? (uint32_t)json_value(v) : 0;
}

/* ---- cases ---- */

static void read_fault(const struct cJSON *o, struct fault *out)
{
	const struct cJSON *f = json_get(o, "fault"), *kind = f ? json_get(f, "kind") : NULL;
	if (!kind || !json_is_string(kind))
		return;
	for (uint32_t k = 0; k < FAULT_KINDS; k++)
		if (!strcmp(json_text(kind), fault_name(k)))
			out->kind = k;
	fill(out->detail, sizeof out->detail, f, "detail");
	fill(out->kernel, sizeof out->kernel, f, "kernel");
	fill(out->file, sizeof out->file, f, "file");
	out->line = small(f, "line");
	out->has_thread = json_get(f, "block") && json_get(f, "thread");
	read_triple(f, "block", out->block);
	read_triple(f, "thread", out->thread);
	const struct cJSON *address = json_get(f, "address");
	if (address && json_is_string(address)) {
		out->has_address = true;
		out->address = strtoull(json_text(address), NULL, 16);
		out->bytes = small(f, "bytes");
	}
}

static void read_worst(const struct cJSON *o, struct case_report *r)
{
	const struct cJSON *list, *v;
	r->n_wrong = (unsigned)items(o, "worst", &list, CHECK_WORST);
	v = r->n_wrong ? json_first(list) : NULL;
	for (unsigned i = 0; i < r->n_wrong; i++, v = json_next(v)) {
		struct wrong_element *x = &r->worst[i];
		fill(x->tensor, sizeof x->tensor, v, "tensor");
		x->element.index = count(v, "index");
		x->element.expected = number(v, "expected");
		x->element.bound = number(v, "bound");
		x->element.got = number(v, "got");
		x->unwritten = !json_get(v, "got");
	}
}

static void read_sizes(const struct cJSON *o, struct sizes *out)
{
	const struct cJSON *sizes = json_get(o, "sizes");
	for (const struct cJSON *v = sizes ? json_first(sizes) : NULL; v; v = json_next(v)) {
		char name[PROBLEM_NAME];
		snprintf(name, sizeof name, "%s", json_key(v) ? json_key(v) : "");
		tame(name);
		if (json_is_integer(v))
			sizes_add(out, name, (int64_t)json_value(v));
	}
}

static void read_clocks(const struct cJSON *o, const char *field, struct device_clocks *out)
{
	const struct cJSON *c = json_get(o, field);
	if (!c)
		return;
	out->sm_mhz = small(c, "sm_mhz");
	out->memory_mhz = small(c, "memory_mhz");
	out->temperature = small(c, "temperature");
	out->throttle = count(c, "throttle");
}

static void read_measurement(const struct json *j, const struct cJSON *o, struct case_report *r)
{
	const struct cJSON *m = json_get(o, "measurement"), *b = json_get(o, "baselines");
	if (m) {
		r->timing = (struct timing){.sets = small(m, "sets"), .passes = small(m, "passes"), .low_us = number(m, "low_us"),
					    .high_us = number(m, "high_us"), .spread = number(m, "spread"), .cold_us = number(m, "cold_us"),
					    .disturbed = flag(m, "disturbed", j)};
		read_clocks(m, "before", &r->timing.before);
		read_clocks(m, "after", &r->timing.after);
	}
	if (b) {
		r->reference.us = number(b, "reference_us");
		r->cublas.us = number(b, "cublas_f16_us");
	}
}

static void read_case(const struct json *j, const struct cJSON *o, struct arena *a, struct case_report *r)
{
	struct case_spec *spec = arena_alloc(a, sizeof *spec);
	fill(spec->name, sizeof spec->name, o, "name");
	spec->visible = flag(o, "visible", j);
	spec->timing = flag(o, "timing", j);
	spec->gpu = flag(o, "gpu", j);
	r->spec = spec;
	r->gpu = spec->gpu;
	r->stage = text(a, o, "stage");
	r->verdict = verdict(o);
	r->error_ratio = number(o, "error_ratio");
	r->quantization_error = number(o, "quantization_error");
	r->ran = flag(o, "ran", j);
	r->impossible = flag(o, "impossible", j);
	r->book.time_us = number(o, "time_us");
	r->book.limiter = limiter(o);
	r->floor_us = number(o, "floor_us");
	r->efficiency = number(o, "efficiency");
	r->printed = json_get(o, "printed") && json_is_string(json_get(o, "printed")) ? json_text(json_get(o, "printed")) : NULL;
	if (r->printed)
		r->printed = arena_strdup(a, r->printed);	/* shown by term_untrusted, which keeps line ends */
	fill(r->why, sizeof r->why, o, "text");
	fill(r->note, sizeof r->note, o, "note");
	read_sizes(o, &r->sizes);
	read_fault(o, &r->fault);
	read_worst(o, r);
	read_measurement(j, o, r);
}

static void read_cases(const struct json *j, const struct cJSON *o, struct grading *g)
{
	const struct cJSON *list, *v;
	g->n_cases = (unsigned)items(o, "cases", &list, MAX_CASES);
	g->cases = arena_new_array(g->arena, struct case_report, g->n_cases + 1);
	v = g->n_cases ? json_first(list) : NULL;
	for (unsigned i = 0; i < g->n_cases; i++, v = json_next(v)) {
		read_case(j, v, g->arena, &g->cases[i]);
		g->n_timing += g->cases[i].spec->timing;
	}
	double decisive = number(o, "decisive");
	if (decisive >= 0 && decisive < g->n_cases)
		g->decisive = &g->cases[(unsigned)decisive];
}

/* ---- the book ---- */

static void read_kernel(const struct json *j, const struct cJSON *o, struct kernel_book *k)
{
	fill(k->name, sizeof k->name, o, "name");
	k->prepare = flag(o, "prepare", j);
	k->launches = small(o, "launches");
	k->time_us = number(o, "time_us");
	k->modelled.limiter = limiter(o);
	k->modelled.occupancy = number(o, "occupancy");
	read_triple(o, "grid", k->grid);
	read_triple(o, "block", k->block);
	k->registers = small(o, "registers");
	k->shared_static = small(o, "shared_bytes");
	k->local_bytes = small(o, "local_bytes");
	read_counters(o, &k->counters);
}

static void read_lines(const struct cJSON *o, struct arena *a, struct case_report *r)
{
	const struct cJSON *list, *v;
	r->n_lines = (unsigned)items(o, "lines", &list, MAX_ITEMS);
	r->lines = arena_new_array(a, struct device_line, r->n_lines + 1);
	v = r->n_lines ? json_first(list) : NULL;
	for (unsigned i = 0; i < r->n_lines; i++, v = json_next(v)) {
		fill(r->lines[i].file, sizeof r->lines[i].file, v, "file");
		r->lines[i].line = small(v, "line");
		read_counters(v, &r->lines[i].counters);
	}
}

static void read_book(const struct json *j, const struct cJSON *o, const struct cJSON *from, struct book *b)
{
	const struct cJSON *list, *v;
	b->launches = small(from, "launches");
	fill(b->weights, sizeof b->weights, from, "weights");
	b->weight_bytes = count(from, "weight_bytes");
	b->weight_passes = number(from, "weight_passes");
	b->intermediate_bytes = count(from, "intermediate_bytes");
	b->sectors_per_request = number(from, "sectors_per_request");
	b->store_sectors_per_request = number(from, "store_sectors_per_request");
	b->load_efficiency = number(from, "load_efficiency");
	b->shared_conflicts = count(from, "shared_conflicts");
	b->shared_wavefronts = count(from, "shared_wavefronts");
	b->occupancy = number(from, "occupancy");
	b->limiter = limiter(from);
	b->scratch_bytes = count(from, "scratch_bytes");
	b->host_copy_bytes = count(from, "host_copy_bytes");
	b->n_kernels = (unsigned)items(o, "kernels", &list, BOOK_KERNELS);
	v = b->n_kernels ? json_first(list) : NULL;
	for (unsigned i = 0; i < b->n_kernels; i++, v = json_next(v)) {
		read_kernel(j, v, &b->kernels[i]);
		if (!b->kernels[i].prepare)
			counters_add(&b->counters, &b->kernels[i].counters);
	}
	b->counters.dram_read_bytes = count(from, "dram_read_bytes");
	b->counters.dram_write_bytes = count(from, "dram_write_bytes");
}

static void read_shown(const struct json *j, const struct cJSON *o, struct grading *g)
{
	const struct cJSON *from = json_get(o, "book");
	double shown = number(o, "shown");
	if (!from || !json_is_object(from) || !(shown >= 0 && shown < g->n_cases))
		return;
	struct case_report *r = &g->cases[(unsigned)shown];
	double time = r->book.time_us;
	read_book(j, o, from, &r->book);
	r->book.time_us = time;
	read_lines(o, g->arena, r);
	g->shown = r;
}

/* ---- the rest ---- */

static void read_diagnostics(const struct cJSON *o, struct arena *a, struct compiled *c)
{
	const struct cJSON *list, *v;
	c->n_diagnostics = items(o, "diagnostics", &list, MAX_ITEMS);
	c->diagnostics = arena_new_array(a, struct diagnostic, c->n_diagnostics + 1);
	v = c->n_diagnostics ? json_first(list) : NULL;
	for (size_t i = 0; i < c->n_diagnostics; i++, v = json_next(v)) {
		struct diagnostic *d = &c->diagnostics[i];
		const struct cJSON *severity = json_get(v, "severity");
		const char *word = severity && json_is_string(severity) ? json_text(severity) : "";
		d->file = text(a, v, "file");
		d->text = text(a, v, "text");
		if (!d->text)
			d->text = "";
		d->line = (int)(small(v, "line") & INT32_MAX);
		d->column = (int)(small(v, "column") & INT32_MAX);
		d->severity = !strcmp(word, "error") ? DIAGNOSTIC_ERROR : !strcmp(word, "warning") ? DIAGNOSTIC_WARNING : DIAGNOSTIC_NOTE;
	}
	c->log = lines_of(a, o, "log");
}

static void read_advice(const struct cJSON *o, struct grading *g)
{
	const struct cJSON *list, *v;
	struct advice *out = arena_alloc(g->arena, sizeof *out);
	out->n = (unsigned)items(o, "advice", &list, ADVICE_LINES);
	v = out->n ? json_first(list) : NULL;
	for (unsigned i = 0; i < out->n; i++, v = json_next(v)) {
		snprintf(out->lines[i], sizeof out->lines[i], "%s", json_is_string(v) ? json_text(v) : "");
		tame(out->lines[i]);
	}
	g->advice = out;
}

static void read_hardware(const struct cJSON *o, struct grading *g)
{
	const struct cJSON *h = json_get(o, "hardware"), *counters = h ? json_get(h, "counters") : NULL;
	if (!h || !json_is_object(h))
		return;
	g->hardware = arena_alloc(g->arena, sizeof *g->hardware);
	fill(g->hardware->note, sizeof g->hardware->note, h, "note");
	g->hardware->launches = small(h, "launches");
	g->hardware->us = number(h, "measured_us");
	for (unsigned i = 0; counters && i < NCU_METRICS; i++) {
		const struct cJSON *v = json_get(counters, ncu_name(i));
		g->hardware->counted[i] = v && json_is_object(v);
		g->hardware->value[i] = v ? number(v, "gpu") : 0;
		g->hardware->ran |= g->hardware->counted[i];
	}
}

static void read_problem(const struct cJSON *o, struct grading *g)
{
	struct problem *p = arena_alloc(g->arena, sizeof *p);
	const char *title = text(g->arena, o, "title");
	fill(p->id, sizeof p->id, o, "problem");
	fill(p->version, sizeof p->version, o, "version");
	p->title = title ? title : "";
	p->score_correct = number(o, "score_correct");
	g->problem = p;
}

static int tier_find(const struct cJSON *o)
{
	const struct cJSON *v = json_get(o, "tier");
	for (int t = TIER_BRONZE; v && json_is_string(v) && t < TIERS; t++)
		if (!strcmp(json_text(v), tier_name(t)))
			return t;
	return TIER_NONE;
}

static enum grade_scope scope(const struct cJSON *o)
{
	const struct cJSON *v = json_get(o, "scope");
	const char *word = v && json_is_string(v) ? json_text(v) : "full";
	return !strcmp(word, "samples") ? GRADE_SAMPLES : !strcmp(word, "untimed") ? GRADE_UNTIMED : GRADE_ALL;
}

static void read_head(const struct json *j, const struct cJSON *o, struct grading *g)
{
	read_problem(o, g);
	fill(g->device.name, sizeof g->device.name, o, "device");
	g->modelled = flag(o, "modelled", j);
	g->calibration.read_gbs = number(o, "read_gbs");
	fill(g->not_emulated, sizeof g->not_emulated, o, "not_emulated");
	fill(g->cublas, sizeof g->cublas, o, "cublas");
	fill(g->reference_note, sizeof g->reference_note, o, "reference_note");
	fill(g->cublas_note, sizeof g->cublas_note, o, "cublas_note");
	fill(g->seed, sizeof g->seed, o, "seed");
	fill(g->why, sizeof g->why, o, "text");
	g->verdict = verdict(o);
	g->scope = scope(o);
	g->score = number(o, "score");
	g->efficiency = number(o, "efficiency");
	g->time_us = number(o, "time_us");
	g->tier = tier_find(o);
	g->seconds = number(o, "seconds");
	g->unsandboxed = json_get(o, "sandbox") && !flag(o, "sandbox", j);
	g->host_memory = json_get(o, "host_memory_bytes") ? (uint64_t)number(o, "host_memory_bytes") : 0;
	g->compiled.ok = g->verdict != VERDICT_CE;
	g->compiled.guest_fd = -1;
}

int report_read(const struct json *j, const char *name, const char *source, size_t size, struct grading *g, struct err *e)
{
	const struct cJSON *o = json_root(j);
	if (!json_is_object(o) || verdict(o) == VERDICT_NONE)
		return err_input(e, "this is no report of the judge's");
	memset(g, 0, sizeof *g);
	g->arena = arena_new();
	g->name = name;
	g->source = source;
	g->size = size;
	read_head(j, o, g);
	read_cases(j, o, g);
	read_shown(j, o, g);
	read_diagnostics(o, g->arena, &g->compiled);
	read_advice(o, g);
	read_hardware(o, g);
	return 0;
}
