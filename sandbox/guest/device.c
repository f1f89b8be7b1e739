/* The device that programs see: its properties, limits and life. */
#include "guest.h"

#include <stdio.h>
#include <string.h>

enum { VERSION = 13000 };

static const struct device_properties *properties(void)
{
	return &guest.device.properties;
}

/* What a device is can be asked even after a fault. */
static cudaError_t check_device(int device)
{
	cudaError_t e = guest_connect();
	if (e)
		return e;
	return device == 0 ? cudaSuccess : guest_local(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceCount(int *n)
{
	cudaError_t e = guest_connect();
	if (n)
		*n = guest.open;
	return e;
}

cudaError_t cudaSetDevice(int device)
{
	return check_device(device);
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags)
{
	(void)device_flags, (void)flags;
	return check_device(device);
}

cudaError_t cudaGetDevice(int *device)
{
	cudaError_t e = guest_connect();
	if (!e)
		*device = 0;
	return e;
}

cudaError_t cudaChooseDevice(int *device, const struct cudaDeviceProp *wanted)
{
	(void)wanted;
	return cudaGetDevice(device);
}

cudaError_t cudaSetValidDevices(int *devices, int n)
{
	return n < 1 ? guest_local(cudaErrorInvalidValue) : check_device(devices[0]);
}

static unsigned device_flags;

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	if (flags & ~(unsigned)cudaDeviceMask)
		return guest_local(cudaErrorInvalidValue);
	device_flags = flags;
	return guest_ready();
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
	*flags = device_flags | cudaDeviceMapHost;
	return guest_ready();
}

cudaError_t cudaDeviceSynchronize(void)
{
	cudaError_t e = guest_ready();
	if (!e)
		e = guest_not_in_capture();
	return e ? e : guest_sync();
}

cudaError_t cudaDeviceReset(void)
{
	struct wire_plain m = {WIRE_RESET, 0};
	struct wire_reply r;
	if (guest.over)
		return cudaErrorCudartUnloading;
	if (!guest.open)
		return cudaSuccess;
	if (!guest.sticky)
		guest_sync();
	if (guest.device.program) {
		guest.sticky = guest.last = cudaSuccess;
		guest_forget_variables();
	}
	guest_forget_memory(guest.device.program);
	return guest_ask(&m, sizeof m, NULL, 0, &r, NULL, 0, NULL);
}

cudaError_t cudaDriverGetVersion(int *version)
{
	*version = VERSION;
	return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	*version = VERSION;
	return cudaSuccess;
}

/* ---- limits and preferences ---- */

static size_t limits[] = {
	[cudaLimitStackSize] = 1024, [cudaLimitPrintfFifoSize] = 8650752, [cudaLimitMallocHeapSize] = 8 << 20,
	[cudaLimitDevRuntimeSyncDepth] = 2, [cudaLimitDevRuntimePendingLaunchCount] = 2048,
	[cudaLimitMaxL2FetchGranularity] = 64, [cudaLimitPersistingL2CacheSize] = 0,
};

cudaError_t cudaDeviceSetLimit(enum cudaLimit which, size_t value)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if ((size_t)which >= sizeof limits / sizeof *limits)
		return guest_local(cudaErrorInvalidValue);
	limits[which] = value;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit which)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if ((size_t)which >= sizeof limits / sizeof *limits)
		return guest_local(cudaErrorInvalidValue);
	*value = limits[which];
	return cudaSuccess;
}

static enum cudaFuncCache cache_config = cudaFuncCachePreferNone;

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
	cache_config = config;
	return guest_ready();
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *config)
{
	*config = cache_config;
	return guest_ready();
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
	(void)config;
	return guest_ready();
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *config)
{
	*config = cudaSharedMemBankSizeFourByte;
	return guest_ready();
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = 0;
	return check_device(device) ? guest.last : check_device(peer);
}

/* ---- profiling marks ---- */

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);

cudaError_t cudaProfilerStart(void)
{
	return guest_ready();
}

cudaError_t cudaProfilerStop(void)
{
	return guest_ready();
}

/* ---- properties ---- */

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
	cudaError_t e = check_device(device);
	const struct device_properties *p = properties();
	if (e)
		return e;
	*out = (struct cudaDeviceProp){
		.totalGlobalMem = p->memory, .sharedMemPerBlock = p->shared_per_block,
		.regsPerBlock = (int)p->registers_per_block, .warpSize = 32, .memPitch = 0x7fffffff,
		.maxThreadsPerBlock = (int)p->threads_per_block, .maxThreadsDim = {1024, 1024, 64},
		.maxGridSize = {0x7fffffff, 65535, 65535}, .totalConstMem = 64 << 10, .major = (int)p->major,
		.minor = (int)p->minor, .textureAlignment = 512, .texturePitchAlignment = 32,
		.multiProcessorCount = (int)p->sms, .canMapHostMemory = 1, .surfaceAlignment = 512,
		.concurrentKernels = 1, .ECCEnabled = 1, .asyncEngineCount = 1, .unifiedAddressing = 1,
		.memoryBusWidth = (int)p->bus_bits, .l2CacheSize = (int)p->l2_bytes,
		.maxThreadsPerMultiProcessor = (int)p->threads_per_sm, .streamPrioritiesSupported = 1,
		.globalL1CacheSupported = 1, .localL1CacheSupported = 1, .sharedMemPerMultiprocessor = p->shared_per_sm,
		.regsPerMultiprocessor = (int)p->registers_per_sm, .managedMemory = 1, .cooperativeLaunch = 1,
		.sharedMemPerBlockOptin = p->shared_per_block_optin, .maxBlocksPerMultiProcessor = (int)p->blocks_per_sm,
		.reservedSharedMemPerBlock = p->shared_reserved, .hostRegisterSupported = 1, .memoryPoolsSupported = 1,
		.hostNumaId = -1, .deviceNumaId = -1,
	};
	snprintf(out->name, sizeof out->name, "%s", p->name);
	memcpy(out->uuid.bytes, "judge emulated", 14);
	return cudaSuccess;
}
/* The name that CUDA 12's headers give it. */
extern __typeof__(cudaGetDeviceProperties) cudaGetDeviceProperties_v2 __attribute__((alias("cudaGetDeviceProperties")));

static bool attribute(enum cudaDeviceAttr a, long *v)
{
	const struct device_properties *p = properties();
	switch (a) {
	case cudaDevAttrMaxThreadsPerBlock: *v = p->threads_per_block; break;
	case cudaDevAttrMaxBlockDimX:
	case cudaDevAttrMaxBlockDimY: *v = 1024; break;
	case cudaDevAttrMaxBlockDimZ: *v = 64; break;
	case cudaDevAttrMaxGridDimX: *v = 0x7fffffff; break;
	case cudaDevAttrMaxGridDimY:
	case cudaDevAttrMaxGridDimZ: *v = 65535; break;
	case cudaDevAttrMaxSharedMemoryPerBlock: *v = p->shared_per_block; break;
	case cudaDevAttrMaxSharedMemoryPerBlockOptin: *v = p->shared_per_block_optin; break;
	case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *v = p->shared_per_sm; break;
	case cudaDevAttrReservedSharedMemoryPerBlock: *v = p->shared_reserved; break;
	case cudaDevAttrTotalConstantMemory: *v = 64 << 10; break;
	case cudaDevAttrWarpSize: *v = 32; break;
	case cudaDevAttrMaxPitch: *v = 0x7fffffff; break;
	case cudaDevAttrMaxRegistersPerBlock: *v = p->registers_per_block; break;
	case cudaDevAttrMaxRegistersPerMultiprocessor: *v = p->registers_per_sm; break;
	case cudaDevAttrClockRate: *v = p->clock_khz; break;
	case cudaDevAttrMemoryClockRate: *v = p->memory_clock_khz; break;
	case cudaDevAttrGlobalMemoryBusWidth: *v = p->bus_bits; break;
	case cudaDevAttrL2CacheSize: *v = p->l2_bytes; break;
	case cudaDevAttrMultiProcessorCount: *v = p->sms; break;
	case cudaDevAttrMaxThreadsPerMultiProcessor: *v = p->threads_per_sm; break;
	case cudaDevAttrMaxBlocksPerMultiprocessor: *v = p->blocks_per_sm; break;
	case cudaDevAttrComputeCapabilityMajor: *v = p->major; break;
	case cudaDevAttrComputeCapabilityMinor: *v = p->minor; break;
	case cudaDevAttrSingleToDoublePrecisionPerfRatio: *v = p->major >= 8 && p->minor ? 64 : 2; break;
	case cudaDevAttrTextureAlignment:
	case cudaDevAttrSurfaceAlignment: *v = 512; break;
	case cudaDevAttrTexturePitchAlignment: *v = 32; break;
	case cudaDevAttrGpuOverlap:
	case cudaDevAttrAsyncEngineCount:
	case cudaDevAttrConcurrentKernels:
	case cudaDevAttrCanMapHostMemory:
	case cudaDevAttrUnifiedAddressing:
	case cudaDevAttrStreamPrioritiesSupported:
	case cudaDevAttrGlobalL1CacheSupported:
	case cudaDevAttrLocalL1CacheSupported:
	case cudaDevAttrManagedMemory:
	case cudaDevAttrCooperativeLaunch:
	case cudaDevAttrHostRegisterSupported:
	case cudaDevAttrMemoryPoolsSupported:
	case cudaDevAttrEccEnabled: *v = 1; break;
	case cudaDevAttrNumaId:
	case cudaDevAttrHostNumaId: *v = -1; break;
	default:
		*v = 0;		/* what the emulated device does not have, textures among it */
		return a > 0 && a < cudaDevAttrMax;
	}
	return true;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr a, int device)
{
	long v;
	cudaError_t e = check_device(device);
	if (e)
		return e;
	if (!value || !attribute(a, &v))
		return guest_local(cudaErrorInvalidValue);
	*value = (int)v;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *out, int size, int device)
{
	cudaError_t e = check_device(device);
	if (e)
		return e;
	if (!out || size < 13)
		return guest_local(cudaErrorInvalidValue);
	snprintf(out, (size_t)size, "0000:00:00.0");
	return cudaSuccess;
}
