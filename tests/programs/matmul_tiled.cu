// Matrix multiplication through tiles in shared memory, sizes that are no multiple of the tile.
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

enum { TILE = 16 };

__global__ void multiply(const float *a, const float *b, float *c, int m, int n, int k)
{
	__shared__ float ta[TILE][TILE], tb[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;
	for (int t = 0; t < k; t += TILE) {
		int x = t + threadIdx.x, y = t + threadIdx.y;
		ta[threadIdx.y][threadIdx.x] = row < m && x < k ? a[row * k + x] : 0;
		tb[threadIdx.y][threadIdx.x] = y < k && column < n ? b[y * n + column] : 0;
		__syncthreads();
		for (int i = 0; i < TILE; i++)
			sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
		__syncthreads();
	}
	if (row < m && column < n)
		c[row * n + column] = sum;
}

int main()
{
	const int m = 70, n = 50, k = 90;
	static float a[m * k], b[k * n], c[m * n];
	float *da, *db, *dc;
	for (int i = 0; i < m * k; i++)
		a[i] = (float)(i % 7 - 3);
	for (int i = 0; i < k * n; i++)
		b[i] = (float)(i % 5 - 2);
	CUDA(cudaMalloc(&da, sizeof a));
	CUDA(cudaMalloc(&db, sizeof b));
	CUDA(cudaMalloc(&dc, sizeof c));
	CUDA(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
	multiply<<<dim3((n + TILE - 1) / TILE, (m + TILE - 1) / TILE), dim3(TILE, TILE)>>>(da, db, dc, m, n, k);
	CUDA(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			float want = 0;
			for (int l = 0; l < k; l++)
				want += a[i * k + l] * b[l * n + j];
			EXPECT(c[i * n + j], want);
		}
	puts("PASS");
	return 0;
}
