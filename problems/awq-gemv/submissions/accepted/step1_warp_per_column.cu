// Step 1: the shape of int4-gemv, where it doesn't belong: a warp has one output, its lanes share k.
//
// Right, and hopeless. There, a row of weights lay along k, and 32 lanes read 128 bytes in a row. Here neighbouring k are N/2
// bytes apart: each load of the warp touches 32 sectors of 32 bytes, and of each sector the warp wants four bits. The seven
// other columns of a word, and the 56 others of a sector, are other warps' business, who load it again.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 4;

__global__ void gemv(const int32_t *__restrict__ qweight, const int32_t *__restrict__ qzeros, const __half *__restrict__ scales,
		     const __half *__restrict__ x, __half *__restrict__ y, int N, int K, int G)
{
	const int lane = threadIdx.x % 32, n = blockIdx.x * WARPS + threadIdx.x / 32;
	if (n >= N)
		return;
	const int pitch = N / 8, c = n / 8, shift = 4 * (n % 2 * 4 + n % 8 / 2);	// columns 0 2 4 6 1 3 5 7

	float sum = 0;
	for (int k = lane; k < K; k += 32) {
		const int g = k / G;
		const int q = qweight[(size_t)k * pitch + c] >> shift & 15, z = qzeros[(size_t)g * pitch + c] >> shift & 15;
		sum += (float)(q - z) * __half2float(scales[(size_t)g * N + n]) * __half2float(x[k]);
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[n] = __float2half(sum);
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	gemv<<<(N + WARPS - 1) / WARPS, 32 * WARPS>>>(qweight, qzeros, scales, x, y, N, K, G);
}
