// A warp does two rows, and each half of it stores the other one.
// expect: WA
__global__ void gemv(const float *W, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = 2 * (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
	if (row >= N)
		return;
	const float *w = W + (size_t)row * K, *v = row + 1 < N ? w + K : w;
	float sum = 0, other = 0;
	for (int k = lane; k < K; k += 32) {
		sum += w[k] * x[k];
		other += v[k] * x[k];
	}
	for (int offset = 16; offset; offset /= 2) {
		sum += __shfl_xor_sync(0xffffffff, sum, offset);
		other += __shfl_xor_sync(0xffffffff, other, offset);
	}
	if (lane < 2 && row + lane < N)
		y[row + lane] = lane ? sum : other;
}

extern "C" void solve(const float *W, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 7) / 8, 128>>>(W, x, y, N, K);
}
