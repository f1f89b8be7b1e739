/* Uploaded problem packages: unpacked with distrust, checked, put where the judge finds them. */
#ifndef SERVER_PACKAGE_H
#define SERVER_PACKAGE_H

#include "../../sandbox/base/buf.h"
#include "../author/finding.h"
#include "../problem.h"

enum { PACKAGE_MAX_FILES = 500, PACKAGE_MAX_BYTES = 64 << 20, PACKAGE_MAX_RATIO = 200, PACKAGE_MESSAGES = 16 };

struct package {
	char folder[700];		/* ends in the package's id */
	char id[64], version[33];
	unsigned n;
	struct finding messages[PACKAGE_MESSAGES];	/* the first of them */
};

/* Unpacks a .zip, .tar or .tar.gz below `root` and checks it (author/rules.h).  -1: messages say what is wrong, or (ERR_SYSTEM) e;
 * nothing is left.  0: it lies in root/ID/VERSION[-N]/ID, or, if `check`, nowhere; messages say what it lacks, none of it grave. */
int package_take(const char *root, const void *data, size_t size, bool check, struct package *out, struct err *e);

/* The same of a package that lies in `from`, with another text in one of its files. */
int package_edit(const char *root, const char *from, const char *name, const char *text, struct package *out, struct err *e);

/* One that was put in its place and is not wanted after all. */
void package_remove(const struct package *p);

/* Unpack alone, into a folder that is there.  -1 and e: what is wrong with it. */
int package_unpack(const char *folder, const void *data, size_t size, struct err *e);

#endif
