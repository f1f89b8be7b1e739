/* Kernel launches: configuration, parameters, attributes, occupancy. */
#include "guest.h"

#include <stdlib.h>
#include <string.h>

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);

enum { MAX_PENDING = 64, PLAIN_SHARED = 48 << 10 };

/* <<<...>>> pushes, the stub pops; an argument of the call may itself launch. */
static struct configuration {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
} pending[MAX_PENDING];
static int n_pending;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *stream)
{
	if (n_pending == MAX_PENDING)
		return 1;
	pending[n_pending++] = (struct configuration){grid, block, shared, stream};
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (!n_pending)
		return guest_local(cudaErrorMissingConfiguration);
	struct configuration *c = &pending[--n_pending];
	*grid = c->grid;
	*block = c->block;
	*shared = c->shared;
	*(cudaStream_t *)stream = c->stream;
	return cudaSuccess;
}

/* ---- the configuration ---- */

static const struct device_properties *properties(void)
{
	return &guest.device.properties;
}

/* The error codes are those of a real device under CUDA 13; older runtimes call some of them InvalidConfiguration. */
static cudaError_t check_shape(const struct kernel *k, dim3 grid, dim3 block)
{
	const char *name = k->info.pretty;
	uint64_t threads = (uint64_t)block.x * block.y * block.z;
	if (!grid.x || !grid.y || !grid.z || !threads)
		return guest_explain(cudaErrorInvalidValue, "launch of %s: a grid of %ux%ux%u blocks of %ux%ux%u threads: no size may "
				     "be 0", name, grid.x, grid.y, grid.z, block.x, block.y, block.z);
	if (grid.x > 0x7fffffff || grid.y > 65535 || grid.z > 65535)
		return guest_explain(cudaErrorInvalidValue, "launch of %s: a grid of %ux%ux%u blocks, at most 2147483647, "
				     "65535, 65535", name,
				     grid.x, grid.y, grid.z);
	if (threads > properties()->threads_per_block)
		return guest_explain(cudaErrorInvalidValue, "launch of %s: %llu threads a block (%ux%ux%u), at most %u", name,
				     (unsigned long long)threads, block.x, block.y, block.z, properties()->threads_per_block);
	if (block.x > 1024 || block.y > 1024 || block.z > 64)
		return guest_explain(cudaErrorInvalidValue, "launch of %s: a block of %ux%ux%u threads, at most 1024, 1024, 64", name,
				     block.x, block.y, block.z);
	if (k->info.max_threads && threads > k->info.max_threads)
		return guest_explain(cudaErrorInvalidValue, "launch of %s: %u threads a block; its __launch_bounds__ allow %u", name,
				     (uint32_t)threads, k->info.max_threads);
	return cudaSuccess;
}

/* Dynamic shared memory that a launch may ask for. */
static uint32_t max_dynamic(const struct kernel *k)
{
	if (k->max_dynamic >= 0)
		return (uint32_t)k->max_dynamic;
	return k->info.shared_static < PLAIN_SHARED ? PLAIN_SHARED - k->info.shared_static : 0;
}

static uint32_t ask_occupancy(const struct kernel *k, uint32_t threads, uint32_t shared, cudaError_t *e)
{
	struct wire_occupancy m = {WIRE_OCCUPANCY, k->index, threads, shared};
	struct wire_reply r = {0};
	*e = guest_ask(&m, sizeof m, NULL, 0, &r, NULL, 0, NULL);
	return *e ? 0 : (uint32_t)r.a;
}

/* Registers are handed out to a warp in units of 256. */
static uint32_t warp_registers(const struct kernel *k)
{
	return (k->info.registers * 32 + 255) / 256 * 256;
}

static cudaError_t check_resources(const struct kernel *k, dim3 block, size_t shared)
{
	uint32_t threads = block.x * block.y * block.z, limit = max_dynamic(k);
	if (shared > limit && k->max_dynamic < 0)
		return guest_explain(cudaErrorInvalidValue, "launch of %s: %zu bytes of dynamic shared memory, at most %u; "
				     "cudaFuncSetAttribute(..., cudaFuncAttributeMaxDynamicSharedMemorySize, ...) can raise it to %u", k->info.pretty, shared, limit,
				     properties()->shared_per_block_optin - k->info.shared_static);
	if (shared > limit)
		return guest_explain(cudaErrorInvalidValue, "launch of %s: %zu bytes of dynamic shared memory; cudaFuncSetAttribute set "
				     "the limit to %u", k->info.pretty, shared, limit);
	if ((uint64_t)(threads + 31) / 32 * warp_registers(k) > properties()->registers_per_block)
		return guest_explain(cudaErrorLaunchOutOfResources, "launch of %s: %u threads of %u registers each; a block has %u",
				     k->info.pretty, threads, k->info.registers, properties()->registers_per_block);
	return cudaSuccess;
}

static cudaError_t check_cooperative(const struct kernel *k, dim3 grid, dim3 block, size_t shared)
{
	cudaError_t e;
	uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
	uint64_t resident = (uint64_t)ask_occupancy(k, block.x * block.y * block.z, (uint32_t)shared, &e) * properties()->sms;
	if (e || blocks <= resident)
		return e;
	return guest_explain(cudaErrorCooperativeLaunchTooLarge, "launch of %s: a cooperative launch of %llu blocks; %llu can be resident",
			     k->info.pretty, (unsigned long long)blocks, (unsigned long long)resident);
}

static cudaError_t check_cluster(const struct kernel *k, dim3 grid, dim3 c)
{
	if (properties()->emulated || properties()->major < 9)
		return guest_explain(cudaErrorNotSupported, "launch of %s: clusters of %ux%ux%u blocks; %s has none", k->info.pretty, c.x, c.y,
				     c.z, properties()->name);
	if (!c.x || !c.y || !c.z || c.x > 16 || c.y > 16 || c.z > 16 || c.x * c.y * c.z > 16 || grid.x % c.x || grid.y % c.y || grid.z % c.z)
		return guest_explain(cudaErrorInvalidClusterSize, "launch of %s: clusters of %ux%ux%u blocks must divide the grid (%ux%ux%u) "
				     "and hold 16 blocks at most", k->info.pretty, c.x, c.y, c.z, grid.x, grid.y, grid.z);
	return cudaSuccess;
}

cudaError_t guest_launch_op(const void *func, dim3 grid, dim3 block, void **args, size_t shared, bool cooperative,
			    struct op *op)
{
	cudaError_t e;
	const struct kernel *k = guest_kernel(func, &e);
	if (!k)
		return e == cudaErrorInvalidDeviceFunction ?
			       guest_explain(cudaErrorInvalidResourceHandle, "launch of what is no kernel of this program") : e;
	e = check_shape(k, grid, block);
	if (!e)
		e = check_resources(k, block, shared);
	if (!e && cooperative)
		e = check_cooperative(k, grid, block, shared);
	if (!e && k->info.n_params && !args)
		e = guest_explain(cudaErrorInvalidValue, "launch of %s: no array of arguments", k->info.pretty);
	if (e)
		return e;
	*op = (struct op){.kind = OP_LAUNCH, .kernel = k, .n_params = k->info.param_bytes};
	op->launch = (struct wire_launch){.kind = WIRE_LAUNCH, .kernel = k->index, .grid = {grid.x, grid.y, grid.z},
					  .block = {block.x, block.y, block.z}, .shared = (uint32_t)shared, .cooperative = cooperative};
	op->params = guest_alloc(op->n_params + 1);
	for (uint32_t i = 0; i < k->info.n_params; i++)
		memcpy((char *)op->params + k->info.params[i].offset, args[i], k->info.params[i].size);
	return cudaSuccess;
}

static cudaError_t launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared, bool cooperative,
			  cudaStream_t stream)
{
	struct op op;
	cudaError_t e = guest_launch_op(func, grid, block, args, shared, cooperative, &op);
	if (e)
		return e;
	e = guest_submit(stream, &op);
	free(op.params);
	return e;
}

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
	return launch(func, grid, block, args, shared, false, stream);
}
ALSO_PTSZ(cudaLaunchKernel);

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
	return launch(kernel, grid, block, args, shared, false, stream);
}
ALSO_PTSZ(__cudaLaunchKernel);

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **args, size_t shared,
					cudaStream_t stream)
{
	return launch(func, grid, block, args, shared, true, stream);
}
ALSO_PTSZ(cudaLaunchCooperativeKernel);

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	bool cooperative = false;
	dim3 cluster = {0, 0, 0};
	struct op op;
	if (!config)
		return guest_local(cudaErrorInvalidValue);
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const cudaLaunchAttribute *a = &config->attrs[i];
		if (a->id == cudaLaunchAttributeCooperative)
			cooperative = a->val.cooperative != 0;
		else if (a->id == cudaLaunchAttributeClusterDimension &&
			 (a->val.clusterDim.x > 1 || a->val.clusterDim.y > 1 || a->val.clusterDim.z > 1))
			cluster = (dim3){a->val.clusterDim.x, a->val.clusterDim.y, a->val.clusterDim.z};
		/* The others (priority, access policy, programmatic order) are hints where work is done in order. */
	}
	cudaError_t e = guest_launch_op(func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, cooperative, &op);
	if (e)
		return e;
	if (cluster.x || cluster.y || cluster.z)
		e = check_cluster(op.kernel, config->gridDim, cluster);
	if (e) {
		free(op.params);
		return e;
	}
	op.launch.cluster[0] = cluster.x;
	op.launch.cluster[1] = cluster.y;
	op.launch.cluster[2] = cluster.z;
	e = guest_submit(config->stream, &op);
	free(op.params);
	return e;
}
ALSO_PTSZ(cudaLaunchKernelExC);

/* ---- attributes ---- */

static int max_threads(const struct kernel *k)
{
	uint32_t n = k->info.max_threads ? k->info.max_threads : properties()->threads_per_block;
	if (k->info.registers) {
		uint32_t warps = properties()->registers_per_block / warp_registers(k);
		if (warps * 32 < n)
			n = warps * 32;
	}
	return (int)n;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *out, const void *func)
{
	cudaError_t e;
	const struct kernel *k = guest_kernel(func, &e);
	if (!k)
		return e;
	int arch = (int)(properties()->major * 10 + properties()->minor);
	*out = (struct cudaFuncAttributes){
		.sharedSizeBytes = k->info.shared_static, .localSizeBytes = k->info.local_bytes,
		.maxThreadsPerBlock = max_threads(k), .numRegs = (int)k->info.registers, .ptxVersion = arch,
		.binaryVersion = arch, .maxDynamicSharedSizeBytes = (int)max_dynamic(k),
		.preferredShmemCarveout = k->carveout,
	};
	return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attribute, int value)
{
	cudaError_t e;
	struct kernel *k = guest_kernel(func, &e);
	if (!k)
		return e;
	switch (attribute) {
	case cudaFuncAttributeMaxDynamicSharedMemorySize:
		if (value < 0 || (uint64_t)value + k->info.shared_static > properties()->shared_per_block_optin)
			return guest_explain(cudaErrorInvalidValue, "cudaFuncSetAttribute of %s: %d bytes of dynamic shared memory, at "
					     "most %u", k->info.pretty, value,
					     properties()->shared_per_block_optin - k->info.shared_static);
		k->max_dynamic = value;
		return cudaSuccess;
	case cudaFuncAttributePreferredSharedMemoryCarveout:
		if (value < -1 || value > 100)
			return guest_local(cudaErrorInvalidValue);
		k->carveout = value;
		return cudaSuccess;
	case cudaFuncAttributeNonPortableClusterSizeAllowed:
	case cudaFuncAttributeClusterSchedulingPolicyPreference:
		return cudaSuccess;
	default:
		return guest_local(cudaErrorInvalidValue);
	}
}

cudaError_t cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache config)
{
	cudaError_t e;
	(void)config;
	guest_kernel(func, &e);
	return e;
}

cudaError_t cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
	cudaError_t e;
	(void)config;
	guest_kernel(func, &e);
	return e;
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
	cudaError_t e;
	const struct kernel *k = guest_kernel(func, &e);
	*name = k ? k->name : NULL;
	return e;
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t index, size_t *offset, size_t *size)
{
	cudaError_t e;
	const struct kernel *k = guest_kernel(func, &e);
	if (!k)
		return e;
	if (index >= k->info.n_params)
		return guest_local(cudaErrorInvalidValue);
	*offset = k->info.params[index].offset;
	if (size)
		*size = k->info.params[index].size;
	return cudaSuccess;
}

/* ---- occupancy ---- */

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *func, int threads,
								   size_t shared, unsigned flags)
{
	cudaError_t e;
	const struct kernel *k = guest_kernel(func, &e);
	(void)flags;
	if (!k)
		return e;
	if (!blocks || threads <= 0)
		return guest_local(cudaErrorInvalidValue);
	*blocks = 0;
	if ((uint32_t)threads > properties()->threads_per_block || shared > max_dynamic(k))
		return cudaSuccess;
	*blocks = (int)ask_occupancy(k, (uint32_t)threads, (uint32_t)shared, &e);
	return e;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *func, int threads, size_t shared)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, threads, shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *func, int blocks, int threads)
{
	cudaError_t e;
	const struct kernel *k = guest_kernel(func, &e);
	if (!k)
		return e;
	if (!shared || blocks <= 0 || threads <= 0)
		return guest_local(cudaErrorInvalidValue);
	/* The largest request with which that many blocks are still resident, by bisection: occupancy falls with it. */
	uint32_t lo = 0, hi = properties()->shared_per_block_optin;
	while (lo < hi && !e) {
		uint32_t mid = lo + (hi - lo + 1) / 2;
		if (ask_occupancy(k, (uint32_t)threads, mid, &e) >= (uint32_t)blocks)
			lo = mid;
		else
			hi = mid - 1;
	}
	*shared = lo;
	return e;
}
