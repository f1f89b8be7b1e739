// Step 7: few tokens without a subtraction.
//
// Against step 6: at M = 1 the SMs were busy with integers, not waiting for memory: a shift, four lop3, four subtractions for
// eight weights, most of them at half rate. A masked nibble, read as an FP16 number, is subnormal: q 2^-24 under 0x000f000f, 16 q 2^-24 under
// 0x00f000f0. Tensor cores take subnormals at full speed, and exactly. So the mask is all that a weight needs:
// five instructions for eight. The powers of two go into the scale; by the packing of step 5 the factor 16 falls on whole rows of
// the mma (columns g + 8 of a tile), so one sum is enough.
//
// The zero point leaves the sum: s (sum(q x) - z sum(x)). And sum(x) of a group, for each token, is what an mma with ones for
// weights gives, in the very lanes that need it: one more mma for four.
//
// Measured on an H200 with N = 8192, K = 4096, us (in brackets, of the floor at 4.5 TB/s and 800 TFLOP/s):
// M = 1 7.9 (50%), M = 4 8.1 (49%), M = 16 11.0 (37%), M = 32 15.6 (26%); from 33 tokens on as step 6.
#include <cstdint>
#include <cuda_fp16.h>

// The workspace: units of 64 columns of y and a group of 128 k, in the order [groups][columns / 64]. A unit is four tiles of 16
// columns, a tile is uint2 codes[4][32 lanes], half2 params[16]. A lane's two words of p are its A fragments of two steps of 16 k:
// of step s = 2p or 2p + 1, register a and pair element b are the nibble at bit 4a + 16b, of column g + 8 (a % 2) and
// k = 32p + 8t + 4 (s % 2) + 2 (a / 2) + b. params has the scale, and 1024 + zero for the first 8 columns of a tile,
// 64 + zero for the others: the magic numbers of nibbles under 0x000f000f and under 0x00f000f0.
constexpr int GROUP = 128, COLUMNS = 64, TILE = 16 * GROUP / 2 + 16 * 4, UNIT = 4 * TILE;	// bytes

__host__ __device__ constexpr int column_blocks(int N) { return (N + COLUMNS - 1) / COLUMNS; }

__global__ void repack(const uint32_t *Wq, const __half *scales, const __half *zeros, uint8_t *workspace, int N, int K)
{
	const int groups = K / GROUP, blocks = column_blocks(N), group = blockIdx.x / blocks, n0 = blockIdx.x % blocks * COLUMNS;
	const int lane = threadIdx.x % 32, tile = threadIdx.x / 32, g = lane / 4, t = lane % 4;
	uint8_t *to = workspace + (size_t)blockIdx.x * UNIT + tile * TILE;
	uint32_t words[8] = {};
	for (int i = 0; i < 64; i++) {
		const int s = i / 8, a = i / 2 % 4, b = i % 2, n = n0 + 16 * tile + g + 8 * (a % 2);
		const int k = GROUP * group + 32 * (s / 2) + 8 * t + 4 * (s % 2) + 2 * (a / 2) + b;
		if (n < N)
			words[s] |= (Wq[(size_t)n * (K / 8) + k / 8] >> 4 * (k % 8) & 15) << (4 * a + 16 * b);
	}
	for (int p = 0; p < 4; p++)
		reinterpret_cast<uint2 *>(to)[32 * p + lane] = make_uint2(words[2 * p], words[2 * p + 1]);
	if (lane < 16) {
		const int n = n0 + 16 * tile + lane;
		__half scale = __float2half(0.0f), zero = scale;
		if (n < N) {
			scale = scales[(size_t)n * groups + group];
			zero = zeros[(size_t)n * groups + group];
		}
		const __half magic = __float2half(lane < 8 ? 1024.0f : 64.0f);
		reinterpret_cast<__half2 *>(to + 1024)[lane] = __halves2half2(scale, __hadd(zero, magic));
	}
}

__device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ uint32_t bits_of(__half2 h)
{
	return *reinterpret_cast<const uint32_t *>(&h);
}

__device__ __forceinline__ void multiply(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ __half2 minus(uint32_t word, uint32_t mask, uint32_t magic, __half2 zero)
{
	const uint32_t bits = (word & mask) | magic;		// one lop3
	return __hsub2(*reinterpret_cast<const __half2 *>(&bits), zero);
}

// The A fragment of a step from a word of the workspace: whole numbers q - z, exact.
__device__ __forceinline__ void fragment(__half2 a[4], uint32_t word, __half2 zero0, __half2 zero1)
{
	const uint32_t high = word >> 8;
	a[0] = minus(word, 0x000f000f, 0x64006400, zero0);
	a[1] = minus(word, 0x00f000f0, 0x54005400, zero1);
	a[2] = minus(high, 0x000f000f, 0x64006400, zero0);
	a[3] = minus(high, 0x00f000f0, 0x54005400, zero1);
}

// ---- many tokens ----

// A block: 64 CB columns, 8 NT TS tokens, and a part of the groups; a warp: 64 columns, 8 NT tokens, and of each group of
// 128 k a part of 128 / KS. CB warps side by side, TS over the tokens, KS over k: eight.
template <int NT, int TS, int CB>
struct shape {
	static constexpr int WARPS = 8, THREADS = 32 * WARPS, KS = WARPS / TS / CB, TOKENS = 8 * NT * TS, WIDTH = COLUMNS * CB;
	static constexpr int BLOCKS = NT <= 4 ? 2 : 1;			// of an SM: registers for 64 or 128 sums a lane
	static constexpr int STAGE = CB * UNIT + TOKENS * GROUP * 2, FIT = 220 * 1024 / BLOCKS / STAGE, STAGES = FIT < 6 ? FIT : 6;
	static constexpr int SUMS = 16 * NT;				// a lane's
	static constexpr int OUT_PITCH = WIDTH + 8;			// halves
	static constexpr int SHARED = STAGES * STAGE;
	static_assert(KS <= 4 && (KS - 1) * CB * TS * SUMS * 128 <= SHARED && TOKENS * OUT_PITCH * 2 <= SHARED,
		      "sums and results fit where stages were");
};

template <int NT, int TS, int CB>
__global__ void __launch_bounds__(256, (shape<NT, TS, CB>::BLOCKS))
gemm(const __half *__restrict__ x, const uint8_t *__restrict__ W, __half *__restrict__ y, float *partial, int *flags,
     int M, int N, int K)
{
	using S = shape<NT, TS, CB>;
	extern __shared__ __align__(128) uint8_t shared[];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
	const int side = warp % CB, part = warp / CB % TS, ks = warp / CB / TS;
	const int blocks = column_blocks(N), groups = K / GROUP, m0 = blockIdx.y * S::TOKENS;
	const int first = groups * blockIdx.z / gridDim.z, last = groups * (blockIdx.z + 1) / gridDim.z;

	// Each thread copies 16 bytes of every 16th token, and of every 4096 bytes of weights; zeros outside of the matrices.
	const int row = threadIdx.x / 16, chunk = threadIdx.x % 16, rows_left = M - m0 - row;
	const int bytes_left = min(CB, blocks - CB * (int)blockIdx.x) * UNIT - 16 * threadIdx.x;
	const __half *x_from = x + (size_t)(m0 + row) * K + 8 * chunk;
	const uint8_t *w_from = W + (size_t)CB * blockIdx.x * UNIT + 16 * threadIdx.x;
	const uint32_t w_to = shared_address(shared) + 16 * threadIdx.x;
	// in odd tokens neighbouring 64 bytes are exchanged, so that reads don't conflict
	const uint32_t x_to = shared_address(shared) + CB * UNIT + row * 256 + (chunk ^ (row & 1) << 2) * 16;
	auto copy = [](uint32_t to, const void *from, bool valid) {
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
	};
	auto fetch = [&](int group, int part, int parts) {	// a part of the copies: they go between the products
		constexpr int ROWS = (S::TOKENS + 15) / 16, PIECES = (CB * UNIT + 4095) / 4096;
		const uint32_t stage = (group - first) % S::STAGES * S::STAGE;
#pragma unroll
		for (int i = 0; i < PIECES; i++)
			if (i % parts == part && 16 * (int)threadIdx.x + 4096 * i < CB * UNIT) {
				const bool valid = 4096 * i < bytes_left;
				copy(w_to + stage + 4096 * i, valid ? w_from + (size_t)group * blocks * UNIT + 4096 * i : W, valid);
			}
#pragma unroll
		for (int i = 0; i < ROWS; i++)
			if (i % parts == part && (S::TOKENS >= 16 || row < S::TOKENS)) {
				const bool valid = 16 * i < rows_left;
				copy(x_to + stage + 4096 * i, valid ? x_from + (size_t)(16 * i) * K + group * GROUP : x, valid);
			}
	};
	auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };

	float sum[4][NT][4] = {};
	for (int i = 0; i < S::STAGES - 1; i++) {
		if (first + i < last)
			fetch(first + i, 0, 1);
		commit();
	}
	for (int group = first; group < last; group++) {
		asm volatile("cp.async.wait_group %0;" ::"n"(S::STAGES - 2) : "memory");
		__syncthreads();		// this group has come, and the stage of the one before has been used
		const uint8_t *stage = shared + (group - first) % S::STAGES * S::STAGE, *unit = stage + side * UNIT;
		__half2 scale[4][2], zero[4][2];
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int r = 0; r < 2; r++) {
				const __half2 p = reinterpret_cast<const __half2 *>(unit + i * TILE + 1024)[8 * r + g];
				scale[i][r] = __low2half2(p);
				zero[i][r] = __high2half2(p);
			}
#pragma unroll
		for (int q = 0; q < 4 / S::KS; q++) {
			const int p = 4 / S::KS * ks + q;	// 32 k: two steps
			const uint8_t *xs = stage + CB * UNIT + (8 * NT * part + g) * 256 + ((4 * p + t) ^ (g & 1) << 2) * 16;
			uint4 b[NT];
#pragma unroll
			for (int j = 0; j < NT; j++)
				b[j] = *reinterpret_cast<const uint4 *>(xs + j * 8 * 256);
			if (group + S::STAGES - 1 < last)
				fetch(group + S::STAGES - 1, q, 4 / S::KS);
#pragma unroll
			for (int i = 0; i < 4; i++) {
				const uint2 words = reinterpret_cast<const uint2 *>(unit + i * TILE)[32 * p + lane];
#pragma unroll
				for (int s = 0; s < 2; s++) {
					__half2 w[4];
					uint32_t a[4];
					fragment(w, s ? words.y : words.x, zero[i][0], zero[i][1]);
#pragma unroll
					for (int r = 0; r < 4; r++)
						a[r] = bits_of(__hmul2(w[r], scale[i][r % 2]));
#pragma unroll
					for (int j = 0; j < NT; j++)
						multiply(sum[i][j], a, s ? b[j].z : b[j].x, s ? b[j].w : b[j].y);
				}
			}
		}
		commit();
	}

	// The warps over k meet in shared memory, then the blocks over k in the workspace, then rows of y are put together.
	asm volatile("cp.async.wait_group 0;" ::: "memory");
	__syncthreads();
	if (S::KS > 1) {
		float *meet = reinterpret_cast<float *>(shared) + warp % (CB * TS) * S::SUMS * 32 + lane;
		if (ks)
#pragma unroll
			for (int v = 0; v < S::SUMS; v++)
				meet[((ks - 1) * CB * TS * S::SUMS + v) * 32] = sum[v / 4 / NT][v / 4 % NT][v % 4];
		__syncthreads();
		if (!ks)
#pragma unroll
			for (int v = 0; v < S::SUMS; v++)
				for (int k = 1; k < S::KS; k++)
					sum[v / 4 / NT][v / 4 % NT][v % 4] += meet[((k - 1) * CB * TS * S::SUMS + v) * 32];
	}
	if (gridDim.z == 2) {			// block 0 hands over, block 1, which is started later, takes
		const int tile = blockIdx.y * gridDim.x + blockIdx.x;
		float *at = partial + ((size_t)tile * CB * TS + warp) * S::SUMS * 32 + lane;
		if (blockIdx.z == 0) {
			if (!ks) {
#pragma unroll
				for (int v = 0; v < S::SUMS; v++)
					__stcg(at + v * 32, sum[v / 4 / NT][v / 4 % NT][v % 4]);
				__threadfence();
			}
			__syncthreads();
			if (threadIdx.x == 0)
				atomicExch(flags + tile, 1);
			return;
		}
		if (threadIdx.x == 0) {
			while (atomicAdd(flags + tile, 0) == 0)
				__nanosleep(100);
			flags[tile] = 0;	// for the next call
			__threadfence();
		}
		__syncthreads();
		if (!ks)
#pragma unroll
			for (int v = 0; v < S::SUMS; v++)
				sum[v / 4 / NT][v / 4 % NT][v % 4] += __ldcg(at + v * 32);
	}
	__syncthreads();			// the sums have been read
	__half *out = reinterpret_cast<__half *>(shared);
	if (!ks)
#pragma unroll
		for (int v = 0; v < S::SUMS; v++) {
			const int n = 64 * side + 16 * (v / 4 / NT) + g + v % 4 / 2 * 8, m = 8 * (NT * part + v / 4 % NT) + 2 * t + v % 2;
			out[m * S::OUT_PITCH + n] = __float2half(sum[v / 4 / NT][v / 4 % NT][v % 4]);
		}
	__syncthreads();
	for (int i = threadIdx.x; i < S::TOKENS * S::WIDTH / 8; i += S::THREADS) {
		const int m = i / (S::WIDTH / 8), n = i % (S::WIDTH / 8) * 8, column = S::WIDTH * blockIdx.x + n;
		if (m0 + m >= M)
			break;
		__half *to = y + (size_t)(m0 + m) * N + column;
		const __half *from = out + m * S::OUT_PITCH + n;
		if (N % 8 == 0) {
			if (column < N)
				*reinterpret_cast<uint4 *>(to) = *reinterpret_cast<const uint4 *>(from);
		} else {
			for (int j = 0; j < 8 && column + j < N; j++)
				to[j] = from[j];
		}
	}
}

// The workspace after the units: flags, which are 0 between calls, and sums that one block hands to another.
constexpr int FLAGS = 4096;

static int *flags_of(void *workspace, int N, int K)
{
	return reinterpret_cast<int *>(static_cast<uint8_t *>(workspace) + (size_t)column_blocks(N) * (K / GROUP) * UNIT);
}

extern "C" void prepare(const uint32_t *Wq, const __half *scales, const __half *zeros, void *workspace, int N, int K)
{
	repack<<<column_blocks(N) * (K / GROUP), 128>>>(Wq, scales, zeros, static_cast<uint8_t *>(workspace), N, K);
	cudaMemset(flags_of(workspace, N, K), 0, FLAGS * sizeof(int));
}

static int processor_count()
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	return processors;
}

template <int NT, int TS, int CB>
void many(const __half *x, void *workspace, __half *y, int M, int N, int K)
{
	using S = shape<NT, TS, CB>;
	int *flags = flags_of(workspace, N, K);
	float *partial = reinterpret_cast<float *>(flags + FLAGS);
	const uint8_t *end = static_cast<uint8_t *>(workspace) + (size_t)N * K + (size_t)N * K / 16 + (1 << 20);
	const int columns = (N + S::WIDTH - 1) / S::WIDTH, rows = (M + S::TOKENS - 1) / S::TOKENS, tiles = columns * rows;
	const size_t bytes = (size_t)tiles * S::WIDTH * S::TOKENS * sizeof(float);
	const bool split = K >= 1024 && 2 * tiles <= S::BLOCKS * processor_count() && tiles <= FLAGS && reinterpret_cast<uint8_t *>(partial) + bytes <= end;
	cudaFuncSetAttribute(gemm<NT, TS, CB>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
	gemm<NT, TS, CB><<<dim3(columns, rows, split ? 2 : 1), S::THREADS, S::SHARED>>>(
		x, static_cast<const uint8_t *>(workspace), y, partial, flags, M, N, K);
}

static void many_tokens(const __half *x, void *workspace, __half *y, int M, int N, int K)
{
	const int tiles = (N + 127) / 128 * ((M + 127) / 128);
	if (3 * tiles < processor_count())	// small: 64 x 64, or too few multiprocessors have work, even in pairs
		many<4, 2, 1>(x, workspace, y, M, N, K);
	else if (M <= 64)
		many<8, 1, 2>(x, workspace, y, M, N, K);
	else
		many<8, 2, 2>(x, workspace, y, M, N, K);
}

// ---- few tokens ----

// A block: 16 CT columns, all tokens; its warps take the groups by turns, and each has a ring of its own for the weights. x
// goes from L2 straight to registers: a lane's B fragments of two steps are 16 bytes in a row, ordered AHEAD times two steps ahead.
template <int NT, int CT>
struct few_shape {
	static constexpr int WARPS = NT == 1 ? 16 : 8, RING = NT == 1 ? 3 : 5, AHEAD = NT == 4 ? 2 : 4;
	static constexpr int SUMS = 4 * CT * NT, PIECE = CT * TILE;	// of a lane; bytes of a group
	static constexpr int SHARED = WARPS * RING * PIECE;
	static_assert(SUMS * 33 * 4 <= RING * PIECE, "the sums fit where the rings were");
};

template <int NT, int CT>
__global__ void __launch_bounds__((32 * few_shape<NT, CT>::WARPS), 1)
few(const __half *__restrict__ x, const uint8_t *__restrict__ W, __half *__restrict__ y, int M, int N, int K)
{
	using S = few_shape<NT, CT>;
	extern __shared__ __align__(128) uint8_t shared[];
	__shared__ uint64_t barriers[S::WARPS][S::RING];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, groups = K / GROUP;
	const uint8_t *from = W + (size_t)(blockIdx.x * CT / 4) * UNIT + blockIdx.x * CT % 4 * TILE;
	const size_t stride = (size_t)column_blocks(N) * UNIT;	// from group to group
	uint8_t *ring = shared + warp * S::RING * S::PIECE;
	uint64_t *full = barriers[warp];

	auto order = [&](int turn) {			// the turn-th group of this warp; lane 0 alone
		const int group = warp + turn * S::WARPS;
		if (group >= groups)
			return;
		const uint32_t barrier = shared_address(&full[turn % S::RING]);
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(S::PIECE) : "memory");
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
			     ::"r"(shared_address(ring + turn % S::RING * S::PIECE)), "l"(from + group * stride),
			     "r"(S::PIECE), "r"(barrier) : "memory");
	};
	if (lane == 0) {
		for (int i = 0; i < S::RING; i++)
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])) : "memory");
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		for (int i = 0; i < S::RING; i++)
			order(i);
	}
	__syncwarp();

	uint4 b[S::AHEAD][NT];
	auto load = [&](int p, int group) {		// past the last token: the last token again, never stored
		if (group < groups)
#pragma unroll
			for (int j = 0; j < NT; j++)
				b[p % S::AHEAD][j] = __ldg(reinterpret_cast<const uint4 *>(x + (size_t)min(8 * j + g, M - 1) * K + group * GROUP + 32 * p + 8 * t));
	};
#pragma unroll
	for (int p = 0; p < S::AHEAD; p++)
		load(p, warp);

	float sum[CT][NT][4] = {};
	for (int turn = 0, group = warp; group < groups; turn++, group += S::WARPS) {
		asm volatile("{\n"
			     ".reg .pred done;\n"
			     "again:\n"
			     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
			     "@done bra ready;\n"
			     "bra again;\n"
			     "ready:\n"
			     "}" ::"r"(shared_address(&full[turn % S::RING])), "r"(turn / S::RING % 2) : "memory");
		const uint8_t *unit = ring + turn % S::RING * S::PIECE;
		float c[CT][NT][4] = {}, ones[NT][4] = {};	// codes times x; 1 times x
#pragma unroll
		for (int p = 0; p < 4; p++) {
			uint2 words[CT];
#pragma unroll
			for (int i = 0; i < CT; i++)
				words[i] = reinterpret_cast<const uint2 *>(unit + i * TILE)[32 * p + lane];
#pragma unroll
			for (int s = 0; s < 2; s++) {
#pragma unroll
				for (int i = 0; i < CT; i++) {		// tile by tile: an mma need not wait for the one before
					const uint32_t low = s ? words[i].y : words[i].x, high = low >> 8;
					const uint32_t a[4] = {low & 0x000f000f, low & 0x00f000f0, high & 0x000f000f, high & 0x00f000f0};
#pragma unroll
					for (int j = 0; j < NT; j++) {
						const uint4 f = b[p % S::AHEAD][j];
						multiply(c[i][j], a, s ? f.z : f.x, s ? f.w : f.y);
					}
				}
				const uint32_t one[4] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
#pragma unroll
				for (int j = 0; j < NT; j++) {
					const uint4 f = b[p % S::AHEAD][j];
					multiply(ones[j], one, s ? f.z : f.x, s ? f.w : f.y);
				}
			}
			load((p + S::AHEAD) % 4, p + S::AHEAD < 4 ? group : group + S::WARPS);
		}
#pragma unroll
		for (int i = 0; i < CT; i++)		// scale and zero point come in FP32, once a group
#pragma unroll
			for (int r = 0; r < 2; r++) {
				const float2 p = __half22float2(reinterpret_cast<const __half2 *>(unit + i * TILE + 1024)[8 * r + g]);
				const float scale = p.x * (r ? 0x1p20f : 0x1p24f), bias = p.x * ((r ? 64.0f : 1024.0f) - p.y);	// -s z
#pragma unroll
				for (int j = 0; j < NT; j++)
#pragma unroll
					for (int e = 0; e < 2; e++)
						sum[i][j][2 * r + e] = fmaf(scale, c[i][j][2 * r + e], fmaf(bias, ones[j][e], sum[i][j][2 * r + e]));
			}
		__syncwarp();				// all lanes have read
		if (lane == 0)
			order(turn + S::RING);
	}

	__syncthreads();				// all groups have come and been used
	float *meet = reinterpret_cast<float *>(shared);
#pragma unroll
	for (int v = 0; v < S::SUMS; v++)
		meet[(warp * S::SUMS + v) * 33 + lane] = sum[v / 4 / NT][v / 4 % NT][v % 4];
	__syncthreads();
	for (int i = threadIdx.x; i < 16 * CT * min(8 * NT, M); i += 32 * S::WARPS) {
		const int c = i % (16 * CT), m = i / (16 * CT), n = blockIdx.x * 16 * CT + c;
		const int v = (c / 16 * NT + m / 8) * 4 + c % 16 / 8 * 2 + m % 2, at = c % 8 * 4 + m % 8 / 2;
		float total = 0;
#pragma unroll
		for (int w = 0; w < S::WARPS; w++)
			total += meet[(w * S::SUMS + v) * 33 + at];
		if (n < N)
			y[(size_t)m * N + n] = __float2half(total);
	}
}

template <int NT, int CT>
void launch_few(const __half *x, const void *workspace, __half *y, int M, int N, int K)
{
	using S = few_shape<NT, CT>;
	cudaFuncSetAttribute(few<NT, CT>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
	few<NT, CT><<<(N + 16 * CT - 1) / (16 * CT), 32 * S::WARPS, S::SHARED>>>(x, static_cast<const uint8_t *>(workspace), y, M, N, K);
}

// The widest block that keeps the busiest SM no busier than narrower ones would.
template <int NT>
void few_tokens(const __half *x, const void *workspace, __half *y, int M, int N, int K)
{
	const int tiles = (N + 15) / 16, processors = processor_count();
	auto busiest = [&](int width) { return (tiles + width * processors - 1) / (width * processors) * width; };
	if (busiest(4) <= busiest(2) && busiest(4) <= busiest(1))
		launch_few<NT, 4>(x, workspace, y, M, N, K);
	else if (busiest(2) <= busiest(1))
		launch_few<NT, 2>(x, workspace, y, M, N, K);
	else
		launch_few<NT, 1>(x, workspace, y, M, N, K);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		      void *workspace, int M, int N, int K)
{
	if (M <= 8)
		few_tokens<1>(x, workspace, y, M, N, K);
	else if (M <= 16)
		few_tokens<2>(x, workspace, y, M, N, K);
	else if (M <= 32)
		few_tokens<4>(x, workspace, y, M, N, K);
	else
		many_tokens(x, workspace, y, M, N, K);
}
