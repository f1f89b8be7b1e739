// A grid of all the blocks that there can be, of kernels that do nothing.
// expect: TLE
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

__global__ void nothing() { }

extern "C" void solve(const float *x, float *y, int n, int which)
{
	nothing<<<dim3(0x7fffffff, 65535, 65535), 1024>>>();
	twice<<<1, 64>>>(x, y, n);
}
