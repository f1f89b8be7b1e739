// Each thread has a column, and takes four bytes of every sector of 32 at a time: the weights are asked for eight times.
// expect: RV
#include <cstdint>
#include <cuda_fp16.h>

constexpr int ROWS = 16;

__global__ void fused(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, int M, int N, int K)
{
	const int n = blockIdx.x * blockDim.x + threadIdx.x;
	if (n >= N)
		return;
	const uint32_t *w = Wq + (size_t)n * (K / 8);
	const __half *s = scales + (size_t)n * (K / 128), *z = zeros + (size_t)n * (K / 128);

	float sum[ROWS] = {};
	for (int c = 0; c < K / 8; c++) {
		const uint32_t word = w[c];
		const float scale = __half2float(s[c / 16]), zero = __half2float(z[c / 16]);
		for (int i = 0; i < 8; i++) {
			const float v = ((float)(word >> 4 * i & 15) - zero) * scale;
#pragma unroll
			for (int m = 0; m < ROWS; m++)
				if (m < M)
					sum[m] += v * __half2float(x[(size_t)m * K + 8 * c + i]);
		}
	}
#pragma unroll
	for (int m = 0; m < ROWS; m++)
		if (m < M)
			y[(size_t)m * N + n] = __float2half(sum[m] + __half2float(bias[n]) + __half2float(residual[(size_t)m * N + n]));
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, void *workspace, int M, int N, int K)
{
	fused<<<(N + 63) / 64, 64>>>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
}
