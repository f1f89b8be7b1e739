/* The CUDA driver and NVML, opened at run time, so that one program serves machines with and without a GPU.
 *
 * Nothing else of the judge names a function of libcuda.  Every entry point used is in the list below; a driver that
 * lacks one is too old, which is told by its name.
 */
#ifndef DEVICE_DRIVER_H
#define DEVICE_DRIVER_H

#include "../base/err.h"
#include "device.h"

#include <cuda.h>
#include <stdbool.h>

#define DRIVER_ENTRIES(X)                                                                                          \
	X(cuInit) X(cuDriverGetVersion) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute)                  \
	X(cuDeviceTotalMem) X(cuDeviceGetUuid) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease)            \
	X(cuCtxSetCurrent) X(cuCtxSynchronize) X(cuCtxResetPersistingL2Cache) X(cuGetErrorName)                    \
	X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetGlobal) X(cuModuleGetFunctionCount)                     \
	X(cuModuleEnumerateFunctions) X(cuFuncGetName) X(cuFuncGetParamInfo) X(cuFuncGetAttribute)                 \
	X(cuFuncSetAttribute) X(cuFuncLoad) X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                         \
	X(cuMemAlloc) X(cuMemFree) X(cuMemGetAllocationGranularity) X(cuMemAddressReserve) X(cuMemAddressFree)     \
	X(cuMemCreate) X(cuMemRelease) X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) X(cuMemHostAlloc)               \
	X(cuMemFreeHost) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async)         \
	X(cuMemsetD16Async) X(cuMemsetD32Async) X(cuStreamCreate) X(cuStreamSynchronize) X(cuStreamBeginCapture)   \
	X(cuStreamEndCapture) X(cuGraphInstantiate) X(cuGraphUpload) X(cuGraphLaunch) X(cuGraphDestroy)            \
	X(cuGraphExecDestroy) X(cuEventCreate) X(cuEventRecord) X(cuEventSynchronize) X(cuLaunchKernel) X(cuLaunchKernelEx) \
	X(cuTensorMapEncodeTiled)

struct driver {
	void *library;
#define X(name) __typeof__(&name) name;
	DRIVER_ENTRIES(X)
#undef X
	CUresult (*elapsed)(float *ms, CUevent from, CUevent to);	/* cuEventElapsedTime, which drivers name by version */
};

/* path: see device_gpu_find.  ERR_INPUT: no driver, or too old, with what to do. */
int driver_open(struct driver *d, const char *path, struct err *e);
const char *driver_error(const struct driver *d, CUresult r);	/* "CUDA_ERROR_ILLEGAL_ADDRESS" */
/* "GPU-3f2c..."; of a device that does not tell: "GPU-". */
void driver_uuid(const struct driver *d, CUdevice id, char *out, size_t size);
/* NVML.  Clocks of the GPU with this uuid; zeros where NVML can't be had. */
struct nvml;
struct nvml *nvml_open(const char *uuid);	/* NULL: not there */
void nvml_clocks(struct nvml *n, struct device_clocks *out);	/* n may be NULL */
/* The driver's own version, "580.95.05"; where NVML does not tell it, the newest CUDA that it knows: "of CUDA 13.0". */
void driver_version(const struct driver *d, const struct nvml *n, char *out, size_t size);

#endif
