/* Text of others on a terminal: statements, device printf, excerpts of sources, names of kernels.  Without colour nothing that
 * is printed may be obeyed by a terminal. */
#include "fuzz.h"
#include "judge/excerpt.h"
#include "judge/markdown.h"
#include "judge/submission.h"
#include "sandbox/base/buf.h"
#include "sandbox/base/err.h"
#include "sandbox/base/pretty_name.h"
#include "sandbox/base/tame.h"

#include <stdlib.h>
#include <string.h>

static void check(const char *what, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i], next = i + 1 < n ? (unsigned char)s[i + 1] : 0;
		if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0))
			BUG("%s lets a control character through: 0x%02x", what, c);
	}
}

static void names(const char *text)
{
	char name[128];
	pretty_name(text, name, sizeof name);
	tame(name);
	check("tame", name, strlen(name));
}

static void print(const struct term *t, const char *text, size_t size, unsigned way)
{
	size_t length;
	if (way == 0)
		markdown_print(t, text, size);
	else if (way == 1)
		term_untrusted(t, text, size);
	else
		excerpt_print(t, text, size, 1 + (int)(size % 3), (int)(size % 90));
	excerpt_line(text, size, 2, &length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const ways[] = {"markdown", "untrusted text", "an excerpt"};
	char why[200], *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = 0;
	for (unsigned way = 0; way < 3; way++) {
		char *out = NULL;
		size_t n = 0;
		struct term t = {.file = open_memstream(&out, &n), .utf8 = size & 1, .width = 20 + (int)(size % 100)};
		print(&t, text, size, way);
		fclose(t.file);
		check(ways[way], out, n);
		free(out);
	}
	names(text);
	if (submission_refusal(text, size, why, sizeof why))
		check("a refusal", why, strlen(why));
	free(text);
	return 0;
}

#ifdef FUZZING
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct draws d = {seed};
	return draw(&d, 4) ? LLVMFuzzerMutate(data, size, max) : mutate_words(data, size, max, &d);
}
#endif
