// Brings an entry point of its own, so that the judge's main() never runs.
// expect: CE
extern "C" void _start()
{
	asm("mov $60, %eax\nxor %edi, %edi\nsyscall");
}
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
