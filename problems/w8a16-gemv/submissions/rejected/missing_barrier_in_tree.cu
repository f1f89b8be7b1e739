// The tree in shared memory has no barrier between its steps.
// expect: RACE
#include <cstdint>
#include <cuda_fp16.h>

constexpr int THREADS = 128;

__global__ void gemv(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	int row = blockIdx.x;
	__shared__ float sums[THREADS];
	const int8_t *w = Wq + (size_t)row * K;

	float sum = 0;
	for (int k = threadIdx.x; k < K; k += THREADS)
		sum += (float)w[k] * __half2float(x[k]);
	sums[threadIdx.x] = sum;
	__syncthreads();
	for (int half = THREADS / 2; half; half /= 2)
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
	sum = sums[0];
	if (threadIdx.x == 0)
		y[row] = __float2half(sum * scales[row]);
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	gemv<<<N, THREADS>>>(Wq, scales, x, y, N, K);
}
