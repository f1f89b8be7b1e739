// Reductions: warp shuffles and shared memory, one atomic a block; also __reduce_add_sync, ballots and votes.
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

__device__ float warp_sum(float x)
{
	for (int offset = 16; offset; offset /= 2)
		x += __shfl_down_sync(0xffffffff, x, offset);
	return x;
}

__global__ void sum(const float *in, float *out, int n)
{
	__shared__ float partial[32];
	float x = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		x += in[i];
	x = warp_sum(x);
	if (threadIdx.x % 32 == 0)
		partial[threadIdx.x / 32] = x;
	__syncthreads();
	if (threadIdx.x < 32) {
		x = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
		x = warp_sum(x);
		if (threadIdx.x == 0)
			atomicAdd(out, x);
	}
}

__global__ void votes(int *out)
{
	int lane = threadIdx.x;
	out[0 * 32 + lane] = __reduce_add_sync(0xffffffff, lane);
	out[1 * 32 + lane] = (int)__ballot_sync(0xffffffff, lane % 3 == 0);
	out[2 * 32 + lane] = __all_sync(0xffffffff, lane < 32) + 2 * __any_sync(0xffffffff, lane == 40);
	out[3 * 32 + lane] = __shfl_xor_sync(0xffffffff, lane, 5);
	out[4 * 32 + lane] = __popc(__match_any_sync(0xffffffff, lane / 8));
}

int main()
{
	const int n = 100000;
	float *in = (float *)malloc(n * sizeof(float)), *d, *out, total;
	long long want = 0;
	int *dv, v[5 * 32];
	for (int i = 0; i < n; i++) {
		in[i] = (float)(i % 10);
		want += i % 10;
	}
	CUDA(cudaMalloc(&d, n * sizeof(float)));
	CUDA(cudaMalloc(&out, sizeof(float)));
	CUDA(cudaMalloc(&dv, sizeof v));
	CUDA(cudaMemcpy(d, in, n * sizeof(float), cudaMemcpyHostToDevice));
	CUDA(cudaMemset(out, 0, sizeof(float)));
	sum<<<8, 256>>>(d, out, n);
	CUDA(cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost));
	EXPECT(total, want);
	votes<<<1, 32>>>(dv);
	CUDA(cudaMemcpy(v, dv, sizeof v, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 32; i++) {
		EXPECT(v[i], 496);
		EXPECT((unsigned)v[32 + i], 0x49249249u);
		EXPECT(v[64 + i], 1);
		EXPECT(v[96 + i], i ^ 5);
		EXPECT(v[128 + i], 8);
	}
	puts("PASS");
	return 0;
}
