// What wrong launches and calls answer, and how an error is remembered.
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

extern __shared__ int dynamic[];
__global__ void kernel(int *p) { if (p) *p = dynamic[0] = 1; }
__global__ void __launch_bounds__(128) bounded(int *p) { if (p) *p = 1; }

static cudaError_t launch(dim3 grid, dim3 block, size_t shared)
{
	kernel<<<grid, block, shared>>>(nullptr);
	cudaError_t e = cudaPeekAtLastError();
	EXPECT(cudaGetLastError(), e);		/* peeking leaves it, getting takes it */
	EXPECT(cudaGetLastError(), cudaSuccess);
	return e;
}

int main()
{
	int *p, value, optin;
	cudaFuncAttributes attributes;
	CUDA(cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	EXPECT(launch(1, 1024, 0), cudaSuccess);
	EXPECT(launch(1, 1025, 0), cudaErrorInvalidValue);
	EXPECT(launch(1, dim3(32, 33), 0), cudaErrorInvalidValue);
	EXPECT(launch(1, dim3(1, 1, 65), 0), cudaErrorInvalidValue);
	EXPECT(launch(1, 0, 0), cudaErrorInvalidValue);
	EXPECT(launch(0, 32, 0), cudaErrorInvalidValue);
	EXPECT(launch(dim3(1, 65536), 32, 0), cudaErrorInvalidValue);
	EXPECT(launch(1, 32, 48 << 10), cudaSuccess);
	EXPECT(launch(1, 32, (48 << 10) + 1), cudaErrorInvalidValue);
	CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, optin));
	EXPECT(launch(1, 32, optin), cudaSuccess);
	EXPECT(launch(1, 32, optin + 1), cudaErrorInvalidValue);
	EXPECT(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, optin + 1), cudaErrorInvalidValue);
	CUDA(cudaFuncGetAttributes(&attributes, kernel));
	EXPECT(attributes.maxDynamicSharedSizeBytes, optin);
	CUDA(cudaFuncGetAttributes(&attributes, bounded));
	EXPECT(attributes.maxThreadsPerBlock, 128);
	cudaGetLastError();
	bounded<<<1, 256>>>(nullptr);
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);

	EXPECT(cudaSetDevice(1000), cudaErrorInvalidDevice);
	EXPECT(cudaGetLastError(), cudaErrorInvalidDevice);
	EXPECT(cudaMalloc(&p, (size_t)1 << 50), cudaErrorMemoryAllocation);
	EXPECT(cudaGetLastError(), cudaErrorMemoryAllocation);
	CUDA(cudaMalloc(&p, 0));
	EXPECT(p == nullptr, true);
	EXPECT(cudaFree(&value), cudaErrorInvalidValue);
	EXPECT(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)9999, 0), cudaErrorInvalidValue);
	EXPECT(cudaGetErrorString(cudaErrorIllegalAddress)[0], 'a');
	CUDA(cudaDeviceSynchronize());
	puts("PASS");
	return 0;
}
