/* Changes of text that keep its words whole, for targets whose inputs are languages: a word is replaced by another of the same
 * look, a line is doubled, moved, lost, or taken from elsewhere.  Bytes alone rarely come through a parser.
 */
#include "fuzz.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const suffixes[] = {
#define MOD(id, text) "." text,
#include "sandbox/ptx/ptx_mods.def"
#undef MOD
#define TYPE(id, text, bits) "." text,
#include "sandbox/ptx/ptx_types.def"
#undef TYPE
};
static const char *const opcodes[] = {
#define OP(id, text) text,
#include "sandbox/ptx/ptx_ops.def"
#undef OP
};
static const char *const special[] = {
#define SREG(id, text, bits) "%" text,
#include "sandbox/ptx/ptx_sregs.def"
#undef SREG
};
static const char *const numbers[] = {"0", "1", "2", "3", "4", "7", "8", "16", "31", "32", "33", "63", "64", "127", "128", "255", "256", "1024",
				      "4095", "4096", "65535", "65536", "2147483647", "2147483648", "4294967295", "4294967296",
				      "9223372036854775807", "9223372036854775808", "18446744073709551615", "-1", "-2147483648",
				      "0f00000000", "0f7f800000", "0f7fc00000", "0d7ff0000000000000", "0xffffffff", "0x8000000000000000"};
#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))

uint32_t draw(struct draws *d, uint32_t n)
{
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return n ? (uint32_t)(d->state >> 33) % n : 0;
}

static bool of_word(uint8_t c)
{
	return isalnum(c) || c == '_' || c == '$';
}

struct word {
	size_t at, n;
};

/* The word that a drawn place is in or before: `.f32`, `%r1`, `add`, `42`. */
static struct word some_word(const uint8_t *data, size_t size, struct draws *d)
{
	size_t at = draw(d, (uint32_t)size), end;
	while (at < size && !of_word(data[at]))
		at++;
	while (at && of_word(data[at - 1]))
		at--;
	for (end = at; end < size && of_word(data[end]); end++)
		;
	if (at && (data[at - 1] == '.' || data[at - 1] == '%'))
		at--;
	return (struct word){at, end - at};
}

/* Put text in the place of n bytes; the size after, unchanged if there is no room. */
static size_t put(uint8_t *data, size_t size, size_t max, size_t at, size_t n, const void *text, size_t length)
{
	if (at + n > size || size - n + length > max)
		return size;
	memmove(data + at + length, data + at + n, size - at - n);
	memcpy(data + at, text, length);
	return size - n + length;
}

static bool alike(const uint8_t *a, const uint8_t *b)
{
	return *a == *b || (isdigit(*a) && isdigit(*b)) || (isalpha(*a) && isalpha(*b));
}

/* Another word of the text that begins alike. */
static size_t swap_word(uint8_t *data, size_t size, size_t max, struct word w, struct draws *d)
{
	uint8_t copy[128];
	for (int tries = 0; tries < 20; tries++) {
		struct word other = some_word(data, size, d);
		if (!other.n || other.n > sizeof copy || !alike(data + other.at, data + w.at))
			continue;
		memcpy(copy, data + other.at, other.n);
		return put(data, size, max, w.at, w.n, copy, other.n);
	}
	return size;
}

static size_t change_word(uint8_t *data, size_t size, size_t max, struct draws *d)
{
	struct word w = some_word(data, size, d);
	const char *text = NULL;
	if (!w.n || draw(d, 2))
		return w.n ? swap_word(data, size, max, w, d) : size;
	uint8_t first = data[w.at];
	if (first == '.')
		text = suffixes[draw(d, COUNT(suffixes))];
	else if (first == '%')
		text = special[draw(d, COUNT(special))];
	else if (isdigit(first))
		text = numbers[draw(d, COUNT(numbers))];
	else
		text = opcodes[draw(d, COUNT(opcodes))];
	return put(data, size, max, w.at, w.n, text, strlen(text));
}

static struct word some_line(const uint8_t *data, size_t size, struct draws *d)
{
	size_t at = draw(d, (uint32_t)size), end = at;
	while (at && data[at - 1] != '\n')
		at--;
	while (end < size && data[end++] != '\n')
		;
	return (struct word){at, end - at};
}

static size_t change_line(uint8_t *data, size_t size, size_t max, struct draws *d)
{
	uint8_t copy[512];
	struct word from = some_line(data, size, d), to = some_line(data, size, d);
	if (draw(d, 3) == 0)
		return put(data, size, max, to.at, to.n, "", 0);
	if (from.n > sizeof copy)
		return size;
	memcpy(copy, data + from.at, from.n);
	return put(data, size, max, to.at, draw(d, 3) ? 0 : to.n, copy, from.n);
}

static size_t add_suffix(uint8_t *data, size_t size, size_t max, struct draws *d)
{
	struct word w = some_word(data, size, d);
	const char *text = suffixes[draw(d, COUNT(suffixes))];
	if (draw(d, 2) && w.n && data[w.at] == '.')
		return put(data, size, max, w.at, w.n, "", 0);
	return put(data, size, max, w.at + w.n, 0, text, strlen(text));
}

size_t mutate_words(uint8_t *data, size_t size, size_t max, struct draws *d)
{
	uint32_t times = 1 + draw(d, 4);
	for (uint32_t i = 0; i < times && size; i++) {
		uint32_t way = draw(d, 10);
		size = way < 5 ? change_word(data, size, max, d) : way < 8 ? change_line(data, size, max, d) : add_suffix(data, size, max, d);
	}
	return size;
}
