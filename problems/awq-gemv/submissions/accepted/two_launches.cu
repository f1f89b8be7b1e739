// Two launches: sixteen parts of K leave their sums in the workspace, a second kernel adds them up.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int PARTS = 16, THREADS = 64;

__global__ void partial(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, float *sums,
			int N, int K, int G)
{
	const int pitch = N / 8, c = blockIdx.x * THREADS + threadIdx.x, part = blockIdx.y;
	if (c >= pitch)
		return;
	float sum[8] = {};
	for (int k = (int)((long)K * part / PARTS); k < (int)((long)K * (part + 1) / PARTS); k++) {
		const uint32_t word = qweight[(size_t)k * pitch + c], zeros = qzeros[(size_t)(k / G) * pitch + c];
		const __half2 *scale = reinterpret_cast<const __half2 *>(scales + (size_t)(k / G) * N + 8 * c);
		for (int i = 0; i < 4; i++) {
			const int q0 = word >> 4 * i & 15, q1 = word >> (16 + 4 * i) & 15;
			const int z0 = zeros >> 4 * i & 15, z1 = zeros >> (16 + 4 * i) & 15;
			const float2 w = __half22float2(__hmul2(__halves2half2(__int2half_rn(q0 - z0), __int2half_rn(q1 - z1)), scale[i]));
			sum[2 * i] += w.x * __half2float(x[k]);
			sum[2 * i + 1] += w.y * __half2float(x[k]);
		}
	}
	for (int i = 0; i < 8; i++)
		sums[(size_t)part * N + 8 * c + i] = sum[i];
}

__global__ void add(const float *sums, __half *y, int N)
{
	const int n = blockIdx.x * blockDim.x + threadIdx.x;
	if (n >= N)
		return;
	float sum = 0;
	for (int part = 0; part < PARTS; part++)
		sum += sums[(size_t)part * N + n];
	y[n] = __float2half(sum);
}

extern "C" void solve(const int32_t *qweight, const int32_t *qzeros, const __half *scales, const __half *x, __half *y,
		      void *workspace, int N, int K, int G)
{
	float *sums = static_cast<float *>(workspace);
	partial<<<dim3((N / 8 + THREADS - 1) / THREADS, PARTS), THREADS>>>(qweight, qzeros, scales, x, sums, N, K, G);
	add<<<(N + 127) / 128, 128>>>(sums, y, N);
}
