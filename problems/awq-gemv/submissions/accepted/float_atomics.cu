// Blocks take a group each and add to FP32 sums by atomics; a second kernel rounds them to FP16.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int THREADS = 32;

__global__ void add_group(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, float *sums,
			  int N, int G)
{
	const int pitch = N / 8, c = blockIdx.x * THREADS + threadIdx.x, g = blockIdx.y;
	if (c >= pitch)
		return;
	const uint32_t zeros = qzeros[(size_t)g * pitch + c];
	int zero[8];
	for (int i = 0; i < 8; i++)
		zero[i] = zeros >> 4 * i & 15;
	float part[8] = {};
	for (int k = g * G; k < (g + 1) * G; k++) {
		const uint32_t word = qweight[(size_t)k * pitch + c];
		const float a = __half2float(x[k]);
		for (int i = 0; i < 8; i++)
			part[i] += (float)((int)(word >> 4 * i & 15) - zero[i]) * a;
	}
	for (int i = 0; i < 8; i++) {
		const int n = 8 * c + (i < 4 ? 2 * i : 2 * i - 7);
		atomicAdd(sums + n, part[i] * __half2float(scales[(size_t)g * N + n]));
	}
}

__global__ void round_all(const float *sums, __half *y, int N)
{
	const int n = blockIdx.x * blockDim.x + threadIdx.x;
	if (n < N)
		y[n] = __float2half(sums[n]);
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	float *sums = static_cast<float *>(workspace);
	cudaMemsetAsync(sums, 0, N * sizeof *sums);
	add_group<<<dim3((N / 8 + THREADS - 1) / THREADS, K / G), THREADS>>>(qweight, qzeros, scales, x, sums, N, G);
	round_all<<<(N + 127) / 128, 128>>>(sums, y, N);
}
