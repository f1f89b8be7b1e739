/* The 16-bit floating types, held as their bits.
 *
 * Conversion to double is exact; conversion from double rounds once, to nearest, ties to even, with subnormals, and
 * overflows to infinity as the hardware does.  NaN becomes the quiet NaN of its sign.
 */
#ifndef REFERENCE_F16_H
#define REFERENCE_F16_H

#include <stdint.h>

double f16_to_double(uint16_t bits);		/* IEEE binary16: 5 exponent bits, 10 of mantissa */
uint16_t f16_from_double(double value);
double bf16_to_double(uint16_t bits);		/* 8 exponent bits, 7 of mantissa */
uint16_t bf16_from_double(double value);

/* The nearest value of the type. */
double f16_round(double value);
double bf16_round(double value);

#endif
