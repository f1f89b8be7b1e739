/* Sizes of a problem: shape expressions over named sizes ("2*N*K", "K/8", "cdiv(N, 128)"), and draws of sizes.
 *
 * Expressions are whole numbers: names, literals, + - * /, parentheses, cdiv(a, b) rounding up, min and max.  A division
 * must come out even, a value must fit 63 bits and not be negative: anything else is an error that says so.
 */
#ifndef JUDGE_SIZES_H
#define JUDGE_SIZES_H

#include "../reference/problem.h"
#include "../sandbox/base/err.h"

struct sizes {
	unsigned n;
	struct param at[PROBLEM_MAX_PARAMS];
};

/* -1 if it is not there. */
int sizes_find(const struct sizes *s, const char *name, int64_t *out);
/* Append; false if there is no room or the name is there. */
bool sizes_add(struct sizes *s, const char *name, int64_t value);
/* "N=8 K=256" */
void sizes_text(const struct sizes *s, char *out, size_t size);

/* e: "K/8: 100 is not a multiple of 8". */
int sizes_eval(const char *expression, const struct sizes *s, int64_t *out, struct err *e);
/* Call f for each name in the expression; also checks its syntax.  f returns -1 (with e) to stop. */
int sizes_names(const char *expression, int (*f)(void *user, const char *name, struct err *e), void *user, struct err *e);

enum { SIZES_MAX_CHOICES = 16 };
struct size_draw {			/* what problem.json says of one size */
	char name[PROBLEM_NAME];
	enum { DRAW_FIXED, DRAW_LIST, DRAW_RANGE } kind;
	unsigned n;
	int64_t list[SIZES_MAX_CHOICES];	/* FIXED: list[0] */
	int64_t from, to, multiple;	/* RANGE: multiples of `multiple` in from..to */
};
/* The value for 64 random bits. */
int64_t size_drawn(const struct size_draw *d, uint64_t random);

#endif
