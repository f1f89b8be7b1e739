/* The approximations of PTX: ex2, lg2, sin, cos, tanh.  Polynomials evaluated by additions and multiplications in a
 * fixed order, so that every build gives the same bits; well inside the errors that PTX allows.
 */
#ifndef PTX_ALU_APPROX_H
#define PTX_ALU_APPROX_H

#include "alu_lane.h"

/* 2^n for -126 <= n <= 127. */
INLINE float power(int32_t n) { return f32_of((uint32_t)(n + 127) << 23); }

/* 2^x = 2^n 2^f with |f| <= 1/2; the scale in two steps, so that only the last one rounds subnormals.  Under 1.5 ulp. */
INLINE float approx_ex2(float x)
{
	float t = x < -152.0f ? -152.0f : x > 129.0f ? 129.0f : x;
	t = x != x ? 0 : t;
	float n = (t + 12582912.0f) - 12582912.0f, f = t - n;
	float p = 0.000154531629f;
	p = p * f + 0.00133908634f;
	p = p * f + 0.00961808256f;
	p = p * f + 0.0555035711f;
	p = p * f + 0.240226508f;
	p = p * f + 0.693147188f;
	p = p * f + 1.0f;
	int32_t k = (int32_t)n, half = k >> 1;
	return x != x ? f32_of(NAN32) : p * power(half) * power(k - half);
}

/* log2 x = e + log2 m, sqrt(1/2) <= m < sqrt 2.  Error under 2^-23, relative near 1. */
INLINE float approx_lg2(float x)
{
	uint32_t u0 = bits_of(x), sub = u0 < 0x00800000, u = sub ? bits_of(x * 0x1p24f) : u0;
	int32_t e = (int32_t)(u - 0x3f3504f3) >> 23;
	float f = f32_of(u - ((uint32_t)e << 23)) - 1.0f;
	float p = 0.0948181944f;
	p = p * f - 0.167656024f;
	p = p * f + 0.172345959f;
	p = p * f - 0.179194025f;
	p = p * f + 0.205039499f;
	p = p * f - 0.240447574f;
	p = p * f + 0.288575615f;
	p = p * f - 0.360674661f;
	p = p * f + 0.480897904f;
	p = p * f - 0.721347512f;
	p = p * f + 1.44269504f;
	float r = (float)(sub ? e - 24 : e) + p * f;
	r = x == __builtin_inff() ? x : r;
	r = x == 0 ? -__builtin_inff() : r;
	return x < 0 || x != x ? f32_of(NAN32) : r;
}

/* As hardware: the argument in turns is an f32, cut towards zero, so a large one has few fractions of a turn left.
 * Then by quarter turns, in double; quarter: 0 for sin, 1 for cos. */
INLINE float approx_sin(float x, uint64_t quarter)
{
	double t = f64_of(bits64_of((double)x * (double)0x1.45f306p-3f) & ~((1ull << 29) - 1));
	t = t > -0x1p40 && t < 0x1p40 ? 4 * t : 0;		/* beyond 2^24 whole turns alone */
	double turns = t + 6755399441055744.0, k = turns - 6755399441055744.0;
	double s = (t - k) * 1.57079632679489661923, z = s * s;
	uint64_t q = bits64_of(turns) + quarter;
	double a = 2.7173075444014034e-06, b = -2.7173048390198086e-07;
	a = a * z - 0.00019839198092453864;
	a = a * z + 0.0083333287688354705;
	a = a * z - 0.16666666631450997;
	a = a * z + 0.99999999999565144;
	b = b * z + 2.4798923457970706e-05;
	b = b * z - 0.0013888880368345475;
	b = b * z + 0.041666666543420651;
	b = b * z - 0.4999999999934787;
	b = b * z + 0.99999999999994408;
	double r = q & 1 ? b : a * s;
	r = f64_of(bits64_of(r) ^ (q & 2) << 62);
	return x - x != 0 ? f32_of(NAN32) : (float)r;
}

/* Odd; a polynomial up to 5/8, then 1 - 2 / (1 + e^2x). */
INLINE float approx_tanh(float x)
{
	uint32_t u = bits_of(x), sign = u & 0x80000000;
	float m = f32_of(u ^ sign), z = m * m, p = -0.00609671417f;
	p = p * z + 0.020997179f;
	p = p * z - 0.0538509096f;
	p = p * z + 0.133327697f;
	p = p * z - 0.333333289f;
	float small = m + m * z * p;
	float large = 1.0f - 2.0f / (approx_ex2(m * 2.88539008f) + 1.0f);
	float r = m < 0.625f ? small : large;
	return x != x ? f32_of(NAN32) : f32_of(bits_of(r) | sign);
}

#endif
