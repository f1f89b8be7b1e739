/* A fault of a kernel is told by what waits, and from then on by everything. */
#include "guest.h"

void solve(float *a, float *b, float *c, int n, float scale)
{
	void *args[] = {&a}, *p;
	int device;
	EXPECT(launch(&wild, args), cudaSuccess);
	EXPECT(cudaGetLastError(), cudaSuccess);
	EXPECT(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	EXPECT(cudaGetLastError(), cudaErrorIllegalAddress);
	EXPECT(cudaGetLastError(), cudaSuccess);
	EXPECT(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
	EXPECT(launch(&wild, args), cudaErrorIllegalAddress);
	EXPECT(cudaMemcpy(b, a, 4, cudaMemcpyDeviceToDevice), cudaErrorIllegalAddress);
	EXPECT(cudaGetDevice(&device), cudaSuccess);
}
