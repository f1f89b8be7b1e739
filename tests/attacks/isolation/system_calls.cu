// System calls by which a process looks at another one, gets new powers or other ways out: whichever is made ends the run.
// try 2: RE ptrace
// try 3: RE process_vm_readv
// try 4: RE process_vm_writev
// try 5: RE pidfd_open
// try 6: RE pidfd_getfd
// try 7: RE kcmp
// try 8: RE userfaultfd
// try 9: RE bpf
// try 10: RE perf_event_open
// try 11: RE mount
// try 12: RE umount2
// try 13: RE pivot_root
// try 14: RE chroot
// try 15: RE open_tree
// try 16: RE fsopen
// try 17: RE unshare
// try 18: RE setns
// try 19: RE clone
// try 20: RE clone3
// try 21: RE io_uring_setup
// try 22: RE keyctl
// try 23: RE add_key
// try 24: RE request_key
// try 25: RE socket
// try 26: RE socket
// try 27: RE socket
// try 28: RE socket
// try 29: RE bind
// try 30: RE connect
// try 31: RE setsockopt
// try 32: RE another ABI
// try 33: RE another ABI
// try 34: RE execve
// try 35: RE execveat
// try 36: RE mmap
// try 37: RE mprotect
// try 38: RE seccomp
// try 39: RE prctl
// try 40: RE setuid
// try 41: RE setgroups
// try 42: RE capset
// try 43: RE init_module
// try 44: RE kexec_load
// try 45: RE open_by_handle_at
// try 46: RE name_to_handle_at
// try 47: RE quotactl
// try 48: RE syslog
// try 49: RE landlock_create_ruleset
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

static unsigned long clone_arguments[11];
static char page[8192];
static const sockaddr_un abstract = {AF_UNIX, "\0judge"};

extern "C" void solve(const float *x, float *y, int n, int which)
{
	switch (which) {
	case 2:
		syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0);
		break;
	case 3:
		syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0);
		break;
	case 4:
		syscall(SYS_process_vm_writev, 1, 0, 0, 0, 0, 0);
		break;
	case 5:
		syscall(SYS_pidfd_open, 1, 0);
		break;
	case 6:
		syscall(SYS_pidfd_getfd, 3, 0, 0);
		break;
	case 7:
		syscall(SYS_kcmp, 1, 2, 0, 0, 0);
		break;
	case 8:
		syscall(SYS_userfaultfd, 0);
		break;
	case 9:
		syscall(SYS_bpf, 0, 0, 0);
		break;
	case 10:
		syscall(SYS_perf_event_open, 0, 0, -1, -1, 0);
		break;
	case 11:
		syscall(SYS_mount, "tmpfs", "/", "tmpfs", 0, 0);
		break;
	case 12:
		syscall(SYS_umount2, "/", 2);
		break;
	case 13:
		syscall(SYS_pivot_root, ".", ".");
		break;
	case 14:
		syscall(SYS_chroot, ".");
		break;
	case 15:
		syscall(SYS_open_tree, -100, "/", 1);
		break;
	case 16:
		syscall(SYS_fsopen, "proc", 0);
		break;
	case 17:
		syscall(SYS_unshare, CLONE_NEWUSER);
		break;
	case 18:
		syscall(SYS_setns, 3, 0);
		break;
	case 19:
		syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
		break;
	case 20:
		syscall(SYS_clone3, clone_arguments, sizeof clone_arguments);
		break;
	case 21:
		syscall(SYS_io_uring_setup, 8, clone_arguments);
		break;
	case 22:
		syscall(SYS_keyctl, 0, -3, 0, 0, 0);
		break;
	case 23:
		syscall(SYS_add_key, "user", "judge", "x", 1, -3);
		break;
	case 24:
		syscall(SYS_request_key, "user", "judge", 0, -3);
		break;
	case 25:
		socket(AF_INET, SOCK_STREAM, 0);
		break;
	case 26:
		socket(AF_VSOCK, SOCK_STREAM, 0);
		break;
	case 27:
		socket(AF_UNIX, SOCK_DGRAM, 0);
		break;
	case 28:
		socket(AF_NETLINK, SOCK_RAW, 0);
		break;
	case 29:
		bind(3, (sockaddr *)&abstract, sizeof abstract);
		break;
	case 30:
		connect(3, (sockaddr *)&abstract, sizeof abstract);
		break;
	case 31: {
		int room = 1 << 30;
		setsockopt(3, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
		break;
	}
	case 32: {
		int answer;
		asm volatile("int $0x80" : "=a"(answer) : "a"(20) : "memory");
		break;
	}
	case 33:
		syscall(0x40000000 | SYS_getpid);
		break;
	case 34:
		syscall(SYS_execve, "/proc/self/exe", 0, 0);
		break;
	case 35:
		syscall(SYS_execveat, 3, "", 0, 0, AT_EMPTY_PATH);
		break;
	case 36:
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		break;
	case 37:
		mprotect((void *)((unsigned long)page & -4096ul), 4096, PROT_READ | PROT_EXEC);
		break;
	case 38:
		syscall(SYS_seccomp, 1, 0, clone_arguments);
		break;
	case 39:
		prctl(PR_SET_DUMPABLE, 1);
		break;
	case 40:
		syscall(SYS_setuid, 0);
		break;
	case 41:
		syscall(SYS_setgroups, 0, 0);
		break;
	case 42:
		syscall(SYS_capset, 0, 0);
		break;
	case 43:
		syscall(SYS_init_module, 0, 0, 0);
		break;
	case 44:
		syscall(SYS_kexec_load, 0, 0, 0, 0);
		break;
	case 45:
		syscall(SYS_open_by_handle_at, -100, 0, 0);
		break;
	case 46:
		syscall(SYS_name_to_handle_at, -100, "/", 0, 0, 0);
		break;
	case 47:
		syscall(SYS_quotactl, 0, 0, 0, 0);
		break;
	case 48:
		syscall(SYS_syslog, 3, page, 4096);
		break;
	case 49:
		syscall(SYS_landlock_create_ruleset, 0, 0, 1);
		break;
	}
	twice<<<1, 64>>>(x, y, n);
}
