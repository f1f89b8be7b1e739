// A failed assertion of a kernel: its error comes at the next synchronisation.
// exit: 1
// stderr: device assertion failed: device_assert.cu:28:
// stdout: cudaErrorAssert
#include <cassert>
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

__global__ void check(int limit)
{
	assert(threadIdx.x < limit);
}

int main()
{
	check<<<1, 32>>>(32);
	CUDA(cudaDeviceSynchronize());
	check<<<1, 32>>>(31);
	printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return 0;
}
