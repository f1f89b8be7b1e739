// Asks the linker for a stack, and the loader for data, that can be executed: code that no compiler made.
// expect: CE
// says: executable
asm(".section .note.GNU-stack,\"x\",@progbits\n.text");
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
