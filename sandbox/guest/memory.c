/* Allocation, and the mirrors of host memory that kernels may touch; see guest.h. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, CHUNK = 64 << 10 };

/* Device memory that is known by its address, sorted: needed only where the device has no fixed range. */
static struct range {
	uint64_t addr, size;
} *ranges;
static size_t n_ranges, room_ranges;
static struct mirror *mirrors;

static size_t range_index(uint64_t addr)	/* the first that starts above addr */
{
	size_t lo = 0, hi = n_ranges;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (ranges[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void guest_know(uint64_t addr, uint64_t size)
{
	if (n_ranges == room_ranges) {
		room_ranges = room_ranges ? 2 * room_ranges : 64;
		ranges = realloc(ranges, room_ranges * sizeof *ranges);
		if (!ranges)
			guest_panic("out of host memory");
	}
	size_t i = range_index(addr);
	memmove(ranges + i + 1, ranges + i, (n_ranges++ - i) * sizeof *ranges);
	ranges[i] = (struct range){addr, size};
}

static void forget(uint64_t addr)
{
	size_t i = range_index(addr);
	if (i && ranges[i - 1].addr == addr) {
		memmove(ranges + i - 1, ranges + i, (n_ranges - i) * sizeof *ranges);
		n_ranges--;
	}
}

struct mirror *guest_mirror(uint64_t addr)
{
	for (struct mirror *m = mirrors; m; m = m->next)
		if (addr - (uint64_t)m->host < m->size)
			return m;
	return NULL;
}

bool guest_on_device(uint64_t addr)
{
	if (guest_mirror(addr))
		return false;
	if (addr - guest.device.base < guest.device.size)
		return true;
	size_t i = range_index(addr);
	return i && addr - ranges[i - 1].addr < ranges[i - 1].size;
}

/* ---- plain device memory ---- */

static cudaError_t allocate(size_t size, uint64_t *addr)
{
	struct wire_alloc m = {WIRE_ALLOC, 0, size};
	struct wire_reply r;
	cudaError_t e = guest_ask(&m, sizeof m, NULL, 0, &r, NULL, 0, NULL);
	*addr = e ? 0 : r.a;
	if (!e)
		guest_know(r.a, size);
	return e;
}

static cudaError_t release(uint64_t addr)
{
	struct wire_release m = {WIRE_RELEASE, 0, addr};
	struct wire_reply r;
	forget(addr);
	return guest_ask(&m, sizeof m, NULL, 0, &r, NULL, 0, NULL);
}

cudaError_t cudaMalloc(void **out, size_t size)
{
	uint64_t addr = 0;
	cudaError_t e = guest_ready();
	if (!e && !out)
		e = guest_local(cudaErrorInvalidValue);
	if (!e)
		e = guest_not_in_capture();
	if (!e && size)
		e = allocate(size, &addr);
	if (!e)
		*out = (void *)addr;
	return e;
}

static cudaError_t free_mirror(struct mirror *m);

cudaError_t cudaFree(void *p)
{
	cudaError_t e = guest_ready();
	if (!e)
		e = guest_not_in_capture();
	if (e || !p)
		return e;
	if (guest.busy && (e = guest_sync()))
		return e;
	struct mirror *m = guest_mirror((uint64_t)p);
	if (m)
		return m->kind == MIRROR_MANAGED && m->host == p ? free_mirror(m) : guest_local(cudaErrorInvalidValue);
	return release((uint64_t)p);
}

cudaError_t cudaMallocAsync(void **out, size_t size, cudaStream_t stream)
{
	bool ok;
	uint64_t addr = 0;
	cudaError_t e = guest_ready();
	guest_stream(stream, &ok);
	if (!e && (!ok || !out))
		e = guest_local(ok ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle);
	if (!e && size)
		e = allocate(size, &addr);
	if (!e)
		*out = (void *)addr;
	return e;
}
ALSO_PTSZ(cudaMallocAsync);

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
	bool ok;
	cudaError_t e = guest_ready();
	const struct CUstream_st *s = guest_stream(stream, &ok);
	if (e)
		return e;
	if (!s)
		return guest_local(cudaErrorInvalidResourceHandle);
	/* What a graph frees it needs again at its next launch: it keeps it. */
	if (!p || s->capture)
		return cudaSuccess;
	return release((uint64_t)p);	/* after the work before it: everything is in order */
}
ALSO_PTSZ(cudaFreeAsync);

cudaError_t cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
	size_t p = (width + 511) / 512 * 512, size;
	if (!out || !pitch || __builtin_mul_overflow(p, height, &size))
		return guest_local(cudaErrorInvalidValue);
	cudaError_t e = cudaMalloc(out, size);
	if (!e)
		*pitch = p;
	return e;
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *out, struct cudaExtent extent)
{
	size_t rows;
	if (!out || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return guest_local(cudaErrorInvalidValue);
	cudaError_t e = cudaMallocPitch(&out->ptr, &out->pitch, extent.width, rows);
	if (!e) {
		out->xsize = extent.width;
		out->ysize = extent.height;
	}
	return e;
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
	struct wire_plain m = {WIRE_MEMORY, 0};
	struct wire_reply r;
	cudaError_t e = guest_ready();
	if (!e)
		e = guest_ask(&m, sizeof m, NULL, 0, &r, NULL, 0, NULL);
	if (e)
		return e;
	if (available)
		*available = r.a;
	if (total)
		*total = r.b;
	return cudaSuccess;
}

/* ---- pieces of bulk data ---- */

bool guest_upload(uint64_t addr, const void *data, size_t size, bool last, cudaError_t *e)
{
	struct wire_reply r;
	size_t at = 0;
	do {
		size_t n = size - at < WIRE_PIECE ? size - at : WIRE_PIECE;
		struct wire_upload m = {WIRE_UPLOAD, last && at + n == size, addr + at};
		if (!guest_send(&m, sizeof m, (const char *)data + at, n)) {
			m.last = true;		/* close the sequence; the data is not there to be read */
			guest_tell(&m, sizeof m, NULL, 0);
			guest_reply(WIRE_UPLOAD, &r, NULL, 0, NULL);
			return false;
		}
		at += n;
	} while (at < size);
	if (last)
		*e = guest_reply(WIRE_UPLOAD, &r, NULL, 0, NULL);
	return true;
}

cudaError_t guest_download(uint64_t addr, size_t pitch, size_t width, size_t height, void *data)
{
	struct wire_download m = {WIRE_DOWNLOAD, 0, addr, pitch, width, height};
	struct wire_reply r = {0};
	size_t at = 0, total = width * height, got;
	cudaError_t e;
	guest_tell(&m, sizeof m, NULL, 0);
	do {
		size_t left = total - at;
		e = guest_reply(WIRE_DOWNLOAD, &r, (char *)data + at, left < WIRE_PIECE ? left : WIRE_PIECE, &got);
		at += e ? 0 : got;
	} while (!e && r.a);
	/* A bad host pointer ends the copy on this side only: take what is still on its way. */
	while (e && !r.error && r.a) {
		static char rest[WIRE_PIECE];
		guest_reply(WIRE_DOWNLOAD, &r, rest, sizeof rest, &got);
	}
	return e;
}

/* ---- mirrors ---- */

static char *page_down(uint64_t addr)
{
	return (char *)(addr & ~(uint64_t)(PAGE - 1));
}

/* Open the host's pages at a device address. */
static bool open_pages(uint64_t addr, size_t size)
{
	char *from = page_down(addr), *to = page_down(addr + size + PAGE - 1);
	size_t n = (size_t)(to - from);
	if (addr - guest.device.base < guest.device.size)
		return mprotect(from, n, PROT_READ | PROT_WRITE) == 0;
	return mmap(from, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == from;
}

static void add_mirror(enum mirror_kind kind, void *host, uint64_t device, size_t size, unsigned flags)
{
	struct mirror *m = guest_alloc(sizeof *m);
	*m = (struct mirror){kind, host, device, size, NULL, flags, mirrors};
	mirrors = m;
}

/* From now on kernels may touch it.  What the device holds is not known, so everything is to be pushed. */
static void begin_mirroring(struct mirror *m)
{
	cudaError_t e;
	m->shadow = guest_alloc(m->size);
	memcpy(m->shadow, m->host, m->size);
	guest_upload(m->device, m->host, m->size, true, &e);
}

/* Take a mirror out of the list; pages that were only its own are closed again. */
static void unlink_mirror(struct mirror *m)
{
	struct mirror **at = &mirrors;
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	char *from = page_down((uint64_t)m->host + PAGE - 1), *to = page_down((uint64_t)m->host + m->size);
	if (m->kind != MIRROR_REGISTERED && from < to)
		mmap(from, (size_t)(to - from), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	free(m->shadow);
	free(m);
}

static cudaError_t free_mirror(struct mirror *m)
{
	uint64_t device = m->device;
	unlink_mirror(m);
	return release(device);
}

void guest_forget_memory(bool variables)
{
	for (struct mirror *m = mirrors, *next; m; m = next) {
		next = m->next;
		if (m->kind != MIRROR_VARIABLE || variables)
			unlink_mirror(m);
	}
	if (variables)
		n_ranges = 0;
}

/* Bytes that the host changed go to the device, one stretch a chunk. */
static void push_chunk(struct mirror *m, size_t at, size_t n)
{
	cudaError_t e;
	size_t from = at, to = at + n;
	if (memcmp(m->host + at, m->shadow + at, n) == 0)
		return;
	while (m->host[from] == m->shadow[from])
		from++;
	while (m->host[to - 1] == m->shadow[to - 1])
		to--;
	memcpy(m->shadow + from, m->host + from, to - from);
	guest_upload(m->device + from, m->host + from, to - from, true, &e);
}

static bool is_managed(const struct mirror *m)
{
	return m->kind == MIRROR_MANAGED || m->kind == MIRROR_VARIABLE;
}

static bool mentions(const struct mirror *m, const void *params, size_t size)
{
	for (size_t i = 0; i + 8 <= size; i += 8) {
		uint64_t word;
		memcpy(&word, (const char *)params + i, sizeof word);
		if (word - m->device < m->size)
			return true;
	}
	return false;
}

void guest_push(const void *params, size_t size)
{
	for (struct mirror *m = mirrors; m; m = m->next) {
		/* Pinned memory is mostly for copies: it counts once a kernel is given a pointer into it. */
		if (!m->shadow && (is_managed(m) || mentions(m, params, size)))
			begin_mirroring(m);
		for (size_t at = 0; m->shadow && at < m->size; at += CHUNK)
			push_chunk(m, at, m->size - at < CHUNK ? m->size - at : CHUNK);
	}
}

/* What the device holds comes to the host, except where the host wrote since the push. */
static void pull_chunk(struct mirror *m, size_t at, size_t n)
{
	static char fresh[CHUNK];
	if (guest_download(m->device + at, n, n, 1, fresh) != cudaSuccess)
		return;
	if (memcmp(m->host + at, m->shadow + at, n) == 0) {
		memcpy(m->host + at, fresh, n);
	} else {
		for (size_t i = 0; i < n; i++)
			if (m->host[at + i] == m->shadow[at + i])
				m->host[at + i] = fresh[i];
	}
	memcpy(m->shadow + at, fresh, n);
}

void guest_pull(void)
{
	for (struct mirror *m = mirrors; m; m = m->next)
		for (size_t at = 0; m->shadow && at < m->size; at += CHUNK)
			pull_chunk(m, at, m->size - at < CHUNK ? m->size - at : CHUNK);
}

/* Host memory with a twin in device memory at the same address. */
static cudaError_t make_mirror(enum mirror_kind kind, void **out, size_t size, unsigned flags)
{
	uint64_t addr = 0;
	cudaError_t e = guest_ready();
	if (!e && !out)
		e = guest_local(cudaErrorInvalidValue);
	if (!e && size)
		e = allocate(size, &addr);
	if (!e && size) {
		if (!open_pages(addr, size)) {
			release(addr);
			return guest_local(cudaErrorMemoryAllocation);
		}
		add_mirror(kind, (void *)addr, addr, size, flags);
	}
	if (!e)
		*out = (void *)addr;
	return e;
}

cudaError_t guest_mirror_variable(uint64_t addr, size_t size, void **host)
{
	if (!open_pages(addr, size))
		return cudaErrorMemoryAllocation;
	cudaError_t e = guest_download(addr, size, size, 1, (void *)addr);
	*host = (void *)addr;
	add_mirror(MIRROR_VARIABLE, (void *)addr, addr, size, 0);
	mirrors->shadow = guest_alloc(size);
	memcpy(mirrors->shadow, (void *)addr, size);
	return e;
}

cudaError_t cudaMallocManaged(void **out, size_t size, unsigned flags)
{
	if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
		return guest_local(cudaErrorInvalidValue);
	return make_mirror(MIRROR_MANAGED, out, size, flags);
}

cudaError_t cudaHostAlloc(void **out, size_t size, unsigned flags)
{
	if (flags & ~(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
		return guest_local(cudaErrorInvalidValue);
	return make_mirror(MIRROR_PINNED, out, size, flags);
}

cudaError_t cudaMallocHost(void **out, size_t size)
{
	return cudaHostAlloc(out, size, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void *p)
{
	cudaError_t e = guest_ready();
	if (e || !p)
		return e;
	struct mirror *m = guest_mirror((uint64_t)p);
	if (!m || m->kind != MIRROR_PINNED || m->host != p)
		return guest_local(cudaErrorInvalidValue);
	if (guest.busy)
		e = guest_sync();
	return e ? e : free_mirror(m);
}

cudaError_t cudaHostRegister(void *p, size_t size, unsigned flags)
{
	uint64_t addr;
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (!p || !size)
		return guest_local(cudaErrorInvalidValue);
	if (guest_mirror((uint64_t)p))
		return guest_local(cudaErrorHostMemoryAlreadyRegistered);
	e = allocate(size, &addr);
	if (!e)
		add_mirror(MIRROR_REGISTERED, p, addr, size, flags);
	return e;
}

cudaError_t cudaHostUnregister(void *p)
{
	cudaError_t e = guest_ready();
	struct mirror *m = guest_mirror((uint64_t)p);
	if (e)
		return e;
	if (!m || m->kind != MIRROR_REGISTERED || m->host != p)
		return guest_local(cudaErrorHostMemoryNotRegistered);
	if (guest.busy)
		e = guest_sync();
	return e ? e : free_mirror(m);
}

cudaError_t cudaHostGetDevicePointer(void **out, void *p, unsigned flags)
{
	cudaError_t e = guest_ready();
	struct mirror *m = guest_mirror((uint64_t)p);
	if (e)
		return e;
	if (!out || !m || flags)
		return guest_local(cudaErrorInvalidValue);
	*out = (void *)(m->device + ((uint64_t)p - (uint64_t)m->host));
	return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *p)
{
	struct mirror *m = guest_mirror((uint64_t)p);
	if (!flags || !m || is_managed(m))
		return guest_local(cudaErrorInvalidValue);
	*flags = m->flags | cudaHostAllocMapped;
	return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *p)
{
	cudaError_t e = guest_ready();
	struct mirror *m = guest_mirror((uint64_t)p);
	if (e)
		return e;
	if (!out)
		return guest_local(cudaErrorInvalidValue);
	*out = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered, .device = -2, .hostPointer = (void *)p};
	if (m) {
		out->type = is_managed(m) ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
		out->device = 0;
		out->devicePointer = (void *)(m->device + ((uint64_t)p - (uint64_t)m->host));
	} else if (guest_on_device((uint64_t)p)) {
		*out = (struct cudaPointerAttributes){.type = cudaMemoryTypeDevice, .devicePointer = (void *)p};
	}
	return cudaSuccess;
}

/* ---- hints for managed memory: there is nothing to move ahead of time ---- */

static cudaError_t hint(const void *p)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	struct mirror *m = guest_mirror((uint64_t)p);
	return m && is_managed(m) ? cudaSuccess : guest_local(cudaErrorInvalidValue);
}

cudaError_t cudaMemPrefetchAsync(const void *p, size_t size, struct cudaMemLocation where, unsigned flags, cudaStream_t stream)
{
	(void)size, (void)where, (void)flags, (void)stream;
	return hint(p);
}
ALSO_PTSZ(cudaMemPrefetchAsync);

cudaError_t cudaMemAdvise(const void *p, size_t size, enum cudaMemoryAdvise advice, struct cudaMemLocation where)
{
	(void)size, (void)advice, (void)where;
	return hint(p);
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void *p, size_t size, unsigned flags)
{
	(void)stream, (void)size, (void)flags;
	return hint(p);
}
ALSO_PTSZ(cudaStreamAttachMemAsync);
