// Declares a function of cuBLAS and hopes for the linker.
// judge: int4-gemv
// expect: CE
#include <cstdint>

extern "C" int cublasSgemv_v2(void *, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	float one = 1, none = 0;
	(void)scales, (void)zeros;
	cublasSgemv_v2(nullptr, 1, K, N, &one, (const float *)Wq, K, x, 1, &none, y, 1);
}
