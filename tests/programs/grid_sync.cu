// Cooperative groups: grid-wide synchronisation, tiled partitions, reductions of a tile.
// stdout: PASS
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                      \
	do {                                                                            \
		cudaError_t error_ = (call);                                            \
		if (error_ != cudaSuccess) {                                            \
			printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(error_));\
			exit(1);                                                        \
		}                                                                       \
	} while (0)
#define EXPECT(got, want)                                                               \
	do {                                                                            \
		long long got_ = (long long)(got), want_ = (long long)(want);           \
		if (got_ != want_) {                                                    \
			printf("line %d: %s is %lld, not %lld\n", __LINE__, #got, got_, want_);\
			exit(1);                                                        \
		}                                                                       \
	} while (0)

namespace cg = cooperative_groups;

// Each round every block reads what its neighbour wrote in the round before.
__global__ void rotate(int *a, int *b, int n, int rounds)
{
	cg::grid_group grid = cg::this_grid();
	for (int r = 0; r < rounds; r++) {
		for (int i = grid.thread_rank(); i < n; i += grid.size())
			b[i] = a[(i + 1) % n] + 1;
		grid.sync();
		int *t = a;
		a = b;
		b = t;
	}
}

__global__ void tiles(int *out)
{
	cg::thread_block block = cg::this_thread_block();
	auto tile = cg::tiled_partition<8>(block);
	int sum = cg::reduce(tile, (int)block.thread_rank(), cg::plus<int>());
	block.sync();
	if (tile.thread_rank() == 0)
		out[tile.meta_group_rank()] = sum;
}

int main()
{
	const int n = 3000, rounds = 4;
	static int a[n];
	int *da, *db, *dt, t[8], blocks = 0, m = n, r = rounds, yes = 0;
	for (int i = 0; i < n; i++)
		a[i] = i * 10;
	CUDA(cudaDeviceGetAttribute(&yes, cudaDevAttrCooperativeLaunch, 0));
	EXPECT(yes, 1);
	CUDA(cudaMalloc(&da, sizeof a));
	CUDA(cudaMalloc(&db, sizeof a));
	CUDA(cudaMalloc(&dt, sizeof t));
	CUDA(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
	CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, rotate, 128, 0));
	EXPECT(blocks > 0, true);
	void *args[] = {&da, &db, &m, &r};
	CUDA(cudaLaunchCooperativeKernel(rotate, dim3(6), dim3(128), args, 0, nullptr));
	CUDA(cudaMemcpy(a, da, sizeof a, cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		EXPECT(a[i], (i + rounds) % n * 10 + rounds);
	EXPECT(cudaLaunchCooperativeKernel(rotate, dim3(1 << 20), dim3(128), args, 0, nullptr), cudaErrorCooperativeLaunchTooLarge);
	tiles<<<1, 64>>>(dt);
	CUDA(cudaMemcpy(t, dt, sizeof t, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 8; i++)
		EXPECT(t[i], 64 * i + 28);
	puts("PASS");
	return 0;
}
