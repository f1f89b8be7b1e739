/* Failed assertions in the words of NVIDIA's driver. */
#include "sandbox/device/assertion.h"
#include "test.h"

#include <string.h>

TEST(the_first_of_them_is_told)
{
	struct fault f = {.kind = FAULT_ASSERT};
	CHECK(assertion_read("hello\n"
			     "/tmp/solution.cu:28: void check(int): block: [1,2,3], thread: [31,0,4] Assertion `threadIdx.x < limit` failed.\n"
			     "/tmp/solution.cu:29: void check(int): block: [0,0,0], thread: [0,0,0] Assertion `0` failed.\n", &f));
	CHECK_STR(f.detail, "solution.cu:28: void check(int): assertion `threadIdx.x < limit' failed");
	CHECK_EQ(f.line, 28);
	CHECK(f.has_thread);
	CHECK_EQ(f.block[0], 1);
	CHECK_EQ(f.block[2], 3);
	CHECK_EQ(f.thread[0], 31);
	CHECK_EQ(f.thread[2], 4);
}

TEST(names_with_colons)
{
	struct fault f = {0};
	CHECK(assertion_read("solution.cu:7: auto a::b<c>::operator()(int) const: block: [0,0,0], thread: [1,0,0] Assertion `x ? a : b` failed.", &f));
	CHECK_STR(f.detail, "solution.cu:7: auto a::b<c>::operator()(int) const: assertion `x ? a : b' failed");
}

TEST(other_words_are_none)
{
	static const char *const no[] = {"", "\n\n", "Assertion `x` failed", ": block: [0,0,0], thread: [0,0,0] Assertion `x` failed.",
					 "a.cu: f: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.",
					 "a.cu:3: f: block: [0,0], thread: [0,0,0] Assertion `x` failed."};
	for (unsigned i = 0; i < sizeof no / sizeof *no; i++) {
		struct fault f = {.detail = "kept"};
		CHECK_MSG(!assertion_read(no[i], &f), "%s", no[i]);
		CHECK_STR(f.detail, "kept");
	}
}

TEST(a_long_condition_is_cut)
{
	struct fault f = {0};
	char text[3000] = "a.cu:3: f(): block: [0,0,0], thread: [0,0,0] Assertion `";
	memset(text + strlen(text), 'x', 2000);
	CHECK(assertion_read(text, &f));
	CHECK(strlen(f.detail) < sizeof f.detail && strstr(f.detail, "a.cu:3: f(): assertion `xxx"));
}
