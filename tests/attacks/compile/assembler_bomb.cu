// The assembler repeats a byte until the disk is full.
// package: bombed
// expect: CE
asm(".data\n.rept 2000000000\n.quad 1, 2, 3, 4\n.endr\n.text");
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
