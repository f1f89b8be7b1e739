// Prefix sums: within warps by shuffles, within blocks by shared memory, over blocks by a second kernel.
// stdout: PASS
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

enum { BLOCK = 256 };

__device__ int scan_warp(int x)
{
	for (int d = 1; d < 32; d *= 2) {
		int y = __shfl_up_sync(0xffffffff, x, d);
		if (threadIdx.x % 32 >= d)
			x += y;
	}
	return x;
}

__global__ void scan_block(const int *in, int *out, int *totals, int n)
{
	__shared__ int sums[32];
	int i = blockIdx.x * BLOCK + threadIdx.x, warp = threadIdx.x / 32;
	int x = scan_warp(i < n ? in[i] : 0);
	if (threadIdx.x % 32 == 31)
		sums[warp] = x;
	__syncthreads();
	if (warp == 0)
		sums[threadIdx.x] = scan_warp(threadIdx.x < BLOCK / 32 ? sums[threadIdx.x] : 0);
	__syncthreads();
	if (warp)
		x += sums[warp - 1];
	if (i < n)
		out[i] = x;
	if (totals && threadIdx.x == BLOCK - 1)
		totals[blockIdx.x] = x;
}

__global__ void add_before(int *out, const int *totals, int n)
{
	int i = blockIdx.x * BLOCK + threadIdx.x;
	if (blockIdx.x && i < n)
		out[i] += totals[blockIdx.x - 1];
}

int main()
{
	const int n = 20001, blocks = (n + BLOCK - 1) / BLOCK;
	int *in = (int *)malloc(n * 4), *out = (int *)malloc(n * 4), *din, *dout, *totals, *scanned;
	for (int i = 0; i < n; i++)
		in[i] = i % 13 - 4;
	CUDA(cudaMalloc(&din, n * 4));
	CUDA(cudaMalloc(&dout, n * 4));
	CUDA(cudaMalloc(&totals, blocks * 4));
	CUDA(cudaMalloc(&scanned, blocks * 4));
	CUDA(cudaMemcpy(din, in, n * 4, cudaMemcpyHostToDevice));
	scan_block<<<blocks, BLOCK>>>(din, dout, totals, n);
	scan_block<<<1, BLOCK>>>(totals, scanned, nullptr, blocks);
	add_before<<<blocks, BLOCK>>>(dout, scanned, n);
	CUDA(cudaMemcpy(out, dout, n * 4, cudaMemcpyDeviceToHost));
	for (int i = 0, want = 0; i < n; i++) {
		want += in[i];
		EXPECT(out[i], want);
	}
	puts("PASS");
	return 0;
}
