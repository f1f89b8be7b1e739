/* What the choosers of handlers share: modifiers, operand kinds, and the check of operands against them. */
#include "alu_form.h"

#include <string.h>

bool has(struct form *s, enum ptx_mod m)
{
	s->seen[m >> 6] |= 1ull << (m & 63);
	return ptx_has(s->in, m);
}

int form_is(struct form *s, int id, const char *kinds)
{
	size_t n = strlen(kinds);
	if (n >= sizeof s->kinds)
		BUG("operand kinds '%s' are too long", kinds);
	memcpy(s->kinds, kinds, n + 1);
	return id;
}

uint32_t form_round(struct form *s)
{
	uint32_t mode = ROUND_NEAREST;
	has(s, PTX_MOD_RN);
	if (has(s, PTX_MOD_RZ))
		mode = ROUND_ZERO;
	if (has(s, PTX_MOD_RM))
		mode = ROUND_DOWN;
	if (has(s, PTX_MOD_RP))
		mode = ROUND_UP;
	return mode;
}

uint32_t form_flag(struct form *s, enum ptx_mod m, uint32_t bit) { return has(s, m) ? bit : 0; }

enum ptx_type form_t(const struct form *s, unsigned i) { return i < s->in->n_types ? s->in->types[i] : PTX_T_NONE; }

int form_type(const struct form *s, unsigned n, const uint8_t *types)
{
	if (s->in->n_types != 1)
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (s->in->types[0] == types[i])
			return (int)i;
	return -1;
}

char form_kind(enum ptx_type t)
{
	switch (t) {
	case PTX_T_F16: return 'H';
	case PTX_T_BF16: return 'B';
	case PTX_T_F32: return 'F';
	case PTX_T_F64: return 'D';
	case PTX_T_PRED: return 'p';
	default: break;
	}
	unsigned bits = ptx_type_bits(t);
	return bits <= 16 ? 'h' : bits == 32 ? 'r' : bits == 64 ? 'l' : 'q';
}

int form_same(struct form *s, int id, enum ptx_type t, unsigned operands)
{
	char kinds[8] = "";
	memset(kinds, form_kind(t), operands);
	return form_is(s, id, kinds);
}
