// Four rows a warp share every load of x, and the weights of the next step are under way while those of this one are
// used: eight 128-bit loads a lane. x is staged so that lanes, whose codes lie 32 apart, still read neighbouring float4: no bank conflicts. Codes come out two at a time as
// exact halves, and the zero point leaves the sum: s (sum(q x) - z sum(x)).
#include <cstdint>
#include <cuda_fp16.h>

constexpr int GROUP = 128, WARPS = 8, ROWS = 4, CHUNK = 4096;	// of K, staged at a time
constexpr int UNIT = 32;					// codes of a 128-bit load, all of one group

// Nibbles 0 and 4 of the word as floats: 1024 + q by the exponent 0x64, minus 1024.
__device__ __forceinline__ float2 two_codes(uint32_t word)
{
	const uint32_t bits = (word & 0x000f000f) | 0x64006400;
	return __half22float2(__hsub2(*reinterpret_cast<const __half2 *>(&bits), __float2half2_rn(1024.0f)));
}

__device__ __forceinline__ float dot(uint32_t word, float4 low, float4 high, float sum)
{
	float2 q = two_codes(word);
	sum = fmaf(q.x, low.x, fmaf(q.y, high.x, sum));
	q = two_codes(word >> 4);
	sum = fmaf(q.x, low.y, fmaf(q.y, high.y, sum));
	q = two_codes(word >> 8);
	sum = fmaf(q.x, low.z, fmaf(q.y, high.z, sum));
	q = two_codes(word >> 12);
	return fmaf(q.x, low.w, fmaf(q.y, high.w, sum));
}

struct piece {			// what a lane needs of ROWS rows for one unit
	uint4 words[ROWS];
	float scale[ROWS], zero[ROWS];
};

__global__ void __launch_bounds__(32 * WARPS)
gemv(const uint4 *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K)
{
	__shared__ float4 xs[UNIT / 4][CHUNK / UNIT + 1];	// xs[j][c] = x[32 c + 4 j ...] of the chunk
	const int lane = threadIdx.x % 32, row0 = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS, units = K / UNIT;
	float sum[ROWS] = {};

	auto load = [&](int unit, piece &p) {
#pragma unroll
		for (int r = 0; r < ROWS; r++) {		// past the last row: the last row again, never stored
			const size_t row = min(row0 + r, N - 1), group = row * (K / GROUP) + unit / (GROUP / UNIT);
			p.words[r] = __ldcs(Wq + row * units + unit);
			p.scale[r] = __ldg(scales + group);
			p.zero[r] = __ldg(zeros + group);
		}
	};

	piece now = {}, next = {};
	if (lane < units)
		load(lane, next);
	for (int first = 0; first < units; first += 32) {
		if (first % (CHUNK / UNIT) == 0) {
			const int count = min(CHUNK / UNIT, units - first) * (UNIT / 4);
			__syncthreads();
			for (int i = threadIdx.x; i < count; i += 32 * WARPS)
				xs[i % (UNIT / 4)][i / (UNIT / 4)] = x[first * (UNIT / 4) + i];
			__syncthreads();
		}
		const int unit = first + lane, c = unit % (CHUNK / UNIT);
		now = next;
		if (unit + 32 < units)
			load(unit + 32, next);			// under way while this one is used
		if (unit >= units)
			continue;
		float qx[ROWS] = {}, sx = 0;
#pragma unroll
		for (int j = 0; j < 4; j++) {
			const float4 low = xs[2 * j][c], high = xs[2 * j + 1][c];
			sx += ((low.x + low.y) + (low.z + low.w)) + ((high.x + high.y) + (high.z + high.w));
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				const uint32_t four[4] = {now.words[r].x, now.words[r].y, now.words[r].z, now.words[r].w};
				qx[r] = dot(four[j], low, high, qx[r]);
			}
		}
#pragma unroll
		for (int r = 0; r < ROWS; r++)
			sum[r] = fmaf(now.scale[r], fmaf(-now.zero[r], sx, qx[r]), sum[r]);
	}
#pragma unroll
	for (int r = 0; r < ROWS; r++) {
		for (int offset = 16; offset; offset /= 2)
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], offset);
		if (lane == 0 && row0 + r < N)
			y[row0 + r] = sum[r];
	}
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	constexpr int rows = WARPS * ROWS;
	gemv<<<(N + rows - 1) / rows, 32 * WARPS>>>((const uint4 *)Wq, scales, zeros, (const float4 *)x, y, N, K);
}
