// Includes the problem's oracle, by several ways to where it might be.
// judge: int4-gemv
// expect: CE
#include <cstdint>
#define SAME(x) #x
#define BESIDE(x) SAME(x)
#include BESIDE(../oracle.c)
#include "oracle.c"

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	(void)Wq, (void)scales, (void)zeros, (void)x, (void)y, (void)N, (void)K;
}
