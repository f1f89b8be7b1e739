/* CSV (RFC 4180): rosters in, grades out. */
#ifndef SERVER_CSV_H
#define SERVER_CSV_H

#include "../../sandbox/base/arena.h"
#include "../../sandbox/base/buf.h"

#include <stdbool.h>

enum { CSV_COLUMNS = 8 };

struct csv_row {
	unsigned line;			/* where it begins, from 1 */
	unsigned n;
	const char *at[CSV_COLUMNS];
};

struct csv {
	struct csv_row *rows;		/* empty lines are left out */
	size_t n;
};

/* Separated by comma, semicolon or tab, whichever the first line has.  -1 and e, and *line where it is wrong. */
int csv_parse(const char *text, size_t size, struct arena *a, struct csv *out, unsigned *line, struct err *e);
/* A text cell.  One that a spreadsheet would take for a formula gets an apostrophe before it. */
void csv_text(struct buf *out, const char *text, bool first);
void csv_number(struct buf *out, double v, bool first);	/* NaN: an empty cell */

#endif
