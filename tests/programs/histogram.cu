// Histogram: atomics on shared memory, then on global memory; also compare-and-swap and minimum.
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

__global__ void histogram(const unsigned char *data, int n, unsigned *bins)
{
	__shared__ unsigned local[256];
	local[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&local[data[i]], 1);
	__syncthreads();
	atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void extremes(const unsigned char *data, int n, int *out)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		atomicMin(&out[0], data[i]);
		atomicMax(&out[1], data[i]);
	}
	int old = 0, seen;		/* an addition, the slow way */
	do {
		seen = old;
		old = atomicCAS(&out[2 + threadIdx.x % 2], seen, seen + 3);
	} while (old != seen);
}

int main()
{
	const int n = 40000;
	unsigned char *data = (unsigned char *)malloc(n), *d;
	unsigned bins[256], want[256] = {0}, *db;
	int four[4] = {1000, -1, 0, 0}, *df;
	for (int i = 0; i < n; i++)
		want[data[i] = (unsigned char)(3 + i * 7919ll % 211)]++;
	CUDA(cudaMalloc(&d, n));
	CUDA(cudaMalloc(&db, sizeof bins));
	CUDA(cudaMalloc(&df, sizeof four));
	CUDA(cudaMemcpy(d, data, n, cudaMemcpyHostToDevice));
	CUDA(cudaMemset(db, 0, sizeof bins));
	CUDA(cudaMemcpy(df, four, sizeof four, cudaMemcpyHostToDevice));
	histogram<<<6, 256>>>(d, n, db);
	CUDA(cudaMemcpy(bins, db, sizeof bins, cudaMemcpyDeviceToHost));
	for (int i = 0; i < 256; i++)
		EXPECT(bins[i], want[i]);
	extremes<<<1, 64>>>(d, n, df);
	CUDA(cudaMemcpy(four, df, sizeof four, cudaMemcpyDeviceToHost));
	EXPECT(four[0], 3);
	EXPECT(four[1], 213);
	EXPECT(four[2], 96);
	EXPECT(four[3], 96);
	puts("PASS");
	return 0;
}
