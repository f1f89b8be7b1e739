// Handles its own crash, which so never ends it.
// expect: TLE
#include <csignal>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	struct sigaction again = {};
	again.sa_handler = [](int) { };
	sigaction(SIGSEGV, &again, NULL);
	*(volatile int *)8 = 1;
}
