// Five thousand kernels.
// package: bombed
// expect: CE
#define K1(n) __global__ void k##n() {}
#define K10(n) K1(n##0) K1(n##1) K1(n##2) K1(n##3) K1(n##4) K1(n##5) K1(n##6) K1(n##7) K1(n##8) K1(n##9)
#define K100(n) K10(n##0) K10(n##1) K10(n##2) K10(n##3) K10(n##4) K10(n##5) K10(n##6) K10(n##7) K10(n##8) K10(n##9)
#define K1000(n) K100(n##0) K100(n##1) K100(n##2) K100(n##3) K100(n##4) K100(n##5) K100(n##6) K100(n##7) K100(n##8) K100(n##9)
K1000(1)
K1000(2)
K1000(3)
K1000(4)
K1000(5)
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
