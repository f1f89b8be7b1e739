// One thread per row: neighbouring lanes read words that lie a whole row apart, a sector for each.
__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= N)
		return;
	const uint32_t *w = Wq + (size_t)row * (K / 8);
	float sum = 0;
	for (int c = 0; c < K / 8; c++) {
		uint32_t q = w[c];
		float s = scales[(size_t)row * (K / 128) + c / 16], z = zeros[(size_t)row * (K / 128) + c / 16];
		for (int i = 0; i < 8; i++)
			sum += ((float)(q >> 4 * i & 15) - z) * s * x[8 * c + i];
	}
	y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 127) / 128, 128>>>(Wq, scales, zeros, x, y, N, K);
}
