// Two warps a row add to y, which nobody has set to 0.
// expect: UB
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, half = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, row = half / 2;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	float sum = 0;
	for (int k = lane + half % 2 * 32; k < K; k += 64)
		sum += w[k] * x[k];
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		atomicAdd(y + row, sum);
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(2 * N + 3) / 4, 128>>>(W, x, y, N, K);
}
