/* Numbers as people read them: see figures.h. */
#include "figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *figure_bytes(struct figure *f, double bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	int u = 0;
	while (bytes >= 999.5 && u < 4) {
		bytes /= 1000;
		u++;
	}
	snprintf(f->text, sizeof f->text, u == 0 || bytes >= 99.95 ? "%.0f %s" : bytes >= 9.995 ? "%.1f %s" : "%.2f %s", bytes, units[u]);
	return f->text;
}

const char *figure_time(struct figure *f, double us, bool utf8)
{
	const char *unit = us < 999.5 ? (utf8 ? "µs" : "us") : us < 999.5e3 ? "ms" : "s";
	double v = us < 999.5 ? us : us < 999.5e3 ? us / 1e3 : us / 1e6;
	snprintf(f->text, sizeof f->text, v >= 99.95 ? "%.0f %s" : v >= 9.995 ? "%.1f %s" : "%.2f %s", v, unit);
	return f->text;
}

const char *figure_count(struct figure *f, uint64_t n)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), out = 0;
	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			f->text[out++] = ',';
		f->text[out++] = digits[i];
	}
	f->text[out] = 0;
	return f->text;
}

const char *figure_percent(struct figure *f, double share)
{
	double v = 100 * share;
	snprintf(f->text, sizeof f->text, v != 0 && v < 9.95 ? "%.1f %%" : "%.0f %%", v);
	return f->text;
}

const char *figure_ratio(struct figure *f, double ratio)
{
	if (isinf(ratio))
		strcpy(f->text, "inf");
	else if (ratio > 1e6)
		strcpy(f->text, "> 1e6");
	else
		snprintf(f->text, sizeof f->text, ratio >= 1000 ? "%.1e" : ratio >= 10 ? "%.0f" : ratio >= 1 ? "%.2f" : "%.2g", ratio);
	return f->text;
}
