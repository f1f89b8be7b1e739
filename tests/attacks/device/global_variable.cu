// A variable of the device of sixteen gigabytes.
// expect: CE
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

__device__ char huge[16ul << 30];

extern "C" void solve(const float *x, float *y, int n, int which)
{
	void *p;
	cudaGetSymbolAddress(&p, huge);
	twice<<<1, 64>>>(x, y, n);
}
