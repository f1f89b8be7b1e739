/* The inside half of a jail: see jail_child.h, and jail.c for the theory of operation.
 *
 * Nothing here allocates or takes a lock: the judge that was cloned may have had other threads.
 */
#include "jail_child.h"

#include "policy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ABOVE = JAIL_MAX_FD + 1, OWN_FDS = JAIL_MAX_FDS + 3, STACK_SIZE = 64 << 10 };

int jail_fail(struct jail_plan *p, const char *what, const char *name)
{
	const char *why = strerrordesc_np(errno);	/* strerror may take the locks of another thread */
	snprintf(p->failure, sizeof p->failure, "%s%s%.150s: %s", what, name ? " " : "", name ? name : "", why ? why : "?");
	return -1;
}

static void report(const struct jail_plan *p, const struct jail_report *r)
{
	while (write(p->report_fd, r, sizeof *r) < 0 && errno == EINTR)
		;
}

static _Noreturn void give_up(struct jail_plan *p)
{
	struct jail_report r = {.kind = REPORT_FAILED};
	snprintf(r.text, sizeof r.text, "%s", p->failure);
	report(p, &r);
	_exit(1);
}

/* ---- descriptors ---- */

static unsigned own_fds(struct jail_plan *p, int **out)
{
	unsigned n = 0;
	out[n++] = &p->go_fd;
	out[n++] = &p->report_fd;
	if (p->exe_fd >= 0)
		out[n++] = &p->exe_fd;
	for (unsigned i = 0; i < p->n_fds; i++)
		out[n++] = &p->fds[i].host;
	return n;
}

/* Copy our descriptors above those that the program will see, and close everything else that the judge had open:
 * also the pipes of jails that its other threads are starting. */
static int keep_own_fds(struct jail_plan *p)
{
	int *own[OWN_FDS], sorted[OWN_FDS], highest;
	unsigned n = own_fds(p, own);
	do {
		for (unsigned i = 0; i < n; i++) {
			*own[i] = fcntl(*own[i], F_DUPFD_CLOEXEC, ABOVE);
			if (*own[i] < 0)
				return jail_fail(p, "cannot copy a descriptor", NULL);
			unsigned k = i;
			for (; k && sorted[k - 1] > *own[i]; k--)
				sorted[k] = sorted[k - 1];
			sorted[k] = *own[i];
		}
		unsigned from = 0;
		for (unsigned i = 0; i < n; i++) {
			if ((unsigned)sorted[i] > from)
				syscall(SYS_close_range, from, (unsigned)sorted[i] - 1, 0);
			from = (unsigned)sorted[i] + 1;
		}
		if (syscall(SYS_close_range, from, ~0u, 0) < 0)
			return jail_fail(p, "cannot close the judge's descriptors (Linux 5.9 or newer is needed)", NULL);
		highest = sorted[n - 1];
	} while (highest >= POLICY_EXE_FD);	/* the judge had very many: now there is room below */
	return 0;
}

/* Put the program's descriptors where it expects them, and the executable where the filter lets it be executed. */
static int place_fds(struct jail_plan *p)
{
	for (unsigned i = 0; i < p->n_fds; i++)
		if (dup2(p->fds[i].host, p->fds[i].inside) < 0)
			return jail_fail(p, "cannot place a descriptor", NULL);
	if (p->exe_fd < 0 && p->filter && p->spec->policy != JAIL_COMPILE) {
		p->exe_fd = open(p->spec->argv[0], O_PATH | O_CLOEXEC);
		if (p->exe_fd < 0)
			return jail_fail(p, "cannot execute", p->spec->argv[0]);
	}
	if (p->exe_fd >= 0 && dup3(p->exe_fd, POLICY_EXE_FD, O_CLOEXEC) < 0)
		return jail_fail(p, "cannot place the executable's descriptor (is `ulimit -n` below 1024?)", NULL);
	return 0;
}

/* ---- limits and powers of the program ---- */

static int limit(struct jail_plan *p, int which, const char *name, uint64_t soft, uint64_t hard)
{
	struct rlimit old, new = {soft, hard};
	if (getrlimit((__rlimit_resource_t)which, &old) == 0 && old.rlim_max < new.rlim_max)
		new.rlim_max = old.rlim_max;		/* an ordinary user can't raise it */
	if (new.rlim_cur > new.rlim_max)
		new.rlim_cur = new.rlim_max;
	if (setrlimit((__rlimit_resource_t)which, &new) < 0)
		return jail_fail(p, "cannot set the limit of", name);
	return 0;
}

/* The stack may grow as far as memory goes, and a control group lets an array be larger yet: endless recursion, and an array
 * that is too large, meet the memory limit and are told as such.  Not so for threads (their stacks would each take that much
 * address space) and compilers. */
static uint64_t stack_limit(const struct jail_plan *p)
{
	const struct jail_spec *s = p->spec;
	const uint64_t vast = 16ull << 30;
	if (s->policy == JAIL_DEVICE || s->policy == JAIL_GPU)
		return 8 << 20;
	if (s->policy == JAIL_COMPILE || !s->limits.memory)
		return 64 << 20;
	return p->grouped && s->limits.memory < vast ? vast : s->limits.memory;
}

static int set_limits(struct jail_plan *p)
{
	const struct jail_spec *s = p->spec;
	const struct jail_limits *l = &s->limits;
	uint64_t stack = stack_limit(p);
	bool files = s->policy == JAIL_COMPILE || s->policy == JAIL_PROGRAM || s->policy == JAIL_GPU || !p->isolated;
	/* One byte, not none: a core_pattern that is a pipe to a program of the host's heeds no other limit. */
	int rc = limit(p, RLIMIT_CORE, "core dumps", 1, 1);
	if (rc == 0)
		rc = limit(p, RLIMIT_NOFILE, "open files", files ? 256 : ABOVE, files ? 256 : ABOVE);
	if (rc == 0)
		rc = limit(p, RLIMIT_STACK, "the stack", stack, stack);
	if (rc == 0)
		rc = limit(p, RLIMIT_MEMLOCK, "locked memory", 0, 0);
	if (rc == 0)
		rc = limit(p, RLIMIT_MSGQUEUE, "message queues", 0, 0);
	if (rc == 0)
		rc = limit(p, RLIMIT_NICE, "priority", 0, 0);
	if (rc == 0)
		rc = limit(p, RLIMIT_RTPRIO, "real-time priority", 0, 0);
	if (rc == 0 && l->file_size)
		rc = limit(p, RLIMIT_FSIZE, "file size", l->file_size, l->file_size);
	/* The supervisor watches the time to the millisecond; this stands behind it. */
	if (rc == 0 && l->cpu_ms)
		rc = limit(p, RLIMIT_CPU, "processor time", l->cpu_ms / 1000 + 2, l->cpu_ms / 1000 + 3);
	if (rc == 0 && !p->grouped && l->memory)
		rc = limit(p, RLIMIT_DATA, "memory", l->memory, l->memory);
	if (rc == 0 && !p->grouped && l->processes && p->isolated)
		rc = limit(p, RLIMIT_NPROC, "processes", l->processes + 1, l->processes + 1);
	return rc;
}

static int drop_powers(struct jail_plan *p)
{
	struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct none[2] = {{0}};
	unsigned long locked = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
			       SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	if (prctl(PR_SET_SECUREBITS, locked, 0, 0, 0) < 0)
		return jail_fail(p, "cannot set secure bits", NULL);
	for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return jail_fail(p, "cannot drop a capability", NULL);
	if (syscall(SYS_capset, &header, none) < 0)
		return jail_fail(p, "cannot drop the capabilities", NULL);
	return 0;
}

/* Unsandboxed, what can't be had is done without. */
static int confine(struct jail_plan *p)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return p->isolated ? jail_fail(p, "cannot set no_new_privs", NULL) : 0;
	/* What a GPU's driver opens is its own secret: it starts without Landlock, and was not seen to start with it. */
	if (p->isolated && p->spec->policy != JAIL_GPU && jail_landlock(p) < 0)
		return -1;
	unsigned flags = p->notifies ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
	long rc = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, p->filter);
	if (rc < 0)
		return p->isolated ? jail_fail(p, "cannot set the system call filter", NULL) : 0;
	if (p->notifies)
		p->listener = (int)rc;
	return 0;
}

/* The program's process.  Until exec it shares memory and descriptors with the supervisor, which waits meanwhile. */
static int program(void *arg)
{
	struct jail_plan *p = arg;
	static char *const no_environment[] = {NULL};
	char *const *argv = (char *const *)p->spec->argv;
	char *const *envp = p->spec->envp ? (char *const *)p->spec->envp : no_environment;
	sigset_t none;
	sigemptyset(&none);
	setsid();
	if (!p->isolated)
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (set_limits(p) < 0)
		return 1;
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (p->filter && confine(p) < 0)
		return 1;
	if (p->exe_fd >= 0)
		syscall(SYS_execveat, POLICY_EXE_FD, "", argv, envp, AT_EMPTY_PATH);
	else
		execve(argv[0], argv, envp);
	jail_fail(p, "cannot execute", argv[0]);
	return 1;
}

/* ---- the supervisor ---- */

static void reset_signals(void)
{
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
}

/* In a container that an ordinary user made, its root can't drop the groups of that user either. */
static bool groups_stay(void)
{
	char c = 0;
	int fd = open("/proc/self/setgroups", O_RDONLY | O_CLOEXEC);
	bool denied = fd >= 0 && read(fd, &c, 1) == 1 && c == 'd';
	if (fd >= 0)
		close(fd);
	return denied;
}

static int take_identity(struct jail_plan *p)
{
	unsigned id = p->user_namespace ? JAIL_UID : JAIL_NOBODY;
	if (p->root && syscall(SYS_setgroups, 0, NULL) < 0 && !groups_stay())
		return jail_fail(p, "cannot drop supplementary groups", NULL);
	/* Without a user namespace the change of user would take away what building the root needs. */
	if (!p->user_namespace && prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
		return jail_fail(p, "cannot set secure bits", NULL);
	if (syscall(SYS_setresgid, id, id, id) < 0 || syscall(SYS_setresuid, id, id, id) < 0)
		return jail_fail(p, "cannot become the jail's user", NULL);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (syscall(SYS_sethostname, "judge", 5) < 0)
		return jail_fail(p, "cannot set the host name", NULL);
	return 0;
}

/* What the judge's own user could have handed down. */
static void forget_habits(void)
{
	umask(022);
	personality(PER_LINUX);
	/* A kernel without keys, or a user with too many, has none to hand down that the filter would let be used. */
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

static int isolate(struct jail_plan *p)
{
	forget_habits();
	if (jail_take_mounts(p) < 0 || take_identity(p) < 0 || jail_enter_root(p) < 0)
		return -1;
	return drop_powers(p);		/* the supervisor needs them no more, and the program inherits none */
}

static int set_up(struct jail_plan *p)
{
	char go;
	struct rlimit files;
	reset_signals();
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (keep_own_fds(p) < 0)
		return -1;
	if (read(p->go_fd, &go, 1) != 1)
		_exit(1);			/* the judge is gone, or changed its mind */
	setsid();
	if (!p->isolated)
		prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	else if (isolate(p) < 0)
		return -1;
	return place_fds(p);
}

static uint64_t micros(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static uint64_t cpu_used(pid_t pid)
{
	struct rusage dead;
	struct timespec t = {0};
	clockid_t clock;
	getrusage(RUSAGE_CHILDREN, &dead);
	if (clock_getcpuclockid(pid, &clock) == 0)
		clock_gettime(clock, &t);
	return micros(dead.ru_utime) + micros(dead.ru_stime) + (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Unsandboxed there is no pid namespace whose every process could be killed at once.  Children of the dead become ours:
 * killing ours until there are none ends the whole tree, whatever sessions it is in. */
static void kill_descendants(pid_t pid)
{
	kill(-pid, SIGKILL);
	for (;;) {
		char text[4096];
		int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = 0;
		for (char *at = text, *end; (pid = (pid_t)strtol(at, &end, 10)) > 0 && end != at; at = end)
			if (*end)		/* else it may be cut short */
				kill(pid, SIGKILL);
		if (waitpid(-1, NULL, 0) < 0 && errno != EINTR)
			return;
	}
}

/* The end: kill what is left, count what it used, tell, go. */
static _Noreturn void finish(const struct jail_plan *p, pid_t pid, struct jail_report *r)
{
	struct rusage u;
	if (!p->isolated)
		kill_descendants(pid);
	else
		kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	getrusage(RUSAGE_CHILDREN, &u);
	r->cpu_us = micros(u.ru_utime) + micros(u.ru_stime);
	report(p, r);
	_exit(0);
}

/* Reap all that has died; the report of the program's own end, if it is among them. */
static bool reap(pid_t pid, uint64_t before, struct jail_report *r)
{
	int status;
	pid_t dead;
	while ((dead = waitpid(-1, &status, WNOHANG)) > 0)
		if (dead == pid) {
			struct rusage u;
			getrusage(RUSAGE_CHILDREN, &u);
			*r = (struct jail_report){.kind = REPORT_ENDED, .status = status};
			/* The high-water mark starts with the judge's own pages, before exec. */
			r->peak_memory = (uint64_t)u.ru_maxrss * 1024 > before ? (uint64_t)u.ru_maxrss * 1024 : 0;
			return true;
		}
	return false;
}

/* How long to sleep before the processor time can have run out, at one thread's pace; threads are caught later, by at
 * most the 20 ms that bound each sleep. */
static int sleep_ms(const struct jail_plan *p, pid_t pid)
{
	uint64_t cpu_limit = (uint64_t)p->spec->limits.cpu_ms * 1000;
	if (!cpu_limit)
		return -1;
	uint64_t used = cpu_used(pid);
	if (used > cpu_limit)
		finish(p, pid, &(struct jail_report){.kind = REPORT_CPU});
	uint64_t left = (cpu_limit - used) / 1000 + 1;
	return left > 20 ? 20 : (int)left;
}

/* A call outside the policy's list: its process waits in the kernel for an answer that it will not get. */
static bool denied(int listener, struct jail_report *r)
{
	union {
		struct seccomp_notif notice;
		char room[1024];		/* later kernels may know a longer one */
	} u;
	memset(&u, 0, sizeof u);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &u) < 0)
		return false;
	*r = (struct jail_report){.kind = REPORT_DENIED, .status = u.notice.data.nr};
	return true;
}

static _Noreturn void supervise(struct jail_plan *p, pid_t pid, uint64_t before)
{
	sigset_t watched;
	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	struct pollfd fds[] = {{.fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN},
			       {.fd = p->go_fd, .events = POLLIN},
			       {.fd = p->listener, .events = POLLIN}};
	for (;;) {
		struct jail_report r;
		struct signalfd_siginfo s;
		if (poll(fds, 3, sleep_ms(p, pid)) < 0 && errno != EINTR)
			_exit(1);
		while (read(fds[0].fd, &s, sizeof s) == (ssize_t)sizeof s)
			;
		if ((fds[2].revents & POLLIN) && denied(p->listener, &r))
			finish(p, pid, &r);
		if (fds[2].revents & (POLLHUP | POLLERR))
			fds[2].fd = -1;
		if (reap(pid, before, &r))
			finish(p, pid, &r);
		if (fds[1].revents)		/* the judge asks, or is gone */
			finish(p, pid, &(struct jail_report){.kind = REPORT_STOPPED});
	}
}

_Noreturn void jail_child(struct jail_plan *p)
{
	static char stack[STACK_SIZE] __attribute__((aligned(64)));
	struct rusage self;
	p->listener = -1;
	if (set_up(p) < 0)
		give_up(p);
	getrusage(RUSAGE_SELF, &self);
	pid_t pid = clone(program, stack + sizeof stack, CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD, p);
	if (pid < 0)
		jail_fail(p, "cannot start a process", NULL);
	if (*p->failure)
		give_up(p);
	if (p->listener >= 0 && (p->listener = fcntl(p->listener, F_DUPFD_CLOEXEC, ABOVE)) < 0)
		_exit(1);
	syscall(SYS_close_range, 0, (unsigned)ABOVE - 1, 0);
	for (unsigned i = 0; i < p->n_fds; i++)
		close(p->fds[i].host);
	if (p->exe_fd >= 0) {
		close(p->exe_fd);
		close(POLICY_EXE_FD);
	}
	report(p, &(struct jail_report){.kind = REPORT_STARTED});
	supervise(p, pid, (uint64_t)self.ru_maxrss * 1024);
}
