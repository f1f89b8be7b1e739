// Half of a block waits at a barrier, the other half at another.
// expect: DL
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

__global__ void part()
{
	if (threadIdx.x < 32)
		asm volatile("bar.sync 1, 64;");
	else
		asm volatile("bar.sync 2, 64;");
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	part<<<1, 64>>>();
	twice<<<1, 64>>>(x, y, n);
}
