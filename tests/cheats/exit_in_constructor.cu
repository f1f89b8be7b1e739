// Ends well before anything can go wrong.
// judge: int4-gemv
// expect: RE
#include <cstdint>
#include <unistd.h>

__attribute__((constructor)) static void leave()
{
	_exit(0);
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)y, (void)N, (void)K;
}
