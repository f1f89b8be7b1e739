/* The jail: see jail.h.
 *
 * Theory of operation.  Three processes:
 *
 *	judge -- clone3, new namespaces --> supervisor (pid 1 inside) -- vfork --> program (pid 2 inside) --> ...
 *
 * The judge prepares everything (filter, control group, pipes), clones the supervisor, writes its id maps, puts it into
 * the control group and says go.  The supervisor (jail_child.c) builds the root, starts the program and stays: it reaps
 * orphans, watches the processor time, hears of system calls outside the list, and tells the program's wait status.  When
 * it exits the kernel kills every process of its pid namespace, so one exit ends the tree, whatever the tree did.
 *
 * A socket and a pipe join them.  `go` carries one byte down to start; after that a byte means stop, and end of file means
 * that the judge is gone and has the same effect: a killed judge leaves no processes.  `report` carries struct jail_report
 * up: started or failed, and later how the program ended.  The program has neither.
 *
 * Who decides the end: the kernel's count of memory kills first; then what the judge saw (output, wall time, processor time of
 * the group); then the supervisor's report.  The supervisor cannot be signalled from inside, and runs no code of the program.
 * A program that SIGKILL ended, without a limit met, was killed by somebody outside, since no policy but JAIL_PROGRAM lets
 * it send that: our failure, never the program's.
 *
 * unsandboxed: the same processes and pipes without namespaces and root.
 */
#include "jail.h"

#include "base/cleanup.h"
#include "cgroup.h"
#include "jail_child.h"
#include "policy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct jail {
	struct jail_limits limits;
	bool isolated, output_kill;
	bool can_kill_itself;				/* a SIGKILL may be the program's own */
	char name[32];
	struct cgroup *group;
	pid_t pid;
	int pidfd, go_fd, report_fd, out_fd, err_fd;	/* -1: closed, or not captured */
	uint64_t start_us;
	atomic_bool killed;
};

enum { NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS };

static uint64_t now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void discard(struct jail **jp)
{
	struct jail *j = *jp;
	if (!j)
		return;
	if (j->pid > 0) {
		siginfo_t si;
		jail_kill(j);
		shut(&j->go_fd);
		while (waitid(P_PIDFD, (id_t)j->pidfd, &si, WEXITED | __WALL) < 0 && errno == EINTR)
			;
	}
	cgroup_free(j->group);
	shut(&j->go_fd);
	shut(&j->pidfd);
	shut(&j->report_fd);
	shut(&j->out_fd);
	shut(&j->err_fd);
	free(j);
}

/* ---- start ---- */

/* The descriptors of the child's side, closed in the judge once the child has its own copies. */
struct ends {
	int go, report, in, out, err;
};

static void ends_close(struct ends *s)
{
	shut(&s->go);
	shut(&s->report);
	shut(&s->in);
	shut(&s->out);
	shut(&s->err);
}

static int make_pipe(int *reading, int *writing, struct err *e)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_errno(e, "cannot make a pipe");
	*reading = fds[0];
	*writing = fds[1];
	return 0;
}

static int capture(int *reading, int *writing, struct err *e)
{
	if (make_pipe(reading, writing, e) < 0)
		return -1;
	if (fcntl(*reading, F_SETFL, O_NONBLOCK) < 0)
		return err_errno(e, "cannot set up a pipe");
	return 0;
}

static void add_fd(struct jail_plan *p, int host, int inside)
{
	if (p->n_fds == JAIL_MAX_FDS || inside < 0 || inside > JAIL_MAX_FD)
		BUG("jail descriptor %d as %d", host, inside);
	p->fds[p->n_fds++] = (struct jail_fd){host, inside};
}

static int open_stdio(struct jail *j, const struct jail_spec *s, struct jail_plan *p, struct ends *theirs, struct err *e)
{
	if (s->stdin_fd < 0 && (theirs->in = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		return err_errno(e, "cannot open /dev/null");
	if (s->stdout_fd < 0 && capture(&j->out_fd, &theirs->out, e) < 0)
		return -1;
	if (s->stderr_fd < 0 && capture(&j->err_fd, &theirs->err, e) < 0)
		return -1;
	add_fd(p, s->stdin_fd < 0 ? theirs->in : s->stdin_fd, 0);
	add_fd(p, s->stdout_fd < 0 ? theirs->out : s->stdout_fd, 1);
	add_fd(p, s->stderr_fd < 0 ? theirs->err : s->stderr_fd, 2);
	for (unsigned i = 0; i < s->n_fds; i++)
		add_fd(p, s->fds[i].host, s->fds[i].inside);
	return 0;
}

static int put_proc(pid_t pid, const char *file, const char *text)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
	CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static int map_to(pid_t pid, const char *file, unsigned outside)
{
	char line[64];
	snprintf(line, sizeof line, "%d %u 1", JAIL_UID, outside);
	return put_proc(pid, file, line);
}

/* One user inside.  Root's jails are nobody outside, where nobody can be named (not in every container). */
static int write_maps(pid_t pid, bool root, struct err *e)
{
	if (root && map_to(pid, "gid_map", JAIL_NOBODY) == 0 && map_to(pid, "uid_map", JAIL_NOBODY) == 0)
		return 0;
	if (!root && put_proc(pid, "setgroups", "deny") < 0)
		return err_errno(e, "cannot close the jail's supplementary groups");
	if (map_to(pid, "gid_map", getegid()) < 0 && errno != EPERM)
		return err_errno(e, "cannot map the jail's group");
	if (map_to(pid, "uid_map", geteuid()) < 0)
		return err_errno(e, "cannot map the jail's user");
	return 0;
}

/* Clone with all signals held back, so that no handler of the judge's runs in the child.  group >= 0: born in that one. */
static bool clone_once(struct jail *j, struct jail_plan *p, uint64_t namespaces, int group)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | namespaces | (group >= 0 ? CLONE_INTO_CGROUP : 0), .pidfd = (uintptr_t)&j->pidfd,
		.cgroup = group >= 0 ? (uint64_t)group : 0,
	};
	sigset_t all, old;
	p->user_namespace = namespaces & CLONE_NEWUSER;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool shares = (namespaces & CLONE_NEWNET) && jail_net_enter(p->spec->policy);
	if (shares)
		args.flags &= ~(uint64_t)CLONE_NEWNET;
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	if (pid == 0)
		jail_child(p);
	int number = errno;
	if (shares)
		jail_net_leave();
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = number;
	if (pid > 0)
		j->pid = pid;
	return pid > 0;
}

/* Where the host has no user namespaces for us, root can do without.  *born: it is in its group. */
static int clone_child(struct jail *j, struct jail_plan *p, bool *born, struct err *e)
{
	uint64_t all = j->isolated ? (uint64_t)NAMESPACES | CLONE_NEWCGROUP : 0;
	CLEANUP_FD int group = j->group ? cgroup_open(j->group) : -1;
	*born = group >= 0 && clone_once(j, p, all, group);
	if (*born || clone_once(j, p, all, -1))
		return 0;
	int number = errno;
	if (j->isolated && p->root && clone_once(j, p, all & ~(uint64_t)CLONE_NEWUSER, -1))
		return 0;
	errno = number;
	return err_errno(e, "%s", j->isolated ? "cannot make the namespaces of a jail" : "cannot start a process");
}

/* The supervisor's word: started, or why not. */
static int await_start(struct jail *j, struct err *e)
{
	struct jail_report r;
	ssize_t n;
	do
		n = read(j->report_fd, &r, sizeof r);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)sizeof r && r.kind == REPORT_STARTED)
		return 0;
	if (n == (ssize_t)sizeof r && r.kind == REPORT_FAILED)
		return err_system(e, "%s", r.text);
	if (j->group && cgroup_oom_kills(j->group))
		return err_system(e, "the memory limit of %llu bytes is too small to start anything",
				  (unsigned long long)j->limits.memory);
	return err_system(e, "the jail's supervisor ended before the program began");
}

static int launch(struct jail *j, struct jail_plan *p, struct ends *theirs, struct err *e)
{
	bool born;
	if (clone_child(j, p, &born, e) < 0)
		return -1;
	ends_close(theirs);
	if (p->user_namespace && write_maps(j->pid, p->root, e) < 0)
		return -1;
	if (j->group && !born && cgroup_attach(j->group, j->pid, e) < 0)
		return -1;
	put_proc(j->pid, "oom_score_adj", "500");	/* where the machine is short of memory, rather this than the judge */
	if (send(j->go_fd, "", 1, MSG_NOSIGNAL) != 1)
		return err_errno(e, "cannot reach the jail's supervisor");
	if (await_start(j, e) < 0)
		return -1;
	j->start_us = now_us();
	return 0;
}

static int prepare(struct jail *j, const struct jail_spec *s, struct jail_plan *p, struct ends *theirs, struct err *e)
{
	if (!s->bare && !(p->filter = policy_filter(s->policy, e)) && j->isolated)
		return -1;
	if (j->isolated && jail_plan_masks(p, e) < 0)
		return -1;
	p->notifies = p->filter && policy_notifies(s->policy);
	/* One process more than the program's: the supervisor. */
	if (!s->bare && cgroup_new(s->limits.memory, s->limits.processes ? s->limits.processes + 1 : 0, &j->group, e) < 0)
		return -1;
	p->grouped = j->group;
	int go[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
		return err_errno(e, "cannot make a socket pair");
	theirs->go = go[0];
	j->go_fd = go[1];
	if (make_pipe(&j->report_fd, &theirs->report, e) < 0)
		return -1;
	p->go_fd = theirs->go;
	p->report_fd = theirs->report;
	return open_stdio(j, s, p, theirs, e);
}

struct jail *jail_start(const struct jail_spec *s, struct err *e)
{
	CLEANUP(discard) struct jail *j = calloc(1, sizeof *j);
	CLEANUP(ends_close) struct ends theirs = {-1, -1, -1, -1, -1};
	if (!j)
		BUG("out of memory");
	snprintf(j->name, sizeof j->name, "%s", s->name ? s->name : policy_name(s->policy));
	j->limits = s->limits;
	j->isolated = !s->unsandboxed && !s->bare;
	j->can_kill_itself = s->policy == JAIL_PROGRAM || s->bare;
	j->output_kill = s->output_kill;
	j->pidfd = j->go_fd = j->report_fd = j->out_fd = j->err_fd = -1;
	struct jail_plan p = {.spec = s, .isolated = j->isolated, .root = geteuid() == 0, .exe_fd = s->exe_fd, .listener = -1};
	if (prepare(j, s, &p, &theirs, e) < 0 || launch(j, &p, &theirs, e) < 0) {
		err_wrap(e, "jail \"%s\"", j->name);
		return NULL;
	}
	struct jail *started = j;
	j = NULL;
	return started;
}

/* ---- wait ---- */

/* Read what is there, in a few pieces: a writer that never pauses must not hold up the clock.  At the limit the rest is
 * read and dropped.  Closes the pipe at its end. */
static void pump(int *fd, struct buf *b, uint64_t limit, bool *cut)
{
	char piece[65536];
	for (int i = 0; i < 32; i++) {
		ssize_t n = *fd < 0 ? -1 : read(*fd, piece, sizeof piece);
		if (n < 0 && errno == EINTR && *fd >= 0)
			continue;
		if (n == 0)
			shut(fd);
		if (n <= 0)
			return;
		uint64_t room = !limit ? (uint64_t)n : limit - b->size;
		*cut |= room < (uint64_t)n;
		buf_add(b, piece, room < (uint64_t)n ? room : (uint64_t)n);
	}
}

static void pump_both(struct jail *j, struct jail_result *r)
{
	pump(&j->out_fd, &r->out, j->limits.output, &r->out_cut);
	pump(&j->err_fd, &r->err, j->limits.output, &r->err_cut);
}

static bool flooded(const struct jail *j, const struct jail_result *r)
{
	return j->output_kill && (r->out_cut || r->err_cut);
}

/* Ask the supervisor to end everything and tell what was used. */
static void ask_to_end(struct jail *j)
{
	send(j->go_fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void kill_supervisor(struct jail *j)
{
	syscall(SYS_pidfd_send_signal, j->pidfd, SIGKILL, NULL, 0);
}

static int time_left_ms(const struct jail *j)
{
	if (!j->limits.wall_ms)
		return -1;
	uint64_t end = j->start_us + (uint64_t)j->limits.wall_ms * 1000, now = now_us();
	return now >= end ? 0 : (int)((end - now + 999) / 1000);
}

/* The group counts the processor time of processes that nobody has reaped yet, which the supervisor can't see. */
static bool spent(const struct jail *j)
{
	return j->limits.cpu_ms && j->group && cgroup_cpu_us(j->group) > (uint64_t)j->limits.cpu_ms * 1000;
}

static int sleep_ms(const struct jail *j)
{
	enum { LOOK_MS = 50 };
	int left = time_left_ms(j);
	bool look = j->limits.cpu_ms && j->group && cgroup_cpu_us(j->group);
	return look && (left < 0 || left > LOOK_MS) ? LOOK_MS : left;
}

/* Why the judge ended it, if it did. */
enum stop { STOP_NONE, STOP_FLOOD, STOP_WALL, STOP_CPU };

static enum stop limit_met(const struct jail *j, const struct jail_result *r)
{
	return flooded(j, r) ? STOP_FLOOD : time_left_ms(j) == 0 ? STOP_WALL : spent(j) ? STOP_CPU : STOP_NONE;
}

/* Until the supervisor's end: captured output, wall time, processor time. */
static enum stop watch(struct jail *j, struct jail_result *r)
{
	enum { GRACE_MS = 200 };
	enum stop stop = STOP_NONE;
	for (;;) {
		struct pollfd fds[] = {{.fd = j->pidfd, .events = POLLIN},
				       {.fd = j->out_fd, .events = POLLIN},
				       {.fd = j->err_fd, .events = POLLIN}};
		int n = poll(fds, 3, stop ? GRACE_MS : sleep_ms(j));
		pump_both(j, r);
		if (n > 0 && fds[0].revents)
			break;
		if (stop && n == 0)
			kill_supervisor(j);
		else if (!stop && (stop = limit_met(j, r)))
			ask_to_end(j);
	}
	pump_both(j, r);		/* every writer is dead: what is left is in the pipe */
	return stop;
}

static uint64_t micros(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

/* Without a control group the kernel counts no memory kills.  It does tell how much was resident at the most: a program
 * that died with its limit used up died of that. */
static bool out_of_memory(const struct jail *j, const struct jail_result *r)
{
	bool death = r->status == SIGSEGV || r->status == SIGABRT || r->status == SIGBUS || r->status == SIGKILL;
	return death && !j->group && j->limits.memory && r->peak_memory >= j->limits.memory / 16 * 15;
}

static int killed_from_outside(const struct jail *j, const char *what, struct err *e)
{
	return err_system(e, "jail \"%s\": %s was killed from outside (is the machine short of memory?)", j->name, what);
}

/* The program's own end, by its wait status. */
static int judge_status(const struct jail *j, const struct jail_report *report, struct jail_result *r, struct err *e)
{
	int signal = WIFSIGNALED(report->status) ? WTERMSIG(report->status) : 0;
	uint64_t cpu_limit = (uint64_t)j->limits.cpu_ms * 1000;
	bool out_of_time = cpu_limit && r->cpu_us >= cpu_limit;
	/* RLIMIT_CPU counts whole ticks, which on a machine that others share come to more than what really ran. */
	if (cpu_limit && signal == SIGXCPU && r->cpu_us >= cpu_limit / 10 * 9)
		out_of_time = true;
	r->end = signal ? JAIL_SIGNALED : JAIL_EXITED;
	r->status = signal ? signal : WEXITSTATUS(report->status);
	if (signal == SIGSYS && j->isolated) {
		r->end = JAIL_SYSCALL;
		r->status = -1;
	} else if (out_of_time && (signal == SIGXCPU || signal == SIGKILL)) {
		r->end = JAIL_CPU;
	} else if (signal && out_of_memory(j, r)) {
		r->end = JAIL_MEMORY;
	} else if (signal == SIGKILL && !j->can_kill_itself) {
		return killed_from_outside(j, "its program", e);
	}
	return 0;
}

static int judge_end(struct jail *j, const struct jail_report *report, enum stop stop, struct jail_result *r, struct err *e)
{
	r->status = SIGKILL;
	if (j->group && cgroup_oom_kills(j->group)) {
		r->end = JAIL_MEMORY;
	} else if (flooded(j, r)) {
		r->end = JAIL_OUTPUT;
	} else if (report->kind == REPORT_DENIED) {
		r->end = JAIL_SYSCALL;
		r->status = report->status;
	} else if (report->kind == REPORT_CPU) {
		r->end = JAIL_CPU;
	} else if (report->kind == REPORT_ENDED) {
		return judge_status(j, report, r, e);
	} else if (stop == STOP_WALL || stop == STOP_CPU) {
		r->end = stop == STOP_WALL ? JAIL_WALL : JAIL_CPU;
	} else if (atomic_load(&j->killed)) {
		r->end = JAIL_KILLED;
	} else {
		return killed_from_outside(j, "its supervisor", e);
	}
	return 0;
}

int jail_wait(struct jail *jail, struct jail_result *r, struct err *e)
{
	CLEANUP(discard) struct jail *j = jail;
	struct jail_report report = {0};
	struct rusage usage = {0};
	siginfo_t si;
	*r = (struct jail_result){0};
	enum stop stop = watch(j, r);
	r->wall_us = now_us() - j->start_us;
	while (syscall(SYS_waitid, P_PIDFD, j->pidfd, &si, WEXITED | __WALL, &usage) < 0 && errno == EINTR)
		;
	j->pid = 0;
	ssize_t n = read(j->report_fd, &report, sizeof report);
	if (n != (ssize_t)sizeof report)
		report.kind = 0;
	uint64_t counted = j->group ? cgroup_cpu_us(j->group) : 0;
	r->cpu_us = report.kind ? report.cpu_us : micros(usage.ru_utime) + micros(usage.ru_stime);
	if (counted > r->cpu_us)
		r->cpu_us = counted;
	r->peak_memory = j->group ? cgroup_peak_memory(j->group) : 0;
	if (!r->peak_memory)
		r->peak_memory = report.peak_memory;
	return judge_end(j, &report, stop, r, e);
}

void jail_kill(struct jail *j)
{
	atomic_store(&j->killed, true);
	/* Outside a pid namespace the supervisor has to live long enough to end the others. */
	if (!j->isolated)
		ask_to_end(j);
	else
		kill_supervisor(j);
}

int jail_pidfd(const struct jail *j)
{
	return j->pidfd;
}

int jail_run(const struct jail_spec *s, struct jail_result *r, struct err *e)
{
	*r = (struct jail_result){0};
	struct jail *j = jail_start(s, e);
	return j ? jail_wait(j, r, e) : -1;
}

void jail_result_free(struct jail_result *r)
{
	buf_free(&r->out);
	buf_free(&r->err);
}

const char *jail_end_name(enum jail_end end)
{
	static const char *const names[] = {
		[JAIL_EXITED] = "exited", [JAIL_SIGNALED] = "killed by a signal", [JAIL_CPU] = "processor time limit",
		[JAIL_WALL] = "wall time limit", [JAIL_MEMORY] = "memory limit", [JAIL_OUTPUT] = "output limit",
		[JAIL_SYSCALL] = "forbidden system call", [JAIL_KILLED] = "stopped by the judge",
	};
	return names[end];
}
