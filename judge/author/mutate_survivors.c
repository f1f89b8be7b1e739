/* Declared survivors: see mutate_survivors.h. */
#include "mutate_survivors.h"

#include "../../sandbox/base/cleanup.h"

#include <string.h>
#include <unistd.h>

static const char form[] = "write \"FILE: FUNCTION: LINE\", with {old -> new} in the line as the report prints it";

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* "FILE: FUNCTION: LINE" */
static int read_name(char *text, int line, struct arena *a, struct declared *out, struct err *e)
{
	char *function = strstr(text, ": "), *pattern = function ? strstr(function + 2, ": ") : NULL;
	if (!pattern || function == text || pattern == function + 2 || !pattern[2])
		return err_input(e, "survivors.txt: line %d: %s", line, form);
	*function = *pattern = 0;
	*out = (struct declared){.file = arena_strdup(a, text), .function = arena_strdup(a, function + 2),
				 .pattern = arena_strdup(a, pattern + 2), .line = line};
	return 0;
}

/* The reason of all mutants that stand right above it. */
static int read_reason(const char *text, int line, bool first, struct arena *a, struct survivors *s, struct err *e)
{
	if (!s->n)
		return err_input(e, "survivors.txt: line %d is indented, so it is a reason, but no mutant stands before it", line);
	const char *so_far = s->list[s->n - 1].reason, *whole = first ? text : arena_printf(a, "%s %s", so_far, text);
	for (unsigned i = s->n; i-- > 0 && s->list[i].reason == so_far;)
		s->list[i].reason = whole;
	return 0;
}

static int check_reasons(const struct survivors *s, struct err *e)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!s->list[i].reason)
			return err_input(e, "survivors.txt: line %d has no reason: say on an indented line below why this mutant is right",
					 s->list[i].line);
	return 0;
}

int survivors_parse(const char *text, struct arena *a, struct survivors *out, struct err *e)
{
	char *copy = arena_strdup(a, text), *save = copy;
	unsigned most = 1;
	int line = 0;
	for (const char *p = text; *p; p++)
		most += *p == '\n';
	*out = (struct survivors){.list = arena_new_array(a, struct declared, most)};
	for (char *p; (p = strsep(&save, "\n"));) {
		line++;
		size_t n = strlen(p);
		while (n && strchr(" \t\r", p[n - 1]))
			p[--n] = 0;
		size_t blanks = strspn(p, " \t");
		if (!p[blanks] || *p == '#')
			continue;
		bool first = out->n && !out->list[out->n - 1].reason;
		int rc = blanks ? read_reason(p + blanks, line, first, a, out, e) : read_name(p, line, a, &out->list[out->n], e);
		if (rc < 0)
			return -1;
		out->n += !blanks;
	}
	return check_reasons(out, e);
}

int survivors_read(const struct problem *p, struct arena *a, struct survivors *out, struct err *e)
{
	CLEANUP_BUF struct buf text = {0};
	const char *path = arena_printf(a, "%s/submissions/survivors.txt", p->folder);
	*out = (struct survivors){0};
	if (access(path, F_OK) < 0)
		return 0;
	if (buf_read_file(&text, path, 1 << 20, e) < 0)
		return -1;
	return survivors_parse(buf_str(&text), a, out, e);
}

bool survivors_match(const char *pattern, const char *line)
{
	const char *any = strstr(pattern, "...");
	size_t n = any ? (size_t)(any - pattern) : strlen(pattern);
	if (strncmp(pattern, line, n) != 0)
		return false;
	line += n;
	while (any) {
		pattern = any + 3;
		any = strstr(pattern, "...");
		if (!any) {		/* what is left must end the line */
			size_t tail = strlen(pattern), rest = strlen(line);
			return rest >= tail && !strcmp(line + rest - tail, pattern);
		}
		n = (size_t)(any - pattern);
		const char *at = n ? memmem(line, strlen(line), pattern, n) : line;
		if (!at)
			return false;
		line = at + n;
	}
	return !*line;
}

static bool names(const struct declared *d, const struct mutation *m)
{
	return !strcmp(d->file, last_part(m->file)) && !strcmp(d->function, m->function) &&
	       (survivors_match(d->pattern, m->shown) || (m->numbered && survivors_match(d->pattern, m->numbered)));
}

struct declared *survivors_find(const struct survivors *s, const struct mutation *m)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct declared *d = &s->list[i];
		if (names(d, m))
			return d;
	}
	return NULL;
}
