/* Peaks of a GPU: what is believed of a program's output and of a file, and floors made of them. */
#include "test.h"

#include "judge/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char output[] = "read_gbs 4634.7\ncopy_gbs 4027.1\nfp32_tflops 66.20\nfp16_tflops 132.74\ntensor_f16_tflops 914.80\n"
			     "tensor_bf16_tflops 881.90\ntensor_i8_tops 1912.00\ntensor_fp8_tflops 0.00\n";

static struct device_properties h200(void)
{
	return (struct device_properties){
		.name = "NVIDIA H200", .uuid = "GPU-6326d8be-bdf7-b892-6f5e-d9c0ccb14e18", .driver = "13.0", .major = 9, .sms = 132,
		.clock_khz = 1980000, .memory_clock_khz = 3201000, .bus_bits = 6144,
	};
}

static struct calibration measured(void)
{
	struct calibration c = {.device = "NVIDIA H200", .uuid = "GPU-6326d8be-bdf7-b892-6f5e-d9c0ccb14e18", .driver = "13.0",
				.when = "2026-11-30T01:40:00Z"};
	struct err e = {0};
	CHECK_MSG(calibration_parse(output, strlen(output), &c, &e) == 0, "%s", e.text);
	return c;
}

static const char *parse(const char *text)
{
	static struct err e;
	struct calibration c = {0};
	e = (struct err){0};
	return calibration_parse(text, strlen(text), &c, &e) < 0 ? e.text : "";
}

/* The output with one piece of it replaced. */
static const char *changed(const char *from, const char *to)
{
	static char text[1000];
	const char *at = strstr(output, from);
	CHECK(at);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - output), output, to, at + strlen(from));
	return text;
}

TEST(parses)
{
	struct calibration c = measured();
	CHECK(c.read_gbs == 4634.7 && c.copy_gbs == 4027.1 && c.fp32_tflops == 66.2 && c.fp16_tflops == 132.74);
	CHECK(c.tensor_f16_tflops == 914.8 && c.tensor_bf16_tflops == 881.9 && c.tensor_i8_tops == 1912 && c.tensor_fp8_tflops == 0);
}

TEST(refuses_other_output)
{
	CHECK_STR(parse(""), "peaks.cu should have printed \"read_gbs NUMBER\", but printed \"\"");
	CHECK_STR(parse(changed("4634.7", "-4634.7")), "peaks.cu should have printed \"read_gbs NUMBER\", but printed \"read_gbs -4634.7\"");
	CHECK(*parse(changed("4634.7", "nan")) && *parse(changed("4634.7", "inf")) && *parse(changed("4634.7", "4e3")));
	CHECK(*parse(changed("4634.7", "0x12")) && *parse(changed("4634.7", "1.2.3")) && *parse(changed("4634.7", "")));
	CHECK(*parse(changed("4634.7", " 4634.7")) && *parse(changed("4634.7", "4634.7 ")) && *parse(changed("4634.7", ".")));
	CHECK(*parse(changed("4634.7", "99999999999999999999999999999999999999999999999999")));
	CHECK(*parse(changed("4634.7", "99999999")));
	CHECK(*parse(changed("copy_gbs 4027.1\n", "")) && *parse(changed("copy_gbs", "copy_gb")));
	CHECK(*parse(changed("copy_gbs", "read_gbs")) && *parse(changed("tensor_fp8_tflops 0.00\n", "tensor_fp8_tflops 0.00")));
	CHECK_STR(parse(changed("tensor_fp8_tflops 0.00\n", "tensor_fp8_tflops 0.00\nread_gbs 1\n")),
		  "peaks.cu printed more than its figures");
	/* a NUL is no end */
	struct calibration c = {0};
	CHECK(calibration_parse(output, sizeof output, &c, NULL) < 0);
}

TEST(believes_what_the_hardware_can_do)
{
	struct device_properties p = h200();
	struct calibration c = measured();
	struct err e = {0};
	CHECK_EQ(calibration_check(&c, &p, &e), 0);
	c.read_gbs = 7000;
	CHECK(calibration_check(&c, &p, &e) < 0);
	CHECK_STR(e.text, "a bandwidth of 7000 GB/s is more than this GPU's memory can do (4917)");
	p.memory_clock_khz = 0;			/* not told */
	CHECK_EQ(calibration_check(&c, &p, &e), 0);
	c.fp32_tflops = 90;
	CHECK(calibration_check(&c, &p, &e) < 0);
	c = measured();
	c.fp16_tflops = 0;
	CHECK(calibration_check(&c, &p, &e) < 0);
	c = measured();
	c.tensor_i8_tops = NAN;
	CHECK(calibration_check(&c, &p, &e) < 0);
}

TEST(higher_of_each)
{
	struct calibration a = measured(), b = measured();
	a.read_gbs = 4000;
	b.tensor_f16_tflops = 700;
	calibration_merge(&a, &b);
	CHECK(a.read_gbs == 4634.7 && a.tensor_f16_tflops == 914.8);
}

TEST(floors)
{
	struct calibration c = {.read_gbs = 4000, .fp32_tflops = 50, .fp16_tflops = 100, .tensor_f16_tflops = 800,
				.tensor_bf16_tflops = 810, .tensor_i8_tops = 1600};
	CHECK(calibration_floor_us(&c, 4e9, 0, "fp32") == 1000);
	CHECK(calibration_floor_us(&c, 4e6, 1e9, "fp32") == 20);
	CHECK(calibration_floor_us(&c, 4e6, 1e9, "fp16") == 10);
	CHECK(calibration_floor_us(&c, 0, 810e6, "tensor_f16") == 1);
	CHECK(calibration_floor_us(&c, 0, 1600e6, "tensor_i8") == 1);
	CHECK(calibration_floor_us(&c, 4e6, 1600e6, "tensor_i8") == 1);
	c.tensor_i8_tops = 0;
	CHECK(isnan(calibration_floor_us(&c, 4e6, 1, "tensor_i8")));
	CHECK(calibration_floor_us(&c, 4e6, 0, "tensor_i8") == 1);
}

/* ---- the file ---- */

static char folder[] = "/tmp/calibration-test-XXXXXX";
static char path[520];

static void begin(void)
{
	struct device_properties p = h200();
	struct err e = {0};
	CHECK(mkdtemp(folder));
	setenv("XDG_STATE_HOME", folder, 1);
	CHECK_MSG(calibration_path(p.uuid, path, sizeof path, &e) == 0, "%s", e.text);
	CHECK(!strncmp(path, folder, strlen(folder)) && strstr(path, "/judge/gpu-6326d8be-bdf7-b892-6f5e-d9c0ccb14e18.json"));
}

static void end(void)
{
	char judge[100];
	snprintf(judge, sizeof judge, "%s/judge", folder);
	unlink(path);
	CHECK(rmdir(judge) == 0);		/* nothing else was left there */
	CHECK(rmdir(folder) == 0);
}

static const char *load(const struct device_properties *p)
{
	static struct err e;
	struct calibration c;
	e = (struct err){0};
	if (calibration_load(p, &c, &e) == 0)
		return "";
	CHECK_EQ(e.kind, ERR_SYSTEM);
	return e.text;
}

TEST(is_kept)
{
	struct device_properties p = h200();
	struct calibration c = measured(), back;
	struct err e = {0};
	struct stat st;
	begin();
	CHECK_STR(load(&p), "the peaks of this GPU are not known: judge calibrate measures them");
	c.read_gbs = 1;
	CHECK_MSG(calibration_store(&c, &e) == 0, "%s", e.text);
	c = measured();
	CHECK_MSG(calibration_store(&c, &e) == 0, "%s", e.text);
	CHECK_MSG(calibration_load(&p, &back, &e) == 0, "%s", e.text);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644);
	CHECK_STR(back.device, c.device);
	CHECK_STR(back.uuid, c.uuid);
	CHECK_STR(back.driver, c.driver);
	CHECK_STR(back.when, c.when);
	CHECK(back.read_gbs == c.read_gbs && back.tensor_bf16_tflops == c.tensor_bf16_tflops && back.tensor_fp8_tflops == 0);
	end();
}

TEST(another_driver)
{
	struct device_properties p = h200();
	struct calibration c = measured();
	struct err e = {0};
	begin();
	CHECK_MSG(calibration_store(&c, &e) == 0, "%s", e.text);
	snprintf(p.driver, sizeof p.driver, "13.1");
	CHECK(strstr(load(&p), "the driver was 13.0 then and is 13.1 now"));
	end();
}

static void put(const char *text)
{
	FILE *f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0);
	fclose(f);
}

/* What is stored, with one piece of it replaced. */
static const char *tampered(const char *from, const char *to)
{
	static char text[4096];
	struct device_properties p = h200();
	struct calibration c = measured();
	struct err e = {0};
	struct buf b = {0};
	CHECK_MSG(calibration_store(&c, &e) == 0 && buf_read_file(&b, path, 4096, &e) == 0, "%s", e.text);
	const char *at = strstr(b.data, from);
	CHECK_MSG(at, "no %s in %s", from, b.data);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - b.data), b.data, to, at + strlen(from));
	buf_free(&b);
	put(text);
	return load(&p);
}

TEST(a_file_that_is_wrong)
{
	struct device_properties p = h200();
	begin();
	CHECK_STR(tampered("4634.7", "4634.7"), "");
	CHECK(strstr(tampered("4634.7", "0"), "read_gbs is 0 GB/s, which no GPU does"));
	CHECK(strstr(tampered("4634.7", "9000"), "more than this GPU's memory can do"));
	CHECK(strstr(tampered("4634.7", "\"fast\""), "read_gbs"));
	CHECK(strstr(tampered("4634.7", "-1"), "read_gbs"));
	CHECK(strstr(tampered("\"read_gbs\"", "\"reed_gbs\""), "reed_gbs"));
	CHECK(strstr(tampered("\"format\": 1", "\"format\": 2"), "format"));
	CHECK(strstr(tampered("6326d8be", "00000000"), "of another GPU"));
	CHECK(strstr(tampered("NVIDIA", "\\u001b[31m"), "printable"));
	CHECK(strstr(tampered("2026-11-30T01:40:00Z", "2026-11-30T01:40:00Z and a good deal later"), "at most 31"));
	put("{");
	CHECK(strstr(load(&p), "judge calibrate measures them anew"));
	put("");
	CHECK(*load(&p));
	end();
}

TEST(a_name_is_no_path)
{
	char out[520];
	struct err e = {0};
	setenv("XDG_STATE_HOME", "/tmp", 1);
	CHECK(calibration_path("GPU-../../etc/passwd", out, sizeof out, &e) < 0);
	CHECK(calibration_path("GPU-", out, sizeof out, &e) < 0);
	CHECK(calibration_path("", out, sizeof out, &e) < 0);
}

TEST(nowhere_to_keep_it)
{
	struct calibration c = measured();
	struct err e = {0};
	setenv("XDG_STATE_HOME", "/proc/none", 1);
	CHECK(calibration_store(&c, &e) < 0);
	CHECK_EQ(e.kind, ERR_SYSTEM);
	CHECK(strstr(e.text, "/proc/none/judge"));
}
