// Gives its processor away again and again, and asks for the time: system calls without end.
// expect: TLE
#include <ctime>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	timespec t;
	for (;;) {
		sched_yield();
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
	}
}
