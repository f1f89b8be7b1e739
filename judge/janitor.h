/* A process that outlives the judge by a moment, and removes what an interrupted one leaves behind. */
#ifndef JUDGE_JANITOR_H
#define JUDGE_JANITOR_H

/* Call once, before any thread is started; a host that can't have it does without. */
void janitor_start(void);

#endif
