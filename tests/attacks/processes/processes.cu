// Makes processes and threads, to outlive the run or to be too many: a guest is one process, and has no call to make another.
// try 2: RE clone
// try 3: RE vfork
// try 4: RE clone
// try 5: RE clone3
// try 6: RE clone
// try 7: RE clone
// try 8: RE
// try 9: RE setsid
// try 10: RE setpgid
// try 11: RE getppid
// try 12: RE kill
// try 13: RE kill
// try 14: RE tkill
// try 15: RE rt_sigqueueinfo
// try 16: RE pidfd_send_signal
// try 17: RE getpriority
// try 18: RE sched_setscheduler
// try 19: RE sched_setattr
// try 20: RE sched_setaffinity
// try 21: RE ioprio_set
// try 22: RE
// try 23: RE pause
// try 24: RE
// try 25: RE alarm
// try 26: RE timer_create
// try 27: RE
// try 28: RE tgkill
// try 29: RE Terminated
// try 30: RE Aborted
// try 31: RE
// try 32: RE
// try 33: RE Illegal instruction
// try 34: RE Segmentation fault
// try 35: RE
// try 36: RE
// try 37: RE
#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

static char page[65536];
static void *idle(void *) { for (;;) sleep(1); }

extern "C" void solve(const float *x, float *y, int n, int which)
{
	switch (which) {
	case 2: {
		for (;;)
			fork();
		break;
	}
	case 3:
		syscall(SYS_vfork);
		break;
	case 4:
		syscall(SYS_clone, CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, page + sizeof page, 0, 0, 0);
		break;
	case 5: {
		static pthread_t threads[100];
		for (pthread_t &t : threads)
			pthread_create(&t, NULL, idle, NULL);
		break;
	}
	case 6: {
		if (fork() == 0) {
			setsid();
			if (fork() == 0)
				for (;;)
					pause();
			_exit(0);
		}
		break;
	}
	case 7:
		system("sleep 1000 &");
		break;
	case 8:
		daemon(1, 1);
		break;
	case 9:
		setsid();
		break;
	case 10:
		setpgid(0, 0);
		break;
	case 11:
		getppid();
		break;
	case 12:
		kill(-1, SIGSTOP);
		break;
	case 13:
		kill(1, SIGKILL);
		break;
	case 14:
		syscall(SYS_tkill, 1, SIGKILL);
		break;
	case 15:
		syscall(SYS_rt_sigqueueinfo, 1, SIGKILL, page);
		break;
	case 16:
		syscall(SYS_pidfd_send_signal, 3, SIGKILL, 0, 0);
		break;
	case 17:
		nice(-20);
		break;
	case 18: {
		sched_param p = {99};
		sched_setscheduler(0, SCHED_FIFO, &p);
		break;
	}
	case 19:
		syscall(SYS_sched_setattr, 0, page, 0);
		break;
	case 20: {
		cpu_set_t all;
		sched_setaffinity(0, sizeof all, &all);
		break;
	}
	case 21:
		syscall(SYS_ioprio_set, 1, 0, 1 << 13);
		break;
	case 22: {
		rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
		setrlimit(RLIMIT_AS, &none);
		break;
	}
	case 23:
		pause();
		break;
	case 24:
		select(0, NULL, NULL, NULL, NULL);
		break;
	case 25:
		alarm(1);
		break;
	case 26:
		syscall(SYS_timer_create, 0, page, page);
		break;
	case 27:
		wait(NULL);
		break;
	case 28:
		raise(SIGKILL);
		break;
	case 29:
		raise(SIGTERM);
		break;
	case 30:
		abort();
		break;
	case 31:
		raise(SIGXCPU);
		break;
	case 32:
		raise(SIGSYS);
		break;
	case 33:
		asm volatile("ud2");
		break;
	case 34:
		asm volatile("hlt");
		break;
	case 35:
		asm volatile("mov $0x1234567812345678, %rsp\n\tpush %rax");
		break;
	case 36: {
		struct sigaction ignore = {};
		ignore.sa_handler = SIG_IGN;
		for (int s = 1; s < 65; s++)
			sigaction(s, &ignore, NULL);
		syscall(SYS_fork);
		break;
	}
	case 37: {
		*(volatile int *)page = 1;
		((void (*)())page)();
		break;
	}
	}
	twice<<<1, 64>>>(x, y, n);
}
