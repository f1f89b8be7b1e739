/* Elements as doubles, and outputs against bounds. */
#include "test.h"

#include "judge/check.h"
#include "judge/element.h"

#include <math.h>
#include <string.h>

static double value(enum element_type t, uint64_t bits)
{
	return element_value(t, &bits, 0);
}

TEST(elements)
{
	CHECK(value(TYPE_F16, 0x3c00) == 1);
	CHECK(value(TYPE_F16, 0xc000) == -2);
	CHECK(value(TYPE_F16, 0x7bff) == 65504);
	CHECK(value(TYPE_F16, 0x0001) == ldexp(1, -24));
	CHECK(value(TYPE_F16, 0x03ff) == 1023 * ldexp(1, -24));
	CHECK(value(TYPE_F16, 0x0400) == ldexp(1, -14));
	CHECK(isinf(value(TYPE_F16, 0x7c00)) && isinf(value(TYPE_F16, 0xfc00)) && value(TYPE_F16, 0xfc00) < 0);
	CHECK(isnan(value(TYPE_F16, 0x7c01)));
	CHECK(signbit(value(TYPE_F16, 0x8000)));
	CHECK(value(TYPE_BF16, 0x3f80) == 1);
	CHECK(value(TYPE_BF16, 0x4049) == 3.140625);
	CHECK(value(TYPE_E4M3, 0x7e) == 448);
	CHECK(isnan(value(TYPE_E4M3, 0x7f)));
	CHECK(value(TYPE_E4M3, 0x01) == ldexp(1, -9));
	CHECK(value(TYPE_E5M2, 0x7b) == 57344);
	CHECK(isinf(value(TYPE_E5M2, 0x7c)));
	CHECK(value(TYPE_I8, 0x80) == -128);
	CHECK(value(TYPE_U8, 0x80) == 128);
	CHECK(value(TYPE_I32, 0xffffffff) == -1);
	CHECK(value(TYPE_F32, 0x7f800000) == INFINITY);
	enum element_type t;
	CHECK_EQ(element_find("bf16", &t), 0);
	CHECK_EQ(t, TYPE_BF16);
	CHECK_EQ(element_find("fp16", &t), -1);
	CHECK_EQ(element_bytes(TYPE_U32), 4);
}

TEST(ratios)
{
	CHECK(check_ratio(1.5, 1, 1) == 0.5);
	CHECK(check_ratio(1, 1, 0) == 0);
	CHECK(isinf(check_ratio(1.0000001, 1, 0)));
	CHECK(isinf(check_ratio(NAN, 1, 1e30)));
	CHECK(isinf(check_ratio(INFINITY, 1, 1e30)));
	CHECK(check_ratio(INFINITY, INFINITY, 1) == 0);
	CHECK(isinf(check_ratio(-INFINITY, INFINITY, 1)));
	CHECK(isinf(check_ratio(1e30, INFINITY, 1)));
	/* on the bound is inside; the least above it is outside, whatever the division rounds to */
	for (double bound = 0.1; bound < 40; bound *= 1.37) {
		CHECK(check_ratio(bound, 0, bound) <= 1);
		CHECK(check_ratio(nextafter(bound, 100), 0, bound) > 1);
		CHECK(check_ratio(nextafter(bound, 0), 0, bound) <= 1);
	}
}

TEST(outputs)
{
	float got[6] = {1, 2, 3, 4.5f, 5, 6};
	double expected[6] = {1, 2, 3, 4, 5, 6.2}, bound[6] = {0, 0, 0, 0.25, 0, 0.4};
	struct check c;
	check_output(TYPE_F32, got, expected, bound, 6, &c);
	CHECK_EQ(c.count, 6);
	CHECK_EQ(c.wrong, 1);
	CHECK(c.ratio == 2);
	CHECK_EQ(c.n_worst, CHECK_WORST);
	CHECK_EQ(c.worst[0].index, 3);
	CHECK(c.worst[0].got == 4.5 && c.worst[0].expected == 4 && c.worst[0].bound == 0.25);
	CHECK_EQ(c.worst[1].index, 5);
	CHECK_EQ(c.worst[2].index, 0);
}

TEST(worst_are_kept)
{
	enum { N = 1000 };
	static int32_t got[N];
	static double expected[N], bound[N];
	struct check c;
	for (int i = 0; i < N; i++) {
		got[i] = i * 7919 % N;
		bound[i] = 1;
	}
	check_output(TYPE_I32, got, expected, bound, N, &c);
	CHECK_EQ(c.wrong, N - 2);
	for (int i = 0; i < CHECK_WORST; i++)
		CHECK(c.worst[i].ratio == N - 1 - i);
}

TEST(use_of_the_bound)
{
	/* FP16 near 1000: half a step is 0.25, and the nearest value may be that far off */
	CHECK(element_rounding(TYPE_F16, 1000) >= 0.25 && element_rounding(TYPE_F16, 1000) < 0.5);
	CHECK(element_rounding(TYPE_F16, 0) == ldexp(1, -25));
	CHECK(element_rounding(TYPE_BF16, -1) == ldexp(1, -8));
	CHECK(element_rounding(TYPE_I32, 1e9) == 0);
	double rounding = element_rounding(TYPE_F16, 1000);
	CHECK(check_use(TYPE_F16, 1000.2, 1000, rounding + 1) == 0);
	CHECK(fabs(check_use(TYPE_F16, 1000 + rounding + 0.5, 1000, rounding + 1) - 0.5) < 1e-9);
	CHECK(check_use(TYPE_I32, 7, 5, 4) == 0.5);
	/* a bound of 0 asks for the value: what is right uses nothing, all else everything */
	CHECK(check_use(TYPE_F32, 3, 3, 0) == 0);
	CHECK(isinf(check_use(TYPE_F32, 3.5, 3, 0)));
	CHECK(isinf(check_use(TYPE_F32, NAN, 3, 1)));
	CHECK(isinf(check_use(TYPE_F16, INFINITY, 3, 1)));
	const float got[] = {1, 2.5f};
	const double expected[] = {1, 2}, bound[] = {0, 1};
	struct check c;
	check_output(TYPE_F32, got, expected, bound, 2, &c);
	CHECK(c.use > 0.4999 && c.use < 0.5);
}
