/* The files of a package: which belong to it, and which are there by chance. */
#ifndef AUTHOR_LAYOUT_H
#define AUTHOR_LAYOUT_H

#include "../../sandbox/base/arena.h"
#include "finding.h"

enum layout_kind { LAYOUT_TEXT, LAYOUT_SUBMISSION };

struct layout_file {
	const char *path;		/* within the package */
	enum layout_kind kind;
};

struct layout {
	unsigned n, n_others;
	struct layout_file *files;	/* sorted by path */
	const char **others;		/* what belongs to no package, sorted; a folder ends in "/" */
};

/* The folder that a word of the command line means: that folder, else the one of the judge's own problem with that id. */
int layout_find(const char *word, char *out, size_t size, struct err *e);

/* Memory from a.  f: what lies where submissions do, and is none; a folder that can't be read. */
void layout_read(const char *folder, struct arena *a, struct layout *out, struct findings *f);

#endif
