// The sums of the other 31 lanes are never added.
// expect: WA
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	float sum = 0;
	for (int k = lane; k < K; k += 32)
		sum += w[k] * x[k];
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(W, x, y, N, K);
}
