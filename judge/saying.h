/* What judge says of a submission, in the language of who reads it.
 *
 * Verdicts, faults and advice are born in English, in the judge and in the sandbox, cross processes, and are stored as sentences.  Such a
 * sentence names its row of sayings.def and carries its arguments: matched against the row's format, it gives them back.  So whoever
 * reads it, now or years later, has it in their language, whoever judged it; and what has no row stays English.
 */
#ifndef JUDGE_SAYING_H
#define JUDGE_SAYING_H

#include "../sandbox/base/arena.h"

/* The sentence in lang ("en", "zh"); NULL stays NULL.  The answer is text itself, or lies in a. */
const char *saying_in(const char *lang, const char *text, struct arena *a);

#endif
