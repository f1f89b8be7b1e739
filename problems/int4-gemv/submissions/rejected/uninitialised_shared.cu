// Shared memory holds 1024 elements of x and is read up to the next multiple of 1024: what was never written counts.
// expect: UB
#include <cstdint>

constexpr int CHUNK = 1024;

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	bool valid = row < N;
	row = min(row, N - 1);
	const uint32_t *w = Wq + (size_t)row * (K / 8);
	const float *s = scales + (size_t)row * (K / 128), *z = zeros + (size_t)row * (K / 128);

	float sum = 0;
	__shared__ float xs[CHUNK];
	for (int k0 = 0; k0 < K; k0 += CHUNK) {
		__syncthreads();
		for (int k = threadIdx.x; k < min(CHUNK, K - k0); k += blockDim.x)
			xs[k] = x[k0 + k];
		__syncthreads();
		for (int c = lane; c < CHUNK / 8; c += 32) {
			uint32_t word = k0 / 8 + c < K / 8 ? w[k0 / 8 + c] : 0;
			int g = min((k0 + 8 * c) / 128, K / 128 - 1);
			for (int i = 0; i < 8; i++)
				sum += ((float)(word >> 4 * i & 15) - z[g]) * s[g] * xs[8 * c + i];
		}
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0 && valid)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K);
}
