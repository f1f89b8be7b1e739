/* Points, verdicts of runs, and the book. */
#include "test.h"

#include "judge/advice.h"
#include "judge/book.h"
#include "judge/figures.h"
#include "judge/score.h"
#include "judge/verdict.h"

#include <math.h>
#include <signal.h>
#include <string.h>

static struct problem problem(void)
{
	return (struct problem){.score_correct = 60, .score_efficiency = 40, .full_at = 0.8,
				.tiers = {0, 0.5, 0.8, 0.9}, .max_launches = -1};
}

TEST(efficiency)
{
	bool impossible;
	CHECK(score_efficiency(2, 4, SCORE_SLACK_MODELLED, &impossible) == 0.5 && !impossible);
	CHECK(score_efficiency(2, 2, SCORE_SLACK_MODELLED, &impossible) == 1 && !impossible);
	CHECK(score_efficiency(2, 1.9, SCORE_SLACK_MODELLED, &impossible) == 0 && impossible);
	CHECK(score_efficiency(2, 0, SCORE_SLACK_MODELLED, &impossible) == 0 && impossible);
}

TEST(mean)
{
	double two[] = {0.25, 1}, zero[] = {0.5, 0};
	CHECK(fabs(score_mean(two, 2) - 0.5) < 1e-15);
	CHECK(score_mean(zero, 2) == 0);
	CHECK(score_mean(two, 1) == 0.25);
	CHECK(isnan(score_mean(two, 0)));
}

TEST(points)
{
	struct problem p = problem();
	CHECK(score_points(&p, false, 1) == 0);
	CHECK(score_points(&p, true, NAN) == 60);
	CHECK(score_points(&p, true, 0.4) == 80);
	CHECK(score_points(&p, true, 0.8) == 100);
	CHECK(score_points(&p, true, 1) == 100);
	CHECK_EQ(score_tier(&p, true, 0.49), TIER_NONE);
	CHECK_EQ(score_tier(&p, true, 0.5), TIER_BRONZE);
	CHECK_EQ(score_tier(&p, true, 0.89), TIER_SILVER);
	CHECK_EQ(score_tier(&p, true, 0.9), TIER_GOLD);
	CHECK_EQ(score_tier(&p, true, NAN), TIER_NONE);
	CHECK_EQ(score_tier(&p, false, 1), TIER_NONE);
}

static const char *verdict(const struct session_run *r)
{
	static char text[1000];
	char why[900];
	enum verdict v = verdict_of_run(r, why, sizeof why);
	snprintf(text, sizeof text, "%s %s", verdict_code(v), why);
	return text;
}

TEST(verdicts)
{
	struct session_run good = {.done = true, .guest.end = JAIL_EXITED}, r = good;
	CHECK_STR(verdict(&r), "AC ");
	r.guest.end = JAIL_SIGNALED, r.guest.status = SIGSEGV;
	CHECK_STR(verdict(&r), "RE host code crashed: Segmentation fault");
	r = good, r.guest.end = JAIL_WALL, r.limits.wall_ms = 2500;
	CHECK_STR(verdict(&r), "TLE not done after 2.5 s: host code was running, and no kernel");
	r = good, r.guest.end = JAIL_MEMORY, r.limits.memory = 64 << 20;
	CHECK_STR(verdict(&r), "MLE host code used more than 64 MiB of memory");
	r = good, r.guest.end = JAIL_OUTPUT, r.limits.output = 64 << 10;
	CHECK_STR(verdict(&r), "OLE host code printed more than 64 KiB");
	r = good, r.guest.end = JAIL_SYSCALL, r.guest.status = 41;
	CHECK_STR(verdict(&r), "RE host code made the system call socket, which the sandbox forbids");
	/* success that is claimed and not done */
	r = good, r.done = false;
	CHECK_STR(verdict(&r), "RE solve() did not return: the process ended inside it");
	r = good, r.guest.status = 3;
	CHECK_STR(verdict(&r), "RE solve() ended the process with exit status 3");
	r = good, r.done = false, strcpy(r.cuda_error, "cudaErrorInvalidValue");
	CHECK_STR(verdict(&r), "RE a CUDA call failed (cudaErrorInvalidValue)");
	r = good, r.protocol_error = true, strcpy(r.protocol_text, "message of 3 bytes");
	CHECK_STR(verdict(&r), "RE host code spoke to the device outside of the CUDA runtime: message of 3 bytes");
	r = good, r.limits.wall_ms = 2000, r.guest.end = JAIL_WALL;
	CHECK_STR(verdict(&r), "TLE not done after 2.0 s: host code was running, and no kernel");
	r.device_busy = true;
	CHECK_STR(verdict(&r), "TLE not done after 2.0 s: the device was still at work");
	r = good, r.guest.end = JAIL_SIGNALED, r.guest.status = SIGSEGV, r.crash = CRASH_NULL;
	CHECK_STR(verdict(&r), "RE host code crashed: Segmentation fault: it followed a null pointer");
	/* a fault of the device explains whatever became of the guest */
	r = good, r.guest.end = JAIL_SIGNALED, r.guest.status = SIGABRT, r.fault.kind = FAULT_OUT_OF_BOUNDS;
	strcpy(r.fault.detail, "4-byte read 4 bytes past the end of Wq (8192 bytes)");
	CHECK_STR(verdict(&r), "IMA out-of-bounds access: 4-byte read 4 bytes past the end of Wq (8192 bytes)");
}

TEST(every_fault_has_a_verdict)
{
	for (uint32_t k = 1; k < FAULT_KINDS; k++) {
		struct session_run r = {.done = true, .fault.kind = k};
		char why[900];
		enum verdict v = verdict_of_run(&r, why, sizeof why);
		CHECK(v != VERDICT_AC && v != VERDICT_NONE);
		CHECK(v != VERDICT_SE || k == FAULT_UNSUPPORTED);
		CHECK(*why);
	}
}

TEST(book)
{
	struct problem p = {.n_arguments = 3, .arguments = {{.name = "x", .role = ROLE_INPUT}, {.name = "Wq", .role = ROLE_INPUT},
							    {.name = "y", .role = ROLE_OUTPUT}}};
	static struct testcase t;
	t.problem = &p;
	t.tensors[0].bytes = 100;
	t.tensors[1].bytes = 4096;
	t.tensors[2].bytes = 64;
	struct device_kernel kernels[2] = {{.pretty = "dequantize", .registers = 20}, {.pretty = "gemv", .registers = 40}};
	struct session_launch launches[4] = {
		{.kernel = 0, .prepare = true, .modelled.time_us = 100, .counters.global_load_sectors = 1000},
		{.kernel = 0, .modelled.time_us = 2, .counters = {.global_load_requests = 10, .global_load_sectors = 40, .global_load_bytes = 640}},
		{.kernel = 1, .modelled = {.time_us = 3, .limiter = LIMIT_DRAM}, .counters = {.global_load_requests = 10, .global_load_sectors = 120}},
		{.kernel = 1, .modelled = {.time_us = 4, .limiter = LIMIT_LATENCY}, .grid = {7, 1, 1}},
	};
	struct mem_traffic traffic[] = {{"Wq", 4096, 8192, 0}, {"y", 64, 0, 64}, {"cudaMalloc", 999, 0, 500}, {"x", 100, 100, 0}};
	struct session_run r = {.launches = launches, .n_launches = 4, .traffic = traffic, .n_traffic = 4};
	static struct book b;
	book_keep(&t, &r, kernels, 2, &b);
	CHECK_EQ(b.launches, 3);
	CHECK(b.time_us == 9);
	CHECK_STR(b.weights, "Wq");
	CHECK(b.weight_passes == 2);
	CHECK_EQ(b.intermediate_bytes, 500);
	CHECK(b.sectors_per_request == 8);
	CHECK(b.load_efficiency == 0.125);
	CHECK(isnan(b.store_sectors_per_request));
	CHECK_EQ(b.n_kernels, 3);
	CHECK_STR(b.kernels[0].name, "gemv");
	CHECK_EQ(b.kernels[0].launches, 2);
	CHECK_EQ(b.kernels[0].grid[0], 7);
	CHECK_EQ(b.limiter, LIMIT_LATENCY);
	CHECK_STR(b.kernels[1].name, "dequantize");
	CHECK(b.kernels[2].prepare);
}

TEST(figures)
{
	struct figure f;
	CHECK_STR(figure_bytes(&f, 0), "0 B");
	CHECK_STR(figure_bytes(&f, 999), "999 B");
	CHECK_STR(figure_bytes(&f, 8388608), "8.39 MB");
	CHECK_STR(figure_bytes(&f, 123456), "123 KB");
	CHECK_STR(figure_time(&f, 13.24, true), "13.2 µs");
	CHECK_STR(figure_time(&f, 1324, false), "1.32 ms");
	CHECK_STR(figure_time(&f, 2.5e6, false), "2.50 s");
	CHECK_STR(figure_count(&f, 1048752), "1,048,752");
	CHECK_STR(figure_count(&f, 12), "12");
	CHECK_STR(figure_percent(&f, 0.171), "17 %");
	CHECK_STR(figure_percent(&f, 0.004), "0.4 %");
	CHECK_STR(figure_ratio(&f, 0.0412), "0.041");
	CHECK_STR(figure_ratio(&f, INFINITY), "inf");
	CHECK_STR(figure_ratio(&f, 3.5e45), "> 1e6");
}
