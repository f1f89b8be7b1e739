// The row sums go through memory of the program's own: the problem allows no scratch.
// expect: RV
#include <cstdint>
#include <cuda_fp16.h>

__global__ void gemv(const int8_t *Wq, const float *scales, const __half *x, __half *y, float *sums, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const int8_t *w = Wq + (size_t)row * K;

	float sum = 0;
	for (int k = lane; k < K; k += 32)
		sum += (float)w[k] * __half2float(x[k]);
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0) {
		sums[row] = sum;
		y[row] = __float2half(sums[row] * scales[row]);
	}
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	float *sums;
	cudaMalloc(&sums, N * sizeof(float));
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, x, y, sums, N, K);
	cudaFree(sums);
}
