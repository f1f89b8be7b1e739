/* Asking for a word: see prompt.h. */
#include "prompt.h"

#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* One by one, so that what follows the line stays for the next. */
static int read_line(char *out, size_t size, const char *what, struct err *e)
{
	size_t n = 0;
	char c;
	ssize_t got;
	while ((got = read(STDIN_FILENO, &c, 1)) == 1 && c != '\n') {
		if (n + 1 >= size)
			return err_input(e, "%s is too long: at most %zu bytes", what, size - 1);
		out[n++] = c;
	}
	out[n] = 0;
	if (got != 1 && !n)
		return err_input(e, "%s is missing: write it into standard input, one line", what);
	return 0;
}

int prompt_line(const char *what, bool hidden, char *out, size_t size, struct err *e)
{
	struct termios was, quiet;
	bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &was) == 0;
	if (terminal) {
		fprintf(stderr, "%s: ", what);
		fflush(stderr);
		quiet = was;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		if (hidden)
			tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
	}
	int rc = read_line(out, size, what, e);
	if (terminal && hidden) {
		tcsetattr(STDIN_FILENO, TCSANOW, &was);
		fputc('\n', stderr);
	}
	return rc;
}

int prompt_password(char *out, size_t size, struct err *e)
{
	char again[300];
	if (prompt_line("password", true, out, size, e) < 0)
		return -1;
	if (!isatty(STDIN_FILENO))
		return 0;
	if (prompt_line("the same again", true, again, sizeof again, e) < 0)
		return -1;
	bool same = !strcmp(out, again);
	explicit_bzero(again, sizeof again);
	return same ? 0 : err_input(e, "the two are not the same: nothing was changed");
}
