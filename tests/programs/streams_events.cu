// Streams, events, elapsed time, host functions, asynchronous allocation.
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

__global__ void add(int *p, int x)
{
	p[threadIdx.x] += x;
}

__global__ void work(float *p)
{
	float x = p[threadIdx.x];
	for (int i = 0; i < 1000; i++)
		x = x * 0.5f + 1;
	p[threadIdx.x] = x;
}

static int order[2], n_order;

static void CUDART_CB called(void *user)
{
	order[n_order++] = *(int *)user;
}

int main()
{
	cudaStream_t s, t;
	cudaEvent_t start, middle, end, plain;
	int *d, h[32], low, high, one = 1, two = 2;
	float *f, first, both;
	unsigned flags;
	CUDA(cudaDeviceGetStreamPriorityRange(&low, &high));
	EXPECT(high <= low, true);
	CUDA(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	CUDA(cudaStreamCreateWithPriority(&t, cudaStreamDefault, high));
	CUDA(cudaStreamGetFlags(s, &flags));
	EXPECT(flags, cudaStreamNonBlocking);
	CUDA(cudaEventCreate(&start));
	CUDA(cudaEventCreate(&middle));
	CUDA(cudaEventCreate(&end));
	CUDA(cudaEventCreateWithFlags(&plain, cudaEventDisableTiming));

	CUDA(cudaMallocAsync(&d, sizeof h, s));
	CUDA(cudaMemsetAsync(d, 0, sizeof h, s));
	add<<<1, 32, 0, s>>>(d, 5);
	CUDA(cudaLaunchHostFunc(s, called, &one));
	CUDA(cudaEventRecord(plain, s));
	CUDA(cudaStreamWaitEvent(t, plain));
	add<<<1, 32, 0, t>>>(d, 2);
	CUDA(cudaMemcpyAsync(h, d, sizeof h, cudaMemcpyDeviceToHost, t));
	CUDA(cudaLaunchHostFunc(t, called, &two));
	CUDA(cudaStreamSynchronize(t));
	EXPECT(h[0], 7);
	EXPECT(h[31], 7);
	EXPECT(n_order, 2);
	EXPECT(order[0] * 10 + order[1], 12);
	CUDA(cudaFreeAsync(d, t));
	CUDA(cudaStreamSynchronize(t));
	CUDA(cudaStreamQuery(t));

	cudaMemPool_t pool;
	unsigned long long keep = 1 << 20, kept = 0;
	CUDA(cudaDeviceGetDefaultMemPool(&pool, 0));
	CUDA(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
	CUDA(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
	EXPECT(kept, keep);
	CUDA(cudaMallocFromPoolAsync(&d, 128, pool, s));
	CUDA(cudaFreeAsync(d, s));
	CUDA(cudaMemPoolTrimTo(pool, 0));

	CUDA(cudaMalloc(&f, 32 * sizeof(float)));
	CUDA(cudaMemset(f, 0, 32 * sizeof(float)));
	CUDA(cudaEventRecord(start));
	work<<<1, 32>>>(f);
	CUDA(cudaEventRecord(middle));
	work<<<1, 32>>>(f);
	CUDA(cudaEventRecord(end));
	CUDA(cudaEventSynchronize(end));
	CUDA(cudaEventQuery(end));
	CUDA(cudaEventElapsedTime(&first, start, middle));
	CUDA(cudaEventElapsedTime(&both, start, end));
	EXPECT(first > 0, true);
	EXPECT(both > first, true);
	EXPECT(cudaEventElapsedTime(&both, start, plain), cudaErrorInvalidResourceHandle);
	CUDA(cudaEventDestroy(start));
	CUDA(cudaStreamDestroy(s));
	CUDA(cudaStreamDestroy(t));
	CUDA(cudaDeviceSynchronize());
	puts("PASS");
	return 0;
}
