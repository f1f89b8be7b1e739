/* The emulated GPU as a device (device.h): memory with roles, faults, what was written, traffic, reset. */
#include "tests/unit/test.h"

#include "sandbox/device/device.h"

#include <stdlib.h>
#include <string.h>

static const char image[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".global .align 4 .u32 counter = 41;\n"
	/* dst[thread] = src[thread], and one more is counted */
	".visible .entry copy(.param .u64 dst, .param .u64 src, .param .u8 unused)\n{\n"
	"	.reg .u64 %rd<6>; .reg .u32 %r<6>;\n"
	"	ld.param.u64 %rd0, [dst]; ld.param.u64 %rd1, [src];\n"
	"	mov.u32 %r0, %tid.x; mul.wide.u32 %rd2, %r0, 4;\n"
	"	add.u64 %rd3, %rd1, %rd2; ld.global.u32 %r1, [%rd3];\n"
	"	add.u64 %rd4, %rd0, %rd2; st.global.u32 [%rd4], %r1;\n"
	"	setp.ne.u32 %p0, %r0, 0; @%p0 ret;\n"
	"	ld.global.u32 %r2, [counter]; add.u32 %r2, %r2, 1; st.global.u32 [counter], %r2;\n"
	"	ret;\n}\n";

struct copy {
	uint64_t dst, src;
	uint8_t unused;
};

static struct profile profile;
static struct device *device;
static const struct device_ops *const ops = &device_emulated;
static struct fault fault;

static char *with_predicate(void)
{
	/* The predicate's declaration, which the text above leaves to here. */
	char *text = malloc(sizeof image + 32);
	const char *at = strstr(image, ".reg .u64 %rd<6>;");
	if (!text || !at)
		abort();
	sprintf(text, "%.*s.reg .pred %%p<1>; %s", (int)(at - image), image, at);
	return text;
}

static void set_up(void)
{
	struct err e = {0};
	struct device_resources none;
	struct device_options o = {.profile = &profile, .threads = 1, .memory = 16 << 20, .checks = true};
	CHECK_MSG(profile_load("h200", &profile, &e) == 0, "%s", e.text);
	CHECK_MSG(ops->open(&o, &device, &e) == 0, "%s", e.text);
	char *text = with_predicate();
	CHECK_MSG(ops->load(device, text, strlen(text), &none, 0, &e) == 0, "%s", e.text);
	free(text);
}

static uint64_t allocate(uint64_t size, unsigned flags, const char *name)
{
	uint64_t addr;
	CHECK_EQ(ops->alloc(device, size, flags, name, &addr, &fault), 0);
	return addr;
}

static struct device_report launch(uint64_t dst, uint64_t src, uint32_t threads)
{
	struct copy p = {.dst = dst, .src = src};
	struct device_launch l = {.kernel = 0, .grid = {1, 1, 1}, .block = {threads, 1, 1}, .params = &p};
	struct device_report report = {0};
	struct err e = {0};
	CHECK_MSG(ops->launch(device, &l, &report, &e) == 0, "%s", e.text);
	return report;
}

static uint32_t word(uint64_t addr)
{
	uint32_t w;
	CHECK_EQ(ops->download(device, addr, &w, sizeof w, &fault), 0);
	return w;
}

TEST(describes_its_kernels)
{
	struct device_kernel k;
	struct device_properties p;
	set_up();
	CHECK_EQ(ops->kernel_count(device), 1);
	CHECK_EQ(ops->kernel(device, 0, &k), 0);
	CHECK_STR(k.name, "copy");
	CHECK_EQ(k.n_params, 3);
	CHECK_EQ(k.params[2].offset, 16);
	CHECK_EQ(k.params[2].size, 1);
	CHECK_EQ(k.param_bytes, 17);
	ops->properties(device, &p);
	CHECK_EQ(p.major, 9);
	CHECK_EQ(p.memory, 16 << 20);
	CHECK(p.emulated);
	ops->close(device);
}

TEST(copies_and_counts)
{
	uint32_t data[64];
	uint64_t first = 99, size, counter;
	set_up();
	for (uint32_t i = 0; i < 64; i++)
		data[i] = i * i;
	uint64_t src = allocate(256, 0, "src"), dst = allocate(256, DEVICE_POISON, "dst");
	CHECK_EQ(ops->upload(device, src, data, 256, &fault), 0);
	CHECK_EQ(ops->protect(device, src, DEVICE_READ_ONLY, &fault), 0);
	CHECK_EQ(word(dst), 0xffffffff);
	CHECK(!ops->written(device, dst, 256, &first));
	CHECK_EQ(first, 0);
	double before = ops->time_us(device);
	struct device_report r = launch(dst, src, 63);
	CHECK_MSG(r.fault.kind == FAULT_NONE, "%s", r.fault.detail);
	CHECK_EQ(r.counters.global_load_bytes, 63 * 4 + 4);
	CHECK(r.modelled.time_us > 0);
	CHECK(ops->time_us(device) >= before + r.modelled.time_us);
	device_report_free(&r);
	CHECK_EQ(word(dst + 62 * 4), 62 * 62);
	CHECK(!ops->written(device, dst, 256, &first));
	CHECK_EQ(first, 252);
	CHECK_EQ(ops->symbol(device, "counter", &counter, &size), 0);
	CHECK_EQ(size, 4);
	CHECK_EQ(word(counter), 42);
	CHECK_EQ(ops->symbol(device, "nothing", &counter, &size), -1);

	struct mem_traffic t[8];
	uint32_t n = ops->traffic(device, t, 8);
	uint64_t loaded = 0, stored = 0;
	for (uint32_t i = 0; i < n; i++) {
		loaded += strcmp(t[i].name, "src") == 0 ? t[i].load_bytes : 0;
		stored += strcmp(t[i].name, "dst") == 0 ? t[i].store_bytes : 0;
	}
	CHECK_EQ(loaded, 256);		/* in sectors */
	CHECK_EQ(stored, 256);
	ops->close(device);
}

TEST(faults)
{
	set_up();
	uint64_t a = allocate(128, DEVICE_ZERO, "a"), b = allocate(128, DEVICE_ZERO, "b");
	struct device_report r = launch(a, b, 33);
	CHECK_EQ(r.fault.kind, FAULT_OUT_OF_BOUNDS);
	CHECK_EQ(r.fault.thread[0], 32);
	CHECK_STR(r.fault.kernel, "copy");
	device_report_free(&r);
	CHECK_EQ(ops->protect(device, a, DEVICE_READ_ONLY, &fault), 0);
	r = launch(a, b, 1);
	CHECK_EQ(r.fault.kind, FAULT_READ_ONLY);
	device_report_free(&r);
	CHECK_EQ(ops->release(device, b, &fault), 0);
	r = launch(a, b, 1);
	CHECK_EQ(r.fault.kind, FAULT_USE_AFTER_FREE);
	device_report_free(&r);
	ops->close(device);
}

TEST(unwritten_memory_is_not_read)
{
	set_up();
	uint64_t a = allocate(128, 0, "a"), b = allocate(128, 0, "b");
	struct device_report r = launch(a, b, 1);
	CHECK_EQ(r.fault.kind, FAULT_UNINITIALISED_GLOBAL);
	device_report_free(&r);
	CHECK_EQ(ops->fill(device, b, 0x01020304, 4, 32, &fault), 0);
	r = launch(a, b, 32);
	CHECK_EQ(r.fault.kind, FAULT_NONE);
	device_report_free(&r);
	CHECK_EQ(word(a + 124), 0x01020304);
	ops->close(device);
}

TEST(host_side_bounds)
{
	char room[256] = {0};
	uint64_t a, b;
	set_up();
	a = allocate(100, 0, NULL);
	b = allocate(200, 0, NULL);
	CHECK_EQ(ops->upload(device, a, room, 101, &fault), -1);
	CHECK_EQ(fault.kind, FAULT_OUT_OF_BOUNDS);
	CHECK_EQ(ops->upload(device, a + 99, room, 1, &fault), 0);
	CHECK_EQ(ops->download(device, a - 1, room, 2, &fault), -1);
	CHECK_EQ(ops->copy(device, b, a, 101, &fault), -1);
	CHECK_EQ(ops->copy(device, a, b, 101, &fault), -1);
	CHECK_EQ(ops->fill(device, a, 0, 4, 26, &fault), -1);
	CHECK_EQ(ops->fill(device, a, 0, 4, ~0ull, &fault), -1);
	CHECK_EQ(ops->fill(device, a, 0, 1, 100, &fault), 0);
	CHECK_EQ(ops->download(device, 0, room, 1, &fault), -1);
	CHECK_EQ(ops->release(device, a + 1, &fault), -1);
	CHECK_EQ(fault.kind, FAULT_BAD_ARGUMENT);
	CHECK_EQ(ops->release(device, a, &fault), 0);
	CHECK_EQ(ops->release(device, a, &fault), -1);
	CHECK_EQ(ops->alloc(device, 17 << 20, 0, NULL, &a, &fault), -1);
	CHECK_EQ(fault.kind, FAULT_OUT_OF_MEMORY);
	ops->close(device);
}

TEST(reset_forgets_everything)
{
	uint64_t counter, size;
	set_up();
	uint64_t a = allocate(128, DEVICE_ZERO, "a"), b = allocate(128, DEVICE_ZERO, "b");
	struct device_report r = launch(a, b, 1);
	device_report_free(&r);
	CHECK_EQ(ops->symbol(device, "counter", &counter, &size), 0);
	CHECK_EQ(word(counter), 42);
	ops->reset(device);
	CHECK_EQ(ops->symbol(device, "counter", &counter, &size), 0);	/* it may have moved */
	CHECK_EQ(word(counter), 41);
	CHECK_EQ(ops->release(device, a, &fault), -1);
	CHECK_EQ(ops->time_us(device), 0);
	for (int i = 0; i < 100; i++) {		/* all memory is there again, each time */
		allocate(15 << 20, 0, "big");
		ops->reset(device);
	}
	ops->close(device);
}

TEST(other_device_code_is_refused_with_its_place)
{
	struct err e = {0};
	struct device_resources none;
	static const char bad[] = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n\tnonsense.u32 %r1;\n}\n";
	set_up();
	CHECK_EQ(ops->load(device, bad, strlen(bad), &none, 0, &e), -1);
	CHECK_EQ(e.kind, ERR_INPUT);
	CHECK_MSG(strstr(e.text, "6"), "%s", e.text);
	CHECK_EQ(ops->kernel_count(device), 0);
	ops->close(device);
}
