// The plain kernel that "speedup" is measured against: one thread a row, nothing shared, nothing vectorised.
#include <cstdint>

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int n = blockIdx.x * blockDim.x + threadIdx.x;
	if (n >= N)
		return;
	float sum = 0;
	for (int k = 0; k < K; k++) {
		size_t group = (size_t)n * (K / 128) + k / 128;
		int q = Wq[(size_t)n * (K / 8) + k / 8] >> 4 * (k % 8) & 15;
		sum += ((float)q - zeros[group]) * scales[group] * x[k];
	}
	y[n] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 63) / 64, 64>>>(Wq, scales, zeros, x, y, N, K);
}
