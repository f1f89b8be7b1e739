// Cooperative groups: tiles of sixteen threads, two rows a warp, cg::reduce instead of hand-written shuffles.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdint>

namespace cg = cooperative_groups;

constexpr int TILE = 16, THREADS = 128;

__global__ void gemv(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	auto tile = cg::tiled_partition<TILE>(cg::this_thread_block());
	int row = blockIdx.x * (THREADS / TILE) + tile.meta_group_rank();
	if (row >= N)
		return;

	float sum = 0;
	for (int g = 0; g < K / 128; g++) {	// sixteen words: a group of 128, one word a thread
		uint32_t word = Wq[(size_t)row * (K / 8) + 16 * g + tile.thread_rank()];
		const float *xs = x + 128 * g + 8 * tile.thread_rank();
		size_t at = (size_t)row * (K / 128) + g;
		float bias = -zeros[at] * scales[at];
		for (int i = 0; i < 8; i++) {
			sum += fmaf((float)(word & 15), scales[at], bias) * xs[i];
			word >>= 4;
		}
	}
	sum = cg::reduce(tile, sum, cg::plus<float>());
	if (tile.thread_rank() == 0)
		y[row] = sum;
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	constexpr int rows = THREADS / TILE;
	gemv<<<(N + rows - 1) / rows, THREADS>>>(Wq, scales, zeros, x, y, N, K);
}
