// Step 3: tensor cores. mma.sync m16n8k16 with a pipeline of cp.async; 16 tokens are the 16 rows of an mma.
//
// Against step 2: the product costs no instructions worth counting any more. Packed words stay packed in shared memory, half a byte
// a weight, and become B fragments in registers: a lane needs k = 2t, 2t+1 and 2t+8, 2t+9 of column g, which are byte t of two
// neighbouring words. Two codes by one lop3 (1024 + q), a subtraction (exact), a multiplication. x comes by ldmatrix. While a tile is
// multiplied the next five are under way. A tile is a group of 128 k, so each step has one scale and one zero point a column.
//
// A warp has 8 columns, a block 32, so a matrix of 4096 columns makes 128 blocks of only 4 warps: each step waits at a barrier for the
// slowest of them, and nobody else has work meanwhile. With one token fifteen of sixteen rows of the mma are zeros, and x's tile too.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int BM = 16, BK = 128, STAGES = 6, WARPS = 4, BN = 8 * WARPS, PITCH = BK + 8, WORDS = BK / 8;

__device__ __forceinline__ void copy16(void *to, const void *from, bool valid)
{
	const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(valid ? 16 : 0) : "memory");
}

__device__ __forceinline__ void load_a(uint32_t a[4], const __half *at)
{
	const uint32_t address = (uint32_t)__cvta_generic_to_shared(at);
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(address) : "memory");
}

__device__ __forceinline__ void multiply(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
		     "{%0, %1, %2, %3};"
		     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// The two codes of a byte as weights: 1024 + q by the exponent 0x64, minus 1024 + z (exact), times s (rounded once).
__device__ __forceinline__ uint32_t weights(uint32_t byte, __half2 biased_zero, __half2 scale)
{
	const uint32_t bits = ((byte | byte << 12) & 0x000f000f) | 0x64006400;
	const __half2 w = __hmul2(__hsub2(*reinterpret_cast<const __half2 *>(&bits), biased_zero), scale);
	return *reinterpret_cast<const uint32_t *>(&w);
}

__global__ void __launch_bounds__(32 * WARPS)
fused(const __half *__restrict__ x, const uint32_t *__restrict__ Wq, const __half *__restrict__ scales, const __half *__restrict__ zeros,
      const __half *__restrict__ bias, const __half *__restrict__ residual, __half *__restrict__ y, int M, int N, int K)
{
	__shared__ __align__(16) __half xs[STAGES][BM][PITCH];
	__shared__ __align__(16) uint32_t ws[STAGES][BN][WORDS];
	const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32, g = lane / 4, t = lane % 4;
	const int n0 = blockIdx.x * BN, tiles = K / BK;

	auto fetch = [&](int tile) {		// zeros past the last token and the last column
		const int stage = tile % STAGES;
		for (int i = tid; i < BM * (BK / 8); i += 32 * WARPS) {
			const int m = i / (BK / 8), k = i % (BK / 8) * 8;
			copy16(&xs[stage][m][k], m < M ? x + (size_t)m * K + tile * BK + k : x, m < M);
		}
		for (int i = tid; i < BN * (WORDS / 4); i += 32 * WARPS) {
			const int n = i / (WORDS / 4), c = i % (WORDS / 4) * 4;
			const bool valid = n0 + n < N;
			copy16(&ws[stage][n][c], valid ? Wq + (size_t)(n0 + n) * (K / 8) + tile * WORDS + c : Wq, valid);
		}
	};
	auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

	float sum[2][4] = {};			// by turns: an mma need not wait for the one before
	const size_t params = (size_t)min(n0 + 8 * warp + g, N - 1) * tiles;
	__half next_scale = scales[params], next_zero = zeros[params];
	for (int tile = 0; tile < STAGES - 1; tile++) {
		if (tile < tiles)
			fetch(tile);
		commit();
	}
	for (int tile = 0; tile < tiles; tile++) {
		asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
		__syncthreads();		// tile has come, and tile - 1, whose stage is filled next, has been used
		if (tile + STAGES - 1 < tiles)
			fetch(tile + STAGES - 1);
		commit();

		const int stage = tile % STAGES, column = 8 * warp + g;
		const __half2 scale = __half2half2(next_scale), biased_zero = __half2half2(__hadd(next_zero, __float2half(1024.0f)));
		if (tile + 1 < tiles) {		// a step ahead
			next_scale = scales[params + tile + 1];
			next_zero = zeros[params + tile + 1];
		}
#pragma unroll
		for (int step = 0; step < BK / 16; step++) {
			uint32_t a[4];
			load_a(a, &xs[stage][lane % 16][16 * step + lane / 16 * 8]);
			const uint2 words = *reinterpret_cast<const uint2 *>(&ws[stage][column][2 * step]);
			multiply(sum[step % 2], a, weights(words.x >> 8 * t & 255, biased_zero, scale), weights(words.y >> 8 * t & 255, biased_zero, scale));
		}
	}

#pragma unroll
	for (int i = 0; i < 4; i++) {		// the epilogue: in FP32, rounded once
		const int m = g + i / 2 * 8, n = n0 + 8 * warp + 2 * t + i % 2;
		if (m < M && n < N)
			y[(size_t)m * N + n] = __float2half(sum[0][i] + sum[1][i] + __half2float(bias[n]) + __half2float(residual[(size_t)m * N + n]));
	}
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, void *workspace, int M, int N, int K)
{
	fused<<<(N + BN - 1) / BN, 32 * WARPS>>>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
}
