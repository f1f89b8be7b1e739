/* What a check says of a package: to people as it goes on and at its end, and as JSON. */
#include "checkup.h"

#include "../../sandbox/base/json_write.h"

#include <math.h>
#include <string.h>

enum { NAME_COLUMNS = 56 };

static void clear_live(const struct term *t)
{
	if (t->is_terminal)
		fputs("\r\033[K", t->file);
}

void checkup_print_live(const struct term *t, const char *text)
{
	if (!t->is_terminal)
		return;
	clear_live(t);
	if (text)
		term_put(t, STYLE_DIM, "  %.*s", t->width > 4 ? t->width - 4 : 0, text);
	fflush(t->file);
}

static void put_mark(const struct term *t, bool good)
{
	clear_live(t);
	fputs("  ", t->file);
	term_put(t, good ? STYLE_GOOD : STYLE_BAD, "%-7s", good ? "ok" : "FAULT");
}

void checkup_print_stage(const struct term *t, bool good, const char *what, double seconds)
{
	put_mark(t, good);
	if (seconds > 0)
		fprintf(t->file, " %-*s  %5.1f s\n", NAME_COLUMNS + 6, what, seconds);
	else
		fprintf(t->file, " %s\n", what);
	fflush(t->file);
}

void checkup_print_trial(const struct term *t, const struct trial *x)
{
	if (x->skipped) {
		clear_live(t);
		fprintf(t->file, "  %-7s       %s (needs a GPU)\n", "skipped", x->path);
	} else {
		put_mark(t, !x->findings.n);
		fprintf(t->file, " %-5s %-*s  %5.1f s\n", verdict_code(x->verdict), NAME_COLUMNS, x->path, x->seconds);
	}
	fflush(t->file);
}

/* ---- the end ---- */

void checkup_print_findings(const struct term *t, const struct findings *f)
{
	for (unsigned i = 0; i < f->n; i++) {
		char place[500];
		finding_place(&f->at[i], place, sizeof place);
		if (*place)
			term_put(t, STYLE_BOLD, "  %s\n", place);
		fputs("      ", t->file);
		term_wrap(t, f->at[i].text, 6, 6);
		fputc('\n', t->file);
	}
	if (f->more)
		fprintf(t->file, "  and %u more\n", f->more);
}

static unsigned count(const struct checkup *c, bool skipped)
{
	unsigned n = 0;
	for (unsigned i = 0; i < c->n_trials; i++)
		n += c->trials[i].done && c->trials[i].skipped == skipped;
	return n;
}

void checkup_print(const struct checkup *c, const struct term *t)
{
	unsigned faults = checkup_faults(c), graded = count(c, false), skipped = count(c, true);
	if (faults)
		fputc('\n', t->file);
	checkup_print_findings(t, &c->findings);
	for (unsigned i = 0; i < c->n_trials; i++)
		checkup_print_findings(t, &c->trials[i].findings);
	fputc('\n', t->file);
	if (faults)
		term_put(t, STYLE_BAD, "  %s is not ready: %u fault%s", c->name, faults, faults == 1 ? "" : "s");
	else
		term_put(t, STYLE_GOOD, "  %s passes", c->name);
	if (graded)
		fprintf(t->file, "; %u programs, %u cases, %u seed%s", graded, c->n_cases, c->n_seeds, c->n_seeds == 1 ? "" : "s");
	else
		fprintf(t->file, "; nothing was run");
	if (skipped)
		fprintf(t->file, "; %u skipped, for a GPU", skipped);
	fprintf(t->file, "; %.1f s\n", c->seconds);
}

/* ---- JSON ---- */

static void json_findings(struct json_writer *w, const struct findings *f)
{
	json_open(w, "faults", '[');
	for (unsigned i = 0; i < f->n; i++) {
		const struct finding *x = &f->at[i];
		json_open(w, NULL, '{');
		json_write_string(w, "file", *x->file ? x->file : NULL);
		if (x->line)
			json_write_integer(w, "line", x->line);
		else
			json_write_null(w, "line");
		json_write_string(w, "field", *x->field ? x->field : NULL);
		json_write_string(w, "text", x->text);
		json_close(w, '}');
	}
	json_close(w, ']');
}

static void json_trial(struct json_writer *w, const struct trial *t)
{
	static const char *const kinds[] = {[TRIAL_REFERENCE] = "reference", [TRIAL_STARTER] = "starter", [TRIAL_SUBMISSION] = "submission"};
	json_open(w, NULL, '{');
	json_write_string(w, "file", t->path);
	json_write_string(w, "kind", kinds[t->kind]);
	json_write_string(w, "expected", t->expect.verdict == VERDICT_NONE ? NULL : verdict_code(t->expect.verdict));
	json_write_string(w, "verdict", t->verdict == VERDICT_NONE ? NULL : verdict_code(t->verdict));
	json_write_string(w, "text", *t->why ? t->why : NULL);
	json_write_bool(w, "skipped", t->skipped);
	if (t->verdict == VERDICT_AC)
		json_write_ratio(w, "bound_use", t->bound_use);
	else
		json_write_null(w, "bound_use");
	json_write_number(w, "efficiency", t->efficiency);
	json_write_number(w, "seconds", t->seconds);
	json_findings(w, &t->findings);
	json_close(w, '}');
}

void checkup_json(const struct checkup *c, struct json_writer *w, const char *key)
{
	json_open(w, key, '{');
	json_write_string(w, "problem", c->name);
	json_write_string(w, "version", c->problem ? c->problem->version : NULL);
	json_write_bool(w, "passed", !checkup_faults(c));
	json_write_unsigned(w, "cases", c->n_cases);
	json_write_unsigned(w, "sizes", c->n_sizes);
	json_write_unsigned(w, "seeds", c->n_seeds);
	json_findings(w, &c->findings);
	json_open(w, "programs", '[');
	for (unsigned i = 0; i < c->n_trials; i++)
		json_trial(w, &c->trials[i]);
	json_close(w, ']');
	json_write_number(w, "seconds", c->seconds);
	json_close(w, '}');
}
