/* The 16-bit floating types: see f16.h.  Both are one layout with other widths: sign, exponent, mantissa. */
#include "f16.h"

#include <string.h>

static uint64_t double_bits(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static double bits_double(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static double widen(uint16_t bits, int mantissa)
{
	const uint64_t sign = (uint64_t)(bits >> 15) << 63, fraction = bits & ((1u << mantissa) - 1);
	const int width = 15 - mantissa, top = (1 << width) - 1, bias = top / 2;
	const int exponent = bits >> mantissa & top;
	if (exponent == top)
		return bits_double(sign | 0x7ff0000000000000u | fraction << (52 - mantissa));
	if (exponent == 0) {			/* zero or subnormal: a whole number of the smallest step */
		double step = bits_double((uint64_t)(1023 + 1 - bias - mantissa) << 52);
		return bits_double(sign | double_bits((double)fraction * step));
	}
	return bits_double(sign | (uint64_t)(exponent - bias + 1023) << 52 | fraction << (52 - mantissa));
}

static uint16_t narrow(double value, int mantissa)
{
	const uint64_t bits = double_bits(value), sign = bits >> 63 << 15;
	const int width = 15 - mantissa, top = (1 << width) - 1, bias = top / 2;
	const int exponent = (int)(bits >> 52 & 0x7ff) - 1023 + bias;	/* as the narrow type would store it */
	uint64_t fraction = bits & 0xfffffffffffffu;
	if ((bits >> 52 & 0x7ff) == 0x7ff)
		return (uint16_t)(sign | (uint64_t)top << mantissa | (fraction ? 1u << (mantissa - 1) : 0));
	if (exponent >= top)
		return (uint16_t)(sign | (uint64_t)top << mantissa);
	int drop = 52 - mantissa;
	uint64_t kept = (uint64_t)(exponent > 0 ? exponent : 0) << mantissa;
	if (exponent <= 0) {			/* subnormal: the leading one becomes an explicit bit */
		fraction |= 1ull << 52;
		drop += 1 - exponent;
		if (drop > 54)			/* under half the smallest step */
			return (uint16_t)sign;
	}
	kept += fraction >> drop;
	uint64_t rest = fraction & ((1ull << drop) - 1), half = 1ull << (drop - 1);
	if (rest > half || (rest == half && (kept & 1)))
		kept++;				/* a carry out of the mantissa is the next exponent, up to infinity */
	return (uint16_t)(sign | kept);
}

double f16_to_double(uint16_t bits)
{
	return widen(bits, 10);
}

uint16_t f16_from_double(double value)
{
	return narrow(value, 10);
}

double bf16_to_double(uint16_t bits)
{
	return widen(bits, 7);
}

uint16_t bf16_from_double(double value)
{
	return narrow(value, 7);
}

double f16_round(double value)
{
	return widen(narrow(value, 10), 10);
}

double bf16_round(double value)
{
	return widen(narrow(value, 7), 7);
}
