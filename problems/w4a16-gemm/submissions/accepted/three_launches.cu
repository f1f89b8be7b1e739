// What one does without fusing: dequantize to an FP16 matrix in memory, multiply into FP32 sums, convert. The workspace holds
// half of a large FP16 matrix, so it goes by slabs of columns, three launches each. Right, and far from the floor.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 4;

__global__ void dequantize(const uint32_t *Wq, const __half *scales, const __half *zeros, __half *W, int first, int count, int K)
{
	const size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;	// a word
	if (i >= (size_t)count * (K / 8))
		return;
	const size_t n = first + i / (K / 8), c = i % (K / 8), group = n * (K / 128) + c / 16;
	const uint32_t word = Wq[n * (K / 8) + c];
	const float s = __half2float(scales[group]), z = __half2float(zeros[group]);
	for (int j = 0; j < 8; j++)
		W[8 * i + j] = __float2half(((float)(word >> 4 * j & 15) - z) * s);
}

// A warp has one column and up to ROWS rows: lanes along k.
template <int ROWS>
__global__ void multiply(const __half2 *x, const __half2 *W, float *sums, int M, int count, int K)
{
	const int lane = threadIdx.x % 32, n = blockIdx.x * WARPS + threadIdx.x / 32, m0 = blockIdx.y * ROWS;
	if (n >= count)
		return;
	float sum[ROWS] = {};
	for (int k = lane; k < K / 2; k += 32) {
		const float2 w = __half22float2(W[(size_t)n * (K / 2) + k]);
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			const float2 a = __half22float2(x[(size_t)min(m0 + r, M - 1) * (K / 2) + k]);
			sum[r] += w.x * a.x + w.y * a.y;
		}
	}
#pragma unroll
	for (int r = 0; r < ROWS; r++) {
		for (int offset = 16; offset; offset /= 2)
			sum[r] += __shfl_down_sync(0xffffffff, sum[r], offset);
		if (lane == 0 && m0 + r < M)
			sums[(size_t)(m0 + r) * count + n] = sum[r];
	}
}

__global__ void convert(const float *sums, __half *y, int first, int count, int M, int N)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < M * count)
		y[(size_t)(i / count) * N + first + i % count] = __float2half(sums[i]);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		      void *workspace, int M, int N, int K)
{
	const size_t room = (size_t)N * K + (size_t)N * K / 16 + (1 << 20), column = 2 * (size_t)K + 4 * (size_t)M;
	const int most = (int)(room / column < (size_t)N ? room / column : N);
	float *sums = static_cast<float *>(workspace);
	for (int first = 0; first < N; first += most) {
		const int count = N - first < most ? N - first : most;
		__half *W = reinterpret_cast<__half *>(sums + (size_t)M * count);	// 4-byte aligned
		dequantize<<<((size_t)count * (K / 8) + 255) / 256, 256>>>(Wq, scales, zeros, W, first, count, K);
		const dim3 few((count + WARPS - 1) / WARPS, M), many(few.x, (M + 7) / 8);
		if (M <= 2)
			multiply<1><<<few, 32 * WARPS>>>((const __half2 *)x, (const __half2 *)W, sums, M, count, K);
		else
			multiply<8><<<many, 32 * WARPS>>>((const __half2 *)x, (const __half2 *)W, sums, M, count, K);
		convert<<<(M * count + 255) / 256, 256>>>(sums, y, first, count, M, N);
	}
}
