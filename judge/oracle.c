/* One oracle, one case, one jailed process: see oracle.h. */
#include "oracle.h"

#include "../sandbox/base/cleanup.h"
#include "../sandbox/base/tame.h"
#include "../sandbox/jail.h"
#include "element.h"
#include "oracle_build.h"

#include <fcntl.h>
#include <math.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { CPU_MS = 60000, UNTOUCHED = 0xa5, GUARD = 64 };	/* wall time: twice the processor time */

/* A NaN of our own: an expected value that still has these bits was never set. */
#define UNSET 0x7ff8a5a5a5a5a5a5ull

static size_t align64(size_t n)
{
	return (n + 63) & ~(size_t)63;
}

/* What follows an area is left alone up to the next, at least GUARD bytes. */
static size_t area_after(size_t at, size_t size)
{
	return align64(at + size) + GUARD;
}

/* Where each tensor's areas lie; returns the size of the whole. */
static size_t lay_out(const struct testcase *t, struct oracle_header *h)
{
	const struct problem *p = t->problem;
	size_t at = align64(sizeof *h);
	for (unsigned i = 0; i < p->n_arguments; i++) {
		const struct testcase_tensor *x = &t->tensors[i];
		struct oracle_tensor *o = &h->tensors[i];
		if (p->arguments[i].role == ROLE_INPUT) {
			o->data = at;
			at = area_after(at, x->bytes);
		} else if (p->arguments[i].role == ROLE_OUTPUT) {
			o->expected = at;
			at = area_after(at, x->count * sizeof(double));
			o->bound = at;
			at = area_after(at, x->count * sizeof(double));
		}
	}
	return at;
}

static size_t make_header(const struct testcase *t, struct oracle_header *h)
{
	const struct problem *p = t->problem;
	memset(h, 0, sizeof *h);
	h->magic = ORACLE_MAGIC;
	h->size = lay_out(t, h);
	memcpy(h->seed, t->seed, sizeof h->seed);
	memcpy(h->name, t->spec->name, sizeof h->name);
	memcpy(h->data, t->spec->data, sizeof h->data);
	h->timing = t->spec->timing;
	h->n_params = t->sizes.n;
	memcpy(h->params, t->sizes.at, sizeof h->params);
	h->n_tensors = p->n_arguments;
	for (unsigned i = 0; i < p->n_arguments; i++) {
		struct tensor *o = &h->tensors[i].tensor;
		memcpy(o->name, p->arguments[i].name, sizeof o->name);
		o->role = p->arguments[i].role;
		o->type = p->arguments[i].type;
		o->dims = p->arguments[i].dims;
		memcpy(o->shape, t->tensors[i].shape, sizeof o->shape);
		o->count = t->tensors[i].count;
	}
	h->quantization_error = NAN;
	return h->size;
}

size_t answer_size(const struct testcase *t)
{
	struct oracle_header h = {0};
	return lay_out(t, &h);
}

static void poison(const struct oracle_header *h, char *map)
{
	const uint64_t unset = UNSET;
	memset(map + sizeof *h, UNTOUCHED, h->size - sizeof *h);
	for (unsigned i = 0; i < h->n_tensors; i++) {
		const struct oracle_tensor *o = &h->tensors[i];
		for (uint64_t k = 0; o->expected && k < o->tensor.count; k++) {
			memcpy(map + o->expected + 8 * k, &unset, 8);
			memcpy(map + o->bound + 8 * k, &unset, 8);
		}
	}
}

/* The case file: a memory file whose size nobody can change any more, so that reading it back never faults. */
static int make_file(const struct oracle_header *h, struct answer *a, struct err *e)
{
	CLEANUP_FD int fd = memfd_create("judge-case", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, (off_t)h->size) < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_errno(e, "cannot make a memory file of %llu bytes", (unsigned long long)h->size);
	a->map = mmap(NULL, h->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (a->map == MAP_FAILED) {
		a->map = NULL;
		return err_errno(e, "cannot map %llu bytes", (unsigned long long)h->size);
	}
	a->size = h->size;
	memcpy(a->map, h, sizeof *h);
	poison(h, a->map);
	return take_fd(&fd);
}

static int forbidden_call(int number, struct err *e)
{
	CLEANUP_FREE char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
	return err_system(e, "it made the system call %s (%d), which an oracle may not: no files, no processes, no clock", name ? name : "?", number);
}

/* How it ended, if not well. */
static int failed(const struct jail_result *r, struct err *e)
{
	const char *said = r->err.size ? buf_str(&r->err) : NULL;
	int n = said ? (int)strcspn(said, "\n") : 0;
	switch (r->end) {
	case JAIL_EXITED:
		if (r->status == 0)
			return 0;
		if (said)
			return err_system(e, "%.*s", n, said);
		return err_system(e, "it ended with exit status %d and no message", r->status);
	case JAIL_SIGNALED:
		return err_system(e, "it crashed: %s", strsignal(r->status));
	case JAIL_CPU:
	case JAIL_WALL:
		return err_system(e, "it was not done after %.0f s", (r->end == JAIL_CPU ? (double)r->cpu_us : (double)r->wall_us) / 1e6);
	case JAIL_SYSCALL:
		return forbidden_call(r->status, e);
	case JAIL_MEMORY:
		return err_system(e, "it ran out of memory");
	case JAIL_OUTPUT:
	case JAIL_KILLED:
		break;
	}
	return err_system(e, "it was stopped: %s", jail_end_name(r->end));
}

static int run(int exe_fd, int file, size_t size, unsigned cpu_ms, bool unsandboxed, struct err *e)
{
	struct jail_fd fds[] = {{file, ORACLE_FD_CASE}};
	unsigned limit = cpu_ms ? cpu_ms : CPU_MS;
	struct jail_spec spec = {
		.policy = JAIL_ORACLE, .name = "oracle", .argv = (const char *const[]){"oracle", NULL}, .exe_fd = exe_fd,
		.fds = fds, .n_fds = 1, .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .unsandboxed = unsandboxed,
		.limits = {.cpu_ms = limit, .wall_ms = 2 * limit, .memory = (1ull << 30) + 16 * (uint64_t)size, .processes = 1,
			   .output = 64 << 10},
	};
	struct jail_result r = {0};
	if (jail_run(&spec, &r, e) < 0)
		return -1;
	int rc = failed(&r, e);
	jail_result_free(&r);
	return rc;
}

static bool untouched(const unsigned char *data, uint64_t n)
{
	if (n < 16)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (data[i] != UNTOUCHED)
			return false;
	return true;
}

static int check_output(const struct argument *a, const double *expected, const double *bound, uint64_t n, struct err *e)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t bits, bound_bits;
		memcpy(&bits, &expected[i], 8);
		memcpy(&bound_bits, &bound[i], 8);
		if (bits == UNSET || bound_bits == UNSET)
			return err_system(e, "expect() did not set the %s of %s[%llu]", bits == UNSET ? "value" : "bound", a->name,
					  (unsigned long long)i);
		if (isnan(expected[i]))
			return err_system(e, "expect() set %s[%llu] to NaN", a->name, (unsigned long long)i);
		if (!(bound[i] >= 0) || isinf(bound[i]))
			return err_system(e, "expect() set the bound of %s[%llu] to %g: it must be finite and not negative", a->name,
					  (unsigned long long)i, bound[i]);
	}
	return 0;
}

/* Is what follows an area as it was? */
static bool guarded(const char *map, size_t at, size_t size)
{
	size_t end = area_after(at, size);
	for (size_t i = at + size; i < end; i++)
		if ((unsigned char)map[i] != UNTOUCHED)
			return false;
	return true;
}

/* An oracle that writes past a tensor would change its neighbour's numbers, and tell nobody. */
static int check_guards(const struct testcase *t, const struct oracle_header *h, const char *map, struct err *e)
{
	for (unsigned i = 0; i < h->n_tensors; i++) {
		const struct oracle_tensor *o = &h->tensors[i];
		const char *name = t->problem->arguments[i].name;
		const size_t doubles = t->tensors[i].count * sizeof(double);
		unsigned long long n = t->tensors[i].count;
		if (o->data && !guarded(map, o->data, t->tensors[i].bytes))
			return err_system(e, "it wrote past the end of %s, which has %llu elements", name, n);
		if (o->expected && !guarded(map, o->expected, doubles))
			return err_system(e, "it wrote past the end of the expected values of %s, which has %llu elements", name, n);
		if (o->bound && !guarded(map, o->bound, doubles))
			return err_system(e, "it wrote past the end of the bounds of %s, which has %llu elements", name, n);
	}
	return 0;
}

/* Only offsets of our own header are used: the one in the file may have been overwritten. */
static int collect(const struct testcase *t, const struct oracle_header *h, struct answer *a, struct err *e)
{
	const struct oracle_header *back = a->map;
	const char *map = a->map;
	if (back->done != 1)
		return err_system(e, "it ended before expect() was done");
	if (check_guards(t, h, map, e) < 0)
		return -1;
	for (unsigned i = 0; i < h->n_tensors; i++) {
		const struct argument *arg = &t->problem->arguments[i];
		const struct oracle_tensor *o = &h->tensors[i];
		if (o->data) {
			a->tensors[i].data = map + o->data;
			if (untouched(a->tensors[i].data, t->tensors[i].bytes))
				return err_system(e, "generate() did not fill %s", arg->name);
		}
		if (o->expected) {
			a->tensors[i].expected = (const double *)(map + o->expected);
			a->tensors[i].bound = (const double *)(map + o->bound);
			if (check_output(arg, a->tensors[i].expected, a->tensors[i].bound, t->tensors[i].count, e) < 0)
				return -1;
		}
	}
	a->quantization_error = back->quantization_error;
	return 0;
}

/* given: an answer whose inputs are taken over; else NULL. */
static void give(const struct testcase *t, const struct answer *given, char *map, const struct oracle_header *h)
{
	for (unsigned i = 0; i < h->n_tensors; i++)
		if (h->tensors[i].data && given->tensors[i].data)
			memcpy(map + h->tensors[i].data, given->tensors[i].data, t->tensors[i].bytes);
}

static int answer(int exe_fd, const struct testcase *t, const struct answer *given, bool unsandboxed, struct answer *out,
		  struct err *e)
{
	struct oracle_header h;
	make_header(t, &h);
	h.given = given != NULL;
	CLEANUP_FD int file = make_file(&h, out, e);
	if (file < 0)
		return -1;
	if (given)
		give(t, given, out->map, &h);
	if (run(exe_fd, file, h.size, t->oracle_ms, unsandboxed, e) < 0)
		return -1;
	return collect(t, &h, out, e);
}

static int ask(int exe_fd, const struct testcase *t, const struct answer *given, bool unsandboxed, struct answer *out, struct err *e)
{
	memset(out, 0, sizeof *out);
	if (answer(exe_fd, t, given, unsandboxed, out, e) < 0) {
		char sizes[200];
		sizes_text(&t->sizes, sizes, sizeof sizes);
		answer_free(out);
		err_wrap(e, "the oracle of problem %s, case \"%s\" (%s)", t->problem->id, t->spec->name, sizes);
		tame(e->text);		/* a package's words */
		return -1;
	}
	return 0;
}

int oracle_run(int exe_fd, const struct testcase *t, bool unsandboxed, struct answer *out, struct err *e)
{
	return ask(exe_fd, t, NULL, unsandboxed, out, e);
}

int oracle_again(int exe_fd, const struct testcase *t, bool unsandboxed, struct answer *a, struct err *e)
{
	struct answer fresh;
	if (ask(exe_fd, t, a, unsandboxed, &fresh, e) < 0)
		return -1;
	answer_free(a);
	*a = fresh;
	return 0;
}

void answer_free(struct answer *a)
{
	if (a->map)
		munmap(a->map, a->size);
	memset(a, 0, sizeof *a);
}
