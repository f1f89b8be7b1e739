/* What is going on, while it goes on: one live line on a terminal, a plain line a stage elsewhere, or nothing. */
#ifndef JUDGE_PROGRESS_H
#define JUDGE_PROGRESS_H

#include "term.h"

enum progress_kind { PROGRESS_STAGE, PROGRESS_STEP, PROGRESS_RESULT };
enum progress_mode { PROGRESS_QUIET, PROGRESS_PLAIN, PROGRESS_LIVE, PROGRESS_HOOK };

/* For who passes it on: called one at a time, from any thread.  text: the step's detail, or what the stage came to; or NULL. */
struct progress_hook {
	void (*tell)(void *context, enum progress_kind kind, const char *stage, unsigned done, unsigned total, const char *text);
	void *context;
};

struct progress;

struct progress *progress_to(struct progress_hook hook);
struct progress *progress_start(struct term *t, enum progress_mode mode);
/* A stage begins: "compile", "samples".  total 0: it is not counted. */
void progress_stage(struct progress *p, const char *name, unsigned total);
void progress_step(struct progress *p, const char *detail);	/* one more is done; detail may be NULL */
/* What the stage came to: "2.1 s", "3 of 3 accepted". */
void progress_result(struct progress *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void progress_end(struct progress *p);		/* clears the live line; NULL is fine */

#endif
