/* Memory pools: the device keeps none, so a pool is a name with settings, and what is freed is free at once. */
#include "guest.h"

#include <stdlib.h>

enum { POOL_MAGIC = 0x504f4f4c };

struct CUmemPoolHandle_st {
	uint32_t magic;
	int flags[4];			/* the three reuse policies, by their numbers 1 to 3 */
	uint64_t threshold;
};

static struct CUmemPoolHandle_st default_pool = {POOL_MAGIC, {0, 1, 1, 1}, 0}, *current = &default_pool;

static cudaError_t check(cudaMemPool_t p)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	return p && p->magic == POOL_MAGIC ? cudaSuccess : guest_local(cudaErrorInvalidValue);
}

static cudaError_t give(cudaMemPool_t *out, cudaMemPool_t pool, int device)
{
	cudaError_t e = guest_ready();
	if (e)
		return e;
	if (device)
		return guest_local(cudaErrorInvalidDevice);
	if (!out)
		return guest_local(cudaErrorInvalidValue);
	*out = pool;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *out, int device)
{
	return give(out, &default_pool, device);
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *out, int device)
{
	return give(out, current, device);
}

cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool)
{
	cudaError_t e = check(pool);
	if (!e && device)
		e = guest_local(cudaErrorInvalidDevice);
	if (!e)
		current = pool;
	return e;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *props)
{
	if (!props || props->location.type != cudaMemLocationTypeDevice)
		return guest_local(cudaErrorInvalidValue);
	struct CUmemPoolHandle_st *p = guest_alloc(sizeof *p);
	*p = default_pool;
	p->threshold = 0;
	cudaError_t e = give(out, p, props->location.id);
	if (e)
		free(p);
	return e;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t p)
{
	cudaError_t e = check(p);
	if (e)
		return e;
	if (p == &default_pool)
		return guest_local(cudaErrorInvalidValue);
	if (current == p)
		current = &default_pool;
	p->magic = 0;
	free(p);
	return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t p, enum cudaMemPoolAttr a, void *value)
{
	cudaError_t e = check(p);
	if (e)
		return e;
	if (a == cudaMemPoolAttrReleaseThreshold)
		p->threshold = *(uint64_t *)value;
	else if (a >= cudaMemPoolReuseFollowEventDependencies && a <= cudaMemPoolReuseAllowInternalDependencies)
		p->flags[a] = *(int *)value;
	else
		return guest_local(cudaErrorInvalidValue);
	return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t p, enum cudaMemPoolAttr a, void *value)
{
	cudaError_t e = check(p);
	if (e)
		return e;
	if (a == cudaMemPoolAttrReleaseThreshold)
		*(uint64_t *)value = p->threshold;
	else if (a >= cudaMemPoolReuseFollowEventDependencies && a <= cudaMemPoolReuseAllowInternalDependencies)
		*(int *)value = p->flags[a];
	else
		return guest_local(cudaErrorNotSupported);
	return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t p, size_t keep)
{
	(void)keep;
	return check(p);
}

cudaError_t cudaMallocFromPoolAsync(void **out, size_t size, cudaMemPool_t p, cudaStream_t stream)
{
	cudaError_t e = check(p);
	return e ? e : cudaMallocAsync(out, size, stream);
}
ALSO_PTSZ(cudaMallocFromPoolAsync);
