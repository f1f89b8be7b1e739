/* Modelled time: against an H200, and against what must hold on any device. */
#include "test.h"

#include "../../sandbox/ptx/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct profile device(const char *id)
{
	struct profile p;
	struct err e = {0};

	CHECK(setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 1) == 0);
	CHECK_MSG(profile_load(id, &p, &e) == 0, "%s", e.text);
	return p;
}

static struct modelled model(const struct launch_shape *s, const struct counters *c)
{
	struct profile p = device("h200");
	struct occupancy o;
	struct modelled m;

	occupancy_of(&p, s, &o);
	model_time(&p, s, &o, c, &m);
	return m;
}

/* ---- the real device ---- */

struct truth {
	const char *kernel;
	double us;
	struct launch_shape shape;
	struct counters counters;
};
#define LIST(x, y, z) {x, y, z}
static const struct truth truths[] = {
#define TRUTH(name, us, grid, block, registers, shared, ...) \
	{name, us, {LIST grid, LIST block, registers, shared, 0}, {__VA_ARGS__}},
#include "model_truth.def"
#undef TRUTH
};

TEST(kernels_take_the_time_that_an_h200_takes)
{
	double sum = 0, worst = 0;
	size_t n = sizeof truths / sizeof *truths;

	for (size_t i = 0; i < n; i++) {
		double us = model(&truths[i].shape, &truths[i].counters).time_us;
		double off = fabs(log(us / truths[i].us));
		printf("%-40s measured %7.2f us, modelled %7.2f us\n", truths[i].kernel, truths[i].us, us);
		sum += off;
		worst = fmax(worst, off);
		CHECK_MSG(off < log(1.5), "%s: measured %.2f us, modelled %.2f us", truths[i].kernel, truths[i].us, us);
	}
	printf("mean error %.0f %%, worst %.0f %%\n", 100 * (exp(sum / (double)n) - 1), 100 * (exp(worst) - 1));
	CHECK(sum / (double)n < 0.15);
}

/* Plain reads of 9.44, 37.7 and 151 MB took 3.5, 10.0 and 35.8 us. */
TEST(plain_reads_take_their_bytes)
{
	static const struct { double mb, us; } reads[] = {{9.44, 3.5}, {37.7, 10.0}, {151, 35.8}};

	for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
		uint64_t bytes = (uint64_t)(reads[i].mb * 1e6), loads = bytes / 512;
		struct launch_shape s = {{132 * 8, 1, 1}, {256, 1, 1}, 32, 0, 0};
		struct counters c = {.instructions = loads * 8, .issue_memory = loads, .issue_fp32 = loads * 4,
				     .global_load_requests = loads, .global_load_sectors = loads * 16,
				     .l1_wavefronts = loads * 4, .l2_read_sectors = loads * 16,
				     .l2_load_requests = loads, .dram_load_requests = loads, .dram_read_bytes = bytes,
				     .load_rounds = loads / 8, .chain_cycles = loads * 8 * 2};
		struct modelled m = model(&s, &c);
		CHECK_EQ(m.limiter, LIMIT_DRAM);
		CHECK_MSG(fabs(m.time_us / reads[i].us - 1) < 0.12, "%.1f MB: %.2f us", reads[i].mb, m.time_us);
	}
}

TEST(an_empty_kernel_takes_its_launch)
{
	struct launch_shape s = {{1, 1, 1}, {32, 1, 1}, 16, 0, 0};
	struct counters c = {.instructions = 1, .chain_cycles = 4};
	struct modelled m = model(&s, &c);

	CHECK_EQ(m.limiter, LIMIT_LAUNCH);
	CHECK(m.time_us < 1.1);
	s.grid[0] = 4096;				/* 2.9 us on the device */
	c.instructions = c.chain_cycles = 4096;
	m = model(&s, &c);
	CHECK_MSG(m.time_us > 2.5 && m.time_us < 4, "%.2f us", m.time_us);
}

static struct counters one_limit(void (*set)(struct counters *c))
{
	struct counters c = {.instructions = 1000000, .chain_cycles = 1000000};

	set(&c);
	return c;
}

static void much_dram(struct counters *c) { c->dram_read_bytes = 1 << 30; c->l2_read_sectors = 1 << 25; }
static void much_l2(struct counters *c) { c->l2_read_sectors = 1 << 25; }
static void much_l1(struct counters *c) { c->l1_wavefronts = 1 << 25; }
static void much_shared(struct counters *c) { c->shared_load_wavefronts = 1 << 25; }
static void much_constant(struct counters *c) { c->constant_load_requests = c->constant_load_passes = 1 << 24; }
static void much_issue(struct counters *c) { c->instructions = 1 << 27; }
static void much_fp64(struct counters *c) { c->issue_fp64 = c->instructions = 1 << 26; }
static void much_int(struct counters *c) { c->issue_int = c->instructions = 1 << 26; }
static void much_sfu(struct counters *c) { c->issue_sfu = c->instructions = 1 << 24; }
static void much_tensor(struct counters *c) { c->tensor_flops = 1ull << 36; }
static void much_waiting(struct counters *c)
{
	c->global_load_requests = c->l2_load_requests = c->dram_load_requests = 1 << 20;
	c->global_load_sectors = 1 << 20;
	c->load_rounds = 1 << 20;
}

TEST(the_limiter_is_what_takes_longest)
{
	static const struct { void (*set)(struct counters *c); enum limiter limit; } cases[] = {
		{much_dram, LIMIT_DRAM}, {much_l2, LIMIT_L2}, {much_l1, LIMIT_L1}, {much_shared, LIMIT_SHARED},
		{much_constant, LIMIT_CONSTANT}, {much_issue, LIMIT_ISSUE}, {much_fp64, LIMIT_FP64}, {much_int, LIMIT_INT}, {much_sfu, LIMIT_SFU},
		{much_tensor, LIMIT_TENSOR}, {much_waiting, LIMIT_LATENCY},
	};
	struct launch_shape s = {{132 * 16, 1, 1}, {128, 1, 1}, 32, 0, 0};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct counters c = one_limit(cases[i].set);
		struct modelled m = model(&s, &c);
		CHECK_STR(limiter_name(m.limiter), limiter_name(cases[i].limit));
	}
}

TEST(more_work_never_takes_less_time)
{
	struct launch_shape s = {{1000, 1, 1}, {128, 1, 1}, 32, 0, 0};
	struct counters c = {.instructions = 1000000, .chain_cycles = 1000000};

	for (unsigned i = 0; i < COUNTER_COUNT; i++) {
		struct counters more = c;
		*counter_at(&more, i) += 1 << 22;
		CHECK_MSG(model(&s, &more).time_us >= model(&s, &c).time_us, "%s", counter_name(i));
	}
}

TEST(a_last_wave_that_is_nearly_empty_shows_as_tail)
{
	/* blocks of 1024 threads: two on an SM, 264 a wave */
	struct launch_shape even = {{264, 1, 1}, {1024, 1, 1}, 32, 0, 0}, odd = even;
	struct counters c = {.instructions = 264000000, .chain_cycles = 264000000};
	struct modelled m = model(&even, &c);

	CHECK(m.tail == 1);
	CHECK(m.occupancy > 0.99);
	odd.grid[0] = 265;
	m = model(&odd, &c);
	CHECK_MSG(m.tail > 1.4, "%.3f", m.tail);
	CHECK(m.occupancy < 0.9);
}

TEST(slower_devices_take_longer)
{
	static const char *const order[] = {"h200", "h100", "a100", "rtx4090", "t4"};
	struct launch_shape s = {{4000, 1, 1}, {256, 1, 1}, 32, 0, 0};
	struct counters c = {.instructions = 1000000, .dram_read_bytes = 1 << 30, .l2_read_sectors = 1 << 25};
	double before = 0;

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		struct profile p = device(order[i]);
		struct occupancy o;
		struct modelled m;
		occupancy_of(&p, &s, &o);
		model_time(&p, &s, &o, &c, &m);
		CHECK_MSG(m.time_us > before, "%s: %.1f us", order[i], m.time_us);
		before = m.time_us;
	}
}

TEST(the_floor_is_the_larger_of_bytes_and_flops)
{
	struct profile p = device("h200");

	CHECK(fabs(model_floor_us(&p, 4610e3, 0, "fp32") - 1) < 1e-9);
	CHECK(fabs(model_floor_us(&p, 0, 66.9e6, "fp32") - 1) < 0.01);
	CHECK(fabs(model_floor_us(&p, 0, 1070e6, "tensor_f16") - 1) < 0.01);
	CHECK(fabs(model_floor_us(&p, 0, 2141e6, "tensor_i8") - 1) < 0.01);
	CHECK(fabs(model_floor_us(&p, 0, 133.8e6, "fp16") - 1) < 0.01);
	CHECK(model_floor_us(&p, 1e9, 1, "fp32") > 200);
}

TEST(an_impossible_launch_takes_only_its_launch)
{
	struct launch_shape s = {{1, 1, 1}, {2000, 1, 1}, 16, 0, 0};
	struct counters c = {.instructions = 1 << 30};
	struct modelled m = model(&s, &c);

	CHECK(m.time_us < 1.1 && m.limiter == LIMIT_LAUNCH);
}
