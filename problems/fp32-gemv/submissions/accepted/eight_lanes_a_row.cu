// A warp does four rows, eight lanes each: good for rows of a few elements, where 32 lanes would idle.
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 8, row = blockIdx.x * (blockDim.x / 8) + threadIdx.x / 8;
	const float *w = W + (size_t)min(row, N - 1) * K;	// all lanes stay for the shuffles

	float sum = 0;
	for (int k = lane; k < K; k += 8)
		sum += w[k] * x[k];
	for (int offset = 4; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset, 8);
	if (lane == 0 && row < N)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 15) / 16, 128>>>(W, x, y, N, K);
}
