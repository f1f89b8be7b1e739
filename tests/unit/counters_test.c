/* The counters tell kernels apart: pairs of kernels in tests/counters that differ in one habit are graded on the
 * emulated GPU, and the figure that stands for the habit must differ the right way.
 */
#include "test.h"

#include "sandbox/base/cleanup.h"
#include "sandbox/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct figures {
	double launches, weight_passes, intermediate_bytes, sectors_per_request, shared_conflicts, dram_bytes, time_us;
};

static double number(const struct json *j, const struct cJSON *object, const char *name)
{
	double v;
	struct err e;
	CHECK_MSG(json_number(j, object, name, -HUGE_VAL, HUGE_VAL, &v, &e) == 0, "%s", e.text);
	return v;
}

/* Grade tests/counters/NAME.cu for the problem with a fixed seed; it must be accepted. */
static struct figures grade(const char *problem, const char *name)
{
	CLEANUP_BUF struct buf command = {0}, out = {0};
	const char *b = getenv("B");
	struct err e;
	buf_printf(&command, "%s/judge -p %s --json --seed 5eed --device emulated tests/counters/%s.cu", b && *b ? b : "build", problem, name);
	FILE *p = popen(buf_str(&command), "r");
	CHECK(p);
	CHECK_MSG(buf_read_fd(&out, fileno(p), name, 16 << 20, &e) == 0, "%s", e.text);
	int status = pclose(p);
	CLEANUP(json_freep) struct json *j = json_parse(buf_str(&out), out.size, name, &e);
	CHECK_MSG(j, "%s", e.text);
	const struct cJSON *root = json_root(j), *book;
	const char *verdict;
	CHECK_MSG(json_string(j, root, "verdict", "a verdict", &verdict, &e) == 0, "%s", e.text);
	CHECK_STR(verdict, "AC");
	CHECK_EQ(status, 0);
	CHECK_MSG(json_object(j, root, "book", "the book", &book, &e) == 0, "%s", e.text);
	struct figures f = {
		.launches = number(j, book, "launches"),
		.weight_passes = number(j, book, "weight_passes"),
		.intermediate_bytes = number(j, book, "intermediate_bytes"),
		.sectors_per_request = number(j, book, "sectors_per_request"),
		.shared_conflicts = number(j, book, "shared_conflicts"),
		.dram_bytes = number(j, book, "dram_read_bytes"),
		.time_us = number(j, root, "time_us"),
	};
	return f;
}

TEST_WITHIN(strided_loads_take_more_sectors, 60)
{
	struct figures good = grade("int4-gemv", "coalesced"), bad = grade("int4-gemv", "strided");
	CHECK(bad.sectors_per_request > 1.5 * good.sectors_per_request || bad.weight_passes > 1.5 * good.weight_passes);
	CHECK(bad.weight_passes > 4 * good.weight_passes);
	CHECK(bad.time_us > good.time_us);
}

TEST_WITHIN(conflicts_are_counted, 60)
{
	struct figures good = grade("int4-gemv", "conflict_free"), bad = grade("int4-gemv", "conflicted");
	CHECK_EQ(good.shared_conflicts, 0);
	/* 4096 stores of 32 lanes into one bank each: 31 passes more, as an H200 counts */
	CHECK_EQ(bad.shared_conflicts, 4096 * 31);
}

TEST_WITHIN(weights_read_twice_are_two_passes, 60)
{
	struct figures good = grade("int4-gemv", "coalesced"), bad = grade("int4-gemv", "twice");
	CHECK(good.weight_passes > 0.99 && good.weight_passes < 1.01);
	CHECK(bad.weight_passes > 1.99 && bad.weight_passes < 2.01);
}

TEST_WITHIN(intermediates_are_counted, 90)
{
	struct figures fused = grade("w4a16-gemm", "fused"), apart = grade("w4a16-gemm", "three_launches");
	CHECK_EQ(fused.launches, 1);
	CHECK_EQ(apart.launches, 3);
	CHECK_EQ(fused.intermediate_bytes, 0);
	CHECK(apart.intermediate_bytes > 0);
	CHECK(apart.dram_bytes + apart.intermediate_bytes > fused.dram_bytes);
}
