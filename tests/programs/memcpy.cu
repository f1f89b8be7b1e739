// Copies in all directions and forms, pitched and boxed ones too, and what bad ones answer.
// stdout: PASS
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

__global__ void double_all(int *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i] *= 2;
}

static void plain()
{
	const int n = 100000;		/* more than one piece of the transport */
	static int h[n], g[n];
	int *a, *b;
	for (int i = 0; i < n; i++)
		h[i] = i;
	CUDA(cudaMalloc(&a, sizeof h));
	CUDA(cudaMalloc(&b, sizeof h));
	CUDA(cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice));
	double_all<<<(n + 255) / 256, 256>>>(a, n);
	CUDA(cudaMemcpy(b, a, sizeof h, cudaMemcpyDeviceToDevice));
	CUDA(cudaMemcpy(g, b, sizeof h, cudaMemcpyDefault));
	for (int i = 0; i < n; i++)
		EXPECT(g[i], 2 * i);
	CUDA(cudaMemset(b, 0x11, 40));
	CUDA(cudaMemcpy(g, b + 9, 8, cudaMemcpyDeviceToHost));
	EXPECT(g[0], 0x11111111);
	EXPECT(g[1], 20);
	CUDA(cudaMemcpy(h, g, 8, cudaMemcpyHostToHost));
	EXPECT(h[1], 20);
	CUDA(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpyAsync(g, b + 100, 4, cudaMemcpyDeviceToHost, 0));
	CUDA(cudaStreamSynchronize(0));
	EXPECT(g[0], 200);
	EXPECT(cudaMemcpy(h, g, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
	EXPECT(cudaMemcpy(a, h, 8, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
	EXPECT(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
	EXPECT(cudaGetLastError(), cudaSuccess);
	CUDA(cudaFree(a));
	CUDA(cudaFree(b));
	CUDA(cudaFree(nullptr));
}

static void pitched()
{
	const int width = 50, height = 20;
	int h[height][width], g[height][10];
	char *d;
	size_t pitch;
	for (int i = 0; i < height; i++)
		for (int j = 0; j < width; j++)
			h[i][j] = 100 * i + j;
	CUDA(cudaMallocPitch(&d, &pitch, sizeof h[0], height));
	EXPECT(pitch % 512, 0);
	EXPECT(pitch >= sizeof h[0], true);
	CUDA(cudaMemcpy2D(d, pitch, h, sizeof h[0], sizeof h[0], height, cudaMemcpyHostToDevice));
	CUDA(cudaMemset2D(d + pitch, pitch, 0, 8, 2));
	CUDA(cudaMemcpy2D(g, sizeof g[0], d, pitch, sizeof g[0], height, cudaMemcpyDeviceToHost));
	EXPECT(g[0][9], 9);
	EXPECT(g[1][1], 0);
	EXPECT(g[2][0], 0);
	EXPECT(g[2][2], 202);
	EXPECT(g[3][0], 300);
	EXPECT(g[19][9], 1909);
	EXPECT(cudaMemcpy2D(g, 4, d, pitch, sizeof g[0], height, cudaMemcpyDeviceToHost), cudaErrorInvalidPitchValue);
	CUDA(cudaFree(d));
}

static void boxed()
{
	const int x = 8, y = 4, z = 3;
	int h[z][y][x], g[z][y][x] = {};
	cudaPitchedPtr d;
	cudaExtent extent = make_cudaExtent(x * sizeof(int), y, z);
	for (int i = 0; i < x * y * z; i++)
		(&h[0][0][0])[i] = i;
	CUDA(cudaMalloc3D(&d, extent));
	cudaMemcpy3DParms p = {};
	p.srcPtr = make_cudaPitchedPtr(h, x * sizeof(int), x, y);
	p.dstPtr = d;
	p.extent = extent;
	p.kind = cudaMemcpyHostToDevice;
	CUDA(cudaMemcpy3D(&p));
	p.srcPtr = d;
	p.dstPtr = make_cudaPitchedPtr(g, x * sizeof(int), x, y);
	p.kind = cudaMemcpyDeviceToHost;
	CUDA(cudaMemcpy3D(&p));
	for (int i = 0; i < x * y * z; i++)
		EXPECT((&g[0][0][0])[i], i);
	CUDA(cudaFree(d.ptr));
}

int main()
{
	plain();
	pitched();
	boxed();
	puts("PASS");
	return 0;
}
