// An illegal access is told at the next call that waits, and by every call after that.
// exit: 1
// stderr: illegal memory access
// stdout: cudaErrorIllegalAddress: an illegal memory access was encountered
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

__global__ void wild(int *p)
{
	p[1ull << 40] = 1;
}

int main()
{
	int *p, *q;
	CUDA(cudaMalloc(&p, 4));
	wild<<<1, 1>>>(p);
	cudaError_t e = cudaDeviceSynchronize();
	printf("%s: %s\n", cudaGetErrorName(e), cudaGetErrorString(e));
	EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
	EXPECT(cudaGetLastError(), cudaSuccess);
	EXPECT(cudaMalloc(&q, 4), cudaErrorIllegalAddress);
	EXPECT(cudaMemcpy(&q, p, 4, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
	wild<<<1, 1>>>(p);
	EXPECT(cudaPeekAtLastError(), cudaErrorIllegalAddress);
	EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	puts("PASS");
	return 0;
}
