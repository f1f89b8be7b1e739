/* Tensor maps for TMA, and how programs come to the function that makes them without linking libcuda. */
#include "guest.h"

#include <cuda.h>
#include <string.h>

CUresult CUDAAPI cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
					const cuuint64_t *dim, const cuuint64_t *strides, const cuuint32_t *box,
					const cuuint32_t *element_strides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
					CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
	struct wire_tensor_map m = {.kind = WIRE_TENSOR_MAP,
				    .map = {.type = type, .rank = rank, .interleave = interleave, .swizzle = swizzle, .l2_promotion = l2,
					    .oob_fill = fill, .address = (uint64_t)(uintptr_t)address}};
	struct wire_reply r = {0};
	if (!map || rank < 1 || rank > 5 || !dim || (rank > 1 && !strides) || !box || !element_strides)
		return CUDA_ERROR_INVALID_VALUE;
	if (guest_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	memcpy(m.map.dim, dim, rank * sizeof *dim);
	memcpy(m.map.stride, strides ? strides : dim, (rank - 1) * sizeof *strides);
	memcpy(m.map.box, box, rank * sizeof *box);
	memcpy(m.map.element_stride, element_strides, rank * sizeof *element_strides);
	cudaError_t e = guest_ask(&m, sizeof m, NULL, 0, &r, map, sizeof *map, NULL);
	if (e == cudaErrorNotSupported)
		guest_explain(e, "cuTensorMapEncodeTiled: %s has no tensor maps", guest.device.properties.name);
	return e == cudaSuccess ? CUDA_SUCCESS : e == cudaErrorNotSupported ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
}

static cudaError_t entry_point(const char *symbol, void **function, enum cudaDriverEntryPointQueryResult *status)
{
	if (!symbol || !function)
		return guest_local(cudaErrorInvalidValue);
	bool known = !strcmp(symbol, "cuTensorMapEncodeTiled");
	*function = known ? (void *)cuTensorMapEncodeTiled : NULL;
	if (status)
		*status = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
	return known ? cudaSuccess : guest_explain(cudaErrorSymbolNotFound, "cudaGetDriverEntryPoint: of the driver only "
						   "cuTensorMapEncodeTiled is here, not %.60s", symbol);
}

#undef cudaGetDriverEntryPoint
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *status)
{
	(void)flags;
	return entry_point(symbol, function, status);
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"	/* programs use it all the same */
ALSO_PTSZ(cudaGetDriverEntryPoint);
#pragma GCC diagnostic pop

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version, unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *status)
{
	(void)version, (void)flags;
	return entry_point(symbol, function, status);
}
ALSO_PTSZ(cudaGetDriverEntryPointByVersion);
