// Inputs are not read but made again from a guessed seed.  Seeds come from a secret, and never leave the judge.
// judge: int4-gemv
// expect: WA
#include <cstdint>

__device__ uint64_t next(uint64_t &s)
{
	uint64_t z = s += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

__global__ void gemv(float *y, int N, int K, uint64_t seed)
{
	for (int row = threadIdx.x; row < N; row += blockDim.x) {
		uint64_t s = seed + row;
		float sum = 0;
		for (int k = 0; k < K; k++)
			sum += ((float)(next(s) & 15) - 8) * ((float)(next(s) >> 40) / (1 << 23) - 1);
		y[row] = sum;
	}
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x;
	gemv<<<1, 256>>>(y, N, K, 0);
}
