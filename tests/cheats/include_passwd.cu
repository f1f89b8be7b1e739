// Includes a file of the machine.
// judge: int4-gemv
// expect: CE
#include <cstdint>
#include "/etc/passwd"

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)y, (void)N, (void)K;
}
