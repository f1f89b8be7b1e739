// Bytes to halves by a byte permutation: code + 128 under the exponent byte 0x64 is the half 1024 + 128 + code, and the
// subtraction of 1152 is exact. Products and sums in FP32; four rows a warp share the loads of x, eight codes a load.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 4, ROWS = 4;

template <int SELECT>
__device__ __forceinline__ float2 two_codes(uint32_t biased)
{
	uint32_t bits = __byte_perm(biased, 0x64646464, SELECT);
	return __half22float2(__hsub2(*reinterpret_cast<__half2 *>(&bits), __float2half2_rn(1152.0f)));
}

__device__ __forceinline__ float dot4(uint32_t codes, float2 a, float2 b, float sum)
{
	const uint32_t biased = codes ^ 0x80808080;	// code + 128, without a sign
	const float2 q01 = two_codes<0x4140>(biased), q23 = two_codes<0x4342>(biased);
	return fmaf(q23.y, b.y, fmaf(q23.x, b.x, fmaf(q01.y, a.y, fmaf(q01.x, a.x, sum))));
}

__device__ __forceinline__ float2 floats(uint32_t halves)
{
	return __half22float2(*reinterpret_cast<__half2 *>(&halves));
}

__global__ void __launch_bounds__(32 * WARPS)
gemv(const int8_t *__restrict__ Wq, const float *__restrict__ scales, const uint4 *__restrict__ x,
     __half *__restrict__ y, int N, int K)
{
	const int lane = threadIdx.x % 32, row0 = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS;
	float sum[ROWS] = {};
	for (int c = lane; c < K / 8; c += 32) {
		const uint4 h = __ldg(x + c);
		const float2 a = floats(h.x), b = floats(h.y), d = floats(h.z), e = floats(h.w);
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			if (row0 + r >= N)
				break;
			const uint2 q = __ldcs(reinterpret_cast<const uint2 *>(Wq + (size_t)(row0 + r) * K) + c);
			sum[r] = dot4(q.y, d, e, dot4(q.x, a, b, sum[r]));
		}
	}
#pragma unroll
	for (int r = 0; r < ROWS; r++) {
		for (int offset = 16; offset; offset /= 2)
			sum[r] += __shfl_down_sync(0xffffffff, sum[r], offset);
		if (lane == 0 && row0 + r < N)
			y[row0 + r] = __float2half(sum[r] * scales[row0 + r]);
	}
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	constexpr int rows = WARPS * ROWS;
	gemv<<<(N + rows - 1) / rows, 32 * WARPS>>>(Wq, scales, (const uint4 *)x, y, N, K);
}
