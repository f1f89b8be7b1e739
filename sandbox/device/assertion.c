/* A failed assertion in the driver's words: see assertion.h. */
#include "assertion.h"

#include <stdio.h>
#include <string.h>

/* In a line without its end; what a kernel prints is no assertion unless it has all of the shape. */
static bool read_line(const char *line, size_t n, struct fault *f)
{
	static const char before[] = ": block: [", after[] = "] Assertion `";
	char text[600], *place, *said, *end;
	uint32_t b[3], t[3];
	unsigned number;
	if (n >= sizeof text)
		n = sizeof text - 1;		/* a long condition is cut */
	memcpy(text, line, n);
	text[n] = 0;
	if (!(place = strstr(text, before)) || !(said = strstr(place, after)) ||
	    sscanf(place, ": block: [%u,%u,%u], thread: [%u,%u,%u]", &b[0], &b[1], &b[2], &t[0], &t[1], &t[2]) != 6)
		return false;
	*place = 0;
	said += sizeof after - 1;
	if ((end = strstr(said, "` failed")) || (end = strstr(said, "' failed")))
		*end = 0;
	/* path:line: function */
	char *colon = strstr(text, ": ");
	if (!colon)
		return false;
	*colon = 0;
	char *of_line = strrchr(text, ':'), *slash = strrchr(text, '/');
	if (!of_line || sscanf(of_line, ":%u", &number) != 1)
		return false;
	f->line = number;
	f->has_thread = 1;
	memcpy(f->block, b, sizeof b);
	memcpy(f->thread, t, sizeof t);
	snprintf(f->detail, sizeof f->detail, "%.90s: %.140s: assertion `%.140s' failed", slash ? slash + 1 : text, colon + 2, said);
	return true;
}

bool assertion_read(const char *text, struct fault *f)
{
	for (size_t n; *text; text += n + (text[n] == '\n')) {
		n = strcspn(text, "\n");
		if (read_line(text, n, f))
			return true;
	}
	return false;
}
