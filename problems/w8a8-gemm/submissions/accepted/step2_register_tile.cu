// Step 2: sixteen outputs a thread.
//
// Against step 1: a block has 64 x 64 outputs, a thread 4 x 4 of them, and reads 16 bytes of a row at a time: for 64 __dp4a
// there are eight 128-bit reads from shared memory, where step 1 had 128 reads of a word. Rows of a tile lie 80 bytes
// apart: eight rows, read by the eight lanes of a quarter warp, start in different groups of four banks.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int TILE = 64, SIDE = 16, EACH = TILE / SIDE, CHUNKS = 4, PITCH = CHUNKS + 1;	// chunks of 16 k in a tile

__device__ __forceinline__ int dot16(int4 a, int4 b, int sum)
{
	return __dp4a(a.w, b.w, __dp4a(a.z, b.z, __dp4a(a.y, b.y, __dp4a(a.x, b.x, sum))));
}

__global__ void __launch_bounds__(SIDE *SIDE)
gemm(const int4 *__restrict__ x, const int4 *__restrict__ Wq, const float *__restrict__ x_scale,
     const int32_t *__restrict__ x_zero, const float *__restrict__ w_scale, const int32_t *__restrict__ w_sum,
     __half *__restrict__ y, int M, int N, int K)
{
	__shared__ int4 xs[TILE][PITCH], ws[TILE][PITCH];
	const int tid = threadIdx.x, tx = tid % SIDE, ty = tid / SIDE, pitch = K / 16;
	const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE, row = tid / CHUNKS, chunk = tid % CHUNKS;

	int sum[EACH][EACH] = {};
	for (int k = 0; k < pitch; k += CHUNKS) {
		const int4 none = make_int4(0, 0, 0, 0);
		xs[row][chunk] = m0 + row < M && k + chunk < pitch ? x[(size_t)(m0 + row) * pitch + k + chunk] : none;
		ws[row][chunk] = n0 + row < N && k + chunk < pitch ? Wq[(size_t)(n0 + row) * pitch + k + chunk] : none;
		__syncthreads();
#pragma unroll
		for (int c = 0; c < CHUNKS; c++) {
			int4 a[EACH];
#pragma unroll
			for (int i = 0; i < EACH; i++)
				a[i] = xs[ty + i * SIDE][c];
#pragma unroll
			for (int j = 0; j < EACH; j++) {
				const int4 b = ws[tx + j * SIDE][c];
#pragma unroll
				for (int i = 0; i < EACH; i++)
					sum[i][j] = dot16(a[i], b, sum[i][j]);
			}
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < EACH; i++)
#pragma unroll
		for (int j = 0; j < EACH; j++) {
			const int m = m0 + ty + i * SIDE, n = n0 + tx + j * SIDE;
			if (m < M && n < N)
				y[(size_t)m * N + n] = __float2half((float)(sum[i][j] - x_zero[m] * w_sum[n]) * x_scale[m] * w_scale[n]);
		}
}

extern "C" void solve(const int8_t *x, const int8_t *Wq, const float *x_scale, const int32_t *x_zero, const float *w_scale,
		      const int32_t *w_sum, __half *y, int M, int N, int K)
{
	gemm<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), SIDE * SIDE>>>(
		reinterpret_cast<const int4 *>(x), reinterpret_cast<const int4 *>(Wq), x_scale, x_zero, w_scale, w_sum, y, M, N, K);
}
