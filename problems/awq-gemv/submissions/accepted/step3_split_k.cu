// Step 3: split K over warps, and over quarters of a warp.
//
// Against step 2: a block has only 8 words of a row, 64 columns. That is 32 bytes, one sector, the least that memory hands
// out: to take fewer would waste bytes, to take more leaves fewer blocks. A warp reads four rows of 8 words at a time, and 16
// warps share K, so 64 threads have partial sums of the same columns. They meet twice: quarters of a warp by shuffles, warps
// in shared memory. 64 blocks of 512 threads instead of 16 of 32.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 16, WORDS = 8, COLUMNS = 8 * WORDS, ROWS = 32 / WORDS, UNROLL = 8;
constexpr int CHUNK = ROWS * UNROLL;		// 32 rows of k: whole, and of one group, as G is a multiple of 32

__global__ void __launch_bounds__(32 * WARPS)
gemv(const int32_t *__restrict__ qweight, const int32_t *__restrict__ qzeros, const __half *__restrict__ scales,
     const __half *__restrict__ x, __half *__restrict__ y, int N, int K, int G)
{
	__shared__ float parts[WARPS][COLUMNS];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, word_at = lane % WORDS, row = lane / WORDS;
	const int pitch = N / 8, c = blockIdx.x * WORDS + word_at;
	const bool valid = c < pitch;

	float sum[8] = {};
	for (int k0 = warp * CHUNK; valid && k0 < K; k0 += WARPS * CHUNK) {
		const int g = k0 / G;
		const uint32_t zeros = qzeros[(size_t)g * pitch + c];
		float scale[8], zero[8];
#pragma unroll
		for (int i = 0; i < 8; i++) {
			scale[i] = __half2float(scales[(size_t)g * N + 8 * c + (i < 4 ? 2 * i : 2 * i - 7)]);
			zero[i] = (float)(zeros >> 4 * i & 15);
		}
#pragma unroll
		for (int u = 0; u < UNROLL; u++) {
			const int k = k0 + u * ROWS + row;
			const uint32_t word = qweight[(size_t)k * pitch + c];
			const float a = __half2float(x[k]);
#pragma unroll
			for (int i = 0; i < 8; i++)
				sum[i] += ((float)(word >> 4 * i & 15) - zero[i]) * scale[i] * a;
		}
	}
#pragma unroll
	for (int i = 0; i < 8; i++) {			// the four rows of a warp, then the warps
		for (int offset = WORDS; offset < 32; offset *= 2)
			sum[i] += __shfl_xor_sync(0xffffffff, sum[i], offset);
		if (row == 0)
			parts[warp][8 * word_at + (i < 4 ? 2 * i : 2 * i - 7)] = sum[i];
	}
	__syncthreads();
	const int n = blockIdx.x * COLUMNS + threadIdx.x;
	if (threadIdx.x < COLUMNS && n < N) {
		float total = 0;
		for (int w = 0; w < WARPS; w++)
			total += parts[w][threadIdx.x];
		y[n] = __float2half(total);
	}
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	gemv<<<(N / 8 + WORDS - 1) / WORDS, 32 * WARPS>>>(qweight, qzeros, scales, x, y, N, K, G);
}
