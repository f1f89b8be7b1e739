// INT4 GEMV: y[n] = sum over k of (q[n][k] - zero[n][k/128]) * scale[n][k/128] * x[k]
//
// Wq      [N, K/8]    nibble i (bits 4i .. 4i+3) of word c is the code of k = 8c + i
// scales  [N, K/128]  one for each group of 128 consecutive k
// zeros   [N, K/128]
// x       [K]
// y       [N]
#include <cstdint>

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	int row = blockIdx.x * (blockDim.x / 32) + warp;
	if (row >= N)
		return;

	float sum = 0;
	// Your part: the 32 lanes share the K/8 words of this row. Unpack each word's eight codes, dequantize them,
	// multiply by x, and add up what the lanes hold.

	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	const int warps = 4;	// a block: one row a warp
	gemv<<<(N + warps - 1) / warps, 32 * warps>>>(Wq, scales, zeros, x, y, N, K);
}
