/* What times on a GPU are compared with: what is kept and by which key, and what is believed of cuBLAS's process. */
#include "test.h"

#include "judge/baseline.h"
#include "judge/cublas.h"
#include "judge/kept.h"
#include "sandbox/base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char uuid[] = "GPU-6326d8be-bdf7-b892-6f5e-d9c0ccb14e18";

static struct device_properties h200(void)
{
	struct device_properties p = {.name = "NVIDIA H200", .driver = "13.0", .l2_bytes = 60 << 20};
	snprintf(p.uuid, sizeof p.uuid, "%s", uuid);
	return p;
}

/* ---- keys ---- */

TEST(key_of_a_product)
{
	struct device_properties p = h200();
	char key[400];
	baseline_key_cublas(&p, "13.1.0", &(struct gemm_shape){4, 8192, 4096}, key, sizeof key);
	CHECK_STR(key, "FP16 product by cuBLAS 13.1.0, M=4 N=8192 K=4096, on GPU-6326d8be-bdf7-b892-6f5e-d9c0ccb14e18 with driver 13.0");
}

TEST(key_of_a_reference)
{
	struct problem problem = {.id = "demo", .version = "0123"};
	struct case_spec spec = {.name = "M1"};
	struct grading g = {.problem = &problem, .gpu = h200()};
	struct case_report r = {.spec = &spec, .sizes = {2, {{"M", 1}, {"K", 64}}}};
	char key[400];
	baseline_key_reference(&g, &r, "4567", key, sizeof key);
	CHECK_STR(key, "reference.cu (4567) of demo (0123), case M1, M=1 K=64, on GPU-6326d8be-bdf7-b892-6f5e-d9c0ccb14e18 with driver 13.0");
}

/* ---- the files ---- */

static char folder[] = "/tmp/baseline-test-XXXXXX";
static char path[520];

static void begin(const char *key)
{
	struct err e = {0};
	CHECK(mkdtemp(folder));
	setenv("XDG_STATE_HOME", folder, 1);
	CHECK_MSG(kept_path(key, path, sizeof path, &e) == 0, "%s", e.text);
	CHECK(!strncmp(path, folder, strlen(folder)) && strstr(path, "/judge/times/"));
}

static void end(void)
{
	static const char *const below[] = {"/judge/times", "/judge", ""};
	unlink(path);
	for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
		char name[100];
		snprintf(name, sizeof name, "%s%s", folder, below[i]);
		CHECK_MSG(rmdir(name) == 0, "%s", name);	/* nothing else was left there */
	}
}

static const struct kept_time measured = {.us = 19.648, .low_us = 19.5, .high_us = 19.75, .spread = 0.03, .sets = 4, .passes = 200};

TEST(is_kept)
{
	struct kept_time back;
	struct err e = {0};
	struct stat st;
	begin("a key");
	CHECK(kept_load("a key", &back, &e) < 0);
	CHECK_MSG(kept_store("a key", &(struct kept_time){.us = 1, .low_us = 1, .high_us = 1, .sets = 1, .passes = 1}, &e) == 0, "%s", e.text);
	CHECK_MSG(kept_store("a key", &measured, &e) == 0, "%s", e.text);
	CHECK_MSG(kept_load("a key", &back, &e) == 0, "%s", e.text);
	CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0644);
	CHECK(back.us == measured.us && back.low_us == measured.low_us && back.high_us == measured.high_us && back.spread == measured.spread);
	CHECK(back.sets == 4 && back.passes == 200 && !back.disturbed);
	CHECK_EQ(strlen(back.when), strlen("2026-11-30T01:40:00Z"));
	CHECK(kept_load("another key", &back, &e) < 0);
	end();
}

static void put(const char *text)
{
	FILE *f = fopen(path, "w");
	CHECK(f && fputs(text, f) >= 0);
	fclose(f);
}

static const char *load(const char *key)
{
	static struct err e;
	struct kept_time t = {0};
	e = (struct err){0};
	if (kept_load(key, &t, &e) == 0)
		return "";
	CHECK(t.us == 0);
	return e.text;
}

/* What is stored, with one piece of it replaced. */
static const char *tampered(const char *from, const char *to)
{
	static char text[4096];
	struct err e = {0};
	CLEANUP_BUF struct buf whole = {0};
	CHECK(kept_store("a key", &measured, &e) == 0 && buf_read_file(&whole, path, 4000, &e) == 0);
	const char *at = strstr(buf_str(&whole), from);
	CHECK_MSG(at, "%s in %s", from, buf_str(&whole));
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - buf_str(&whole)), buf_str(&whole), to, at + strlen(from));
	put(text);
	return load("a key");
}

TEST(files_that_are_of_no_use)
{
	begin("a key");
	CHECK_STR(tampered("19.648", "19.7"), "");
	CHECK(strstr(tampered("a key", "another key"), "key: is of another time"));
	CHECK(strstr(tampered("\"format\": 1", "\"format\": 2"), "format"));
	CHECK(strstr(tampered("19.648", "0"), "us"));
	CHECK(strstr(tampered("19.648", "-19.648"), "us"));
	CHECK(strstr(tampered("19.648", "null"), "us"));
	CHECK(strstr(tampered("19.648", "21"), "high_us"));
	CHECK(strstr(tampered("19.648", "19"), "low_us"));
	CHECK(strstr(tampered("\"passes\": 200", "\"passes\": 0"), "passes"));
	CHECK(strstr(tampered("\"sets\"", "\"sests\""), "sests"));
	CHECK(strstr(tampered("Z\"", "\\u001b[2J\""), "when: is no date"));
	put("");
	CHECK(*load("a key"));
	put("[]");
	CHECK(strstr(load("a key"), "an object is expected"));
	put("{\"format\": 1");
	CHECK(*load("a key"));
	end();
}

/* ---- cuBLAS's process ---- */

static const char good[] = "{\"cublas\":\"13.1.0\",\"library\":\"/usr/lib/libcublas.so.13\",\"uuid\":\"GPU-6326d8be-bdf7-b892-6f5e-d9c0ccb14e18\","
			   "\"driver\":\"13.0\",\"sm_mhz\":[1965,1980],\"throttle\":0,"
			   "\"us\":[20,20,20,20.5,20,20,19.5,20,20,20,20,20,20,20,20,20,20,20,20,20,20,20]}\n";

static const char *parse(const char *text, struct kept_time *t)
{
	static struct err e;
	struct device_properties p = h200();
	struct cublas c;
	e = (struct err){0};
	*t = (struct kept_time){0};
	return cublas_parse(text, strlen(text), &p, &c, t, &e) < 0 ? e.text : "";
}

static const char *changed(const char *from, const char *to)
{
	static char text[1000];
	const char *at = strstr(good, from);
	CHECK_MSG(at, "%s", from);
	snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, to, at + strlen(from));
	return text;
}

TEST(times_of_a_product)
{
	struct kept_time t;
	CHECK_STR(parse(good, &t), "");
	CHECK(t.us == 20 && t.low_us == 20 && t.high_us == 20 && t.passes == 22 && !t.disturbed);
}

TEST(disturbed_times)
{
	struct kept_time t;
	CHECK_STR(parse(changed("\"throttle\":0", "\"throttle\":4"), &t), "");
	CHECK(t.disturbed);
	CHECK_STR(parse(changed("1965", "1365"), &t), "");
	CHECK(t.disturbed);
	CHECK_STR(parse(changed("[1965,1980]", "[0,0]"), &t), "");		/* not told */
	CHECK(!t.disturbed);
	CHECK_STR(parse(changed("[20,20,20,", "[40,40,40,"), &t), "");
	CHECK(t.disturbed && t.us == 20);
}

TEST(other_output)
{
	struct kept_time t;
	CHECK(strstr(parse(changed("d9c0", "d9c1"), &t), "it is of GPU-6326d8be-bdf7-b892-6f5e-d9c1ccb14e18 with driver 13.0, not of GPU-"));
	CHECK(strstr(parse(changed("\"driver\":\"13.0\"", "\"driver\":\"13.1\""), &t), "with driver 13.1, not of"));
	CHECK(strstr(parse(changed("20.5", "0"), &t), "us[3]: is no time"));
	CHECK(strstr(parse(changed("20.5", "-3"), &t), "us[3]: is no time"));
	CHECK(strstr(parse(changed("20.5", "null"), &t), "us[3]: is no time"));
	CHECK(strstr(parse(changed("20.5", "1e300"), &t), "us[3]: is no time"));
	CHECK(strstr(parse(changed("20,20,20,20.5,20,20,19.5,20,20,20,20,20,20,20,", ""), &t), "us: has 8 times"));
	CHECK(strstr(parse(changed("[1965,1980]", "[1965]"), &t), "sm_mhz: is not two clocks"));
	CHECK(strstr(parse(changed("[1965,1980]", "[\"a\",\"b\"]"), &t), "sm_mhz: is not two clocks"));
	CHECK(strstr(parse(changed("\"13.1.0\"", "\"\""), &t), "cublas: has 0 bytes"));
	CHECK(strstr(parse(changed("\"13.1.0\"", "\"13.1.0 with a long name that nobody gave it\""), &t), "cublas: has"));
	CHECK(strstr(parse(changed("/usr", "\\u001b[2J"), &t), "library: has unprintable characters"));
	CHECK(strstr(parse(changed("\"us\"", "\"ms\""), &t), "ms: no such field"));
	CHECK(strstr(parse(changed("}\n", "}{}"), &t), "what cuBLAS's process printed"));
	CHECK(*parse("", &t) && strstr(parse("[]", &t), "an object is expected"));
}

/* Asked where there is no GPU, it tells itself alone. */
TEST(found)
{
	struct cublas c;
	struct err e = {0};
	static const char text[] = "{\"cublas\":\"12.9.1\",\"library\":\"/usr/lib/libcublas.so.12\"}\n";
	CHECK_MSG(cublas_parse(text, strlen(text), NULL, &c, NULL, &e) == 0, "%s", e.text);
	CHECK_STR(c.version, "12.9.1");
	CHECK_STR(c.library, "/usr/lib/libcublas.so.12");
	CHECK(cublas_parse(good, strlen(good), NULL, &c, NULL, &e) < 0);
}
