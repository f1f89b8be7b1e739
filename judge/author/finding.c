/* What is wrong with a package: see finding.h. */
#include "finding.h"

#include "../../sandbox/base/tame.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct finding *new_one(struct findings *f)
{
	if (f->n == FINDINGS_MAX) {
		f->more++;
		return NULL;
	}
	if (f->n == f->room) {
		f->room = f->room ? 2 * f->room : 8;
		f->at = reallocarray(f->at, f->room, sizeof *f->at);
		if (!f->at)
			BUG("out of memory");
	}
	struct finding *x = &f->at[f->n++];
	*x = (struct finding){0};
	return x;
}

static void add(struct findings *f, bool grave, const char *file, int line, const char *field, const char *fmt, va_list ap)
	__attribute__((format(printf, 6, 0)));

static void add(struct findings *f, bool grave, const char *file, int line, const char *field, const char *fmt, va_list ap)
{
	struct finding *x = new_one(f);
	if (!x)
		return;
	snprintf(x->file, sizeof x->file, "%s", file ? file : "");
	snprintf(x->field, sizeof x->field, "%s", field ? field : "");
	vsnprintf(x->text, sizeof x->text, fmt, ap);
	x->line = line;
	x->grave = grave;
	tame(x->file);		/* a package's words */
	tame(x->field);
	tame(x->text);
}

void finding_add(struct findings *f, const char *file, int line, const char *field, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add(f, false, file, line, field, fmt, ap);
	va_end(ap);
}

void finding_grave(struct findings *f, const char *file, int line, const char *field, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add(f, true, file, line, field, fmt, ap);
	va_end(ap);
}

/* "line 3, column 7" of a text that does not parse is a place too. */
static int line_of(const char **text)
{
	int line = 0, n = 0;
	if (sscanf(*text, "line %d%n", &line, &n) != 1)
		return 0;
	*text += n;
	if (!strncmp(*text, ": ", 2))
		*text += 2;
	else if (!strncmp(*text, ", ", 2))
		*text += 2;
	return line;
}

void finding_of_err(struct findings *f, const struct err *e)
{
	const char *text = e->text, *colon = strstr(text, ": "), *field_end;
	char file[200] = "", field[200] = "";
	if (colon && memchr(text, '.', (size_t)(colon - text)) && !memchr(text, ' ', (size_t)(colon - text))) {
		const char *slash = memrchr(text, '/', (size_t)(colon - text)), *from = slash ? slash + 1 : text;
		snprintf(file, sizeof file, "%.*s", (int)(colon - from), from);
		text = colon + 2;
		field_end = strstr(text, ": ");
		if (field_end && !memchr(text, ' ', (size_t)(field_end - text))) {
			snprintf(field, sizeof field, "%.*s", (int)(field_end - text), text);
			text = field_end + 2;
		}
	}
	int line = *file ? line_of(&text) : 0;
	finding_grave(f, file, line, field, "%s", text);
}

bool findings_grave(const struct findings *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->at[i].grave)
			return true;
	return false;
}

void finding_place(const struct finding *f, char *out, size_t size)
{
	char line[16] = "";
	if (f->line)
		snprintf(line, sizeof line, ":%d", f->line);
	snprintf(out, size, "%s%s%s%s", f->file, line, *f->file && *f->field ? ": " : "", f->field);
}

void findings_free(struct findings *f)
{
	free(f->at);
	*f = (struct findings){0};
}
