/* The X-macro tables of PTX words: from id to text and back. */
#include "parse.h"

#include <pthread.h>
#include <string.h>

static const char *const op_names[] = {
#define OP(id, text) text,
#include "ptx_ops.def"
#undef OP
};
static const char *const mod_names[] = {
#define MOD(id, text) text,
#include "ptx_mods.def"
#undef MOD
};
static const char *const type_names[] = {
	"",
#define TYPE(id, text, bits) text,
#include "ptx_types.def"
#undef TYPE
};
static const uint8_t type_bits[] = {
	0,
#define TYPE(id, text, bits) bits,
#include "ptx_types.def"
#undef TYPE
};
static const char *const sreg_names[] = {
#define SREG(id, text, bits) text,
#include "ptx_sregs.def"
#undef SREG
};

_Static_assert(PTX_MODS < 256, "a modifier fits in a byte and in modset");

enum { SLOTS = 2048 };
_Static_assert((PTX_OPS + PTX_MODS + PTX_TYPES + PTX_SREGS) * 3 < SLOTS, "the table stays sparse");

static struct slot {
	const char *text;
	uint8_t kind, n;
	uint16_t id;
} slots[SLOTS];

static uint32_t hash_of(enum word_kind kind, const char *s, size_t n)
{
	uint32_t h = 2166136261u ^ (uint32_t)kind;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 16777619u;
	return h ^ h >> 15;
}

static void add(enum word_kind kind, const char *const *names, unsigned from, unsigned n)
{
	for (unsigned id = from; id < n; id++) {
		size_t length = strlen(names[id]);
		uint32_t i = hash_of(kind, names[id], length);
		while (slots[i % SLOTS].text)
			i++;
		slots[i % SLOTS] = (struct slot){names[id], (uint8_t)kind, (uint8_t)length, (uint16_t)id};
	}
}

static void fill(void)
{
	add(WORD_OP, op_names, 0, PTX_OPS);
	add(WORD_MOD, mod_names, 0, PTX_MODS);
	add(WORD_TYPE, type_names, 1, PTX_TYPES);
	add(WORD_SREG, sreg_names, 0, PTX_SREGS);
}

/* wgmma's m64n<N>k<K>: N is told by the length of D, so one modifier stands for each K. */
static int wgmma_shape(const char *s, size_t n)
{
	static const struct { const char *k; int mod; } shapes[] = {
		{"k8", PTX_MOD_M64NXK8}, {"k16", PTX_MOD_M64NXK16}, {"k32", PTX_MOD_M64NXK32},
		{"k256", PTX_MOD_M64NXK256},
	};
	size_t i = 4;
	unsigned columns = 0;

	if (n < 6 || memcmp(s, "m64n", 4))
		return -1;
	for (; i < n && i < 7 && s[i] >= '0' && s[i] <= '9'; i++)
		columns = columns * 10 + (unsigned)(s[i] - '0');
	if (!columns || columns > 256 || columns % 8)
		return -1;
	for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++)
		if (n - i == strlen(shapes[j].k) && !memcmp(s + i, shapes[j].k, n - i))
			return shapes[j].mod;
	return -1;
}

int words_find(enum word_kind kind, const char *s, size_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, fill);
	for (uint32_t i = hash_of(kind, s, n);; i++) {
		const struct slot *w = &slots[i % SLOTS];
		if (!w->text)
			return kind == WORD_MOD ? wgmma_shape(s, n) : -1;
		if (w->kind == kind && w->n == n && !memcmp(w->text, s, n))
			return w->id;
	}
}

const char *ptx_op_name(enum ptx_op op)
{
	return op < PTX_OPS ? op_names[op] : "?";
}

const char *ptx_mod_name(enum ptx_mod m)
{
	return m < PTX_MODS ? mod_names[m] : "?";
}

const char *ptx_type_name(enum ptx_type t)
{
	return t < PTX_TYPES ? type_names[t] : "?";
}

unsigned ptx_type_bits(enum ptx_type t)
{
	return t < PTX_TYPES ? type_bits[t] : 0;
}
