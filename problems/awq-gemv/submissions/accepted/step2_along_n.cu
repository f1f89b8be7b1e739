// Step 2: the textbook. Threads lie along N: each has a column of words, and walks down k.
//
// Against step 1: 32 lanes read 32 neighbouring words, 128 bytes in a row, and each word is loaded once and used whole. A thread
// keeps eight sums, one for each nibble; nobody has to add up anything across lanes. Its zero points are one word a group,
// unpacked as weights are, and its scales eight halves in a row.
//
// Now each byte is read once, but by whom? N = 4096 columns are 512 words: 16 warps on a GPU that wants thousands, and each
// of them walks down all of K.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int THREADS = 32;

__global__ void gemv(const int32_t *__restrict__ qweight, const int32_t *__restrict__ qzeros, const __half *__restrict__ scales,
		     const __half *__restrict__ x, __half *__restrict__ y, int N, int K, int G)
{
	const int pitch = N / 8, c = blockIdx.x * THREADS + threadIdx.x;
	if (c >= pitch)
		return;

	float sum[8] = {};
	for (int g = 0; g < K / G; g++) {
		const uint32_t zeros = qzeros[(size_t)g * pitch + c];
		float scale[8], zero[8];
#pragma unroll
		for (int i = 0; i < 8; i++) {			// of nibble i
			scale[i] = __half2float(scales[(size_t)g * N + 8 * c + (i < 4 ? 2 * i : 2 * i - 7)]);
			zero[i] = (float)(zeros >> 4 * i & 15);
		}
		for (int k = g * G; k < (g + 1) * G; k++) {
			const uint32_t word = qweight[(size_t)k * pitch + c];
			const float a = __half2float(x[k]);
#pragma unroll
			for (int i = 0; i < 8; i++)
				sum[i] += ((float)(word >> 4 * i & 15) - zero[i]) * scale[i] * a;
		}
	}
#pragma unroll
	for (int i = 0; i < 8; i++)
		y[8 * c + (i < 4 ? 2 * i : 2 * i - 7)] = __float2half(sum[i]);
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	gemv<<<(N / 8 + THREADS - 1) / THREADS, THREADS>>>(qweight, qzeros, scales, x, y, N, K, G);
}
