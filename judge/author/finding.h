/* What is wrong with a package, told so that its author can mend it: file, line or field, what is wrong, what would be right. */
#ifndef AUTHOR_FINDING_H
#define AUTHOR_FINDING_H

#include "../../sandbox/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct finding {
	char file[200], field[200];	/* of the package; empty if it is about none */
	int line;			/* 0: none */
	char text[1000];
	bool grave;			/* the package can't be graded or shown; else it is only not good enough */
};

enum { FINDINGS_MAX = 200 };		/* those after it are counted, not kept */

struct findings {
	unsigned n, more, room;
	struct finding *at;
};

/* field: NULL or "" for none; a name that is too long is cut. */
void finding_add(struct findings *f, const char *file, int line, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The same, grave. */
void finding_grave(struct findings *f, const char *file, int line, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* An error whose text begins with "[FOLDER/]FILE: [FIELD: ]", taken apart; grave. */
void finding_of_err(struct findings *f, const struct err *e);
bool findings_grave(const struct findings *f);
/* "statement.en.md:12", "problem.json: cases[2].N", or "". */
void finding_place(const struct finding *f, char *out, size_t size);
void findings_free(struct findings *f);

#endif
