// 128-bit loads of weights and activations; the zero point leaves the inner loop: s (sum(q x) - z sum(x)).
#include <cstdint>

constexpr int GROUP = 128, WARPS = 8;

__device__ void add_word(uint32_t word, float4 a, float4 b, float &qx, float &sx)
{
	const float x[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
	for (int i = 0; i < 8; i++) {
		qx = fmaf((float)(word >> 4 * i & 15), x[i], qx);
		sx += x[i];
	}
}

__global__ void __launch_bounds__(32 * WARPS)
gemv(const uint4 *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * WARPS + threadIdx.x / 32;
	if (row >= N)
		return;
	const uint4 *w = Wq + (size_t)row * (K / 32);
	size_t groups = (size_t)row * (K / GROUP);

	float sum = 0;
	for (int c = lane; c < K / 32; c += 32) {	// 32 codes a load, all of one group
		uint4 words = __ldg(w + c);
		const float4 *xv = x + 8 * c;
		float scale = __ldg(scales + groups + c / 4), zero = __ldg(zeros + groups + c / 4), qx = 0, sx = 0;
		add_word(words.x, __ldg(xv), __ldg(xv + 1), qx, sx);
		add_word(words.y, __ldg(xv + 2), __ldg(xv + 3), qx, sx);
		add_word(words.z, __ldg(xv + 4), __ldg(xv + 5), qx, sx);
		add_word(words.w, __ldg(xv + 6), __ldg(xv + 7), qx, sx);
		sum += scale * (qx - zero * sx);
	}
#pragma unroll
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<(N + WARPS - 1) / WARPS, 32 * WARPS>>>((const uint4 *)Wq, scales, zeros, (const float4 *)x, y, N, K);
}
