// Sixteen codes a load, x as 128-bit loads too, two rows a warp.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 4, ROWS = 2;

__device__ float dot4(uint32_t codes, uint32_t x01, uint32_t x23, float sum)
{
	const float2 a = __half22float2(*reinterpret_cast<__half2 *>(&x01)), b = __half22float2(*reinterpret_cast<__half2 *>(&x23));
	sum = fmaf((float)(int8_t)codes, a.x, sum);
	sum = fmaf((float)(int8_t)(codes >> 8), a.y, sum);
	sum = fmaf((float)(int8_t)(codes >> 16), b.x, sum);
	return fmaf((float)(int8_t)(codes >> 24), b.y, sum);
}

__global__ void __launch_bounds__(32 * WARPS)
gemv(const int8_t *__restrict__ Wq, const float *__restrict__ scales, const uint4 *__restrict__ x,
     __half *__restrict__ y, int N, int K)
{
	const int lane = threadIdx.x % 32, row0 = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS;
	float sum[ROWS] = {};
	for (int c = lane; c < K / 16; c += 32) {
		const uint4 low = __ldg(x + 2 * c), high = __ldg(x + 2 * c + 1);
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			if (row0 + r >= N)
				break;
			const uint4 q = __ldg(reinterpret_cast<const uint4 *>(Wq + (size_t)(row0 + r) * K) + c);
			sum[r] = dot4(q.x, low.x, low.y, sum[r]);
			sum[r] = dot4(q.y, low.z, low.w, sum[r]);
			sum[r] = dot4(q.z, high.x, high.y, sum[r]);
			sum[r] = dot4(q.w, high.z, high.w, sum[r]);
		}
	}
#pragma unroll
	for (int r = 0; r < ROWS; r++) {
		for (int offset = 16; offset; offset /= 2)
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], offset);
		if (lane == 0 && row0 + r < N)
			y[row0 + r] = __float2half_rn(sum[r] * scales[row0 + r]);
	}
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	constexpr int rows = WARPS * ROWS;
	gemv<<<(N + rows - 1) / rows, 32 * WARPS>>>(Wq, scales, (const uint4 *)x, y, N, K);
}
