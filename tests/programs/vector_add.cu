// Vector addition, with a size that is no multiple of the block.
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

__global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		c[i] = a[i] + b[i];
}

int main()
{
	const int n = 50001;
	size_t size = n * sizeof(float);
	float *a = (float *)malloc(size), *b = (float *)malloc(size), *c = (float *)malloc(size), *da, *db, *dc;
	for (int i = 0; i < n; i++) {
		a[i] = i * 0.5f;
		b[i] = i * 0.25f;
	}
	CUDA(cudaMalloc(&da, size));
	CUDA(cudaMalloc(&db, size));
	CUDA(cudaMalloc(&dc, size));
	CUDA(cudaMemcpy(da, a, size, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(db, b, size, cudaMemcpyHostToDevice));
	add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
	CUDA(cudaGetLastError());
	CUDA(cudaMemcpy(c, dc, size, cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		EXPECT(c[i] * 4, i * 3);
	CUDA(cudaFree(da));
	CUDA(cudaFree(db));
	CUDA(cudaFree(dc));
	puts("PASS");
	return 0;
}
