// Copies to shared memory in the background: cuda::pipeline with two stages, and __pipeline_memcpy_async.
// stdout: PASS
#include <cooperative_groups.h>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
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

enum { BLOCK = 128, STAGES = 2 };

__global__ void by_pipeline(const int *in, int *out, int batches)
{
	__shared__ int tile[STAGES][BLOCK];
	auto pipe = cuda::make_pipeline();
	int t = threadIdx.x, sum = 0;
	for (int i = 0; i < STAGES; i++) {
		pipe.producer_acquire();
		cuda::memcpy_async(&tile[i][t], &in[i * BLOCK + t], cuda::aligned_size_t<4>(4), pipe);
		pipe.producer_commit();
	}
	for (int i = 0; i < batches; i++) {
		cuda::pipeline_consumer_wait_prior<STAGES - 1>(pipe);
		__syncthreads();
		sum += tile[i % STAGES][(t + 1) % BLOCK];
		__syncthreads();
		pipe.consumer_release();
		pipe.producer_acquire();
		if (i + STAGES < batches)
			cuda::memcpy_async(&tile[i % STAGES][t], &in[(i + STAGES) * BLOCK + t], cuda::aligned_size_t<4>(4), pipe);
		pipe.producer_commit();
	}
	out[t] = sum;
}

__global__ void by_primitive(const int4 *in, int *out)
{
	__shared__ int4 tile[BLOCK];
	int t = threadIdx.x;
	__pipeline_memcpy_async(&tile[t], &in[t], sizeof(int4));
	__pipeline_commit();
	__pipeline_wait_prior(0);
	__syncthreads();
	int4 v = tile[BLOCK - 1 - t];
	out[t] = v.x + v.y + v.z + v.w;
}

int main()
{
	const int batches = 9, n = batches * BLOCK;
	static int in[n], out[BLOCK];
	int *din, *dout;
	for (int i = 0; i < n; i++)
		in[i] = i * i % 1001;
	CUDA(cudaMalloc(&din, sizeof in));
	CUDA(cudaMalloc(&dout, sizeof out));
	CUDA(cudaMemcpy(din, in, sizeof in, cudaMemcpyHostToDevice));
	by_pipeline<<<1, BLOCK>>>(din, dout, batches);
	CUDA(cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost));
	for (int t = 0; t < BLOCK; t++) {
		int want = 0;
		for (int i = 0; i < batches; i++)
			want += in[i * BLOCK + (t + 1) % BLOCK];
		EXPECT(out[t], want);
	}
	by_primitive<<<1, BLOCK>>>((const int4 *)din, dout);
	CUDA(cudaMemcpy(out, dout, sizeof out, cudaMemcpyDeviceToHost));
	for (int t = 0; t < BLOCK; t++) {
		const int *v = &in[4 * (BLOCK - 1 - t)];
		EXPECT(out[t], v[0] + v[1] + v[2] + v[3]);
	}
	puts("PASS");
	return 0;
}
