/* Launches that cannot be. */
#include "guest.h"

static cudaError_t shaped(dim3 grid, dim3 block, size_t shared)
{
	return cudaLaunchKernel(&hang, grid, block, 0, shared, 0);
}

void solve(float *a, float *b, float *c, int n, float scale)
{
	dim3 one = {1, 1, 1}, none = {0, 1, 1}, wide = {1025, 1, 1}, deep = {1, 1, 65}, much = {64, 32, 1}, tall = {1, 65536, 1};
	EXPECT(shaped(none, one, 0), cudaErrorInvalidValue);
	EXPECT(cudaGetLastError(), cudaErrorInvalidValue);
	EXPECT(cudaGetLastError(), cudaSuccess);
	EXPECT(shaped(one, wide, 0), cudaErrorInvalidValue);
	EXPECT(shaped(one, deep, 0), cudaErrorInvalidValue);
	EXPECT(shaped(one, much, 0), cudaErrorInvalidValue);
	EXPECT(shaped(tall, one, 0), cudaErrorInvalidValue);
	EXPECT(cudaFuncSetAttribute(&hang, cudaFuncAttributeMaxDynamicSharedMemorySize, 232449), cudaErrorInvalidValue);
	EXPECT(cudaLaunchCooperativeKernel(&hang, (dim3){999, 1, 1}, (dim3){1024, 1, 1}, 0, 0, 0), cudaErrorCooperativeLaunchTooLarge);
	EXPECT(launch(variable, 0), cudaErrorInvalidResourceHandle);
	EXPECT(shaped(one, one, 49153), cudaErrorInvalidValue);
}
