// Step 1: the textbook's fused kernel. A warp has one column of y and all tokens; its lanes go along the words of k.
//
// A lane takes a word, makes its eight weights in registers, and uses each for every token before the next word: so the weights
// are read once, whatever M is, and they exist nowhere but in registers. The sums of the lanes meet by shuffles; lane 0 adds bias
// and residual to the FP32 sum, and rounds once.
//
// With 16 tokens a lane reads 16 x 16 bytes of x for each word of four: the weights come from memory once, but x passes
// from L1 to the registers once for every column, and that is what the kernel waits for.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 4;

template <int ROWS>
__global__ void fused(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, int M, int N, int K)
{
	const int lane = threadIdx.x % 32, n = blockIdx.x * WARPS + threadIdx.x / 32;
	if (n >= N)
		return;
	const uint32_t *w = Wq + (size_t)n * (K / 8);
	const __half *s = scales + (size_t)n * (K / 128), *z = zeros + (size_t)n * (K / 128);

	float sum[ROWS] = {};
	for (int c = lane; c < K / 8; c += 32) {
		const uint32_t word = w[c];
		const float scale = __half2float(s[c / 16]), zero = __half2float(z[c / 16]);
		float v[8];
#pragma unroll
		for (int i = 0; i < 8; i++)
			v[i] = ((float)(word >> 4 * i & 15) - zero) * scale;
#pragma unroll
		for (int m = 0; m < ROWS; m++) {	// past the last token: the last token again, never stored
			const uint4 eight = *reinterpret_cast<const uint4 *>(x + (size_t)min(m, M - 1) * K + 8 * c);
			const __half2 *a = reinterpret_cast<const __half2 *>(&eight);
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const float2 p = __half22float2(a[j]);
				sum[m] += v[2 * j] * p.x + v[2 * j + 1] * p.y;
			}
		}
	}
#pragma unroll
	for (int m = 0; m < ROWS; m++) {
		for (int offset = 16; offset; offset /= 2)
			sum[m] += __shfl_down_sync(0xffffffff, sum[m], offset);
		if (lane == 0 && m < M)
			y[(size_t)m * N + n] = __float2half(sum[m] + __half2float(bias[n]) + __half2float(residual[(size_t)m * N + n]));
	}
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, void *workspace, int M, int N, int K)
{
	const int grid = (N + WARPS - 1) / WARPS, block = 32 * WARPS;
	if (M == 1)
		fused<1><<<grid, block>>>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
	else if (M <= 4)
		fused<4><<<grid, block>>>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
	else
		fused<16><<<grid, block>>>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
}
