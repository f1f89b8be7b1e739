// Sleeps, so that no processor time is used.
// expect: TLE
// says: host code was running
#include <unistd.h>

__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	for (;;)
		sleep(1000);
}
