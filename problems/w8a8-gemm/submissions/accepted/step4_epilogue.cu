// Step 4: an epilogue that waits for nothing.
//
// Against step 3: zero points, sums of weights and scales of a thread's four rows and eight columns are loaded before the loop over
// k, from clamped indices, so without a branch. There, each of 32 outputs had four loads of its own, behind its own check of
// bounds: a queue of waits for memory. What is left after the loop is arithmetic. (How much that wins: steps.en.md; the model says half
// of the time, an H200 7%.)
#include <cstdint>
#include <cuda_fp16.h>

constexpr int TILE = 64, BK = 64, PITCH = BK + 16, WARPS = 4;

__device__ __forceinline__ void load_fragments(uint32_t f[4], const int8_t *at)
{
	const uint32_t address = (uint32_t)__cvta_generic_to_shared(at);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(address) : "memory");
}

__device__ __forceinline__ void multiply(int c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
		     "{%0, %1, %2, %3};"
		     : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(32 * WARPS)
gemm(const int8_t *__restrict__ x, const int8_t *__restrict__ Wq, const float *__restrict__ x_scale,
     const int32_t *__restrict__ x_zero, const float *__restrict__ w_scale, const int32_t *__restrict__ w_sum,
     __half *__restrict__ y, int M, int N, int K)
{
	__shared__ __align__(16) int8_t xs[TILE][PITCH], ws[TILE][PITCH];
	const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, g = lane / 4, t = lane % 4;
	const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE, wm = warp / 2 * 32, wn = warp % 2 * 32;

	float sx[2][2], sw[4][2];			// of this thread's rows and columns: on their way during the loop
	int zero[2][2], weights[4][2];
#pragma unroll
	for (int i = 0; i < 4; i++) {
		const int m = min(m0 + wm + 8 * i + g, M - 1);
		sx[i / 2][i % 2] = x_scale[m];
		zero[i / 2][i % 2] = x_zero[m];
	}
#pragma unroll
	for (int j = 0; j < 8; j++) {
		const int n = min(n0 + wn + j / 2 * 8 + 2 * t + j % 2, N - 1);
		sw[j / 2][j % 2] = w_scale[n];
		weights[j / 2][j % 2] = w_sum[n];
	}

	int sum[2][4][4] = {};
	for (int k0 = 0; k0 < K; k0 += BK) {
		for (int i = tid; i < TILE * (BK / 16); i += 32 * WARPS) {
			const int row = i / (BK / 16), k = i % (BK / 16) * 16;
			int4 a = make_int4(0, 0, 0, 0), b = a;
			if (m0 + row < M && k0 + k < K)
				a = *reinterpret_cast<const int4 *>(x + (size_t)(m0 + row) * K + k0 + k);
			if (n0 + row < N && k0 + k < K)
				b = *reinterpret_cast<const int4 *>(Wq + (size_t)(n0 + row) * K + k0 + k);
			*reinterpret_cast<int4 *>(&xs[row][k]) = a;
			*reinterpret_cast<int4 *>(&ws[row][k]) = b;
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < BK; k += 32) {
			uint32_t a[2][4], b[2][4];
#pragma unroll
			for (int i = 0; i < 2; i++) {	// A: 16 rows, two halves of k; B: two tiles of 8 columns, two halves of k each
				load_fragments(a[i], &xs[wm + 16 * i + lane % 16][k + lane / 16 * 16]);
				load_fragments(b[i], &ws[wn + 16 * i + lane / 16 * 8 + lane % 8][k + lane / 8 % 2 * 16]);
			}
#pragma unroll
			for (int i = 0; i < 2; i++)
#pragma unroll
				for (int j = 0; j < 4; j++)
					multiply(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < 2; i++)
#pragma unroll
		for (int j = 0; j < 4; j++)
#pragma unroll
			for (int c = 0; c < 4; c++) {
				const int m = m0 + wm + 16 * i + g + c / 2 * 8, n = n0 + wn + 8 * j + 2 * t + c % 2;
				if (m < M && n < N)
					y[(size_t)m * N + n] = __float2half((float)(sum[i][j][c] - zero[i][c / 2] * weights[j][c % 2]) * sx[i][c / 2] *
								    sw[j][c % 2]);
			}
}

extern "C" void solve(const int8_t *x, const int8_t *Wq, const float *x_scale, const int32_t *x_zero, const float *w_scale,
		      const int32_t *w_sum, __half *y, int M, int N, int K)
{
	gemm<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), 32 * WARPS>>>(x, Wq, x_scale, x_zero, w_scale, w_sum, y, M, N, K);
}
