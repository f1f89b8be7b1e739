// The tree in shared memory has no barrier between its steps.
// expect: RACE
constexpr int THREADS = 128;

__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	__shared__ float sums[THREADS];
	const float *w = W + (size_t)blockIdx.x * K;

	float sum = 0;
	for (int k = threadIdx.x; k < K; k += THREADS)
		sum += w[k] * x[k];
	sums[threadIdx.x] = sum;
	__syncthreads();
	for (int half = THREADS / 2; half; half /= 2)
		if (threadIdx.x < half)
			sums[threadIdx.x] += sums[threadIdx.x + half];
	if (threadIdx.x == 0)
		y[blockIdx.x] = sums[0];
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<N, THREADS>>>(W, x, y, N, K);
}
