// Brings a malloc() of its own that gives nothing, which the judge's side of the program would use.
// expect: RE
#include <cstddef>
extern "C" void *malloc(size_t) noexcept { return NULL; }
extern "C" void free(void *) noexcept { }
extern "C" void *calloc(size_t, size_t) noexcept { return NULL; }
extern "C" void *realloc(void *, size_t) noexcept { return NULL; }
__global__ void twice(const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = 2 * x[i];
}
extern "C" void solve(const float *x, float *y, int n, int which)
{
	twice<<<1, 64>>>(x, y, n);
}
