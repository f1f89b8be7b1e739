// The plain kernel that "speedup" is measured against: one thread a row.
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
			part += ((block[2 + i] & 15) - 8) * x[k + i] + ((block[2 + i] >> 4) - 8) * x[k + 16 + i];
		sum += d * part;
	}
	y[n] = sum;
}

extern "C" void solve(const uint8_t *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 63) / 64, 64>>>(W, x, y, N, K);
}
