// Properties, attributes, limits, occupancy, function attributes, launches with attributes.
// stdout: PASS
#include <cuda_runtime.h>
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

__global__ void kernel(float *p, int n)
{
	__shared__ float s[256];
	s[threadIdx.x] = n;
	__syncthreads();
	p[threadIdx.x] = s[255 - threadIdx.x];
}

int main()
{
	int n, device, value, blocks, grid, block, version;
	size_t free_bytes, total, limit, shared;
	cudaDeviceProp p;
	cudaFuncAttributes f;
	const char *name;
	CUDA(cudaGetDeviceCount(&n));
	EXPECT(n >= 1, true);
	CUDA(cudaSetDevice(0));
	CUDA(cudaGetDevice(&device));
	EXPECT(device, 0);
	CUDA(cudaGetDeviceProperties(&p, 0));
	EXPECT(p.warpSize, 32);
	EXPECT(p.maxThreadsPerBlock, 1024);
	CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	EXPECT(value, p.multiProcessorCount);
	CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
	EXPECT(value, p.major);
	CUDA(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	EXPECT(value, p.sharedMemPerBlockOptin);
	CUDA(cudaMemGetInfo(&free_bytes, &total));
	EXPECT(free_bytes <= total && free_bytes > 0, true);
	CUDA(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
	CUDA(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
	EXPECT(limit, 4096);
	CUDA(cudaDeviceSetCacheConfig(cudaFuncCachePreferShared));
	CUDA(cudaRuntimeGetVersion(&version));
	EXPECT(version >= 12000, true);

	CUDA(cudaFuncGetAttributes(&f, kernel));
	EXPECT(f.sharedSizeBytes, 1024);
	EXPECT(f.numRegs > 0, true);
	EXPECT(f.maxThreadsPerBlock, 1024);
	CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 256, 0));
	EXPECT(blocks, p.maxThreadsPerMultiProcessor / 256);
	CUDA(cudaOccupancyMaxPotentialBlockSize(&grid, &block, kernel, 0, 0));
	EXPECT(block % 32 == 0 && grid >= p.multiProcessorCount, true);
	CUDA(cudaOccupancyAvailableDynamicSMemPerBlock(&shared, kernel, 1, 256));
	EXPECT(shared > 40000, true);
	CUDA(cudaFuncGetName(&name, kernel));
	EXPECT(name[0], '_');

	float *d, h[256];
	CUDA(cudaMalloc(&d, sizeof h));
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};
	attribute.id = cudaLaunchAttributeCooperative;
	attribute.val.cooperative = 1;
	config.gridDim = dim3(1);
	config.blockDim = dim3(256);
	config.attrs = &attribute;
	config.numAttrs = 1;
	CUDA(cudaLaunchKernelEx(&config, kernel, d, 9));
	CUDA(cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost));
	EXPECT(h[0], 9);
	EXPECT(h[255], 9);
	puts("PASS");
	return 0;
}
