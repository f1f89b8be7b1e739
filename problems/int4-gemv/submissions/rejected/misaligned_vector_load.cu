// The first word and the last three are done alone, the rest in 128-bit loads from word 1 on: no multiple of 16 bytes.
// expect: UB
#include <cstdint>

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const uint32_t *w = Wq + (size_t)row * (K / 8);
	const float *s = scales + (size_t)row * (K / 128), *z = zeros + (size_t)row * (K / 128);

	float sum = 0;
	for (int c = 1 + 4 * lane; c + 3 < K / 8; c += 128) {
		const uint4 four = *reinterpret_cast<const uint4 *>(w + c);
		const uint32_t words[4] = {four.x, four.y, four.z, four.w};
		for (int i = 0; i < 32; i++)
			sum += ((float)(words[i / 8] >> 4 * (i % 8) & 15) - z[(c + i / 8) / 16]) * s[(c + i / 8) / 16] * x[8 * c + i];
	}
	for (int c = lane; c < 4; c += 32) {
		const int word = c ? K / 8 - c : 0;
		for (int i = 0; i < 8; i++)
			sum += ((float)(w[word] >> 4 * i & 15) - z[word / 16]) * s[word / 16] * x[8 * word + i];
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
