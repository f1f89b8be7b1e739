/* Uploaded problem packages: unpacked with distrust, checked, put where the judge finds them. */
#ifndef SERVER_PACKAGE_H
#define SERVER_PACKAGE_H

#include "../../sandbox/base/buf.h"
#include "../author/finding.h"
#include "../problem.h"

enum { PACKAGE_MAX_FILES = 500, PACKAGE_MAX_BYTES = 64 << 20, PACKAGE_MAX_RATIO = 200 };

struct package {
	char folder[700];		/* ends in the package's id */
	char id[64], version[33];
	struct findings findings;	/* of one that was taken: what it lacks, none of it grave */
};

/* Unpacks a .zip, .tar or .tar.gz below `root` and checks it (author/rules.h).  -1: the findings say what is wrong, or (ERR_SYSTEM) e;
 * nothing is left.  0: it lies in root/ID/VERSION[-N]/ID, or, if `check`, nowhere.  Either way package_free. */
int package_take(const char *root, const void *data, size_t size, bool check, struct package *out, struct err *e);

void package_free(struct package *p);

/* Unpack alone, into a folder that is there.  -1 and e: what is wrong with it. */
int package_unpack(const char *folder, const void *data, size_t size, struct err *e);

#endif
