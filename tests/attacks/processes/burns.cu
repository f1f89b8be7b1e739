// Burns processor time, deaf to every signal, and launches nothing.
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
	for (int s = 1; s < 65; s++)
		signal(s, SIG_IGN);
	for (volatile unsigned long i = 0;; i++)
		;
}
