/* The program that jail_test puts into jails: its first argument says what it tries.  Built by the test, static. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

static int exit_7(void) { return 7; }
static int hello(void) { puts("hello"); fputs("oops\n", stderr); return 0; }
static int spin(void) { for (;;) ; }
static int idle(void) { signal(SIGTERM, SIG_IGN); for (;;) sleep(1000); }
static int die(void) { abort(); }
static int fault(void) { *(volatile int *)8 = 1; return 0; }

static int heap(void)
{
	for (;;) {
		char *p = malloc(1 << 20);
		if (!p)
			abort();
		memset(p, 1, 1 << 20);
	}
}

static int recurse(volatile char *above)
{
	volatile char room[4096];
	room[0] = above ? above[0] : 1;
	return recurse(room) + room[0];
}
static int stack(void) { return recurse(NULL); }

/* An array larger than memory, written from its far end. */
static int array(void)
{
	volatile char room[512 << 20];
	for (size_t i = 0; i < sizeof room; i += 4096)
		room[i] = 1;
	return room[4096];
}

static int map(void)
{
	enum { SIZE = 1 << 30 };
	volatile char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < SIZE; i += 4096)
		p[i] = 1;
	return 0;
}

static int flood(void)
{
	char line[4096];
	memset(line, 'x', sizeof line);
	for (int i = 0; i < 1000; i++)
		if (write(i & 1 ? 1 : 2, line, sizeof line) < 0)
			return 1;
	return 0;
}

static int forks(void) { return fork() >= 0; }
static void *nothing(void *p) { return p; }
static int threads(void) { pthread_t t; return pthread_create(&t, NULL, nothing, NULL); }
static int executes(void) { return execl("/bin/sh", "sh", NULL); }
static int connects(void) { return socket(AF_INET, SOCK_STREAM, 0) >= 0; }
static int traces(void) { return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0; }
static int mounts(void) { return (int)syscall(SYS_mount, "tmpfs", "/", "tmpfs", 0, NULL); }
static int unshares(void) { return unshare(CLONE_NEWUSER); }
static int ring(void) { return (int)syscall(SYS_io_uring_setup, 1, NULL); }
static int bpf(void) { return (int)syscall(SYS_bpf, 0, NULL, 0); }
static int keys(void) { return (int)syscall(SYS_keyctl, 0, 0, 0, 0, 0); }
static int i386(void) { int r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "memory"); return r > 0; }
static int x32(void) { return syscall(0x40000000 + SYS_getpid) > 0; }
/* Pages of the host's pool of huge ones, also as a file; pages for which the kernel looks for twins. */
static int huge(void) { return mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) != MAP_FAILED; }
static int huge_file(void) { return (int)syscall(SYS_memfd_create, "x", MFD_HUGETLB | 1ul << 40); }
static int twins(void) { return madvise((void *)((size_t)huge_file & -4096ul), 4096, MADV_MERGEABLE); }
static int twins_high(void) { return (int)syscall(SYS_madvise, (size_t)huge_file & -4096ul, 4096, MADV_MERGEABLE | 1ul << 32); }

/* A program made of memory: executed, by its number or that of the first one, and mapped. */
static char program[4096];
static int memory_file(void)
{
	int fd = memfd_create("program", 0), self = 700;
	char *none[] = {NULL};
	if (write(fd, program, sizeof program) != (ssize_t)sizeof program)
		exit(1);
	if (dup2(fd, self) >= 0 || dup3(fd, self, O_CLOEXEC) >= 0 || fcntl(fd, F_DUPFD, self) >= 0)
		exit(2);
	while (dup(fd) >= 0)
		;
	syscall(SYS_execveat, self, "", none, none, AT_EMPTY_PATH);
	if (errno != EBADF)
		exit(3);
	return fd;
}
static int executes_memory(void) { return (int)syscall(SYS_execveat, memory_file(), "", NULL, NULL, AT_EMPTY_PATH); }
static int maps_memory(void) { return mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE, memory_file(), 0) != MAP_FAILED; }

/* A hundred pipes as large as they may be, and full: whose memory is it? */
static int pipes(void)
{
	static char block[1 << 20];
	for (int i = 0; i < 100; i++) {
		int p[2];
		if (pipe2(p, O_NONBLOCK) < 0)
			return 1;
		fcntl(p[1], F_SETPIPE_SZ, sizeof block);
		while (write(p[1], block, sizeof block) > 0)
			;
	}
	return 0;
}

/* Files of memory count as memory. */
static int memory_files(void)
{
	static char block[1 << 20];
	for (int i = 0; i < 100; i++)
		if (write(memfd_create("x", 0), block, sizeof block) < 0)
			return 1;
	return 0;
}

/* A signal for whoever owns a descriptor: nobody but this process and the supervisor has a number here. */
static int signals_others(void)
{
	int p[2];
	if (pipe(p) < 0)
		return 1;
	for (int pid = 1; pid < 300; pid++)
		if (pid != getpid()) {
			fcntl(p[0], F_SETSIG, SIGKILL);
			fcntl(p[0], F_SETOWN, pid);
			fcntl(p[0], F_SETFL, O_ASYNC);
			write(p[1], "x", 1);
		}
	usleep(20000);
	return 9;
}

static int executable_memory(void) { return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; }

/* A trapped signal must not save a program from the filter. */
static int survives(void)
{
	for (int s = 1; s < 64; s++)
		signal(s, SIG_IGN);
	socket(AF_INET, SOCK_STREAM, 0);
	return 1;
}

/* The number of descriptors that are open beside 0, 1 and 2. */
static int descriptors(void)
{
	struct stat st;
	int n = 0;
	for (int fd = 3; fd < 1100; fd++)
		n += fstat(fd, &st) == 0;
	return n;
}

/* The executable's descriptor is the one that may be executed: it must be gone. */
static int executes_again(void)
{
	char *none[] = {NULL};
	syscall(SYS_execveat, 700, "", none, none, AT_EMPTY_PATH);
	return errno == EBADF ? 0 : 1;
}

static int files(void)
{
	static const char *const names[] = {"/proc/self/environ", "/proc/1/root/etc/passwd", "/etc/passwd", "../../etc/passwd", "/dev/null", "/"};
	struct stat st;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		if (open(names[i], O_RDONLY) >= 0 || access(names[i], F_OK) == 0 || stat(names[i], &st) == 0)
			return 1;
	return 0;
}

/* What the emulated device process could open, were it taken over: the system's libraries, and nothing more. */
static int device_files(void)
{
	static const char *const names[] = {"/etc/passwd", "/proc/self/environ", "/proc/1/root/etc/passwd", "/dev/null", "/dev/nvidiactl",
		"/dev/shm", "/sys", "/tmp", "/root", "/home", "/usr/bin", "/var"};
	int n = 0;
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
		n += open(names[i], O_RDONLY) >= 0;
	return n;
}

/* The system calls of the second argument, numbers apart by commas.  How many of them are there at all? */
static const char *call_numbers;
static int calls(void)
{
	int n = 0;
	for (const char *p = call_numbers; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (syscall(atoi(p), 0, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS)
			n++;
	return n;
}

static int identity(void)
{
	struct utsname u;
	uname(&u);
	printf("uid %d gid %d pid %d host %s\n", (int)getuid(), (int)getgid(), (int)getpid(), u.nodename);
	return 0;
}

static int writes(void)
{
	int fd = open("/tmp/file", O_CREAT | O_RDWR, 0600);
	char back[4] = "";
	if (fd < 0 || write(fd, "abc", 3) != 3 || lseek(fd, 0, SEEK_SET) || read(fd, back, 3) != 3)
		return 1;
	if (open("/file", O_CREAT | O_RDWR, 0600) >= 0 || mkdir("/folder", 0700) == 0)
		return 2;
	return strcmp(back, "abc");
}

/* Kibibytes that the private /tmp takes. */
static int fills(void)
{
	char block[1024] = "";
	int n = 0, fd = open("/tmp/file", O_CREAT | O_WRONLY, 0600);
	while (write(fd, block, sizeof block) == (ssize_t)sizeof block)
		n++;
	printf("%d %s\n", n, errno == ENOSPC ? "full" : strerror(errno));
	return 0;
}

static int inodes(void)
{
	for (int i = 0; i < 100000; i++) {
		char name[32];
		snprintf(name, sizeof name, "/tmp/%d", i);
		int fd = open(name, O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			return 0;
		close(fd);
	}
	return 1;
}

/* The supervisor is pid 1: nothing from inside may reach it. */
static int kills(void)
{
	signal(SIGTERM, SIG_IGN);
	for (int s = 1; s < 32; s++)
		if (s != SIGKILL && s != SIGSTOP)
			kill(1, s);
	kill(1, SIGKILL);
	kill(1, SIGSTOP);
	usleep(20000);
	return 9;
}

static int ends_itself(void) { kill(getpid(), SIGKILL); return 1; }
/* The kernel drops the upper half of the argument, a filter does not. */
static int ends_its_thread_high(void) { return (int)syscall(SYS_tgkill, getpid(), getpid(), SIGKILL | 1ul << 32); }
static int ends_its_thread(void) { return (int)syscall(SYS_tgkill, getpid(), getpid(), SIGKILL); }

/* How many threads may there be beside the first? */
static void *waits(void *p) { sleep(1000); return p; }
static int many_threads(void)
{
	pthread_t t;
	int n = 0;
	while (n < 90 && pthread_create(&t, NULL, waits, NULL) == 0)
		n++;
	_exit(n);
}

/* Descriptor 5 is a sealed file, 6 one whose size is: whatever can be done to them, to no effect. */
static int breaks_seals(void)
{
	char text[8] = "";
	if (write(5, "x", 1) >= 0 || pwrite(5, "x", 1, 0) >= 0 || ftruncate(5, 0) == 0 || ftruncate(5, 100) == 0 ||
	    mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_SHARED, 5, 0) != MAP_FAILED)
		return 1;
	if (pread(5, text, sizeof text, 0) != 5 || strcmp(text, "given"))
		return 2;
	if (ftruncate(6, 0) == 0 || ftruncate(6, 1 << 20) == 0 || fallocate(6, 0, 0, 1 << 20) == 0 || pwrite(6, "answer", 6, 4096) > 0)
		return 3;
	return pwrite(6, "answer", 6, 0) == 6 ? 0 : 4;
}

static int reads(void)
{
	char text[16];
	ssize_t n = read(0, text, sizeof text);
	return (int)n;
}

static const struct {
	const char *name;
	int (*run)(void);
} tries[] = {
	{"exit-7", exit_7}, {"hello", hello}, {"spin", spin}, {"idle", idle}, {"abort", die}, {"fault", fault}, {"heap", heap},
	{"stack", stack}, {"array", array}, {"map", map}, {"flood", flood}, {"fork", forks}, {"threads", threads}, {"exec", executes},
	{"connect", connects}, {"ptrace", traces}, {"mount", mounts}, {"unshare", unshares}, {"ring", ring}, {"bpf", bpf},
	{"keys", keys}, {"i386", i386}, {"x32", x32}, {"executable-memory", executable_memory}, {"survive", survives},
	{"descriptors", descriptors}, {"exec-again", executes_again}, {"files", files}, {"identity", identity},
	{"write", writes}, {"device-files", device_files}, {"calls", calls}, {"fill", fills}, {"inodes", inodes}, {"kill", kills}, {"read", reads},
	{"end-itself", ends_itself}, {"end-its-thread", ends_its_thread}, {"end-high", ends_its_thread_high}, {"huge", huge},
	{"huge-file", huge_file}, {"twins", twins}, {"twins-high", twins_high}, {"executes-memory", executes_memory}, {"maps-memory", maps_memory},
	{"pipes", pipes}, {"memory-files", memory_files}, {"signals-others", signals_others}, {"many-threads", many_threads}, {"seals", breaks_seals},
};

int main(int argc, char **argv)
{
	call_numbers = argc > 2 ? argv[2] : NULL;
	for (unsigned i = 0; argc > 1 && i < sizeof tries / sizeof *tries; i++)
		if (!strcmp(argv[1], tries[i].name))
			return tries[i].run();
	return 99;
}
