/* What the command line says when it can't do what it was asked to, or should not: see command.h. */
#include "../sandbox/base/tame.h"
#include "../sandbox/jail.h"
#include "command.h"

#include <string.h>

/* Lines apart, what is told may be a name that somebody else chose. */
int complain(const struct err *e)
{
	char text[sizeof e->text];
	snprintf(text, sizeof text, "%s", e->text);
	for (char *line = text, *end; line; line = end ? end + 1 : NULL) {
		if ((end = strchr(line, '\n')))
			*end = 0;
		tame(line);
		if (end)
			*end = '\n';
	}
	fprintf(stderr, "judge: %s\n", text);
	return e->kind == ERR_INPUT ? EXIT_USAGE : EXIT_JUDGE;
}

int complain_of_run(const struct options *o, const struct err *e)
{
	struct jail_host h;
	if (e->kind != ERR_SYSTEM || o->no_sandbox)
		return complain(e);
	jail_host(&h);
	if (h.usable)
		return complain(e);
	fprintf(stderr, "judge: other people's code can't be run on this host: %s%s%s\n"
		"judge: judge doctor says more; --no-sandbox runs one's own code without a jail\n", h.why, *h.mend ? "; " : "", h.mend);
	return EXIT_JUDGE;
}

void warn_no_sandbox(const struct options *o)
{
	if (o->no_sandbox)
		fprintf(stderr, "judge: --no-sandbox: this code can read and change whatever you can; for your own code only\n");
}
