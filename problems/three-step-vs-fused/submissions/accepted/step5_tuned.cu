// Step 5: five instructions for eight weights, scales by the block, the next group under way.
//
// Against step 4:
// - A masked nibble, read as an FP16 number, is subnormal: q 2^-24 under 0x000f000f, 16 q 2^-24 under 0x00f000f0. Tensor cores take
//   those exactly, so a mask is all that a weight needs. The two kinds have sums of their own, which one fma puts together at the end
//   of a group.
// - The zero point leaves the sum: s (sum(q x) - z sum(x)). The sum of x over the group, for each token, is what an mma with ones for
//   weights gives, in the very lanes that need it. Scale and zero point then cost three FP32 operations a sum and group.
// - A block has 32 columns and sixteen warps, so that x, which every block reads whole, passes from L2 to the SMs half as often.
// - Scales and zero points of the block's columns are brought to shared memory at the start, whole sectors at a time.
// - What the warp needs for its next group, codes and tokens, is on its way while this one is multiplied. Two sets of registers take
//   turns, so nothing is copied. With 4096 k a warp has two groups, and all of a block's weights are asked for before the first is used.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int GROUP = 128;

__device__ __forceinline__ void multiply(float c[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// A block: 16 CT columns, up to 8 NT tokens; its warps take the groups by turns.
template <int NT, int CT, int WARPS>
struct shape {
	static constexpr int COLUMNS = 16 * CT, SUMS = 4 * NT * CT, MEET = WARPS * SUMS * 33 * 4;
	static int shared(int groups) { const int params = COLUMNS * (groups | 1) * 8; return params > MEET ? params : MEET; }
};

template <int NT, int CT, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
fused(const __half *__restrict__ x, const uint32_t *__restrict__ Wq, const __half *__restrict__ scales, const __half *__restrict__ zeros,
      const __half *__restrict__ bias, const __half *__restrict__ residual, __half *__restrict__ y, int M, int N, int K)
{
	using S = shape<NT, CT, WARPS>;
	extern __shared__ __align__(16) uint8_t shared[];
	float2 *params = reinterpret_cast<float2 *>(shared);	// [column][pitch]: 2^20 s, and -s z
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, n0 = blockIdx.x * S::COLUMNS;
	const int groups = K / GROUP, pitch = groups | 1;	// odd: neighbouring columns lie in other banks

	// Past the last column or token: the last again, never stored. Sizes allow 32-bit offsets, in units of 16 bytes.
	const uint4 *W16 = reinterpret_cast<const uint4 *>(Wq) + t, *x16 = reinterpret_cast<const uint4 *>(x) + 4 * t;
	const int last = N - 1 - n0;
	uint32_t w_at[2 * CT], x_at[NT];
#pragma unroll
	for (int i = 0; i < 2 * CT; i++)
		w_at[i] = (uint32_t)(n0 + min(8 * i + g, last)) * (K / 32);
#pragma unroll
	for (int v = 0; v < NT; v++)
		x_at[v] = (uint32_t)min(8 * v + g, M - 1) * (K / 8);

	struct load {
		uint4 codes[2 * CT], tokens[NT][4];
	};
	auto fetch = [&](load &to, int group) {
		if (group >= groups)
			return;
#pragma unroll
		for (int i = 0; i < 2 * CT; i++)
			to.codes[i] = __ldg(W16 + w_at[i] + 4 * group);
#pragma unroll
		for (int v = 0; v < NT * 4; v++)
			to.tokens[v / 4][v % 4] = __ldg(x16 + x_at[v / 4] + 16 * group + v % 4);
	};
	float sum[CT][NT][4] = {};
	const float2 *own = params + g * pitch;
	auto use = [&](const load &from, int group) {
		float low[CT][NT][4] = {}, high[CT][NT][4] = {}, ones[NT][4] = {};	// q x 2^-24; q x 2^-20; x
#pragma unroll
		for (int j = 0; j < 4; j++) {
			uint32_t b[NT][4];
#pragma unroll
			for (int v = 0; v < NT; v++) {
				const uint4 k = from.tokens[v][j];
				b[v][0] = __byte_perm(k.x, k.z, 0x5410);	// k 0, 4
				b[v][1] = __byte_perm(k.y, k.w, 0x5410);	// k 2, 6
				b[v][2] = __byte_perm(k.x, k.z, 0x7632);	// k 1, 5
				b[v][3] = __byte_perm(k.y, k.w, 0x7632);	// k 3, 7
				constexpr uint32_t ONE = 0x3c003c00;
				multiply(ones[v], ONE, ONE, ONE, ONE, b[v][0], b[v][1]);
				multiply(ones[v], ONE, ONE, ONE, ONE, b[v][2], b[v][3]);
			}
#pragma unroll
			for (int i = 0; i < CT; i++) {
				const uint32_t w0 = (&from.codes[2 * i].x)[j], w1 = (&from.codes[2 * i + 1].x)[j], h0 = w0 >> 8, h1 = w1 >> 8;
				constexpr uint32_t LOW = 0x000f000f, HIGH = 0x00f000f0;
#pragma unroll
				for (int v = 0; v < NT; v++) {
					multiply(low[i][v], w0 & LOW, w1 & LOW, h0 & LOW, h1 & LOW, b[v][0], b[v][1]);
					multiply(high[i][v], w0 & HIGH, w1 & HIGH, h0 & HIGH, h1 & HIGH, b[v][2], b[v][3]);
				}
			}
		}
#pragma unroll
		for (int i = 0; i < 2 * CT; i++) {
			const float2 p = own[8 * i * pitch + group];
#pragma unroll
			for (int v = 0; v < NT; v++)
#pragma unroll
				for (int c = 0; c < 2; c++) {
					const int r = i % 2 * 2 + c;
					const float both = fmaf(16, low[i / 2][v][r], high[i / 2][v][r]);
					sum[i / 2][v][r] = fmaf(p.x, both, fmaf(p.y, ones[v][c], sum[i / 2][v][r]));
				}
		}
	};

	load even, odd;
	fetch(even, warp);
	for (int c = warp; c < S::COLUMNS; c += WARPS)
		for (int group = lane; group < groups; group += 32) {
			const uint32_t at = (uint32_t)(n0 + min(c, last)) * groups + group;
			const float s = __half2float(scales[at]), z = __half2float(zeros[at]);
			params[c * pitch + group] = make_float2(0x1p20f * s, -s * z);
		}
	__syncthreads();
	for (int group = warp; group < groups; group += 2 * WARPS) {
		fetch(odd, group + WARPS);
		use(even, group);
		if (group + WARPS < groups) {
			fetch(even, group + 2 * WARPS);
			use(odd, group + WARPS);
		}
	}

	__syncthreads();			// the parameters have been read: sums may lie there
	float *meet = reinterpret_cast<float *>(shared);
#pragma unroll
	for (int v = 0; v < S::SUMS; v++)
		meet[(warp * S::SUMS + v) * 33 + lane] = sum[v / 4 / NT][v / 4 % NT][v % 4];
	__syncthreads();
	for (int i = threadIdx.x; i < S::COLUMNS * M; i += 32 * WARPS) {
		const int c = i % S::COLUMNS, m = i / S::COLUMNS, n = n0 + c;
		const int v = (c / 16 * NT + m / 8) * 4 + c % 16 / 8 * 2 + m % 2, who = c % 8 * 4 + m % 8 / 2;
		float total = 0;
#pragma unroll
		for (int w = 0; w < WARPS; w++)
			total += meet[(w * S::SUMS + v) * 33 + who];
		if (n < N)
			y[(size_t)m * N + n] = __float2half(total + __half2float(bias[n]) + __half2float(residual[(size_t)m * N + n]));
	}
}

template <int NT, int CT, int WARPS>
void launch(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias, const __half *residual,
	    __half *y, int M, int N, int K)
{
	using S = shape<NT, CT, WARPS>;
	fused<NT, CT, WARPS><<<(N + S::COLUMNS - 1) / S::COLUMNS, 32 * WARPS, S::shared(K / GROUP)>>>(x, Wq, scales, zeros, bias, residual, y,
												   M, N, K);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, const __half *bias,
		      const __half *residual, __half *y, void *workspace, int M, int N, int K)
{
	if (M <= 8)
		launch<1, 2, 16>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
	else
		launch<2, 2, 16>(x, Wq, scales, zeros, bias, residual, y, M, N, K);
}
