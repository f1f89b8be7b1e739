/* Verdicts: one table of codes, and what of the sandbox's facts becomes which. */
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include "../sandbox/session.h"

enum verdict {
#define VERDICT(code, name, text) VERDICT_##code,
#include "verdict.def"
#undef VERDICT
	VERDICT_COUNT,
	VERDICT_NONE = VERDICT_COUNT	/* not run */
};

const char *verdict_code(enum verdict v);	/* "WA"; "--" for NONE */
const char *verdict_name(enum verdict v);	/* "wrong answer" */
const char *verdict_text(enum verdict v);
enum verdict verdict_find(const char *code);	/* NONE if there is no such code */

/* What a run's end says by itself, outputs apart: AC if solve() came back and nothing went wrong.  `why` gets one
 * sentence; empty where AC. */
enum verdict verdict_of_run(const struct session_run *r, char *why, size_t size);

#endif
