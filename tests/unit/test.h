/* Unit tests that register themselves; each runs in a fork of its own with a time limit, and must leave no descriptor,
 * child or temporary file behind.
 *
 *	TEST(adds) { CHECK_EQ(1 + 1, 2); }
 *
 * Run one by name: build/tests/NAME_test adds
 */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef NDEBUG
#error "tests need their checks: don't define NDEBUG"
#endif

struct test {
	const char *name;
	void (*run)(void);
	unsigned seconds;
	struct test *next;
};
void test_register(struct test *t);

/* The test gets `limit` seconds. */
#define TEST_WITHIN(id, limit)                                                                         \
	static void test_##id(void);                                                                   \
	static struct test test_entry_##id = {#id, test_##id, limit, NULL};                            \
	__attribute__((constructor)) static void test_add_##id(void) { test_register(&test_entry_##id); } \
	static void test_##id(void)
#define TEST(id) TEST_WITHIN(id, 20)

_Noreturn void test_fail(const char *file, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* End the test as skipped, with the reason: something the machine does not offer. */
_Noreturn void test_skip(const char *why);
void test_check_str(const char *file, int line, const char *a, const char *b, const char *ea, const char *eb);

#define CHECK(cond) do { if (!(cond)) test_fail(__FILE__, __LINE__, "%s", #cond); } while (0)
#define CHECK_MSG(cond, ...) do { if (!(cond)) test_fail(__FILE__, __LINE__, __VA_ARGS__); } while (0)
#define CHECK_EQ(a, b)                                                                                 \
	do {                                                                                           \
		long long check_a = (long long)(a), check_b = (long long)(b);                          \
		if (check_a != check_b)                                                                \
			test_fail(__FILE__, __LINE__, "%s is %lld (0x%llx), expected %s = %lld (0x%llx)", #a, check_a, \
				  check_a, #b, check_b, check_b);                                      \
	} while (0)
#define CHECK_STR(a, b) test_check_str(__FILE__, __LINE__, (a), (b), #a, #b)

#endif
