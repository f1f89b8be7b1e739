// A block a row: x in shared memory as FP32, a tree in shared memory instead of shuffles.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int THREADS = 64, CHUNK = 1024;

__global__ void gemv(const int8_t *Wq, const float *scales, const __half *x, __half *y, int K)
{
	__shared__ float xs[CHUNK], sums[THREADS];
	const int8_t *w = Wq + (size_t)blockIdx.x * K;
	float sum = 0;
	for (int k0 = 0; k0 < K; k0 += CHUNK) {
		int size = min(CHUNK, K - k0);
		__syncthreads();
		for (int k = threadIdx.x; k < size; k += THREADS)
			xs[k] = __half2float(x[k0 + k]);
		__syncthreads();
		for (int k = threadIdx.x; k < size; k += THREADS)
			sum += w[k0 + k] * xs[k];
	}
	sums[threadIdx.x] = sum;
	for (int half = THREADS / 2; half; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	if (threadIdx.x == 0)
		y[blockIdx.x] = __float2half(sums[0] * scales[blockIdx.x]);
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	gemv<<<N, THREADS>>>(Wq, scales, x, y, K);
}
