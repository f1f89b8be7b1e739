/* compute-sanitizer's findings on a submission: see sanitize.h.
 *
 * Its log is lines that begin with "========= ".  A record is a heading, then indented lines of details; the first place
 * "at KERNEL(...)+0x40 in FILE:LINE" (or "in FILE:LINE:KERNEL") in it is where it happened.  Records of one place are one finding.
 */
#include "sanitize.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/tame.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t fault;
} tools[SANITIZE_TOOLS] = {
	{"memcheck", FAULT_OUT_OF_BOUNDS},
	{"racecheck", FAULT_RACE_SHARED},
	{"initcheck", FAULT_UNINITIALISED_GLOBAL},
	{"synccheck", FAULT_DIVERGENT_BARRIER},
};

static const char lead[] = "=========";

/* ---- the log ---- */

/* The text of a line of the log; *indent: of its details. */
static const char *line_text(const char *line, size_t n, size_t *length, size_t *indent)
{
	if (n < sizeof lead - 1 || memcmp(line, lead, sizeof lead - 1) != 0)
		return NULL;
	line += sizeof lead - 1;
	n -= sizeof lead - 1;
	for (*indent = 0; n && isspace((unsigned char)*line); line++, n--)
		++*indent;
	*length = n;
	return line;
}

static bool begins(const char *text, size_t n, const char *with)
{
	return n >= strlen(with) && !memcmp(text, with, strlen(with));
}

/* Headings that are no finding: the tool's greeting, sums, and errors of API calls that it reports beside their cause. */
static bool is_noise(const char *text, size_t n)
{
	static const char *const words[] = {"COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "LEAK SUMMARY", "Program hit",
					    "Target application", "Process didn't", "No attachable", "Error: process", "Warning:",
					    "Internal Sanitizer", "Saved host", "ERROR: "};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (begins(text, n, words[i]))
			return true;
	return n == 0;
}

/* "FILE:LINE" after " in "; false if the text has none. */
static bool find_place(const char *text, size_t n, const char *name, struct fault *f)
{
	CLEANUP_FREE char *copy = strndup(text, n);
	for (char *in = strstr(copy, " in "); in; in = strstr(in + 1, " in ")) {
		char *file = in + 4, *colon = strchr(file, ':');
		if (!colon)
			break;
		if (!isdigit((unsigned char)colon[1])) {
			in = colon - 1;		/* nor has any " in " before this colon a place */
			continue;
		}
		*colon = 0;
		char *slash = strrchr(file, '/');
		file = slash ? slash + 1 : file;
		snprintf(f->file, sizeof f->file, "%s", strcmp(file, "solution.cu") ? file : name);
		f->line = (uint32_t)strtoul(colon + 1, NULL, 10);
		return true;
	}
	return false;
}

/* "at gemv(const unsigned *, int)+0x40 in ...": the kernel's name. */
static void find_kernel(const char *text, size_t n, struct fault *f)
{
	if (!begins(text, n, "at ") || *f->kernel)
		return;
	size_t end = 3;
	while (end < n && text[end] != '(' && text[end] != '+')
		end++;
	snprintf(f->kernel, sizeof f->kernel, "%.*s", (int)(end - 3), text + 3);
}

static void find_thread(const char *text, size_t n, struct fault *f)
{
	CLEANUP_FREE char *copy = strndup(text, n);
	if (sscanf(copy, "by thread (%u,%u,%u) in block (%u,%u,%u)", &f->thread[0], &f->thread[1], &f->thread[2], &f->block[0],
		   &f->block[1], &f->block[2]) == 6)
		f->has_thread = true;
}

/* Append the text to the detail, without what only machines want: "gemv(const unsigned int *, int)+0x2c0 in solution.cu:20" is
 * "gemv in name.cu:20", and "Error: " says nothing. */
static void add_words(struct fault *f, const char *text, size_t n, const char *name)
{
	static const char source[] = "solution.cu", error[] = "Error: ";
	size_t used = strlen(f->detail);
	const char *end = text + n;
	if (begins(text, n, error))
		text += sizeof error - 1;
	if (used)
		used += (size_t)snprintf(f->detail + used, sizeof f->detail - used, "; ");
	while (text < end && used + 1 < sizeof f->detail) {
		const char *close = *text == '(' ? memmem(text, (size_t)(end - text), ")+0x", 4) : NULL;
		if (close) {
			for (text = close + 4; text < end && isxdigit((unsigned char)*text); text++)
				;
		} else if (begins(text, (size_t)(end - text), source)) {
			used += (size_t)snprintf(f->detail + used, sizeof f->detail - used, "%s", name);
			text += sizeof source - 1;
		} else {
			f->detail[used++] = *text++;
			f->detail[used] = 0;
		}
	}
}

static void keep(struct sanitizer_report *out, struct sanitizer_finding *x)
{
	/* names of kernels, and of files by #line, are the submission's choice */
	tame(x->fault.kernel);
	tame(x->fault.file);
	tame(x->fault.detail);
	for (unsigned i = 0; i < out->n; i++) {
		const struct sanitizer_finding *o = &out->findings[i];
		if (o->tool == x->tool && o->fault.line == x->fault.line && !strcmp(o->fault.file, x->fault.file))
			return;
	}
	if (out->n == SANITIZE_FINDINGS)
		out->more++;
	else
		out->findings[out->n++] = *x;
}

void sanitize_parse(const char *log, const char *tool, const char *name, struct sanitizer_report *out)
{
	struct sanitizer_finding x = {0};
	bool open = false;
	unsigned more = 0;
	uint32_t kind = FAULT_NONE;
	for (unsigned i = 0; i < SANITIZE_TOOLS; i++)
		if (!strcmp(tools[i].name, tool)) {
			kind = tools[i].fault;
			tool = tools[i].name;
		}
	for (const char *line = log; *line;) {
		size_t n = strcspn(line, "\n"), length, indent;
		const char *text = line_text(line, n, &length, &indent);
		line += n + (line[n] == '\n');
		if (!text)
			continue;
		if (indent <= 1 || !length) {
			if (open)
				keep(out, &x);
			open = !is_noise(text, length);
			more = 0;
			x = (struct sanitizer_finding){.tool = tool, .verdict = verdict_find(fault_verdict(kind)), .fault.kind = kind};
			add_words(&x.fault, text, length, name);
		}
		if (!open)
			continue;
		if (!x.fault.line)
			find_place(text, length, name, &x.fault);
		find_kernel(text, length, &x.fault);
		find_thread(text, length, &x.fault);
		if (indent > 1 && (begins(text, length, "Access ") || (begins(text, length, "and ") && more++ == 0)))
			add_words(&x.fault, text, length, name);
	}
	if (open)
		keep(out, &x);
}

/* ---- running ---- */

/* Small cases: visible ones first, then hidden ones in the problem's order. */
static unsigned choose(const struct testcase *cases, unsigned n, const struct testcase **out)
{
	enum { SMALL = 2 << 20 };
	unsigned chosen = 0;
	for (unsigned i = 0; i < n && chosen < SANITIZE_CASES; i++) {
		uint64_t bytes = 0;
		for (unsigned k = 0; k < cases[i].problem->n_arguments; k++)
			bytes += cases[i].tensors[k].bytes;
		bool again = false;
		for (unsigned k = 0; k < chosen; k++)
			again |= out[k]->spec == cases[i].spec;
		if (!cases[i].spec->timing && !again && bytes <= SMALL)
			out[chosen++] = &cases[i];
	}
	return chosen;
}

static int run_tool(unsigned which, const struct runner *gpu, const struct testcase *const *cases, unsigned n,
		    struct sanitizer_report *out, struct err *e)
{
	CLEANUP(gpu_tool_close) struct gpu_tool t;
	CLEANUP_BUF struct buf log = {0};
	if (gpu_tool_open(&t, "compute-sanitizer", e) < 0)
		return -1;
	const char *const words[] = {"--tool", tools[which].name, "--log-file", t.log, "--print-limit", "50", "--report-api-errors", "no"};
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		gpu_tool_add(&t, words[i]);
	if (gpu_tool_run(&t, gpu, cases, n, &log, e) < 0)
		return -1;
	if (!strstr(buf_str(&log), lead))
		return err_system(e, "compute-sanitizer --tool %s wrote nothing", tools[which].name);
	sanitize_parse(buf_str(&log), tools[which].name, gpu->options->name, out);
	return 0;
}

int sanitize(const struct runner *gpu, const struct testcase *cases, unsigned n, struct sanitizer_report *out, struct err *e)
{
	const struct testcase *chosen[SANITIZE_CASES];
	memset(out, 0, sizeof *out);
	out->cases = choose(cases, n, chosen);
	for (unsigned i = 0; i < SANITIZE_TOOLS; i++)
		if (run_tool(i, gpu, chosen, out->cases, out, e) < 0)
			return -1;
	out->ran = true;
	return 0;
}
