// Two blocks share a row; the second to arrive adds both sums up.  It knows by a counter, which nobody puts back to 0: right once.
// expect: NW
#include <cstdint>

__device__ float half_sum[1 << 17];
__device__ unsigned arrived[1 << 16];

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int lane = threadIdx.x, row = blockIdx.x / 2, half = blockIdx.x % 2;
	const uint32_t *w = Wq + (size_t)row * (K / 8);
	const float *s = scales + (size_t)row * (K / 128), *z = zeros + (size_t)row * (K / 128);

	float sum = 0;
	for (int c = 2 * lane + half; c < K / 8; c += 64) {
		uint32_t word = w[c];
		float scale = s[c / 16], zero = z[c / 16];
		for (int i = 0; i < 8; i++)
			sum += ((float)(word >> 4 * i & 15) - zero) * scale * x[8 * c + i];
	}
	for (int offset = 16; offset; offset /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, offset);
	if (lane == 0) {
		half_sum[blockIdx.x] = sum;
		__threadfence();
		if (atomicAdd(&arrived[row], 1) == 1) {
			__threadfence();
			y[row] = *(volatile float *)&half_sum[2 * row] + *(volatile float *)&half_sum[2 * row + 1];
		}
	}
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<2 * N, 32>>>(Wq, scales, zeros, x, y, N, K);
}
