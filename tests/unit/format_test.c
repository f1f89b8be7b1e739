/* The quantized formats and 16-bit floats: known values, all bit patterns, round trips, corners. */
#include "test.h"

#include "reference/f16.h"
#include "reference/format_int4.h"
#include "reference/format_int8.h"
#include "reference/random.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

TEST(f16_known_values)
{
	CHECK_EQ(f16_from_double(1), 0x3c00);
	CHECK_EQ(f16_from_double(-2), 0xc000);
	CHECK_EQ(f16_from_double(1024), 0x6400);
	CHECK_EQ(f16_from_double(65504), 0x7bff);
	CHECK_EQ(f16_from_double(65519.99), 0x7bff);
	CHECK_EQ(f16_from_double(65520), 0x7c00);	/* halfway to 65536: the even one is infinity */
	CHECK_EQ(f16_from_double(0x1p-24), 0x0001);
	CHECK_EQ(f16_from_double(0x1p-25), 0x0000);	/* a tie between 0 and the smallest: even */
	CHECK_EQ(f16_from_double(0x1.000002p-25), 0x0001);
	CHECK_EQ(f16_from_double(0x1.8p-24), 0x0002);
	CHECK_EQ(f16_from_double(0x1.ff8p-15), 0x03ff);
	CHECK_EQ(f16_from_double(0x1.ffcp-15), 0x0400);	/* a subnormal that rounds up to the smallest normal */
	CHECK_EQ(f16_from_double(1 + 0x1p-11), 0x3c00);
	CHECK_EQ(f16_from_double(1 + 0x3p-11), 0x3c02);
	CHECK_EQ(f16_from_double(1 + 0x1p-11 + 0x1p-40), 0x3c01);	/* once: through f32 this would be 0x3c00 */
	CHECK_EQ(f16_from_double(-0.0), 0x8000);
	CHECK_EQ(f16_from_double(-INFINITY), 0xfc00);
	CHECK_EQ(f16_from_double(NAN) & 0x7fff, 0x7e00);
	CHECK_EQ(f16_from_double(1e300), 0x7c00);
	CHECK_EQ(f16_from_double(1e-300), 0);
}

TEST(bf16_known_values)
{
	CHECK_EQ(bf16_from_double(1), 0x3f80);
	CHECK_EQ(bf16_from_double(1 + 0x1p-8), 0x3f80);
	CHECK_EQ(bf16_from_double(1 + 0x3p-8), 0x3f82);
	CHECK_EQ(bf16_from_double(0x1p-133), 0x0001);
	CHECK_EQ(bf16_from_double(3.4e38), 0x7f80);
	CHECK(bf16_to_double(0x7f7f) == 0x1.fep127);
}

static void round_trip(double (*to)(uint16_t), uint16_t (*from)(double), unsigned infinity)
{
	double last = -1;
	for (unsigned bits = 0; bits < 0x10000; bits++) {
		double v = to((uint16_t)bits);
		if ((bits & 0x7fff) > infinity) {
			CHECK(isnan(v));
			continue;
		}
		CHECK_EQ(from(v), bits);
		if (bits <= infinity) {
			CHECK_MSG(v > last, "0x%04x is not above its predecessor", bits);
			if (last >= 0 && bits < infinity) {	/* just off the middle on both sides, and the middle */
				double middle = (v + last) / 2;
				CHECK_EQ(from(middle), bits & 1 ? bits - 1 : bits);
				CHECK_EQ(from(nextafter(middle, 0)), bits - 1);
				CHECK_EQ(from(nextafter(middle, INFINITY)), bits);
			}
			last = v;
		}
	}
}

TEST(f16_every_pattern)
{
	round_trip(f16_to_double, f16_from_double, 0x7c00);
}

TEST(bf16_every_pattern)
{
	round_trip(bf16_to_double, bf16_from_double, 0x7f80);
}

TEST(int4_word_of_the_statement)
{
	const uint8_t q[8] = {5, 0, 15, 3, 8, 1, 2, 7};
	uint8_t back[8];
	uint32_t word;
	int4_pack_row(q, 8, &word);
	CHECK_EQ(word, 0x72183f05);
	int4_unpack_row(&word, 8, back);
	CHECK(!memcmp(q, back, 8));

	double scale = 0.25, zero = 3, w[8], c[8];
	int4_expand_row(&word, &scale, &zero, 8, 8, w, c);
	const double weights[8] = {0.5, -0.75, 3, 0, 1.25, -0.5, -0.25, 1};
	for (int i = 0; i < 8; i++) {
		CHECK(w[i] == weights[i]);
		CHECK(c[i] == (q[i] + 3) * 0.25);
	}
}

static void check_error(const struct int4_rule *rule, const double *w, size_t k)
{
	uint8_t q[512];
	uint32_t words[64];
	double scale[4], zero[4], back[512], c[512];
	int4_quantize_row(rule, w, k, q, scale, zero);
	int4_pack_row(q, k, words);
	int4_expand_row(words, scale, zero, k, rule->group, back, c);
	for (size_t i = 0; i < k; i++) {
		double s = scale[i / rule->group];
		/* half a step, and half a step more where a rounded z clips an end of the range */
		CHECK_MSG(fabs(back[i] - w[i]) <= s * 1.001, "element %zu: %g became %g with scale %g", i, w[i], back[i], s);
		CHECK(q[i] <= 15);
		CHECK(zero[i / rule->group] == rint(zero[i / rule->group]));
		if (rule->zero_in_range)
			CHECK(zero[i / rule->group] >= 0 && zero[i / rule->group] <= 15);
		if (rule->scales == TYPE_F16)
			CHECK(f16_round(s) == s);
	}
}

TEST(int4_quantizer_is_close)
{
	struct random r = {{1, 2, 3, 4}};
	double w[512];
	for (size_t i = 0; i < 512; i++)
		w[i] = random_normal(&r) + (i < 256 ? 0 : 4);
	check_error(&(struct int4_rule){128, TYPE_F32, false}, w, 512);
	check_error(&(struct int4_rule){128, TYPE_F16, true}, w, 512);
}

TEST(int4_quantizer_corners)
{
	const struct int4_rule rule = {8, TYPE_F32, false}, half = {8, TYPE_F16, true};
	const double equal[8] = {3, 3, 3, 3, 3, 3, 3, 3}, none[8] = {0};
	const double ties[8] = {0, 0.5, 1.5, 2.5, 3.5, 4.5, 15, 7};
	const uint8_t even[8] = {0, 0, 2, 2, 4, 4, 15, 7};
	uint8_t q[8];
	double scale, zero;
	int4_quantize_row(&rule, equal, 8, q, &scale, &zero);
	CHECK(scale == 1 && zero == -3 && q[0] == 0);	/* (0 + 3) 1 */
	int4_quantize_row(&half, none, 8, q, &scale, &zero);
	CHECK(scale == 1 && zero == 0 && q[7] == 0);
	int4_quantize_row(&rule, ties, 8, q, &scale, &zero);
	CHECK(scale == 1 && zero == 0);
	CHECK(!memcmp(q, even, 8));
}

TEST(int8_quantizer)
{
	const double w[5] = {-254, 254, 1, 3, -127.5};		/* scale 2: 0.5 and 1.5 are ties */
	const int8_t codes[5] = {-127, 127, 0, 2, -64};
	int8_t q[5];
	double s = int8_quantize_row(w, 5, q), back[5];
	CHECK(s == 2);
	CHECK(!memcmp(q, codes, 5));
	int8_expand_row(q, s, 5, back);
	CHECK(back[0] == -254 && back[3] == 4 && back[4] == -128);
	const double none[2] = {0, 0};
	CHECK(int8_quantize_row(none, 2, q) == 1 && q[0] == 0);
}
