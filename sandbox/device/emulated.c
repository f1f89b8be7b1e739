/* The emulated GPU as a device: device.h over ptx/emu.h and ptx/mem.h. */
#include "device.h"

#include "../ptx/emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a copy between host and device is modelled to cost: a PCIe 5.0 x16 link. */
static const double link_gbs = 50;

struct device {
	struct emu *emu;
	struct mem *mem;
	struct emu_module *module;
	const struct profile *profile;
	uint64_t memory;
	double time_us;
	uint64_t *allocations;		/* of ops->alloc, not of module variables */
	size_t n, room;
};

static int emulated_open(const struct device_options *o, struct device **out, struct err *e)
{
	struct emu_options eo = {.threads = o->threads, .memory = o->memory, .budget = o->budget, .checks = o->checks,
				 .print = o->print, .user = o->user};
	struct emu *emu = emu_open(o->profile, &eo, e);
	if (!emu)
		return -1;
	struct device *d = calloc(1, sizeof *d);
	if (!d)
		BUG("out of memory");
	d->emu = emu;
	d->mem = emu_mem(emu);
	d->profile = emu_profile(emu);
	d->memory = o->memory;
	*out = d;
	return 0;
}

static void emulated_close(struct device *d)
{
	if (d->module)
		emu_unload(d->emu, d->module);
	emu_close(d->emu);
	free(d->allocations);
	free(d);
}

static void emulated_properties(struct device *d, struct device_properties *out)
{
	const struct profile *p = d->profile;
	uint32_t arch = (uint32_t)strtoul(p->arch, NULL, 10);
	/* Profiles know the bandwidth; programs compute it as 2 * memory clock * bus width. */
	uint32_t bus = p->dram_gbs > 4000 ? 6016 : p->dram_gbs > 1200 ? 5120 : 384;
	*out = (struct device_properties){
		.major = arch / 10, .minor = arch % 10, .sms = p->sms, .clock_khz = (uint32_t)(p->clock_ghz * 1e6),
		.memory_clock_khz = (uint32_t)(p->dram_gbs * 1e6 * 8 / (2 * bus)), .bus_bits = bus,
		.l2_bytes = p->l2_bytes, .shared_per_block = 48 << 10, .shared_per_block_optin = p->shared_per_block,
		.shared_per_sm = p->shared_per_sm, .shared_reserved = p->shared_reserved,
		.registers_per_block = p->registers_per_sm, .registers_per_sm = p->registers_per_sm,
		.threads_per_block = p->max_threads_per_block, .threads_per_sm = p->max_threads_per_sm,
		.blocks_per_sm = p->max_blocks_per_sm, .memory = d->memory < p->dram_bytes ? d->memory : p->dram_bytes,
		.emulated = true,
	};
	snprintf(out->name, sizeof out->name, "%.50s (emulated)", p->name);
}

static int emulated_load(struct device *d, const void *image, size_t size, const struct device_resources *r, uint32_t n,
			 struct err *e)
{
	struct emu_resources *er = calloc(n ? n : 1, sizeof *er);
	if (!er)
		BUG("out of memory");
	for (uint32_t i = 0; i < n; i++)
		er[i] = (struct emu_resources){r[i].name, r[i].registers, r[i].shared, r[i].stack, r[i].spill_store, r[i].spill_load};
	if (d->module)
		emu_unload(d->emu, d->module);
	d->module = emu_load(d->emu, image, size, er, n, e);
	free(er);
	return d->module ? 0 : -1;
}

static uint32_t emulated_kernel_count(struct device *d)
{
	return d->module ? emu_kernel_count(d->module) : 0;
}

static int emulated_kernel(struct device *d, uint32_t index, struct device_kernel *out)
{
	struct emu_kernel_info k;
	emu_kernel_info(emu_kernel_at(d->module, index), &k);
	if (k.n_params > sizeof out->params / sizeof *out->params || strlen(k.name) >= sizeof out->name)
		return -1;
	memset(out, 0, sizeof *out);
	snprintf(out->name, sizeof out->name, "%s", k.name);
	snprintf(out->pretty, sizeof out->pretty, "%s", k.pretty);
	out->n_params = k.n_params;
	out->param_bytes = k.param_bytes;
	for (unsigned i = 0; i < k.n_params; i++) {
		out->params[i].offset = k.params[i].offset;
		out->params[i].size = k.params[i].size;
	}
	out->registers = k.registers;
	out->shared_static = k.shared_static;
	out->local_bytes = k.local_bytes;
	out->max_threads = k.max_threads;
	return 0;
}

static int emulated_symbol(struct device *d, const char *name, uint64_t *addr, uint64_t *size)
{
	return d->module ? emu_symbol(d->module, name, addr, size) : -1;
}

/* ---- memory ---- */

static int bad(struct fault *f, uint32_t kind, uint64_t addr, const char *why)
{
	*f = (struct fault){.kind = kind, .has_address = true, .address = addr};
	snprintf(f->detail, sizeof f->detail, "%s", why);
	return -1;
}

static void *host(struct device *d, uint64_t addr, uint64_t size, struct fault *f)
{
	const char *why = "not device memory";
	void *p = mem_host(d->mem, addr, size, &why);
	if (!p)
		bad(f, FAULT_OUT_OF_BOUNDS, addr, why);
	return p;
}

static int emulated_poison(struct device *d, uint64_t addr, uint64_t size, struct fault *f)
{
	void *p = host(d, addr, size, f);
	if (!p)
		return -1;
	memset(p, 0xff, size);
	mem_mark_unwritten(d->mem, addr, size);
	return 0;
}

static int emulated_alloc(struct device *d, uint64_t size, unsigned flags, const char *name, uint64_t *addr, struct fault *f)
{
	unsigned mf = (flags & DEVICE_READ_ONLY ? MEM_READ_ONLY : 0u) | (flags & DEVICE_ZERO ? MEM_ZERO : 0u) |
		      (flags & DEVICE_DIRTY ? MEM_INITIALISED : 0u);
	if (mem_alloc(d->mem, size, mf, name, addr) < 0)
		return bad(f, FAULT_OUT_OF_MEMORY, 0, "device memory is exhausted");
	if (flags & DEVICE_POISON && emulated_poison(d, *addr, size, f) < 0)
		return -1;
	if (d->n == d->room) {
		d->room = d->room ? 2 * d->room : 64;
		d->allocations = realloc(d->allocations, d->room * sizeof *d->allocations);
		if (!d->allocations)
			BUG("out of memory");
	}
	d->allocations[d->n++] = *addr;
	return 0;
}

static int emulated_release(struct device *d, uint64_t addr, struct fault *f)
{
	size_t i = d->n;
	while (i && d->allocations[i - 1] != addr)
		i--;
	if (!i || mem_release(d->mem, addr) < 0)
		return bad(f, FAULT_BAD_ARGUMENT, addr, "not the start of an allocation");
	d->allocations[i - 1] = d->allocations[--d->n];
	return 0;
}

static int emulated_upload(struct device *d, uint64_t addr, const void *data, uint64_t size, struct fault *f)
{
	void *p = host(d, addr, size, f);
	if (!p)
		return -1;
	memcpy(p, data, size);
	mem_mark_written(d->mem, addr, size);
	d->time_us += (double)size / (link_gbs * 1e3);
	return 0;
}

static int emulated_download(struct device *d, uint64_t addr, void *data, uint64_t size, struct fault *f)
{
	const void *p = host(d, addr, size, f);
	if (!p)
		return -1;
	memcpy(data, p, size);
	d->time_us += (double)size / (link_gbs * 1e3);
	return 0;
}

static int emulated_copy(struct device *d, uint64_t dst, uint64_t src, uint64_t size, struct fault *f)
{
	void *to = host(d, dst, size, f);
	const void *from = to ? host(d, src, size, f) : NULL;
	if (!from)
		return -1;
	memmove(to, from, size);
	mem_mark_written(d->mem, dst, size);
	d->time_us += d->profile->launch_us + 2 * (double)size / (d->profile->dram_gbs * 1e3);
	return 0;
}

static int emulated_fill(struct device *d, uint64_t addr, uint64_t pattern, unsigned bytes, uint64_t count, struct fault *f)
{
	uint64_t size;
	if (__builtin_mul_overflow(count, (uint64_t)bytes, &size))
		return bad(f, FAULT_BAD_ARGUMENT, addr, "too large");
	char *p = host(d, addr, size, f);
	if (!p)
		return -1;
	if (bytes == 1) {
		memset(p, (int)(pattern & 0xff), size);
	} else {
		for (uint64_t i = 0; i < count; i++)
			memcpy(p + i * bytes, &pattern, bytes);	/* little-endian: the low bytes */
	}
	mem_mark_written(d->mem, addr, size);
	d->time_us += d->profile->launch_us + (double)size / (d->profile->dram_gbs * 1e3);
	return 0;
}

static int emulated_protect(struct device *d, uint64_t addr, unsigned flags, struct fault *f)
{
	unsigned mf = flags & DEVICE_READ_ONLY ? MEM_READ_ONLY : 0u;
	if (mem_protect(d->mem, addr, mf) < 0)
		return bad(f, FAULT_BAD_ARGUMENT, addr, "not the start of an allocation");
	return 0;
}

static bool emulated_written(struct device *d, uint64_t addr, uint64_t size, uint64_t *first)
{
	return mem_is_written(d->mem, addr, size, first);
}

static uint32_t emulated_traffic(struct device *d, struct mem_traffic *out, uint32_t max)
{
	return mem_traffic(d->mem, out, max);
}

static void emulated_range(struct device *d, uint64_t *base, uint64_t *size)
{
	*base = MEM_GLOBAL_BASE;
	*size = d->memory;
}

/* ---- launches ---- */

static int emulated_launch(struct device *d, const struct device_launch *l, struct device_report *out, struct err *e)
{
	struct emu_launch el = {.kernel = emu_kernel_at(d->module, l->kernel), .shared_dynamic = l->shared_dynamic,
				.params = l->params, .cooperative = l->cooperative};
	memcpy(el.grid, l->grid, sizeof el.grid);
	memcpy(el.block, l->block, sizeof el.block);
	struct emu_report r = {0};
	if (emu_launch(d->emu, &el, &r, e) < 0)
		return -1;
	out->fault = r.fault;
	out->counters = r.counters;
	out->modelled = r.modelled;
	out->occupancy = r.occupancy;
	out->n_lines = (uint32_t)r.n_lines;
	out->lines = calloc(r.n_lines ? r.n_lines : 1, sizeof *out->lines);
	if (!out->lines)
		BUG("out of memory");
	for (size_t i = 0; i < r.n_lines; i++) {
		const char *name = r.lines[i].file ? r.lines[i].file : "";
		const char *slash = strrchr(name, '/');
		snprintf(out->lines[i].file, sizeof out->lines[i].file, "%s", slash ? slash + 1 : name);
		out->lines[i].line = r.lines[i].line;
		out->lines[i].counters = r.lines[i].counters;
	}
	emu_report_free(&r);
	d->time_us += out->modelled.time_us;
	return 0;
}

static uint32_t emulated_occupancy(struct device *d, uint32_t kernel, uint32_t threads, uint32_t shared_dynamic)
{
	return emu_occupancy(d->emu, emu_kernel_at(d->module, kernel), threads, shared_dynamic);
}

static void emulated_flush(struct device *d)
{
	emu_flush_caches(d->emu);
}

static void emulated_reset(struct device *d)
{
	d->n = 0;
	emu_reset(d->emu, d->module);
	d->time_us = 0;
}

static double emulated_time_us(struct device *d)
{
	return d->time_us;
}

void device_report_free(struct device_report *r)
{
	free(r->lines);
	r->lines = NULL;
	r->n_lines = 0;
}

const struct device_ops device_emulated = {
	.name = "emulated",
	.open = emulated_open, .close = emulated_close, .properties = emulated_properties, .load = emulated_load,
	.kernel_count = emulated_kernel_count, .kernel = emulated_kernel, .symbol = emulated_symbol,
	.alloc = emulated_alloc, .release = emulated_release, .upload = emulated_upload, .download = emulated_download,
	.copy = emulated_copy, .fill = emulated_fill, .protect = emulated_protect, .poison = emulated_poison, .written = emulated_written,
	.launch = emulated_launch, .occupancy = emulated_occupancy, .traffic = emulated_traffic, .flush = emulated_flush,
	.reset = emulated_reset, .time_us = emulated_time_us, .range = emulated_range,
};
