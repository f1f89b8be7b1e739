// A hundred thousand launches, where a run may have 65536.
// package: patient
// expect: RE
// says: more than 65536 kernel launches
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}

__global__ void nothing() { }

extern "C" void solve(const float *x, float *y, int n, int which)
{
	for (int i = 0; i < 100000; i++)
		nothing<<<1, 1>>>();
	twice<<<1, 64>>>(x, y, n);
}
