/* Numbers as people read them.  Each returns its buffer. */
#ifndef JUDGE_FIGURES_H
#define JUDGE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

struct figure {
	char text[32];
};

const char *figure_bytes(struct figure *f, double bytes);	/* "8.39 MB" */
const char *figure_time(struct figure *f, double us, bool utf8);	/* "13.2 µs", or "13.2 us" */
const char *figure_count(struct figure *f, uint64_t n);		/* "1,048,752" */
const char *figure_percent(struct figure *f, double share);	/* "17 %", "0.4 %" */
const char *figure_ratio(struct figure *f, double ratio);	/* "0.041", "3.20", "2.0e+05", "inf" */

#endif
