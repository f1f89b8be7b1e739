// The plain kernel that "speedup" is measured against: one thread a column, nothing shared, nothing vectorised.
#include <cstdint>
#include <cuda_fp16.h>

__global__ void gemv(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		     int N, int K, int G)
{
	const int n = blockIdx.x * blockDim.x + threadIdx.x;
	if (n >= N)
		return;
	const int nibble = n % 2 * 4 + n % 8 / 2;	// columns 0 2 4 6 1 3 5 7 from the lowest bits
	float sum = 0;
	for (int k = 0; k < K; k++) {
		const int q = qweight[(size_t)k * (N / 8) + n / 8] >> 4 * nibble & 15;
		const int z = qzeros[(size_t)(k / G) * (N / 8) + n / 8] >> 4 * nibble & 15;
		sum += (float)(q - z) * __half2float(scales[(size_t)(k / G) * N + n]) * __half2float(x[k]);
	}
	y[n] = __float2half(sum);
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	gemv<<<(N + 63) / 64, 64>>>(qweight, qzeros, scales, x, y, N, K, G);
}
