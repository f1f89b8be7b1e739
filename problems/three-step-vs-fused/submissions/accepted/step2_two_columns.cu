// Step 2: two columns a warp, so that what is read and converted of x serves twice.
//
// Against step 1: with 16 tokens x went from L1 to the registers once for every column, with a conversion for each value. Now a
// lane has a word of each of two columns, 16 weights in registers, and eight values of x at a time: 16 multiplications for one load
// of 16 bytes. Four columns would need 168 registers a thread, and so few warps fit then that memory has too little to do: it is slower.
//
// The multiplications themselves are the limit now: 16 for each weight. That is what tensor cores are for. With one token there is nothing
// to share, and each warp has one column as before.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 4;

template <int COLUMNS, int ROWS>
__global__ void __launch_bounds__(32 * WARPS)
fused(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias, const __half *residual,
      __half *y, int M, int N, int K)
{
	const int lane = threadIdx.x % 32, n0 = (blockIdx.x * WARPS + threadIdx.x / 32) * COLUMNS;
	if (n0 >= N)
		return;

	float sum[COLUMNS][ROWS] = {};
	for (int c = lane; c < K / 8; c += 32) {
		float v[COLUMNS][8];
#pragma unroll
		for (int j = 0; j < COLUMNS; j++) {	// past the last column: the last column again, never stored
			const int n = min(n0 + j, N - 1);
			const uint32_t word = Wq[(size_t)n * (K / 8) + c];
			const size_t group = (size_t)n * (K / 128) + c / 16;
			const float scale = __half2float(scales[group]), zero = __half2float(zeros[group]);
#pragma unroll
			for (int i = 0; i < 8; i++)
				v[j][i] = ((float)(word >> 4 * i & 15) - zero) * scale;
		}
#pragma unroll
		for (int m = 0; m < ROWS; m++) {
			const uint4 eight = *reinterpret_cast<const uint4 *>(x + (size_t)min(m, M - 1) * K + 8 * c);
			const __half2 *a = reinterpret_cast<const __half2 *>(&eight);
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const float2 p = __half22float2(a[i]);
#pragma unroll
				for (int j = 0; j < COLUMNS; j++)
					sum[j][m] += v[j][2 * i] * p.x + v[j][2 * i + 1] * p.y;
			}
		}
	}
#pragma unroll
	for (int j = 0; j < COLUMNS; j++)
#pragma unroll
		for (int m = 0; m < ROWS; m++) {
			for (int offset = 16; offset; offset /= 2)
				sum[j][m] += __shfl_xor_sync(0xffffffff, sum[j][m], offset);
			const int n = n0 + j;
			if (lane == m && m < M && n < N)	// every lane has the sum: lane m stores token m
				y[(size_t)m * N + n] = __float2half(sum[j][m] + __half2float(bias[n]) + __half2float(residual[(size_t)m * N + n]));
		}
}

template <int COLUMNS, int ROWS>
void launch(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias, const __half *residual,
	    __half *y, int M, int N, int K)
{
	constexpr int WIDTH = COLUMNS * WARPS;
	fused<COLUMNS, ROWS><<<(N + WIDTH - 1) / WIDTH, 32 * WARPS>>>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, void *workspace, int M, int N, int K)
{
	if (M == 1)
		launch<1, 1>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
	else if (M <= 4)
		launch<2, 4>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
	else
		launch<2, 16>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
}
