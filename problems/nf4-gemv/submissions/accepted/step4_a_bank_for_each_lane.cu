// Step 4: a copy of the table for each bank.
//
// Against step 3: entry i is there 32 times, in 32 words side by side, one in each bank. Lane l reads copy l, so no two lanes ever
// meet in a bank: one turn for two weights. It is 32 KB of shared memory, an eighth of what an SM has, so blocks are larger
// and stay: they do many rows for each table that they fill.
//
// The address costs little: (byte * 32 + lane) words = byte << 7 | lane << 2, and a byte shifted left by 7 is the word
// shifted and masked.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 16, BLOCKS = 2;		// a block, a multiprocessor
__constant__ float TABLE[16] = {
	-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
	-0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
	0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
	0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f};

// Entry i of the table of pairs, 32 times: once in each bank. Eight stores of 16 bytes by thread i, each begins elsewhere, so
// that neighbouring threads don't meet in a bank.
__device__ __forceinline__ void fill(uint32_t *pairs, int i)
{
	const __half2 h = __floats2half2_rn(TABLE[i >> 4], TABLE[i & 15]);	// the high nibble comes first
	const uint32_t v = *reinterpret_cast<const uint32_t *>(&h);
#pragma unroll
	for (int j = 0; j < 8; j++)
		reinterpret_cast<uint4 *>(pairs)[8 * i + (i + j) % 8] = make_uint4(v, v, v, v);
}

// The pair of byte B of a word, from the lane's own bank; `bank` is the address of entry 0 there.
template <int B>
__device__ __forceinline__ uint32_t look_up(uint32_t word, uint32_t bank)
{
	const uint32_t at = B == 0 ? word << 7 & 0x7f80 : word >> (8 * B - 7) & 0x7f80;
	uint32_t v;
	asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at + bank));
	return v;
}

__device__ __forceinline__ float dot2(uint32_t w, uint32_t x, float sum)
{
	const float2 a = __half22float2(*reinterpret_cast<__half2 *>(&w)), b = __half22float2(*reinterpret_cast<__half2 *>(&x));
	return fmaf(a.y, b.y, fmaf(a.x, b.x, sum));
}

__global__ void __launch_bounds__(32 * WARPS, BLOCKS)
gemv(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		     const float *offset, const __half *x, __half *y, int N, int K)
{
	extern __shared__ uint32_t pairs[];		// [256][32]
	if (threadIdx.x < 256)
		fill(pairs, threadIdx.x);
	__syncthreads();

	const int lane = threadIdx.x % 32;
	const uint32_t bank = (uint32_t)__cvta_generic_to_shared(pairs + lane);
	for (int row = blockIdx.x * WARPS + threadIdx.x / 32; row < N; row += gridDim.x * WARPS) {
		const size_t start = (size_t)row * K;
		const uint32_t *words = reinterpret_cast<const uint32_t *>(Wq + start / 2);

		float sum = 0;
		for (int c = lane; c < K / 8; c += 32) {
			const uint32_t word = words[c];
			const size_t block = (start + 8 * c) / 64;
			const float absmax = absmax_map[absmax_q[block]] * absmax_scale[block / 256] + *offset;
			const uint4 xs = reinterpret_cast<const uint4 *>(x)[c];
			float part = dot2(look_up<0>(word, bank), xs.x, 0);
			part = dot2(look_up<1>(word, bank), xs.y, part);
			part = dot2(look_up<2>(word, bank), xs.z, part);
			part = dot2(look_up<3>(word, bank), xs.w, part);
			sum = fmaf(absmax, part, sum);
		}
		for (int lanes = 16; lanes; lanes /= 2)
			sum += __shfl_down_sync(0xffffffff, sum, lanes);
		if (lane == 0)
			y[row] = __float2half(sum);
	}
}

extern "C" void solve(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		      const float *offset, const __half *x, __half *y, int N, int K)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int blocks = (N + WARPS - 1) / WARPS, most = BLOCKS * processors, shared = 256 * 32 * 4;
	gemv<<<blocks < most ? blocks : most, 32 * WARPS, shared>>>(Wq, absmax_q, absmax_map, absmax_scale, offset, x, y, N, K);
}
