// A tensor-core GEMM: half inputs, float accumulators, 16x16x16 fragments, one warp a tile.
// stdout: PASS
#include <cuda_fp16.h>
#include <mma.h>
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

using namespace nvcuda;

// c = alpha * a * b + beta * c; a row-major, b column-major
__global__ void gemm(const half *a, const half *b, float *c, int m, int n, int k, float alpha, float beta)
{
	int row = 16 * (blockIdx.y * blockDim.y + threadIdx.y), column = 16 * (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
	if (row >= m || column >= n)
		return;
	wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc, old;
	wmma::fill_fragment(acc, 0.0f);
	for (int i = 0; i < k; i += 16) {
		wmma::load_matrix_sync(fa, a + row * k + i, k);
		wmma::load_matrix_sync(fb, b + column * k + i, k);
		wmma::mma_sync(acc, fa, fb, acc);
	}
	wmma::load_matrix_sync(old, c + row * n + column, n, wmma::mem_row_major);
	for (int i = 0; i < acc.num_elements; i++)
		acc.x[i] = alpha * acc.x[i] + beta * old.x[i];
	wmma::store_matrix_sync(c + row * n + column, acc, n, wmma::mem_row_major);
}

int main()
{
	const int m = 64, n = 96, k = 80;
	static half a[m * k], b[n * k];
	static float c[m * n], start[m * n];
	half *da, *db;
	float *dc;
	for (int i = 0; i < m * k; i++)
		a[i] = __float2half((float)(i % 9 - 4) * 0.5f);
	for (int i = 0; i < n * k; i++)
		b[i] = __float2half((float)(i % 11 - 5));
	for (int i = 0; i < m * n; i++)
		start[i] = (float)(i % 17);
	CUDA(cudaMalloc(&da, sizeof a));
	CUDA(cudaMalloc(&db, sizeof b));
	CUDA(cudaMalloc(&dc, sizeof c));
	CUDA(cudaMemcpy(da, a, sizeof a, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(db, b, sizeof b, cudaMemcpyHostToDevice));
	CUDA(cudaMemcpy(dc, start, sizeof c, cudaMemcpyHostToDevice));
	gemm<<<dim3((n + 63) / 64, (m + 31) / 32), dim3(128, 2)>>>(da, db, dc, m, n, k, 2.0f, 3.0f);
	CUDA(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			float want = 0;
			for (int l = 0; l < k; l++)
				want += __half2float(a[i * k + l]) * __half2float(b[j * k + l]);
			EXPECT(c[i * n + j], 2 * want + 3 * start[i * n + j]);
		}
	puts("PASS");
	return 0;
}
