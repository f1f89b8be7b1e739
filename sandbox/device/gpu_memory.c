/* Memory of the GPU device: allocations with guard zones, copies, poison.
 *
 * Theory of operation.  Each allocation has an address range of its own, with unmapped pages on both sides, and lies at
 * the end of its pages: what a kernel reads or writes past the end (beyond the padding to 256 bytes) meets no memory, and
 * the hardware says so.  What is left of the pages, before it and as padding behind it, is filled with a pattern that
 * audit() looks at.  After many allocations, which only whole programs make, plain memory is used, since each of these
 * takes at least one large page.
 *
 * An address from a guest is used only if it lies in an allocation or in a variable of the module: the driver would take
 * addresses of this process's own memory as well.
 */
#include "gpu_impl.h"

#include "../base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 256, GUARD = 0xa5, GUARD_LOOK = 64 << 10, GUARDED_MAX = 1024, PIECE = 1 << 20 };

static int bad(struct fault *f, uint32_t kind, uint64_t addr, const char *why)
{
	*f = (struct fault){.kind = kind, .has_address = true, .address = addr};
	snprintf(f->detail, sizeof f->detail, "%s", why);
	return -1;
}

static int done(struct device *d, CUresult r, struct fault *f)
{
	if (r == CUDA_SUCCESS)
		r = d->cu.cuStreamSynchronize(d->stream);
	if (r == CUDA_SUCCESS)
		return 0;
	gpu_fault(d, r, f);
	return -1;
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static const struct gpu_allocation *containing(const struct device *d, uint64_t addr, uint64_t size)
{
	for (size_t i = d->n; i-- > 0;) {
		const struct gpu_allocation *a = &d->allocations[i];
		if (addr >= a->addr && addr - a->addr <= a->size && size <= a->size - (addr - a->addr))
			return a;
	}
	return NULL;
}

/* Not the one that ends there: plain memory has neighbours. */
static const struct gpu_allocation *starting_at(const struct device *d, uint64_t addr)
{
	for (size_t i = d->n; i-- > 0;)
		if (d->allocations[i].addr == addr)
			return &d->allocations[i];
	return NULL;
}

static bool known(const struct device *d, uint64_t addr, uint64_t size)
{
	if (containing(d, addr, size))
		return true;
	for (uint32_t i = 0; i < d->n_ranges; i++) {
		const struct gpu_range *m = &d->ranges[i];
		if (addr >= m->addr && addr - m->addr <= m->size && size <= m->size - (addr - m->addr))
			return true;
	}
	return false;
}

static int check(struct device *d, uint64_t addr, uint64_t size, struct fault *f)
{
	if (d->failed != CUDA_SUCCESS) {
		gpu_fault(d, d->failed, f);
		return -1;
	}
	return known(d, addr, size) ? 0 : bad(f, FAULT_OUT_OF_BOUNDS, addr, "not device memory");
}

/* ---- allocations ---- */

static CUresult set_access(struct device *d, const struct gpu_allocation *a, bool writable)
{
	CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->id},
				  .flags = writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ};
	return d->cu.cuMemSetAccess(a->mapped, a->mapped_size, &access, 1);
}

static void unmap(struct device *d, const struct gpu_allocation *a)
{
	if (!a->reserved) {
		d->cu.cuMemFree(a->addr);
		return;
	}
	if (a->mapped)
		d->cu.cuMemUnmap(a->mapped, a->mapped_size);
	if (a->handle)
		d->cu.cuMemRelease(a->handle);
	d->cu.cuMemAddressFree(a->reserved, a->reserved_size);
}

static CUresult map(struct device *d, struct gpu_allocation *a)
{
	uint64_t g = d->granularity;
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->id}};
	a->mapped_size = round_up(a->size, g);
	a->reserved_size = a->mapped_size + 2 * g;
	CUresult r = d->cu.cuMemAddressReserve(&a->reserved, a->reserved_size, g, 0, 0);
	if (r != CUDA_SUCCESS)
		return r;
	r = d->cu.cuMemCreate(&a->handle, a->mapped_size, &prop, 0);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuMemMap(a->reserved + g, a->mapped_size, 0, a->handle, 0);
	if (r == CUDA_SUCCESS) {
		a->mapped = a->reserved + g;
		r = set_access(d, a, true);
	}
	a->addr = a->mapped + a->mapped_size - round_up(a->size, ALIGNMENT);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuMemsetD8Async(a->mapped, GUARD, a->addr - a->mapped, d->stream);
	if (r == CUDA_SUCCESS && a->size % ALIGNMENT)
		r = d->cu.cuMemsetD8Async(a->addr + a->size, GUARD, round_up(a->size, ALIGNMENT) - a->size, d->stream);
	if (r != CUDA_SUCCESS)
		unmap(d, a);
	return r;
}

static void remember(struct device *d, const struct gpu_allocation *a)
{
	if (d->n == d->room) {
		d->room = d->room ? 2 * d->room : 64;
		d->allocations = realloc(d->allocations, d->room * sizeof *d->allocations);
		if (!d->allocations)
			BUG("out of memory");
	}
	d->allocations[d->n++] = *a;
}

int gpu_alloc(struct device *d, uint64_t size, unsigned flags, const char *name, uint64_t *addr, struct fault *f)
{
	struct gpu_allocation a = {.size = size};
	CUresult r = d->failed;
	snprintf(a.name, sizeof a.name, "%s", name ? name : "");
	if (r == CUDA_SUCCESS)
		r = d->options.checks && d->n < GUARDED_MAX ? map(d, &a) : d->cu.cuMemAlloc(&a.addr, size);
	if (r == CUDA_ERROR_OUT_OF_MEMORY)
		return bad(f, FAULT_OUT_OF_MEMORY, 0, "device memory is exhausted");
	if (done(d, r, f) < 0)
		return -1;
	remember(d, &a);
	*addr = a.addr;
	if (flags & DEVICE_POISON)
		return gpu_poison(d, a.addr, size, f);
	return flags & DEVICE_ZERO ? gpu_fill(d, a.addr, 0, 1, size, f) : 0;
}

int gpu_release(struct device *d, uint64_t addr, struct fault *f)
{
	size_t i = d->n;
	while (i && d->allocations[i - 1].addr != addr)
		i--;
	if (!i)
		return bad(f, FAULT_BAD_ARGUMENT, addr, "not the start of an allocation");
	if (d->failed == CUDA_SUCCESS)
		unmap(d, &d->allocations[i - 1]);
	d->allocations[i - 1] = d->allocations[--d->n];
	return 0;
}

void gpu_release_all(struct device *d)
{
	while (d->n)
		unmap(d, &d->allocations[--d->n]);
}

/* Read-only pages where the hardware has them; where not, the judge compares the inputs afterwards. */
int gpu_protect(struct device *d, uint64_t addr, unsigned flags, struct fault *f)
{
	const struct gpu_allocation *a = starting_at(d, addr);
	if (!a)
		return bad(f, FAULT_BAD_ARGUMENT, addr, "not the start of an allocation");
	if (a->reserved)
		set_access(d, a, !(flags & DEVICE_READ_ONLY));
	return 0;
}

/* ---- copies ---- */

int gpu_upload(struct device *d, uint64_t addr, const void *data, uint64_t size, struct fault *f)
{
	if (check(d, addr, size, f) < 0)
		return -1;
	return done(d, size ? d->cu.cuMemcpyHtoDAsync(addr, data, size, d->stream) : CUDA_SUCCESS, f);
}

int gpu_download(struct device *d, uint64_t addr, void *data, uint64_t size, struct fault *f)
{
	if (check(d, addr, size, f) < 0)
		return -1;
	return done(d, size ? d->cu.cuMemcpyDtoHAsync(data, addr, size, d->stream) : CUDA_SUCCESS, f);
}

int gpu_copy(struct device *d, uint64_t dst, uint64_t src, uint64_t size, struct fault *f)
{
	if (check(d, dst, size, f) < 0 || check(d, src, size, f) < 0)
		return -1;
	return done(d, size ? d->cu.cuMemcpyDtoDAsync(dst, src, size, d->stream) : CUDA_SUCCESS, f);
}

CUresult gpu_enqueue_fill(struct device *d, uint64_t addr, uint64_t pattern, unsigned bytes, uint64_t count)
{
	if (!count)
		return CUDA_SUCCESS;
	if (bytes == 1)
		return d->cu.cuMemsetD8Async(addr, (unsigned char)pattern, count, d->stream);
	if (bytes == 2)
		return d->cu.cuMemsetD16Async(addr, (unsigned short)pattern, count, d->stream);
	return d->cu.cuMemsetD32Async(addr, (unsigned)pattern, count, d->stream);
}

int gpu_fill(struct device *d, uint64_t addr, uint64_t pattern, unsigned bytes, uint64_t count, struct fault *f)
{
	uint64_t size;
	if (__builtin_mul_overflow(count, (uint64_t)bytes, &size))
		return bad(f, FAULT_BAD_ARGUMENT, addr, "too large");
	if (check(d, addr, size, f) < 0)
		return -1;
	return done(d, gpu_enqueue_fill(d, addr, pattern, bytes, count), f);
}

/* ---- poison and guards ---- */

int gpu_poison(struct device *d, uint64_t addr, uint64_t size, struct fault *f)
{
	CUresult r = CUDA_SUCCESS;
	if (check(d, addr, size, f) < 0)
		return -1;
	if (size >= 4)
		r = d->cu.cuMemsetD32Async(addr, d->poison, size / 4, d->stream);
	for (uint64_t i = size / 4 * 4; i < size && r == CUDA_SUCCESS; i++)
		r = d->cu.cuMemsetD8Async(addr + i, (unsigned char)(d->poison >> 8 * (i % 4)), 1, d->stream);
	return done(d, r, f);
}

/* The offset of the first whole word of poison that is left, or of a poisoned tail; size if there is none. */
static uint64_t find_poison(uint32_t poison, const unsigned char *data, uint64_t size)
{
	for (uint64_t i = 0; i < size; i += 4)
		if (memcmp(data + i, &poison, size - i < 4 ? (size_t)(size - i) : 4) == 0)
			return i;
	return size;
}

bool gpu_written(struct device *d, uint64_t addr, uint64_t size, uint64_t *first)
{
	struct fault f;
	CLEANUP_FREE unsigned char *data = malloc(PIECE);
	if (!data)
		BUG("out of memory");
	for (uint64_t at = 0; at < size; at += PIECE) {
		uint64_t n = size - at < PIECE ? size - at : PIECE;
		if (gpu_download(d, addr + at, data, n, &f) < 0)
			return true;		/* the fault is told elsewhere */
		uint64_t i = find_poison(d->poison, data, n);
		if (i < n) {
			*first = at + i;
			return false;
		}
	}
	return true;
}

/* Bytes of the range that are no longer the guard's: their number, and the offset of the first. */
static CUresult look(struct device *d, CUdeviceptr from, uint64_t size, unsigned char *data, uint64_t *first, uint64_t *changed)
{
	CUresult r = d->cu.cuMemcpyDtoHAsync(data, from, size, d->stream);
	if (r == CUDA_SUCCESS)
		r = d->cu.cuStreamSynchronize(d->stream);
	*changed = 0;
	for (uint64_t i = size; i-- > 0 && r == CUDA_SUCCESS;)
		if (data[i] != GUARD) {
			*first = i;
			++*changed;
		}
	return r;
}

static int overrun(struct fault *f, const struct gpu_allocation *a, uint64_t address, uint64_t bytes, const char *where, uint64_t away)
{
	*f = (struct fault){.kind = FAULT_OUT_OF_BOUNDS, .has_address = true, .address = address};
	snprintf(f->detail, sizeof f->detail, "%llu byte%s written outside of %s%s, from %llu bytes %s on", (unsigned long long)bytes,
		 bytes == 1 ? "" : "s", *a->name ? a->name : "memory that was allocated",
		 *a->name ? "" : " by the program", (unsigned long long)away, where);
	return -1;
}

static int audit_one(struct device *d, const struct gpu_allocation *a, unsigned char *data, struct fault *f)
{
	uint64_t before = a->addr - a->mapped, first = 0, changed = 0;
	uint64_t after = round_up(a->size, ALIGNMENT) - a->size;
	CUresult r = CUDA_SUCCESS;
	if (after)
		r = look(d, a->addr + a->size, after, data, &first, &changed);
	if (r == CUDA_SUCCESS && changed)
		return overrun(f, a, a->addr + a->size + first, changed, "past its end", first);
	if (before > GUARD_LOOK)
		before = GUARD_LOOK;
	if (r == CUDA_SUCCESS && before)
		r = look(d, a->addr - before, before, data, &first, &changed);
	if (r == CUDA_SUCCESS && changed)
		return overrun(f, a, a->addr - before + first, changed, "before its start", before - first);
	if (r != CUDA_SUCCESS)
		gpu_fault(d, r, f);
	return r == CUDA_SUCCESS ? 0 : -1;
}

int gpu_audit(struct device *d, struct fault *f)
{
	CLEANUP_FREE unsigned char *data = malloc(GUARD_LOOK);
	if (!data)
		BUG("out of memory");
	for (size_t i = 0; i < d->n && d->failed == CUDA_SUCCESS; i++)
		if (d->allocations[i].reserved && audit_one(d, &d->allocations[i], data, f) < 0)
			return -1;
	if (d->failed == CUDA_SUCCESS)
		return 0;
	gpu_fault(d, d->failed, f);	/* of a copy, say: such a run is not done */
	return -1;
}
