/* Conversions of one value, by exact arithmetic on sign, significand and exponent. */
#include "alu_cvt.h"

#include "alu.h"

#include <string.h>

/* A number taken apart: significand * 2^exponent, significand not 0 if FINITE. */
enum number_kind { ZERO, FINITE, INFINITE, NOT_A_NUMBER };
struct number {
	enum number_kind kind;
	bool sign;
	int exponent;
	uint64_t significand;		/* of a NaN: its payload, as that of an f64 */
};

/* max: the largest finite number's bits; nan 0: the format has none.  A format without infinity rounds past max to NaN
 * unless .satfinite (which PTX demands). */
struct format {
	unsigned exponent_bits, fraction_bits;
	bool infinity;
	uint64_t max, nan;
	unsigned drop;			/* tf32: low bits of the f32 that are zero */
};
static const struct format formats[] = {
	[CVT_F16] = { 5, 10, true, 0x7bff, 0x7fff, 0 },
	[CVT_BF16] = { 8, 7, true, 0x7f7f, 0x7fff, 0 },
	[CVT_TF32] = { 8, 10, true, 0x3fbff, 0x3ffff, 13 },
	[CVT_F32] = { 8, 23, true, 0x7f7fffff, 0x7fffffff, 0 },
	[CVT_F64] = { 11, 52, true, 0x7fefffffffffffff, 0xfff8000000000000, 0 },
	[CVT_E4M3] = { 4, 3, false, 0x7e, 0x7f, 0 },
	[CVT_E5M2] = { 5, 2, true, 0x7b, 0x7f, 0 },
	[CVT_E2M1] = { 2, 1, false, 0x7, 0, 0 },
};

unsigned cvt_bits(enum cvt_type t)
{
	static const uint8_t bits[] = { 8, 8, 16, 16, 32, 32, 64, 64, 16, 16, 32, 32, 64, 8, 8, 4 };
	return bits[t];
}

static uint64_t low_bits(unsigned n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }

static struct number take_int(uint64_t bits, enum cvt_type t)
{
	unsigned n = cvt_bits(t);
	bool sign = cvt_is_signed(t) && bits >> (n - 1) & 1;
	uint64_t m = sign ? (0 - bits) & low_bits(n) : bits;
	return (struct number){ .kind = m ? FINITE : ZERO, .sign = sign, .significand = m };
}

static struct number take_float(uint64_t bits, enum cvt_type t)
{
	const struct format *f = &formats[t];
	unsigned width = f->exponent_bits + f->fraction_bits;
	uint64_t u = bits >> f->drop, fraction = u & low_bits(f->fraction_bits);
	unsigned e = (unsigned)(u >> f->fraction_bits & low_bits(f->exponent_bits)), top = (1u << f->exponent_bits) - 1;
	struct number x = { .kind = FINITE, .sign = u >> width & 1 };
	if ((u & low_bits(width)) > f->max) {
		x.kind = f->infinity && fraction == 0 ? INFINITE : NOT_A_NUMBER;
		x.significand = fraction << (52 - f->fraction_bits);
		return x;
	}
	x.significand = e ? fraction | 1ull << f->fraction_bits : fraction;
	x.exponent = (int)(e ? e : 1) - (int)(top >> 1) - (int)f->fraction_bits;
	if (!x.significand)
		x.kind = ZERO;
	return x;
}

/* significand >> shift, rounded.  shift > 0. */
static uint64_t shift_round(uint64_t m, int shift, enum cvt_round how, bool sign)
{
	uint64_t q = shift > 63 ? 0 : m >> shift;
	bool half = shift <= 64 && m >> (shift - 1) & 1, more = shift > 64 ? m != 0 : (m & low_bits((unsigned)shift - 1)) != 0;
	bool up = false;
	switch (how) {
	case CVT_RN: up = half && (more || q & 1); break;
	case CVT_RNA: up = half; break;
	case CVT_RZ: break;
	case CVT_RM: up = sign && (half || more); break;
	case CVT_RP: up = !sign && (half || more); break;
	}
	return q + up;
}

static void round_integral(struct number *x, enum cvt_round how)
{
	if (x->kind != FINITE || x->exponent >= 0)
		return;
	x->significand = shift_round(x->significand, -x->exponent, how, x->sign);
	x->exponent = 0;
	if (!x->significand)
		x->kind = ZERO;
}

static uint64_t put_int(const struct number *x, enum cvt_type from, enum cvt_type to)
{
	unsigned n = cvt_bits(to);
	bool is_signed = cvt_is_signed(to);
	uint64_t max = low_bits(is_signed ? n - 1 : n), least = is_signed ? 1ull << (n - 1) : 0;
	if (x->kind == NOT_A_NUMBER)
		return from == CVT_F64 || n == 64 ? 1ull << (n - 1) : 0;
	if (x->kind == ZERO)
		return 0;
	bool large = x->kind == INFINITE || x->exponent > 63 || (x->exponent > 0 && x->significand >> (64 - x->exponent));
	uint64_t m = large ? ~0ull : x->significand << x->exponent;
	if (x->sign)
		return (m > least ? 0 - least : 0 - m) & low_bits(n);
	return m > max ? max : m;
}

static uint64_t overflow(const struct format *f, bool sign, uint32_t imm)
{
	enum cvt_round how = cvt_rounding(imm);
	bool stay = how == CVT_RZ || (how == CVT_RM && !sign) || (how == CVT_RP && sign);
	if (imm & CVT_SATFINITE || stay)
		return f->max;
	return f->infinity ? low_bits(f->exponent_bits) << f->fraction_bits : f->nan;
}

static uint64_t put_finite(const struct number *x, const struct format *f, uint32_t imm)
{
	int bias = (1 << (f->exponent_bits - 1)) - 1, fraction = (int)f->fraction_bits;
	int top = 63 - __builtin_clzll(x->significand) + x->exponent;
	int unit = (top > 1 - bias ? top : 1 - bias) - fraction, shift = unit - x->exponent;
	enum cvt_round how = imm & CVT_INTEGRAL ? CVT_RN : cvt_rounding(imm);
	uint64_t m = shift > 0 ? shift_round(x->significand, shift, how, x->sign) : x->significand << -shift;
	if (m >> (fraction + 1))
		m >>= 1, unit++;
	if (!(m >> fraction))
		return m;
	uint64_t e = (uint64_t)(unit + fraction + bias), u = e << fraction | (m & low_bits(f->fraction_bits));
	return u > f->max ? overflow(f, x->sign, imm) : u;
}

/* f64 on either side keeps sign and payload, made quiet; else the canonical NaN. */
static uint64_t put_nan(const struct number *x, enum cvt_type from, enum cvt_type to)
{
	const struct format *f = &formats[to];
	unsigned width = f->exponent_bits + f->fraction_bits;
	if (!f->nan)
		return f->max;
	if ((from != CVT_F64 && to != CVT_F64) || to == CVT_E4M3 || to == CVT_E5M2)
		return f->nan << f->drop;
	uint64_t payload = x->significand >> (52 - f->fraction_bits), quiet = 1ull << (f->fraction_bits - 1);
	return (uint64_t)x->sign << width | low_bits(f->exponent_bits) << f->fraction_bits | quiet | payload;
}

static uint64_t put_float(const struct number *x, enum cvt_type from, enum cvt_type to, uint32_t imm)
{
	const struct format *f = &formats[to];
	unsigned width = f->exponent_bits + f->fraction_bits;
	uint64_t u = 0;
	switch (x->kind) {
	case NOT_A_NUMBER:
		return put_nan(x, from, to);
	case ZERO:
		break;
	case INFINITE:
		u = imm & CVT_SATFINITE || !f->infinity ? f->max : low_bits(f->exponent_bits) << f->fraction_bits;
		break;
	case FINITE:	/* .ftz looks at the number before it is rounded */
		if (!(imm & CVT_FTZ && to == CVT_F32 && 63 - __builtin_clzll(x->significand) + x->exponent < -126))
			u = put_finite(x, f, imm);
		break;
	}
	return (u | (uint64_t)x->sign << width) << f->drop;
}

/* .sat of floats: [0, 1], NaN is +0.  .relu: negative is +0. */
static void limit(struct number *x, uint32_t imm)
{
	static const struct number zero = { .kind = ZERO };
	if (imm & CVT_RELU && x->kind != NOT_A_NUMBER && x->sign)
		*x = zero;
	if (!(imm & CVT_SAT))
		return;
	if (x->kind == NOT_A_NUMBER || x->sign)
		*x = zero;
	else if (x->kind == INFINITE || (x->kind == FINITE && 63 - __builtin_clzll(x->significand) + x->exponent >= 0))
		*x = (struct number){ .kind = FINITE, .significand = 1 };
}

uint64_t cvt_one(uint64_t bits, uint32_t imm)
{
	enum cvt_type from = cvt_from(imm), to = cvt_to(imm);
	bits &= low_bits(cvt_bits(from));
	if (cvt_is_int(from) && cvt_is_int(to) && !(imm & CVT_SAT)) {
		unsigned n = cvt_bits(from);
		uint64_t high = cvt_is_signed(from) && bits >> (n - 1) & 1 ? ~low_bits(n) : 0;
		return (bits | high) & low_bits(cvt_bits(to));
	}
	struct number x = cvt_is_int(from) ? take_int(bits, from) : take_float(bits, from);
	if (imm & CVT_FTZ && from == CVT_F32) {
		if ((bits & 0x7fffffff) < 0x00800000)
			x.kind = ZERO;
		if (x.kind == NOT_A_NUMBER)
			x = take_float(0x7fffffff, CVT_F32);
	}
	if (cvt_is_int(to)) {
		round_integral(&x, cvt_rounding(imm));
		return put_int(&x, from, to);
	}
	if (from == CVT_BF16 && to == CVT_F32 && x.kind == NOT_A_NUMBER && !(imm & (CVT_FTZ | CVT_SAT | CVT_RELU)))
		return bits << 16;
	if (imm & CVT_INTEGRAL)
		round_integral(&x, cvt_rounding(imm));
	limit(&x, imm);
	return put_float(&x, from, to, imm);
}

static float float_of(uint64_t u)
{
	uint32_t w = (uint32_t)u;
	float f;
	memcpy(&f, &w, 4);
	return f;
}
static uint64_t bits_of_float(float f)
{
	uint32_t w;
	memcpy(&w, &f, 4);
	return w;
}
float alu_f16_to_f32(uint16_t h) { return float_of(cvt_one(h, CVT_F16 << CVT_FROM_SHIFT | CVT_F32 << CVT_TO_SHIFT)); }
float alu_bf16_to_f32(uint16_t h) { return float_of((uint64_t)h << 16); }
uint16_t alu_f32_to_f16(float f)
{
	return (uint16_t)cvt_one(bits_of_float(f), CVT_F32 << CVT_FROM_SHIFT | CVT_F16 << CVT_TO_SHIFT);
}
uint16_t alu_f32_to_bf16(float f)
{
	return (uint16_t)cvt_one(bits_of_float(f), CVT_F32 << CVT_FROM_SHIFT | CVT_BF16 << CVT_TO_SHIFT);
}
