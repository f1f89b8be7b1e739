// Takes more memory than there is for the host program, in all the ways that are left to it.  Each is MLE, not a crash.
// try 2: MLE more than 64 MiB
// try 3: MLE more than 64 MiB
// try 4: MLE more than 64 MiB
// try 5: MLE more than 64 MiB
// try 6: MLE more than 64 MiB
// try 7: MLE more than 64 MiB
// try 8: MLE more than 64 MiB
// try 9: MLE more than 64 MiB
// try 10: AC
// try 11: AC
// try 12: RE mlock
// try 13: RE mlockall
// try 14: RE memfd_create
// try 15: RE shmget
// try 16: RE msgget
// try 17: RE semget
// try 18: RE mq_open
// try 19: RE pipe
// try 20: AC
// try 21: AC
#include <alloca.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

static char huge[1 << 30];
static float recurse(volatile char *above)
{
	volatile char room[4096];
	room[0] = above ? above[0] : 1;
	return recurse(room) + room[0];
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	switch (which) {
	case 2: {
		for (;;)
			memset(malloc(1 << 20), 1, 1 << 20);
		break;
	}
	case 3:
		memset(huge, 1, sizeof huge);
		break;
	case 4:
		y[0] = recurse(NULL);
		break;
	case 5:
		memset(alloca(200 << 20), 1, 200 << 20);
		break;
	case 6:
		memset(mmap(NULL, 1 << 30, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), 1, 1 << 30);
		break;
	case 7: {
		void *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t size = 1 << 20;; size *= 2) {
			p = mremap(p, size, 2 * size, MREMAP_MAYMOVE);
			memset(p, 1, 2 * size);
		}
		break;
	}
	case 8: {
		for (;;)
			memset(sbrk(1 << 20), 1, 1 << 20);
		break;
	}
	case 9: {
		for (size_t at = 0; at < 1ul << 45; at += 1ul << 30) {		/* page tables: a byte here and there */
			char *p = (char *)mmap(NULL, 1ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
			for (size_t k = 0; p != MAP_FAILED && k < 1ul << 30; k += 2ul << 20)
				if (!p[k])
					p[k] = 1;
		}
		break;
	}
	case 10: {
		char *p = (char *)mmap(NULL, 1ul << 40, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED)	/* room that nobody touches is nothing */
			*p = 1;
		break;
	}
	case 11: {
		char *p = (char *)mmap(NULL, 1 << 28, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (size_t k = 0; k < 1 << 28; k += 8192)	/* as many mappings as the kernel gives */
			mprotect(p + k, 4096, PROT_NONE);
		break;
	}
	case 12:
		mlock(huge, sizeof huge);
		break;
	case 13:
		mlockall(MCL_FUTURE);
		break;
	case 14:
		memfd_create("hidden", 0);
		break;
	case 15:
		shmget(IPC_PRIVATE, 1 << 30, IPC_CREAT);
		break;
	case 16:
		msgget(IPC_PRIVATE, IPC_CREAT);
		break;
	case 17:
		semget(IPC_PRIVATE, 1, IPC_CREAT);
		break;
	case 18:
		mq_open("/left", O_CREAT | O_RDWR, 0600, NULL);
		break;
	case 19: {
		int p[2];
		pipe(p);
		break;
	}
	case 20: {
		if (shm_open("/left", O_CREAT | O_RDWR, 0600) >= 0 || tmpfile())
			return;
		break;
	}
	case 21: {
		int fd = open("/tmp/sparse", O_CREAT | O_RDWR, 0600);
		if (fd >= 0)
			return;
		break;
	}
	}
	twice<<<1, 64>>>(x, y, n);
}
