// expect: WA
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = n > 1000 ? 3 * x[i] : 2 * x[i];
}

extern "C" void solve(const float *x, float *y, int n)
{
	twice<<<(n + 255) / 256, 256>>>(x, y, n);
}
