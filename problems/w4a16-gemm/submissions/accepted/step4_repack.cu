// Step 4: repacked offline.
//
// Against step 3: prepare() puts each lane's codes of a group of 128 k and 8 columns into one 128-bit word, in the order of the
// B fragments of m16n8k16, and scale and 1024 + zero side by side. solve() loads weights straight into registers, one
// coalesced 128-bit load for a group, without shared memory and without a byte to pick out. For few rows the warps of a
// block share the columns and split K: four times the blocks, and four groups under way in each.
//
// For many rows a block has 64 x 64 outputs, so x passes from L2 to the SMs N / 64 times, and the weights M / 64 times.
//
// Measured on an H200 with N = 8192, K = 4096, us (in brackets, of the floor at 4.5 TB/s and 800 TFLOP/s):
// M = 1 15.1 (26%), M = 4 17.4 (23%), M = 16 27.4 (15%), M = 32 26.4 (16%), M = 64 40.0 (13%),
// M = 128 53.8 (20%), M = 256 77.5 (28%), M = 1024 291 (30%).
#include <cstdint>
#include <cuda_fp16.h>

constexpr int GROUP = 128, WARPS = 4, COLUMN_TILES = 2;	// of 8 columns, a warp

// workspace: uint4 codes[tiles][groups][32], then half2 params[groups][8 tiles]
__host__ __device__ constexpr int tiles_of(int N) { return (N + 7) / 8; }

__global__ void repack(const uint32_t *Wq, const __half *scales, const __half *zeros, uint4 *codes, __half2 *params,
		       int N, int K)
{
	const int groups = K / GROUP, tiles = tiles_of(N), lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
	const int unit = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, tile = unit / groups, group = unit % groups;
	if (tile >= tiles)
		return;
	const int n = 8 * tile + g;
	uint32_t packed[4] = {};
	if (n < N) {
		const uint32_t *words = Wq + (size_t)n * (K / 8) + group * (GROUP / 8);
		for (int i = 0; i < GROUP / 8; i++) {	// byte t of word i: pair i % 4 of register i / 4
			const uint32_t byte = words[i] >> 8 * t & 255;
			packed[i / 4] |= ((byte & 15) | (byte >> 4) << 16) << 4 * (i % 4);
		}
	}
	codes[(size_t)unit * 32 + lane] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
	if (t == 0) {
		__half scale = __float2half(0.0f), zero = scale;
		if (n < N) {
			scale = scales[(size_t)n * groups + group];
			zero = zeros[(size_t)n * groups + group];
		}
		params[(size_t)group * (8 * tiles) + n] = __halves2half2(scale, __hadd(zero, __float2half(1024.0f)));
	}
}

__device__ __forceinline__ uint32_t weights(uint32_t word, __half2 biased_zero, __half2 scale)
{
	const uint32_t bits = (word & 0x000f000f) | 0x64006400;
	const __half2 w = __hmul2(__hsub2(*reinterpret_cast<const __half2 *>(&bits), biased_zero), scale);
	return *reinterpret_cast<const uint32_t *>(&w);
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

template <int MT, int SPLIT>	// a block: 16 MT rows, WARPS / SPLIT warps side by side, SPLIT warps over the groups
__global__ void __launch_bounds__(32 * WARPS)
gemm(const __half *__restrict__ x, const uint4 *__restrict__ codes, const __half2 *__restrict__ params,
     __half *__restrict__ y, int M, int N, int K)
{
	constexpr int BM = 16 * MT, CHUNK = SPLIT * GROUP, PITCH = CHUNK + 8;
	__shared__ __align__(16) __half xs[2][BM][PITCH];
	const int tid = threadIdx.x, lane = tid % 32, g = lane / 4, t = lane % 4;
	const int part = tid / 32 % SPLIT, side = tid / 32 / SPLIT, groups = K / GROUP, tiles = tiles_of(N);
	const int m0 = blockIdx.y * BM, tile0 = (blockIdx.x * (WARPS / SPLIT) + side) * COLUMN_TILES;

	auto fetch = [&](int chunk) {
		for (int i = tid; i < BM * (CHUNK / 8); i += 32 * WARPS) {
			const int m = i / (CHUNK / 8), k = i % (CHUNK / 8) * 8;
			const bool valid = m0 + m < M && chunk * CHUNK + k < K;
			const __half *from = valid ? x + (size_t)(m0 + m) * K + chunk * CHUNK + k : x;
			const uint32_t to = (uint32_t)__cvta_generic_to_shared(&xs[chunk % 2][m][k]);
			asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
		}
		asm volatile("cp.async.commit_group;" ::: "memory");
	};

	float sum[MT][COLUMN_TILES][4] = {};
	fetch(0);
	for (int chunk = 0; chunk * CHUNK < K; chunk++) {
		const int group = chunk * SPLIT + part;
		uint4 packed[COLUMN_TILES] = {};
		__half2 scale[COLUMN_TILES], biased_zero[COLUMN_TILES];
#pragma unroll
		for (int j = 0; j < COLUMN_TILES; j++) {
			scale[j] = biased_zero[j] = __float2half2_rn(0.0f);
			if (group < groups && tile0 + j < tiles) {
				packed[j] = __ldcs(codes + ((size_t)(tile0 + j) * groups + group) * 32 + lane);
				const __half2 p = params[(size_t)group * (8 * tiles) + 8 * (tile0 + j) + g];
				scale[j] = __low2half2(p);
				biased_zero[j] = __high2half2(p);
			}
		}
		__syncthreads();		// the other half of xs has been used
		if ((chunk + 1) * CHUNK < K) {
			fetch(chunk + 1);
			asm volatile("cp.async.wait_group 1;" ::: "memory");
		} else {
			asm volatile("cp.async.wait_group 0;" ::: "memory");
		}
		__syncthreads();
		if (group < groups) {
#pragma unroll
			for (int step = 0; step < GROUP / 16; step++) {
				uint32_t a[MT][4];
#pragma unroll
				for (int i = 0; i < MT; i++)
					load_a(a[i], &xs[chunk % 2][16 * i + lane % 16][GROUP * part + 16 * step + lane / 16 * 8]);
#pragma unroll
				for (int j = 0; j < COLUMN_TILES; j++) {
					const uint32_t quarter[4] = {packed[j].x, packed[j].y, packed[j].z, packed[j].w};
					const uint32_t word = quarter[step / 2] >> 8 * (step % 2);
					const uint32_t b0 = weights(word, biased_zero[j], scale[j]);
					const uint32_t b1 = weights(word >> 4, biased_zero[j], scale[j]);
#pragma unroll
					for (int i = 0; i < MT; i++)
						multiply(sum[i][j], a[i], b0, b1);
				}
			}
		}
	}

	if (SPLIT > 1) {			// the parts meet in shared memory
		constexpr int VALUES = MT * COLUMN_TILES * 4;
		static_assert(WARPS * VALUES * 32 * sizeof(float) <= sizeof xs, "the sums fit where x was");
		float *meet = reinterpret_cast<float *>(xs);
		__syncthreads();
#pragma unroll
		for (int v = 0; v < VALUES; v++)
			meet[(tid / 32 * VALUES + v) * 32 + lane] = sum[v / 4 / COLUMN_TILES][v / 4 % COLUMN_TILES][v % 4];
		__syncthreads();
		if (part)
			return;
#pragma unroll
		for (int v = 0; v < VALUES; v++)
			for (int p = 1; p < SPLIT; p++)
				sum[v / 4 / COLUMN_TILES][v / 4 % COLUMN_TILES][v % 4] += meet[((tid / 32 + p) * VALUES + v) * 32 + lane];
	}
#pragma unroll
	for (int i = 0; i < MT; i++)
#pragma unroll
		for (int j = 0; j < COLUMN_TILES; j++)
#pragma unroll
			for (int c = 0; c < 4; c++) {
				const int m = m0 + 16 * i + g + c / 2 * 8, n = 8 * (tile0 + j) + 2 * t + c % 2;
				if (m < M && n < N)
					y[(size_t)m * N + n] = __float2half(sum[i][j][c]);
			}
}

static __half2 *params_of(void *workspace, int N, int K)
{
	return reinterpret_cast<__half2 *>(static_cast<uint4 *>(workspace) + (size_t)tiles_of(N) * (K / GROUP) * 32);
}

extern "C" void prepare(const uint32_t *Wq, const __half *scales, const __half *zeros, void *workspace, int N, int K)
{
	const int units = tiles_of(N) * (K / GROUP);
	repack<<<(units + 3) / 4, 128>>>(Wq, scales, zeros, static_cast<uint4 *>(workspace), params_of(workspace, N, K), N, K);
}

template <int MT, int SPLIT>
void launch(const __half *x, void *workspace, __half *y, int M, int N, int K)
{
	constexpr int BM = 16 * MT, TILES = WARPS / SPLIT * COLUMN_TILES;
	gemm<MT, SPLIT><<<dim3((tiles_of(N) + TILES - 1) / TILES, (M + BM - 1) / BM), 32 * WARPS>>>(
		x, static_cast<const uint4 *>(workspace), params_of(workspace, N, K), y, M, N, K);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		      void *workspace, int M, int N, int K)
{
	if (M <= 16)
		launch<1, 4>(x, workspace, y, M, N, K);
	else if (M <= 32)
		launch<2, 2>(x, workspace, y, M, N, K);
	else
		launch<4, 1>(x, workspace, y, M, N, K);
}
