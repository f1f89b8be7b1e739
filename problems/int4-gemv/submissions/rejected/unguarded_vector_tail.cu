// 128-bit loads in steps of 1024 with no guard: reads past the row, and past the last one past the tensor.
// expect: IMA
#include <cstdint>

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const uint32_t *w = Wq + (size_t)row * (K / 8);
	const float *s = scales + (size_t)row * (K / 128), *z = zeros + (size_t)row * (K / 128);

	float sum = 0;
	for (int c = lane; c < (K / 32 + 31) / 32 * 32; c += 32) {
		uint4 words = reinterpret_cast<const uint4 *>(w)[c];
		const uint32_t part[4] = {words.x, words.y, words.z, words.w};
		for (int i = 0; i < 32; i++)
			sum += ((float)(part[i / 8] >> 4 * (i % 8) & 15) - z[c / 4]) * s[c / 4] * x[32 * c + i];
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, zeros, x, y, N, K);
}
