// Looks for something in what a guest has: an empty root, a few descriptors, its own process.  Whoever finds something does not
// compute.
// try 2: AC
// try 3: AC
// try 4: AC
// try 5: AC
// try 6: AC
// try 7: AC
// try 8: AC
// try 9: AC
// try 10: AC
// try 11: RE tgkill
// try 12: AC
#include <cstring>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

static const char *const places[] = {"/", ".", "..", "../../../../etc/passwd", "/proc/1/root/etc/passwd", "/proc/self/environ", "/proc/1/environ",
	"/proc/self/fd/3", "/proc/self/mountinfo", "/proc/keys", "/proc/self/exe", "/proc/self/mem", "/sys/kernel/notes", "/dev/null", "/dev/tty",
	"/dev/shm/left", "/tmp/left", "/run/left", "/var/run/docker.sock", "left", "/dev/nvidiactl", "/dev/fd/0"};

extern "C" void solve(const float *x, float *y, int n, int which)
{
	switch (which) {
	case 2: {
		for (const char *place : places)
			if (open(place, O_RDONLY) >= 0 || open(place, O_RDWR | O_CREAT, 0600) >= 0 || open(place, O_PATH) >= 0)
				return;
		break;
	}
	case 3: {
		struct stat st;
		for (const char *place : places)
			if (stat(place, &st) == 0 || access(place, F_OK) == 0)
				return;
		break;
	}
	case 4: {
		char text[4096];
		for (const char *place : places)
			if (readlink(place, text, sizeof text) >= 0 || getcwd(text, sizeof text))
				return;
		break;
	}
	case 5: {
		struct stat st;		/* 0, 1, 2, and the socket to the device */
		for (int fd = 4; fd < 2048; fd++)
			if (fstat(fd, &st) == 0)
				return;
		break;
	}
	case 6: {
		for (char **e = environ; *e; e++)
			return;
		break;
	}
	case 7: {
		if (getuid() == 0 || geteuid() == 0 || getgid() == 0 || getegid() == 0)
			return;
		break;
	}
	case 8: {
		utsname u;
		if (uname(&u) < 0 || strcmp(u.nodename, "judge"))
			return;
		break;
	}
	case 9: {
		for (unsigned long high = 0; high < 3; high++)	/* TIOCSTI, to type into the terminal: also with bits that the kernel drops */
			if (syscall(SYS_ioctl, 0, 0x5412 | high << 32, "x") == 0 || syscall(SYS_ioctl, 1, 0x5412 | high << 32, "x") == 0)
				return;
		break;
	}
	case 10: {
		char byte;
		if (read(0, &byte, 1) > 0 || read(1, &byte, 1) > 0 || read(2, &byte, 1) > 0)
			return;
		break;
	}
	case 11: {
		for (int number = 1; number < 65; number++)	/* the process above: pid 1 of its namespace */
			syscall(SYS_tgkill, 1, 1, number);
		break;
	}
	case 12: {
		for (unsigned long at = 0xffffffffff600000; at < 0xffffffffff601000; at += 4096)
			if (syscall(SYS_write, 2, (void *)at, 16) > 0 || syscall(SYS_write, 2, (void *)0xffff888000000000, 16) > 0)
				return;
		break;
	}
	}
	twice<<<1, 64>>>(x, y, n);
}
