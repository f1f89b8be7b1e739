/* What a package must hold, told without running any of it: one check for `judge check`, `judge pack` and uploads. */
#ifndef AUTHOR_RULES_H
#define AUTHOR_RULES_H

#include "../problem.h"
#include "finding.h"

/* The package, or NULL if problem.json is wrong; findings tell all that is wrong with it, and are grave where it could be neither
 * graded nor shown. */
struct problem *rules_check(const char *folder, struct findings *f);

/* Sizes that a case can be drawn with: every combination of its lists and of the ends of its ranges, at most RULES_DRAWS of them. */
enum { RULES_DRAWS = 512 };
struct sizes;
/* Combination i; false if there is none. */
bool rules_draw(const struct case_spec *c, unsigned i, struct sizes *out);

#endif
