// Takes all memory of the device, and writes to it from the host and from kernels until its time is up.  (The memory of the device
// process has a limit of its own: session_test.)
// expect: TLE
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

__global__ void touch(char *p, size_t n)
{
	for (size_t i = threadIdx.x * 4096ul; i < n; i += 1024 * 4096ul)
		p[i] = 1;
}

extern "C" void solve(const float *x, float *y, int n, int which)
{
	for (int i = 0; i < 64; i++) {
		char *p;
		if (cudaMalloc(&p, 256 << 20) != cudaSuccess)
			break;
		cudaMemset(p, 1, 256 << 20);
		touch<<<1, 1024>>>(p, 256 << 20);
	}
	cudaGetLastError();
	twice<<<1, 64>>>(x, y, n);
}
