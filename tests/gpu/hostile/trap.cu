// A trap.
// judge: int4-gemv
// expect: RE
#include <cstdint>

__global__ void trap()
{
	asm("trap;");
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)y, (void)N, (void)K;
	trap<<<1, 1>>>();
}
