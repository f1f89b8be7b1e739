/* compute-sanitizer's findings on a submission: small cases again, on the GPU, under each of its tools. */
#ifndef JUDGE_SANITIZE_H
#define JUDGE_SANITIZE_H

#include "gpu_tool.h"

enum { SANITIZE_TOOLS = 4, SANITIZE_FINDINGS = 8, SANITIZE_CASES = 6 };

struct sanitizer_finding {
	const char *tool;		/* "memcheck", "racecheck", "initcheck", "synccheck" */
	enum verdict verdict;
	struct fault fault;		/* place and text; its kind is one of that verdict */
};

struct sanitizer_report {
	bool ran;
	unsigned cases;			/* that were run under each tool */
	unsigned n, more;		/* findings, and those beyond them */
	struct sanitizer_finding findings[SANITIZE_FINDINGS];
};

/* cases: n of the grading's, of which small ones are taken.  0, or -1 and e: the tool does not work here. */
int sanitize(const struct runner *gpu, const struct testcase *cases, unsigned n, struct sanitizer_report *out, struct err *e);

/* Take a tool's log apart; name replaces the jail's name of the source. */
void sanitize_parse(const char *log, const char *tool, const char *name, struct sanitizer_report *out);

#endif
