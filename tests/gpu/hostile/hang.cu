// A kernel without end.
// judge: int4-gemv
// expect: TLE
#include <cstdint>

__global__ void hang(volatile float *y)
{
	while (y)
		;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)y, (void)N, (void)K;
	hang<<<1, 1>>>(y);
}
