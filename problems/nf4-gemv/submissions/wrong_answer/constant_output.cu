// Every element is 0, about what normal weights average to.
// expect: WA
#include <cstdint>
#include <cuda_fp16.h>



__global__ void gemv(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		     const float *offset, const __half *x, __half *y, int N, int K)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row < N)
		y[row] = __half(0);
}

extern "C" void solve(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		      const float *offset, const __half *x, __half *y, int N, int K)
{
	gemv<<<(N + 127) / 128, 128>>>(Wq, absmax_q, absmax_map, absmax_scale, offset, x, y, N, K);
}
