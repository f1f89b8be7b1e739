/* "Did you mean ...?": Damerau-Levenshtein distance over short names. */
#include "nearest.h"

#include <ctype.h>
#include <string.h>

enum { LONGEST = 63 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;
	return m < c ? m : c;
}

/* Insert, delete, replace and swap of neighbours cost one each; case does not count. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[3][LONGEST + 1];
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *now = row[i % 3], *last = row[(i - 1) % 3], *before = row[(i + 1) % 3];
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
			now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + (x != y));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
	}
	return row[n % 3][m];
}

const char *nearest_name(const char *wrong, const char *const *names, size_t count)
{
	const char *best = NULL;
	size_t n = strlen(wrong);
	if (n > LONGEST)
		return NULL;
	unsigned least = (unsigned)(n / 3 + 1) + 1;
	for (size_t i = 0; count ? i < count : names[i] != NULL; i++) {
		size_t m = strlen(names[i]);
		if (m > LONGEST)
			continue;
		unsigned d = distance(wrong, n, names[i], m);
		/* "gemv" for "int4-gemv": a part of a name is worth as much as two slips */
		if (n >= 4 && d > 2 && strstr(names[i], wrong))
			d = 2;
		if (d < least && d < n && d < m) {
			least = d;
			best = names[i];
		}
	}
	return best;
}
