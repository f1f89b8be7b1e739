/* The jail: run one untrusted program with nothing but what it is given.
 *
 * Threat model.
 *
 * Who attacks: whoever wrote a submission (source that compilers digest, host code, PTX and messages that the device process
 * digests) or a problem package (its oracle).  They have the whole source of this judge, native code inside, any number of
 * attempts, and may work together from several jails at once.  They want to read hidden inputs, seeds, expected values, other
 * people's sources and files of the host; to change a verdict or a time; to keep something for a later run; to use more than
 * their limits; to leave something behind; to reach the network; to harm the host.
 *
 * What stops them, each layer by itself:
 *   - namespaces (user, pid, mount, net, ipc, uts, cgroup): no process, no network, no file, no IPC object, no name of the host
 *     is there to be reached.  (Root's jails share an empty network namespace; those whose policy has sockets don't.)  One user, nobody's outside where the judge is root; no supplementary group of root's.
 *   - the root, by pivot_root: a read-only tmpfs that holds only the mounts named below, each read-only, nosuid, nodev; a
 *     private /tmp of limited size where asked for.  The old root is unmounted.  Over what the judge hides (packages, oracles, its data)
 *     lies an empty folder, should an installation have put it below a folder of the system's that a jail is given.
 *   - no capability (bounding and ambient sets too), secure bits locked, no_new_privs: nothing executed can gain power.
 *   - seccomp: a list of allowed calls by policy, arguments too (policy.c).  Calls of another ABI kill.  What is not listed ends
 *     the run, or fails with ENOSYS for compilers and drivers, which probe.  So most of the kernel is not there to be attacked.
 *   - Landlock, where the kernel has it: files once more, by a mechanism of its own; no TCP, no abstract sockets, no signals out
 *     (not for JAIL_GPU).
 *   - a control group (v2, v1) for memory without swap and processes, of the whole tree; rlimits for file size, descriptors,
 *     core dumps, locked memory, processor time; the supervisor and the judge watch processor and wall time and output.  Processors
 *     are not rationed: who waits too long is told apart from who works too long, since both clocks are watched, and guests, oracles and
 *     programs are one process each.  Where our groups have version 2's cpu controller (asked for where we may), each jail gets an
 *     equal share; else a compile jail's share is by the processes it may have, and it is others' wall time, which has room for that
 *     (compile_plan.c), that it costs.
 *   - no descriptor but those named, by close_range; stdin is /dev/null; a session, session keyring, umask and personality of
 *     its own; first to go where the machine is short of memory.
 *   - whatever ends it, the supervisor's end is the end of its pid namespace, and so of every process in it, and the judge's end
 *     is that of the supervisor.
 *
 * What is decided, is decided from facts of the kernel alone (wait status, group events, rusage, how many bytes came out), never
 * from what the program says.  Nothing is collected from inside by path: results are memory files and pipes that the judge
 * made; what goes in is sealed, and what comes out is read after the last process is dead, by sizes that the judge knows.
 *
 * What a submission can carry out of a grading is bounded too (judge/untold.h): it sees hidden inputs, so of hidden cases only what
 * has few values is told, some 30 bits a case; a sentence of advice, at most 64 bits; how long it all took.  Of timing cases, whose
 * sizes everybody may know, launches and counters are told in full.  None of it is worth anything later: inputs are drawn anew for
 * each judging.
 *
 * Not defended: flaws of the kernel in what the policies leave open, and of the processor (a jail shares cores and caches with
 * the judge: timing and speculation leak what they leak; run one judge for each exam you care for).  The load that a jail may make
 * within its limits.  An ordinary user's supplementary groups stay (only root can drop them, and not in an ordinary user's
 * container): they matter for files that mounts bring in, and those are the toolchain's.  A GPU's driver, whose ioctls JAIL_GPU leaves open to our own device
 * process.  unsandboxed, which is for one's own code.
 *
 * It works for root, for an ordinary user where user namespaces are allowed, for root without user namespaces, and in a container
 * that allows the same.  Where it does not, jail_start fails and says why, and nothing is run.
 */
#ifndef SANDBOX_JAIL_H
#define SANDBOX_JAIL_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Which system calls are allowed. */
enum jail_policy {
	JAIL_COMPILE,	/* nvcc, gcc, ld: files, fork, exec; no sockets, no namespaces, no ptrace */
	JAIL_GUEST,	/* host code of a submission: memory, its socket and pipes, exit; no files, threads, exec */
	JAIL_PROGRAM,	/* `judge run`: as GUEST, and clocks, stdin, private files in its tmpfs */
	JAIL_ORACLE,	/* a package's oracle: memory, its inherited descriptors, exit */
	JAIL_DEVICE,	/* the emulated device process: as ORACLE, and threads (clone with CLONE_THREAD), recvmsg */
	JAIL_GPU	/* the device process of a real GPU: what its driver needs (device files, ioctl, /proc, /sys); still
			 * no exec, no network, no other process, no capability.  A call that is not allowed fails with ENOSYS. */
};

struct jail_limits {			/* 0 means no limit */
	unsigned cpu_ms, wall_ms;
	uint64_t memory;		/* bytes, of all processes together; swap is off */
	unsigned processes;
	uint64_t file_size;		/* bytes, one file */
	uint64_t tmpfs;			/* bytes of the private /tmp; 0: there is none */
	uint64_t output;		/* bytes of stdout, and of stderr, that are kept (see output_kill) */
};

struct jail_mount {
	const char *host, *inside;	/* bind mount, read-only, nosuid, nodev; a host path that is absent is skipped; may be in the
					 * private /tmp */
};

struct jail_fd {
	int host, inside;		/* the host's descriptor `host` is descriptor `inside` in the jail */
};

struct jail_spec {
	enum jail_policy policy;
	const char *name;		/* for the cgroup and for messages: "compile", "guest", ... */
	const char *const *argv;	/* argv[0] is the path inside, or any name where exe_fd is set */
	const char *const *envp;	/* NULL: empty; used, not copied: it must stay */
	int exe_fd;			/* execute this descriptor (fexecve); -1: argv[0] */
	const struct jail_mount *mounts;
	unsigned n_mounts;
	const struct jail_fd *fds;	/* besides 0, 1, 2 */
	unsigned n_fds;
	int stdin_fd;			/* -1: an empty one */
	int stdout_fd, stderr_fd;	/* >= 0: the jail writes there directly; -1: captured into the result */
	bool output_kill;		/* more output than the limit ends the run (JAIL_OUTPUT); else it is cut */
	struct jail_limits limits;
	/* --no-sandbox, for one's own code only: the host's files and network and the judge's own user; still with rlimits, and
	 * with a control group, no_new_privs and the policy's filter where they are to be had. */
	bool unsandboxed;
	bool bare;			/* unsandboxed, and no group and no filter either: for NVIDIA's tools and sanitized builds */
};

enum jail_end { JAIL_EXITED, JAIL_SIGNALED, JAIL_CPU, JAIL_WALL, JAIL_MEMORY, JAIL_OUTPUT, JAIL_SYSCALL /* seccomp */,
		JAIL_KILLED /* by jail_kill */ };

struct jail_result {
	enum jail_end end;
	int status;			/* exit status, or signal number, or system call number */
	uint64_t cpu_us, wall_us;
	uint64_t peak_memory;		/* bytes; 0 where the host can't tell */
	struct buf out, err;		/* what was captured; freed by jail_result_free */
	bool out_cut, err_cut;
};

struct jail;

/* No jail sees what lies in this folder: where a mount brings it along, an empty one lies over it.  A mount of the folder itself, or of
 * something in it, is made as asked.  Call it before the first jail; at most JAIL_HIDDEN_MAX; a relative path is ignored, and it need
 * not be there. */
void jail_hide(const char *folder);
enum { JAIL_HIDDEN_MAX = 12 };

/* Start.  NULL and e (always ERR_SYSTEM) if the jail can't be built.  All of spec is copied or used before return. */
struct jail *jail_start(const struct jail_spec *spec, struct err *e);
/* Wait for the end, pump output meanwhile, kill what is left of the whole tree, remove the cgroup, free the jail.
 * Limits are enforced from here, so call it promptly; other threads may run other jails. */
int jail_wait(struct jail *j, struct jail_result *r, struct err *e);
/* Ask for its end now; safe from another thread and from a signal handler.  jail_wait is still owed. */
void jail_kill(struct jail *j);
/* A descriptor that becomes readable once the jail's first process has ended, for poll(); owned by the jail. */
int jail_pidfd(const struct jail *j);
/* jail_start and jail_wait in one. */
int jail_run(const struct jail_spec *spec, struct jail_result *r, struct err *e);
void jail_result_free(struct jail_result *r);
const char *jail_end_name(enum jail_end end);

/* What this host offers, for `judge doctor` and for the decision to grade other people's code.  All of it was tried. */
struct jail_host {
	bool user_namespaces, namespaces /* the others, in a user namespace or as root without */, root, seccomp, pidfd;
	int landlock;			/* the version of its ABI; 0: none */
	enum { CGROUP_NONE, CGROUP_V1, CGROUP_V2 } cgroup;
	char cgroup_note[300];		/* what is missing and the command that mends it; empty when all is well */
	bool usable;			/* a jail works: submissions of others may be run */
	char why[300], mend[300];	/* if not usable; how to mend it, "" where that is not known */
};
void jail_host(struct jail_host *h);
/* Remove what a killed judge left behind: control groups, and folders of unsandboxed runs (mounts and processes die with it). */
void jail_sweep(void);

#endif
