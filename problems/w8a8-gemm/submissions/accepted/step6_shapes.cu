// Step 6: a shape for each number of tokens.
//
// Against step 5:
// - Up to 16 tokens a block has 16 rows and 32 columns, so that N / 32 blocks fill the GPU, and its four warps share k: each
//   takes a quarter of every stage. Integer sums are exact, so the warps' parts may meet in any order: the bits are the same.
//   Eight stages of 6 KB: 42 KB are under way to a multiprocessor, and memory needs about 30.
// - For many tokens tiles of 128 x 128: twice the products for each byte from L2. Where these would leave multiprocessors idle:
//   64 x 64, with eight warps, of which two share k.
// - Pairs of columns are stored as one half2, where N is even.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int BK = 128, CHUNKS = BK / 16;

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

// MT x NT tiles of 16 x 8 a warp; SIDE_M x SIDE_N warps side by side, times SPLIT that share k.
template <int MT, int NT, int SIDE_M, int SIDE_N, int SPLIT, int STAGES> struct shape {
	static constexpr int BM = 16 * MT * SIDE_M, BN = 8 * NT * SIDE_N, WARPS = SIDE_M * SIDE_N * SPLIT, THREADS = 32 * WARPS;
	static constexpr int STAGE = (BM + BN) * BK, SHARED = STAGES * STAGE;
	static constexpr int ROWS = THREADS / CHUNKS, PASSES = (BM + BN) / ROWS;	// rows copied at a time
	static_assert(BM % ROWS == 0 && BN % ROWS == 0 && ROWS % 8 == 0 && NT % 2 == 0 && 4 % SPLIT == 0, "");
	static_assert((SPLIT - 1) * SIDE_M * SIDE_N * MT * NT * 4 * 32 * 4 <= SHARED, "sums fit where tiles were");
};

template <int MT, int NT, int SIDE_M, int SIDE_N, int SPLIT, int STAGES>
__global__ void __launch_bounds__(32 * SIDE_M * SIDE_N * SPLIT)
gemm(const int8_t *__restrict__ x, const int8_t *__restrict__ Wq, const float *__restrict__ x_scale,
     const int32_t *__restrict__ x_zero, const float *__restrict__ w_scale, const int32_t *__restrict__ w_sum,
     __half *__restrict__ y, int M, int N, int K)
{
	using S = shape<MT, NT, SIDE_M, SIDE_N, SPLIT, STAGES>;
	extern __shared__ __align__(128) int8_t stages[];	// [STAGES]: rows of x, then rows of W; chunk c at c ^ row % 8
	const int tid = threadIdx.x, lane = tid % 32, warp = tid / 32, g = lane / 4, t = lane % 4;
	const int part = warp % SPLIT, side = warp / SPLIT, m0 = blockIdx.y * S::BM, n0 = blockIdx.x * S::BN;
	const int wm = side / SIDE_N * 16 * MT, wn = side % SIDE_N * 8 * NT, steps = (K + BK - 1) / BK;
	const uint32_t base = (uint32_t)__cvta_generic_to_shared(stages);

	const int row = tid / CHUNKS, chunk = tid % CHUNKS;
	const int8_t *from[S::PASSES];
	bool valid[S::PASSES];
#pragma unroll
	for (int i = 0; i < S::PASSES; i++) {
		const int r = row + i * S::ROWS, m = m0 + r, n = n0 + r - S::BM;
		const bool of_x = i * S::ROWS < S::BM;
		valid[i] = of_x ? m < M : n < N;
		from[i] = (of_x ? x + (size_t)(valid[i] ? m : 0) * K : Wq + (size_t)(valid[i] ? n : 0) * K) + chunk * 16;
	}
	auto fetch = [&](int step) {
		const uint32_t to = base + step % STAGES * S::STAGE + row * BK + (chunk ^ row % 8) * 16;
		const bool inside = step * BK + chunk * 16 < K;
#pragma unroll
		for (int i = 0; i < S::PASSES; i++)
			copy16(to + i * S::ROWS * BK, from[i] + (inside ? step * BK : -chunk * 16), inside && valid[i]);
	};
	auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
	for (int step = 0; step < STAGES - 1; step++) {
		if (step < steps)
			fetch(step);
		commit();
	}

	float sx[MT][2], sw[NT][2];
	int zero[MT][2], weights[NT][2];
#pragma unroll
	for (int i = 0; i < 2 * MT; i++) {
		const int m = min(m0 + wm + 8 * i + g, M - 1);
		sx[i / 2][i % 2] = x_scale[m];
		zero[i / 2][i % 2] = x_zero[m];
	}
#pragma unroll
	for (int j = 0; j < 2 * NT; j++) {
		const int n = min(n0 + wn + j / 2 * 8 + 2 * t + j % 2, N - 1);
		sw[j / 2][j % 2] = w_scale[n];
		weights[j / 2][j % 2] = w_sum[n];
	}

	int sum[MT][NT][4] = {};
	const uint32_t at_a = (wm + lane % 16) * BK, at_b = (S::BM + wn + lane / 16 * 8 + lane % 8) * BK;
	for (int step = 0; step < steps; step++) {
		asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
		__syncthreads();
		if (step + STAGES - 1 < steps)
			fetch(step + STAGES - 1);
		commit();
		const uint32_t stage = base + step % STAGES * S::STAGE;
#pragma unroll
		for (int i = 0; i < CHUNKS / 2 / SPLIT; i++) {
			const int k = 2 * (i * SPLIT + part);
			const uint32_t chunk_a = ((k + lane / 16) ^ lane % 8) * 16, chunk_b = ((k + lane / 8 % 2) ^ lane % 8) * 16;
			uint32_t a[MT][4], b[NT / 2][4];
#pragma unroll
			for (int m = 0; m < MT; m++)
				load_fragments(a[m], stage + at_a + m * 16 * BK + chunk_a);
#pragma unroll
			for (int n = 0; n < NT / 2; n++)
				load_fragments(b[n], stage + at_b + n * 16 * BK + chunk_b);
#pragma unroll
			for (int m = 0; m < MT; m++)
#pragma unroll
				for (int n = 0; n < NT; n++)
					multiply(sum[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
		}
	}

	if (SPLIT > 1) {				// the parts meet where the tiles were
		int *meet = reinterpret_cast<int *>(stages);
		constexpr int VALUES = MT * NT * 4;
		asm volatile("cp.async.wait_group 0;" ::: "memory");
		__syncthreads();
#pragma unroll
		for (int v = 0; part && v < VALUES; v++)
			meet[((side * (SPLIT - 1) + part - 1) * VALUES + v) * 32 + lane] = sum[v / 4 / NT][v / 4 % NT][v % 4];
		__syncthreads();
		if (part)
			return;
#pragma unroll
		for (int v = 0; v < VALUES; v++)
			for (int p = 0; p < SPLIT - 1; p++)
				sum[v / 4 / NT][v / 4 % NT][v % 4] += meet[((side * (SPLIT - 1) + p) * VALUES + v) * 32 + lane];
	}
#pragma unroll
	for (int i = 0; i < MT; i++)
#pragma unroll
		for (int j = 0; j < NT; j++)
#pragma unroll
			for (int h = 0; h < 2; h++) {
				const int m = m0 + wm + 16 * i + 8 * h + g, n = n0 + wn + 8 * j + 2 * t;
				const float low = (float)(sum[i][j][2 * h] - zero[i][h] * weights[j][0]) * sx[i][h] * sw[j][0];
				const float high = (float)(sum[i][j][2 * h + 1] - zero[i][h] * weights[j][1]) * sx[i][h] * sw[j][1];
				__half *to = y + (size_t)m * N + n;
				if (m < M && n < N && N % 2 == 0) {
					*reinterpret_cast<__half2 *>(to) = __floats2half2_rn(low, high);
				} else if (m < M && n < N) {
					to[0] = __float2half(low);
					if (n + 1 < N)
						to[1] = __float2half(high);
				}
			}
}

template <int MT, int NT, int SIDE_M, int SIDE_N, int SPLIT, int STAGES>
void launch(const int8_t *x, const int8_t *Wq, const float *x_scale, const int32_t *x_zero, const float *w_scale,
	    const int32_t *w_sum, __half *y, int M, int N, int K)
{
	using S = shape<MT, NT, SIDE_M, SIDE_N, SPLIT, STAGES>;
	const auto kernel = gemm<MT, NT, SIDE_M, SIDE_N, SPLIT, STAGES>;
	cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
	kernel<<<dim3((N + S::BN - 1) / S::BN, (M + S::BM - 1) / S::BM), S::THREADS, S::SHARED>>>(x, Wq, x_scale, x_zero, w_scale,
												w_sum, y, M, N, K);
}

extern "C" void solve(const int8_t *x, const int8_t *Wq, const float *x_scale, const int32_t *x_zero, const float *w_scale,
		      const int32_t *w_sum, __half *y, int M, int N, int K)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const long large = (long)((M + 127) / 128) * ((N + 127) / 128);
	if (M <= 16)
		launch<1, 4, 1, 1, 4, 8>(x, Wq, x_scale, x_zero, w_scale, w_sum, y, M, N, K);
	else if (M <= 32)
		launch<2, 4, 1, 1, 4, 6>(x, Wq, x_scale, x_zero, w_scale, w_sum, y, M, N, K);
	else if (large < processors)
		launch<2, 4, 2, 2, 2, 4>(x, Wq, x_scale, x_zero, w_scale, w_sum, y, M, N, K);
	else
		launch<4, 4, 2, 4, 1, 4>(x, Wq, x_scale, x_zero, w_scale, w_sum, y, M, N, K);
}
