/* Managed and mapped host memory, variables by name. */
#include "guest.h"

enum { N = 100000 };

void solve(float *a, float *b, float *c, int n, float scale)
{
	int *m, *h, *on_device, all = N, three = 3, five[16] = {5};
	void *whole[] = {&m, &all}, *mapped[] = {&on_device, &three};
	EXPECT(cudaMallocManaged((void **)&m, N * sizeof *m, cudaMemAttachGlobal), cudaSuccess);
	for (int i = 0; i < N; i++)
		m[i] = i;
	launch(&increment, whole);
	launch(&increment, whole);
	EXPECT(cudaDeviceSynchronize(), cudaSuccess);
	EXPECT(m[N - 1], N + 1);
	m[0] = 7;
	launch(&increment, whole);
	m[1] = 70;				/* while the kernel may run: the host's write stays */
	EXPECT(cudaDeviceSynchronize(), cudaSuccess);
	EXPECT(m[0], 8);
	EXPECT(m[1], 70);
	EXPECT(m[2], 5);
	EXPECT(cudaMemset(m, 0, 8), cudaSuccess);
	EXPECT(m[1], 0);
	EXPECT(cudaFree(m), cudaSuccess);

	EXPECT(cudaHostAlloc((void **)&h, 64, cudaHostAllocMapped), cudaSuccess);
	memset(h, 0, 64);
	EXPECT(cudaHostGetDevicePointer((void **)&on_device, h, 0), cudaSuccess);
	launch(&increment, mapped);
	EXPECT(cudaDeviceSynchronize(), cudaSuccess);
	EXPECT(h[2], 1);
	EXPECT(h[3], 0);
	EXPECT(cudaFreeHost(h), cudaSuccess);

	EXPECT(cudaMemcpyToSymbol(variable, five, 64, 0, cudaMemcpyHostToDevice), cudaSuccess);
	EXPECT(cudaMemcpyFromSymbol(&three, variable, 4, 0, cudaMemcpyDeviceToHost), cudaSuccess);
	EXPECT(three, 5);
	EXPECT(cudaMemcpyToSymbol(variable, five, 64, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpyToSymbol(&n, five, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidSymbol);
}
