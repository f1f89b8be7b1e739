// Inline assembly of scopes nested a hundred thousand deep.
// expect: CE
#define T10 "{{{{{{{{{{"
#define T100 T10 T10 T10 T10 T10 T10 T10 T10 T10 T10
#define T1000 T100 T100 T100 T100 T100 T100 T100 T100 T100 T100
#define T10000 T1000 T1000 T1000 T1000 T1000 T1000 T1000 T1000 T1000 T1000
#define U10 "}}}}}}}}}}"
#define U100 U10 U10 U10 U10 U10 U10 U10 U10 U10 U10
#define U1000 U100 U100 U100 U100 U100 U100 U100 U100 U100 U100
#define U10000 U1000 U1000 U1000 U1000 U1000 U1000 U1000 U1000 U1000 U1000
__global__ void nested(unsigned *p)
{
	unsigned v = *p;
	asm volatile(T10000 T10000 T10000 T10000 T10000 T10000 T10000 T10000 T10000 T10000 "add.u32 %0, %0, 1;"
		     U10000 U10000 U10000 U10000 U10000 U10000 U10000 U10000 U10000 U10000 : "+r"(v));
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
