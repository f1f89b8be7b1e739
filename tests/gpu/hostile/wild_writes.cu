// Writes all over the address space; what is hit first may be its own code.
// judge: int4-gemv
// expect: IMA RE
#include <cstdint>

__global__ void spray(uint64_t seed)
{
	uint64_t s = seed + blockIdx.x * blockDim.x + threadIdx.x;
	for (int i = 0; i < 1000; i++) {
		s = s * 6364136223846793005 + 1442695040888963407;
		*(volatile char *)(s >> 17) = 1;
	}
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)y, (void)N, (void)K;
	spray<<<100, 256>>>(1);
}
