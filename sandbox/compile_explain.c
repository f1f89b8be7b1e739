/* Link errors and clashes with the judge's prototype, in words that say what to do and where.
 *
 * The linker knows names, not lines; the source's text tells the line.  The search reads the source as a C++ lexer would,
 * as far as comments and literals go, so a name in a comment is not taken for its use.
 */
#include "base/buf.h"
#include "diagnostics.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct place {
	int line, column;
};

/* The source with comments and literals blanked, so that offsets and lines stay. */
static char *code_only(const struct compile_request *rq, struct arena *a)
{
	char *s = arena_strndup(a, rq->source, rq->size);
	for (char *p = s; *p;) {
		char *from = p, quote = *p;
		if (p[0] == '/' && p[1] == '/') {
			p += strcspn(p, "\n");
		} else if (p[0] == '/' && p[1] == '*') {
			char *end = strstr(p + 2, "*/");
			p = end ? end + 2 : p + strlen(p);
		} else if (quote == '"' || quote == '\'') {
			for (p++; *p && *p != quote && *p != '\n'; p++)
				if (*p == '\\' && p[1] && p[1] != '\n')
					p++;
			p += *p == quote;
		} else {
			p++;
			continue;
		}
		for (; from < p; from++)
			if (*from != '\n')
				*from = ' ';
	}
	return s;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct place place_of(const char *code, const char *at)
{
	struct place p = {1, 1};
	for (const char *c = code; c < at; c++) {
		p.column++;
		if (*c == '\n')
			p = (struct place){p.line + 1, 1};
	}
	return p;
}

/* The next use of the identifier. */
static const char *find_name(const char *code, const char *from, const char *name)
{
	size_t n = strlen(name);
	for (const char *hit = from; n && (hit = strstr(hit, name)); hit++)
		if (!is_word(hit[n]) && (hit == code || !is_word(hit[-1])))
			return hit;
	return NULL;
}

/* Is this use a declaration, that is, does a type stand before it and a parenthesis after it? */
static bool is_declaration(const char *code, const char *at, size_t n)
{
	const char *after = at + n, *before = at;
	after += strspn(after, " \t\n");
	while (before > code && isspace((unsigned char)before[-1]))
		before--;
	if (*after != '(' || before == code || !(is_word(before[-1]) || strchr("*&>", before[-1])))
		return false;
	const char *word = before;
	while (word > code && is_word(word[-1]))
		word--;
	return strncmp(word, "return", 6) != 0 || before - word != 6;
}

static const char *find_declaration(const char *code, const char *name)
{
	for (const char *at = code; (at = find_name(code, at, name)); at++)
		if (is_declaration(code, at, strlen(name)))
			return at;
	return NULL;
}

/* Where a name is used, rather than declared, if it is. */
static const char *find_use(const char *code, const char *name)
{
	for (const char *at = code; (at = find_name(code, at, name)); at++)
		if (!is_declaration(code, at, strlen(name)))
			return at;
	return find_name(code, code, name);
}

/* The prototype of the entry as the problem has it, in one line; NULL: the prelude has none. */
static const char *prototype(const struct compile_request *rq, struct arena *a)
{
	if (!rq->prelude || !rq->entry)
		return NULL;
	const char *at = find_name(rq->prelude, rq->prelude, rq->entry), *end = at ? strchr(at, ';') : NULL;
	if (!end)
		return NULL;
	while (at > rq->prelude && !strchr(";}{\n\"", at[-1]))
		at--;
	at += strspn(at, " \t");
	char *text = arena_strndup(a, at, (size_t)(end - at)), *to = text;
	for (const char *c = text; *c; c++)
		if (!isspace((unsigned char)*c) || (to > text && to[-1] != ' '))
			*to++ = isspace((unsigned char)*c) ? ' ' : *c;
	*to = 0;
	return text;
}

static const char *expected(const struct compile_request *rq, struct arena *a)
{
	const char *p = prototype(rq, a);
	return p ? arena_printf(a, "expected `%s`", p) : "compare it with the statement";
}

/* ---- which argument differs ---- */

struct parameter {
	const char *text;		/* as written, from its first word to its last */
	int length;
	char type[100];			/* without the name, blanks and `__restrict__`; aliases as one */
};

/* The parameter at *at; moves behind its comma.  False at the end of the list. */
static bool next_parameter(const char **at, struct parameter *p)
{
	const char *s = *at + strspn(*at, " \t\n"), *end = s;
	int depth = 0;
	while (*end && (depth || (*end != ',' && *end != ')'))) {
		depth += *end == '(' || *end == '[' || *end == '<';
		depth -= *end == ')' || *end == ']' || *end == '>';
		end++;
	}
	*at = *end == ',' ? end + 1 : end;
	while (end > s && isspace((unsigned char)end[-1]))
		end--;
	p->text = s;
	p->length = (int)(end - s);
	return end > s;
}

static void add_word(char *type, size_t size, const char *word, size_t n)
{
	static const char *const left_out[] = {"__restrict__", "restrict", "int", "signed"};
	static const char *const same[][2] = {{"uint32_t", "unsigned"}, {"uint", "unsigned"}, {"int32_t", "int"}, {"int64_t", "long"},
					      {"half", "__half"}, {"int8_t", "char"}, {"size_t", "unsigned long"}};
	char own[64];
	snprintf(own, sizeof own, "%.*s", (int)n, word);
	for (unsigned i = 0; i < sizeof same / sizeof *same; i++)
		if (!strcmp(own, same[i][0]))
			snprintf(own, sizeof own, "%s", same[i][1]);
	for (unsigned i = 0; i < sizeof left_out / sizeof *left_out; i++)
		if (!strcmp(own, left_out[i]))
			return;
	size_t used = strlen(type);
	snprintf(type + used, size - used, "%s ", own);
}

static bool names_type(const char *word)
{
	static const char *const types[] = {"float", "double", "int", "long", "short", "char", "unsigned", "bool", "half", "__half", "__nv_bfloat16",
					    "uint32_t", "int32_t", "int64_t", "uint8_t", "int8_t", "uint16_t", "void", "size_t"};
	size_t n = 0;
	while (is_word(word[n]))
		n++;
	for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
		if (strlen(types[i]) == n && !strncmp(types[i], word, n))
			return true;
	return false;
}

/* Words in order, the last one of several left out if it is a name. */
static void type_of(struct parameter *p)
{
	const char *s = p->text, *end = s + p->length, *last = NULL;
	unsigned words = 0;
	p->type[0] = 0;
	for (const char *c = s; c < end;)
		if (isalpha((unsigned char)*c) || *c == '_') {
			last = c;
			words++;
			while (c < end && (isalnum((unsigned char)*c) || *c == '_'))
				c++;
		} else {
			c++;
		}
	for (const char *c = s; c < end;) {
		size_t n = 1;
		if (isalpha((unsigned char)*c) || *c == '_') {
			while (c + n < end && (isalnum((unsigned char)c[n]) || c[n] == '_'))
				n++;
			if (c != last || words == 1 || names_type(last))
				add_word(p->type, sizeof p->type, c, n);
		} else if (!isspace((unsigned char)*c)) {
			add_word(p->type, sizeof p->type, c, 1);
		}
		c += n;
	}
}

/* "argument 6 is `long N` and must be `int N`", or their number; "" if every one seems the same. */
static const char *difference(const struct compile_request *rq, struct arena *a, const char *written)
{
	const char *right = prototype(rq, a);
	const char *own = written ? strchr(written, '(') : NULL, *other = right ? strchr(right, '(') : NULL;
	struct parameter x, y;
	if (!own || !other)
		return "";
	own++;
	other++;
	for (unsigned i = 1;; i++) {
		bool more = next_parameter(&own, &x), wanted = next_parameter(&other, &y);
		if (!more && !wanted)
			return "";
		if (!more)
			return arena_printf(a, "argument %u, `%.*s`, is missing; ", i, y.length, y.text);
		if (!wanted)
			return arena_printf(a, "argument %u, `%.*s`, is one too many; ", i, x.length, x.text);
		type_of(&x);
		type_of(&y);
		if (strcmp(x.type, y.type) != 0)
			return arena_printf(a, "argument %u is `%.*s` and must be `%.*s`; ", i, x.length, x.text, y.length, y.text);
	}
}

static void put_place(struct diagnostic *d, const char *code, const char *at)
{
	if (at) {
		struct place p = place_of(code, at);
		d->line = p.line;
		d->column = p.column;
	}
}

/* A function of a CUDA library.  Headers rename some: cublasCreate becomes cublasCreate_v2. */
static bool explain_library(struct arena *a, const char *code, struct diagnostic *d, const char *name)
{
	static const char *const prefixes[] = {"cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "cutensor", "nccl",
					       "nvml", "nvrtc", "nvjpeg", "npp"};
	for (unsigned i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
		size_t n = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], n) != 0 || !isupper((unsigned char)name[n]))
			continue;
		char *plain = arena_strdup(a, name), *suffix = strstr(plain, "_v");
		if (suffix && isdigit((unsigned char)suffix[2]))
			*suffix = 0;
		put_place(d, code, find_use(code, plain));
		d->text = arena_printf(a, "%s is not supported by the judge: no library but the CUDA runtime is at hand", plain);
		return true;
	}
	return false;
}

static void explain_undefined(const struct compile_request *rq, struct arena *a, const char *code, struct diagnostic *d,
			      const char *name)
{
	size_t n = strcspn(name, "(<");
	const char *word = arena_strndup(a, name, n);
	const char *colon = strrchr(word, ':');
	word = colon ? colon + 1 : word;
	if (rq->entry && !strcmp(name, rq->entry)) {
		const char *at = find_declaration(code, name);
		put_place(d, code, at);
		d->text = at ? arena_printf(a, "the signature of %s differs from the problem's: %s%s", name, difference(rq, a, at), expected(rq, a))
			     : arena_printf(a, "%s is not defined: the source must define it; %s", name, expected(rq, a));
	} else if (!rq->entry && !strcmp(name, "main")) {
		d->text = "main is not defined: a whole program needs `int main()`";
	} else if (explain_library(a, code, d, name)) {
		return;
	} else if (!strncmp(name, "cuda", 4) || !strncmp(name, "__cuda", 6) ||
		   (!strncmp(name, "cu", 2) && isupper((unsigned char)name[2]))) {
		put_place(d, code, find_use(code, word));
		d->text = arena_printf(a, "%s is not supported by the judge", name);
	} else {
		put_place(d, code, find_use(code, word));
		d->text = arena_printf(a, "%s is used but not defined", name);
	}
}

static void explain_multiple(const struct compile_request *rq, struct arena *a, const char *code, struct diagnostic *d,
			     const char *name)
{
	size_t n = strcspn(name, "(<");
	put_place(d, code, find_declaration(code, arena_strndup(a, name, n)));
	if (rq->entry && !strcmp(name, "main"))
		d->text = arena_printf(a, "main is the judge's: define %s alone (`judge run` runs a whole program)", rq->entry);
	else
		d->text = arena_printf(a, "%s is defined by the judge's CUDA runtime, too: choose another name", name);
}

/* ptxas gives the static shared memory in hexadecimal, and no line. */
static bool explain_shared(struct arena *a, const char *code, struct diagnostic *d)
{
	char kernel[512];
	unsigned bytes, max;
	if (sscanf(d->text, "ptxas: Entry function '%511[^']' uses too much shared data (0x%x bytes, 0x%x max)", kernel, &bytes,
		   &max) != 3)
		return false;
	d->text = arena_printf(a, "kernel %s has %u bytes of static __shared__ memory; the limit is %u (more is had as dynamic "
			       "shared memory, with cudaFuncSetAttribute)", kernel, bytes, max);
	kernel[strcspn(kernel, "(<")] = 0;
	const char *colon = strrchr(kernel, ':'), *space = strrchr(colon ? colon : kernel, ' ');
	put_place(d, code, find_declaration(code, space ? space + 1 : colon ? colon + 1 : kernel));
	return true;
}

/* "device function 'f(int)' is declared but not defined" has no line. */
static bool explain_device(const char *code, struct arena *a, struct diagnostic *d)
{
	static const char before[] = "device function '";
	if (strncmp(d->text, before, sizeof before - 1) != 0)
		return false;
	const char *name = d->text + sizeof before - 1;
	put_place(d, code, find_use(code, arena_strndup(a, name, strcspn(name, "'(<"))));
	return true;
}

/* gcc about a tool of its own that died. */
static bool explain_death(struct arena *a, struct diagnostic *d)
{
	static const char middle[] = " signal terminated program ";
	const char *at = strstr(d->text, middle);
	if (!at)
		return false;
	if (!strncmp(d->text, "File size", 9))
		d->text = "the object file is too large: global arrays with initial values take space in it; fill them at run time";
	else
		d->text = arena_printf(a, "the host compiler (%s) crashed on this source: %.*s", at + sizeof middle - 1,
				       (int)(at - d->text), d->text);
	return true;
}

/* The front end about an entry that does not agree with the prototype. */
static bool is_clash(const struct compile_request *rq, const char *text)
{
	char quoted[100];
	if (!rq->entry || !rq->prelude)
		return false;
	snprintf(quoted, sizeof quoted, "\"%.90s\"", rq->entry);
	if (strstr(text, "overloaded function") && strstr(text, "linkage") && strstr(text, quoted))
		return true;
	if (strstr(text, "linkage specification is incompatible") && strstr(text, quoted))
		return true;
	return false;
}

/* "cannot overload functions distinguished by return type alone" does not say which: the line does. */
static bool is_return_clash(const struct compile_request *rq, const char *code, const struct diagnostic *d)
{
	if (!rq->entry || !strstr(d->text, "distinguished by return type alone") || strcmp(d->file, rq->name) != 0)
		return false;
	const char *at = find_declaration(code, rq->entry);
	return at && place_of(code, at).line == d->line;
}

void compile_explain(const struct compile_request *rq, struct arena *a, struct diagnostic *d, size_t n)
{
	static const char undefined[] = DIAGNOSTIC_UNDEFINED, multiple[] = DIAGNOSTIC_MULTIPLE;
	const char *code = NULL;
	for (size_t i = 0; i < n; i++) {
		if (d[i].severity != DIAGNOSTIC_ERROR)
			continue;
		if (!code)
			code = code_only(rq, a);
		if (!strncmp(d[i].text, undefined, sizeof undefined - 1))
			explain_undefined(rq, a, code, &d[i], d[i].text + sizeof undefined - 1);
		else if (!strncmp(d[i].text, multiple, sizeof multiple - 1))
			explain_multiple(rq, a, code, &d[i], d[i].text + sizeof multiple - 1);
		else if (explain_shared(a, code, &d[i]) || explain_device(code, a, &d[i]) || explain_death(a, &d[i]))
			continue;
		else if (is_clash(rq, d[i].text) || is_return_clash(rq, code, &d[i]))
			d[i].text = arena_printf(a, "the signature of %s differs from the problem's: %s%s", rq->entry,
						 difference(rq, a, find_declaration(code, rq->entry)), expected(rq, a));
	}
}
