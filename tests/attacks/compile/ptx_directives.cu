// Inline assembly that ends its kernel and begins another, includes a file, and names one by .file.
// expect: CE
__global__ void outside(unsigned *p)
{
	asm volatile("ret;\n}\n.visible .entry stolen(.param .u64 q) {\n.file 9 \"/etc/passwd\"\n.include \"/etc/passwd\"\n");
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
