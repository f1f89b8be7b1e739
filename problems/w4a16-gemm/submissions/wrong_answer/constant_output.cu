// Writes zeros.
// expect: WA
#include <cstdint>
#include <cuda_fp16.h>

__global__ void gemm(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		     int M, int N, int K)
{
	const int n = blockIdx.x * blockDim.x + threadIdx.x, m = blockIdx.y * blockDim.y + threadIdx.y;
	if (m >= M || n >= N)
		return;
	y[(size_t)m * N + n] = __float2half(0.0f);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		      void *workspace, int M, int N, int K)
{
	gemm<<<dim3((N + 31) / 32, (M + 3) / 4), dim3(32, 4)>>>(x, Wq, scales, zeros, y, M, N, K);
}
