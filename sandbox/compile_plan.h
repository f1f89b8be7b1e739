/* The commands that turn a source into a guest and its PTX, as a shell script that runs in the jail. */
#ifndef SANDBOX_COMPILE_PLAN_H
#define SANDBOX_COMPILE_PLAN_H

#include "base/err.h"
#include "compile.h"
#include "compile_look.h"
#include "jail.h"

/* Steps, with what a person calls them. */
#define COMPILE_STEPS(X)                                     \
	X(PREPARE, "prepare", "setting up the compiler")     \
	X(FRONT_CPP, "front-cpp", "the preprocessor")        \
	X(FRONT, "front", "the CUDA front end")              \
	X(DEVICE_CPP, "device-cpp", "the preprocessor")      \
	X(DEVICE, "device", "the device compiler")           \
	X(FATBIN, "fatbin", "packing the device code")       \
	X(PTXAS, "ptxas", "the PTX assembler")               \
	X(HOST, "host", "the host compiler")                 \
	X(LINK, "link", "the linker")                        \
	X(COLLECT, "collect", "collecting the results")

enum compile_step {
#define X(id, name, text) STEP_##id,
	COMPILE_STEPS(X)
#undef X
	N_COMPILE_STEPS
};

/* Descriptors inside the jail. */
enum { COMPILE_SOURCE_FD = 3, COMPILE_PRELUDE_FD, COMPILE_LIBRARY_FD, COMPILE_PTX_FD, COMPILE_GUEST_FD, COMPILE_CUBIN_FD,
       COMPILE_SLICE_FD };

/* Names inside the jail. */
#define COMPILE_SOURCE "solution.cu"
#define COMPILE_PRELUDE "judge-prelude.h"

const char *compile_step_name(enum compile_step step);
const char *compile_step_text(enum compile_step step);

/* The script for these options, made once a process for each; lives as long as the process.  It writes to its output
 * lines "@+step" and "@=step status", and "@log step size" followed by as many bytes; "@lost" where a file could not be
 * handed over, and at its end "@done". */
const char *compile_script(const struct compile_request *rq, const struct toolchain *t, struct err *e);
/* The script that makes the kept headers (compile_prefix.h) of this kind, from an empty source, and writes the files one to each
 * of COMPILE_PREFIX_FDS; NULL: this nvcc does not lend itself to it.  compile_script has been called for the same request. */
const char *compile_prefix_script(const struct compile_request *rq, const struct toolchain *t, enum compile_headers headers);
/* Where the toolkit is inside the jail. */
const char *compile_inside_root(const struct compile_request *rq, const struct toolchain *t);
/* The jail of every compiler run: toolchain, environment, limits; argv and descriptors are the caller's. */
void compile_jail(struct jail_spec *s, const struct compile_request *rq, const struct toolchain *t, const char *script,
		  struct jail_mount *mounts, const char **argv);

enum { COMPILE_MOUNTS = 18, COMPILE_ARGS = 6 };

#endif
