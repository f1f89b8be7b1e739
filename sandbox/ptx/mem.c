/* The device's global memory: allocations and the host's side of them; see mem.h.
 *
 * Three ranges of host memory are reserved and made accessible as allocations need them: the data, a bit a byte that
 * tells what was written, and a record a line of who touched it (mem_lines.c).  Addresses grow from the start; a range is
 * used again only when the end is reached, so that a stale pointer meets released memory for as long as possible.
 */
#include "mem_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ALIGN = 256, GUARD = 4096, PAGE = 4096 };

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

static void *reserve(uint64_t size)
{
	void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void unreserve(void *p, uint64_t size)
{
	if (p)
		munmap(p, size);
}

/* The data, the bitmap and the records of `room` bytes of device memory, all or nothing. */
static bool reserve_all(struct mem *m, uint64_t room)
{
	m->room = room;
	m->base = reserve(room);
	m->written = reserve(room / 8);
	m->lines = reserve(room / LINE * mem_line_bytes());
	if (m->base && m->written && m->lines)
		return true;
	unreserve(m->base, room);
	unreserve(m->written, room / 8);
	unreserve(m->lines, room / LINE * mem_line_bytes());
	m->base = NULL;
	return false;
}

struct mem *mem_new(const struct mem_options *o, struct err *e)
{
	struct mem *m = calloc(1, sizeof *m);
	if (!m) {
		err_system(e, "emulated memory: out of memory");
		return NULL;
	}
	uint64_t least = round_up(o->limit + o->limit / 4 + (64u << 20), 1 << 20);
	uint64_t room = o->limit < (1ull << 40) ? 4 * least : least;
	if (room < 1ull << 35)
		room = 1ull << 35;
	while (!reserve_all(m, room)) {
		if (room == least) {
			err_errno(e, "emulated memory: cannot reserve %llu MiB of address space (raise the limit on "
				  "virtual memory, or give the device less memory)", (unsigned long long)(room >> 20));
			free(m);
			return NULL;
		}
		room = room / 2 > least ? room / 2 / PAGE * PAGE : least;
	}
	m->limit = o->limit;
	m->checks = o->checks;
	m->top = GUARD;
	m->version = 1;
	m->race = NO_LINE;
	pthread_rwlock_init(&m->lock, NULL);
	pthread_mutex_init(&m->launch_lock, NULL);
	return m;
}

void mem_free(struct mem *m)
{
	if (!m)
		return;
	mem_launch_end(m, NULL, NULL);
	unreserve(m->base, m->room);
	unreserve(m->written, m->room / 8);
	unreserve(m->lines, m->room / LINE * mem_line_bytes());
	for (size_t i = 0; i < m->n_allocs; i++)
		free(m->allocs[i]);
	free(m->allocs);
	free(m->touched);
	pthread_rwlock_destroy(&m->lock);
	pthread_mutex_destroy(&m->launch_lock);
	free(m);
}

/* ---- the table of allocations ---- */

/* Index of the first allocation that starts beyond addr. */
static size_t after(const struct mem *m, uint64_t addr)
{
	size_t lo = 0, hi = m->n_allocs;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (m->allocs[mid]->addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct mem_alloc *mem_find(const struct mem *m, uint64_t addr)
{
	size_t i = after(m, addr);
	if (!i)
		return NULL;
	struct mem_alloc *a = m->allocs[i - 1];
	return addr - a->addr < a->size ? a : NULL;
}

static struct mem_alloc *find_live(const struct mem *m, uint64_t addr)
{
	struct mem_alloc *a = mem_find(m, addr);
	if (a && a->live)
		return a;
	size_t i = after(m, addr);		/* of size 0: found by its start alone */
	return i && m->allocs[i - 1]->addr == addr && m->allocs[i - 1]->live ? m->allocs[i - 1] : NULL;
}

/* Bytes an allocation takes with the guard zone behind it. */
static uint64_t extent(uint64_t size)
{
	return round_up(size ? size : 1, ALIGN) + GUARD;
}

/* Offset of a gap of `need` bytes: at the end while there is room, then the lowest that no live allocation uses. */
static bool find_gap(const struct mem *m, uint64_t need, uint64_t *offset)
{
	if (m->room - m->top >= need) {
		*offset = m->top;
		return true;
	}
	uint64_t at = GUARD;
	for (size_t i = 0; i < m->n_allocs; i++) {
		const struct mem_alloc *a = m->allocs[i];
		if (!a->live)
			continue;
		if (a->addr - MEM_GLOBAL_BASE - at >= need)
			break;
		at = a->addr - MEM_GLOBAL_BASE + extent(a->size);
	}
	*offset = at;
	return m->room - at >= need;
}

/* Released allocations are remembered until their place is needed. */
static void forget_released(struct mem *m, uint64_t from, uint64_t to)
{
	size_t n = 0;
	for (size_t i = 0; i < m->n_allocs; i++) {
		struct mem_alloc *a = m->allocs[i];
		if (!a->live && a->addr < to && a->addr + extent(a->size) > from)
			free(a);
		else
			m->allocs[n++] = a;
	}
	m->n_allocs = n;
}

/* Make [from, to) of one of the ranges accessible and zero. */
static int open_pages(void *range, uint64_t from, uint64_t to)
{
	uint64_t first = from / PAGE * PAGE, end = round_up(to, PAGE);
	return mprotect((unsigned char *)range + first, end - first, PROT_READ | PROT_WRITE);
}

static void clear(void *range, uint64_t from, uint64_t to)
{
	unsigned char *p = range;
	uint64_t first = round_up(from, PAGE), end = to / PAGE * PAGE;
	if (first >= end) {
		memset(p + from, 0, to - from);
		return;
	}
	memset(p + from, 0, first - from);
	madvise(p + first, end - first, MADV_DONTNEED);
	memset(p + end, 0, to - end);
}

static int open_range(struct mem *m, uint64_t from, uint64_t to)
{
	uint64_t line = mem_line_bytes();
	if (open_pages(m->base, from, to) || open_pages(m->written, from / 8, to / 8) ||
	    open_pages(m->lines, from / LINE * line, to / LINE * line))
		return -1;
	clear(m->base, from, to);
	clear(m->written, from / 8, to / 8);
	return 0;
}

static struct mem_alloc *insert(struct mem *m, uint64_t addr)
{
	if (m->n_allocs == m->room_allocs) {
		size_t room = m->room_allocs ? 2 * m->room_allocs : 64;
		struct mem_alloc **grown = realloc(m->allocs, room * sizeof *grown);
		if (!grown)
			return NULL;
		m->allocs = grown;
		m->room_allocs = room;
	}
	struct mem_alloc *a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	size_t i = after(m, addr);
	memmove(&m->allocs[i + 1], &m->allocs[i], (m->n_allocs - i) * sizeof *m->allocs);
	m->allocs[i] = a;
	m->n_allocs++;
	a->addr = addr;
	return a;
}

static int alloc_locked(struct mem *m, uint64_t size, unsigned flags, const char *name, uint64_t *addr)
{
	uint64_t offset;
	if (size > m->limit || m->used + size > m->limit || !find_gap(m, extent(size), &offset))
		return -1;
	uint64_t end = offset + extent(size) - GUARD;
	if (offset < m->top)
		forget_released(m, MEM_GLOBAL_BASE + offset, MEM_GLOBAL_BASE + offset + extent(size));
	if (open_range(m, offset, end))
		return -1;
	struct mem_alloc *a = insert(m, MEM_GLOBAL_BASE + offset);
	if (!a)
		return -1;
	a->size = size;
	a->flags = flags;
	a->live = true;
	a->prefix = flags ? size : 0;
	if (name)
		snprintf(a->name, sizeof a->name, "%s", name);
	m->used += size;
	if (offset + extent(size) > m->top)
		m->top = offset + extent(size);
	*addr = a->addr;
	return 0;
}

int mem_alloc(struct mem *m, uint64_t size, unsigned flags, const char *name, uint64_t *addr)
{
	pthread_rwlock_wrlock(&m->lock);
	int rc = alloc_locked(m, size, flags, name, addr);
	pthread_rwlock_unlock(&m->lock);
	return rc;
}

static void kill(struct mem *m, struct mem_alloc *a)
{
	a->live = false;
	m->used -= a->size;
	m->version++;
	uint64_t from = a->addr - MEM_GLOBAL_BASE, to = from + round_up(a->size, ALIGN);
	clear(m->base, from, to);
	clear(m->written, from / 8, to / 8);
}

int mem_release(struct mem *m, uint64_t addr)
{
	pthread_rwlock_wrlock(&m->lock);
	struct mem_alloc *a = find_live(m, addr);
	int rc = a && a->addr == addr ? 0 : -1;
	if (!rc)
		kill(m, a);
	pthread_rwlock_unlock(&m->lock);
	return rc;
}

/* Nothing of before is remembered: stale pointers into another case are mere wild ones. */
void mem_release_all(struct mem *m)
{
	pthread_rwlock_wrlock(&m->lock);
	for (size_t i = 0; i < m->n_allocs; i++) {
		if (m->allocs[i]->live)
			kill(m, m->allocs[i]);
		free(m->allocs[i]);
	}
	m->n_allocs = 0;
	m->top = GUARD;
	m->version++;
	pthread_rwlock_unlock(&m->lock);
}

int mem_protect(struct mem *m, uint64_t addr, unsigned flags)
{
	pthread_rwlock_wrlock(&m->lock);
	struct mem_alloc *a = find_live(m, addr);
	int rc = a && a->addr == addr ? 0 : -1;
	if (!rc) {
		if ((a->flags | flags) & (MEM_READ_ONLY | MEM_INITIALISED))
			a->prefix = a->size;
		a->flags = flags;
		m->version++;
	}
	pthread_rwlock_unlock(&m->lock);
	return rc;
}

uint64_t mem_used(const struct mem *m)
{
	return m->used;
}

/* ---- the host's view ---- */

void *mem_host(struct mem *m, uint64_t addr, uint64_t size, const char **why)
{
	struct mem_alloc *a = mem_find(m, addr);
	if (!a)
		a = find_live(m, addr);
	if (!a)
		*why = "not an address of device memory";
	else if (!a->live)
		*why = "the memory was freed";
	else if (size > a->size - (addr - a->addr))
		*why = "the range runs past the end of its allocation";
	else
		return mem_at(m, addr);
	return NULL;
}

bool mem_range(const struct mem *m, uint64_t addr, uint64_t *lo, uint64_t *hi, bool *read_only)
{
	const struct mem_alloc *a = mem_find(m, addr);
	if (!a || !a->live)
		return false;
	*lo = a->addr;
	*hi = a->addr + a->size;
	*read_only = a->flags & MEM_READ_ONLY;
	return true;
}

static void set_bits(struct mem *m, uint64_t from, uint64_t to, bool on)
{
	while (from < to) {
		uint64_t line = from / LINE, end = (line + 1) * LINE < to ? (line + 1) * LINE : to;
		u128 mask = line_bits(from % LINE, end - line * LINE);
		m->written[line] = on ? m->written[line] | mask : m->written[line] & ~mask;
		from = end;
	}
}

/* Clamp [addr, addr+size) to the allocation that holds addr, as offsets into it. */
static struct mem_alloc *clamp(struct mem *m, uint64_t addr, uint64_t size, uint64_t *from, uint64_t *to)
{
	struct mem_alloc *a = find_live(m, addr);
	if (!a)
		return NULL;
	*from = addr - a->addr;
	*to = size > a->size - *from ? a->size : *from + size;
	return a;
}

void mem_mark_written(struct mem *m, uint64_t addr, uint64_t size)
{
	uint64_t from, to;
	struct mem_alloc *a = clamp(m, addr, size, &from, &to);
	if (!a)
		return;
	if (from <= a->prefix) {
		if (to > a->prefix)
			a->prefix = to;
		return;
	}
	uint64_t base = a->addr - MEM_GLOBAL_BASE;
	set_bits(m, base + from, base + to, true);
}

void mem_mark_unwritten(struct mem *m, uint64_t addr, uint64_t size)
{
	uint64_t from, to;
	struct mem_alloc *a = clamp(m, addr, size, &from, &to);
	if (!a)
		return;
	uint64_t base = a->addr - MEM_GLOBAL_BASE;
	if (from < a->prefix) {
		if (to < a->prefix)
			set_bits(m, base + to, base + a->prefix, true);
		a->prefix = from;
	}
	if (from == 0 && to == a->size)
		clear(m->written, base / 8, (base + round_up(to, ALIGN)) / 8);
	else
		set_bits(m, base + from, base + to, false);
}

bool mem_is_written(struct mem *m, uint64_t addr, uint64_t size, uint64_t *first)
{
	uint64_t from, to;
	struct mem_alloc *a = clamp(m, addr, size, &from, &to);
	*first = 0;
	if (!a)
		return false;
	uint64_t start = from, base = a->addr - MEM_GLOBAL_BASE;
	if (from < a->prefix)
		from = a->prefix;
	while (from < to) {
		uint64_t line = (base + from) / LINE, line_end = (line + 1) * LINE - base;
		uint64_t end = line_end < to ? line_end : to;
		u128 missing = line_bits((base + from) % LINE, base + end - line * LINE) & ~m->written[line];
		if (missing) {
			*first = line * LINE + first_bit(missing) - base - start;
			return false;
		}
		from = end;
	}
	return true;
}

/* ---- words ---- */

const char *mem_alloc_text(const struct mem_alloc *a, char *text, size_t size)
{
	if (a->name[0])
		snprintf(text, size, "%s (%llu bytes)", a->name, (unsigned long long)a->size);
	else
		snprintf(text, size, "an allocation of %llu bytes", (unsigned long long)a->size);
	return text;
}

/* Nearest allocation: the one before addr, unless the one behind it is nearer. */
static const struct mem_alloc *nearest(const struct mem *m, uint64_t addr)
{
	size_t i = after(m, addr);
	const struct mem_alloc *before = i ? m->allocs[i - 1] : NULL;
	const struct mem_alloc *behind = i < m->n_allocs ? m->allocs[i] : NULL;
	if (!before || !behind)
		return before ? before : behind;
	uint64_t past = addr - before->addr < before->size ? 0 : addr - before->addr - before->size;
	return behind->addr - addr < past ? behind : before;
}

void mem_describe(struct mem *m, uint64_t addr, uint32_t bytes, char *text, size_t size)
{
	char what[80];
	pthread_rwlock_rdlock(&m->lock);
	const struct mem_alloc *a = nearest(m, addr);
	if (addr < PAGE) {
		snprintf(text, size, addr ? "at address %llu, an offset from a null pointer" : "at a null pointer",
			 (unsigned long long)addr);
	} else if (!a || addr - MEM_GLOBAL_BASE >= m->room) {
		snprintf(text, size, "at 0x%llx, which is no device memory (a host pointer?)", (unsigned long long)addr);
	} else if (addr < a->addr) {
		snprintf(text, size, "%llu bytes before the start of %s%s", (unsigned long long)(a->addr - addr),
			 a->live ? "" : "freed memory, once ", mem_alloc_text(a, what, sizeof what));
	} else {
		uint64_t offset = addr - a->addr;
		const char *freed = a->live ? "" : "freed memory, once ";
		mem_alloc_text(a, what, sizeof what);
		if (offset < a->size && offset + bytes > a->size)
			snprintf(text, size, "at offset %llu of %s%s, %llu bytes past its end", (unsigned long long)offset,
				 freed, what, (unsigned long long)(offset + bytes - a->size));
		else if (offset < a->size)
			snprintf(text, size, "at offset %llu of %s%s", (unsigned long long)offset, freed, what);
		else if (offset == a->size)
			snprintf(text, size, "just past the end of %s%s", freed, what);
		else
			snprintf(text, size, "%llu bytes past the end of %s%s", (unsigned long long)(offset - a->size),
				 freed, what);
	}
	pthread_rwlock_unlock(&m->lock);
}

/* ---- traffic ---- */

static void add_traffic(struct mem_traffic *t, const struct mem_alloc *a)
{
	t->size += a->size;
	t->load_bytes += a->load_bytes;
	t->store_bytes += a->store_bytes;
}

unsigned mem_traffic(struct mem *m, struct mem_traffic *out, unsigned max)
{
	unsigned n = 0;
	for (size_t i = 0; i < m->n_allocs; i++) {
		const struct mem_alloc *a = m->allocs[i];
		unsigned k = 0;
		while (k < n && strcmp(out[k].name, a->name))
			k++;
		if (k == n) {
			if (n == max)
				continue;
			out[n++] = (struct mem_traffic){0};
			memcpy(out[k].name, a->name, sizeof a->name);
		}
		add_traffic(&out[k], a);
	}
	return n;
}

void mem_traffic_reset(struct mem *m)
{
	for (size_t i = 0; i < m->n_allocs; i++) {
		m->allocs[i]->load_bytes = 0;
		m->allocs[i]->store_bytes = 0;
	}
}
