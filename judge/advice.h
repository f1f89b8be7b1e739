/* Advice: one or two lines on what to do next, drawn from a verdict and from counters. */
#ifndef JUDGE_ADVICE_H
#define JUDGE_ADVICE_H

#include "grade.h"

enum { ADVICE_LINES = 2, ADVICE_LENGTH = 420 };

struct advice {
	unsigned n;
	char lines[ADVICE_LINES][ADVICE_LENGTH];
};

void advice_of(const struct grading *g, struct advice *out);

#endif
