// What lies before and behind y is read, in the hope that it is what is expected.  It is not on the device at all, and every
// access outside of an allocation is seen.
// judge: int4-gemv
// expect: IMA
#include <cstdint>

__global__ void copy(float *y, int N)
{
	for (int i = threadIdx.x; i < N; i += blockDim.x)
		y[i] = y[i + N + 64];
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)K;
	copy<<<1, 256>>>(y, N);
}
