// AWQ GEMV: y[n] = sum over k of (q[k][n] - z[k/G][n]) * scales[k/G][n] * x[k]
//
// qweight  [K, N/8]    nibble i (bits 4i .. 4i+3) of word c of row k is the code of column 8c + {0,2,4,6,1,3,5,7}[i]
// qzeros   [K/G, N/8]  the zero points of a group, packed alike
// scales   [K/G, N]    FP16
// x        [K]         FP16
// y        [N]         FP16
// workspace            16 floats for each column, undefined: room for partial sums, if you want any
//
// Sums in FP32; weights may be rounded to FP16. N is a multiple of 8, K of G, and G is 32, 64 or 128.
#include <cstdint>
#include <cuda_fp16.h>

__global__ void gemv(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		     int N, int K, int G)
{
	const int c = blockIdx.x * blockDim.x + threadIdx.x;	// a thread has a column of words: neighbours read neighbours
	if (c >= N / 8)
		return;

	float sum[8] = {};
	// Your part: walk down the K rows of this column of words. Unpack each word's eight codes, dequantize them with the
	// zero points and scales of the row's group, multiply by x[k], and add to the sums of the right columns.

	for (int i = 0; i < 8; i++)
		y[8 * c + i] = __float2half(sum[i]);
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	const int threads = 64;
	gemv<<<(N / 8 + threads - 1) / threads, threads>>>(qweight, qzeros, scales, x, y, N, K, G);
}
