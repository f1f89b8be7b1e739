/* Device profiles: the files that are there, and files that are wrong. */
#include "test.h"

#include "../../sandbox/base/buf.h"
#include "../../sandbox/ptx/profile.h"

#include <stdlib.h>
#include <string.h>

static const char *const ids[] = {"a100", "h100", "h200", "rtx4090", "t4"};

static void find_profiles(void)
{
	CHECK(setenv("JUDGE_PROFILES", "sandbox/ptx/profiles", 1) == 0);
}

static bool near(double a, double b, double part)
{
	return a > b * (1 - part) && a < b * (1 + part);
}

TEST(all_profiles_load)
{
	find_profiles();
	struct profile_ids known;
	const char *const *list = profile_list(&known);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct profile p;
		struct err e = {0};
		CHECK(list[i]);
		CHECK_STR(list[i], ids[i]);
		CHECK_MSG(profile_load(ids[i], &p, &e) == 0, "%s", e.text);
		CHECK_STR(p.id, ids[i]);
	}
}

/* The rates per cycle and SM multiply out to what the data sheets say. */
TEST(rates_agree_with_data_sheets)
{
	static const struct { const char *id; double fp32_tflops, f16_tensor_tflops, i8_tops; } sheets[] = {
		{"t4", 8.1, 65, 130}, {"a100", 19.5, 312, 624}, {"rtx4090", 82.6, 165.2, 660.6},
		{"h100", 67, 989, 1979}, {"h200", 67, 989, 1979},
	};

	find_profiles();
	for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) {
		struct profile p;
		struct err e = {0};
		CHECK(profile_load(sheets[i].id, &p, &e) == 0);
		double cycles = p.sms * p.clock_ghz * 1e-3;	/* of all SMs, 1e12 a second */
		CHECK_MSG(near(p.fp32_rate * 64 * cycles, sheets[i].fp32_tflops, 0.03), "%s", p.id);
		/* Hopper's tensor rates are given at a lower clock than its vector rates. */
		CHECK_MSG(near(p.tensor_f16_flops * cycles, sheets[i].f16_tensor_tflops, 0.09), "%s", p.id);
		CHECK_MSG(near(p.tensor_i8_flops * cycles, sheets[i].i8_tops, 0.09), "%s", p.id);
		CHECK(p.dram_read_gbs > 0.8 * p.dram_gbs);
		CHECK(p.l2_latency_ns < p.dram_latency_ns);
	}
}

TEST(an_unknown_profile_lists_the_known)
{
	struct profile p;
	struct err e = {0};

	find_profiles();
	CHECK(profile_load("h300", &p, &e) < 0);
	CHECK_EQ(e.kind, ERR_INPUT);
	CHECK_STR(e.text, "there is no device profile 'h300'; known: a100, h100, h200, rtx4090, t4");
	CHECK(profile_load("../profiles/h200", &p, &e) < 0);
	CHECK(profile_load("", &p, &e) < 0);
}

static char *edited(const char *from, const char *to)
{
	struct buf b = {0}, out = {0};
	struct err e = {0};

	CHECK_MSG(buf_read_file(&b, "sandbox/ptx/profiles/h200.json", 1 << 16, &e) == 0, "%s", e.text);
	const char *at = strstr(b.data, from);
	CHECK_MSG(at, "%s", from);
	buf_add(&out, b.data, (size_t)(at - b.data));
	buf_adds(&out, to);
	buf_adds(&out, at + strlen(from));
	buf_free(&b);
	return out.data;
}

static void refused(const char *from, const char *to, const char *why)
{
	char *text = edited(from, to);
	struct profile p;
	struct err e = {0};

	CHECK_MSG(profile_parse(text, "mine.json", &p, &e) < 0, "%s", to);
	CHECK_MSG(strstr(e.text, "mine.json") && strstr(e.text, why), "%s", e.text);
	free(text);
}

TEST(wrong_profiles_are_refused_by_field)
{
	refused("\"clock_ghz\": 1.98,", "", "clock_ghz");
	refused("\"clock_ghz\": 1.98", "\"clock_ghz\": \"fast\"", "clock_ghz");
	refused("\"clock_ghz\": 1.98", "\"clock_ghz\": -1", "clock_ghz");
	refused("\"clock_ghz\": 1.98", "\"clock_ghz\": 1.98, \"clock_mhz\": 1", "clock_mhz");
	refused("\"sms\": 132", "\"sms\": 0", "sms");
	refused("\"sms\": 132", "\"sms\": 1.5", "sms");
	refused("\"warp_size\": 32", "\"warp_size\": 64", "warp_size");
	refused("\"dram_read_gbs\": 4610", "\"dram_read_gbs\": 5000", "dram_read_gbs");
	refused("\"shared_per_sm\": 233472", "\"shared_per_sm\": 300000", "shared_per_sm");
	refused("\"id\": \"h200\"", "\"id\": \"../x\"", "id");
	refused("\"arch\": \"90\"", "\"arch\": \"sm_90\"", "arch");
	refused("\"name\": \"NVIDIA H200\"", "\"name\": \"\"", "name");
}
