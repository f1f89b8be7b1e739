/* The judge's handle on a device process.
 *
 * A session is one jailed device process with one loaded image.  The judge lays tensors out in it, has guests (the
 * submission's host code, each a fresh jailed process) talk to it, and reads outputs back.  The device process holds
 * no expected values and no seeds.  Whatever it sends is checked; its crash is an end of the run, never of the judge.
 *
 *	session_open, session_load		once a submission
 *	  session_reset				for each case:
 *	  session_tensor ...			  inputs uploaded, outputs poisoned, guard zones by the device
 *	  session_run				  a fresh guest runs prepare() and solve()
 *	  session_download ...
 *	session_close
 */
#ifndef SANDBOX_SESSION_H
#define SANDBOX_SESSION_H

#include "base/err.h"
#include "compile.h"
#include "counters.h"
#include "device/device.h"
#include "fault.h"
#include "jail.h"

#include <stdbool.h>
#include <stdint.h>

struct session;

struct session_options {
	const char *device;		/* "emulated:h200", "gpu:0" */
	unsigned threads;		/* host threads of the emulated GPU; 0: cores */
	uint64_t memory;		/* device memory limit, 0: 8 GiB */
	uint64_t budget;		/* warp-instructions per launch, 0: default */
	bool no_checks;			/* of a GPU: plain memory without guard zones */
	bool unsandboxed;
	/* A command that runs a GPU's device process: compute-sanitizer or ncu with its options, NULL-terminated, argv[0] a path.
	 * Such tools need much of the host, so there is no jail: for one's own code only. */
	const char *const *tool;
	const char *tool_home;		/* its HOME, where it keeps files and looks for scripts: a folder that is nobody else's */
};

struct session *session_open(const struct session_options *o, struct err *e);
void session_close(struct session *s);		/* NULL is fine */
int session_properties(struct session *s, struct device_properties *out, struct err *e);

/* Load the compiled image.  0.  -1 and e.kind ERR_INPUT: the image is refused (unsupported instruction, with line). */
int session_load(struct session *s, const struct compiled *c, struct err *e);

/* Forget all memory and state of the previous case. */
int session_reset(struct session *s, struct err *e);

enum { SESSION_TENSORS_MAX = 256 };	/* at a time */
enum session_role { SESSION_INPUT, SESSION_OUTPUT, SESSION_WORKSPACE };
/* Allocate a tensor of `size` bytes (256-byte aligned, guard zones around).  INPUT: uploaded from data and read-only.
 * OUTPUT: poisoned, counts as not written.  WORKSPACE: undefined.  *id: for arguments and downloads. */
int session_tensor(struct session *s, const char *name, enum session_role role, const void *data, uint64_t size,
		   uint32_t *id, struct err *e);
int session_download(struct session *s, uint32_t id, void *data, struct err *e);
/* *whole false: some byte was not written by the submission since session_run began; *first: offset of the first. */
int session_written(struct session *s, uint32_t id, bool *whole, uint64_t *first, struct err *e);

struct session_argument {
	enum { ARGUMENT_TENSOR, ARGUMENT_NULL, ARGUMENT_I32, ARGUMENT_I64, ARGUMENT_F32, ARGUMENT_F64 } kind;
	uint32_t tensor;
	int64_t i;
	double f;
};

struct session_launch {			/* one kernel launch of the run, in order: the tape, for the book */
	uint32_t kernel;		/* index for session_kernel */
	uint32_t grid[3], block[3], shared_dynamic;
	bool prepare;			/* launched by prepare(): not timed */
	struct modelled modelled;
	struct occupancy occupancy;
	struct counters counters;
};

/* What a host access that ended the guest hit, by the guest's word. */
enum session_crash { CRASH_UNKNOWN, CRASH_NULL, CRASH_DEVICE, CRASH_OTHER };

struct session_run {
	/* in */
	int guest_fd;			/* compiled.guest_fd */
	const struct session_argument *solve, *prepare;	/* prepare: NULL if the problem has none */
	unsigned n_solve, n_prepare;
	bool program;			/* `judge run`: own main(), argv below, stdin/stdout as given */
	const char *const *argv;
	int stdin_fd, stdout_fd, stderr_fd;	/* program only; -1: none / captured */
	struct jail_limits limits;	/* of the guest; the wall limit covers device time too */
	bool profile;			/* collect per-line counters */
	bool again;			/* a further run on the same tensors: variables of the module are as the last one left them; outputs and
					 * workspaces are as at the start */
	bool tape;			/* keep what solve() (and prepare()) did as the next tape, for session_replay */
	/* out */
	bool done;			/* solve() returned and the device was synchronised without error */
	bool has_prepare;		/* the submission defines prepare() */
	struct fault fault;		/* the device's first fault, kind NONE if none */
	char cuda_error[64];		/* last CUDA error a guest's call got, "cudaErrorInvalidValue", or "" */
	char cuda_detail[200];		/* why, if the guest runtime could tell: "kernel: block of 2000 threads, ..."; printable,
					 * but the guest's word */
	bool cuda_unhandled;		/* it was not taken up by cudaGetLastError, though solve() returned */
	enum session_crash crash;
	uint64_t crash_addr;
	char crash_tensor[32];		/* with CRASH_DEVICE, if it is one */
	bool protocol_error;		/* the guest sent what the protocol does not allow */
	char protocol_text[200];
	bool device_busy;		/* time was up while the device was at work: a kernel that did not end */
	struct jail_result guest;	/* how the guest ended; its output */
	struct buf device_output;	/* device printf, capped */
	struct session_launch *launches;
	unsigned n_launches;
	uint64_t host_copies, host_copy_bytes;	/* cudaMemcpy etc. between host and device during the run */
	uint64_t allocations, allocated_bytes;	/* cudaMalloc by the submission: scratch */
	uint64_t syncs;
	double copies_us;		/* modelled time of copies and fills by solve(), which is not in the launches' */
	struct device_line *lines;	/* with profile: summed over the timed launches */
	unsigned n_lines;
	struct mem_traffic *traffic;	/* bytes loaded and stored per tensor, solve() only */
	unsigned n_traffic;
};
/* 0: the run took place, see out fields.  -1 and e: our own failure (device process died: session_dead is true and a
 * new session is needed; if the same image crashes it twice, that is the image's fault; session_killed's never is). */
int session_run(struct session *s, struct session_run *r, struct err *e);
void session_run_free(struct session_run *r);
bool session_dead(const struct session *s);
/* Dead of its memory limit: the emulated device's memory, its book of who wrote what, and the image need more than is there. */
bool session_exhausted(const struct session *s);
/* Dead of a SIGKILL that neither we nor a limit sent: of an operator, or of the kernel's on a machine that has no memory left.  No image
 * and no guest can bring that about by itself, so it is never theirs. */
bool session_killed(const struct session *s);

/* ---- timing on a GPU: tapes, see device.h; ERR_SYSTEM on a device without ---- */
/* Change part of an input, as if it had been laid out so. */
int session_patch(struct session *s, uint32_t id, uint64_t offset, const void *data, uint64_t size, struct err *e);
/* Poison every output, then do all tapes once more in turn (tape >= 0: that one alone), host code out of the picture.
 * 0; a kernel that fails meanwhile is told by f. */
int session_replay(struct session *s, int tape, struct device_replay *out, struct fault *f, struct err *e);
int session_kernel(struct session *s, uint32_t index, struct device_kernel *out, struct err *e);

/* main() of the device process, reached by re-executing this program as `judge __device`; never returns to the judge's
 * code. */
int device_main(int argc, char **argv);

#endif
