// A block waits for one that never comes.
// expect: TLE
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

__device__ volatile int flag;
__global__ void spin() { while (!flag) ; }

extern "C" void solve(const float *x, float *y, int n, int which)
{
	spin<<<2, 32>>>();
	twice<<<1, 64>>>(x, y, n);
}
