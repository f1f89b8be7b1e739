/* Control groups.  First on a tree of files on which the test plays the kernel: which files are written, with what, in what
 * order, and what follows from what they say.  Then on the machine's own: `tests/run cgroup` prints what it saw there.
 */
#include "test.h"
#include "../../sandbox/base/buf.h"
#include "../../sandbox/base/cleanup.h"
#include "../../sandbox/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- a kernel of files ---- */

static char root[200];
static struct buf story;		/* what was done: "mkdir PATH", "PATH = TEXT", "rmdir PATH", without the root */
static bool refuses_cpu;		/* to hand the cpu controller down */
static const char *version_2_files = "memory.max memory.swap.max memory.oom.group memory.events pids.max pids.events cgroup.kill";

__attribute__((format(printf, 1, 2)))
static const char *in_root(const char *fmt, ...)
{
	static char path[4][700];
	static unsigned next;
	char *p = path[next++ % 4];
	int n = snprintf(p, sizeof path[0], "%s", root);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(p + n, sizeof path[0] - (size_t)n, fmt, ap);
	va_end(ap);
	return p;
}

static void set(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	CHECK_MSG(f, "%s: %s", path, strerror(errno));
	fputs(text, f);
	fclose(f);
}

static bool is_empty(const char *dir, const char *file)
{
	struct stat st;
	return stat(in_root("%s/%s", dir + strlen(root), file), &st) < 0 || st.st_size == 0;
}

static int play_make(const char *path, mode_t mode)
{
	char names[400], *save;
	if (mkdir(path, mode) < 0)
		return -1;
	buf_printf(&story, "mkdir %s\n", path + strlen(root));
	snprintf(names, sizeof names, "%s cgroup.procs", version_2_files);
	for (char *n = strtok_r(names, " ", &save); n; n = strtok_r(NULL, " ", &save))
		set(in_root("%s/%s", path + strlen(root), n), "");
	return 0;
}

static int play_put(const char *path, const char *text)
{
	char dir[700];
	snprintf(dir, sizeof dir, "%s", path);
	char *name = strrchr(dir, '/');
	*name++ = 0;
	if (access(path, F_OK) < 0)
		return -1;
	buf_printf(&story, "%s = %s\n", path + strlen(root), text);
	if (!strcmp(name, "cgroup.subtree_control") && !is_empty(dir, "cgroup.procs"))
		return errno = EBUSY, -1;		/* no processes in a group that hands controllers down */
	if (refuses_cpu && !strncmp(text, "+cpu", 4))
		return errno = EINVAL, -1;
	if (!strcmp(name, "cgroup.kill"))
		set(in_root("%s/cgroup.procs", dir + strlen(root)), "");
	else if (!strcmp(name, "cgroup.subtree_control"))
		set(path, "memory pids\n");
	else
		set(path, text);
	if (!strcmp(name, "cgroup.procs")) {		/* a process is in one group */
		*strrchr(dir, '/') = 0;
		if (!is_empty(dir, "cgroup.procs"))
			set(in_root("%s/cgroup.procs", dir + strlen(root)), "");
	}
	return 0;
}

static int play_remove(const char *path)
{
	if (access(path, F_OK) < 0)
		return -1;
	buf_printf(&story, "rmdir %s\n", path + strlen(root));
	if (!is_empty(path, "cgroup.procs"))
		return errno = EBUSY, -1;
	char command[800];
	snprintf(command, sizeof command, "rm -r '%s'", path);
	return system(command) ? -1 : 0;
}

static const struct cgroup_kernel played = {root, play_make, play_put, play_remove};

/* A folder of the hierarchy as the kernel would have it. */
static void group(const char *path, const char *controllers, const char *subtree, const char *procs)
{
	char command[800];
	snprintf(command, sizeof command, "mkdir -p '%s'", in_root("/sys/fs/cgroup%s", path));
	CHECK(system(command) == 0);
	set(in_root("/sys/fs/cgroup%s/cgroup.controllers", path), controllers);
	set(in_root("/sys/fs/cgroup%s/cgroup.subtree_control", path), subtree);
	set(in_root("/sys/fs/cgroup%s/cgroup.procs", path), procs);
}

static void machine(const char *own, const char *mounts)
{
	snprintf(root, sizeof root, "%s/cgroup-test-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	CHECK(mkdtemp(root));
	CHECK(chmod(root, 0755) == 0);
	char command[300];
	snprintf(command, sizeof command, "mkdir -p '%s/proc/self'", root);
	CHECK(system(command) == 0);
	set(in_root("/proc/self/cgroup"), own);
	set(in_root("/proc/self/mountinfo"), mounts);
	unsetenv("JUDGE_CGROUP");
}

static const char mount_2[] = "29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
static const char all[] = "cpuset cpu io memory hugetlb pids rdma misc\n";

static void remove_machine(void)
{
	char command[500];
	snprintf(command, sizeof command, "chmod -R u+w '%s'; rm -rf '%s'", root, root);
	CHECK(system(command) == 0);
	buf_free(&story);
}

/* "N" stands for the number that the process gives its groups. */
static void check_story(const char *expected)
{
	char mine[64];
	struct buf got = {0};
	snprintf(mine, sizeof mine, "judge-%d-", (int)getpid());
	for (const char *p = buf_str(&story); *p;) {
		if (!strncmp(p, mine, strlen(mine))) {
			buf_printf(&got, "judge-N");
			p += strlen(mine);
			p += strspn(p, "0123456789");
		} else {
			buf_addc(&got, *p++);
		}
	}
	CHECK_STR(buf_str(&got), expected);
	buf_free(&got);
}

static struct cgroup *new_group(uint64_t memory, unsigned processes)
{
	struct err e = {0};
	struct cgroup *g;
	CHECK_MSG(cgroup_new(memory, processes, &g, &e) == 0, "%s", e.text);
	return g;
}

/* ---- version 2 ---- */

/* A systemd user session: the judge is in a scope below app.slice, which hands down what it should. */
static void user_session(void)
{
	machine("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope\n", mount_2);
	group("", all, "cpu memory pids\n", "");
	group("/user.slice/user-1000.slice/user@1000.service/app.slice", "cpu memory pids\n", "memory pids\n", "");
	group("/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope", "memory pids\n", "", "1\n");
}

#define APP "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice"
TEST(limits_come_before_the_process)
{
	struct err e = {0};
	user_session();
	cgroup_play(&played);
	CHECK_EQ(cgroup_version(), 2);
	CHECK_STR(cgroup_note(), "");
	struct cgroup *g = new_group(256 << 20, 5);
	CHECK(cgroup_attach(g, 4242, &e) == 0);
	check_story("mkdir " APP "/judge-N\n"
		    APP "/judge-N/memory.max = 268435456\n"
		    APP "/judge-N/memory.swap.max = 0\n"
		    APP "/judge-N/memory.oom.group = 1\n"
		    APP "/judge-N/pids.max = 5\n"
		    APP "/judge-N/cgroup.procs = 4242\n");
	cgroup_free(g);
	remove_machine();
}

/* Killed at once by cgroup.kill, then removed. */
TEST(the_group_is_killed_and_removed)
{
	struct err e = {0};
	user_session();
	cgroup_play(&played);
	struct cgroup *g = new_group(0, 0);
	CHECK(cgroup_attach(g, 4242, &e) == 0);
	story.size = 0;
	cgroup_free(g);
	check_story("rmdir " APP "/judge-N\n" APP "/judge-N/cgroup.kill = 1\nrmdir " APP "/judge-N\n");
	remove_machine();
}

/* Before Linux 5.14: frozen first, so that nothing forks away; what is killed is a child that waits for it. */
TEST(without_cgroup_kill_it_is_frozen)
{
	struct err e = {0};
	int status;
	user_session();
	version_2_files = "memory.max memory.events pids.max cgroup.freeze";
	cgroup_play(&played);
	struct cgroup *g = new_group(0, 0);
	pid_t child = fork();
	if (child == 0)
		for (;;)
			pause();
	CHECK(cgroup_attach(g, child, &e) == 0);
	story.size = 0;
	cgroup_free(g);			/* the played kernel's list of members stays: it tries a hundred times */
	CHECK(!strncmp(buf_str(&story), "rmdir ", 6));
	const char *frozen = strstr(buf_str(&story), "/cgroup.freeze = 1\n"), *thawed = strstr(buf_str(&story), "/cgroup.freeze = 0\n");
	CHECK(frozen && thawed && frozen < thawed);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	remove_machine();
}

TEST(processor_time_is_the_groups)
{
	user_session();
	version_2_files = "memory.max memory.events pids.max cpu.stat";
	cgroup_play(&played);
	struct cgroup *g = new_group(0, 0);
	CHECK_EQ(cgroup_cpu_us(g), 0);
	set(in_root(APP "/judge-%d-0/cpu.stat", (int)getpid()), "usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n");
	CHECK_EQ(cgroup_cpu_us(g), 1234567);
	int folder = cgroup_open(g);		/* for a process to be born in it */
	struct stat by_fd, by_path;
	CHECK(folder >= 0 && fstat(folder, &by_fd) == 0 && stat(in_root(APP "/judge-%d-0", (int)getpid()), &by_path) == 0);
	CHECK(by_fd.st_ino == by_path.st_ino && by_fd.st_dev == by_path.st_dev);
	close(folder);
	cgroup_free(g);
	remove_machine();
}

TEST(a_kernel_without_swap_is_fine)
{
	user_session();
	version_2_files = "memory.max memory.events pids.max";
	cgroup_play(&played);
	struct cgroup *g = new_group(1 << 20, 0);
	check_story("mkdir " APP "/judge-N\n" APP "/judge-N/memory.max = 1048576\n");
	CHECK_EQ(cgroup_peak_memory(g), 0);
	cgroup_free(g);
	remove_machine();
}

TEST(no_limit_without_its_file)
{
	struct err e = {0};
	struct cgroup *g;
	user_session();
	version_2_files = "pids.max";
	cgroup_play(&played);
	CHECK(cgroup_new(1 << 20, 5, &g, &e) < 0);
	CHECK(strstr(e.text, "cannot limit the memory of control group"));
	CHECK(!g);
	check_story("mkdir " APP "/judge-N\nrmdir " APP "/judge-N\n");
	remove_machine();
}

/* The kernel counts a process that the whole machine's want of memory killed as oom_kill too. */
TEST(only_the_groups_own_limit_is_out_of_memory)
{
	static const struct { const char *events; unsigned long kills; } cases[] = {
		{"low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n", 0},
		{"low 0\nhigh 0\nmax 31\noom 0\noom_kill 0\noom_group_kill 0\n", 0},
		{"low 0\nhigh 0\nmax 31\noom 1\noom_kill 3\noom_group_kill 1\n", 3},
		{"low 0\nhigh 0\nmax 0\noom 0\noom_kill 2\n", 0},
		{"low 0\nhigh 0\nmax 7\noom 2\n", 0},
	};
	user_session();
	cgroup_play(&played);
	struct cgroup *g = new_group(1 << 20, 5);
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		set(in_root(APP "/judge-%d-0/memory.events", (int)getpid()), cases[i].events);
		CHECK_EQ(cgroup_oom_kills(g), cases[i].kills);
	}
	set(in_root(APP "/judge-%d-0/pids.events", (int)getpid()), "max 9\n");
	CHECK_EQ(cgroup_refused_forks(g), 9);
	set(in_root(APP "/judge-%d-0/memory.peak", (int)getpid()), "73728\n");
	CHECK_EQ(cgroup_peak_memory(g), 73728);
	cgroup_free(g);
	remove_machine();
}

/* A container, or Delegate=yes: our own group is the highest, and we are in it. */
TEST(own_processes_move_to_a_leaf_first)
{
	machine("0::/\n", mount_2);
	group("", all, "", "1\n");
	cgroup_play(&played);
	CHECK_EQ(cgroup_version(), 2);
	check_story("/sys/fs/cgroup/cgroup.subtree_control = +cpu +memory +pids\n"
		    "mkdir /sys/fs/cgroup/judge-main\n"
		    "/sys/fs/cgroup/judge-main/cgroup.procs = 1\n"
		    "/sys/fs/cgroup/cgroup.subtree_control = +cpu +memory +pids\n");
	remove_machine();
}

/* Some lack it, and some kernels refuse to hand it down. */
TEST(groups_do_without_the_cpu_controller)
{
	machine("0::/\n", mount_2);
	group("", "memory pids\n", "", "");
	cgroup_play(&played);
	CHECK_EQ(cgroup_version(), 2);
	check_story("/sys/fs/cgroup/cgroup.subtree_control = +memory +pids\n");
	remove_machine();
	machine("0::/\n", mount_2);
	group("", all, "", "");
	refuses_cpu = true;
	cgroup_play(&played);
	refuses_cpu = false;
	CHECK_EQ(cgroup_version(), 2);
	check_story("/sys/fs/cgroup/cgroup.subtree_control = +cpu +memory +pids\n"
		    "/sys/fs/cgroup/cgroup.subtree_control = +memory +pids\n");
	remove_machine();
}

/* The path counts from the true root, but the container has its part of the hierarchy alone. */
TEST(a_container_sees_its_part)
{
	machine("0::/docker/abc/init\n", "29 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
	group("", all, "memory pids\n", "");
	group("/init", "memory pids\n", "", "1\n");
	cgroup_play(&played);
	CHECK_EQ(cgroup_version(), 2);
	cgroup_free(new_group(0, 0));
	check_story("mkdir /sys/fs/cgroup/judge-N\nrmdir /sys/fs/cgroup/judge-N\n");
	remove_machine();
}

/* An ssh session: all around it belongs to root. */
TEST(what_is_not_delegated_is_told)
{
	enum { NOBODY = 65534 };
	char command[300];
	machine("0::/user.slice/user-1000.slice/session-3.scope\n", mount_2);
	group("", all, "memory pids\n", "");
	group("/user.slice/user-1000.slice/session-3.scope", "memory pids\n", "", "1\n");
	snprintf(command, sizeof command, "chmod -R a-w '%s/sys'", root);
	CHECK(system(command) == 0);
	pid_t child = fork();
	if (child == 0) {		/* root may write everywhere */
		if (getuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(1);
		cgroup_play(&played);
		_exit(cgroup_version() || !strstr(cgroup_note(), "systemd-run --user --scope -p Delegate=yes") ? 2 : 0);
	}
	int status;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	remove_machine();
}

TEST(a_kernel_without_the_memory_controller_is_told)
{
	machine("0::/a\n", mount_2);
	group("", "cpu pids\n", "pids\n", "");
	group("/a", "pids\n", "", "1\n");
	cgroup_play(&played);
	CHECK_EQ(cgroup_version(), 0);
	CHECK(strstr(cgroup_note(), "cgroup_enable=memory"));
	CHECK(!new_group(1 << 20, 1));
	CHECK_STR(buf_str(&story), "");
	remove_machine();
}

/* Version 1, all of it root's. */
TEST(a_user_without_version_1_groups_is_told)
{
	enum { NOBODY = 65534 };
	char command[300];
	int status;
	machine("5:memory:/a\n3:pids:/a\n0::/a\n", "31 29 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		"32 29 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n");
	group("/memory/a", "", "", "1\n");
	group("/pids/a", "", "", "1\n");
	snprintf(command, sizeof command, "chmod -R a-w '%s/sys'", root);
	CHECK(system(command) == 0);
	pid_t child = fork();
	if (child == 0) {
		if (getuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(1);
		cgroup_play(&played);
		_exit(cgroup_version() || !strstr(cgroup_note(), "belong to root") ? 2 : 0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	remove_machine();
}

TEST(nothing_mounted_is_told)
{
	machine("", "23 1 0:21 / /proc rw - proc proc rw\n");
	cgroup_play(&played);
	CHECK_EQ(cgroup_version(), 0);
	CHECK(strstr(cgroup_note(), "mount cgroup2 at /sys/fs/cgroup"));
	remove_machine();
}

/* ---- version 1 ---- */

/* A hybrid system: version 2 is there, its controllers are not. */
TEST(version_1_has_two_folders)
{
	struct err e = {0};
	machine("5:memory:/a\n3:pids:/a\n0::/a\n",
		"30 29 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		"31 29 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		"32 29 0:29 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n");
	group("/unified", "\n", "", "");
	group("/memory/a", "", "", "1\n");
	group("/pids/a", "", "", "1\n");
	version_2_files = "memory.limit_in_bytes memory.memsw.limit_in_bytes memory.swappiness memory.oom_control "
			  "memory.max_usage_in_bytes pids.max";
	cgroup_play(&played);
	CHECK_EQ(cgroup_version(), 1);
	struct cgroup *g = new_group(1 << 20, 3);
	CHECK(cgroup_attach(g, 77, &e) == 0);
	check_story("mkdir /sys/fs/cgroup/memory/a/judge-N\n"
		    "mkdir /sys/fs/cgroup/pids/a/judge-N\n"
		    "/sys/fs/cgroup/memory/a/judge-N/memory.limit_in_bytes = 1048576\n"
		    "/sys/fs/cgroup/memory/a/judge-N/memory.memsw.limit_in_bytes = 1048576\n"
		    "/sys/fs/cgroup/memory/a/judge-N/memory.swappiness = 0\n"
		    "/sys/fs/cgroup/pids/a/judge-N/pids.max = 3\n"
		    "/sys/fs/cgroup/memory/a/judge-N/cgroup.procs = 77\n"
		    "/sys/fs/cgroup/pids/a/judge-N/cgroup.procs = 77\n");
	const char *control = in_root("/sys/fs/cgroup/memory/a/judge-%d-0/memory.oom_control", (int)getpid());
	set(control, "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
	set(in_root("/sys/fs/cgroup/memory/a/judge-%d-0/memory.max_usage_in_bytes", (int)getpid()), "65536\n");
	CHECK_EQ(cgroup_oom_kills(g), 0);
	set(in_root("/sys/fs/cgroup/memory/a/judge-%d-0/memory.max_usage_in_bytes", (int)getpid()), "1044480\n");
	CHECK_EQ(cgroup_oom_kills(g), 1);
	cgroup_free(g);
	remove_machine();
}

/* ---- the machine's own ---- */

/* A child in the group that runs `run` when it is in; its pid. */
static pid_t start_in(const struct cgroup *g, void (*run)(void))
{
	struct err e = {0};
	int go[2];
	CHECK(pipe2(go, O_CLOEXEC) == 0);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		char c;
		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			run();
		_exit(0);
	}
	CHECK_MSG(cgroup_attach(g, child, &e) == 0, "%s", e.text);
	CHECK_EQ(write(go[1], "", 1), 1);
	close(go[0]);
	close(go[1]);
	return child;
}

static void eat_memory(void)
{
	enum { MIB = 64 };
	char *p = mmap(NULL, MIB << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < MIB << 20; i += 4096)
		((volatile char *)p)[i] = 1;
}

static void eat_little(void)
{
	void *p = malloc(1 << 20);
	memset(p, 1, 1 << 20);
	__asm__ volatile("" : : "r"(p) : "memory");
}

static void fork_much(void)
{
	unsigned n = 0;
	for (; n < 50; n++) {
		pid_t child = fork();
		if (child < 0)
			break;
		if (child == 0) {
			pause();
			_exit(0);
		}
	}
	_exit((int)n);
}

static void leave_a_tree(void)
{
	for (int depth = 0; depth < 4; depth++) {
		if (fork() == 0)
			setsid();
	}
	for (;;)
		pause();
}

static void need_groups(void)
{
	if (!cgroup_version())
		test_skip(*cgroup_note() ? cgroup_note() : "no control groups");
}

TEST(real_memory_limit_is_told_by_the_kernel)
{
	need_groups();
	struct cgroup *g = new_group(16 << 20, 0);
	int status;
	pid_t child = start_in(g, eat_memory);
	CHECK_EQ(waitpid(child, &status, 0), child);
	printf("saw: version %d, 64 MiB in a group of 16: status 0x%x, %lu killed, peak %llu bytes\n", cgroup_version(), (unsigned)status,
	       cgroup_oom_kills(g), (unsigned long long)cgroup_peak_memory(g));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(cgroup_oom_kills(g) > 0);
	CHECK(cgroup_peak_memory(g) <= 16 << 20);
	cgroup_free(g);
}

TEST(real_memory_below_the_limit_is_no_fact)
{
	need_groups();
	struct cgroup *g = new_group(64 << 20, 0);
	int status;
	pid_t child = start_in(g, eat_little);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	kill(start_in(g, leave_a_tree), SIGKILL);	/* a kill that is not for memory */
	printf("saw: 1 MiB in a group of 64: %lu killed, peak %llu bytes\n", cgroup_oom_kills(g), (unsigned long long)cgroup_peak_memory(g));
	CHECK_EQ(cgroup_oom_kills(g), 0);
	cgroup_free(g);
	while (wait(NULL) > 0)
		;
}

TEST(real_processes_are_limited)
{
	need_groups();
	struct cgroup *g = new_group(0, 6);
	int status;
	pid_t child = start_in(g, fork_much);
	CHECK_EQ(waitpid(child, &status, 0), child);
	printf("saw: forks in a group of 6 processes: %d went well, %lu refused\n", WEXITSTATUS(status), cgroup_refused_forks(g));
	CHECK(WIFEXITED(status));
	if (!*cgroup_note()) {
		CHECK_EQ(WEXITSTATUS(status), 5);
		CHECK(cgroup_refused_forks(g) > 0);
	}
	cgroup_free(g);
}

TEST(real_tree_is_killed_whole)
{
	need_groups();
	struct cgroup *g = new_group(0, 0);
	int status;
	pid_t child = start_in(g, leave_a_tree);
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	char command[200];
	snprintf(command, sizeof command, "test -z \"$(find /sys/fs/cgroup ${JUDGE_CGROUP:+\"$JUDGE_CGROUP\"} -name 'judge-%d-*' 2>/dev/null)\"",
		 (int)getpid());
	CHECK(system(command) != 0);
	cgroup_free(g);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CHECK(system(command) == 0);
	printf("saw: 16 processes in sessions of their own: all killed, the group gone\n");
}
