// No table in memory: the 16 FP16 values are 16 high bytes and 16 low bytes, eight registers in all. prmt takes four bytes out of
// eight by four 3-bit indices, so four codes at once look up their high bytes among the negative values and among the
// others, and so for their low bytes; bit 3 of each code chooses. Two more prmt put the bytes together to two pairs of
// FP16 numbers. 13 instructions for four weights, and shared memory stays free.
#include <cstdint>
#include <cuda_fp16.h>

// Four values of the table in FP16, high or low bytes: 0xbc00, 0xb992, ...
constexpr uint32_t HIGH[4] = {0xb6b8b9bc, 0x00adb1b4, 0x3533312d, 0x3c393837}, LOW[4] = {0x52339200, 0x00d4ea8d, 0x68e02618, 0x00c9800d};

// Of four codes (16 bits, the first in the lowest): the weights, two and two.
__device__ __forceinline__ void four(uint32_t codes, float2 &first, float2 &second)
{
	const uint32_t index = codes & 0x7777, upper = __byte_perm(0x0000ff00, 0, codes >> 3 & 0x1111);
	const uint32_t high = (__byte_perm(HIGH[0], HIGH[1], index) & ~upper) | (__byte_perm(HIGH[2], HIGH[3], index) & upper);
	const uint32_t low = (__byte_perm(LOW[0], LOW[1], index) & ~upper) | (__byte_perm(LOW[2], LOW[3], index) & upper);
	const uint32_t a = __byte_perm(low, high, 0x5140), b = __byte_perm(low, high, 0x7362);
	first = __half22float2(*reinterpret_cast<const __half2 *>(&a));
	second = __half22float2(*reinterpret_cast<const __half2 *>(&b));
}

__global__ void gemv(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		     const float *offset, const __half *x, __half *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const size_t start = (size_t)row * K;
	const uint32_t *words = reinterpret_cast<const uint32_t *>(Wq + start / 2);

	float sum = 0;
	for (int c = lane; c < K / 8; c += 32) {
		const uint32_t word = words[c], codes = (word >> 4 & 0x0f0f0f0f) | (word & 0x0f0f0f0f) << 4;	// in order
		const size_t block = (start + 8 * c) / 64;
		const float absmax = absmax_map[absmax_q[block]] * absmax_scale[block / 256] + *offset;
		const uint4 xs = reinterpret_cast<const uint4 *>(x)[c];
		const uint32_t eight[4] = {xs.x, xs.y, xs.z, xs.w};
		float2 w[4];
		four(codes, w[0], w[1]);
		four(codes >> 16, w[2], w[3]);
		float part = 0;
#pragma unroll
		for (int b = 0; b < 4; b++) {
			const float2 a = __half22float2(*reinterpret_cast<const __half2 *>(&eight[b]));
			part = fmaf(w[b].y, a.y, fmaf(w[b].x, a.x, part));
		}
		sum = fmaf(absmax, part, sum);
	}
	for (int lanes = 16; lanes; lanes /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, lanes);
	if (lane == 0)
		y[row] = __float2half(sum);
}

extern "C" void solve(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		      const float *offset, const __half *x, __half *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, absmax_q, absmax_map, absmax_scale, offset, x, y, N, K);
}
