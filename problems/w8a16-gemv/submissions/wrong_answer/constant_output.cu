// Writes zeros.
// expect: WA
#include <cstdint>
#include <cuda_fp16.h>

__global__ void gemv(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	if (lane == 0)
		y[row] = __float2half(0);
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, x, y, N, K);
}
