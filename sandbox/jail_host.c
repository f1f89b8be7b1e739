/* What this host offers to jails, found by building one. */
#include "base/cleanup.h"
#include "base/scratch.h"
#include "cgroup.h"
#include "jail.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A whole x86-64 program: exit(42).  It tells whether a jail can run anything, with no file needed. */
static const unsigned char tiny[] = {
	0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,		/* 64 bits, little-endian */
	2, 0, 62, 0, 1, 0, 0, 0, 0x78, 0, 0x40, 0, 0, 0, 0, 0,			/* ET_EXEC, x86-64; entry 0x400078 */
	64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,			/* program headers at 64 */
	0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 0, 0, 0, 0, 0, 0,
	1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,				/* PT_LOAD, read and execute, offset 0 */
	0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0,			/* at 0x400000 */
	0x84, 0, 0, 0, 0, 0, 0, 0, 0x84, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0,
	0xbf, 42, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05,			/* mov edi, 42; mov eax, 60; syscall */
};

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static int run_tiny(struct jail_result *r, struct err *e)
{
	CLEANUP_FD int fd = memfd_create("tiny", MFD_CLOEXEC);
	if (fd < 0 || write(fd, tiny, sizeof tiny) != (ssize_t)sizeof tiny)
		return err_errno(e, "cannot make a memory file");
	const char *const argv[] = {"tiny", NULL};
	struct jail_spec s = {.policy = JAIL_GUEST, .name = "doctor", .argv = argv, .exe_fd = fd, .stdin_fd = -1,
			      .stdout_fd = -1, .stderr_fd = -1,
			      .limits = {.wall_ms = 5000, .memory = 64 << 20, .processes = 4, .output = 4096}};
	return jail_run(&s, r, e);
}

static bool setting_is(const char *path, char value)
{
	char c = 0;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, &c, 1) == 1 && c == value;
}

/* A line of the file begins with `start` and holds `within`. */
static bool has_line(const char *path, const char *start, const char *within)
{
	char line[4096];
	CLEANUP_FILE FILE *f = fopen(path, "re");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, start, strlen(start)) && strstr(line, within))
			return true;
	return false;
}

static bool in_chroot(void)
{
	/* A mount point "/", then rw or ro. */
	return !has_line("/proc/self/mountinfo", "", " / r");
}

/* What is behind most refusals; number: the kernel's. */
static const char *find_mend(int number)
{
	if (setting_is("/proc/sys/user/max_user_namespaces", '0'))
		return "user namespaces are off: sysctl -w user.max_user_namespaces=10000";
	if (geteuid() && setting_is("/proc/sys/kernel/unprivileged_userns_clone", '0'))
		return "user namespaces are off for ordinary users: sysctl -w kernel.unprivileged_userns_clone=1";
	if (geteuid() && setting_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
		return "AppArmor restricts user namespaces: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
	if (in_chroot())
		return "inside a chroot the kernel allows none: enter it by pivot_root (systemd-nspawn, podman run --rootfs)";
	if (has_line("/proc/self/status", "Seccomp:", "2"))
		return "a seccomp filter around the judge forbids it; docker and podman: --security-opt seccomp=unconfined "
		       "--security-opt apparmor=unconfined, or --privileged";
	if (number == ENOSPC || number == EUSERS)
		return "there may be no more user namespaces, here or in what is around it: sysctl -w user.max_user_namespaces=10000";
	if (!exists("/proc/self/ns/user"))
		return "the kernel is built without user namespaces: run the judge as root";
	return "";
}

/* Can a process be made in these namespaces?  0, or why not. */
static int try_clone(uint64_t namespaces)
{
	struct clone_args args = {.flags = namespaces, .exit_signal = SIGCHLD};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0)
		syscall(SYS_exit_group, 0);
	int number = errno;
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return pid > 0 ? 0 : number;
}

static int try_namespaces(struct jail_host *h)
{
	const uint64_t others = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	int number = try_clone(CLONE_NEWUSER);
	h->user_namespaces = !number;
	h->namespaces = !try_clone(others | (h->user_namespaces ? CLONE_NEWUSER : 0));
	return number;
}

static void try_jail(struct jail_host *h)
{
	struct jail_result r = {0};
	struct err e = {0};
	if (run_tiny(&r, &e) < 0)
		snprintf(h->why, sizeof h->why, "%.290s", e.text);
	else if (r.end != JAIL_EXITED || r.status != 42)
		snprintf(h->why, sizeof h->why, "a program that exits with 42 ended as: %s, %d", jail_end_name(r.end), r.status);
	else
		h->usable = true;
	jail_result_free(&r);
}

void jail_host(struct jail_host *h)
{
	*h = (struct jail_host){.root = geteuid() == 0};
	h->seccomp = exists("/proc/sys/kernel/seccomp/actions_avail");
	CLEANUP_FD int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	h->pidfd = pidfd >= 0;
	long landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	h->landlock = landlock > 0 ? (int)landlock : 0;
	int version = cgroup_version();
	h->cgroup = version == 2 ? CGROUP_V2 : version == 1 ? CGROUP_V1 : CGROUP_NONE;
	snprintf(h->cgroup_note, sizeof h->cgroup_note, "%s", cgroup_note());
	int number = try_namespaces(h);
	try_jail(h);
	if (!h->usable || !h->user_namespaces)
		snprintf(h->mend, sizeof h->mend, "%s", find_mend(number));
}

void jail_sweep(void)
{
	/* Mounts die with their namespaces, and processes with their judge. */
	cgroup_sweep();
	scratch_sweep();
}
