// What one does without fusing: dequantize to an FP16 matrix in memory, multiply into FP32 sums, convert. The workspace holds
// half of a large FP16 matrix, so it goes by slabs of columns, three launches each. Right, and far from the floor.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int TILE = 16;

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

__global__ void multiply(const __half *x, const __half *W, float *sums, int M, int count, int K)
{
	__shared__ float xs[TILE][TILE + 1], ws[TILE][TILE + 1];
	const int tx = threadIdx.x, ty = threadIdx.y, m = blockIdx.y * TILE + ty, n = blockIdx.x * TILE + tx;
	float sum = 0;
	for (int k0 = 0; k0 < K; k0 += TILE) {
		const int row = blockIdx.x * TILE + ty;	// of W, for the load
		xs[ty][tx] = m < M ? __half2float(x[(size_t)m * K + k0 + tx]) : 0.0f;
		ws[ty][tx] = row < count ? __half2float(W[(size_t)row * K + k0 + tx]) : 0.0f;
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += xs[ty][k] * ws[tx][k];
		__syncthreads();
	}
	if (m < M && n < count)
		sums[(size_t)m * count + n] = sum;
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
		__half *W = reinterpret_cast<__half *>(sums + (size_t)M * count);
		dequantize<<<((size_t)count * (K / 8) + 255) / 256, 256>>>(Wq, scales, zeros, W, first, count, K);
		multiply<<<dim3((count + TILE - 1) / TILE, (M + TILE - 1) / TILE), dim3(TILE, TILE)>>>(x, W, sums, M, count, K);
		convert<<<(M * count + 255) / 256, 256>>>(sums, y, first, count, M, N);
	}
}
