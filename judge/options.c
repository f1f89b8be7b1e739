/* The command line's words: see command.h. */
#include "command.h"

#include "../sandbox/base/nearest.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
	FIRST_OPTION = 255,		/* above every letter */
#define OPTION(id, name, letter, argument, use, help) OPT_##id,
#include "options.def"
#undef OPTION
};

static const struct {
	const char *name, *argument, *help;
	char letter;
	unsigned use;
} table[] = {
#define OPTION(id, name, letter, argument, use, help) {name, argument, help, letter, use},
#include "options.def"
#undef OPTION
};
enum { N_OPTIONS = sizeof table / sizeof *table };

static const struct {
	const char *name, *arguments, *summary;
} commands[] = {
#define COMMAND(id, arguments, summary) {#id, arguments, summary},
#include "commands.def"
#undef COMMAND
};

/* ---- commands ---- */

const char *command_name(enum command c)
{
	return commands[c].name;
}

int command_find(const char *word, enum command *out)
{
	for (int i = 0; i < COMMANDS; i++)
		if (!strcmp(commands[i].name, word)) {
			*out = (enum command)i;
			return 0;
		}
	return -1;
}

const char *command_nearest(const char *word)
{
	static const char *const names[] = {
#define COMMAND(id, arguments, summary) #id,
#include "commands.def"
#undef COMMAND
	};
	return nearest_name(word, names, COMMANDS);
}

/* ---- help ---- */

static void help_options(unsigned use, FILE *f)
{
	for (int i = 0; i < N_OPTIONS; i++) {
		char left[40];
		if (!(table[i].use & use))
			continue;
		snprintf(left, sizeof left, "%s%c%s--%s%s%s", table[i].letter ? "-" : " ", table[i].letter ? table[i].letter : ' ',
			 table[i].letter ? ", " : "  ", table[i].name, table[i].argument ? " " : "",
			 table[i].argument ? table[i].argument : "");
		fprintf(f, "  %-24s %s\n", left, table[i].help);
	}
}

void help_all(FILE *f)
{
	fprintf(f, "judge: an online judge for quantized CUDA kernel exercises\n\n"
		   "usage: judge FILE.cu [OPTIONS]\n       judge COMMAND [OPTIONS] [ARGUMENTS]\n\ncommands:\n");
	for (int i = 0; i < COMMANDS; i++)
		if (*commands[i].summary)
			fprintf(f, "  %-9s%-24s %s\n", commands[i].name, commands[i].arguments, commands[i].summary);
	fprintf(f, "\noptions of judge FILE.cu:\n");
	help_options(USE_grade, f);
	fprintf(f, "\nexit status: 0 accepted, 1 not accepted, 2 wrong use, 3 the judge's own failure\n");
}

void help_command(enum command c, FILE *f)
{
	fprintf(f, "usage: judge %s%s%s%s\n\n%s\n\n", commands[c].name, " [OPTIONS]", *commands[c].arguments ? " " : "", commands[c].arguments,
		commands[c].summary);
	help_options(1u << c, f);
}

/* ---- options ---- */

static int take_number(unsigned *out, const char *name, const char *text, struct err *e)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (*end || end == text || *text == '-' || n < 1 || n > 256)
		return err_input(e, "--%s %s: write a number from 1 to 256", name, text);
	*out = (unsigned)n;
	return 0;
}

static int take_mutants(struct options *o, const char *text, struct err *e)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (*end || end == text || *text == '-' || n < 1 || n > 1000000)
		return err_input(e, "--mutants %s: write how many, from 1 to 1000000", text);
	o->mutants = (unsigned)n;
	return 0;
}

static int take_least(struct options *o, const char *text, struct err *e)
{
	char *end;
	double percent = strtod(text, &end);
	if (*end || end == text || !(percent > 0 && percent <= 100))
		return err_input(e, "--least %s: write a share of mutants in percent, as 95", text);
	o->least = percent / 100;
	return 0;
}

static int take_port(struct options *o, const char *text, struct err *e)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (*end || end == text || *text == '-' || n > 65535)
		return err_input(e, "--port %s: write a number from 0 to 65535", text);
	o->port = (int)n;
	return 0;
}

static int take_hint(struct options *o, const char *text, struct err *e)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);
	if (*end || end == text || *text == '-' || n > 1000)
		return err_input(e, "--hint %s: write the number of a hint, or 0 for all", text);
	o->hint = (int)n;
	return 0;
}

static int take_lang(struct options *o, const char *text, struct err *e)
{
	if (strcmp(text, "en") && strcmp(text, "zh"))
		return err_input(e, "--lang %s: write en or zh", text);
	o->lang = text;
	return 0;
}

static int take(struct options *o, int id, const char *text, struct err *e)
{
	switch (id) {
	case OPT_problem: o->problem = text; return 0;
	case OPT_device: o->device = text; return 0;
	case OPT_seed: o->seed = text; return 0;
	case OPT_samples: o->samples = true; return 0;
	case OPT_no_timing: o->no_timing = true; return 0;
	case OPT_gpu_only: o->gpu_only = true; return 0;
	case OPT_sanitize: o->sanitize = true; return 0;
	case OPT_json: o->json = true; return 0;
	case OPT_profile: o->profile = true; return 0;
	case OPT_watch: o->watch = true; return 0;
	case OPT_no_sandbox: o->no_sandbox = true; return 0;
	case OPT_help: o->help = true; return 0;
	case OPT_version: o->version = true; return 0;
	case OPT_once: o->once = true; return 0;
	case OPT_data: o->data = text; return 0;
	case OPT_config: o->config = text; return 0;
	case OPT_print_config: o->print_config = true; return 0;
	case OPT_no_workers: o->no_workers = true; return 0;
	case OPT_port: return take_port(o, text, e);
	case OPT_role: o->role = text; return 0;
	case OPT_quick: o->quick = true; return 0;
	case OPT_mutate: o->mutate = true; return 0;
	case OPT_mutants: return take_mutants(o, text, e);
	case OPT_least: return take_least(o, text, e);
	case OPT_seeds: return take_number(&o->seeds, "seeds", text, e);
	case OPT_threads: return take_number(&o->threads, "threads", text, e);
	case OPT_workers: return take_number(&o->workers, "workers", text, e);
	case OPT_lang: return take_lang(o, text, e);
	case OPT_hint: return take_hint(o, text, e);
	}
	BUG("option %d has no meaning", id);
}

/* "judge" for grade, whose word may be left out. */
static const char *called(enum command c)
{
	static const char *const names[] = {
#define COMMAND(id, arguments, summary) "judge " #id,
#include "commands.def"
#undef COMMAND
	};
	return c == COMMAND_grade ? "judge" : names[c];
}

/* A word that getopt does not know, or that the command has no use for. */
static int refuse(enum command c, const char *word, struct err *e)
{
	const char *names[N_OPTIONS + 1] = {0};
	char bare[64];
	int n = 0;
	for (int i = 0; i < N_OPTIONS; i++)
		if (table[i].use & 1u << c)
			names[n++] = table[i].name;
	snprintf(bare, sizeof bare, "%.60s", word + strspn(word, "-"));
	bare[strcspn(bare, "=")] = 0;
	const char *near = nearest_name(bare, names, (size_t)n);
	if (near && strcmp(near, bare))
		return err_input(e, "%s has no option %s: did you mean --%s?", called(c), word, near);
	return err_input(e, "%s has no option %s: see judge %s --help", called(c), word, commands[c].name);
}

int options_parse(enum command c, int argc, char **argv, struct options *out, struct err *e)
{
	struct option longs[N_OPTIONS + 1];
	char shorts[3 * N_OPTIONS + 2] = ":";
	memset(longs, 0, sizeof longs);
	memset(out, 0, sizeof *out);
	out->hint = out->port = -1;
	for (int i = 0; i < N_OPTIONS; i++) {
		longs[i] = (struct option){table[i].name, table[i].argument ? required_argument : no_argument, NULL, OPT_problem + i};
		if (table[i].letter) {
			char one[3] = {table[i].letter, table[i].argument ? ':' : 0, 0};
			strcat(shorts, one);
		}
	}
	int last = argc;
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--")) {
			last = i;
			break;
		}
	opterr = 0;
	optind = 1;
	for (;;) {
		int at = optind, id = getopt_long(last, argv, shorts, longs, NULL);
		if (id < 0)
			break;
		if (id == ':')
			return err_input(e, "option %s wants a value: see judge %s --help", argv[optind - 1], commands[c].name);
		if (id == '?')
			return refuse(c, optind > at ? argv[optind - 1] : argv[at], e);
		for (int i = 0; i < N_OPTIONS; i++)
			if (id == table[i].letter)
				id = OPT_problem + i;
		if (!(table[id - OPT_problem].use & 1u << c))
			return refuse(c, argv[optind - 1 - (optarg && optarg == argv[optind - 1])], e);
		if (take(out, id, optarg, e) < 0)
			return -1;
	}
	out->arguments = argv + optind;
	out->n_arguments = last - optind;
	out->rest = argv + last + 1;
	out->n_rest = last < argc ? argc - last - 1 : 0;
	return 0;
}

int options_want(const struct options *o, enum command c, int n, struct err *e)
{
	if (o->n_rest && c != COMMAND_run)
		return err_input(e, "%s takes nothing after --", called(c));
	if (o->n_arguments == n)
		return 0;
	if (o->n_arguments < n)
		return err_input(e, "%s wants %s", called(c), commands[c].arguments);
	return err_input(e, "%s: \"%s\" is one argument too many", called(c), o->arguments[n]);
}
