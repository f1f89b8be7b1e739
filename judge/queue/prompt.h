/* Asking for a word: on the terminal, or else a line of standard input. */
#ifndef QUEUE_PROMPT_H
#define QUEUE_PROMPT_H

#include "../../sandbox/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* hidden: what is typed is not shown.  -1 and e: it is too long, or there is none. */
int prompt_line(const char *what, bool hidden, char *out, size_t size, struct err *e);
/* A new password; on a terminal twice. */
int prompt_password(char *out, size_t size, struct err *e);

#endif
