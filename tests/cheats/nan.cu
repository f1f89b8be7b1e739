// Nothing but NaN, which compares false with everything, an error larger than the bound included.
// judge: int4-gemv
// expect: WA
#include <cstdint>

__global__ void fill(float *y, int N)
{
	for (int i = threadIdx.x; i < N; i += blockDim.x)
		y[i] = __int_as_float(0x7fffffff);
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)K;
	fill<<<1, 256>>>(y, N);
}
