// The zero point is taken to be 8.
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
	const __half *s = scales + (size_t)n * (K / 128), *xm = x + (size_t)m * K;

	float sum = 0;
	for (int c = 0; c < K / 8; c++) {
		uint32_t word = w[c];
		float scale = __half2float(s[c / 16]);
		for (int i = 0; i < 8; i++)
			sum += ((float)(word >> 4 * i & 15) - 8) * scale * __half2float(xm[8 * c + i]);
	}
	y[(size_t)m * N + n] = __float2half(sum);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		      void *workspace, int M, int N, int K)
{
	gemm<<<dim3((N + 31) / 32, (M + 3) / 4), dim3(32, 4)>>>(x, Wq, scales, zeros, y, M, N, K);
}
