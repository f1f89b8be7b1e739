// Sums of 32 rows are turned through shared memory at a pitch of 32 words: all lanes of a warp meet in one bank.
__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	__shared__ float part[32 * 32];
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int row = blockIdx.x * 32 + warp;
	float sum = 0;
	if (row < N) {
		const uint32_t *w = Wq + (size_t)row * (K / 8);
		for (int c = lane; c < K / 8; c += 32) {
			uint32_t q = w[c];
			float s = scales[(size_t)row * (K / 128) + c / 16], z = zeros[(size_t)row * (K / 128) + c / 16];
			for (int i = 0; i < 8; i++)
				sum += ((float)(q >> 4 * i & 15) - z) * s * x[8 * c + i];
		}
	}
	part[lane * 32 + warp] = sum;
	__syncthreads();
	if (warp == 0 && blockIdx.x * 32 + lane < N) {
		float total = 0;
		for (int i = 0; i < 32; i++)
			total += part[i * 32 + lane];
		y[blockIdx.x * 32 + lane] = total;
	}
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 31) / 32, 1024>>>(Wq, scales, zeros, x, y, N, K);
}
