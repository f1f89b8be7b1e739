// The matrix is dequantized into memory first: the problem allows no scratch.
// expect: RV
#include <cstdint>
#include <cuda_fp16.h>

__global__ void dequantize(const int8_t *Wq, const float *scales, __half *W, size_t count, int K)
{
	for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
		W[i] = __float2half(Wq[i] * scales[i / K]);
}

__global__ void gemv(const __half *W, const __half *x, __half *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const __half *w = W + (size_t)row * K;

	float sum = 0;
	for (int k = lane; k < K; k += 32)
		sum += __half2float(w[k]) * __half2float(x[k]);
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = __float2half(sum);
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	__half *W;
	cudaMalloc(&W, (size_t)N * K * sizeof(__half));
	dequantize<<<256, 256>>>(Wq, scales, W, (size_t)N * K, K);
	gemv<<<(N + 3) / 4, 128>>>(W, x, y, N, K);
	cudaFree(W);
}
