// wmma in place of mma.sync: the same tensor cores through C++, 16 x 16 x 16, fragments straight from tiles in shared memory.
#include <cstdint>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

constexpr int TILE = 32, BK = 64, PITCH = BK + 16;

__global__ void __launch_bounds__(128)
gemm(const int8_t *x, const int8_t *Wq, const float *x_scale, const int32_t *x_zero, const float *w_scale, const int32_t *w_sum,
     __half *y, int M, int N, int K)
{
	__shared__ __align__(32) signed char xs[TILE][PITCH], ws[TILE][PITCH];
	__shared__ __align__(32) int sums[TILE][TILE + 4];
	const int tid = threadIdx.x, warp = tid / 32, m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE;
	const int wm = warp / 2 * 16, wn = warp % 2 * 16, row = tid / 4, chunk = tid % 4 * 16;

	wmma::fragment<wmma::accumulator, 16, 16, 16, int> c;
	wmma::fill_fragment(c, 0);
	for (int k0 = 0; k0 < K; k0 += BK) {
		const int4 none = make_int4(0, 0, 0, 0);
		const bool inside = k0 + chunk < K;
		*(int4 *)&xs[row][chunk] = inside && m0 + row < M ? *(const int4 *)(x + (size_t)(m0 + row) * K + k0 + chunk) : none;
		*(int4 *)&ws[row][chunk] = inside && n0 + row < N ? *(const int4 *)(Wq + (size_t)(n0 + row) * K + k0 + chunk) : none;
		__syncthreads();
		for (int k = 0; k < BK; k += 16) {
			wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
			wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
			wmma::load_matrix_sync(a, &xs[wm][k], PITCH);
			wmma::load_matrix_sync(b, &ws[wn][k], PITCH);
			wmma::mma_sync(c, a, b, c);
		}
		__syncthreads();
	}
	wmma::store_matrix_sync(&sums[wm][wn], c, TILE + 4, wmma::mem_row_major);
	__syncthreads();
	for (int i = tid; i < TILE * TILE; i += 128) {
		const int m = m0 + i / TILE, n = n0 + i % TILE;
		if (m < M && n < N)
			y[(size_t)m * N + n] = __float2half((float)(sums[i / TILE][i % TILE] - x_zero[m] * w_sum[n]) * x_scale[m] * w_scale[n]);
	}
}

extern "C" void solve(const int8_t *x, const int8_t *Wq, const float *x_scale, const int32_t *x_zero, const float *w_scale,
		      const int32_t *w_sum, __half *y, int M, int N, int K)
{
	gemm<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), 128>>>(x, Wq, x_scale, x_zero, w_scale, w_sum, y, M, N, K);
}
