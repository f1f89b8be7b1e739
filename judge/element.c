/* Element types: see element.h. */
#include "element.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *cuda, *header;
	unsigned bytes;
} table[] = {
#define ELEMENT(id, name, cuda, bytes, header) [TYPE_##id] = {name, cuda, header, bytes},
#include "element.def"
#undef ELEMENT
};
enum { N_TYPES = sizeof table / sizeof *table };

const char *element_name(enum element_type t) { return table[t].name; }
const char *element_cuda(enum element_type t) { return table[t].cuda; }
const char *element_header(enum element_type t) { return table[t].header; }
unsigned element_bytes(enum element_type t) { return table[t].bytes; }

int element_find(const char *name, enum element_type *out)
{
	for (int i = 0; i < N_TYPES; i++)
		if (!strcmp(table[i].name, name)) {
			*out = (enum element_type)i;
			return 0;
		}
	return -1;
}

const char *element_names(void)
{
	return ""
#define ELEMENT(id, name, cuda, bytes, header) name " "
#include "element.def"
#undef ELEMENT
		;
}

/* A small float of sign, `e` exponent bits and `m` mantissa bits.  ieee: all-ones exponent is infinity or NaN; else only
 * all ones in exponent and mantissa is NaN (E4M3). */
static double small_float(unsigned v, int e, int m, bool ieee)
{
	unsigned mantissa = v & ((1u << m) - 1), exponent = v >> m & ((1u << e) - 1);
	int bias = (1 << (e - 1)) - 1;
	double x;
	if (exponent == (1u << e) - 1 && (ieee || mantissa == (1u << m) - 1))
		x = ieee && !mantissa ? INFINITY : NAN;
	else if (exponent)
		x = ldexp(1 + ldexp(mantissa, -m), (int)exponent - bias);
	else
		x = ldexp(mantissa, 1 - bias - m);
	return v >> (e + m) & 1 ? -x : x;
}

double element_rounding(enum element_type t, double x)
{
	static const struct {
		int digits, lowest;	/* of the significand; the exponent of the smallest step */
	} floats[N_TYPES] = {[TYPE_F16] = {11, -24}, [TYPE_BF16] = {8, -133}, [TYPE_F32] = {24, -149}, [TYPE_F64] = {53, -1074},
			     [TYPE_E4M3] = {4, -9}, [TYPE_E5M2] = {3, -16}};
	return floats[t].digits ? fmax(ldexp(fabs(x), -floats[t].digits), ldexp(0.5, floats[t].lowest)) : 0;
}

#define AT(ctype) (((const ctype *)data)[i])

double element_value(enum element_type t, const void *data, uint64_t i)
{
	switch (t) {
	case TYPE_I8: return AT(int8_t);
	case TYPE_U8: return AT(uint8_t);
	case TYPE_I16: return AT(int16_t);
	case TYPE_U16: return AT(uint16_t);
	case TYPE_I32: return AT(int32_t);
	case TYPE_U32: return AT(uint32_t);
	case TYPE_I64: return (double)AT(int64_t);
	case TYPE_U64: return (double)AT(uint64_t);
	case TYPE_F16: return small_float(AT(uint16_t), 5, 10, true);
	case TYPE_BF16: return small_float(AT(uint16_t), 8, 7, true);
	case TYPE_F32: return AT(float);
	case TYPE_F64: return AT(double);
	case TYPE_E4M3: return small_float(AT(uint8_t), 4, 3, false);
	case TYPE_E5M2: return small_float(AT(uint8_t), 5, 2, true);
	}
	return NAN;
}
