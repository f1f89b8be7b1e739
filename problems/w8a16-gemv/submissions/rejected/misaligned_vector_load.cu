// Each half of a warp takes half of the row in 128-bit loads: where K is not a multiple of 32 the second half starts at an odd multiple of 8 bytes.
// expect: UB
#include <cstdint>
#include <cuda_fp16.h>

__global__ void gemv(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const int8_t *w = Wq + (size_t)row * K;

	float sum = 0;
	const int8_t *part = w + lane / 16 * (K / 2);
	const __half *xs = x + lane / 16 * (K / 2);
	for (int c = lane % 16; c < K / 32; c += 16) {
		int4 q = reinterpret_cast<const int4 *>(part)[c];
		const int words[4] = {q.x, q.y, q.z, q.w};
		for (int i = 0; i < 16; i++)
			sum += (float)(int8_t)(words[i / 4] >> 8 * (i % 4)) * __half2float(xs[16 * c + i]);
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = __float2half(sum * scales[row]);
}

extern "C" void solve(const int8_t *Wq, const float *scales, const __half *x, __half *y, int N, int K)
{
	gemv<<<(N + 3) / 4, 128>>>(Wq, scales, x, y, N, K);
}
