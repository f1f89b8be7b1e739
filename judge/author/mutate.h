/* Mutation testing of a problem package: do its hidden cases see a small mistake?
 *
 * Theory of operation.  Each file (a solution that is right) is taken apart into tokens, and every operator (mutant.def) makes
 * small changes inside its functions, one at a time: a bound off by one, a barrier removed, a zero point of the neighbour.  Each
 * mutant is compiled and graded on the emulated device against the hidden cases, without timing, up to the first that is not
 * accepted.  The cases are drawn once, by one seed, and are the same for all.
 *
 *	killed		a case rejected it
 *	survived	all cases accepted it: the package may lack a case, which `missing` guesses
 *	declared	it survived, and submissions/survivors.txt says why it is right
 *	equivalent	it compiles to the same program as the original; not counted
 *	invalid		it does not compile, or the emulated device can't run it; not counted
 *
 * score = killed / (killed + survived).
 *
 * submissions/survivors.txt (optional) names mutants by what they are, so that it stays true when lines move:
 *
 *	# a comment
 *	step1_textbook.cu: gemv: if (row {>= -> >} N)
 *		The reason, on one or more indented lines: of all mutants that stand right above it.
 *
 * which is the file, the function, and the mutant's line with blanks squeezed, {old -> new} in the place of the change, exactly
 * as the report prints it; "..." stands for anything.  Where a function has a line more than once the report numbers its mutants,
 * "(1 of 2)", and without the number all of them are meant.  It is an error if such a mutant is not made, or is killed.
 */
#ifndef JUDGE_MUTATE_H
#define JUDGE_MUTATE_H

#include "../problem.h"
#include "../term.h"

#include <stdbool.h>

struct arena;
struct json_writer;
struct progress;

struct mutate_options {
	const struct problem *problem;
	const char *const *files;	/* paths of solutions to mutate; n_files 0: reference.cu and the textbook (the first of
					 * submissions/accepted/step1*.cu, else of accepted/) */
	unsigned n_files;
	unsigned most;			/* that many mutants, drawn by a fixed seed; 0: all */
	double least;			/* the score that passes, 0 to 1; 0: MUTATE_LEAST */
	const char *seed;		/* hexadecimal, of the hidden cases; NULL: MUTATE_SEED */
	const char *device;		/* "emulated", "emulated:PROFILE"; NULL: emulated */
	unsigned threads;		/* mutants at once; 0: as many as cores */
	bool unsandboxed;
	struct progress *progress;	/* or NULL */
};

#define MUTATE_LEAST 0.95
#define MUTATE_SEED "6d7574617465"

enum mutant_fate { MUTANT_KILLED, MUTANT_SURVIVED, MUTANT_DECLARED, MUTANT_EQUIVALENT, MUTANT_INVALID, MUTANT_FATES };

struct mutation {			/* one mutant, graded */
	const char *file;		/* "reference.cu", "submissions/accepted/step1_textbook.cu" */
	int line;
	const char *operator;		/* "barrier": a name of mutant.def */
	const char *function;
	const char *old, *new;		/* tokens that were replaced, and by what; blanks squeezed; empty: removed */
	const char *shown;		/* the line with {old -> new} in it */
	const char *numbered;		/* the same with "(2 of 3)" behind it, where lines of the function are alike; else NULL */
	const char *missing;		/* of a survivor: the kind of hidden case that would see it, a sentence */
	enum mutant_fate fate;
	const char *killer;		/* name of the case; NULL: none, or the image was refused */
	const char *verdict;		/* "WA": of that case; NULL */
	const char *reason;		/* of one that is declared */
};

struct mutate_count {			/* of one operator, or of all */
	const char *name;
	unsigned made, fates[MUTANT_FATES];
};

struct mutate_report {
	struct arena *arena;		/* owns all that is pointed to */
	const struct problem *problem;
	const char *seed;
	const char *const *files;
	unsigned n_files;
	const struct mutation *mutants;	/* in the order of files and lines */
	unsigned n_mutants, n_possible;	/* n_possible: before sampling */
	const struct mutate_count *operators;	/* those that made mutants */
	unsigned n_operators;
	struct mutate_count all;
	const char *const *errors;	/* what is wrong in survivors.txt, with its line; such a report has not passed */
	unsigned n_errors;
	double score, least;		/* score is 1 where nothing counts */
	double seconds;
	bool passed;			/* score >= least, and no errors */
};

/* 0: done, and *out is mutate_free's to free.  -1 and e: a file that is not accepted to begin with, or can't be read (ERR_INPUT);
 * or the judge's own failure. */
int mutate(const struct mutate_options *o, struct mutate_report *out, struct err *e);
void mutate_free(struct mutate_report *r);

/* Score, survivors, counts by operator, for people. */
void mutate_print(const struct mutate_report *r, const struct term *t);
/* The same as an object; key NULL: as the document. */
void mutate_json(const struct mutate_report *r, struct json_writer *w, const char *key);

/* The command line of `judge check --mutate`, whole: runs it, prints the report (or one JSON object), complains.  Returns the exit
 * status: 0 passed, 1 not, 2 wrong use, 3 the judge's own failure.  Jails are the caller's to announce (warn_no_sandbox,
 * jail_sweep, janitor_start). */
int mutate_command(const struct mutate_options *o, bool json);

#endif
