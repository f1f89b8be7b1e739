/* The asymmetric INT8 quantizer of activations: known values, corners, how far the codes may be off. */
#include "test.h"

#include "reference/format_int8.h"
#include "reference/random.h"

#include <math.h>
#include <string.h>

TEST(int8_asymmetric_known_values)
{
	const double x[6] = {-1, 0, 1.5, 4.1, 0.02, -0.99};	/* s = 5.1 / 255 = 0.02, z = -128 + 50 */
	static const int8_t expected[6] = {-128, -78, -3, 127, -77, -128};
	int8_t q[6];
	int32_t zero;
	double s = int8_quantize_asymmetric_row(x, 6, q, &zero);
	CHECK(s == (double)0.02f);
	CHECK_EQ(zero, -78);
	CHECK(!memcmp(q, expected, sizeof q));
}

TEST(int8_asymmetric_zeros)		/* a row of zeros: scale 1, and every code is the zero point */
{
	const double x[4] = {0};
	int8_t q[4];
	int32_t zero;
	CHECK(int8_quantize_asymmetric_row(x, 4, q, &zero) == 1);
	CHECK_EQ(zero, -128);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(q[i], -128);
}

TEST(int8_asymmetric_one_sign)		/* no number of the other sign: the zero point lies beyond the codes */
{
	const double x[2] = {1, 2};
	int8_t q[2];
	int32_t zero;
	double s = int8_quantize_asymmetric_row(x, 2, q, &zero);
	CHECK(zero < -128);
	CHECK(fabs((q[0] - zero) * s - 1) <= s);
	CHECK(fabs((q[1] - zero) * s - 2) <= s);
}

TEST(int8_asymmetric_error)		/* half a step from rounding x/s, half a step from rounding the zero point at an end */
{
	static const unsigned char seed[32] = {7};
	struct random r;
	random_seed(&r, seed);
	for (int row = 0; row < 200; row++) {
		double x[64];
		int8_t q[64];
		int32_t zero;
		for (int i = 0; i < 64; i++)
			x[i] = random_normal(&r) + 0.6;
		double s = int8_quantize_asymmetric_row(x, 64, q, &zero);
		for (int i = 0; i < 64; i++)
			CHECK(fabs((q[i] - zero) * s - x[i]) <= 1.01 * s);
	}
}
