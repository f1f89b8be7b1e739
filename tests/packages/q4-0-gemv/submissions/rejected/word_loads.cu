// Codes are read four bytes at a time, which a block of 18 bytes does not allow.
// expect: UB
#include <cstdint>
#include <cuda_fp16.h>

__global__ void gemv(const uint8_t *W, const float *x, float *y, int N, int K)
{
	int n = blockIdx.x * blockDim.x + threadIdx.x;
	if (n >= N)
		return;
	const uint8_t *block = W + (size_t)n * (K / 32 * 18);
	float sum = 0;
	for (int k = 0; k < K; k += 32, block += 18) {
		float d = __half2float(*(const __half *)block), part = 0;
		for (int i = 0; i < 16; i++)
			part += ((*(const uint32_t *)(block + 2 + i / 4 * 4) >> 8 * (i % 4) & 15) - 8.0f) * x[k + i];
		sum += d * part;
	}
	y[n] = sum;
}

extern "C" void solve(const uint8_t *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 63) / 64, 64>>>(W, x, y, N, K);
}
