/* The command line: commands, options, exit statuses. */
#ifndef JUDGE_COMMAND_H
#define JUDGE_COMMAND_H

#include "../sandbox/base/err.h"

#include <stdbool.h>
#include <stdio.h>

enum { EXIT_ACCEPTED = 0, EXIT_NOT_ACCEPTED = 1, EXIT_USAGE = 2, EXIT_JUDGE = 3 };

enum command {
#define COMMAND(id, arguments, summary) COMMAND_##id,
#include "commands.def"
#undef COMMAND
	COMMANDS
};

enum {
#define COMMAND(id, arguments, summary) USE_##id = 1u << COMMAND_##id,
#include "commands.def"
#undef COMMAND
};

struct options {
	const char *problem, *device, *seed, *lang, *data, *role, *config;
	bool samples, no_timing, gpu_only, sanitize, json, profile, watch, no_sandbox, once, print_config, no_workers, quick, mutate, help, version;
	unsigned threads, workers, seeds;
	unsigned mutants;		/* 0: all */
	double least;			/* share of mutants; 0: the standard */
	int hint, port;			/* -1: none */
	int n_arguments;		/* what is no option, before "--" */
	char **arguments;
	int n_rest;			/* what follows "--" */
	char **rest;
};

/* argv[0] is not an option.  -1 and e: wrong use. */
int options_parse(enum command c, int argc, char **argv, struct options *out, struct err *e);
/* NULL if there is no such command. */
const char *command_name(enum command c);
int command_find(const char *word, enum command *out);
/* e names the command that is nearest to the word. */
const char *command_nearest(const char *word);
void help_all(FILE *f);
void help_command(enum command c, FILE *f);
/* Exactly n arguments, or e says what is wanted. */
int options_want(const struct options *o, enum command c, int n, struct err *e);

/* --no-sandbox is not done in silence. */
void warn_no_sandbox(const struct options *o);
/* Print an error as the command line does; returns the exit status for its kind. */
int complain(const struct err *e);
/* The same of what needs jails: if this host has none, that is the reason, with what mends it. */
int complain_of_run(const struct options *o, const struct err *e);

#define COMMAND(id, arguments, summary) int cmd_##id(const struct options *o);
#include "commands.def"
#undef COMMAND

#endif
