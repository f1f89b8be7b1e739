/* Reproducible random numbers: known vectors, independence of forks, moments. */
#include "test.h"

#include "reference/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST(xoshiro_known_numbers)		/* the published first outputs from state 1, 2, 3, 4 */
{
	struct random r = {{1, 2, 3, 4}};
	CHECK_EQ(random_u64(&r), 11520);
	CHECK_EQ(random_u64(&r), 0);
	CHECK_EQ(random_u64(&r), 1509978240);
	CHECK_EQ(random_u64(&r), 1215971899390074240);
}

TEST(seed_is_little_endian)
{
	unsigned char seed[32] = {[0] = 1, [8] = 2, [16] = 3, [24] = 4};
	struct random r;
	random_seed(&r, seed);
	CHECK_EQ(r.s[0], 1);
	CHECK_EQ(r.s[3], 4);
	CHECK_EQ(random_u64(&r), 11520);
}

TEST(zero_seed_is_no_fixed_point)
{
	unsigned char seed[32] = {0};
	struct random r;
	random_seed(&r, seed);
	uint64_t any = 0;
	for (int i = 0; i < 8; i++)
		any |= random_u64(&r);
	CHECK(any != 0);
}

TEST(forks_differ_and_leave_the_parent)
{
	struct random r = {{1, 2, 3, 4}}, before = r;
	struct random a = random_fork(&r, 0), b = random_fork(&r, 1), again = random_fork(&r, 0);
	CHECK(!memcmp(&r, &before, sizeof r));
	CHECK(!memcmp(&a, &again, sizeof a));
	int same = 0, bits = 0;
	for (int i = 0; i < 1000; i++) {
		uint64_t u = random_u64(&a), v = random_u64(&b);
		same += u == v;
		bits += __builtin_popcountll(u ^ v);
	}
	CHECK_EQ(same, 0);
	CHECK(fabs(bits / 64000.0 - 0.5) < 0.01);
}

TEST(below_is_uniform)
{
	struct random r = {{5, 6, 7, 8}};
	int count[6] = {0};
	for (int i = 0; i < 60000; i++)
		count[random_below(&r, 6)]++;
	for (int i = 0; i < 6; i++)
		CHECK_MSG(abs(count[i] - 10000) < 500, "%d came up %d times of 60000", i, count[i]);
	CHECK_EQ(random_below(&r, 1), 0);
	for (int i = 0; i < 1000; i++)
		CHECK(random_below(&r, 0xffffffffu) < 0xffffffffu);
}

TEST(uniform_moments)
{
	struct random r = {{9, 8, 7, 6}};
	double sum = 0, squares = 0;
	for (int i = 0; i < 100000; i++) {
		double u = random_uniform(&r);
		CHECK(u >= 0 && u < 1);
		sum += u;
		squares += u * u;
	}
	CHECK(fabs(sum / 1e5 - 1.0 / 2) < 0.005);
	CHECK(fabs(squares / 1e5 - 1.0 / 3) < 0.005);
}

TEST(normal_moments)
{
	struct random r = {{3, 1, 4, 1}};
	enum { COUNT = 400000 };
	double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
	int beyond3 = 0;
	for (int i = 0; i < COUNT; i++) {
		double v = random_normal(&r);
		m1 += v;
		m2 += v * v;
		m3 += v * v * v;
		m4 += v * v * v * v;
		beyond3 += fabs(v) > 3;
	}
	CHECK(fabs(m1 / COUNT) < 0.01);
	CHECK(fabs(m2 / COUNT - 1) < 0.02);
	CHECK(fabs(m3 / COUNT) < 0.05);
	CHECK_MSG(fabs(m4 / COUNT - 2.9) < 0.1, "kurtosis %g, a sum of twelve uniforms has 2.9", m4 / COUNT);
	CHECK(beyond3 > 0.0015 * COUNT && beyond3 < 0.0035 * COUNT);
}

TEST(normal_is_the_same_everywhere)	/* frozen: a change of these numbers changes every case of every problem */
{
	struct random r = {{1, 2, 3, 4}};
	double v[3];
	for (int i = 0; i < 3; i++)
		v[i] = random_normal(&r);
	CHECK_EQ(v[0] * 0x1p21, -12225066);
	CHECK_EQ(v[1] * 0x1p21, -3247009);
	CHECK_EQ(v[2] * 0x1p21, -3895593);
}
