// Step 4: what the order 0 2 4 6 1 3 5 7 is for.
//
// Against step 3: (word & 0x000f000f) | 0x64006400, one lop3, takes nibbles 0 and 4 as the FP16 numbers 1024 + q: these are
// columns 0 and 1, in the order in which scales lie in memory and y is written. A shift by 4 gives columns 2 and 3, and so on.
// In plain order the pairs would be columns 0 and 4, 1 and 5: the scales would have to be shuffled, or the results.
//
// So scales come as one 128-bit load, four half2, once a group; zero points are unpacked by the same lop3. Minus 1024 is
// exact; then one fma, q s + (-z s), makes two weights, rounded to FP16 once. The 1024 must go before s comes: 1024 s - 1024 s
// would cancel in FP16 at a thousand times the size of a weight's rounding. Sums stay in FP32.
//
// For two weights: half a shift, lop3, subtraction, fma, two half-to-float, two fma: 4 instructions a weight instead of 6, no
// slow conversion among them.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 16, WORDS = 8, COLUMNS = 8 * WORDS, ROWS = 32 / WORDS, UNROLL = 8;
constexpr int CHUNK = ROWS * UNROLL;

// Columns 2i and 2i + 1 of a word, as exact FP16 integers.
__device__ __forceinline__ __half2 pair(uint32_t word, int i)
{
	const uint32_t bits = (word >> 4 * i & 0x000f000f) | 0x64006400;
	return __hsub2(*reinterpret_cast<const __half2 *>(&bits), __float2half2_rn(1024.0f));
}

__global__ void __launch_bounds__(32 * WARPS)
gemv(const int32_t *__restrict__ qweight, const int32_t *__restrict__ qzeros, const __half *__restrict__ scales,
     const __half *__restrict__ x, __half *__restrict__ y, int N, int K, int G)
{
	__shared__ float parts[WARPS][COLUMNS];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, word_at = lane % WORDS, row = lane / WORDS;
	const int pitch = N / 8, c = blockIdx.x * WORDS + word_at;
	const bool valid = c < pitch;

	float2 sum[4] = {};
	for (int k0 = warp * CHUNK; valid && k0 < K; k0 += WARPS * CHUNK) {
		const int g = k0 / G;
		const uint32_t zeros = qzeros[(size_t)g * pitch + c];
		const uint4 four = *reinterpret_cast<const uint4 *>(scales + (size_t)g * N + 8 * c);
		const uint32_t bits[4] = {four.x, four.y, four.z, four.w};
		__half2 scale[4], offset[4];
#pragma unroll
		for (int i = 0; i < 4; i++) {
			scale[i] = *reinterpret_cast<const __half2 *>(&bits[i]);
			offset[i] = __hneg2(__hmul2(pair(zeros, i), scale[i]));
		}
#pragma unroll
		for (int u = 0; u < UNROLL; u++) {
			const int k = k0 + u * ROWS + row;
			const uint32_t word = qweight[(size_t)k * pitch + c];
			const float a = __half2float(x[k]);
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const float2 w = __half22float2(__hfma2(pair(word, i), scale[i], offset[i]));
				sum[i].x = fmaf(w.x, a, sum[i].x);
				sum[i].y = fmaf(w.y, a, sum[i].y);
			}
		}
	}
#pragma unroll
	for (int i = 0; i < 4; i++) {
		for (int offset = WORDS; offset < 32; offset *= 2) {
			sum[i].x += __shfl_xor_sync(0xffffffff, sum[i].x, offset);
			sum[i].y += __shfl_xor_sync(0xffffffff, sum[i].y, offset);
		}
		if (row == 0)
			*reinterpret_cast<float2 *>(&parts[warp][8 * word_at + 2 * i]) = sum[i];
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
