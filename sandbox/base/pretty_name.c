/* Names of functions as their authors wrote them: see pretty_name.h. */
#include "pretty_name.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *size, int *status);

/* "void gemv<4, float>(int const*, int)" to "gemv<4, float>" */
static void strip_signature(char *name)
{
	size_t n = strlen(name);
	int depth = 0;
	if (n == 0 || name[n - 1] != ')')
		return;
	while (n-- > 0) {
		if (name[n] == ')')
			depth++;
		if (name[n] == '(' && --depth == 0)
			break;
	}
	if (n == 0 || n == SIZE_MAX)
		return;
	name[n] = '\0';
	/* a template's name comes behind its return type */
	int angle = 0;
	for (size_t i = 0; i < n; i++) {
		angle += name[i] == '<';
		angle -= name[i] == '>';
		if (name[i] == ' ' && angle == 0) {
			memmove(name, name + i + 1, n - i);
			return;
		}
	}
}

void pretty_name(const char *mangled, char *out, size_t size)
{
	int status = -1;
	char *text = __cxa_demangle(mangled, NULL, NULL, &status);
	if (status == 0 && text)
		strip_signature(text);
	snprintf(out, size, "%s", status == 0 && text ? text : mangled);
	free(text);
}
