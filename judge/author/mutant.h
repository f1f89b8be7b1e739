/* The mutants of a source: small changes of its functions, one at a time. */
#ifndef JUDGE_MUTANT_H
#define JUDGE_MUTANT_H

#include "../../sandbox/base/buf.h"
#include "mutant_source.h"

enum mutant_operator {
#define MUTANT(id, name, missing) MUTANT_OP_##id,
#include "mutant.def"
#undef MUTANT
	MUTANT_OPERATORS
};

struct mutant {
	enum mutant_operator operator;
	unsigned first, end;		/* tokens first .. end-1 */
	const char *text;		/* come to be this; one line */
	int line;
	int function;
};

struct mutants {
	struct source source;
	struct mutant *list;		/* by place, then by operator, no two alike */
	unsigned n;
};

enum { MUTANTS_MAX = 20000 };

/* All of them, in the arena's memory; `text` must outlive them.  Any bytes will do. */
void mutants_of(const char *text, size_t size, struct arena *a, struct mutants *out);
/* The whole source with that change; its lines keep their numbers. */
void mutant_apply(const struct mutants *all, const struct mutant *m, struct buf *out);
/* Is the change of the device's code alone, so that host code stays what it was? */
bool mutant_of_device(const struct mutants *all, const struct mutant *m);
/* "if (row {>= -> >} N)": the line, without comments, blanks squeezed. */
const char *mutant_shown(const struct mutants *all, const struct mutant *m, struct arena *a);
/* What it replaces. */
const char *mutant_old(const struct mutants *all, const struct mutant *m);
const char *mutant_operator_name(enum mutant_operator o);
/* What kind of hidden case would see it, where none does: a guess, by the operator and by what the line speaks of. */
const char *mutant_missing(const struct mutants *all, const struct mutant *m);

/* ---- for the operators ---- */

struct mutant_list;
/* Tokens first .. end-1 become the text. */
void mutant_add(struct mutant_list *l, enum mutant_operator o, unsigned first, unsigned end, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
const struct source *mutant_source(const struct mutant_list *l);
/* The mutants that begin at token i, of each family. */
void mutants_of_flow(struct mutant_list *l, unsigned i);	/* conditions, loops, statements */
void mutants_of_value(struct mutant_list *l, unsigned i);	/* arithmetic, numbers, subscripts */
void mutants_of_cuda(struct mutant_list *l, unsigned i);	/* threads, shuffles, sums, scales and zero points */

#endif
