// Four rows a warp share every load of x, which is staged so that 128-bit shared loads have no bank conflicts. Codes by a
// magic number, s (sum(q x) - z sum(x)), and the sum of a lane's eight activations is made once for the four rows.
#include <cstdint>

constexpr int GROUP = 128, WARPS = 4, ROWS = 4, CHUNK = 2048;	// of K, staged at a time

// FP32 magic: 0x4b000000 is 2^23, and its lowest mantissa bits hold whole numbers.
__device__ __forceinline__ float code(uint32_t word, int i)
{
	return __uint_as_float((word >> 4 * i & 15) | 0x4b000000u) - 8388608.0f;
}

__global__ void __launch_bounds__(32 * WARPS)
gemv(const uint32_t *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float *__restrict__ x, float *__restrict__ y, int N, int K)
{
	// Word c needs x[8c .. 8c+7]: the first four of all words, then the last four of all words.
	__shared__ float4 first[CHUNK / 8], last[CHUNK / 8];
	const int lane = threadIdx.x % 32, row0 = (blockIdx.x * WARPS + threadIdx.x / 32) * ROWS;
	float sum[ROWS] = {};

	for (int k0 = 0; k0 < K; k0 += CHUNK) {
		const int words = min(CHUNK, K - k0) / 8;
		__syncthreads();
		for (int c = threadIdx.x; c < words; c += 32 * WARPS) {
			first[c] = reinterpret_cast<const float4 *>(x + k0)[2 * c];
			last[c] = reinterpret_cast<const float4 *>(x + k0)[2 * c + 1];
		}
		__syncthreads();
		for (int c = lane; c < words; c += 32) {
			const float4 a = first[c], b = last[c];
			const float sx = ((a.x + a.y) + (a.z + a.w)) + ((b.x + b.y) + (b.z + b.w));
#pragma unroll
			for (int r = 0; r < ROWS; r++) {
				if (row0 + r >= N)
					break;
				const size_t row = row0 + r;
				const uint32_t word = __ldcs(Wq + row * (K / 8) + k0 / 8 + c);
				const size_t group = row * (K / GROUP) + k0 / GROUP + c / (GROUP / 8);
				float qx = code(word, 0) * a.x;
				qx = fmaf(code(word, 1), a.y, qx);
				qx = fmaf(code(word, 2), a.z, qx);
				qx = fmaf(code(word, 3), a.w, qx);
				qx = fmaf(code(word, 4), b.x, qx);
				qx = fmaf(code(word, 5), b.y, qx);
				qx = fmaf(code(word, 6), b.z, qx);
				qx = fmaf(code(word, 7), b.w, qx);
				sum[r] = fmaf(__ldg(scales + group), fmaf(-__ldg(zeros + group), sx, qx), sum[r]);
			}
		}
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
	gemv<<<(N + rows - 1) / rows, 32 * WARPS>>>(Wq, scales, zeros, x, y, N, K);
}
