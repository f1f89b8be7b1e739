/* System call policies: see policy.h.
 *
 * A policy is a list of tables of rules.  What no rule names is reported to the jail's supervisor, which ends the run
 * and knows the number; under JAIL_COMPILE it fails with ENOSYS instead, because compilers probe for calls that they
 * can do without.  Calls of a foreign ABI (i386, x32) kill the process in every policy.
 *
 * Rules that answer with an errno are for calls that libc makes by itself and that have an honest "there is none":
 * an empty root has no files, a pipe is no terminal.
 */
#include "policy.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <pthread.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct rule {
	int call;
	int error;			/* 0: allowed; else the errno that it fails with */
	int n_args;
	struct scmp_arg_cmp args[2];
};

struct table {
	const struct rule *rules;
	size_t n;
};

#define ALLOW(name) {SCMP_SYS(name), 0, 0, {{0}}}
#define FAIL(name, error) {SCMP_SYS(name), error, 0, {{0}}}
#define WHERE(arg, mask, value) {arg, SCMP_CMP_MASKED_EQ, mask, value}
#define ALLOW_IF(name, arg, mask, value) {SCMP_SYS(name), 0, 1, {WHERE(arg, mask, value)}}
#define ALL 0xffffffffu
/* Any small number but this one: one of its low bits differs.  A comparison of the whole would be of 64 bits, of which the kernel
 * drops the upper half. */
#define BIT_DIFFERS(name, arg, value, bit) ALLOW_IF(name, arg, 1u << (bit), ~(unsigned)(value) & 1u << (bit))
#define NOT(value, name, arg) BIT_DIFFERS(name, arg, value, 0), BIT_DIFFERS(name, arg, value, 1), BIT_DIFFERS(name, arg, value, 2), \
	BIT_DIFFERS(name, arg, value, 3), BIT_DIFFERS(name, arg, value, 4), BIT_DIFFERS(name, arg, value, 5), BIT_DIFFERS(name, arg, value, 6)
#define TABLE(t) {t, sizeof(t) / sizeof *(t)}

/* Memory, time, signals of one's own, descriptors that one already has, and the end. */
static const struct rule basic[] = {
	ALLOW_IF(execveat, 0, ALL, POLICY_EXE_FD),
	ALLOW(read), ALLOW(write), ALLOW(readv), ALLOW(writev), ALLOW(close), ALLOW(lseek), ALLOW(fstat),
	{SCMP_SYS(newfstatat), 0, 1, {WHERE(3, AT_EMPTY_PATH, AT_EMPTY_PATH)}},
	ALLOW(poll), ALLOW(ppoll),
	/* No huge pages of the host's pool, which no group counts, and none that the kernel looks for a twin of: that takes time. */
	{SCMP_SYS(mmap), 0, 2, {WHERE(2, PROT_EXEC, 0), WHERE(3, MAP_HUGETLB, 0)}}, ALLOW_IF(mprotect, 2, PROT_EXEC, 0),
	ALLOW(munmap), ALLOW(mremap), NOT(MADV_MERGEABLE, madvise, 2), ALLOW(brk),
	ALLOW(exit), ALLOW(exit_group),
	ALLOW(futex), ALLOW(set_tid_address), ALLOW(set_robust_list), ALLOW(rseq),
	ALLOW(rt_sigaction), ALLOW(rt_sigprocmask), ALLOW(rt_sigreturn), ALLOW(sigaltstack),
	ALLOW(getpid), ALLOW(gettid), ALLOW(restart_syscall),
	NOT(SIGKILL, tgkill, 2),	/* one is then from outside: a fact for the judge */
	ALLOW(clock_gettime), ALLOW(clock_getres), ALLOW(gettimeofday), ALLOW(time),
	ALLOW(nanosleep), ALLOW(clock_nanosleep), ALLOW(times), ALLOW(getrusage),
	ALLOW(sched_yield), ALLOW(sched_getaffinity), ALLOW(getrandom), ALLOW(uname), ALLOW(sysinfo), ALLOW(getcpu),
	{SCMP_SYS(prlimit64), 0, 1, {{2, SCMP_CMP_EQ, 0, 0}}},
	ALLOW(getrlimit), ALLOW(getuid), ALLOW(geteuid), ALLOW(getgid), ALLOW(getegid),
	ALLOW(arch_prctl), FAIL(ioctl, ENOTTY),
};

/* An empty root: what libc looks for is not there. */
static const struct rule no_files[] = {
	FAIL(open, ENOENT), FAIL(openat, ENOENT), FAIL(stat, ENOENT), FAIL(lstat, ENOENT), FAIL(statx, ENOSYS),
	{SCMP_SYS(newfstatat), ENOENT, 1, {WHERE(3, AT_EMPTY_PATH, 0)}},
	FAIL(access, ENOENT), FAIL(faccessat, ENOENT), FAIL(readlink, ENOENT), FAIL(readlinkat, ENOENT),
	FAIL(getcwd, ENOENT), FAIL(fcntl, EINVAL),
};

/* The socket to the device. */
static const struct rule own_socket[] = {
	ALLOW(sendmsg), ALLOW(recvmsg), ALLOW(sendto), ALLOW(recvfrom), ALLOW(shutdown),
};

/* Inherited memory files. */
static const struct rule own_files[] = {
	ALLOW(pread64), ALLOW(pwrite64), ALLOW(ftruncate), ALLOW(fallocate),
};

/* The files of a private tmpfs. */
static const struct rule private_files[] = {
	ALLOW(pread64), ALLOW(pwrite64), ALLOW(preadv), ALLOW(pwritev), ALLOW(ftruncate), ALLOW(truncate),
	ALLOW(fallocate), ALLOW(fsync), ALLOW(fdatasync), ALLOW(fadvise64), ALLOW(copy_file_range), ALLOW(sendfile),
	ALLOW(open), ALLOW(openat), ALLOW(creat), ALLOW(stat), ALLOW(lstat), ALLOW(newfstatat), ALLOW(statx),
	ALLOW(statfs), ALLOW(fstatfs), ALLOW(access), ALLOW(faccessat), ALLOW(faccessat2), ALLOW(readlink),
	ALLOW(readlinkat), ALLOW(getcwd), ALLOW(chdir), ALLOW(fchdir), ALLOW(umask), ALLOW(getdents64), ALLOW(getdents),
	ALLOW(rename), ALLOW(renameat), ALLOW(renameat2), ALLOW(unlink), ALLOW(unlinkat), ALLOW(rmdir), ALLOW(mkdir),
	ALLOW(mkdirat), ALLOW(link), ALLOW(linkat), ALLOW(symlink), ALLOW(symlinkat), ALLOW(chmod), ALLOW(fchmod),
	ALLOW(fchmodat), ALLOW(utimensat), ALLOW(flock), ALLOW(fcntl), ALLOW(dup), ALLOW(dup2), ALLOW(dup3),
	ALLOW(pipe), ALLOW(pipe2), ALLOW(select), ALLOW(pselect6), ALLOW(msync), ALLOW(mincore),
	ALLOW(getppid), ALLOW(getitimer), ALLOW(setitimer), ALLOW(alarm), ALLOW(pause), ALLOW(rt_sigsuspend),
	ALLOW(rt_sigtimedwait), ALLOW(rt_sigpending), NOT(SIGKILL, kill, 1), ALLOW(eventfd2),
	ALLOW_IF(memfd_create, 1, MFD_HUGETLB, 0),
};

/* A whole program may end itself as it likes. */
static const struct rule own_signals[] = {
	ALLOW(kill), ALLOW(tgkill),
};

/* Threads in one's own process.  clone3 hides its flags behind a pointer: with ENOSYS libc turns to clone. */
enum { THREAD = CLONE_THREAD | CLONE_VM | CLONE_SIGHAND };
enum { NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
		    CLONE_NEWNET };
static const struct rule threads[] = {
	ALLOW_IF(clone, 0, THREAD | (unsigned)NAMESPACES, THREAD), FAIL(clone3, ENOSYS),
	ALLOW(get_robust_list), ALLOW(sched_getparam), ALLOW(sched_getscheduler), ALLOW(membarrier),
	ALLOW_IF(prctl, 0, ALL, PR_SET_NAME), ALLOW_IF(prctl, 0, ALL, PR_GET_NAME),
};

/* What the dynamic loader does at start: read-only files, which are those of the system's library folders, and
 * executable mappings of files.  Anonymous executable memory stays out. */
#define EXECUTABLE_FILE {SCMP_SYS(mmap), 0, 2, {WHERE(2, PROT_EXEC, PROT_EXEC), WHERE(3, MAP_ANONYMOUS | MAP_PRIVATE, MAP_PRIVATE)}}
enum { WRITING = O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND };
static const struct rule loader[] = {
	ALLOW_IF(openat, 2, WRITING, 0), ALLOW_IF(open, 1, WRITING, 0),
	EXECUTABLE_FILE,
	ALLOW(newfstatat), ALLOW(stat), ALLOW(lstat), ALLOW(statx), ALLOW(access), ALLOW(faccessat), ALLOW(faccessat2),
	ALLOW(readlink), ALLOW(readlinkat), ALLOW(getcwd), ALLOW(fcntl), ALLOW(dup), ALLOW(getdents64),
	ALLOW(eventfd2), ALLOW(msync), ALLOW(mincore),
};

/* ioctl, but for those of terminals (TIOCSTI types for another), whose second lowest byte is 'T', 0x54: one bit differs. */
#define NOT_TTY(bit, is) ALLOW_IF(ioctl, 1, (bit) << 8, (is) << 8)
/* Those of them that any library may use on any descriptor. */
#define TTY(call) ALLOW_IF(ioctl, 1, 0xffffffff, call)
/* The NVIDIA driver's library: its device files, and local sockets, whose names are of the jail's own network namespace and
 * private /tmp. */
static const struct rule gpu[] = {
	NOT_TTY(0x01, 0x01), NOT_TTY(0x02, 0x02), NOT_TTY(0x04, 0), NOT_TTY(0x08, 0x08), NOT_TTY(0x10, 0), NOT_TTY(0x20, 0x20), NOT_TTY(0x40, 0),
	NOT_TTY(0x80, 0x80), TTY(TCGETS), TTY(FIONREAD), TTY(FIONBIO), TTY(FIONCLEX), TTY(FIOCLEX), TTY(FIOASYNC),
	ALLOW(mmap), ALLOW(mprotect), ALLOW(prlimit64), ALLOW(mlock), ALLOW(munlock), ALLOW(eventfd),
	ALLOW(epoll_create1), ALLOW(epoll_ctl), ALLOW(epoll_wait), ALLOW(epoll_pwait),
	ALLOW(sched_setaffinity), ALLOW(sched_get_priority_max), ALLOW(sched_get_priority_min), ALLOW(get_mempolicy), ALLOW(mbind),
	ALLOW(set_mempolicy), ALLOW_IF(socket, 0, ALL, AF_UNIX), ALLOW(bind), ALLOW(listen), ALLOW(accept), ALLOW(accept4),
	ALLOW(connect), ALLOW(getsockname), ALLOW(getpeername), ALLOW(setsockopt), ALLOW(getsockopt),
};

/* Compilers: processes and files; no sockets, no namespaces, no tracing, no new powers. */
static const struct rule processes[] = {
	EXECUTABLE_FILE, ALLOW(execve), ALLOW(execveat), ALLOW(vfork), ALLOW(fork),
	ALLOW_IF(clone, 0, (unsigned)NAMESPACES, 0), FAIL(clone3, ENOSYS),
	ALLOW(wait4), ALLOW(waitid), ALLOW(setpgid), ALLOW(getpgid), ALLOW(getpgrp), ALLOW(setsid), ALLOW(getsid),
	ALLOW(prlimit64), ALLOW(setrlimit), ALLOW(getgroups), ALLOW(getresuid), ALLOW(getresgid),
	ALLOW(sched_setaffinity), ALLOW(sched_getparam), ALLOW(sched_getscheduler), ALLOW(getpriority),
	ALLOW(get_robust_list), ALLOW(membarrier), ALLOW_IF(personality, 0, READ_IMPLIES_EXEC, 0),
	ALLOW_IF(personality, 0, ALL, ALL), ALLOW(chown), ALLOW(fchown), ALLOW(fchownat),
	ALLOW(lchown), ALLOW(sync_file_range), ALLOW(readahead), ALLOW(close_range), ALLOW(utime), ALLOW(utimes),
	ALLOW(epoll_create1), ALLOW(epoll_ctl), ALLOW(epoll_wait), ALLOW(epoll_pwait), ALLOW(eventfd),
	ALLOW_IF(prctl, 0, ALL, PR_SET_NAME), ALLOW_IF(prctl, 0, ALL, PR_GET_NAME),
	ALLOW_IF(prctl, 0, ALL, PR_SET_PDEATHSIG), ALLOW_IF(prctl, 0, ALL, PR_GET_DUMPABLE),
	FAIL(getxattr, ENOTSUP), FAIL(lgetxattr, ENOTSUP), FAIL(fgetxattr, ENOTSUP), FAIL(listxattr, ENOTSUP),
};

static const struct policy {
	const char *name;
	bool notifies;
	struct table tables[6];
} policies[] = {
	[JAIL_COMPILE] = {"compile", false, {TABLE(basic), TABLE(private_files), TABLE(processes)}},
	[JAIL_GUEST] = {"guest", true, {TABLE(basic), TABLE(no_files), TABLE(own_socket)}},
	[JAIL_PROGRAM] = {"program", true, {TABLE(basic), TABLE(own_socket), TABLE(private_files), TABLE(own_signals)}},
	[JAIL_ORACLE] = {"oracle", true, {TABLE(basic), TABLE(no_files), TABLE(own_files)}},
	[JAIL_DEVICE] = {"device", true, {TABLE(basic), TABLE(own_socket), TABLE(own_files), TABLE(threads),
					  TABLE(loader)}},
	[JAIL_GPU] = {"gpu", false, {TABLE(basic), TABLE(own_socket), TABLE(private_files), TABLE(threads), TABLE(loader), TABLE(gpu)}},
};

enum { N_POLICIES = sizeof policies / sizeof *policies };

static struct sock_fprog filters[N_POLICIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void release(scmp_filter_ctx *ctx)
{
	if (*ctx)
		seccomp_release(*ctx);
}

/* Does the policy allow this call: always, or under conditions?  libseccomp refuses a narrower rule beside a wider one. */
static bool allows(const struct policy *p, int call, bool always)
{
	for (unsigned t = 0; t < sizeof p->tables / sizeof *p->tables; t++)
		for (size_t i = 0; i < p->tables[t].n; i++) {
			const struct rule *r = &p->tables[t].rules[i];
			if (r->call == call && !r->error && always == !r->n_args)
				return true;
		}
	return false;
}

static int add_rule(scmp_filter_ctx ctx, const struct policy *p, const struct rule *r, struct err *e)
{
	if ((r->n_args || r->error) && allows(p, r->call, true))
		return 0;
	if (r->error && !r->n_args && allows(p, r->call, false))
		return 0;		/* what the conditions leave out is as any call outside the list */
	if (r->error == ENOSYS && !p->notifies)		/* that is the default there */
		return 0;
	uint32_t action = r->error ? SCMP_ACT_ERRNO((uint32_t)r->error) : SCMP_ACT_ALLOW;
	int rc = seccomp_rule_add_array(ctx, action, r->call, (unsigned)r->n_args, r->args);
	if (rc < 0 && rc != -EEXIST) {
		errno = -rc;
		return err_errno(e, "libseccomp refuses the rule for system call %d of policy %s", r->call, p->name);
	}
	return 0;
}

static int export(scmp_filter_ctx ctx, struct sock_fprog *out, struct err *e)
{
	CLEANUP_FD int fd = memfd_create("filter", MFD_CLOEXEC);
	CLEANUP_BUF struct buf b = {0};
	int rc = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
	if (rc < 0) {
		errno = -rc;
		return err_errno(e, "cannot export a system call filter");
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return err_errno(e, "cannot rewind a system call filter");
	if (buf_read_fd(&b, fd, "a system call filter", 1 << 20, e) < 0)
		return -1;
	out->len = (unsigned short)(b.size / sizeof *out->filter);
	out->filter = (struct sock_filter *)(void *)b.data;
	b = (struct buf){0};
	return 0;
}

static int build(const struct policy *p, struct sock_fprog *out, struct err *e)
{
	uint32_t outside = p->notifies ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(ENOSYS);
	CLEANUP(release) scmp_filter_ctx ctx = seccomp_init(outside);
	if (!ctx)
		return err_system(e, "libseccomp cannot start a filter (version 2.5 or newer is needed)");
	int rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (rc == 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);	/* a binary tree: guests make many calls */
	if (rc < 0)
		return err_system(e, "libseccomp refuses a filter attribute");
	for (unsigned t = 0; t < sizeof p->tables / sizeof *p->tables; t++)
		for (size_t i = 0; i < p->tables[t].n; i++)
			if (add_rule(ctx, p, &p->tables[t].rules[i], e) < 0)
				return -1;
	return export(ctx, out, e);
}

const struct sock_fprog *policy_filter(enum jail_policy policy, struct err *e)
{
	if ((unsigned)policy >= N_POLICIES)
		BUG("jail policy %d", (int)policy);
	pthread_mutex_lock(&lock);
	struct sock_fprog *f = &filters[policy];
	int rc = f->filter ? 0 : build(&policies[policy], f, e);
	pthread_mutex_unlock(&lock);
	return rc < 0 ? NULL : f;
}

bool policy_notifies(enum jail_policy policy)
{
	return policies[policy].notifies;
}

const char *policy_name(enum jail_policy policy)
{
	return policies[policy].name;
}
