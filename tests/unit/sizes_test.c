/* Size expressions and draws. */
#include "test.h"

#include "judge/seed.h"
#include "judge/sizes.h"

#include <string.h>

static const struct sizes *sizes(void)
{
	static struct sizes s;
	s.n = 0;
	sizes_add(&s, "N", 7);
	sizes_add(&s, "K", 256);
	sizes_add(&s, "K2", 3);
	return &s;
}

static long long value(const char *expression)
{
	struct err e = {0};
	int64_t v = -99;
	CHECK_MSG(sizes_eval(expression, sizes(), &v, &e) == 0, "%s: %s", expression, e.text);
	return v;
}

static const char *refusal(const char *expression)
{
	static struct err e;
	int64_t v = -99;
	memset(&e, 0, sizeof e);
	CHECK_EQ(sizes_eval(expression, sizes(), &v, &e), -1);
	CHECK_EQ(v, -99);
	CHECK_EQ(e.kind, ERR_INPUT);
	return e.text;
}

TEST(values)
{
	CHECK_EQ(value("K"), 256);
	CHECK_EQ(value("K/8"), 32);
	CHECK_EQ(value("2*N*K"), 3584);
	CHECK_EQ(value(" 2 * ( N + 1 ) * K / 4 - 1"), 1023);
	CHECK_EQ(value("K2"), 3);
	CHECK_EQ(value("cdiv(N, 2)"), 4);
	CHECK_EQ(value("cdiv(K,128)"), 2);
	CHECK_EQ(value("min(N, K) + max(N, K)"), 263);
	CHECK_EQ(value("10-2-3"), 5);
	CHECK_EQ(value("64/4/2"), 8);
	CHECK_EQ(value("9223372036854775807"), 9223372036854775807ll);
}

TEST(refusals)
{
	CHECK_STR(refusal("N/8"), "N/8: 7 is not a multiple of 8");
	CHECK_STR(refusal("M"), "M: the size M is not given");
	CHECK_STR(refusal("K/0"), "K/0: division by 0");
	CHECK_STR(refusal("N-K"), "N-K: the value is too large or negative");
	CHECK_STR(refusal("K*9223372036854775807"), "K*9223372036854775807: the value is too large or negative");
	CHECK_STR(refusal("9223372036854775808"), "9223372036854775808: the value is too large or negative");
	CHECK_STR(refusal(""), ": the expression ends where a size or number should be");
	CHECK_STR(refusal("K/"), "K/: the expression ends where a size or number should be");
	CHECK_STR(refusal("(K"), "(K: \")\" is missing");
	CHECK_STR(refusal("K 2"), "K 2: \"2\" after the end of the expression");
	CHECK_STR(refusal("ceil(K, 2)"), "ceil(K, 2): no function \"ceil\": there are cdiv, min and max");
	CHECK_STR(refusal("cdiv(K)"), "cdiv(K): cdiv takes two values");
	CHECK_STR(refusal("K%2"), "K%2: \"%2\" after the end of the expression");
	CHECK_STR(refusal("$"), "$: \"$\" is not part of a size expression (names, numbers, + - * / and parentheses are)");
	CHECK_STR(refusal("((((((((((((((((((((((1))))))))))))))))))))))"),
		  "((((((((((((((((((((((1)))))))))))))))))))))): nested too deep");
}

TEST(text)
{
	char text[40];
	sizes_text(sizes(), text, sizeof text);
	CHECK_STR(text, "N=7 K=256 K2=3");
	sizes_text(sizes(), text, 6);
	CHECK_STR(text, "N=7 K");
}

TEST(draws)
{
	struct size_draw range = {.kind = DRAW_RANGE, .from = 100, .to = 1000, .multiple = 128};
	bool seen[8] = {false};
	for (uint64_t r = 0; r < 100; r++) {
		int64_t v = size_drawn(&range, r * 0x9e3779b97f4a7c15ull);
		CHECK(v >= 128 && v <= 896 && v % 128 == 0);
		seen[v / 128] = true;
	}
	for (int i = 1; i < 8; i++)
		CHECK(seen[i]);
	struct size_draw list = {.kind = DRAW_LIST, .n = 2, .list = {31, 61}};
	CHECK_EQ(size_drawn(&list, 4), 31);
	CHECK_EQ(size_drawn(&list, 5), 61);
	struct size_draw fixed = {.kind = DRAW_FIXED, .list = {42}};
	CHECK_EQ(size_drawn(&fixed, 12345), 42);
}

TEST(seeds)
{
	struct secret a, b, c;
	struct err e = {0};
	struct seed_scope s = {"int4-gemv", "v1", "local", "odd-rows"}, t = {"int4-gemv", "v1", "local", "odd-row"};
	struct seed_scope shifted = {"int4-gem", "vv1", "local", "odd-rows"};
	CHECK_EQ(secret_from_hex(&a, "c0ffee", &e), 0);
	CHECK_EQ(secret_from_hex(&b, "C0FFEE", &e), 0);
	CHECK_EQ(seed_u64(&a, &s, "data"), seed_u64(&b, &s, "data"));
	CHECK(seed_u64(&a, &s, "data") != seed_u64(&a, &s, "size N"));
	CHECK(seed_u64(&a, &s, "data") != seed_u64(&a, &t, "data"));
	CHECK(seed_u64(&a, &s, "data") != seed_u64(&a, &shifted, "data"));
	secret_draw(&b);
	secret_draw(&c);
	CHECK(seed_u64(&b, &s, "data") != seed_u64(&c, &s, "data"));
	/* what a run prints repeats it */
	CHECK_EQ(secret_from_hex(&c, b.hex, &e), 0);
	CHECK_EQ(seed_u64(&b, &s, "data"), seed_u64(&c, &s, "data"));
	CHECK_EQ(secret_from_hex(&c, "xyz", &e), -1);
	CHECK_STR(e.text, "--seed xyz: write 1 to 64 hexadecimal digits, as the report of a run gives them");
	CHECK_EQ(secret_from_hex(&c, "", &e), -1);
}
