/* What is said of a hidden case: see untold.h. */
#include "untold.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Is "N=123 K=45)" what follows? */
static size_t sizes_length(const char *at)
{
	const char *from = at;
	for (;;) {
		size_t name = 0;
		while (isalnum((unsigned char)at[name]) || at[name] == '_')
			name++;
		if (!name || at[name] != '=' || !isdigit((unsigned char)at[name + 1]))
			return 0;
		at += name + 1;
		at += strspn(at, "0123456789");
		if (*at == ')')
			return (size_t)(at + 1 - from);
		if (*at++ != ' ')
			return 0;
	}
}

/* A number that stands by itself, and is no line of the source: counts, indices, addresses. */
static size_t number_length(const char *text, const char *at)
{
	if (!isdigit((unsigned char)*at) || (at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')))
		return 0;
	if (at - text >= 5 && !strncmp(at - 5, "line ", 5))
		return 0;
	size_t n = 0;
	while (isalnum((unsigned char)at[n]))
		n++;
	return n;
}

void untold(const char *text, struct buf *out)
{
	for (const char *at = text; *at;) {
		size_t sizes = !strncmp(at, " (", 2) ? sizes_length(at + 2) : 0, number = number_length(text, at);
		if (sizes) {
			at += 2 + sizes;
		} else if (number) {
			buf_adds(out, "…");
			at += number;
		} else {
			buf_addc(out, *at++);
		}
	}
}

double untold_ratio(double ratio)
{
	static const double steps[] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1};
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
		if (ratio <= steps[i])
			return steps[i];
	return NAN;
}
