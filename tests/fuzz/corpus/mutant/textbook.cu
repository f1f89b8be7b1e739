// Step 1: the textbook. One warp a row, x staged in shared memory, a 32-bit weight word a lane, shuffles at the end.
//
// Count what a word (4 bytes, 8 weights) costs a lane: 8 shifts, 8 masks, 8 integer-to-float conversions at an eighth of the
// normal rate, 8 subtractions, 8 multiplications, 8 fma: 48 instructions, 6 a weight. At full memory speed an SM gets
// 17 bytes, 34 weights, a cycle, and has 128 lanes: under 4 instructions a weight. And x: two 128-bit reads for each
// word, at a stride of 32 bytes from lane to lane, so every second wavefront is a bank conflict.
// Each lane has 4 bytes of weights under way, or 16 where the compiler unrolls.
//
// Measured on an H200, us (in brackets, of the speed of a kernel that only reads the same bytes):
// 4096 x 4096 18.2 (21%), 8192 x 8192 73.5 (14%), 16384 x 16384 436 (8%), 28672 x 8192 216 (15%).
#include <cstdint>

constexpr int GROUP = 128, WARPS = 4;

__global__ void gemv(const uint32_t *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
		     const float *__restrict__ x, float *__restrict__ y, int N, int K)
{
	extern __shared__ float xs[];
	for (int k = threadIdx.x; k < K; k += blockDim.x)
		xs[k] = x[k];
	__syncthreads();

	int lane = threadIdx.x % 32, row = blockIdx.x * WARPS + threadIdx.x / 32;
	if (row >= N)
		return;
	const uint32_t *w = Wq + (size_t)row * (K / 8);
	const float *s = scales + (size_t)row * (K / GROUP), *z = zeros + (size_t)row * (K / GROUP);

	float sum = 0;
	for (int c = lane; c < K / 8; c += 32) {
		uint32_t word = w[c];
		int k = 8 * c;
		float scale = s[k / GROUP], zero = z[k / GROUP];
#pragma unroll
		for (int i = 0; i < 8; i++)
			sum += ((float)(word >> 4 * i & 15) - zero) * scale * xs[k + i];
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	size_t shared = K * sizeof(float);
	if (shared > 48 << 10)
		cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
	gemv<<<(N + WARPS - 1) / WARPS, 32 * WARPS, shared>>>(Wq, scales, zeros, x, y, N, K);
}
