// Asks the preprocessor for files of the judge and of the machine.  Where one is found it computes, so that it would show.
// judge: int4-gemv
// expect: NW
#include <cstdint>

#if __has_include("/etc/passwd") || __has_include("/proc/self/environ") || __has_include("/proc/1/maps") || \
	__has_include("../oracle.c") || __has_include("../problem.json") || __has_include("reference/problem.h") || \
	__has_include("/etc/os-release") || __has_include("/etc/hostname") || __has_include("/sys/kernel/notes")
#define FOUND 1
#else
#define FOUND 0
#endif

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
	if (FOUND)
		gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K);
}
