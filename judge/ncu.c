/* Counters of a real GPU, by ncu: see ncu.h. */
#include "ncu.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/tame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *metric, *name, *text;
} table[NCU_METRICS] = {
#define NCU(metric, field, text) {metric, #field, text},
#include "ncu.def"
#undef NCU
};

const char *ncu_name(unsigned metric)
{
	return table[metric].name;
}

const char *ncu_text(unsigned metric)
{
	return table[metric].text;
}

double ncu_emulated(const struct counters *c, unsigned metric)
{
	switch (metric) {
#define NCU(metric, field, text) case NCU_##field: return (double)c->field;
#include "ncu.def"
#undef NCU
	}
	return 0;
}

/* ---- CSV ---- */

enum { FIELDS = 32, FIELD = 160 };

/* One line's fields, quotes taken off; the number of them. */
static unsigned split(const char *line, size_t n, char fields[FIELDS][FIELD])
{
	unsigned count = 0;
	for (size_t i = 0; i < n && count < FIELDS; count++) {
		size_t k = 0;
		bool quoted = line[i] == '"';
		for (i += quoted; i < n && (quoted ? line[i] != '"' : line[i] != ','); i++)
			if (k + 1 < FIELD)
				fields[count][k++] = line[i];
		fields[count][k] = 0;
		i += quoted;
		i += i < n;		/* the comma */
	}
	return count;
}

static int column(char fields[FIELDS][FIELD], unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(fields[i], name))
			return (int)i;
	return -1;
}

/* "1,048,576" */
static double number(const char *text)
{
	char plain[FIELD];
	size_t k = 0;
	for (; *text; text++)
		if (*text != ',')
			plain[k++] = *text;
	plain[k] = 0;
	return strtod(plain, NULL);
}

/* Adds up the launches from the first-th on, if out is given; how many there are in all. */
static unsigned add_up(const char *csv, unsigned first, struct ncu_counts *out)
{
	int name = -1, value = -1, id = -1;
	char last[FIELD] = "";
	unsigned launches = 0;
	for (const char *line = csv; *line;) {
		char fields[FIELDS][FIELD];
		size_t n = strcspn(line, "\n");
		unsigned count = *line == '"' ? split(line, n, fields) : 0;
		line += n + (line[n] == '\n');
		if (count && column(fields, count, "Metric Name") >= 0) {
			name = column(fields, count, "Metric Name");
			value = column(fields, count, "Metric Value");
			id = column(fields, count, "ID");
			continue;
		}
		if (name < 0 || value < 0 || id < 0 || (unsigned)name >= count || (unsigned)value >= count)
			continue;
		if (strcmp(last, fields[id])) {
			snprintf(last, sizeof last, "%s", fields[id]);
			launches++;
		}
		for (unsigned m = 0; m < NCU_METRICS && out && launches > first; m++)
			if (!strcmp(fields[name], table[m].metric)) {
				out->value[m] += number(fields[value]);
				out->counted[m] = true;
			}
	}
	return launches;
}

void ncu_parse(const char *csv, unsigned last, struct ncu_counts *out)
{
	unsigned n = add_up(csv, 0, NULL), left_out = last && n > last ? n - last : 0;
	out->launches += add_up(csv, left_out, out) - left_out;
}

/* ---- running ---- */

/* What ncu says when it may not count, made into a sentence with the mend. */
static void explain(const char *log, struct ncu_counts *out)
{
	if (strstr(log, "ERR_NVGPUCTRPERM"))
		snprintf(out->note, sizeof out->note, "the driver lets only root count: run as root, or set NVreg_RestrictProfilingToAdminUsers=0 "
			 "for the module nvidia");
	else
		snprintf(out->note, sizeof out->note, "ncu counted nothing: %.*s", (int)strcspn(log, "\n"), log);
	tame(out->note);
}

int ncu_count(const struct runner *gpu, const struct testcase *t, unsigned launches, struct ncu_counts *out, struct err *e)
{
	CLEANUP(gpu_tool_close) struct gpu_tool tool;
	CLEANUP_BUF struct buf log = {0}, metrics = {0};
	memset(out, 0, sizeof *out);
	if (gpu_tool_open(&tool, "ncu", e) < 0) {
		if (e->kind != ERR_INPUT)
			return -1;
		snprintf(out->note, sizeof out->note, "%.290s", e->text);
		return 0;
	}
	for (unsigned m = 0; m < NCU_METRICS; m++)
		buf_printf(&metrics, "%s%s", m ? "," : "", table[m].metric);
	/* clocks stay as they are: setting them is not ours to do */
	const char *const words[] = {"--csv", "--page", "details", "--print-units", "base", "--clock-control", "none", "--target-processes",
				     "all", "--log-file", tool.log, "--metrics", buf_str(&metrics)};
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		gpu_tool_add(&tool, words[i]);
	if (gpu_tool_run(&tool, gpu, &t, 1, &log, e) < 0)
		return -1;
	ncu_parse(buf_str(&log), launches, out);
	out->ran = out->launches > 0;
	if (!out->ran)
		explain(buf_str(&log), out);
	return 0;
}
