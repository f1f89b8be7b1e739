// Writes zeros: right only where x is 0.
// expect: WA
#include <cstdint>

__global__ void zero(float *y, int N)
{
	int n = blockIdx.x * blockDim.x + threadIdx.x;
	if (n < N)
		y[n] = 0;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	zero<<<(N + 127) / 128, 128>>>(y, N);
}
