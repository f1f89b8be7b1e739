// Blocks of a cluster read each other's shared memory; the cluster's size comes with the launch.
// stdout: PASS
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>

namespace cg = cooperative_groups;
#define CHECK(call) do { cudaError_t e_ = (call); if (e_) { printf("%s: %s\n", #call, cudaGetErrorString(e_)); exit(1); } } while (0)

__global__ void pass_on(int *out)
{
	__shared__ int mine;
	cg::cluster_group cluster = cg::this_cluster();
	if (threadIdx.x == 0)
		mine = (int)blockIdx.x;
	cluster.sync();
	unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
	if (threadIdx.x == 0)
		out[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
	cluster.sync();
}

int main()
{
	enum { BLOCKS = 16, CLUSTER = 4 };
	int *out, got[BLOCKS];
	CHECK(cudaMalloc(&out, sizeof got));
	cudaLaunchAttribute a[1];
	a[0].id = cudaLaunchAttributeClusterDimension;
	a[0].val.clusterDim.x = CLUSTER;
	a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
	cudaLaunchConfig_t c = {};
	c.gridDim = BLOCKS;
	c.blockDim = 32;
	c.attrs = a;
	c.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&c, pass_on, out));
	CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
	for (int i = 0; i < BLOCKS; i++)
		if (got[i] != i / CLUSTER * CLUSTER + (i + 1) % CLUSTER) {
			printf("block %d got %d\n", i, got[i]);
			return 1;
		}
	c.gridDim = BLOCKS - 1;
	printf(cudaLaunchKernelEx(&c, pass_on, out) == cudaErrorInvalidClusterSize ? "PASS\n" : "a grid that clusters do not divide is launched\n");
}
