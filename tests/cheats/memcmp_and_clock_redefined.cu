// memcmp, clocks and the functions of events are its own.  They are its own alone: the judge is another process.
// judge: int4-gemv
// expect: WA
#include <cstdint>
#include <ctime>

extern "C" int memcmp(const void *, const void *, size_t) noexcept
{
	return 0;
}

extern "C" int clock_gettime(clockid_t, timespec *t) noexcept
{
	*t = {};
	return 0;
}

__global__ void fill(float *y, int N)
{
	for (int i = threadIdx.x; i < N; i += blockDim.x)
		y[i] = 1;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)K;
	fill<<<1, 256>>>(y, N);
}
