/* What mutation testing came to: for people, and as JSON.  See mutate.h. */
#include "mutate.h"

#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/base/json_write.h"
#include "../command.h"
#include "../progress.h"

#include <stdio.h>
#include <string.h>

static const char *const fate_names[] = {"killed", "survived", "declared", "equivalent", "invalid"};

static void put_text(const struct term *t, const char *text)
{
	term_untrusted(t, text, strlen(text));
}

/* ---- for people ---- */

static void print_head(const struct mutate_report *r, const struct term *t)
{
	unsigned killed = r->all.fates[MUTANT_KILLED], survived = r->all.fates[MUTANT_SURVIVED];
	fprintf(t->file, "  %s%s%s   killed %u of %u mutants: %.1f %%, %.0f %% wanted\n", term_on(t, r->passed ? STYLE_GOOD : STYLE_BAD),
		r->passed ? "PASSED" : "NOT PASSED", term_off(t), killed, killed + survived, 100 * r->score, 100 * r->least);
	fprintf(t->file, "  %s:", r->problem->id);
	for (unsigned i = 0; i < r->n_files; i++) {
		fprintf(t->file, "%s ", i ? "," : "");
		put_text(t, r->files[i]);
	}
	if (r->n_mutants < r->n_possible)
		fprintf(t->file, "; %u of %u mutants drawn", r->n_mutants, r->n_possible);
	fprintf(t->file, "\n");
}

static void print_mutant(const struct mutation *m, const struct term *t)
{
	fprintf(t->file, "    ");
	put_text(t, m->file);
	fprintf(t->file, ":%d  %s%s%s\n      ", m->line, term_on(t, STYLE_NOTE), m->operator, term_off(t));
	fprintf(t->file, "%s", term_on(t, STYLE_CODE));
	put_text(t, m->function);
	fprintf(t->file, ": ");
	put_text(t, m->numbered ? m->numbered : m->shown);
	fprintf(t->file, "%s\n", term_off(t));
}

static void print_survivors(const struct mutate_report *r, const struct term *t)
{
	if (r->all.fates[MUTANT_SURVIVED])
		fprintf(t->file, "\n  survivors: no hidden case rejects them\n");
	for (unsigned i = 0; i < r->n_mutants; i++) {
		const struct mutation *m = &r->mutants[i];
		if (m->fate != MUTANT_SURVIVED)
			continue;
		print_mutant(m, t);
		fprintf(t->file, "      lacking perhaps: ");
		term_wrap(t, m->missing, 23, 8);
		fprintf(t->file, "\n");
	}
}

static void print_declared(const struct mutate_report *r, const struct term *t)
{
	if (r->all.fates[MUTANT_DECLARED])
		fprintf(t->file, "\n  declared in survivors.txt\n");
	for (unsigned i = 0; i < r->n_mutants; i++)
		if (r->mutants[i].fate == MUTANT_DECLARED) {
			print_mutant(&r->mutants[i], t);
			fprintf(t->file, "      ");
			CLEANUP_FREE char *reason = strdup(r->mutants[i].reason);
			for (char *c = reason; c && *c; c++)
				*c = *c < ' ' && *c > 0 ? ' ' : *c;
			term_wrap(t, reason ? reason : "", 6, 6);
			fprintf(t->file, "\n");
		}
}

static void print_operators(const struct mutate_report *r, const struct term *t)
{
	fprintf(t->file, "\n  operator           made  killed  survived  declared  equivalent  invalid\n");
	for (unsigned i = 0; i <= r->n_operators; i++) {
		const struct mutate_count *c = i < r->n_operators ? &r->operators[i] : &r->all;
		fprintf(t->file, "  %-16s %6u  %6u  %8u  %8u  %10u  %7u\n", c->name, c->made, c->fates[MUTANT_KILLED], c->fates[MUTANT_SURVIVED],
			c->fates[MUTANT_DECLARED], c->fates[MUTANT_EQUIVALENT], c->fates[MUTANT_INVALID]);
	}
	fprintf(t->file, "  equivalent: the same program; invalid: does not compile, or no emulated device runs it; neither counts\n");
}

void mutate_print(const struct mutate_report *r, const struct term *t)
{
	print_head(r, t);
	print_survivors(r, t);
	print_declared(r, t);
	if (r->n_errors)
		fprintf(t->file, "\n  mistakes\n");
	for (unsigned i = 0; i < r->n_errors; i++) {
		fprintf(t->file, "    ");
		put_text(t, r->errors[i]);
		fprintf(t->file, "\n");
	}
	print_operators(r, t);
	fprintf(t->file, "\n  %.0f s, %.0f mutants a minute; seed %s\n", r->seconds, r->seconds > 0 ? 60 * r->n_mutants / r->seconds : 0, r->seed);
}

/* ---- JSON ---- */

static void write_mutant(struct json_writer *w, const struct mutation *m)
{
	json_open(w, NULL, '{');
	json_write_string(w, "file", m->file);
	json_write_integer(w, "line", m->line);
	json_write_string(w, "function", m->function);
	json_write_string(w, "operator", m->operator);
	json_write_string(w, "old", m->old);
	json_write_string(w, "new", m->new);
	json_write_string(w, "shown", m->numbered ? m->numbered : m->shown);
	json_write_string(w, "fate", fate_names[m->fate]);
	json_write_string(w, "case", m->killer);
	json_write_string(w, "verdict", m->verdict);
	json_write_string(w, "missing", m->fate == MUTANT_SURVIVED ? m->missing : NULL);
	json_write_string(w, "reason", m->reason);
	json_close(w, '}');
}

static void write_count(struct json_writer *w, const char *key, const struct mutate_count *c)
{
	json_open(w, key, '{');
	if (!key)
		json_write_string(w, "operator", c->name);
	json_write_unsigned(w, "made", c->made);
	for (int i = 0; i < MUTANT_FATES; i++)
		json_write_unsigned(w, fate_names[i], c->fates[i]);
	json_close(w, '}');
}

void mutate_json(const struct mutate_report *r, struct json_writer *w, const char *key)
{
	json_open(w, key, '{');
	json_write_string(w, "problem", r->problem->id);
	json_write_string(w, "version", r->problem->version);
	json_write_bool(w, "passed", r->passed);
	json_write_number(w, "score", r->score);
	json_write_number(w, "least", r->least);
	json_write_string(w, "seed", r->seed);
	json_write_number(w, "seconds", r->seconds);
	json_write_unsigned(w, "possible", r->n_possible);
	json_open(w, "files", '[');
	for (unsigned i = 0; i < r->n_files; i++)
		json_write_string(w, NULL, r->files[i]);
	json_close(w, ']');
	write_count(w, "all", &r->all);
	json_open(w, "operators", '[');
	for (unsigned i = 0; i < r->n_operators; i++)
		write_count(w, NULL, &r->operators[i]);
	json_close(w, ']');
	json_open(w, "errors", '[');
	for (unsigned i = 0; i < r->n_errors; i++)
		json_write_string(w, NULL, r->errors[i]);
	json_close(w, ']');
	json_open(w, "mutants", '[');
	for (unsigned i = 0; i < r->n_mutants; i++)
		write_mutant(w, &r->mutants[i]);
	json_close(w, ']');
	json_close(w, '}');
}

/* ---- the command ---- */

static void put_json(const struct mutate_report *r)
{
	CLEANUP_BUF struct buf text = {0};
	struct json_writer w = {.out = &text, .indent = true};
	mutate_json(r, &w, NULL);
	buf_addc(&text, '\n');
	fwrite(text.data, 1, text.size, stdout);
}

int mutate_command(const struct mutate_options *o, bool json)
{
	struct mutate_options with = *o;
	struct mutate_report r;
	struct term out, err;
	struct err e = {0};
	term_of(&out, stdout);
	term_of(&err, stderr);
	struct progress *own = o->progress ? NULL : progress_start(&err, err.is_terminal ? PROGRESS_LIVE : json ? PROGRESS_QUIET : PROGRESS_PLAIN);
	if (own)
		with.progress = own;
	int rc = mutate(&with, &r, &e);
	progress_end(own);
	if (rc < 0)
		return complain_of_run(&(struct options){.no_sandbox = o->unsandboxed}, &e);
	if (json)
		put_json(&r);
	else
		mutate_print(&r, &out);
	fflush(stdout);
	int status = r.passed ? EXIT_ACCEPTED : EXIT_NOT_ACCEPTED;
	mutate_free(&r);
	return status;
}
