// Inline assembly that makes a hundred megabytes of PTX.
// package: bombed
// expect: CE
#define T1 "add.u32 %0, %0, 1; // a hundred bytes of PTX each, and no instruction that anyone could do without\n"
#define T10 T1 T1 T1 T1 T1 T1 T1 T1 T1 T1
#define T100 T10 T10 T10 T10 T10 T10 T10 T10 T10 T10
#define T1000 T100 T100 T100 T100 T100 T100 T100 T100 T100 T100
#define T10000 T1000 T1000 T1000 T1000 T1000 T1000 T1000 T1000 T1000 T1000
#define T100000 T10000 T10000 T10000 T10000 T10000 T10000 T10000 T10000 T10000 T10000
__global__ void flood(unsigned *p)
{
	unsigned v = *p;
	asm volatile(T100000 T100000 T100000 T100000 T100000 T100000 T100000 T100000 T100000 T100000 : "+r"(v));
	*p = v;
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
