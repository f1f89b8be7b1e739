/* Errors as values: see err.h. */
#include "err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int set(struct err *e, enum err_kind kind, const char *fmt, va_list ap)
{
	if (!e)
		return -1;
	e->kind = kind;
	vsnprintf(e->text, sizeof e->text, fmt, ap);
	return -1;
}

int err_input(struct err *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	set(e, ERR_INPUT, fmt, ap);
	va_end(ap);
	return -1;
}

int err_system(struct err *e, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	set(e, ERR_SYSTEM, fmt, ap);
	va_end(ap);
	return -1;
}

int err_errno(struct err *e, const char *fmt, ...)
{
	int number = errno;
	va_list ap;
	va_start(ap, fmt);
	set(e, ERR_SYSTEM, fmt, ap);
	va_end(ap);
	if (e) {
		size_t n = strlen(e->text);
		snprintf(e->text + n, sizeof e->text - n, ": %s", strerror(number));
	}
	return -1;
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	if (!e)
		return -1;
	char context[sizeof e->text];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(context, sizeof context - 3, fmt, ap);
	va_end(ap);
	strcat(context, ": ");
	size_t n = strlen(context), room = sizeof e->text - n - 1;
	size_t old = strnlen(e->text, room);
	memmove(e->text + n, e->text, old);
	e->text[n + old] = 0;
	memcpy(e->text, context, n);
	if (e->kind == ERR_NONE)
		e->kind = ERR_SYSTEM;
	return -1;
}

_Noreturn void bug_at(const char *file, int line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fprintf(stderr, "judge: bug at %s:%d: ", file, line);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	abort();
}
