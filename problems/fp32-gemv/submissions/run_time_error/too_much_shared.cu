// Stages x in dynamic shared memory without the attribute that allows more than 48 KiB.
// expect: RE
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	extern __shared__ float xs[];
	for (int k = threadIdx.x; k < K; k += blockDim.x)
		xs[k] = x[k];
	__syncthreads();
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	float sum = 0;
	for (int k = lane; k < K; k += 32)
		sum += w[k] * xs[k];
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128, K * sizeof(float)>>>(W, x, y, N, K);
}
