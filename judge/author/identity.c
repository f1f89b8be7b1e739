/* Programs that are the same: see identity.h. */
#include "identity.h"

#include "../../sandbox/base/err.h"
#include "../../sandbox/base/fnv.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct renaming {			/* names in the order in which they were met */
	uint64_t *seen;			/* pairs: the name (0: none), its number */
	size_t n, room;
};

static size_t place_of(const struct renaming *r, uint64_t name)
{
	size_t at = name % r->room;
	while (r->seen[2 * at] && r->seen[2 * at] != name)
		at = (at + 1) % r->room;
	return at;
}

static void grow(struct renaming *r)
{
	struct renaming grown = {.n = r->n, .room = r->room ? 2 * r->room : 1024};
	grown.seen = calloc(2 * grown.room, sizeof *grown.seen);
	if (!grown.seen)
		BUG("out of memory");
	for (size_t i = 0; i < r->room; i++)
		if (r->seen[2 * i]) {
			size_t at = place_of(&grown, r->seen[2 * i]);
			grown.seen[2 * at] = r->seen[2 * i];
			grown.seen[2 * at + 1] = r->seen[2 * i + 1];
		}
	free(r->seen);
	*r = grown;
}

/* Registers (%r12, %fd3, %p1) and labels ($L__BB0_2) are numbered by where they come first. */
static uint64_t number_of(struct renaming *r, const char *text, size_t size)
{
	uint64_t name = fnv(fnv_basis, text, size) | 1;
	if (2 * r->n >= r->room)
		grow(r);
	size_t at = place_of(r, name);
	if (!r->seen[2 * at]) {
		r->seen[2 * at] = name;
		r->seen[2 * at + 1] = ++r->n;
	}
	return r->seen[2 * at + 1];
}

static size_t name_size(const char *p, const char *end)
{
	const char *q = p + 1;
	while (q < end && (*q == '_' || (*q >= '0' && *q <= '9') || (*q >= 'a' && *q <= 'z') || (*q >= 'A' && *q <= 'Z')))
		q++;
	return (size_t)(q - p);
}

static uint64_t mix_line(uint64_t h, struct renaming *r, const char *p, const char *end)
{
	while (p < end) {
		size_t n = *p == '%' || *p == '$' ? name_size(p, end) : 0;
		bool numbered = n > 2 && p[n - 1] >= '0' && p[n - 1] <= '9';	/* %tid has no number */
		if (numbered) {
			uint64_t id = number_of(r, p, n);
			h = fnv(fnv(h, p, 2), &id, sizeof id);
			p += n;
		} else if (*p == '/' && p + 1 < end && p[1] == '/') {
			break;
		} else {
			if (*p != ' ' && *p != '\t')
				h = fnv(h, p, 1);
			p++;
		}
	}
	return h;
}

/* A line that says nothing about what the program does. */
static bool idle(const char *p, size_t n)
{
	static const char *const words[] = {".loc", ".file", ".reg", "//", ".pragma"};
	for (; n && (*p == ' ' || *p == '\t'); p++, n--)
		;
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (n >= strlen(words[i]) && !memcmp(p, words[i], strlen(words[i])))
			return true;
	return n == 0;
}

uint64_t ptx_identity(const char *ptx)
{
	struct renaming r = {0};
	uint64_t h = fnv_basis;
	while (*ptx) {
		size_t n = strcspn(ptx, "\n");
		if (!strncmp(ptx + strspn(ptx, "\t "), ".section", 8)) {
			const char *close = strstr(ptx, "}");	/* what the debugger reads */
			ptx = close ? close + 1 : ptx + n;
			continue;
		}
		if (!idle(ptx, n))
			h = fnv(mix_line(h, &r, ptx, ptx + n), "\n", 1);
		ptx += n + (ptx[n] == '\n');
	}
	free(r.seen);
	return h;
}

uint64_t bytes_identity(const void *data, size_t size)
{
	return fnv(fnv_basis, data, size);
}
