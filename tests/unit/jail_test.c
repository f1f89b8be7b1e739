/* Jails: ends and limits told apart, nothing reached from inside, nothing left behind. */
#include "sandbox/base/cleanup.h"
#include "sandbox/jail.h"
#include "tests/unit/test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

/* A descriptor of jail_guest.c, compiled. */
static int guest(void)
{
	char path[] = "/tmp/jail-guest-XXXXXX", command[400];
	int made = mkstemp(path);
	CHECK(made >= 0);
	close(made);
	const char *slash = strrchr(__FILE__, '/');
	snprintf(command, sizeof command, "gcc -std=gnu17 -D_GNU_SOURCE -O1 -w -static -o %s %.*s/jail_guest.c", path, (int)(slash - __FILE__), __FILE__);
	CHECK_MSG(system(command) == 0, "cannot compile jail_guest.c: run the tests from the top of the tree");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unlink(path);
	CHECK(fd >= 0);
	return fd;
}

static struct jail_spec spec_of(enum jail_policy policy, int exe, const char **argv, const char *what)
{
	argv[0] = "guest";
	argv[1] = what;
	argv[2] = NULL;
	return (struct jail_spec){.policy = policy, .name = what, .argv = argv, .exe_fd = exe, .stdin_fd = -1, .stdout_fd = -1,
				  .stderr_fd = -1,
				  .limits = {.cpu_ms = 400, .wall_ms = 9000, .memory = 32 * MIB, .processes = 8, .output = 4000}};
}

static void run(struct jail_spec *s, struct jail_result *r)
{
	struct err e = {0};
	CHECK_MSG(jail_run(s, r, &e) == 0, "%s: %s", s->name, e.text);
}

static void check_end(enum jail_policy policy, int exe, const char *what, enum jail_end end, int status)
{
	const char *argv[3];
	struct jail_result r;
	struct jail_spec s = spec_of(policy, exe, argv, what);
	run(&s, &r);
	CHECK_MSG(r.end == end && r.status == status, "%s ended as: %s, %d; expected: %s, %d", what, jail_end_name(r.end),
		  r.status, jail_end_name(end), status);
	jail_result_free(&r);
}

static void need_jails(void)
{
	struct jail_host h;
	jail_host(&h);
	if (!h.usable)
		test_skip(h.why);
}

static bool have_groups(void)
{
	struct jail_host h;
	jail_host(&h);
	return h.cgroup != CGROUP_NONE;
}

TEST(ends_are_told_apart)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	check_end(JAIL_GUEST, exe, "exit-7", JAIL_EXITED, 7);
	check_end(JAIL_GUEST, exe, "abort", JAIL_SIGNALED, SIGABRT);
	check_end(JAIL_GUEST, exe, "fault", JAIL_SIGNALED, SIGSEGV);
	check_end(JAIL_GUEST, exe, "spin", JAIL_CPU, SIGKILL);
	check_end(JAIL_GUEST, exe, "stack", JAIL_MEMORY, have_groups() ? SIGKILL : SIGSEGV);
	check_end(JAIL_GUEST, exe, "heap", JAIL_MEMORY, have_groups() ? SIGKILL : SIGABRT);
	if (have_groups()) {
		check_end(JAIL_GUEST, exe, "map", JAIL_MEMORY, SIGKILL);
		check_end(JAIL_GUEST, exe, "array", JAIL_MEMORY, SIGKILL);
	}
	check_end(JAIL_ORACLE, exe, "exit-7", JAIL_EXITED, 7);
	check_end(JAIL_PROGRAM, exe, "exit-7", JAIL_EXITED, 7);
}

TEST(calls_outside_the_policy_end_the_run)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	static const struct {
		const char *what;
		int call;
	} calls[] = {
		{"connect", SYS_socket}, {"ptrace", SYS_ptrace}, {"mount", SYS_mount}, {"unshare", SYS_unshare},
		{"ring", SYS_io_uring_setup}, {"bpf", SYS_bpf}, {"keys", SYS_keyctl}, {"exec", SYS_execve}, {"survive", SYS_socket},
		{"fork", SYS_clone}, {"executable-memory", SYS_mmap}, {"i386", -1}, {"x32", -1},
	};
	static const enum jail_policy policies[] = {JAIL_GUEST, JAIL_ORACLE, JAIL_PROGRAM, JAIL_DEVICE};
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
		for (unsigned p = 0; p < sizeof policies / sizeof *policies; p++)
			check_end(policies[p], exe, calls[i].what, JAIL_SYSCALL, calls[i].call);
	check_end(JAIL_GUEST, exe, "threads", JAIL_SYSCALL, SYS_clone3);
	check_end(JAIL_ORACLE, exe, "threads", JAIL_SYSCALL, SYS_clone3);
	check_end(JAIL_DEVICE, exe, "threads", JAIL_EXITED, 0);
}

/* Memory that nobody counts, programs made of memory, signals by a detour. */
TEST(files_of_memory_and_pipes)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	static const enum jail_policy all[] = {JAIL_GUEST, JAIL_ORACLE, JAIL_PROGRAM, JAIL_DEVICE};
	for (unsigned p = 0; p < sizeof all / sizeof *all; p++) {
		check_end(all[p], exe, "huge", JAIL_SYSCALL, SYS_mmap);
		check_end(all[p], exe, "huge-file", JAIL_SYSCALL, SYS_memfd_create);
		check_end(all[p], exe, "twins", JAIL_SYSCALL, SYS_madvise);
		check_end(all[p], exe, "twins-high", JAIL_SYSCALL, SYS_madvise);
		if (all[p] != JAIL_PROGRAM)
			check_end(all[p], exe, "memory-files", JAIL_SYSCALL, SYS_memfd_create);
	}
	check_end(JAIL_PROGRAM, exe, "executes-memory", JAIL_SYSCALL, SYS_execveat);
	check_end(JAIL_PROGRAM, exe, "maps-memory", JAIL_SYSCALL, SYS_mmap);
	check_end(JAIL_PROGRAM, exe, "signals-others", JAIL_EXITED, 9);
	if (have_groups()) {
		check_end(JAIL_PROGRAM, exe, "pipes", JAIL_MEMORY, SIGKILL);
		check_end(JAIL_PROGRAM, exe, "memory-files", JAIL_MEMORY, SIGKILL);
	}
}

/* Looking at other processes, new powers, the machine's state: in no policy, the device process's neither, which hostile
 * code may have taken over. */
static const int never[] = {
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_kcmp,
	SYS_userfaultfd, SYS_bpf, SYS_perf_event_open, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount,
	SYS_fsopen, SYS_mount_setattr, SYS_unshare, SYS_setns, SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
	SYS_keyctl, SYS_add_key, SYS_request_key, SYS_setuid, SYS_setgid, SYS_setresuid, SYS_setgroups, SYS_capset, SYS_init_module,
	SYS_finit_module, SYS_kexec_load, SYS_kexec_file_load, SYS_open_by_handle_at, SYS_name_to_handle_at, SYS_quotactl, SYS_syslog,
	SYS_reboot, SYS_swapon, SYS_acct, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_sethostname, SYS_iopl, SYS_ioperm,
	SYS_modify_ldt, SYS_shmget, SYS_shmat, SYS_semget, SYS_msgget, SYS_mq_open, SYS_inotify_init1, SYS_fanotify_init,
	SYS_process_madvise, SYS_move_pages, SYS_migrate_pages, SYS_mknod, SYS_mknodat, SYS_sched_setscheduler, SYS_sched_setattr,
	SYS_setpriority, SYS_ioprio_set, SYS_memfd_secret, SYS_vmsplice, SYS_seccomp, SYS_uselib, SYS_vhangup,
};

TEST_WITHIN(calls_that_no_policy_allows, 60)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	static const enum jail_policy ending[] = {JAIL_GUEST, JAIL_PROGRAM, JAIL_ORACLE, JAIL_DEVICE}, failing[] = {JAIL_COMPILE, JAIL_GPU};
	const char *argv[4];
	struct jail_result r;
	char number[16], all[sizeof never / sizeof *never * 8] = "";
	for (unsigned i = 0; i < sizeof never / sizeof *never; i++) {
		sprintf(number, "%s%d", i ? "," : "", never[i]);
		strcat(all, number);
		for (unsigned p = 0; p < sizeof ending / sizeof *ending; p++) {
			struct jail_spec s = spec_of(ending[p], exe, argv, "calls");
			argv[2] = number + (i > 0);
			argv[3] = NULL;
			if (never[i] == SYS_clone3 && ending[p] == JAIL_DEVICE)
				continue;		/* fails there: threads are made by clone, whose flags can be seen */
			run(&s, &r);
			CHECK_MSG(r.end == JAIL_SYSCALL && r.status == never[i], "call %d, policy %d: %s, %d", never[i], ending[p],
				  jail_end_name(r.end), r.status);
			jail_result_free(&r);
		}
	}
	for (unsigned p = 0; p < sizeof failing / sizeof *failing; p++) {
		struct jail_spec s = spec_of(failing[p], exe, argv, "calls");
		argv[2] = all;
		argv[3] = NULL;
		run(&s, &r);
		CHECK_MSG(r.end == JAIL_EXITED && r.status == 0, "policy %d: %s, %d", failing[p], jail_end_name(r.end), r.status);
		jail_result_free(&r);
	}
}

TEST(nothing_of_the_host_is_seen)
{
	need_jails();
	CLEANUP_FD int exe = guest(), leak = open("/", O_RDONLY | O_DIRECTORY), high = fcntl(leak, F_DUPFD, 900);
	const char *argv[3];
	struct jail_result r;
	for (enum jail_policy p = JAIL_GUEST; p <= JAIL_ORACLE; p++) {
		check_end(p, exe, "descriptors", JAIL_EXITED, 0);
		check_end(p, exe, "exec-again", JAIL_EXITED, 0);
	}
	check_end(JAIL_GUEST, exe, "files", JAIL_EXITED, 0);
	check_end(JAIL_ORACLE, exe, "files", JAIL_EXITED, 0);
	check_end(JAIL_DEVICE, exe, "exec-again", JAIL_EXITED, 0);
	check_end(JAIL_DEVICE, exe, "device-files", JAIL_EXITED, 0);
	check_end(JAIL_DEVICE, exe, "write", JAIL_SYSCALL, SYS_openat);
	struct jail_spec s = spec_of(JAIL_PROGRAM, exe, argv, "identity");
	run(&s, &r);
	CHECK_STR(buf_str(&r.out), "uid 1000 gid 1000 pid 2 host judge\n");
	jail_result_free(&r);
	close(high);
}

TEST(the_supervisor_is_out_of_reach)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	check_end(JAIL_PROGRAM, exe, "kill", JAIL_EXITED, 9);
}

TEST(private_files)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	const char *argv[3];
	struct jail_result r;
	struct jail_spec s = spec_of(JAIL_PROGRAM, exe, argv, "write");
	s.limits.tmpfs = MIB;
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_EXITED);
	CHECK_EQ(r.status, 0);
	jail_result_free(&r);
	s = spec_of(JAIL_PROGRAM, exe, argv, "fill");
	s.limits.tmpfs = MIB;
	run(&s, &r);
	CHECK_STR(buf_str(&r.out), "1024 full\n");
	jail_result_free(&r);
	s = spec_of(JAIL_PROGRAM, exe, argv, "inodes");
	s.limits.tmpfs = MIB;
	run(&s, &r);
	CHECK_EQ(r.status, 0);
	jail_result_free(&r);
	s = spec_of(JAIL_PROGRAM, exe, argv, "fill");
	s.limits.tmpfs = MIB;
	s.limits.file_size = 100 << 10;
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_SIGNALED);
	CHECK_EQ(r.status, SIGXFSZ);
	jail_result_free(&r);
}

TEST(output_is_kept_to_the_byte)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	const char *argv[3];
	struct jail_result r;
	struct jail_spec s = spec_of(JAIL_GUEST, exe, argv, "hello");
	run(&s, &r);
	CHECK_STR(buf_str(&r.out), "hello\n");
	CHECK_STR(buf_str(&r.err), "oops\n");
	CHECK(!r.out_cut && !r.err_cut);
	jail_result_free(&r);
	s.limits.output = 6;
	s.output_kill = true;
	run(&s, &r);				/* just enough is not too much */
	CHECK_EQ(r.end, JAIL_EXITED);
	jail_result_free(&r);
	s = spec_of(JAIL_GUEST, exe, argv, "flood");
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_EXITED);
	CHECK_EQ(r.out.size, 4000);
	CHECK_EQ(r.err.size, 4000);
	CHECK(r.out_cut && r.err_cut);
	jail_result_free(&r);
	s.output_kill = true;
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_OUTPUT);
	CHECK_EQ(r.out.size <= 4000, 1);
	jail_result_free(&r);
}

TEST(stdin_and_descriptors_are_passed)
{
	need_jails();
	CLEANUP_FD int exe = guest(), text = memfd_create("text", MFD_CLOEXEC), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const char *argv[3];
	struct jail_result r;
	CHECK_EQ(pwrite(text, "12345", 5, 0), 5);
	struct jail_spec s = spec_of(JAIL_GUEST, exe, argv, "read");
	s.stdin_fd = text;
	run(&s, &r);
	CHECK_EQ(r.status, 5);
	jail_result_free(&r);
	const struct jail_fd fds[] = {{text, 5}, {text, 3}};
	s = spec_of(JAIL_GUEST, exe, argv, "descriptors");
	s.fds = fds;
	s.n_fds = 2;
	s.stdout_fd = s.stderr_fd = null;
	run(&s, &r);
	CHECK_EQ(r.status, 2);
	jail_result_free(&r);
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

TEST(time_limits_and_kill)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	const char *argv[3];
	struct jail_result r;
	struct err e = {0};
	struct jail_spec s = spec_of(JAIL_GUEST, exe, argv, "idle");
	s.limits.wall_ms = 300;
	double start = seconds();
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_WALL);
	CHECK(seconds() - start < 3 && r.wall_us >= 300000);
	jail_result_free(&r);
	s = spec_of(JAIL_GUEST, exe, argv, "spin");
	s.limits.cpu_ms = 200;
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_CPU);
	CHECK(r.cpu_us >= 200000 && r.cpu_us < 400000);
	jail_result_free(&r);
	s = spec_of(JAIL_GUEST, exe, argv, "idle");
	struct jail *j = jail_start(&s, &e);
	CHECK_MSG(j, "%s", e.text);
	jail_kill(j);
	CHECK_EQ(jail_wait(j, &r, &e), 0);
	CHECK_EQ(r.end, JAIL_KILLED);
	jail_result_free(&r);
}

/* A process with this argument on its command line, or 0. */
static pid_t process_with(const char *argument)
{
	DIR *d = opendir("/proc");
	pid_t found = 0;
	for (struct dirent *entry; (entry = readdir(d));) {
		char path[300], text[4096];
		snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
		int fd = atoi(entry->d_name) > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
		if (fd >= 0)
			close(fd);
		for (ssize_t i = 0; i < n; i += (ssize_t)strlen(text + i) + 1) {
			text[n] = 0;
			if (!strcmp(text + i, argument))
				found = atoi(entry->d_name);
		}
	}
	closedir(d);
	return found;
}

static bool running(const char *argument)
{
	return process_with(argument) != 0;
}

static bool gone_soon(const char *argument)
{
	for (int i = 0; i < 200; i++) {
		if (!running(argument))
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	}
	return false;
}

static const struct jail_mount system_mounts[] = {{"/bin", "/bin"}, {"/lib", "/lib"}, {"/lib64", "/lib64"},
						  {"/usr/bin", "/usr/bin"}, {"/usr/lib", "/usr/lib"},
						  {"/nonexistent-folder", "/nonexistent-folder"}};

static struct jail_spec shell(const char **argv, const char *script)
{
	argv[0] = "/bin/sh";
	argv[1] = "-c";
	argv[2] = script;
	argv[3] = NULL;
	return (struct jail_spec){.policy = JAIL_COMPILE, .name = "shell", .argv = argv, .exe_fd = -1, .mounts = system_mounts,
				  .n_mounts = sizeof system_mounts / sizeof *system_mounts, .stdin_fd = -1, .stdout_fd = -1,
				  .stderr_fd = -1,
				  .limits = {.wall_ms = 5000, .memory = 64 * MIB, .processes = 20, .tmpfs = MIB, .output = 4000}};
}

static void check_shell(const char *script, int status, const char *out)
{
	const char *argv[4];
	struct jail_result r;
	struct jail_spec s = shell(argv, script);
	run(&s, &r);
	CHECK_MSG(r.end == JAIL_EXITED && r.status == status, "%s: %s, %d (%s)", script, jail_end_name(r.end), r.status, buf_str(&r.err));
	CHECK_STR(buf_str(&r.out), out);
	jail_result_free(&r);
}

TEST(no_process_outlives_its_jail)
{
	need_jails();
	check_shell("sleep 98765.1 & setsid sleep 98765.1 & (setsid sleep 98765.1 &) & exit 3", 3, "");
	CHECK(gone_soon("98765.1"));
	const char *argv[4];
	struct jail_result r;
	struct jail_spec s = shell(argv, "f() { f | f & f; }; f; sleep 98765.2");
	s.limits.wall_ms = 500;
	run(&s, &r);				/* a fork bomb */
	CHECK(r.end == JAIL_WALL || r.end == JAIL_EXITED || r.end == JAIL_MEMORY);
	jail_result_free(&r);
	CHECK(gone_soon("98765.2"));
}

TEST(the_compile_jail_has_files_and_no_more)
{
	need_jails();
	check_shell("echo x >a && cat a; ls /; ls /dev; test -e /etc || echo none; test -e /proc || echo none", 0,
		    "x\nbin\ndev\nlib\nlib64\ntmp\nusr\nnull\nnone\nnone\n");
	check_shell("echo x >/bin/x || echo refused; mkdir /usr/x 2>/dev/null || echo refused; rm -f /bin/sh 2>/dev/null || echo refused", 0,
		    "refused\nrefused\nrefused\n");
	check_shell("echo lost >/dev/null; cat /dev/null; echo $HOME", 0, "\n");
	check_shell("unshare -U true 2>/dev/null || echo refused; mount -t tmpfs x /tmp 2>/dev/null || echo refused", 0, "refused\nrefused\n");
}

/* A judge in a folder of /tmp has its libraries there. */
TEST(a_mount_may_lie_below_the_private_tmp)
{
	need_jails();
	const char *argv[4];
	struct jail_result r;
	struct jail_mount mounts[sizeof system_mounts / sizeof *system_mounts + 1];
	memcpy(mounts, system_mounts, sizeof system_mounts);
	mounts[sizeof mounts / sizeof *mounts - 1] = (struct jail_mount){"/usr/include", "/tmp/a/b"};
	struct jail_spec s = shell(argv, "ls /tmp/a/b/stdio.h; echo x >/tmp/own && cat own; rm -f /tmp/a/b/stdio.h 2>/dev/null || echo refused");
	s.mounts = mounts;
	s.n_mounts = sizeof mounts / sizeof *mounts;
	run(&s, &r);
	CHECK_STR(buf_str(&r.out), "/tmp/a/b/stdio.h\nx\nrefused\n");
	jail_result_free(&r);
}

/* Below a mount, by whatever name the mount has; but what is asked for by itself is there. */
TEST(what_is_hidden_is_not_seen)
{
	need_jails();
	char folder[] = "/tmp/jail-hide-XXXXXX", command[600], secret[60], absent[60], link[60], inner[80];
	CHECK(mkdtemp(folder));
	snprintf(secret, sizeof secret, "%s/secret", folder);
	snprintf(absent, sizeof absent, "%s/absent", folder);
	snprintf(link, sizeof link, "%s.link", folder);
	snprintf(inner, sizeof inner, "%s/inner", secret);
	snprintf(command, sizeof command, "chmod 755 %s && mkdir -p %s && echo x >%s/file && echo y >%s/file && echo z >%s/open && ln -s %s %s", folder,
		 inner, secret, inner, folder, folder, link);
	CHECK(system(command) == 0);
	jail_hide(secret);
	jail_hide(secret);
	jail_hide(absent);
	jail_hide("secret");
	jail_hide("/");
	const struct jail_mount mounts[] = {{"/bin", "/bin"}, {"/lib", "/lib"}, {"/lib64", "/lib64"}, {"/usr/bin", "/usr/bin"},
					    {"/usr/lib", "/usr/lib"}, {folder, "/a"}, {link, "/b"}, {inner, "/c"}, {secret, "/d"}};
	const char *const argv[] = {"/bin/sh", "-c", "ls /a /a/secret /b/secret; cat /a/open /c/file /d/file; echo w >/a/secret/w || echo refused; "
				    "ls -d /a/secret/..", NULL};
	struct jail_spec s = {.policy = JAIL_COMPILE, .argv = argv, .exe_fd = -1, .mounts = mounts, .n_mounts = sizeof mounts / sizeof *mounts,
			      .stdin_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .limits = {.wall_ms = 9000, .processes = 8, .output = 4000}};
	struct jail_result r;
	run(&s, &r);
	snprintf(command, sizeof command, "rm -r %s %s", folder, link);
	CHECK(system(command) == 0);
	CHECK_STR(buf_str(&r.out), "/a:\nopen\nsecret\n\n/a/secret:\n\n/b/secret:\nz\ny\nx\nrefused\n/a/secret/..\n");
	jail_result_free(&r);
}

/* A judge that is killed takes its jails' processes along, and the next one finds its control groups. */
TEST(a_killed_judge_leaves_nothing)
{
	need_jails();
	pid_t judge = fork();
	if (judge == 0) {
		const char *argv[4];
		struct err e;
		struct jail_spec s = shell(argv, "sleep 98765.3; true");
		s.limits.wall_ms = 0;
		if (!jail_start(&s, &e))
			_exit(1);
		while (!running("98765.3"))
			;
		raise(SIGKILL);
	}
	int status;
	CHECK_EQ(waitpid(judge, &status, 0), judge);
	CHECK(WIFSIGNALED(status));
	CHECK(gone_soon("98765.3"));
	sleep(3);				/* younger groups are left alone */
	jail_sweep();
	char command[200];
	snprintf(command, sizeof command, "test -z \"$(find /sys/fs/cgroup -name 'judge-%d-*' 2>/dev/null)\"", (int)judge);
	CHECK(system(command) == 0);
}

/* A program that somebody outside kills has done nothing wrong: no end of its own is made of that. */
TEST(what_is_killed_from_outside_is_our_failure)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	static const bool supervisors[] = {false, true};
	for (unsigned i = 0; i < 2; i++) {
		const char *argv[4];
		struct jail_result r = {0};
		struct err e = {0};
		struct jail_spec s = spec_of(JAIL_GUEST, exe, argv, "idle");
		argv[2] = "98765.5";
		argv[3] = NULL;
		s.limits.wall_ms = 0;
		struct jail *j = jail_start(&s, &e);
		CHECK_MSG(j, "%s", e.text);
		pid_t program;
		while (!(program = process_with("98765.5")))
			;
		if (supervisors[i]) {
			char path[64], parent[16];
			snprintf(path, sizeof path, "/proc/%d/stat", (int)program);
			FILE *f = fopen(path, "re");
			CHECK(f && fscanf(f, "%*d (%*[^)]) %*c %15s", parent) == 1);
			fclose(f);
			program = atoi(parent);
		}
		CHECK_EQ(kill(program, SIGKILL), 0);
		CHECK_EQ(jail_wait(j, &r, &e), -1);
		CHECK_EQ(e.kind, ERR_SYSTEM);
		CHECK_MSG(strstr(e.text, supervisors[i] ? "its supervisor was killed from outside" : "its program was killed from outside"), "%s",
			  e.text);
		jail_result_free(&r);
		CHECK(gone_soon("98765.5"));
	}
	check_end(JAIL_GUEST, exe, "end-its-thread", JAIL_SYSCALL, SYS_tgkill);
	check_end(JAIL_GUEST, exe, "end-high", JAIL_SYSCALL, SYS_tgkill);
	check_end(JAIL_DEVICE, exe, "end-high", JAIL_SYSCALL, SYS_tgkill);
	check_end(JAIL_PROGRAM, exe, "end-itself", JAIL_SIGNALED, SIGKILL);
	check_end(JAIL_PROGRAM, exe, "end-its-thread", JAIL_SIGNALED, SIGKILL);
}

TEST(processes_have_a_limit)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	const char *argv[3];
	struct jail_result r;
	struct jail_spec s = spec_of(JAIL_DEVICE, exe, argv, "many-threads");
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_EXITED);
	CHECK_EQ(r.status, 7);			/* of 8 */
	CHECK(r.peak_memory > 0 && r.peak_memory <= s.limits.memory);
	jail_result_free(&r);
}

TEST(files_that_pass_are_sealed)
{
	need_jails();
	enum { SIZE = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };
	CLEANUP_FD int exe = guest(), in = memfd_create("in", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		   out = memfd_create("out", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const char *argv[3];
	char text[8] = "";
	struct jail_result r;
	CHECK_EQ(pwrite(in, "given", 5, 0), 5);
	CHECK(fcntl(in, F_ADD_SEALS, SIZE | F_SEAL_WRITE) == 0 && ftruncate(out, 4096) == 0 && fcntl(out, F_ADD_SEALS, SIZE) == 0);
	const struct jail_fd fds[] = {{in, 5}, {out, 6}};
	struct jail_spec s = spec_of(JAIL_ORACLE, exe, argv, "seals");
	s.fds = fds;
	s.n_fds = 2;
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_EXITED);
	CHECK_EQ(r.status, 0);
	CHECK(pread(out, text, 6, 0) == 6 && !strcmp(text, "answer"));
	CHECK_EQ(lseek(out, 0, SEEK_END), 4096);
	jail_result_free(&r);
}

static void check_powers(const char *user)
{
	static const struct jail_mount mounts[] = {{"/bin", "/bin"}, {"/lib", "/lib"}, {"/lib64", "/lib64"}, {"/usr/bin", "/usr/bin"},
						   {"/usr/lib", "/usr/lib"}, {"/proc", "/proc"}};
	const char *argv[4];
	char expected[600];
	struct jail_result r;
	struct jail_spec s = shell(argv, "cd /proc/self; grep -E '^(Uid|Groups|Cap|NoNew|Seccomp:)' status; umask; ulimit -c; cat personality oom_score_adj;"
					 "readlink fd/0; ls fd; test -e /tmp/x || echo none; echo x >/tmp/x && echo written");
	umask(0);				/* the jail's is its own */
	s.mounts = mounts;
	s.n_mounts = 6;
	s.limits.memory = 0;
	run(&s, &r);
	snprintf(expected, sizeof expected, "Uid:\t%s\t%s\t%s\t%s\nGroups:\t \nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
		 "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
		 "0022\n0\n00000000\n500\n/dev/null\n0\n1\n2\nnone\nwritten\n", user, user, user, user);
	CHECK_MSG(r.end == JAIL_EXITED, "%s, %d: %s", jail_end_name(r.end), r.status, buf_str(&r.err));
	CHECK_STR(buf_str(&r.out), expected);
	jail_result_free(&r);
}

TEST(no_power_is_left)
{
	need_jails();
	if (geteuid())
		test_skip("an ordinary user's supplementary groups stay");
	check_powers("1000");
}

/* Root can do without a user namespace: here one whose limit of more is 0. */
TEST(root_needs_no_user_namespace)
{
	int go[2], status;
	char c, path[64];
	need_jails();
	if (geteuid())
		test_skip("only for root");
	CHECK_EQ(pipe2(go, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		close(go[1]);
		if (unshare(CLONE_NEWUSER) < 0 || raise(SIGSTOP) || read(go[0], &c, 1) != 0)
			_exit(1);
		int fd = open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(2);
		close(fd);
		struct jail_host h;
		jail_host(&h);
		CHECK(!h.user_namespaces && h.namespaces);
		CHECK_MSG(h.usable, "%s", h.why);
		CHECK(strstr(h.mend, "sysctl -w user.max_user_namespaces"));
		check_powers("65534");
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, WUNTRACED), child);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int)child, i ? "gid_map" : "uid_map");
		CLEANUP_FD int fd = open(path, O_WRONLY | O_CLOEXEC);
		CHECK_EQ(write(fd, "0 0 65536", 9), 9);
	}
	kill(child, SIGCONT);
	close(go[0]);
	close(go[1]);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

TEST(failures_to_start_say_why)
{
	need_jails();
	const char *argv[4];
	struct err e = {0};
	struct jail_spec s = shell(argv, "true");
	argv[0] = "/bin/nonexistent";
	CHECK(!jail_start(&s, &e));
	CHECK_EQ(e.kind, ERR_SYSTEM);
	CHECK_STR(e.text, "jail \"shell\": cannot execute /bin/nonexistent: No such file or directory");
	CLEANUP_FD int text = memfd_create("text", MFD_CLOEXEC);
	CHECK_EQ(pwrite(text, "not a program", 13, 0), 13);
	s = spec_of(JAIL_GUEST, text, argv, "text");
	CHECK(!jail_start(&s, &e));
	CHECK_STR(e.text, "jail \"text\": cannot execute guest: Exec format error");
}

TEST(without_a_sandbox)
{
	CLEANUP_FD int exe = guest();
	const char *argv[4];
	struct jail_result r;
	struct jail_spec s = spec_of(JAIL_GUEST, exe, argv, "hello");
	s.unsandboxed = true;
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_EXITED);
	CHECK_STR(buf_str(&r.out), "hello\n");
	jail_result_free(&r);
	s = shell(argv, "sleep 98765.4 & sleep 98765.4");
	s.unsandboxed = true;
	s.limits.wall_ms = 200;
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_WALL);
	jail_result_free(&r);
	CHECK(gone_soon("98765.4"));
	argv[2] = "setsid sleep 98765.6 & (setsid setsid sleep 98765.6 &); exit 3";
	run(&s, &r);
	CHECK_EQ(r.status, 3);
	jail_result_free(&r);
	CHECK(gone_soon("98765.6"));		/* whatever their session */
	if (!have_groups())
		return;
	s = spec_of(JAIL_GUEST, exe, argv, "connect");
	s.unsandboxed = true;
	run(&s, &r);				/* with the filter, and the limit of memory, all the same */
	CHECK_EQ(r.end, JAIL_SYSCALL);
	jail_result_free(&r);
	s = spec_of(JAIL_GUEST, exe, argv, "heap");
	s.unsandboxed = true;
	run(&s, &r);
	CHECK_EQ(r.end, JAIL_MEMORY);
	jail_result_free(&r);
}

static void *many(void *exe)
{
	const char *argv[3];
	for (int i = 0; i < 8; i++) {
		struct jail_result r;
		struct err e = {0};
		struct jail_spec s = spec_of(JAIL_GUEST, *(int *)exe, argv, "hello");
		if (jail_run(&s, &r, &e) < 0 || r.end != JAIL_EXITED || strcmp(buf_str(&r.out), "hello\n") != 0)
			return (void *)1;
		jail_result_free(&r);
		free(malloc((size_t)i * 1000 + 1));	/* keep the allocator's locks in use while others clone */
	}
	return NULL;
}

TEST(jails_start_from_several_threads)
{
	need_jails();
	CLEANUP_FD int exe = guest();
	pthread_t t[4];
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, many, &exe), 0);
	for (unsigned i = 0; i < 4; i++) {
		void *failed;
		pthread_join(t[i], &failed);
		CHECK(!failed);
	}
}
