/* What is wrong with a program whose outputs are: told from which cases fail and what they have in common. */
#ifndef JUDGE_DIAGNOSIS_H
#define JUDGE_DIAGNOSIS_H

#include "grade.h"

/* One sentence or two on the likely mistake; false: the cases tell nothing. */
bool diagnose(const struct grading *g, char *out, size_t size);

#endif
