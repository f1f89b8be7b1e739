// Text of kernels comes out in order with the host's, at synchronisation.
// stdout: before
// stdout: thread 0: 1.50 abc ffff 18446744073709551615
// stdout: thread 1: 2.50 abc fffe 18446744073709551614
// stdout: between
// stdout: 100%
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

__global__ void hello(const char *unused)
{
	printf("thread %d: %.2f %s %x %llu\n", threadIdx.x, threadIdx.x + 1.5, "abc", 0xffff - threadIdx.x, ~0ull - threadIdx.x);
}

__global__ void percent()
{
	printf("100%%\n");
}

int main()
{
	puts("before");
	hello<<<1, 2>>>(nullptr);
	CUDA(cudaDeviceSynchronize());
	puts("between");
	percent<<<1, 1>>>();
	int *p;
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMalloc(&p, 4));
	puts("PASS");
	return 0;
}
