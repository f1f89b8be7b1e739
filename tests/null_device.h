/* A device without a GPU: host memory, and kernels that are host functions.  It stands in for the emulated GPU in tests
 * of the protocol, the guest runtime and the session, so that these are proven by themselves.
 */
#ifndef TESTS_NULL_DEVICE_H
#define TESTS_NULL_DEVICE_H

#include "sandbox/device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NULL_BLOCKS = 256 };

struct null_block {
	uint64_t addr, size;
	unsigned flags;
	unsigned char *written;
};

struct device {
	struct device_options options;
	struct null_block blocks[NULL_BLOCKS];
	unsigned n;
	uint64_t used, next;
	char variable_image[64];
	uint64_t variable;
};

static const uint64_t null_base = 0x110000000000, null_room = 1ull << 30;

static int null_open(const struct device_options *o, struct device **out, struct err *e)
{
	struct device *d = calloc(1, sizeof *d);
	if (mmap((void *)null_base, null_room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
		 -1, 0) == MAP_FAILED)
		return err_errno(e, "cannot reserve memory");
	d->options = *o;
	d->next = null_base + 4096;
	*out = d;
	return 0;
}

static void null_reset(struct device *d)
{
	for (unsigned i = 0; i < d->n; i++)
		free(d->blocks[i].written);
	d->n = 0;
	d->used = 0;
	d->next = null_base + 4096;
}

static void null_close(struct device *d)
{
	null_reset(d);
	munmap((void *)null_base, null_room);
	free(d);
}

static void null_properties(struct device *d, struct device_properties *out)
{
	*out = (struct device_properties){.name = "null", .major = 9, .sms = 4, .shared_per_block = 49152, .shared_per_block_optin = 232448,
					  .registers_per_block = 65536, .registers_per_sm = 65536, .threads_per_block = 1024,
					  .threads_per_sm = 2048, .blocks_per_sm = 32, .memory = d->options.memory, .emulated = true};
}

/* The image says how loading goes. */
static int null_load(struct device *d, const void *image, size_t size, const struct device_resources *r, uint32_t n, struct err *e)
{
	(void)d, (void)r, (void)n;
	if (size >= 5 && memcmp(image, "crash", 5) == 0)
		abort();
	while (size >= 6 && memcmp(image, "greedy", 6) == 0)
		memset(malloc(64 << 20), 1, 64 << 20);
	if (size < 2 || memcmp(image, "ok", 2) != 0)
		return err_input(e, "t.cu:7: that instruction is not supported");
	return 0;
}

static const struct null_kernel {
	const char *name;
	uint32_t n, bytes, sizes[5];
} null_kernels[] = {
	{"add", 5, 32, {8, 8, 8, 4, 4}},	/* c[i] = a[i] + scale * b[i], int n, float scale */
	{"wild", 1, 8, {8}},			/* out of bounds */
	{"hang", 0, 0, {0}},
	{"crash", 0, 0, {0}},
	{"hello", 1, 4, {4}},			/* printf("hello %d\n", i) */
	{"increment", 2, 12, {8, 4}},		/* p[i]++ */
};

static uint32_t null_count(struct device *d)
{
	(void)d;
	return sizeof null_kernels / sizeof *null_kernels;
}

static int null_kernel(struct device *d, uint32_t i, struct device_kernel *out)
{
	const struct null_kernel *k = &null_kernels[i];
	(void)d;
	memset(out, 0, sizeof *out);
	snprintf(out->name, sizeof out->name, "%s", k->name);
	snprintf(out->pretty, sizeof out->pretty, "%s", k->name);
	out->n_params = k->n;
	out->param_bytes = k->bytes;
	out->registers = 32;
	for (uint32_t j = 0, at = 0; j < k->n; at += k->sizes[j++]) {
		out->params[j].offset = at;
		out->params[j].size = k->sizes[j];
	}
	return 0;
}

static struct null_block *null_find(struct device *d, uint64_t addr, uint64_t size)
{
	for (unsigned i = 0; i < d->n; i++)
		if (addr >= d->blocks[i].addr && size <= d->blocks[i].size && addr - d->blocks[i].addr <= d->blocks[i].size - size)
			return &d->blocks[i];
	return NULL;
}

static int null_fail(struct fault *f, uint32_t kind)
{
	*f = (struct fault){.kind = kind};
	return -1;
}

static int null_alloc(struct device *d, uint64_t size, unsigned flags, const char *name, uint64_t *addr, struct fault *f)
{
	(void)name;
	if (d->n == NULL_BLOCKS || size > d->options.memory - d->used || size > null_base + null_room - 8192 - d->next)
		return null_fail(f, FAULT_OUT_OF_MEMORY);
	struct null_block *b = &d->blocks[d->n++];
	*b = (struct null_block){d->next, size, flags, calloc(1, size)};
	d->used += size;
	d->next = (d->next + size + 4096 + 255) / 256 * 256;
	memset((void *)b->addr, flags & DEVICE_POISON ? 0xff : 0, size);
	*addr = b->addr;
	return 0;
}

static int null_release(struct device *d, uint64_t addr, struct fault *f)
{
	struct null_block *b = null_find(d, addr, 1);
	if (!b || b->addr != addr)
		return null_fail(f, FAULT_BAD_ARGUMENT);
	d->used -= b->size;
	free(b->written);
	*b = d->blocks[--d->n];
	return 0;
}

static int null_symbol(struct device *d, const char *name, uint64_t *addr, uint64_t *size)
{
	struct fault f;
	if (strcmp(name, "variable") != 0)
		return -1;
	if (!null_find(d, d->variable, 64) && null_alloc(d, 64, 0, NULL, &d->variable, &f) < 0)
		return -1;
	*addr = d->variable;
	*size = 64;
	return 0;
}

static void null_mark(struct device *d, uint64_t addr, uint64_t size)
{
	struct null_block *b = null_find(d, addr, size);
	memset(b->written + (addr - b->addr), 1, size);
}

static int null_upload(struct device *d, uint64_t addr, const void *data, uint64_t size, struct fault *f)
{
	if (!null_find(d, addr, size))
		return null_fail(f, FAULT_OUT_OF_BOUNDS);
	memcpy((void *)addr, data, size);
	null_mark(d, addr, size);
	return 0;
}

static int null_download(struct device *d, uint64_t addr, void *data, uint64_t size, struct fault *f)
{
	if (!null_find(d, addr, size))
		return null_fail(f, FAULT_OUT_OF_BOUNDS);
	memcpy(data, (void *)addr, size);
	return 0;
}

static int null_copy(struct device *d, uint64_t dst, uint64_t src, uint64_t size, struct fault *f)
{
	if (!null_find(d, dst, size) || !null_find(d, src, size))
		return null_fail(f, FAULT_OUT_OF_BOUNDS);
	memmove((void *)dst, (void *)src, size);
	null_mark(d, dst, size);
	return 0;
}

static int null_fill(struct device *d, uint64_t addr, uint64_t pattern, unsigned bytes, uint64_t count, struct fault *f)
{
	uint64_t size;
	if (__builtin_mul_overflow(count, (uint64_t)bytes, &size) || !null_find(d, addr, size))
		return null_fail(f, FAULT_OUT_OF_BOUNDS);
	for (uint64_t i = 0; i < count; i++)
		memcpy((char *)addr + i * bytes, &pattern, bytes);
	null_mark(d, addr, size);
	return 0;
}

static int null_protect(struct device *d, uint64_t addr, unsigned flags, struct fault *f)
{
	struct null_block *b = null_find(d, addr, 1);
	if (!b)
		return null_fail(f, FAULT_BAD_ARGUMENT);
	b->flags = flags;
	return 0;
}

static int null_poison(struct device *d, uint64_t addr, uint64_t size, struct fault *f)
{
	struct null_block *b = null_find(d, addr, size);
	(void)f;
	memset(b->written + (addr - b->addr), 0, size);
	return 0;
}

static bool null_written(struct device *d, uint64_t addr, uint64_t size, uint64_t *first)
{
	struct null_block *b = null_find(d, addr, size);
	for (uint64_t i = 0; i < size; i++)
		if (!b->written[addr - b->addr + i]) {
			*first = i;
			return false;
		}
	return true;
}

static int null_launch(struct device *d, const struct device_launch *l, struct device_report *out, struct err *e)
{
	struct {
		uint64_t a, b, c;
		int n;
		float scale;
	} p = {0};
	struct fault *f = &out->fault;
	char text[32];
	(void)e;
	memcpy(&p, l->params, null_kernels[l->kernel].bytes);
	out->counters.instructions = 1;
	out->modelled.time_us = 5;
	switch (l->kernel) {
	case 0:
		if (p.n < 0 || !null_find(d, p.a, (uint64_t)p.n * 4) || !null_find(d, p.b, (uint64_t)p.n * 4) ||
		    !null_find(d, p.c, (uint64_t)p.n * 4)) {
			null_fail(f, FAULT_OUT_OF_BOUNDS);
			break;
		}
		for (int i = 0; i < p.n; i++)
			((float *)p.c)[i] = ((float *)p.a)[i] + p.scale * ((float *)p.b)[i];
		null_mark(d, p.c, (uint64_t)p.n * 4);
		break;
	case 1:
		null_fail(f, FAULT_OUT_OF_BOUNDS);
		snprintf(f->kernel, sizeof f->kernel, "wild");
		break;
	case 2:
		for (;;)
			sleep(1);
		break;
	case 3:
		abort();
	case 4:
		d->options.print(d->options.user, text, (size_t)snprintf(text, sizeof text, "hello %d\n", (int)p.a));
		break;
	case 5:
		for (int i = 0; i < (int)p.b; i++)
			((int *)p.a)[i]++;
		null_mark(d, p.a, (p.b & 0xffffffff) * 4);
		break;
	}
	return 0;
}

static uint32_t null_occupancy(struct device *d, uint32_t kernel, uint32_t threads, uint32_t shared)
{
	(void)d, (void)kernel, (void)shared;
	return 2048 / threads;
}

static uint32_t null_traffic(struct device *d, struct mem_traffic *out, uint32_t max)
{
	(void)d, (void)out, (void)max;
	return 0;
}

static void null_flush(struct device *d)
{
	(void)d;
}

static double null_time(struct device *d)
{
	(void)d;
	return 1;
}

static void null_range(struct device *d, uint64_t *base, uint64_t *size)
{
	(void)d;
	*base = null_base;
	*size = null_room;
}

static const struct device_ops null_device = {
	.name = "null", .open = null_open, .close = null_close, .properties = null_properties, .load = null_load,
	.kernel_count = null_count, .kernel = null_kernel, .symbol = null_symbol, .alloc = null_alloc, .release = null_release,
	.upload = null_upload, .download = null_download, .copy = null_copy, .fill = null_fill, .protect = null_protect,
	.written = null_written, .poison = null_poison, .launch = null_launch, .occupancy = null_occupancy, .traffic = null_traffic,
	.flush = null_flush, .reset = null_reset, .time_us = null_time, .range = null_range,
};

#endif
