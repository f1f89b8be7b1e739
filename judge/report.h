/* The report of a grading: for people on a terminal, and as one JSON object. */
#ifndef JUDGE_REPORT_H
#define JUDGE_REPORT_H

#include "../sandbox/base/buf.h"
#include "grade.h"
#include "term.h"

void report_print(const struct grading *g, const struct term *t, bool profile);
void report_json(const struct grading *g, bool profile, struct buf *out);

/* The same on one line, for keeping: with profile, and no longer than json_parse takes (JSON_MAX_BYTES).  whole: with the seed and the
 * sizes of hidden cases, which are not for students. */
void report_json_kept(const struct grading *g, bool whole, struct buf *out);
/* The sentence on the whole, as it may be told to whoever handed it in. */
void report_told(const struct grading *g, struct buf *out);
/* Parts of it as values of their own; nothing where there is no fault, and no wrong element. */
void report_json_fault(const struct fault *f, struct buf *out);
void report_json_worst(const struct case_report *r, struct buf *out);
void report_json_sizes(const struct case_report *r, struct buf *out);

/* A sentence in the language of the page (saying.h). */
const char *report_said(const struct term *t, const char *text);
/* The same, made of a format, as the rest of a line. */
void report_tell(const struct term *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Parts of it that `judge run` prints too. */
void report_diagnostics(const struct compiled *c, const char *name, const char *source, size_t size, const struct term *t);
void report_fault(const struct fault *f, const char *name, const char *source, size_t size, const struct term *t);
void report_kernels(const struct book *b, const struct term *t);
void report_lines(const struct device_line *lines, unsigned n, const char *name, const char *source, size_t size,
		  const struct term *t);

#endif
