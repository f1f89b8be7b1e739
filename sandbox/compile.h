/* The compile step: one .cu source to a guest executable and a device image, with nvcc in a jail.
 *
 * The source never appears on the host's file system; it enters the jail through a descriptor, and the results
 * leave it through memory files.  The device pass (nvcc -ptx -lineinfo, then ptxas -v) and the host pass
 * (nvcc -c -cudart none, link with libguest.a) run side by side.
 */
#ifndef SANDBOX_COMPILE_H
#define SANDBOX_COMPILE_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum compile_parts {
	COMPILE_ALL,
	COMPILE_DEVICE,			/* all but the guest.  For a source that differs from one compiled before in device code alone: the
					 * guest is that one's */
	COMPILE_PTX			/* the device pass alone, likewise: no cubin and no registers counted either */
};

struct compile_request {
	const char *source;		/* bytes of the .cu file */
	size_t size;
	const char *name;		/* its name in diagnostics, e.g. "int4-gemv.cu"; never used as a host path */
	const char *prelude;		/* text force-included before the source (prototypes of solve, prepare); or NULL */
	const char *entry;		/* "solve": the generic guest main calls it; NULL: the source has its own main() */
	const char *arch;		/* "90", "90a", "89", "80": compute_XX for PTX and sm_XX for ptxas */
	const char *const *options;	/* further nvcc options of ours (never of the submission), NULL-terminated; or NULL */
	unsigned wall_ms;		/* on an idle machine, 0: 60 s; a busy one gets up to three times as long */
	uint64_t memory;		/* 0: 4 GiB */
	enum compile_parts parts;
	bool unsandboxed;
};

enum diagnostic_severity { DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING, DIAGNOSTIC_NOTE };

struct diagnostic {
	const char *file;		/* as the user knows it: the submission's own name, or a toolchain header */
	int line, column;		/* 0: none */
	enum diagnostic_severity severity;
	const char *text;		/* printable UTF-8: terminal escapes are gone */
};

struct kernel_resources {		/* from ptxas -v, one per entry function */
	const char *name;		/* mangled */
	int registers;			/* per thread */
	int shared;			/* static bytes per block */
	int stack, spill_store, spill_load;	/* bytes per thread */
	int barriers;
};

struct compiled {
	bool ok;			/* false: a compile error, told by the diagnostics; why_not is its one-line summary */
	const char *name;		/* the request's */
	const char *why_not;		/* e.g. "2 errors", "the compiler ran out of memory (limit 4 GiB)" */
	struct diagnostic *diagnostics;
	size_t n_diagnostics;
	const char *log;		/* the raw log, cleaned and cut */
	const char *ptx;		/* NUL-terminated PTX text, made with -lineinfo */
	size_t ptx_size;
	const void *cubin;		/* the same, assembled for sm_<arch> */
	size_t cubin_size;
	struct kernel_resources *kernels;
	size_t n_kernels;
	int guest_fd;			/* sealed memory file: the static guest executable; -1 where not ok or not all is compiled */
	uint64_t wall_us, peak_memory;	/* wall_us: of this call; peak_memory: of the compilers */
	bool kept;			/* it was compiled before (compile_cache.h) */
};

/* 0: the compiler ran, and out->ok tells how it went (out's memory is in `a`; close guest_fd by compiled_close).
 * -1 and e: the judge's own failure (no nvcc, no jail). */
int compile(const struct compile_request *rq, struct arena *a, struct compiled *out, struct err *e);
void compiled_close(struct compiled *c);
/* NULL: none is told, so why_not says all that there is. */
const struct diagnostic *compiled_first_error(const struct compiled *c);

/* The toolchain, found once: $CUDA_HOME, nvcc on PATH, /usr/local/cuda.  NULL and e with what to install. */
struct toolchain {
	char root[200];			/* e.g. /usr/local/cuda-13.0 */
	char version[32];		/* "13.0" */
	int major, minor;
};
const struct toolchain *toolchain_find(struct err *e);
/* libguest.a: in $JUDGE_LIB, or beside our executable, or where `make install` puts it.  NULL and e if it is nowhere. */
const char *guest_library_path(struct err *e);

/* Parse compiler output (nvcc, cudafe++, gcc, ptxas, ld) into diagnostics; `name` replaces the jail's path of the source. */
size_t diagnostics_parse(const char *log, const char *name, struct arena *a, struct diagnostic **out);
/* Parse `ptxas -v` output. */
size_t resources_parse(const char *log, struct arena *a, struct kernel_resources **out);

#endif
