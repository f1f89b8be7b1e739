// The loads of 16 bytes begin below the row, at the next lower multiple, without leaving out the neighbour's weights.
// expect: WA
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K;

	const float *from = W + (size_t)row * K / 4 * 4;
	int before = (int)(w - from), whole = before ? (K + before) / 4 : K / 4;
	float sum = 0;
	for (int c = lane; c < whole; c += 32)
		for (int i = 0; i < 4; i++)
			sum += from[4 * c + i] * x[max(4 * c + i - before, 0)];
	int k = 4 * whole - before + lane;
	if (k < K)
		sum += w[k] * x[k];
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(W, x, y, N, K);
}
