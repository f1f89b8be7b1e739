/* The hints of a statement: see hints.h. */
#include "hints.h"

#include <string.h>

/* Where the next line that begins with `mark` begins; the end of the text if there is none. */
static const char *next_heading(const char *at, const char *mark)
{
	size_t n = strlen(mark);
	while (*at && strncmp(at, mark, n) != 0) {
		at += strcspn(at, "\n");
		at += *at == '\n';
	}
	return at;
}

static const char *section(const char *statement)
{
	const char *at = next_heading(statement, "## Hints\n");
	return *at ? at : next_heading(statement, "## 提示\n");
}

size_t hints_begin(const char *statement)
{
	return (size_t)(section(statement) - statement);
}

static const char *next_hint(const char *at)
{
	return next_heading(at, "### ");
}

unsigned hints_count(const char *statement)
{
	unsigned n = 0;
	for (const char *at = next_hint(section(statement)); *at; at = next_hint(at + 1))
		n++;
	return n;
}

int hints_find(const char *statement, unsigned n, const char **from, size_t *size)
{
	const char *at = next_hint(section(statement));
	for (; *at && n > 1; n--)
		at = next_hint(at + 1);
	if (!*at || !n)
		return -1;
	*from = at;
	*size = (size_t)(next_hint(at + 1) - at);
	return 0;
}
