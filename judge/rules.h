/* What a problem forbids, held against what a program did that is right otherwise. */
#ifndef JUDGE_RULES_H
#define JUDGE_RULES_H

#include "../sandbox/ptx/profile.h"
#include "book.h"

/* An argument smaller than this is not held to max_weight_passes: in a small case the guards of tails and the second look at a
 * last row weigh more than the loop over the weights. */
enum { RULES_LEAST_WEIGHTS = 1 << 20 };

/* A limit of the rules at these sizes, or INT64_MAX for NULL.  e: "rules.scratch_bytes: K/7: 256 is not a multiple of 7". */
int rules_limit(const char *field, const char *expression, const struct sizes *sizes, int64_t *out, struct err *e);

/* 1: rules are broken, and why says which and by how much: "3 launches, 1 allowed; ...".  0: none.  -1 and e: as rules_limit().
 * counted: the emulated device whose counts b and r are; NULL: a GPU, which counts launches and allocations, and no bytes.
 * Of a hidden case no number is told: how far a limit is passed could be made to tell of its inputs. */
int rules_broken(const struct testcase *t, const struct session_run *r, const struct book *b, const struct profile *counted, char *why,
		 size_t size, struct err *e);

/* Has the problem rules that only the emulated device's counts can decide? */
bool rules_count_bytes(const struct problem *p);

#endif
