/* The jail: run one untrusted program with nothing but what it is given.
 *
 * Threat model.  The program inside is hostile.  It must not read or change anything of the host, see other
 * processes, use the network, outlive its run, or use more time, memory, processes, file space or output than its
 * limits.  It gets: its own user, pid, mount, net, ipc, uts and cgroup namespaces; a root that is an empty read-only
 * tmpfs with the mounts named below; no capabilities, no_new_privs; a seccomp allow-list by policy (foreign ABIs are
 * killed); rlimits; a cgroup (v2, v1, or none: jail_host() says which); the descriptors named below and no others.
 * Facts about its end come from the kernel alone (wait status, cgroup events, rusage), never from what it prints.
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
	const char *host, *inside;	/* bind mount, read-only, nosuid, nodev; a host path that is absent is skipped */
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
	bool unsandboxed;		/* --no-sandbox: plain fork and exec with rlimits, for one's own code only */
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

/* What this host offers, for `judge doctor` and for the decision to grade other people's code. */
struct jail_host {
	bool user_namespaces, root, seccomp, pidfd, landlock;
	enum { CGROUP_NONE, CGROUP_V1, CGROUP_V2 } cgroup;
	char cgroup_note[300];		/* what is missing and the command that mends it; empty when all is well */
	bool usable;			/* namespaces and seccomp work: submissions of others may be run */
	char why[300];			/* if not usable */
};
void jail_host(struct jail_host *h);
/* Remove cgroups and mounts that a killed judge left behind. */
void jail_sweep(void);

#endif
