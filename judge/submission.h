/* A solution file: its text, and which problem it is for. */
#ifndef JUDGE_SUBMISSION_H
#define JUDGE_SUBMISSION_H

#include "../sandbox/base/buf.h"
#include "problem.h"

enum { SUBMISSION_MAX_BYTES = 1 << 20 };

/* The text of a file; more than SUBMISSION_MAX_BYTES is read no further, and refused by submission_refusal. */
int submission_read(const char *path, struct buf *out, struct err *e);
/* NULL if the text can go to the compiler, else a sentence that says why not; text holds it. */
const char *submission_refusal(const char *source, size_t size, char *text, size_t room);

/* The problem: `id` if not NULL, else the "// judge: ID" line, the package folder that the file lies in, or its name. */
struct problem *submission_problem(const char *path, const char *id, const char *source, size_t size, struct err *e);
/* The same as an id alone, of a problem that need not be on this machine. */
int submission_problem_id(const char *path, const char *id, const char *source, size_t size, char *out, size_t room, struct err *e);
/* The name it has in messages and in the compiler: the last part of the path. */
const char *submission_name(const char *path);
/* The same, harmless to a terminal: a file's name can be anything. */
enum { SUBMISSION_SHOWN = 256 };
void submission_shown_name(const char *path, char out[SUBMISSION_SHOWN]);

#endif
