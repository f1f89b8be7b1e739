/* The GPU device without a GPU: gpu*.c against the driver of stub_cuda.c. */
#include "test.h"

#include "sandbox/device/gpu_impl.h"
#include "stub_cuda.h"

#include <string.h>

/* ---- kernels ---- */

static void copy(void **p)		/* y, x, n bytes */
{
	memmove(*(char **)p[0], *(char **)p[1], *(unsigned *)p[2]);
}

static void add(void **p)		/* y, n words: one more each time */
{
	for (unsigned i = 0; i < *(unsigned *)p[1]; i++)
		(*(unsigned **)p[0])[i]++;
}

static void touch(void **p)		/* one byte written */
{
	**(volatile char **)p[0] = 1;
}

const struct stub_kernel stub_kernels[] = {
	{"_Z4copyPcPKcj", copy, 3, {8, 8, 4}}, {"add", add, 2, {8, 4}}, {"touch", touch, 1, {8}}, {0},
};
enum { COPY, ADD, TOUCH };

/* ---- a device with an image ---- */

static char printed[64];

static void print(void *user, const char *text, size_t size)
{
	(void)user;
	strncat(printed, text, size);
}

static struct device *open_device(bool guards)
{
	struct device_options o = {.library = NULL, .checks = guards, .print = print};
	struct device *d = NULL;
	struct err e = {0};
	CHECK_EQ(device_gpu.open(&o, &d, &e), 0);
	CHECK_EQ(device_gpu.load(d, "image", 5, NULL, 0, &e), 0);
	return d;
}

static uint64_t alloc(struct device *d, uint64_t size, unsigned flags)
{
	struct fault f = {0};
	uint64_t addr = 0;
	CHECK_EQ(device_gpu.alloc(d, size, flags, "y", &addr, &f), 0);
	CHECK(addr % 256 == 0);
	return addr;
}

static struct fault launch(struct device *d, unsigned kernel, const void *params)
{
	struct device_launch l = {.kernel = kernel, .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = params};
	struct device_report r = {0};
	struct err e = {0};
	CHECK_EQ(device_gpu.launch(d, &l, &r, &e), 0);
	return r.fault;
}

static struct fault touch_at(struct device *d, uint64_t addr)
{
	return launch(d, TOUCH, &addr);
}

TEST(kernels_are_found_with_their_parameters)
{
	struct device *d = open_device(true);
	struct device_kernel k;
	CHECK_EQ(device_gpu.kernel_count(d), 3u);
	CHECK_EQ(device_gpu.kernel(d, COPY, &k), 0);
	CHECK_STR(k.name, "_Z4copyPcPKcj");
	CHECK_STR(k.pretty, "copy");
	CHECK_EQ(k.n_params, 3u);
	CHECK_EQ(k.param_bytes, 20u);
	CHECK_EQ(k.params[2].offset, 16u);
	device_gpu.close(d);
}

TEST(image_that_does_not_load_is_refused)
{
	struct device *d = open_device(true);
	struct err e = {0};
	stub.refuse_image = 1;
	CHECK_EQ(device_gpu.load(d, "image", 5, NULL, 0, &e), -1);
	CHECK_EQ((int)e.kind, (int)ERR_INPUT);
	CHECK_EQ(device_gpu.load(d, "image", 5, NULL, 0, &e), 0);
	device_gpu.close(d);
}

TEST(a_kernel_moves_bytes)
{
	struct device *d = open_device(true);
	struct fault f = {0};
	uint64_t x = alloc(d, 1000, 0), y = alloc(d, 1000, DEVICE_POISON), first = 0;
	char in[1000], out[1000];
	memset(in, 3, sizeof in);
	CHECK_EQ(device_gpu.upload(d, x, in, sizeof in, &f), 0);
	CHECK_EQ(device_gpu.protect(d, x, DEVICE_READ_ONLY, &f), 0);
	CHECK(!device_gpu.written(d, y, 1000, &first));
	CHECK_EQ(first, 0u);
	struct { uint64_t y, x; uint32_t n; } params = {y, x, 1000};
	CHECK_EQ(launch(d, COPY, &params).kind, (uint32_t)FAULT_NONE);
	CHECK(device_gpu.written(d, y, 1000, &first));
	CHECK_EQ(device_gpu.download(d, y, out, sizeof out, &f), 0);
	CHECK(!memcmp(in, out, sizeof in));
	CHECK_EQ(device_gpu.audit(d, &f), 0);
	device_gpu.close(d);
}

TEST(what_is_left_of_the_poison_is_found)
{
	struct device *d = open_device(true);
	uint64_t first = 0, x = alloc(d, 64, DEVICE_ZERO), y = alloc(d, 63, DEVICE_POISON);
	struct { uint64_t y, x; uint32_t n; } params = {y, x, 40};
	launch(d, COPY, &params);
	CHECK(!device_gpu.written(d, y, 63, &first));
	CHECK_EQ(first, 40u);
	params.n = 60;
	launch(d, COPY, &params);
	CHECK(!device_gpu.written(d, y, 63, &first));	/* the tail of three bytes */
	CHECK_EQ(first, 60u);
	params.n = 63;
	launch(d, COPY, &params);
	CHECK(device_gpu.written(d, y, 63, &first));
	device_gpu.close(d);
}

TEST(guard_zones_tell_what_pages_do_not)
{
	struct device *d = open_device(true);
	struct fault f = {0};
	uint64_t y = alloc(d, 100, 0);
	CHECK_EQ(touch_at(d, y + 100).kind, (uint32_t)FAULT_NONE);
	CHECK_EQ(device_gpu.audit(d, &f), -1);
	CHECK_EQ(f.kind, (uint32_t)FAULT_OUT_OF_BOUNDS);
	CHECK_EQ(f.address, y + 100);
	CHECK_STR(f.detail, "1 byte written outside of y, from 0 bytes past its end on");
	device_gpu.reset(d);
	y = alloc(d, 100, 0);
	touch_at(d, y - 3);
	CHECK_EQ(device_gpu.audit(d, &f), -1);
	CHECK_STR(f.detail, "1 byte written outside of y, from 3 bytes before its start on");
	device_gpu.close(d);
}

TEST(past_the_padding_there_is_no_memory)
{
	struct device *d = open_device(true);
	struct fault f = {0};
	uint64_t y = alloc(d, 256, 0), out = 0;
	f = touch_at(d, y + 256);
	CHECK_EQ(f.kind, (uint32_t)FAULT_OUT_OF_BOUNDS);
	CHECK_STR(f.kernel, "touch");
	CHECK(device_gpu.broken(d));
	/* sticky: nothing works any more */
	CHECK_EQ(touch_at(d, y).kind, (uint32_t)FAULT_OUT_OF_BOUNDS);
	CHECK_EQ(device_gpu.download(d, y, &out, 8, &f), -1);
	CHECK_EQ(device_gpu.alloc(d, 8, 0, "x", &out, &f), -1);
	device_gpu.close(d);
}

TEST(inputs_lie_on_read_only_pages)
{
	struct device *d = open_device(true);
	struct fault f;
	uint64_t x = alloc(d, 256, 0);
	CHECK_EQ(device_gpu.protect(d, x, DEVICE_READ_ONLY, &f), 0);
	CHECK_EQ(touch_at(d, x).kind, (uint32_t)FAULT_OUT_OF_BOUNDS);
	device_gpu.close(d);
}

TEST(addresses_that_are_no_device_memory_are_refused)
{
	struct device *d = open_device(true);
	struct fault f = {0};
	char secret[16] = "ours";
	uint64_t y = alloc(d, 64, DEVICE_ZERO), at, size;
	CHECK_EQ(device_gpu.download(d, (uint64_t)secret, secret, 4, &f), -1);
	CHECK_EQ(f.kind, (uint32_t)FAULT_OUT_OF_BOUNDS);
	CHECK_EQ(device_gpu.upload(d, y + 60, secret, 8, &f), -1);
	CHECK_EQ(device_gpu.copy(d, y, y + 64, 1, &f), -1);
	CHECK_EQ(device_gpu.fill(d, y, 0, 4, 1ull << 62, &f), -1);
	CHECK_EQ(device_gpu.fill(d, y, 0, 4, ~0ull, &f), -1);
	CHECK_EQ(device_gpu.download(d, y - 1, secret, 2, &f), -1);
	CHECK_EQ(device_gpu.download(d, ~0ull - 3, secret, 8, &f), -1);
	/* a variable of the module is device memory once it was asked for */
	CHECK_EQ(device_gpu.symbol(d, "nothing", &at, &size), -1);
	CHECK_EQ(device_gpu.symbol(d, "variable", &at, &size), 0);
	CHECK_EQ(device_gpu.download(d, at, secret, 8, &f), 0);
	CHECK_EQ(device_gpu.download(d, at + size - 7, secret, 8, &f), -1);
	device_gpu.close(d);
}

TEST(reset_forgets_memory_and_loads_the_image_anew)
{
	struct device *d = open_device(true);
	struct fault f = {0};
	uint64_t y = alloc(d, 64, 0), at, size;
	unsigned modules = stub.modules;
	char one = 1, back = 0;
	device_gpu.symbol(d, "variable", &at, &size);
	device_gpu.upload(d, at, &one, 1, &f);
	device_gpu.reset(d);
	CHECK_EQ(stub.modules, modules + 1);
	CHECK_EQ(device_gpu.download(d, y, &back, 1, &f), -1);
	device_gpu.symbol(d, "variable", &at, &size);
	CHECK_EQ(device_gpu.download(d, at, &back, 1, &f), 0);
	CHECK_EQ((int)back, 7);
	device_gpu.close(d);
}

TEST(out_of_memory_is_told_and_leaves_the_device_whole)
{
	struct device *d = open_device(true);
	struct fault f = {0};
	uint64_t y;
	CHECK_EQ(device_gpu.alloc(d, 1ull << 33, 0, "y", &y, &f), -1);
	CHECK_EQ(f.kind, (uint32_t)FAULT_OUT_OF_MEMORY);
	CHECK(!device_gpu.broken(d));
	alloc(d, 64, 0);
	device_gpu.close(d);
}

TEST(launch_that_the_driver_refuses_is_not_sticky)
{
	struct device *d = open_device(true);
	uint64_t y = alloc(d, 64, 0);
	struct device_launch l = {.kernel = TOUCH, .grid = {5000, 1, 1}, .block = {32, 1, 1}, .params = &y};
	struct device_report r = {0};
	struct err e = {0};
	CHECK_EQ(device_gpu.launch(d, &l, &r, &e), 0);
	CHECK_EQ(r.fault.kind, (uint32_t)FAULT_BAD_LAUNCH);
	CHECK(!device_gpu.broken(d));
	device_gpu.close(d);
}

/* Hardware that fails is no verdict on a program. */
TEST(defect_is_our_own_failure)
{
	struct device *d = open_device(true);
	uint64_t y = alloc(d, 64, 0);
	struct device_launch l = {.kernel = TOUCH, .grid = {1, 1, 1}, .block = {32, 1, 1}, .params = &y};
	struct device_report r = {0};
	struct err e = {0};
	stub.launch_error = CUDA_ERROR_ECC_UNCORRECTABLE;
	CHECK_EQ(device_gpu.launch(d, &l, &r, &e), -1);
	CHECK_EQ((int)e.kind, (int)ERR_SYSTEM);
	CHECK(device_gpu.broken(d));
	CHECK_EQ(device_gpu.launch(d, &l, &r, &e), -1);
	device_gpu.close(d);
}

TEST(unknown_error_stays)
{
	struct device *d = open_device(true);
	struct fault f = {0};
	uint64_t y = alloc(d, 64, 0);
	stub.launch_error = CUDA_ERROR_UNKNOWN;
	CHECK(touch_at(d, y).kind != (uint32_t)FAULT_NONE);
	CHECK(device_gpu.broken(d));
	CHECK_EQ(device_gpu.audit(d, &f), -1);
	device_gpu.close(d);
}

/* ---- tapes ---- */

static void *keep(const void *data, size_t size)
{
	void *p = malloc(size);
	memcpy(p, data, size);
	return p;
}

/* One more in every word of y; before it, where there is a prepare, y is what x holds. */
static void add_tape(struct device *d, uint64_t y, uint64_t x, uint32_t words)
{
	struct { uint64_t y; uint32_t n; } add_params = {y, words};
	struct { uint64_t y, x; uint32_t n; } copy_params = {y, x, 4 * words};
	struct device_step *steps = calloc(2, sizeof *steps);
	struct err e = {0};
	uint32_t n = 0;
	if (x)
		steps[n++] = (struct device_step){.kind = STEP_LAUNCH, .prepare = true, .data = keep(&copy_params, sizeof copy_params),
						  .launch = {.kernel = COPY, .grid = {1, 1, 1}, .block = {1, 1, 1}}};
	steps[n++] = (struct device_step){.kind = STEP_LAUNCH, .data = keep(&add_params, sizeof add_params),
					  .launch = {.kernel = ADD, .grid = {1, 1, 1}, .block = {1, 1, 1}}};
	CHECK_EQ(device_gpu.tape_add(d, steps, n, &e), 0);
}

static unsigned word(struct device *d, uint64_t addr)
{
	struct fault f = {0};
	unsigned v = ~0u;
	CHECK_EQ(device_gpu.download(d, addr, &v, 4, &f), 0);
	return v;
}

TEST(replay_does_every_tape_once)
{
	struct device *d = open_device(true);
	struct device_replay r;
	struct fault f = {0};
	struct err e = {0};
	uint64_t y[3];
	for (int i = 0; i < 3; i++)
		add_tape(d, y[i] = alloc(d, 64, DEVICE_ZERO), 0, 16);
	for (unsigned pass = 1; pass <= 7; pass++) {
		CHECK_EQ(device_gpu.replay(d, -1, &r, &f, &e), 0);
		CHECK(r.us > 0 && f.kind == FAULT_NONE);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(word(d, y[i]), pass);
	}
	CHECK_EQ(device_gpu.replay(d, 1, &r, &f, &e), 0);
	CHECK_EQ(word(d, y[0]), 7u);
	CHECK_EQ(word(d, y[1]), 8u);
	CHECK_EQ(device_gpu.replay(d, 3, &r, &f, &e), -1);
	device_gpu.close(d);
}

/* Each patch of an input changes its mapping twice, which empties the TLB; what a replay measures is kernels whose weights have
 * been where they are for long. */
TEST(replay_has_every_page_translated)
{
	enum { PAGE = 64 << 10 };
	struct device *d = open_device(true);
	struct device_replay r;
	struct fault f = {0};
	struct err e = {0};
	uint64_t x = alloc(d, 3 * PAGE + 4, 0), y = alloc(d, 64, DEVICE_ZERO);
	add_tape(d, y, x, 16);
	CHECK_EQ(device_gpu.protect(d, x, DEVICE_READ_ONLY, &f), 0);
	CHECK(!stub_translates(x) && !stub_translates(y));
	CHECK_EQ(device_gpu.replay(d, 0, &r, &f, &e), 0);
	for (uint64_t at = 0; at < 3 * PAGE + 4; at += 256)
		CHECK(stub_translates(x + at));
	CHECK(stub_translates(y));
	CHECK_EQ(device_gpu.protect(d, x, 0, &f), 0);
	CHECK(!stub_translates(y));
	CHECK_EQ(device_gpu.replay(d, -1, &r, &f, &e), 0);
	CHECK(stub_translates(x) && stub_translates(y));
	device_gpu.close(d);
}

TEST(replay_prepare_does_only_what_prepare_did)
{
	struct device *d = open_device(true);
	struct device_replay r;
	struct fault f = {0};
	struct err e = {0};
	unsigned five = 5;
	uint64_t x = alloc(d, 4, 0), y = alloc(d, 4, DEVICE_ZERO);
	device_gpu.upload(d, x, &five, 4, &f);
	add_tape(d, y, x, 1);
	CHECK_EQ(device_gpu.replay_prepare(d, -1, &f, &e), 0);
	CHECK_EQ(word(d, y), 5u);
	CHECK_EQ(device_gpu.replay(d, -1, &r, &f, &e), 0);
	CHECK_EQ(device_gpu.replay(d, -1, &r, &f, &e), 0);
	CHECK_EQ(word(d, y), 7u);
	device_gpu.close(d);
}

TEST(copies_and_fills_are_replayed)
{
	struct device *d = open_device(true);
	struct device_replay r;
	struct fault f = {0};
	struct err e = {0};
	const unsigned host = 41;
	uint64_t y = alloc(d, 16, DEVICE_ZERO);
	struct device_step *s = calloc(4, sizeof *s);
	s[0] = (struct device_step){.kind = STEP_UPLOAD, .dst = y, .size = 4, .data = keep(&host, 4)};
	s[1] = (struct device_step){.kind = STEP_COPY, .dst = y + 4, .src = y, .size = 4};
	s[2] = (struct device_step){.kind = STEP_FILL, .dst = y + 8, .size = 8, .pattern = 9, .pattern_bytes = 4};
	s[3] = (struct device_step){.kind = STEP_DOWNLOAD, .src = y, .size = 16};
	CHECK_EQ(device_gpu.tape_add(d, s, 4, &e), 0);
	CHECK_EQ(device_gpu.replay(d, -1, &r, &f, &e), 0);
	CHECK_EQ(word(d, y), 41u);
	CHECK_EQ(word(d, y + 4), 41u);
	CHECK_EQ(word(d, y + 12), 9u);
	device_gpu.close(d);
}

TEST(fault_in_a_replay_is_told)
{
	struct device *d = open_device(true);
	struct device_replay r;
	struct fault f = {0};
	struct err e = {0};
	uint64_t y = alloc(d, 64, DEVICE_ZERO);
	add_tape(d, y, 0, 1000000);
	CHECK_EQ(device_gpu.replay(d, -1, &r, &f, &e), 0);
	CHECK_EQ(f.kind, (uint32_t)FAULT_OUT_OF_BOUNDS);
	CHECK(device_gpu.broken(d));
	device_gpu.close(d);
}

TEST(reset_forgets_tapes)
{
	struct device *d = open_device(true);
	struct device_replay r;
	struct fault f = {0};
	struct err e = {0};
	add_tape(d, alloc(d, 64, DEVICE_ZERO), 0, 1);
	device_gpu.reset(d);
	CHECK_EQ(device_gpu.replay(d, -1, &r, &f, &e), -1);
	CHECK_EQ(device_gpu.replay_prepare(d, -1, &f, &e), -1);
	device_gpu.close(d);
}

TEST(tensor_maps)
{
	struct device *d = open_device(true);
	struct device_tensor_map m = {.rank = 2, .dim = {8, 8}};
	struct fault f = {0};
	char map[DEVICE_TENSOR_MAP];
	CHECK_EQ(device_gpu.tensor_map(d, &m, map, &f), 0);
	CHECK_EQ((int)map[100], 2);
	m.dim[0] = 0;
	CHECK_EQ(device_gpu.tensor_map(d, &m, map, &f), -1);
	CHECK_EQ(f.kind, (uint32_t)FAULT_BAD_ARGUMENT);
	device_gpu.close(d);
}

TEST(without_guards_memory_is_plain)
{
	struct device *d = open_device(false);
	struct fault f = {0};
	uint64_t y = alloc(d, 100, 0);
	touch_at(d, y + 100);
	CHECK_EQ(device_gpu.audit(d, &f), 0);
	device_gpu.close(d);
}
