/* Copies and fills in every direction, and the answers to wrong ones. */
#include "guest.h"

enum { N = 50000 };
static float h[N], g[N];

void solve(float *a, float *b, float *c, int n, float scale)
{
	float *d, m[3][2], *nowhere = (float *)16;
	size_t size = sizeof h;
	EXPECT(cudaMalloc((void **)&d, size), cudaSuccess);
	EXPECT(cudaMemcpy(h, a, size, cudaMemcpyDeviceToHost), cudaSuccess);
	EXPECT(h[N - 1], N - 1);
	EXPECT(cudaMemcpy(d, h, size, cudaMemcpyHostToDevice), cudaSuccess);
	EXPECT(cudaMemcpy(g, d, size, cudaMemcpyDefault), cudaSuccess);
	EXPECT(memcmp(g, h, size), 0);
	EXPECT(cudaMemcpy(c, d, size, cudaMemcpyDeviceToDevice), cudaSuccess);
	EXPECT(cudaMemcpy2D(m, 8, a, 400, 8, 3, cudaMemcpyDeviceToHost), cudaSuccess);
	EXPECT(m[2][1], 201);
	EXPECT(cudaMemset2D(d, 400, 0xff, 4, 10), cudaSuccess);
	EXPECT(cudaMemcpy(g, d, size, cudaMemcpyDeviceToHost), cudaSuccess);
	EXPECT(g[100] != g[100], 1);		/* not a number */
	EXPECT(g[101], 101);

	EXPECT(cudaMemcpy(h, g, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(d, h, size + 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(nowhere, a, size, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(d, nowhere, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(h, a, 4, cudaMemcpyDeviceToHost), cudaSuccess);	/* the connection is in step still */
	EXPECT(cudaFree(d), cudaSuccess);
	EXPECT(cudaFree(d), cudaErrorInvalidValue);
}
