// Ends with a good status, whatever happened.
// judge: int4-gemv
// expect: NW
#include <cstdint>
#include <cstdlib>
#include <unistd.h>

static void leave()
{
	_exit(0);
}

__attribute__((destructor)) static void leave_too()
{
	_exit(0);
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)y, (void)N, (void)K;
	atexit(leave);
}
