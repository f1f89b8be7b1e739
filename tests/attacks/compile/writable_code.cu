// A section that is both written and executed.
// expect: CE
// says: executable
asm(".section .evil,\"awx\",@progbits\n.globl evil\nevil: ret\n.text");
extern "C" void evil();
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
extern "C" void solve(const float *x, float *y, int n, int which)
{
	*(volatile char *)evil = (char)0xc3;
	evil();
	twice<<<1, 64>>>(x, y, n);
}
