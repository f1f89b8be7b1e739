/* A look at a source before it is compiled: see compile_look.h.
 *
 * It is text that is looked for, wherever it stands: in a comment and in a longer name, too.  What the text does not hold can be
 * put together by ## alone, and by lines that a backslash joins, which are joined here as well.
 */
#include "compile_look.h"

#include "base/cleanup.h"

#include <stdbool.h>
#include <string.h>

void compile_join_lines(const char *source, size_t size, struct buf *out)
{
	for (const char *p = source, *end = source + size; p < end;) {
		const char *backslash = memchr(p, '\\', (size_t)(end - p));
		buf_add(out, p, (size_t)((backslash ? backslash : end) - p));
		if (!backslash)
			return;
		const char *q = backslash + 1;
		while (q < end && *q && strchr(" \t\f\v\r", *q))
			q++;
		if (q < end && *q == '\n') {
			p = q + 1;
		} else {
			buf_addc(out, '\\');
			p = backslash + 1;
		}
	}
}

static bool holds_one(const struct buf *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memmem(buf_str(text), text->size, words[i], strlen(words[i])))
			return true;
	return false;
}

/* Is the word at `at` a directive's, or of __has_include, and not one of a comment? */
static bool is_directive(const char *text, const char *at)
{
	while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	return at > text && (strchr("#:=_", at[-1]) || (at[-1] == '/' && at - text > 1 && at[-2] == '*'));
}

/* An #include, or another directive, that names its file by a macro? */
static bool includes_by_macro(const struct buf *text)
{
	static const char include[] = "include", next[] = "_next";
	for (const char *p = buf_str(text); (p = strstr(p, include));) {
		bool directive = is_directive(buf_str(text), p);
		p += sizeof include - 1;
		if (!strncmp(p, next, sizeof next - 1))
			p += sizeof next - 1;
		p += strspn(p, " \t(");
		if (directive && *p != '<' && *p != '"')
			return true;
	}
	return false;
}

enum compile_headers compile_look(const char *source, size_t size)
{
	static const char *const own[] = {"push_macro", "pop_macro", "cub", "thrust", "cuda/", "cccl", "nv/"};
	/* Parts of the functions' names, the headers that bring them in under other names, and what makes names of parts. */
	static const char *const special[] = {"bessel", "neumann", "ellint", "laguerre", "legendre", "hermite", "riemann", "expint",
					      "hyperg", "airy", "beta", "__detail", "std::__", "__gamma", "__log_gamma", "__psi", "__bernoulli", "specfun", "SPEC_FUNC", "tr1", "TR1", "experimental",
					      "##", "%:%:", "\?\?=", "\\u", "\\U", "\\N"};
	CLEANUP_BUF struct buf text = {0};
	compile_join_lines(source, size, &text);
	if (holds_one(&text, own, sizeof own / sizeof *own) || includes_by_macro(&text))
		return COMPILE_HEADERS_OWN;
	return holds_one(&text, special, sizeof special / sizeof *special) ? COMPILE_HEADERS_FULL : COMPILE_HEADERS_LEAN;
}
