/* The device process's side of a guest: every message checked, then done.
 *
 * Theory of operation.  Messages are taken one by one, in order; what they ask for is finished before the next one is
 * looked at, so streams are only names.  A message that a correct guest runtime cannot send (unknown kind, wrong size,
 * no such kernel, wrong parameter bytes, out of phase) ends the guest: protocol error.  What a submission can get wrong
 * by itself (bad addresses, too much memory) is answered with the CUDA error of the real runtime.  A fault of a kernel
 * is sticky: from then on everything is answered with its error and no kernel runs.
 */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The cudaErrors that the device process itself answers with. */
enum { OK = 0, INVALID_VALUE = 1, NO_MEMORY = 2, INVALID_SYMBOL = 13, INVALID_FUNCTION = 98, ILLEGAL_ADDRESS = 700,
       OUT_OF_RESOURCES = 701, TIMEOUT = 702, ASSERT = 710, STACK = 714, INSTRUCTION = 715, MISALIGNED = 716,
       ADDRESS_SPACE = 717, LAUNCH_FAILURE = 719, NOT_SUPPORTED = 801 };
enum { ALLOCATIONS_MAX = 1 << 16, NULL_PAGES = 1 << 16 /* an index into a null pointer still counts as one */ };

static int error_of(uint32_t kind)
{
	switch (kind) {
	case FAULT_NONE: return OK;
	case FAULT_OUT_OF_BOUNDS:
	case FAULT_WRONG_SPACE:
	case FAULT_USE_AFTER_FREE:
	case FAULT_READ_ONLY: return ILLEGAL_ADDRESS;
	case FAULT_MISALIGNED: return MISALIGNED;
	case FAULT_BUDGET:
	case FAULT_ENDLESS:
	case FAULT_DEADLOCK: return TIMEOUT;
	case FAULT_ASSERT: return ASSERT;
	case FAULT_STACK_OVERFLOW: return STACK;
	case FAULT_BAD_INSTRUCTION: return INSTRUCTION;
	case FAULT_BAD_LAUNCH: return OUT_OF_RESOURCES;
	case FAULT_BAD_ARGUMENT: return INVALID_VALUE;
	case FAULT_OUT_OF_MEMORY: return NO_MEMORY;
	case FAULT_UNSUPPORTED: return NOT_SUPPORTED;
	default: return LAUNCH_FAILURE;
	}
}

/* A message that breaks the protocol: remembered once, and the guest is served no longer. */
__attribute__((format(printf, 2, 3))) static void refuse(struct run *r, const char *fmt, ...)
{
	if (!r->report.protocol_error) {
		va_list ap;
		va_start(ap, fmt);
		vsnprintf(r->report.protocol_text, sizeof r->report.protocol_text, fmt, ap);
		va_end(ap);
	}
	r->report.protocol_error = true;
	r->state = WIRE_OVER;
}

/* Why the next answer is an error. */
__attribute__((format(printf, 2, 3))) static void explain(struct run *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(r->why, sizeof r->why, fmt, ap);
	va_end(ap);
}

static void first_fault(struct run *r, const struct fault *f)
{
	if (r->report.fault.kind == FAULT_NONE)
		r->report.fault = *f;
}

static void answer_with(struct run *r, uint32_t kind, int error, uint64_t a, uint64_t b, const void *data, size_t size)
{
	struct wire_reply reply = {kind, error, a, b};
	if (error) {
		r->report.cuda_error = (uint32_t)error;
		memcpy(r->report.cuda_detail, r->why, sizeof r->why);
	}
	r->why[0] = 0;
	if (wire_send(r->fd, &reply, sizeof reply, data, size, -1) < 0)
		r->state = WIRE_OVER;
}

static void answer(struct run *r, uint32_t kind, int error, uint64_t a, uint64_t b)
{
	answer_with(r, kind, r->sticky ? r->sticky : error, a, b, NULL, 0);
}

/* ---- memory ---- */

static const struct tensor *tensor_at(const struct server *s, uint64_t addr, uint64_t size)
{
	for (uint32_t i = 0; i < s->n_tensors; i++)
		if (addr < s->tensors[i].addr + s->tensors[i].size && addr + size > s->tensors[i].addr)
			return &s->tensors[i];
	return NULL;
}

/* May the host side write here?  An input of the case is not the submission's to change. */
static bool may_write(struct run *r, uint64_t addr, uint64_t size, const char *what)
{
	const struct tensor *t = size && addr + size >= addr ? tensor_at(r->server, addr, size) : NULL;
	if (!t || t->role != SESSION_INPUT)
		return true;
	struct fault f = {.kind = FAULT_READ_ONLY, .has_address = true, .address = addr};
	snprintf(f.detail, sizeof f.detail, "%s writes to the input %s", what, t->name);
	first_fault(r, &f);
	return false;
}

static size_t allocation_index(const struct run *r, uint64_t addr)
{
	size_t lo = 0, hi = r->n_allocations;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (r->allocations[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void remember_allocation(struct run *r, uint64_t addr, uint64_t size)
{
	if (r->n_allocations == r->allocations_room) {
		r->allocations_room = r->allocations_room ? 2 * r->allocations_room : 64;
		r->allocations = realloc(r->allocations, r->allocations_room * sizeof *r->allocations);
		if (!r->allocations)
			BUG("out of memory");
	}
	size_t i = allocation_index(r, addr);
	memmove(r->allocations + i + 1, r->allocations + i, (r->n_allocations++ - i) * sizeof *r->allocations);
	r->allocations[i] = (struct allocation){addr, size};
	r->allocated += size;
}

/* What a tape names stays until all tapes are done: of a GPU's memory these may take half, the rest is for the judge. */
static bool no_room(const struct run *r, uint64_t size)
{
	const struct server *s = r->server;
	uint64_t used = r->allocated + s->tensor_bytes, half = s->properties.memory / 2;
	return used > s->memory || size > s->memory - used || (r->ask->tape && (s->taped > half || size > half - s->taped));
}

static void do_alloc(struct run *r, const struct wire_alloc *m)
{
	struct server *s = r->server;
	struct fault f = {0};
	uint64_t addr = 0;
	int error = OK;
	if (r->n_allocations == ALLOCATIONS_MAX || !m->size || no_room(r, m->size)) {
		error = m->size ? NO_MEMORY : INVALID_VALUE;
	} else if (!r->sticky) {
		if (s->ops->alloc(s->device, m->size, 0, NULL, &addr, &f) < 0)
			error = error_of(f.kind);
		else
			remember_allocation(r, addr, m->size);
		if (!error) {
			r->report.allocations++;
			r->report.allocated_bytes += m->size;
			s->taped += r->ask->tape ? m->size : 0;
		}
	}
	uint64_t used = r->allocated + s->tensor_bytes;
	if (error && m->size)
		explain(r, "cudaMalloc of %llu bytes: %llu are free", (unsigned long long)m->size,
			(unsigned long long)(used < s->memory ? s->memory - used : 0));
	answer(r, WIRE_ALLOC, error, addr, 0);
}

static void forget_allocation(struct run *r, size_t i)
{
	r->allocated -= r->allocations[i].size;
	memmove(r->allocations + i, r->allocations + i + 1, (--r->n_allocations - i) * sizeof *r->allocations);
}

static void do_release(struct run *r, const struct wire_release *m)
{
	struct fault f = {0};
	size_t i = allocation_index(r, m->addr);
	int error = INVALID_VALUE;
	if (i < r->n_allocations && r->allocations[i].addr == m->addr) {
		if (r->ask->tape)
			error = OK;	/* the tape's steps name it */
		else
			error = r->server->ops->release(r->server->device, m->addr, &f) < 0 ? error_of(f.kind) : OK;
		forget_allocation(r, i);
	}
	if (error)
		explain(r, "cudaFree of 0x%llx: no allocation of the program begins there", (unsigned long long)m->addr);
	answer(r, WIRE_RELEASE, error, 0, 0);
}

/* A range that a copy or a fill may not touch: the device says why, or it is an input. */
static void explain_memory(struct run *r, const char *what, uint64_t addr, uint64_t size, const struct fault *f)
{
	if (f->detail[0])
		explain(r, "%s: %.150s", what, f->detail);
	else
		explain(r, "%s: the %llu bytes from 0x%llx on", what, (unsigned long long)size, (unsigned long long)addr);
}

static void do_upload(struct run *r, const struct wire_upload *m, size_t size)
{
	struct server *s = r->server;
	struct fault f = {0};
	if (!r->upload && !r->sticky && size) {
		if (!may_write(r, m->addr, size, "a host-to-device copy") ||
		    s->ops->upload(s->device, m->addr, m + 1, size, &f) < 0) {
			r->upload = INVALID_VALUE;
			explain_memory(r, "a copy from host to device", m->addr, size, &f);
		} else {
			tape_upload(r, m->addr, m + 1, size, m->last);
			r->uploaded += size;
		}
	}
	if (!m->last)
		return;
	r->report.host_copies += r->uploaded > 0;
	r->report.host_copy_bytes += r->uploaded;
	answer(r, WIRE_UPLOAD, r->upload, 0, 0);
	r->upload = OK;
	r->uploaded = 0;
}

/* Rows must not overlap, and their extent must not wrap round. */
static bool sound_rows(uint64_t addr, uint64_t pitch, uint64_t width, uint64_t height)
{
	uint64_t extent;
	if (height > 1 && pitch < width)
		return false;
	return !__builtin_mul_overflow(pitch, height ? height - 1 : 0, &extent) &&
	       !__builtin_add_overflow(extent, width, &extent) && !__builtin_add_overflow(extent, addr, &extent);
}

static void do_download(struct run *r, const struct wire_download *m)
{
	struct server *s = r->server;
	struct fault f = {0};
	uint64_t left = 0;
	if (!sound_rows(m->addr, m->pitch, m->width, m->height) || __builtin_mul_overflow(m->width, m->height, &left) ||
	    left > s->memory) {
		explain(r, "a copy from device to host: its rows overlap or wrap round, or it is larger than the memory");
		answer(r, WIRE_DOWNLOAD, INVALID_VALUE, 0, 0);
		return;
	}
	uint64_t row = 0, at = 0;
	do {
		size_t fill = 0;
		int error = r->sticky;
		while (!error && fill < WIRE_PIECE && left) {
			uint64_t n = m->width - at < WIRE_PIECE - fill ? m->width - at : WIRE_PIECE - fill;
			uint64_t from = m->addr + row * m->pitch + at;
			if (s->ops->download(s->device, from, s->packet + fill, n, &f) < 0) {
				error = INVALID_VALUE;
				explain_memory(r, "a copy from device to host", from, n, &f);
				break;
			}
			tape_step(r, (struct device_step){.kind = STEP_DOWNLOAD, .src = from, .size = n}, NULL, 0);
			fill += n;
			left -= n;
			at += n;
			if (at == m->width) {
				at = 0;
				row++;
			}
		}
		answer_with(r, WIRE_DOWNLOAD, error, left, 0, s->packet, error ? 0 : fill);
		if (error)
			return;
		r->report.host_copies += !left;
		r->report.host_copy_bytes += fill;
	} while (left && r->state != WIRE_OVER);
}

static void do_copy(struct run *r, const struct wire_copy *m)
{
	struct server *s = r->server;
	struct fault f = {0};
	int error = OK;
	if (!sound_rows(m->dst, m->dst_pitch, m->width, m->height) || !sound_rows(m->src, m->src_pitch, m->width, m->height)) {
		error = INVALID_VALUE;
		explain(r, "a copy on the device: its rows overlap or wrap round");
	}
	for (uint64_t i = 0; i < m->height && m->width && !error && !r->sticky; i++) {
		uint64_t dst = m->dst + i * m->dst_pitch;
		if (!may_write(r, dst, m->width, "a device-to-device copy") ||
		    s->ops->copy(s->device, dst, m->src + i * m->src_pitch, m->width, &f) < 0) {
			error = INVALID_VALUE;
			explain_memory(r, "a copy on the device", dst, m->width, &f);
		} else {
			tape_step(r, (struct device_step){.kind = STEP_COPY, .dst = dst, .src = m->src + i * m->src_pitch, .size = m->width},
				  NULL, 0);
		}
	}
	answer(r, WIRE_COPY, error, 0, 0);
}

static void do_fill(struct run *r, const struct wire_fill *m)
{
	struct server *s = r->server;
	struct fault f = {0};
	uint64_t width;
	int error = OK;
	if (m->unit != 1 && m->unit != 2 && m->unit != 4) {
		refuse(r, "FILL in units of %u bytes", m->unit);
		return;
	}
	if (__builtin_mul_overflow(m->width, m->unit, &width) || !sound_rows(m->addr, m->pitch, width, m->height) ||
	    m->addr % m->unit || (m->height > 1 && m->pitch % m->unit)) {
		error = INVALID_VALUE;
		explain(r, "a fill: its rows overlap, wrap round, or are not aligned to %u bytes", m->unit);
	}
	for (uint64_t i = 0; i < m->height && width && !error && !r->sticky; i++) {
		uint64_t addr = m->addr + i * m->pitch;
		if (!may_write(r, addr, width, "cudaMemset") ||
		    s->ops->fill(s->device, addr, m->value, m->unit, m->width, &f) < 0) {
			error = INVALID_VALUE;
			explain_memory(r, "cudaMemset", addr, width, &f);
		} else {
			tape_step(r, (struct device_step){.kind = STEP_FILL, .dst = addr, .size = width, .pattern = m->value,
							  .pattern_bytes = m->unit}, NULL, 0);
		}
	}
	answer(r, WIRE_FILL, error, 0, 0);
}

/* Give back what the submission allocated, as cudaDeviceReset does.  A program's sticky error goes too. */
static void do_reset(struct run *r)
{
	struct server *s = r->server;
	struct fault f = {0};
	while (r->n_allocations && !r->ask->tape) {
		s->ops->release(s->device, r->allocations[r->n_allocations - 1].addr, &f);
		forget_allocation(r, r->n_allocations - 1);
	}
	if (r->state == WIRE_PROGRAM) {
		s->ops->reset(s->device);
		r->sticky = r->pending = OK;
	}
	answer(r, WIRE_RESET, OK, 0, 0);
}

/* ---- look-ups ---- */

static void do_kernel(struct run *r, const struct wire_find *m, size_t size)
{
	struct server *s = r->server;
	const char *name = (const char *)(m + 1);
	for (uint32_t i = 0; i < s->n_kernels; i++)
		if (strlen(s->kernels[i].name) == size && memcmp(s->kernels[i].name, name, size) == 0) {
			answer_with(r, WIRE_KERNEL, OK, i, 0, &s->kernels[i], sizeof s->kernels[i]);
			return;
		}
	answer_with(r, WIRE_KERNEL, INVALID_FUNCTION, 0, 0, NULL, 0);
}

static void do_symbol(struct run *r, const struct wire_find *m, size_t size)
{
	char name[DEVICE_NAME] = {0};
	uint64_t addr = 0, bytes = 0;
	memcpy(name, m + 1, size);
	int rc = r->server->ops->symbol(r->server->device, name, &addr, &bytes);
	if (rc < 0)
		explain(r, "the symbol %.150s is not in the device code", name);
	answer(r, WIRE_SYMBOL, rc < 0 ? INVALID_SYMBOL : OK, addr, bytes);
}

static void do_occupancy(struct run *r, const struct wire_occupancy *m)
{
	struct server *s = r->server;
	if (m->kernel >= s->n_kernels) {
		refuse(r, "OCCUPANCY of kernel %u: there are %u", m->kernel, s->n_kernels);
		return;
	}
	bool sound = m->threads && m->threads <= s->properties.threads_per_block;
	answer(r, WIRE_OCCUPANCY, sound ? OK : INVALID_VALUE,
	       sound ? s->ops->occupancy(s->device, m->kernel, m->threads, m->shared) : 0, 0);
}

static void do_tensor_map(struct run *r, const struct wire_tensor_map *m)
{
	struct server *s = r->server;
	char map[DEVICE_TENSOR_MAP];
	struct fault f = {0};
	int error = r->sticky;
	if (!m->map.rank || m->map.rank > 5) {
		refuse(r, "TENSOR_MAP of rank %u", m->map.rank);
		return;
	}
	if (!error && !s->ops->tensor_map)
		error = NOT_SUPPORTED;
	if (!error && s->ops->tensor_map(s->device, &m->map, map, &f) < 0)
		error = error_of(f.kind);
	answer_with(r, WIRE_TENSOR_MAP, error, 0, 0, map, error ? 0 : sizeof map);
}

static void do_hello(struct run *r, const struct wire_hello *m)
{
	struct server *s = r->server;
	struct wire_device d = {.properties = s->properties, .program = r->ask->program, .prepare = r->ask->has_prepare};
	if (m->version != WIRE_VERSION) {
		refuse(r, "the guest runtime speaks version %u, the device process version %d", m->version, WIRE_VERSION);
		return;
	}
	s->ops->range(s->device, &d.base, &d.size);
	r->state = r->ask->program ? WIRE_PROGRAM : WIRE_READY;
	answer_with(r, WIRE_HELLO, OK, 0, 0, &d, sizeof d);
}

/* ---- launches and synchronisation ---- */

/* Clusters are a GPU's: of blocks that divide the grid, 16 at the most. */
static bool sound_cluster(const struct server *s, const struct wire_launch *m)
{
	const uint32_t *c = m->cluster;
	if (!c[0] && !c[1] && !c[2])
		return true;
	for (int i = 0; i < 3; i++)
		if (!c[i] || c[i] > 16 || m->grid[i] % c[i])
			return false;
	return !s->properties.emulated && s->properties.major >= 9 && c[0] * c[1] * c[2] <= 16;
}

static bool sound_shape(const struct server *s, const struct wire_launch *m)
{
	static const uint32_t most[3] = {0x7fffffff, 65535, 65535};
	for (int i = 0; i < 3; i++)
		if (!m->grid[i] || m->grid[i] > most[i] || !m->block[i] || m->block[i] > (i < 2 ? 1024 : 64))
			return false;
	return (uint64_t)m->block[0] * m->block[1] * m->block[2] <= s->properties.threads_per_block;
}

static void add_lines(struct run *r, const struct device_report *report)
{
	for (uint32_t i = 0; i < report->n_lines; i++) {
		const struct device_line *l = &report->lines[i];
		uint32_t j = 0;
		while (j < r->report.n_lines && (r->lines[j].line != l->line || strcmp(r->lines[j].file, l->file) != 0))
			j++;
		if (j < r->report.n_lines) {
			counters_add(&r->lines[j].counters, &l->counters);
			continue;
		}
		if (j == CONTROL_LINES_MAX)
			return;
		if (j == r->lines_room) {
			r->lines_room = j ? 2 * j : 256;
			r->lines = realloc(r->lines, r->lines_room * sizeof *r->lines);
			if (!r->lines)
				BUG("out of memory");
		}
		r->lines[r->report.n_lines++] = *l;
	}
}

static void record(struct run *r, const struct wire_launch *m, const struct device_report *report)
{
	const struct modelled *t = &report->modelled;
	const struct occupancy *o = &report->occupancy;
	if (r->report.n_launches == r->room) {
		r->room = r->room ? 2 * r->room : 16;
		r->launches = realloc(r->launches, r->room * sizeof *r->launches);
		if (!r->launches)
			BUG("out of memory");
	}
	struct control_launch *l = &r->launches[r->report.n_launches++];
	*l = (struct control_launch){
		.kernel = m->kernel, .shared_dynamic = m->shared, .prepare = r->state == WIRE_PREPARE,
		.limiter = t->limiter, .time_us = t->time_us, .launch_us = t->launch_us, .dram_us = t->dram_us,
		.l2_us = t->l2_us, .l1_us = t->l1_us, .shared_us = t->shared_us, .issue_us = t->issue_us,
		.pipe_us = t->pipe_us, .latency_us = t->latency_us, .tail = t->tail, .occupancy = t->occupancy,
		.blocks_per_sm = o->blocks_per_sm, .warps_per_sm = o->warps_per_sm,
		.shared_per_block = o->shared_per_block, .l1_bytes_per_block = o->l1_bytes_per_block,
		.counters = report->counters,
	};
	memcpy(l->grid, m->grid, sizeof l->grid);
	memcpy(l->block, m->block, sizeof l->block);
	snprintf(l->limit, sizeof l->limit, "%s", o->limit ? o->limit : "");
	if (r->ask->profile && r->state != WIRE_PREPARE)
		add_lines(r, report);
}

static void do_launch(struct run *r, const struct wire_launch *m, size_t size)
{
	struct server *s = r->server;
	if (m->kernel >= s->n_kernels) {
		refuse(r, "LAUNCH of kernel %u: there are %u", m->kernel, s->n_kernels);
	} else if (size != s->kernels[m->kernel].param_bytes) {
		refuse(r, "LAUNCH of %.64s with %zu bytes of parameters: it has %u", s->kernels[m->kernel].pretty, size,
		       s->kernels[m->kernel].param_bytes);
	} else if (!sound_shape(s, m) || !sound_cluster(s, m)) {
		refuse(r, "LAUNCH of grid %ux%ux%u, block %ux%ux%u", m->grid[0], m->grid[1], m->grid[2], m->block[0],
		       m->block[1], m->block[2]);
	}
	if (r->state == WIRE_OVER || r->sticky)
		return;
	if (r->report.n_launches == CONTROL_LAUNCHES_MAX) {
		struct fault f = {.kind = FAULT_BAD_LAUNCH};
		snprintf(f.detail, sizeof f.detail, "more than %d kernel launches in one run", CONTROL_LAUNCHES_MAX);
		first_fault(r, &f);
		r->sticky = LAUNCH_FAILURE;
		return;
	}
	struct device_launch l = {.kernel = m->kernel, .shared_dynamic = m->shared, .params = m + 1,
				  .cooperative = m->cooperative != 0};
	memcpy(l.cluster, m->cluster, sizeof l.cluster);
	memcpy(l.grid, m->grid, sizeof l.grid);
	memcpy(l.block, m->block, sizeof l.block);
	struct device_report report = {0};
	if (s->ops->launch(s->device, &l, &report, &r->failure) < 0) {
		r->state = WIRE_OVER;
		return;
	}
	record(r, m, &report);
	if (report.fault.kind == FAULT_NONE)
		tape_step(r, (struct device_step){.kind = STEP_LAUNCH, .launch = l}, m + 1, size);
	if (report.fault.kind != FAULT_NONE) {
		first_fault(r, &report.fault);
		if (report.fault.kind == FAULT_BAD_LAUNCH)
			r->pending = error_of(report.fault.kind);
		else
			r->sticky = error_of(report.fault.kind);
	}
	device_report_free(&report);
}

/* Text goes out with synchronisations; a long one takes several. */
static void do_sync(struct run *r)
{
	int error = r->sticky ? r->sticky : r->pending;
	size_t n = 0;
	if (r->ask->program)
		n = r->text.size < WIRE_PIECE ? r->text.size : WIRE_PIECE;
	bool more = r->ask->program && r->text.size > n;
	if (!more) {
		r->report.syncs++;
		r->pending = OK;
	}
	answer_with(r, WIRE_SYNC, more ? OK : error, more, 0, r->text.data, n);
	if (n == r->text.size && n) {
		buf_free(&r->text);
	} else if (n) {
		r->text.size -= n;
		memmove(r->text.data, r->text.data + n, r->text.size);
	}
}

void guest_print(struct run *r, const char *text, size_t size)
{
	size_t room = r->text.size < CONTROL_TEXT_MAX ? CONTROL_TEXT_MAX - r->text.size : 0;
	buf_add(&r->text, text, size < room ? size : room);
}

static void do_note(struct run *r, const struct wire_note *m, size_t size)
{
	r->report.cuda_error = (uint32_t)m->error;
	memcpy(r->report.cuda_detail, m + 1, size);
	r->report.cuda_detail[size] = 0;
}

static void do_crash(struct run *r, const struct wire_crash *m)
{
	struct server *s = r->server;
	uint64_t base = 0, size = 0;
	const struct tensor *t = tensor_at(s, m->addr, 1);
	s->ops->range(s->device, &base, &size);
	size_t i = allocation_index(r, m->addr + 1);
	bool allocated = i && m->addr - r->allocations[i - 1].addr < r->allocations[i - 1].size;
	r->report.crash_addr = m->addr;
	r->report.crash = m->addr < NULL_PAGES ? CRASH_NULL : t || allocated || m->addr - base < size ? CRASH_DEVICE : CRASH_OTHER;
	snprintf(r->report.crash_tensor, sizeof r->report.crash_tensor, "%s", t ? t->name : "");
}

/* ---- phases ---- */

static void lay_arguments(const struct server *s, const struct control_argument *in, unsigned n, struct wire_argument *out)
{
	for (unsigned i = 0; i < n; i++) {
		out[i] = (struct wire_argument){.i = in[i].i};
		float single = (float)in[i].f;
		switch (in[i].kind) {
		case ARGUMENT_TENSOR:
			out[i].i = (int64_t)s->tensors[in[i].tensor].addr;
			out[i].size = s->tensors[in[i].tensor].size;
			break;
		case ARGUMENT_F32:
			out[i].real = true;
			memcpy(&out[i].f, &single, sizeof single);
			break;
		case ARGUMENT_F64:
			out[i].real = true;
			memcpy(&out[i].f, &in[i].f, sizeof in[i].f);
			break;
		default:
			break;
		}
	}
}

static void do_phase(struct run *r, const struct wire_phase *m)
{
	struct server *s = r->server;
	bool prepare = m->phase == WIRE_PREPARE;
	if ((!prepare && m->phase != WIRE_SOLVE) || (prepare && (r->state != WIRE_READY || !r->ask->has_prepare))) {
		refuse(r, "PHASE %u is out of order", m->phase);
		return;
	}
	r->report.has_prepare = m->has_prepare != 0;
	r->state = m->phase;
	if (!prepare) {
		if (tensors_show(s, &r->failure) < 0) {
			r->state = WIRE_OVER;
			return;
		}
		s->ops->flush(s->device);
		r->n_before = s->ops->traffic(s->device, r->before, CONTROL_TRAFFIC_MAX);
	}
	struct wire_argument arguments[WIRE_ARGUMENTS] = {0};
	unsigned n = prepare ? r->ask->n_prepare : r->ask->n_solve;
	lay_arguments(s, prepare ? r->ask->prepare : r->ask->solve, n, arguments);
	answer_with(r, WIRE_PHASE, OK, n, 0, arguments, n * sizeof *arguments);
}

static void do_done(struct run *r, const struct wire_done *m)
{
	struct server *s = r->server;
	struct fault f = {0};
	if (!r->sticky && s->ops->audit && s->ops->audit(s->device, &f) < 0) {
		first_fault(r, &f);
		r->sticky = error_of(f.kind);
	}
	int error = r->sticky ? r->sticky : r->pending;
	r->report.done = !error;
	r->report.unhandled = m->last != OK;
	r->report.syncs++;
	answer_with(r, WIRE_DONE, error, 0, 0, NULL, 0);
	r->state = WIRE_OVER;
}

/* What kernels moved per tensor since solve() began. */
static void take_traffic(struct run *r)
{
	struct server *s = r->server;
	r->report.n_traffic = s->ops->traffic(s->device, r->traffic, CONTROL_TRAFFIC_MAX);
	for (uint32_t i = 0; i < r->report.n_traffic; i++)
		for (uint32_t j = 0; j < r->n_before; j++)
			if (strncmp(r->traffic[i].name, r->before[j].name, sizeof r->before[j].name) == 0) {
				r->traffic[i].load_bytes -= r->before[j].load_bytes;
				r->traffic[i].store_bytes -= r->before[j].store_bytes;
			}
}

/* What the emulated device's clock says of work that is no launch: copies and fills are part of what solve() takes.  (On a GPU
 * its tape is timed.) */
static double copies_clock(const struct run *r, uint32_t kind)
{
	bool copies = kind == WIRE_UPLOAD || kind == WIRE_DOWNLOAD || kind == WIRE_COPY || kind == WIRE_FILL;
	bool counts = copies && r->state != WIRE_PREPARE && r->server->properties.emulated;
	return counts ? r->server->ops->time_us(r->server->device) : 0;
}

static void handle(struct run *r, const void *packet, size_t size)
{
	struct server *s = r->server;
	uint32_t kind = *(const uint32_t *)packet;
	size_t extra = size - wire_fixed_size(kind);
	double before = copies_clock(r, kind);
	switch (kind) {
	case WIRE_HELLO: do_hello(r, packet); break;
	case WIRE_KERNEL: do_kernel(r, packet, extra); break;
	case WIRE_SYMBOL: do_symbol(r, packet, extra); break;
	case WIRE_ALLOC: do_alloc(r, packet); break;
	case WIRE_RELEASE: do_release(r, packet); break;
	case WIRE_UPLOAD: do_upload(r, packet, extra); break;
	case WIRE_DOWNLOAD: {
		struct wire_download m = *(const struct wire_download *)packet;	/* its packet is reused for data */
		do_download(r, &m);
		break;
	}
	case WIRE_COPY: do_copy(r, packet); break;
	case WIRE_FILL: do_fill(r, packet); break;
	case WIRE_LAUNCH: do_launch(r, packet, extra); break;
	case WIRE_SYNC: do_sync(r); break;
	case WIRE_CLOCK: answer_with(r, kind, OK, (uint64_t)(s->ops->time_us(s->device) * 1000), 0, NULL, 0); break;
	case WIRE_MEMORY: {
		uint64_t used = r->allocated + s->tensor_bytes;
		answer(r, kind, OK, used < s->memory ? s->memory - used : 0, s->memory);
		break;
	}
	case WIRE_TENSOR_MAP: do_tensor_map(r, packet); break;
	case WIRE_OCCUPANCY: do_occupancy(r, packet); break;
	case WIRE_RESET: do_reset(r); break;
	case WIRE_NOTE: do_note(r, packet, extra); break;
	case WIRE_CRASH: do_crash(r, packet); break;
	case WIRE_PHASE: do_phase(r, packet); break;
	case WIRE_DONE: do_done(r, packet); break;
	default: BUG("message %u passed the check", kind);
	}
	r->report.copies_us += copies_clock(r, kind) - before;
}

/* Wait for the guest's next message; false once there is none.  A judge that is gone ends the process. */
static bool next_message(struct run *r, size_t *size)
{
	struct pollfd fds[2] = {{r->fd, POLLIN, 0}, {r->server->control, 0, 0}};
	for (;;) {
		int n = poll(fds, 2, -1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || fds[1].revents)
			_exit(0);
		break;
	}
	int rc = wire_recv(r->fd, r->server->packet, WIRE_PACKET, size, NULL);
	if (rc < 0 && errno == EMSGSIZE)
		refuse(r, "a message of more than %d bytes", WIRE_PACKET);
	return rc > 0;
}

void guest_serve(struct run *r)
{
	char why[200];
	size_t size = 0;
	r->state = WIRE_FRESH;
	while (r->state != WIRE_OVER && next_message(r, &size)) {
		const char *wrong = wire_check(r->server->packet, size, r->state, why, sizeof why);
		if (wrong)
			refuse(r, "%s", wrong);
		else
			handle(r, r->server->packet, size);
	}
	take_traffic(r);
	r->report.broken = r->server->ops->broken && r->server->ops->broken(r->server->device);
}

void run_free(struct run *r)
{
	free(r->launches);
	free(r->lines);
	free(r->allocations);
	tape_free(&r->tape);
	buf_free(&r->text);
}
