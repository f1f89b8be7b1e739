// x is staged in shared memory, and read without waiting for the other warps: the first to come finds nothing there.
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
		int size = min(CHUNK, K - k0);
		for (int k = threadIdx.x; k < size; k += blockDim.x)
			xs[k] = x[k0 + k];
		for (int c = lane; c < size / 8; c += 32) {
			uint32_t word = w[k0 / 8 + c];
			int g = (k0 + 8 * c) / 128;
			for (int i = 0; i < 8; i++)
				sum += ((float)(word >> 4 * i & 15) - z[g]) * s[g] * xs[8 * c + i];
		}
		__syncthreads();
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
