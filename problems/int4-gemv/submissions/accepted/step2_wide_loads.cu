// Step 2: 128-bit weight loads.
//
// Against step 1: a lane loads 16 bytes of weights (uint4, 32 codes, all of one group) where it loaded 4, so one request
// instead of four, one scale and one zero point instead of four, and four times the bytes under way for each load.
// x is no longer staged: each lane reads what its 32 codes need, straight from global memory through L1.
//
// That is the trap. A lane's 32 activations are 128 bytes, so at one load of the warp the lanes stand 128 bytes apart:
// 32 lanes x 16 B touch 32 different lines. L1 serves about one line a cycle, hence 32 cycles for 512 bytes that would
// take 4 in one piece; eight such loads for each 512 bytes of weights make 256 cycles. An SM's share of the memory
// (4.4 TB/s / 132 SMs / 1.9 GHz = 17 bytes a cycle) delivers those 512 bytes in 30.
//
// Measured on an H200, us (in brackets, of the speed of a kernel that only reads the same bytes):
// 4096 x 4096 19.1 (20%), 8192 x 8192 70.9 (15%), 16384 x 16384 277 (13%), 28672 x 8192 242 (13%).
#include <cstdint>

constexpr int GROUP = 128, WARPS = 8;

__device__ float dot(uint32_t word, float4 a, float4 b, float scale, float zero, float sum)
{
	const float x[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
	for (int i = 0; i < 8; i++)
		sum += ((float)(word >> 4 * i & 15) - zero) * scale * x[i];
	return sum;
}

__global__ void __launch_bounds__(32 * WARPS)
gemv(const uint4 *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K)
{
	const int lane = threadIdx.x % 32, row = blockIdx.x * WARPS + threadIdx.x / 32;
	if (row >= N)
		return;
	const uint4 *w = Wq + (size_t)row * (K / 32);
	const float *s = scales + (size_t)row * (K / GROUP), *z = zeros + (size_t)row * (K / GROUP);

	float sum = 0;
	for (int c = lane; c < K / 32; c += 32) {	// 32 codes, all of group c / 4
		const uint4 words = w[c];
		const float4 *xs = x + 8 * c;
		const float scale = s[c / 4], zero = z[c / 4];
		sum = dot(words.x, xs[0], xs[1], scale, zero, sum);
		sum = dot(words.y, xs[2], xs[3], scale, zero, sum);
		sum = dot(words.z, xs[4], xs[5], scale, zero, sum);
		sum = dot(words.w, xs[6], xs[7], scale, zero, sum);
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + WARPS - 1) / WARPS, 32 * WARPS>>>((const uint4 *)Wq, scales, zeros, (const float4 *)x, y, N, K);
}
