// One launch, but each warp writes its column of weights to memory and reads it again.
// expect: RV
#include <cstdint>
#include <cuda_fp16.h>

constexpr int ROWS = 16, WARPS = 4;

__global__ void fused(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, __half *W, int M, int N, int K)
{
	const int lane = threadIdx.x % 32, n = blockIdx.x * WARPS + threadIdx.x / 32;
	if (n >= N)
		return;
	__half *w = W + (size_t)n * K;
	for (int k = lane; k < K; k += 32) {
		const size_t group = (size_t)n * (K / 128) + k / 128;
		const int q = Wq[(size_t)n * (K / 8) + k / 8] >> 4 * (k % 8) & 15;
		w[k] = __float2half((q - __half2float(zeros[group])) * __half2float(scales[group]));
	}
	__syncwarp();

	float sum[ROWS] = {};
	for (int k = lane; k < K; k += 32) {
		const float v = __half2float(w[k]);
#pragma unroll
		for (int m = 0; m < ROWS; m++)
			if (m < M)
				sum[m] += v * __half2float(x[(size_t)m * K + k]);
	}
#pragma unroll
	for (int m = 0; m < ROWS; m++) {
		for (int offset = 16; offset; offset /= 2)
			sum[m] += __shfl_down_sync(0xffffffff, sum[m], offset);
		if (lane == 0 && m < M)
			y[(size_t)m * N + n] = __float2half(sum[m] + __half2float(bias[n]) + __half2float(residual[(size_t)m * N + n]));
	}
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, void *workspace, int M, int N, int K)
{
	fused<<<(N + WARPS - 1) / WARPS, 32 * WARPS>>>(x, Wq, scales, zeros, bias, residual, y, static_cast<__half *>(workspace), M, N, K);
}
