// Scales are read as [N, K/G].
// expect: WA
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 4;

__global__ void gemv(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		     int N, int K, int G)
{
	__shared__ float parts[WARPS][32][8];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pitch = N / 8, c = blockIdx.x * 32 + lane;

	float sum[8] = {};
	for (int k = warp; c < pitch && k < K; k += WARPS) {
		const int g = k / G;
		const uint32_t word = qweight[(size_t)k * pitch + c], zeros = qzeros[(size_t)g * pitch + c];
		for (int i = 0; i < 8; i++) {
			const int column = i < 4 ? 2 * i : 2 * i - 7;
			const int q = word >> 4 * i & 15, z = zeros >> 4 * i & 15;
			const float s = __half2float(scales[(size_t)(8 * c + column) * (K / G) + g]);
			sum[column] += (float)(q - z) * s * __half2float(x[k]);
		}
	}
	for (int i = 0; i < 8; i++)
		parts[warp][lane][i] = sum[i];
	__syncthreads();
	for (int i = warp; c < pitch && i < 8; i += WARPS) {
		float total = 0;
		for (int w = 0; w < WARPS; w++)
			total += parts[w][lane][i];
		y[8 * c + i] = __float2half(total);
	}
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	gemv<<<(N / 8 + 31) / 32, 32 * WARPS>>>(qweight, qzeros, scales, x, y, N, K, G);
}
