// The host waits for something that never comes.
// expect: TLE
#include <cstdint>
#include <unistd.h>

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const uint32_t *w = Wq + (size_t)row * (K / 8);
	const float *s = scales + (size_t)row * (K / 128), *z = zeros + (size_t)row * (K / 128);

	float sum = 0;
	for (int c = lane; c < K / 8; c += 32) {
		uint32_t word = w[c];
		float scale = s[c / 16], zero = z[c / 16];
		for (int i = 0; i < 8; i++)
			sum += ((float)(word >> 4 * i & 15) - zero) * scale * x[8 * c + i];
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K);
	for (volatile int ready = 0; !ready;)
		usleep(1000);
}
