/* What a sample submission is there to get: its folder says, or a line "// expect: VERDICT" of its first comment. */
#ifndef AUTHOR_EXPECTATION_H
#define AUTHOR_EXPECTATION_H

#include "../verdict.h"
#include "finding.h"

struct expectation {
	enum verdict verdict;		/* NONE: any but AC, as of a starter */
	bool needs_gpu;			/* "// device: gpu": what it uses only the hardware knows */
};

/* Of the file `path` ("submissions/rejected/x.cu") of the package's folder.  -1: f says what is wrong with it. */
int expectation_read(const char *folder, const char *path, struct expectation *out, struct findings *f);
/* Whether submissions/NAME is one of the folders. */
bool expectation_folder(const char *name);
const char *expectation_folders(void);	/* "accepted, wrong_answer, ...", for messages */

#endif
