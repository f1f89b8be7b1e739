/* Sources to be mutated: any bytes become tokens, in order and within the text; each mutant keeps the source's lines, and is found
 * again in the line that is shown. */
#include "fuzz.h"
#include "judge/author/identity.h"
#include "judge/author/mutant.h"
#include "sandbox/base/err.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 14, LOOKED_AT = 64 };

static void check_tokens(const struct tokens *t)
{
	size_t end = 0;
	for (unsigned i = 0; i < t->n; i++) {
		const struct token *k = &t->list[i];
		if (k->at < end || !k->size || k->at + k->size > t->size)
			BUG("token %u is not in its place", i);
		if (k->match >= t->n || t->list[k->match].match != i || k->parent >= t->n)
			BUG("token %u has a bracket that is none", i);
		end = k->at + k->size;
	}
}

static size_t lines(const char *text, size_t size)
{
	size_t n = 0;
	for (size_t i = 0; i < size; i++)
		n += text[i] == '\n';
	return n;
}

static void check_mutant(const struct mutants *all, const struct mutant *m, struct arena *a)
{
	struct buf b = {0};
	mutant_apply(all, m, &b);
	if (lines(b.data, b.size) != lines(all->source.t.text, all->source.t.size))
		BUG("a mutant moves lines: %s", mutant_shown(all, m, a));
	if (!strstr(mutant_shown(all, m, a), m->text) || !mutant_missing(all, m))
		BUG("a mutant is not shown");
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct mutants m;
	if (size > LONGEST)
		size = LONGEST;
	char *text = malloc(size + 1);		/* the tokenizer needs no NUL; the reader of PTX does */
	memcpy(text, data, size);
	text[size] = 0;
	mutants_of(text, size, a, &m);
	check_tokens(&m.source.t);
	for (unsigned i = 0; i < m.n && i < LOOKED_AT; i++)
		check_mutant(&m, &m.list[i * (m.n / LOOKED_AT + 1) % m.n], a);
	ptx_identity(text);
	free(text);
	arena_free(a);
	return 0;
}

#ifdef FUZZING
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct draws d = {seed};
	return draw(&d, 4) ? LLVMFuzzerMutate(data, size, max) : mutate_words(data, size, max, &d);
}
#endif
