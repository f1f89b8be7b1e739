// The weight, table times absmax, is rounded to FP16: a small absmax makes it subnormal.
// expect: WA
#include <cstdint>
#include <cuda_fp16.h>

__constant__ float table[16] = {
	-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
	-0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
	0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
	0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f};

__global__ void gemv(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		     const float *offset, const __half *x, __half *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const size_t start = (size_t)row * K;
	const uint32_t *words = reinterpret_cast<const uint32_t *>(Wq + start / 2);

	float sum = 0;
	for (int c = lane; c < K / 8; c += 32) {
		const uint32_t word = words[c];
		const size_t block = (start + 8 * c) / 64;
		const float absmax = absmax_map[absmax_q[block]] * absmax_scale[block / 256] + *offset;
		for (int i = 0; i < 8; i++)		// the first of a byte is in its high nibble
			sum += __half2float(__float2half(table[word >> 4 * (i ^ 1) & 15] * absmax)) * __half2float(x[8 * c + i]);
	}
	for (int lanes = 16; lanes; lanes /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, lanes);
	if (lane == 0)
		y[row] = __float2half(sum);
}

extern "C" void solve(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		      const float *offset, const __half *x, __half *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, absmax_q, absmax_map, absmax_scale, offset, x, y, N, K);
}
