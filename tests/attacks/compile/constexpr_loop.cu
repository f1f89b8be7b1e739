// A constant whose loop does not end.
// package: bombed
// expect: CE
constexpr int loop()
{
	unsigned n = 0;
	for (;;)
		n++;
	return (int)n;
}
constexpr int bomb = loop();
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
