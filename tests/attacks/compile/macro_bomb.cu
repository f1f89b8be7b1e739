// A macro that doubles thirty-two times.
// package: bombed
// expect: CE
#define A(...) __VA_ARGS__, __VA_ARGS__
#define B(...) A(A(A(A(__VA_ARGS__))))
#define C(...) B(B(B(B(__VA_ARGS__))))
const char bomb[] = {C(C(1))};
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
