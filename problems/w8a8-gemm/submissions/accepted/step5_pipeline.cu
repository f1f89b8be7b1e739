// Step 5: a pipeline of cp.async, and a swizzle in place of padding.
//
// Against step 4: four stages in shared memory. While one is multiplied, the next three are on their way, and no register holds
// them: latency is paid once and not in every step. One barrier a step is enough: it says that this stage has come for all, and
// that the one before, whose place is filled next, has been used by all.
//
// A row of a stage is 128 bytes, all 32 banks, so eight rows of a column of 16-byte chunks would meet in four banks. Chunk c
// of row r is put at c ^ (r % 8): eight rows then have it in eight places, and so have the eight chunks of one row,
// without a byte of padding. Chunks past K or past the last row are filled with zeros by cp.async itself.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int TILE = 64, BK = 128, STAGES = 4, WARPS = 4, STAGE = TILE * BK;

__device__ __forceinline__ uint32_t place(int row, int chunk)	// in a stage
{
	return row * BK + (chunk ^ row % 8) * 16;
}

__device__ __forceinline__ void copy16(uint32_t to, const void *from, bool valid)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
}

__device__ __forceinline__ void load_fragments(uint32_t f[4], uint32_t address)
{
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
	extern __shared__ __align__(128) int8_t stages[];	// [STAGES]: x, then W
	const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, g = lane / 4, t = lane % 4;
	const int m0 = blockIdx.y * TILE, n0 = blockIdx.x * TILE, wm = warp / 2 * 32, wn = warp % 2 * 32, steps = (K + BK - 1) / BK;
	const uint32_t base = (uint32_t)__cvta_generic_to_shared(stages);

	// A thread copies the same chunk of every sixteenth row, so its place in the swizzle is the same too.
	const int row = tid / (BK / 16), chunk = tid % (BK / 16);
	constexpr int PASSES = TILE * (BK / 16) / (32 * WARPS), ROWS = TILE / PASSES;
	const int8_t *a = x + (size_t)(m0 + row) * K + chunk * 16, *b = Wq + (size_t)(n0 + row) * K + chunk * 16;
	auto fetch = [&](int step) {
		const uint32_t to = base + step % STAGES * (2 * STAGE) + place(row, chunk);
		const bool inside = step * BK + chunk * 16 < K;
#pragma unroll
		for (int i = 0; i < PASSES; i++) {
			const bool in_x = inside && m0 + row + i * ROWS < M, in_w = inside && n0 + row + i * ROWS < N;
			copy16(to + i * ROWS * BK, in_x ? a + (size_t)(i * ROWS) * K + step * BK : x, in_x);
			copy16(to + STAGE + i * ROWS * BK, in_w ? b + (size_t)(i * ROWS) * K + step * BK : Wq, in_w);
		}
	};
	auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

	for (int step = 0; step < STAGES - 1; step++) {
		if (step < steps)
			fetch(step);
		commit();
	}

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
	for (int step = 0; step < steps; step++) {
		asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
		__syncthreads();
		if (step + STAGES - 1 < steps)
			fetch(step + STAGES - 1);
		commit();
		const uint32_t stage = base + step % STAGES * (2 * STAGE);
#pragma unroll
		for (int k = 0; k < BK / 16; k += 2) {
			uint32_t fa[2][4], fb[2][4];
#pragma unroll
			for (int i = 0; i < 2; i++) {
				load_fragments(fa[i], stage + place(wm + 16 * i + lane % 16, k + lane / 16));
				load_fragments(fb[i], stage + STAGE + place(wn + 16 * i + lane / 16 * 8 + lane % 8, k + lane / 8 % 2));
			}
#pragma unroll
			for (int i = 0; i < 2; i++)
#pragma unroll
				for (int j = 0; j < 4; j++)
					multiply(sum[i][j], fa[i], fb[j / 2][j % 2 * 2], fb[j / 2][j % 2 * 2 + 1]);
		}
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
	constexpr int SHARED = STAGES * 2 * STAGE;
	cudaFuncSetAttribute(gemm, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
	gemm<<<dim3((N + TILE - 1) / TILE, (M + TILE - 1) / TILE), 32 * WARPS, SHARED>>>(x, Wq, x_scale, x_zero, w_scale, w_sum, y,
										       M, N, K);
}
