// Blocks stay and take further rows, but the sum of the row before is not set back to 0.
// expect: WA
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32;
	float sum = 0;
	for (int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < N; row += gridDim.x * (blockDim.x / 32)) {
		const float *w = W + (size_t)row * K;
		for (int k = lane; k < K; k += 32)
			sum += w[k] * x[k];
		for (int offset = 16; offset; offset /= 2)
			sum += __shfl_xor_sync(0xffffffff, sum, offset);
		if (lane == 0)
			y[row] = sum;
	}
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<1, 64>>>(W, x, y, N, K);
}
