// Defines solve a second time, in assembly, where no front end sees it.
// expect: CE
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
extern "C" void solve(const float *x, float *y, int n, int which)
{
	twice<<<1, 64>>>(x, y, n);
}
asm(".globl solve\nsolve: ret");
