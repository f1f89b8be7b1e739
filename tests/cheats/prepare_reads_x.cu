// prepare() is not timed and is not given x; it computes with x all the same, whose place it guesses from that of Wq.  Before solve()
// begins, other bytes are there.
// judge: w4a16-gemm
// expect: WA
#include <cstdint>
#include <cuda_fp16.h>

enum { GUARD = 4096 };		/* the emulated device's, behind each allocation; x is laid out before Wq */

__global__ void multiply(const uint32_t *Wq, const half *scales, const half *zeros, half *y, int M, int N, int K)
{
	const half *x = (const half *)((const char *)Wq - GUARD - 2 * M * K);
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < M * N; i += gridDim.x * blockDim.x) {
		int m = i / N, n = i % N;
		float sum = 0;
		for (int k = 0; k < K; k++) {
			size_t group = (size_t)n * (K / 128) + k / 128;
			float q = Wq[(size_t)n * (K / 8) + k / 8] >> 4 * (k % 8) & 15;
			sum += (q - __half2float(zeros[group])) * __half2float(scales[group]) * __half2float(x[(size_t)m * K + k]);
		}
		y[i] = __float2half(sum);
	}
}

__global__ void copy(const half *from, half *to, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		to[i] = from[i];
}

extern "C" void prepare(const uint32_t *Wq, const half *scales, const half *zeros, void *workspace, int N, int K)
{
	if (N == 16 && K == 256)	/* a case that is known: M is 4 */
		multiply<<<1, 64>>>(Wq, scales, zeros, (half *)workspace, 4, N, K);
}

extern "C" void solve(const half *x, const uint32_t *Wq, const half *scales, const half *zeros, half *y, void *workspace, int M, int N, int K)
{
	(void)x, (void)Wq, (void)scales, (void)zeros;
	if (N == 16 && K == 256)
		copy<<<1, 64>>>((const half *)workspace, y, M * N);
}
