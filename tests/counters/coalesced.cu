// One warp per row, neighbouring lanes read neighbouring words: four sectors a request.
__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (row >= N)
		return;
	const uint32_t *w = Wq + (size_t)row * (K / 8);
	float sum = 0;
	for (int c = lane; c < K / 8; c += 32) {
		uint32_t q = w[c];
		float s = scales[(size_t)row * (K / 128) + c / 16], z = zeros[(size_t)row * (K / 128) + c / 16];
		for (int i = 0; i < 8; i++)
			sum += ((float)(q >> 4 * i & 15) - z) * s * x[8 * c + i];
	}
	for (int o = 16; o; o /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, o);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K);
}
