// (1024 + q) s - (1024 + z) s in FP16: both products are rounded at 1024 times the size of the weight.
// expect: WA
#include <cstdint>
#include <cuda_fp16.h>

__global__ void gemm(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		     int M, int N, int K)
{
	const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
	if (m >= M || n >= N)
		return;
	const uint32_t *w = Wq + (size_t)n * (K / 8);
	const __half *s = scales + (size_t)n * (K / 128), *z = zeros + (size_t)n * (K / 128), *xm = x + (size_t)m * K;

	float sum = 0;
	for (int c = 0; c < K / 8; c++) {
		uint32_t word = w[c];
		__half scale = s[c / 16], bias = __hmul(__hadd(z[c / 16], __float2half(1024.0f)), scale);
		for (int i = 0; i < 8; i++) {
			__half biased = __ushort_as_half(0x6400 | (word >> 4 * i & 15));
			sum += __half2float(__hsub(__hmul(biased, scale), bias)) * __half2float(xm[8 * c + i]);
		}
	}
	y[(size_t)m * N + n] = __float2half(sum);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		      void *workspace, int M, int N, int K)
{
	gemm<<<dim3((N + 31) / 32, (M + 3) / 4), dim3(32, 4)>>>(x, Wq, scales, zeros, y, M, N, K);
}
