/* A report that was kept or sent as JSON, as a grading again: to print it as a local run prints its own. */
#ifndef JUDGE_REPORT_READ_H
#define JUDGE_REPORT_READ_H

#include "grade.h"

#include "../sandbox/base/json.h"

/* Of report_json's object.  name, source: of the submission, for excerpts; they must live as long as g, which grading_free frees.
 * What another version of the judge left out is as if it had not happened.  -1 and e: it is no report. */
int report_read(const struct json *j, const char *name, const char *source, size_t size, struct grading *g, struct err *e);

#endif
