// A block a row, and cub to add up: enough threads for a long row, many idle ones for a short row.
#include <cstdint>
#include <cub/block/block_reduce.cuh>

constexpr int THREADS = 128;

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int K)
{
	using Reduce = cub::BlockReduce<float, THREADS>;
	__shared__ typename Reduce::TempStorage storage;
	const size_t row = blockIdx.x;

	float sum = 0;
	for (int c = threadIdx.x; c < K / 8; c += THREADS) {
		uint32_t word = Wq[row * (K / 8) + c];
		float scale = scales[row * (K / 128) + c / 16], zero = zeros[row * (K / 128) + c / 16], part = 0;
		for (int i = 0; i < 8; i++)
			part += ((float)(word >> 4 * i & 15) - zero) * x[8 * c + i];
		sum += part * scale;
	}
	sum = Reduce(storage).Sum(sum);
	if (threadIdx.x == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	gemv<<<N, THREADS>>>(Wq, scales, zeros, x, y, K);
}
