// Loads cuBLAS at run time.  A guest is static and sees no file: dlopen() finds none, and nothing is computed.
// judge: int4-gemv
// expect: NW
#include <cstdint>
#include <dlfcn.h>

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	float sum = 0;
	for (int c = lane; c < K / 8; c += 32) {
		uint32_t word = Wq[(size_t)row * (K / 8) + c];
		size_t group = (size_t)row * (K / 128) + c / 16;
		for (int i = 0; i < 8; i++)
			sum += ((float)(word >> 4 * i & 15) - zeros[group]) * scales[group] * x[8 * c + i];
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so", "libcuda.so.1"};
	for (const char *name : names)
		if (dlopen(name, RTLD_NOW)) {
			gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K);
		}
}
