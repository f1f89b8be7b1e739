/* Compiler output as data: see compile.h.
 *
 * Each tool has its own shape of message:
 *
 *	cudafe++, cicc	f.cu(12): error #20-D: identifier "x" is undefined	then the line, a caret, and how it came to it
 *	gcc		f.cu:12:3: error: ...					then the line and a caret
 *	as		/tmp/cc1234.s:25: Error: ...
 *	ptxas		ptxas f.ptx, line 12; error   : ...	or	ptxas error   : ...
 *	ld		f.o:f.cpp:(.text+0x16f): undefined reference to `x'
 *
 * What has none of these shapes is of no use to a person (echoed lines, counts, advice about options) and is left out:
 * the log has it.  The front end says most things twice, once for the host and once for the device: repeats are dropped.
 */
#include "diagnostics.h"

#include "compile_plan.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A flood of warnings must not hide an error: each has its own share of the list. */
enum { MAX_ERRORS = 200, MAX_WARNINGS = 200, MAX_NOTES = 8, MAX_TEXT = 2000,
       MAX_DIAGNOSTICS = (MAX_ERRORS + MAX_WARNINGS) * (1 + MAX_NOTES) };

char *__cxa_demangle(const char *mangled, char *out, size_t *size, int *status);	/* libstdc++ */

struct parser {
	struct arena *a;
	const char *name;		/* of the source, for people */
	struct diagnostic *list;
	size_t n;
	bool open;			/* the last diagnostic may go on in the next line */
	bool during;			/* below "detected during:" */
	bool full;			/* the last diagnostic was left out: so are its notes */
	unsigned errors, warnings, notes;	/* notes: of the last diagnostic */
};

/* ---- text ---- */

/* Bytes of a well-formed UTF-8 character of two bytes or more; 0: it is not one. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
	size_t n = s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : 0;
	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
	bool outside = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
	bool c1 = s[0] == 0xc2 && s[1] < 0xa0;			/* control characters, some of them terminal escapes */
	bool bidi = s[0] == 0xe2 && ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) || (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
	return overlong || outside || c1 || bidi ? 0 : n;
}

/* Bytes of a terminal escape sequence that begins here. */
static size_t escape_length(const char *s, size_t left)
{
	size_t n = 1;
	if (left > 1 && s[1] == '[') {
		for (n = 2; n < left && (unsigned char)s[n] >= 0x20 && (unsigned char)s[n] < 0x40;)
			n++;
		return n < left ? n + 1 : n;
	}
	if (left > 1 && strchr("]P^_", s[1])) {
		for (n = 2; n < left && s[n] != '\a' && s[n] != '\n' && s[n] != 0x1b;)
			n++;
		return n < left && s[n] == '\a' ? n + 1 : n;
	}
	return left > 1 && s[1] >= ' ' ? 2 : 1;
}

char *diagnostics_clean(const char *text, size_t size, size_t max, struct arena *a)
{
	static const char cut[] = "\n(the rest is cut)\n";
	char *out = arena_alloc(a, (size < max ? size * 3 : max) + sizeof cut + 4);	/* U+FFFD has three bytes */
	size_t n = 0, i = 0;
	while (i < size && n < max) {
		unsigned char c = (unsigned char)text[i];
		size_t length = c >= 0x80 ? utf8_length((const unsigned char *)text + i, size - i) : 0;
		if (c == 0x1b) {
			i += escape_length(text + i, size - i);
		} else if (c == 0xc2 && length == 2 && (unsigned char)text[i + 1] < 0xa0) {
			i += 2;			/* U+0080 to U+009F: control characters too */
		} else if (c >= 0x80) {
			memcpy(out + n, length ? text + i : "\xef\xbf\xbd", length ? length : 3);
			n += length ? length : 3;
			i += length ? length : 1;
		} else {
			if (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f))
				out[n++] = (char)c;
			i++;
		}
	}
	strcpy(out + n, i < size ? cut : "");
	return out;
}

static bool starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* A copy in which every `from` is `to`. */
static char *replace(struct arena *a, const char *s, const char *from, const char *to)
{
	struct buf b = {0};
	for (const char *hit; (hit = strstr(s, from)); s = hit + strlen(from)) {
		buf_add(&b, s, (size_t)(hit - s));
		buf_adds(&b, to);
	}
	buf_adds(&b, s);
	char *out = arena_strdup(a, buf_str(&b));
	buf_free(&b);
	return out;
}

/* A file as a person knows it: the submission's name, or a header as one would include it. */
static const char *shown_file(const struct parser *p, const char *file, size_t n)
{
	char *path = arena_strndup(p->a, file, n);
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	if (!strcmp(base, COMPILE_SOURCE) || starts(base, "solution.") || (starts(path, "/tmp/") && starts(base, "cc")))
		return !strcmp(base, "solution.ptx") ? "solution.ptx" : p->name;
	if (!strcmp(base, COMPILE_PRELUDE))
		return "the problem's prototype";
	const char *include = NULL;
	for (const char *hit = path; (hit = strstr(hit, "/include/")); hit += 9)
		include = hit + 9;
	if (!include)
		return path;
	if (starts(include, "c++/") && strchr(include + 4, '/'))
		include = strchr(include + 4, '/') + 1;
	return include;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Mangled names become what the source calls them. */
static char *demangle_names(struct arena *a, const char *text)
{
	struct buf b = {0};
	while (*text) {
		size_t n = 0;
		while (is_word(text[n]))
			n++;
		char *name = n > 3 && n < 1000 && starts(text, "_Z") ? arena_strndup(a, text, n) : NULL;
		int status;
		char *plain = name ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
		buf_add(&b, plain ? plain : text, plain ? strlen(plain) : n ? n : 1);
		free(plain);
		text += n ? n : 1;
	}
	char *out = arena_strdup(a, buf_str(&b));
	buf_free(&b);
	return out;
}

/* The text of a message without the names of the jail. */
static const char *shown_text(const struct parser *p, const char *text)
{
	size_t n = strlen(text);
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	char *s = arena_strndup(p->a, text, n < MAX_TEXT ? n : MAX_TEXT);
	s = diagnostics_clean(s, strlen(s), MAX_TEXT, p->a);		/* the cut may have split a character */
	if (strstr(s, "_Z"))
		s = demangle_names(p->a, s);
	s = replace(p->a, s, "/tmp/" COMPILE_SOURCE, p->name);
	s = replace(p->a, s, COMPILE_SOURCE, p->name);
	return replace(p->a, s, COMPILE_PRELUDE, "the problem's prototype");
}

/* ---- the list ---- */

static void add(struct parser *p, enum diagnostic_severity severity, const char *file, int line, int column, const char *text)
{
	p->during = p->open = false;
	if (severity == DIAGNOSTIC_NOTE) {
		if (p->full || !p->n || ++p->notes > MAX_NOTES)
			return;
	} else {
		bool error = severity == DIAGNOSTIC_ERROR;
		p->notes = 0;
		p->full = error ? ++p->errors > MAX_ERRORS : ++p->warnings > MAX_WARNINGS;
		if (p->full)
			return;
	}
	p->list[p->n++] = (struct diagnostic){.file = file, .line = line, .column = column, .severity = severity,
					      .text = shown_text(p, text)};
	p->open = true;
}

static bool same(const struct diagnostic *x, const struct diagnostic *y)
{
	return x->line == y->line && x->severity == y->severity && !strcmp(x->text, y->text) && !strcmp(x->file, y->file);
}

/* Leave out what was said before, with its notes. */
static void drop_repeats(struct parser *p)
{
	size_t kept = 0;
	bool repeat = false;
	for (size_t i = 0; i < p->n; i++) {
		const struct diagnostic *d = &p->list[i];
		if (d->severity != DIAGNOSTIC_NOTE) {
			repeat = false;
			for (size_t k = 0; k < kept && !repeat; k++)
				repeat = same(&p->list[k], d);
		}
		if (!repeat)
			p->list[kept++] = *d;
	}
	p->n = kept;
}

static struct diagnostic *last(struct parser *p)
{
	return p->open && p->n ? &p->list[p->n - 1] : NULL;
}

/* "error", "warning #20-D", "fatal error", "Error   " and so on, up to a colon.  Where the text begins; NULL: not that. */
static const char *read_severity(const char *s, enum diagnostic_severity *severity)
{
	static const struct {
		const char *word;
		enum diagnostic_severity severity;
	} words[] = {
		{"error", DIAGNOSTIC_ERROR}, {"fatal error", DIAGNOSTIC_ERROR}, {"catastrophic error", DIAGNOSTIC_ERROR},
		{"internal error", DIAGNOSTIC_ERROR}, {"internal compiler error", DIAGNOSTIC_ERROR},
		{"fatal", DIAGNOSTIC_ERROR}, {"warning", DIAGNOSTIC_WARNING}, {"note", DIAGNOSTIC_NOTE},
		{"remark", DIAGNOSTIC_NOTE}, {"info", DIAGNOSTIC_NOTE},
	};
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i].word);
		if (strncasecmp(s, words[i].word, n) != 0)
			continue;
		const char *t = s + n;
		t += strspn(t, " ");
		if (*t == '#')
			t += strcspn(t, ": ");
		t += strspn(t, " ");
		if (*t != ':')
			continue;
		*severity = words[i].severity;
		return t + 1 + strspn(t + 1, " ");
	}
	return NULL;
}

/* ---- the shapes ---- */

/* f.cu(12): error: text */
static bool read_edg(struct parser *p, const char *line)
{
	enum diagnostic_severity severity;
	for (const char *open = strchr(line, '('); open; open = strchr(open + 1, '(')) {
		char *end;
		long number = strtol(open + 1, &end, 10);
		if (end == open + 1 || !starts(end, "): "))
			continue;
		const char *text = read_severity(end + 3, &severity);
		if (!text)
			return false;
		add(p, severity, shown_file(p, line, (size_t)(open - line)), (int)number, 0, text);
		return true;
	}
	return false;
}

/* f.cu:12:3: error: text, f.cu:12: Error: text, cc1plus: fatal error: text */
static bool read_gcc(struct parser *p, const char *line)
{
	enum diagnostic_severity severity;
	const char *colon = strchr(line, ':');
	if (!colon || colon == line || isspace((unsigned char)*line))
		return false;
	char *end = (char *)colon + 1;
	long number = strtol(end, &end, 10), column = 0;
	if (*end == ':' && isdigit((unsigned char)end[1]))
		column = strtol(end + 1, &end, 10);
	if (*end == ':')
		end++;
	const char *text = read_severity(end + strspn(end, " "), &severity);
	if (!text)
		return false;
	bool assembler = number && !column && starts(line, "/tmp/");
	const char *file = number && !assembler ? shown_file(p, line, (size_t)(colon - line)) : p->name;
	if (assembler)
		text = arena_printf(p->a, "host assembler: %s", text);
	add(p, severity, file, assembler ? 0 : (int)number, (int)column, text);
	p->open = false;
	return true;
}

/* ptxas f.ptx, line 12; error   : text, and without a line */
static bool read_ptxas(struct parser *p, const char *line)
{
	static const char comma[] = ", line ", unresolved[] = "Unresolved extern function ";
	enum diagnostic_severity severity;
	if (!starts(line, "ptxas "))
		return false;
	const char *rest = line + 6, *at = strstr(rest, comma);
	int number = at ? atoi(at + sizeof comma - 1) : 0;
	const char *semicolon = at ? strchr(at, ';') : NULL;
	const char *text = read_severity(semicolon ? semicolon + 1 + strspn(semicolon + 1, " ") : rest, &severity);
	if (!text || severity == DIAGNOSTIC_NOTE || starts(text, "Ptx assembly aborted"))
		return true;
	if (starts(text, unresolved))
		text = arena_printf(p->a, "device function %s is declared but not defined", text + sizeof unresolved - 1);
	else
		text = arena_printf(p->a, "ptxas: %s", text);
	add(p, severity, number ? "solution.ptx" : p->name, number, 0, text);
	p->open = false;
	return true;
}

/* The linker: what it misses or has twice, by name; its other complaints as they are. */
static bool read_ld(struct parser *p, const char *line)
{
	static const struct {
		const char *words, *becomes;
	} kinds[] = {{"undefined reference to `", DIAGNOSTIC_UNDEFINED}, {"undefined symbol `", DIAGNOSTIC_UNDEFINED},
		     {"multiple definition of `", DIAGNOSTIC_MULTIPLE}};
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const char *name = strstr(line, kinds[i].words);
		const char *end = name ? strchr(name += strlen(kinds[i].words), '\'') : NULL;
		if (!end)
			continue;
		add(p, DIAGNOSTIC_ERROR, p->name, 0, 0, arena_printf(p->a, "%s%.*s", kinds[i].becomes, (int)(end - name), name));
		p->open = false;
		return true;
	}
	if (strstr(line, "relocation truncated to fit")) {
		add(p, DIAGNOSTIC_ERROR, p->name, 0, 0, "global arrays of more than 2 GiB in all: allocate them at run time instead");
		p->open = false;
		return true;
	}
	return strstr(line, "/ld: ") || starts(line, "collect2: ");
}

/* nvcc, cicc and gcc about a tool that failed: "nvcc error   : 'ptxas' died due to signal 11" */
static bool read_driver(struct parser *p, const char *line)
{
	enum diagnostic_severity severity;
	const char *text = NULL;
	if (starts(line, "nvcc "))
		text = read_severity(line + 5, &severity);
	else if (starts(line, "LLVM ERROR: "))
		text = line + 12, severity = DIAGNOSTIC_ERROR;
	else if (!starts(line, "Error limit"))
		text = read_severity(line, &severity);
	if (!text || severity == DIAGNOSTIC_NOTE)
		return false;
	add(p, severity, p->name, 0, 0, text);
	p->open = false;
	return true;
}

/* ---- what follows a message of the front end ---- */

/* The caret's place in the line.  The front end shows __global__ and its like written out, 13 characters longer. */
static int caret_column(const char *echo, const char *caret)
{
	int column = (int)(strchr(caret, '^') - caret) - 2;
	for (const char *hit = echo; (hit = strstr(hit, "__attribute__((")) && hit - echo < column + 2; hit++)
		column -= 13;
	return column < 0 ? 0 : column + 1;
}

/* instantiation of "T f(T) [with T=float]" at line 2 of "/usr/include/x.h" */
static void read_instantiation(struct parser *p, const char *s)
{
	static const char at[] = "\" at line ", of[] = " of ";
	const char *place = NULL, *file = p->name;
	for (const char *hit = s; (hit = strstr(hit, at)); hit++)
		place = hit;
	if (!place)
		return;
	char *end;
	long line = strtol(place + sizeof at - 1, &end, 10);
	if (starts(end, of)) {
		const char *from = end + sizeof of - 1;
		from += *from == '"';
		file = shown_file(p, from, strcspn(from, "\""));
	}
	bool during = p->during, open = p->open;
	add(p, DIAGNOSTIC_NOTE, file, (int)line, 0, arena_printf(p->a, "in %.*s\"", (int)(place - s), s));
	p->during = during;
	p->open = open;
}

static void read_continuation(struct parser *p, const char *line, const char *before)
{
	static const char detected[] = "detected during";
	size_t indent = strspn(line, " ");
	const char *text = line + indent;
	struct diagnostic *d = last(p);
	if (!d || !*text)
		return;
	if (text[0] == '^' && !text[1 + strspn(text + 1, " ~")]) {
		if (d->severity != DIAGNOSTIC_NOTE || !d->column)
			d->column = before ? caret_column(before, line) : 0;
	} else if (starts(text, detected)) {
		const char *rest = text + sizeof detected - 1;
		p->during = true;
		if (*rest == ' ')
			read_instantiation(p, rest + 1);
	} else if (p->during && indent >= 10) {
		read_instantiation(p, text);
	} else if (indent >= 10 && d->severity != DIAGNOSTIC_NOTE && strlen(d->text) < MAX_TEXT) {
		d->text = arena_printf(p->a, "%s; %s", d->text, shown_text(p, text));
	}
}

static void read_line(struct parser *p, const char *line, const char *before)
{
	if (isspace((unsigned char)*line)) {
		read_continuation(p, line, before);
		return;
	}
	if (!*line || starts(line, "Remark: ") || read_ptxas(p, line) || read_edg(p, line) || read_ld(p, line) ||
	    read_gcc(p, line) || read_driver(p, line))
		return;
}

size_t diagnostics_parse(const char *log, const char *name, struct arena *a, struct diagnostic **out)
{
	struct parser p = {.a = a, .name = name, .list = arena_new_array(a, struct diagnostic, MAX_DIAGNOSTICS)};
	char *copy = arena_strdup(a, log), *before = NULL;
	while (copy && *copy) {
		char *line = copy, *end = strchr(line, '\n');
		copy = end ? end + 1 : NULL;
		if (end)
			*end = 0;
		read_line(&p, line, before);
		before = line;
	}
	drop_repeats(&p);
	*out = p.list;
	return p.n;
}

/* ---- PTX lines ---- */

static const char *next_line(const char *s)
{
	const char *end = strchr(s, '\n');
	return end ? end + 1 : NULL;
}

/* What stands behind a directive and blanks at a line's begin; NULL: another line.  (No sscanf: it looks for the end of the whole
 * text first, at every line.) */
static const char *after_directive(const char *line, const char *directive)
{
	line += strspn(line, " \t");
	size_t n = strlen(directive);
	return !strncmp(line, directive, n) && (line[n] == ' ' || line[n] == '\t') ? line + n : NULL;
}

/* Is file `number` of the PTX's .file table the submission? */
static bool is_source(const char *ptx, long number)
{
	for (const char *l = ptx; l; l = next_line(l)) {
		const char *at = after_directive(l, ".file");
		char *end;
		if (!at || strtol(at, &end, 10) != number || end == at)
			continue;
		const char *path = end + strspn(end, " \t"), *hit = NULL;
		if (*path == '"')
			hit = memmem(path, strcspn(path + 1, "\"\n") + 1, COMPILE_SOURCE, sizeof COMPILE_SOURCE - 1);
		return hit != NULL;
	}
	return false;
}

/* The source line of a PTX line: that of the nearest .loc above it; 0: none. */
static int source_line(const char *ptx, int line)
{
	long file = 0, found = 0;
	int at = 1;
	for (const char *l = ptx; l && at <= line; l = next_line(l), at++) {
		const char *loc = after_directive(l, ".loc");
		char *end, *last;
		if (loc) {
			long f = strtol(loc, &end, 10), n = strtol(end, &last, 10);
			if (end != loc && last != end) {
				file = f;
				found = n;
			}
		} else if (starts(l, ".entry") || starts(l, ".visible") || starts(l, ".func")) {
			found = 0;
		}
	}
	return found > 0 && found <= INT_MAX && is_source(ptx, file) ? (int)found : 0;
}

void diagnostics_map_ptx(struct diagnostic *d, size_t n, const char *name, const char *ptx)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(d[i].file, "solution.ptx")) {
			d[i].file = name;
			d[i].line = ptx ? source_line(ptx, d[i].line) : 0;
		}
}

/* ---- resources ---- */

/* The number before `word` in a line of ptxas -v. */
static int number_before(const char *line, const char *word)
{
	const char *hit = strstr(line, word);
	while (hit && hit > line && hit[-1] == ' ')
		hit--;
	while (hit && hit > line && isdigit((unsigned char)hit[-1]))
		hit--;
	return hit ? atoi(hit) : 0;
}

static size_t line_length(const char *line)
{
	return strcspn(line, "\n");
}

size_t resources_parse(const char *log, struct arena *a, struct kernel_resources **out)
{
	static const char entry[] = "Compiling entry function '", properties[] = "Function properties for ", used[] = "Used ";
	size_t n = 0, room = 0;
	for (const char *l = log; (l = strstr(l, entry)); l++)
		room++;
	struct kernel_resources *list = arena_new_array(a, struct kernel_resources, room), *k = NULL;
	bool own = false;			/* the properties below are the entry's, not those of a function it calls */
	for (const char *l = log; l; l = next_line(l)) {
		const char *line = arena_strndup(a, l, line_length(l)), *hit;
		if ((hit = strstr(line, entry))) {
			hit += sizeof entry - 1;
			k = &list[n++];
			k->name = arena_strndup(a, hit, strcspn(hit, "'"));
		} else if ((hit = strstr(line, properties))) {
			own = k && !strcmp(hit + sizeof properties - 1, k->name);
		} else if (k && own && strstr(line, "bytes stack frame")) {
			k->stack = number_before(line, "bytes stack frame");
			k->spill_store = number_before(line, "bytes spill stores");
			k->spill_load = number_before(line, "bytes spill loads");
		} else if (k && strstr(line, used) && strstr(line, "registers")) {
			k->registers = number_before(line, "registers");
			k->barriers = number_before(line, "barriers");
			k->shared = number_before(line, "bytes smem");
		}
	}
	*out = list;
	return n;
}
