// Step 8: Hopper's own instructions: wgmma takes the weights from registers, x from shared memory.
// device: gpu
//
// Against step 7, from 9 tokens on:
// - A wgmma is 64 columns of y x T tokens x 16 k, with weights as A in the registers of four warps: dequantized where
//   they lie, as before. x is B in shared memory, where a tensor map puts it: 128 bytes of a token side by side, swizzled, zeros
//   past the last token, one instruction for 64 k. No lane reads x, and no lane waits: while the tensor core works,
//   the warps that ordered the work make the next fragments. One warp more orders the copies.
// - (word & mask) | magic is one lop3 only if one of the constants is in a register: an instruction holds one. With
//   both as constants nvcc makes two of it, nine half-rate instructions for eight weights instead of five.
// - Count the bytes between L2 and the SMs for N = K = 8192 and M = 16: with 64 columns a block x is read 128 times, 34 MB, as much
//   as the weights. Here a block has 256 columns (128 where N is small) and a quarter of K: 8 MB. Four blocks share a
//   tile: each leaves three quarters of its sums in the workspace, and adds up and writes the fourth. Clusters of four
//   could do this in shared memory, but of an H200's 132 SMs only 30 such clusters run at once, and two rounds cost
//   twice the time.
// - Up to 32 tokens weights are whole numbers q - z, and scales come in FP32 at each group's end. From 33 on that
//   would need twice the registers for sums: q - z is multiplied by the scale in FP16, as in step 5.
//
// Up to 8 tokens, as long as x is small, it is step 7's kernel with x in shared memory, once for all warps, and a ring of two
// instead of three: with more bytes under way than some 11 to 18 MB on the whole GPU, time rises again.
//
// Measured on an H200 with N = K = 8192, us (in brackets, times as fast as the best cuBLAS FP16 there):
// M = 1 11.3 (3.0), M = 4 12.9 (2.7), M = 16 14.5 (2.3), M = 32 15.9 (2.2), M = 64 21.5 (1.6), M = 128 36.0 (1.02),
// M = 256 55.7 (0.93), M = 1024 200 (1.0). M = 1 and 4 are of another run than the rest: see steps.en.md.
#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// The workspace: units of 64 columns of y and a group of 128 k, in the order [groups][columns / 64]. A unit is four tiles of 16
// columns, for the four warps of a wgmma; a tile is uint4 codes[2][32 lanes], half2 params[16]. A lane's eight words are its A
// fragments of eight steps of 16 k: of step s, register a and pair element b are the nibble at bit 4a + 16b, of column
// g + 8 (a % 2) and k = 16s + 2t + 8 (a / 2) + b. params has the scale, and 1024 + zero for the first 8 columns of a tile,
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
		const int k = GROUP * group + 16 * s + 2 * t + 8 * (a / 2) + b;
		if (n < N)
			words[s] |= (Wq[(size_t)n * (K / 8) + k / 8] >> 4 * (k % 8) & 15) << (4 * a + 16 * b);
	}
	for (int h = 0; h < 2; h++)
		reinterpret_cast<uint4 *>(to)[32 * h + lane] = make_uint4(words[4 * h], words[4 * h + 1], words[4 * h + 2], words[4 * h + 3]);
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

__device__ __forceinline__ void init(uint32_t barrier, int count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void expect(uint32_t barrier, uint32_t bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity)
{
	asm volatile("{\n"
		     ".reg .pred done;\n"
		     "again:\n"
		     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
		     "@done bra ready;\n"
		     "bra again;\n"
		     "ready:\n"
		     "}" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ void copy(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
		     ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

// Of weights, which are read once: what is written beside them should stay in L2.
__device__ __forceinline__ void copy_once(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier, uint64_t policy)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;"
		     ::"r"(to), "l"(from), "r"(bytes), "r"(barrier), "l"(policy) : "memory");
}

// ---- from 9 tokens on ----

// d (+)= a b: a from the registers of four warps, b from shared memory
template <int T> __device__ void multiply(float *d, const uint32_t a[4], uint64_t b, bool add);

template <> __device__ __forceinline__ void multiply<16>(float *d, const uint32_t a[4], uint64_t b, bool add)
{
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %13, 0;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
		     "%0, %1, %2, %3, %4, %5, %6, %7"
		     "}, {%8, %9, %10, %11}, %12, add, 1, 1, 0;\n}"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

template <> __device__ __forceinline__ void multiply<32>(float *d, const uint32_t a[4], uint64_t b, bool add)
{
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %21, 0;\nwgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
		     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
		     "}, {%16, %17, %18, %19}, %20, add, 1, 1, 0;\n}"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
		       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

template <> __device__ __forceinline__ void multiply<64>(float *d, const uint32_t a[4], uint64_t b, bool add)
{
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
		     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
		     "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
		     "}, {%32, %33, %34, %35}, %36, add, 1, 1, 0;\n}"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
		       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
		       "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
		       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

template <> __device__ __forceinline__ void multiply<128>(float *d, const uint32_t a[4], uint64_t b, bool add)
{
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
		     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "
		     "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "
		     "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "
		     "%62, %63"
		     "}, {%64, %65, %66, %67}, %68, add, 1, 1, 0;\n}"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
		       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
		       "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
		       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
		       "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
		       "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
		       "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
		       "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"((int)add));
}

// (word & mask) | magic, minus the same number of the zero point
__device__ __forceinline__ __half2 minus(uint32_t word, uint32_t mask, uint32_t magic, __half2 zero)
{
	uint32_t bits;
	asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(bits) : "r"(word), "r"(mask), "r"(magic));
	return __hsub2(*reinterpret_cast<const __half2 *>(&bits), zero);
}

// The A fragment of a step from a word of the workspace: whole numbers q - z, exact.
__device__ __forceinline__ void fragment(__half2 a[4], uint32_t word, const __half2 zero[2], const uint32_t magic[2])
{
	const uint32_t high = word >> 8;
	a[0] = minus(word, 0x000f000f, magic[0], zero[0]);
	a[1] = minus(word, 0x00f000f0, magic[1], zero[1]);
	a[2] = minus(high, 0x000f000f, magic[0], zero[0]);
	a[3] = minus(high, 0x00f000f0, magic[1], zero[1]);
}

// A block: WGS times four warps that consume, and four of which one thread produces; each four warps have TILES times 64
// columns and T tokens. Weights are dequantized in batches, two of them in turn: one is made while the tensor core reads
// the other.
template <int T, int WGS, int TILES>
struct shape {
	static constexpr int UNITS = WGS * TILES, CONSUMERS = 128 * WGS, THREADS = CONSUMERS + 128, WIDTH = COLUMNS * UNITS;
	static constexpr int X = T * GROUP * 2, W = UNITS * UNIT, FIT = 226 * 1024 / (X + W), STAGES = FIT < 5 ? FIT : 5;
	static constexpr int SHARED = STAGES * (X + W + 16);
	static constexpr int BATCH = T <= 64 ? 4 : 2, BATCHES = TILES * 8 / BATCH, REGISTERS = WGS == 4 ? 112 : 240;
	static constexpr bool WHOLE = T <= 32;				// whole numbers as weights, scales in FP32
	static constexpr int SUMS = TILES * T / 2, PART = SUMS / 4, VECTOR = PART < 4 ? PART : 4;
};

template <int T, int WGS, int TILES>
__global__ void __launch_bounds__((shape<T, WGS, TILES>::THREADS), 1)
gemm(const __grid_constant__ CUtensorMap x_map, const uint8_t *__restrict__ W, __half *__restrict__ y, float *partial, int *flags,
     int M, int N, int K)
{
	using S = shape<T, WGS, TILES>;
	extern __shared__ __align__(1024) uint8_t shared[];
	const int warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0), lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
	const int blocks = column_blocks(N), groups = K / GROUP, m0 = blockIdx.y * T, ranks = gridDim.z, rank = blockIdx.z;
	const int first = groups * rank / ranks, count = groups * (rank + 1) / ranks - first;
	const uint32_t xs = shared_address(shared), ws = xs + S::STAGES * S::X, full = ws + S::STAGES * S::W, empty = full + 8 * S::STAGES;

	if (threadIdx.x == S::CONSUMERS) {
		asm volatile("prefetch.tensormap [%0];" ::"l"(&x_map) : "memory");
		for (int i = 0; i < S::STAGES; i++) {
			init(full + 8 * i, 1);
			init(empty + 8 * i, 4 * WGS);
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();

	if (warp >= 4 * WGS) {			// the producer
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
		if (threadIdx.x != S::CONSUMERS)
			return;
		const int units = min(S::UNITS, blocks - S::UNITS * (int)blockIdx.x);
		const uint8_t *from = W + ((size_t)first * blocks + S::UNITS * blockIdx.x) * UNIT;
		uint64_t policy;
		asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
		for (int i = 0, stage = 0, phase = 1; i < count; i++) {
			const uint32_t barrier = full + 8 * stage;
			if (i >= S::STAGES)
				wait(empty + 8 * stage, phase);
			expect(barrier, S::X + units * UNIT);
			copy_once(ws + stage * S::W, from + (size_t)i * blocks * UNIT, units * UNIT, barrier, policy);
#pragma unroll
			for (int h = 0; h < 2; h++)
				asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
					     ::"r"(xs + stage * S::X + h * T * 128), "l"(&x_map), "r"((first + i) * GROUP + 64 * h), "r"(m0), "r"(barrier) : "memory");
			if (++stage == S::STAGES)
				stage = 0, phase ^= 1;
		}
		return;
	}

	asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(S::REGISTERS));
	const int unit0 = warp / 4 * TILES;
	uint32_t magic[2];				// volatile: or the compiler makes constants of them again
	asm volatile("mov.b32 %0, 0x64006400;\nmov.b32 %1, 0x54005400;" : "=r"(magic[0]), "=r"(magic[1]));
	float sum[TILES][T / 2];			// not set where the first wgmma sets it: no other instruction may
	if (S::WHOLE)
#pragma unroll
		for (int v = 0; v < S::SUMS; v++)
			sum[v / (T / 2)][v % (T / 2)] = 0;
	for (int i = 0, stage = 0, phase = 0, before = 0; i < count; i++) {
		wait(full + 8 * stage, phase);
		const uint8_t *mine = shared + S::STAGES * S::X + stage * S::W + unit0 * UNIT + warp % 4 * TILE;
		// x's descriptor: K-major, 128-byte swizzle, 1024 bytes from eight tokens to the next eight
		const uint32_t b_low = (xs + stage * S::X) >> 4 | 0x10000, b_high = 0x40000040;
		__half2 zero[TILES][2], scale[TILES][2], a[2][S::BATCH][4];
		float c[TILES][T / 2];
#pragma unroll
		for (int v = 0; v < 2 * TILES; v++) {
			const __half2 p = reinterpret_cast<const __half2 *>(mine + v / 2 * UNIT + 1024)[v % 2 * 8 + g];
			scale[v / 2][v % 2] = __low2half2(p);
			zero[v / 2][v % 2] = __high2half2(p);
		}
#pragma unroll
		for (int j = 0; j < S::BATCHES; j++) {
			const int tile = j % TILES, s0 = j / TILES * S::BATCH;
			const uint8_t *codes = mine + tile * UNIT + s0 / 4 * 512 + lane * 16 + s0 % 4 * 4;
			uint32_t word[S::BATCH];
			if (S::BATCH == 4) {
				const uint4 w = *reinterpret_cast<const uint4 *>(codes);
				word[0] = w.x, word[1] = w.y, word[S::BATCH - 2] = w.z, word[S::BATCH - 1] = w.w;
			} else {
				const uint2 w = *reinterpret_cast<const uint2 *>(codes);
				word[0] = w.x, word[1] = w.y;
			}
			if (!S::WHOLE || j >= 2)		// the batch before the last has been read
				asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
			if (!S::WHOLE && j == 1 && i > 0 && lane == 0)
				asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty + 8 * before) : "memory");
#pragma unroll
			for (int s = 0; s < S::BATCH; s++) {
				fragment(a[j % 2][s], word[s], zero[tile], magic);
				if (!S::WHOLE)
#pragma unroll
					for (int r = 0; r < 4; r++)
						a[j % 2][s][r] = __hmul2(a[j % 2][s][r], scale[tile][r % 2]);
			}
			asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
			for (int s = 0; s < S::BATCH; s++) {
				const __half2 *f = a[j % 2][s];
				const uint32_t bits[4] = {bits_of(f[0]), bits_of(f[1]), bits_of(f[2]), bits_of(f[3])};
				const int step = s0 + s;
				uint64_t b;
				asm("mov.b64 %0, {%1, %2};" : "=l"(b) : "r"(b_low + step / 4 * (T * 128 / 16) + step % 4 * 2), "r"(b_high));
				multiply<T>(S::WHOLE ? c[tile] : sum[tile], bits, b, step > 0 || (!S::WHOLE && i > 0));
			}
			asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		}
		if (S::WHOLE) {
			asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
			if (lane == 0)
				asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(empty + 8 * stage) : "memory");
#pragma unroll
			for (int v = 0; v < S::SUMS; v++) {
				const int tile = v / (T / 2), e = v % (T / 2);
				sum[tile][e] = fmaf(__low2float(scale[tile][e % 4 / 2]), c[tile][e], sum[tile][e]);
			}
		}
		before = stage;
		if (++stage == S::STAGES)
			stage = 0, phase ^= 1;
	}
	asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");

	// The sums of a lane are four parts, shared out among the blocks of a tile; all blocks of the grid run at once.
	const int begin = rank * 4 / ranks, end = begin + 4 / ranks;
	auto mine = [&](int v) { return v / S::PART >= begin && v / S::PART < end; };
	if (ranks > 1) {
		const int tile = blockIdx.y * gridDim.x + blockIdx.x;
		auto place = [&](int r, int v) { return partial + ((size_t)(tile * ranks + r) * S::SUMS + v) * S::CONSUMERS + threadIdx.x * S::VECTOR; };
#pragma unroll
		for (int v = 0; v < S::SUMS; v += S::VECTOR)
			if (!mine(v)) {
				const float *s = &sum[v / (T / 2)][v % (T / 2)];
				if (S::VECTOR == 4)
					__stcg(reinterpret_cast<float4 *>(place(rank, v)), make_float4(s[0], s[1], s[S::VECTOR - 2], s[S::VECTOR - 1]));
				else
					__stcg(reinterpret_cast<float2 *>(place(rank, v)), make_float2(s[0], s[1]));
			}
		__threadfence();
		asm volatile("bar.sync 1, %0;" ::"n"(S::CONSUMERS) : "memory");
		if (threadIdx.x == 0) {
			atomicAdd(flags + tile, 1);
			int arrived;
			do
				asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(arrived) : "l"(flags + tile) : "memory");
			while (arrived < ranks);
		}
		asm volatile("bar.sync 1, %0;" ::"n"(S::CONSUMERS) : "memory");
#pragma unroll
		for (int v = 0; v < S::SUMS; v += S::VECTOR)
			if (mine(v))
#pragma unroll
				for (int o = 1; o < 4; o++)
					if (o < ranks) {
						float *s = &sum[v / (T / 2)][v % (T / 2)];
						const float *from = place((rank + o) % ranks, v);
						if (S::VECTOR == 4) {
							const float4 p = __ldcg(reinterpret_cast<const float4 *>(from));
							s[0] += p.x, s[1] += p.y, s[S::VECTOR - 2] += p.z, s[S::VECTOR - 1] += p.w;
						} else {
							const float2 p = __ldcg(reinterpret_cast<const float2 *>(from));
							s[0] += p.x, s[1] += p.y;
						}
					}
		if (threadIdx.x == 0 && atomicAdd(flags + tile, 1) == 2 * ranks - 1)
			atomicExch(flags + tile, 0);		// the last to go: for the next call
	}
	const int n0 = S::WIDTH * blockIdx.x + COLUMNS * unit0 + 16 * (warp % 4) + g;
#pragma unroll
	for (int v = 0; v < S::SUMS; v++)
		if (mine(v)) {
			const int e = v % (T / 2), m = m0 + e / 4 * 8 + 2 * t + e % 2, n = n0 + v / (T / 2) * COLUMNS + e % 4 / 2 * 8;
			if (m < M && n < N)
				y[(size_t)m * N + n] = __float2half(sum[v / (T / 2)][e]);
		}
}

// ---- up to 8 tokens ----

// A block: 16 CT columns; its warps take the groups by turns, and each has a ring of its own for the weights. x lies
// behind the rings, 16 bytes from the end of a token to the next: eight tokens' reads don't conflict.
constexpr int WARPS = 16, MOST_TURNS = 8, MOST_RING = 3;

template <int CT>
__global__ void __launch_bounds__(32 * WARPS, 1)
few(const __half *__restrict__ x, const uint8_t *__restrict__ W, __half *__restrict__ y, int M, int N, int K, int length)
{
	constexpr int PIECE = CT * TILE, SUMS = 4 * CT;
	extern __shared__ __align__(1024) uint8_t shared[];
	__shared__ uint64_t of_weights[WARPS][MOST_RING], of_x[MOST_TURNS];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4, groups = K / GROUP;
	const uint8_t *from = W + (size_t)(blockIdx.x * CT / 4) * UNIT + blockIdx.x * CT % 4 * TILE;
	const size_t stride = (size_t)column_blocks(N) * UNIT;	// from group to group
	uint8_t *ring = shared + warp * length * PIECE, *x_rows = shared + WARPS * length * PIECE;
	const int pitch = 2 * K + 16, turn_bytes = WARPS * GROUP * 2, turns = (groups + WARPS - 1) / WARPS;

	auto order = [&](int turn, int slot) {		// the turn-th group of this warp; lane 0 alone
		const int group = warp + turn * WARPS;
		if (group >= groups)
			return;
		const uint32_t barrier = shared_address(&of_weights[warp][slot]);
		expect(barrier, PIECE);
		copy(shared_address(ring + slot * PIECE), from + group * stride, PIECE, barrier);
	};
	if (lane == 0) {
		for (int i = 0; i < length; i++)
			init(shared_address(&of_weights[warp][i]), 1);
		if (warp < turns)
			init(shared_address(&of_x[warp]), M);
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		order(0, 0);
	}
	__syncthreads();
	if (lane == 0) {
		if (warp < M)
			for (int i = 0; i < turns; i++) {
				const int bytes = min(turn_bytes, 2 * K - i * turn_bytes);
				expect(shared_address(&of_x[i]), bytes);
				copy(shared_address(x_rows + warp * pitch + i * turn_bytes), x + (size_t)warp * K + i * turn_bytes / 2, bytes, shared_address(&of_x[i]));
			}
		for (int i = 1; i < length; i++)
			order(i, i);
	}
	__syncwarp();

	const uint8_t *x_row = x_rows + min(g, M - 1) * pitch + 4 * t;	// past the last token: the last token again, never stored
	float sum[CT][4] = {};
	for (int turn = 0, group = warp, slot = 0, phase = 0; group < groups; turn++, group += WARPS) {
		wait(shared_address(&of_x[turn]), 0);
		wait(shared_address(&of_weights[warp][slot]), phase);
		const uint8_t *unit = ring + slot * PIECE;
		float c[CT][4] = {}, ones[4] = {};	// codes times x; 1 times x
		auto mma = [](float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1) {
			asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
			    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
		};
#pragma unroll
		for (int h = 0; h < 2; h++) {
			uint4 words[CT];
#pragma unroll
			for (int i = 0; i < CT; i++)
				words[i] = reinterpret_cast<const uint4 *>(unit + i * TILE)[32 * h + lane];
#pragma unroll
			for (int s = 0; s < 4; s++) {
				const uint8_t *at = x_row + (group * GROUP + 64 * h + 16 * s) * 2;
				const uint32_t b0 = *reinterpret_cast<const uint32_t *>(at), b1 = *reinterpret_cast<const uint32_t *>(at + 16);
#pragma unroll
				for (int i = 0; i < CT; i++) {
					const uint32_t low = s == 0 ? words[i].x : s == 1 ? words[i].y : s == 2 ? words[i].z : words[i].w, high = low >> 8;
					const uint32_t a[4] = {low & 0x000f000f, low & 0x00f000f0, high & 0x000f000f, high & 0x00f000f0};
					mma(c[i], a, b0, b1);
				}
				const uint32_t one[4] = {0x3c003c00, 0x3c003c00, 0x3c003c00, 0x3c003c00};
				mma(ones, one, b0, b1);
			}
		}
#pragma unroll
		for (int i = 0; i < CT; i++)		// scale and zero point come in FP32, once a group
#pragma unroll
			for (int r = 0; r < 2; r++) {
				const float2 p = __half22float2(reinterpret_cast<const __half2 *>(unit + i * TILE + 1024)[8 * r + g]);
				const float scale = p.x * (r ? 0x1p20f : 0x1p24f), bias = p.x * ((r ? 64.0f : 1024.0f) - p.y);	// -s z
#pragma unroll
				for (int e = 0; e < 2; e++)
					sum[i][2 * r + e] = fmaf(scale, c[i][2 * r + e], fmaf(bias, ones[e], sum[i][2 * r + e]));
			}
		__syncwarp();				// all lanes have read
		if (lane == 0)
			order(turn + length, slot);
		if (++slot == length)
			slot = 0, phase ^= 1;
	}

	__syncthreads();				// all groups have come and been used
	float *meet = reinterpret_cast<float *>(shared);
#pragma unroll
	for (int v = 0; v < SUMS; v++)
		meet[(warp * SUMS + v) * 33 + lane] = sum[v / 4][v % 4];
	__syncthreads();
	for (int i = threadIdx.x; i < 16 * CT * M; i += 32 * WARPS) {
		const int c = i % (16 * CT), m = i / (16 * CT), n = blockIdx.x * 16 * CT + c;
		const int v = c / 16 * 4 + c % 16 / 8 * 2 + m % 2, at = c % 8 * 4 + m / 2;
		float total = 0;
#pragma unroll
		for (int w = 0; w < WARPS; w++)
			total += meet[(w * SUMS + v) * 33 + at];
		if (n < N)
			y[(size_t)m * N + n] = __float2half(total);
	}
}

// ---- launches ----

// The workspace after the units: flags, which are 0 between calls, and sums that blocks hand to each other.
constexpr int FLAGS = 4096, SHARED_LIMIT = 226 * 1024;

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

// Boxes of 64 k and T tokens.
static CUtensorMap map_of(const __half *x, int M, int K, int T)
{
	decltype(&cuTensorMapEncodeTiled) encode;
	cudaDriverEntryPointQueryResult found;
	cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", reinterpret_cast<void **>(&encode), 12000, cudaEnableDefault, &found);
	CUtensorMap map;
	const cuuint64_t size[2] = {(cuuint64_t)K, (cuuint64_t)M}, stride[1] = {(cuuint64_t)K * 2};
	const cuuint32_t box[2] = {64, (cuuint32_t)T}, step[2] = {1, 1};
	encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, const_cast<__half *>(x), size, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
	       CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	return map;
}

// How many blocks share a tile: all blocks must run at once, and their sums fit into the workspace.
template <class S>
static int ranks_of(void *workspace, int tiles, int N, int K)
{
	const uint8_t *end = static_cast<uint8_t *>(workspace) + (size_t)N * K + (size_t)N * K / 16 + (1 << 20);
	const size_t room = end - reinterpret_cast<uint8_t *>(flags_of(workspace, N, K) + FLAGS);
	int ranks = 4;
	while (ranks > 1 && (ranks * tiles > processor_count() || ranks > K / GROUP || tiles > FLAGS
			     || (size_t)tiles * ranks * S::SUMS * S::CONSUMERS * sizeof(float) > room))
		ranks /= 2;
	return ranks;
}

template <int T, int WGS, int TILES>
static void launch(const __half *x, void *workspace, __half *y, int M, int N, int K)
{
	using S = shape<T, WGS, TILES>;
	int *flags = flags_of(workspace, N, K);
	const int columns = (N + S::WIDTH - 1) / S::WIDTH, rows = (M + T - 1) / T;
	cudaFuncSetAttribute(gemm<T, WGS, TILES>, cudaFuncAttributeMaxDynamicSharedMemorySize, S::SHARED);
	gemm<T, WGS, TILES><<<dim3(columns, rows, ranks_of<S>(workspace, columns * rows, N, K)), S::THREADS, S::SHARED>>>(
		map_of(x, M, K, T), static_cast<const uint8_t *>(workspace), y, reinterpret_cast<float *>(flags + FLAGS), flags, M, N, K);
}

// 256 columns a block, or 128 if more SMs have work then.
template <int T, int WGS, int TILES>
static void many_tokens(const __half *x, void *workspace, __half *y, int M, int N, int K)
{
	const int rows = (M + T - 1) / T, wide = (N + 255) / 256 * rows, narrow = (N + 127) / 128 * rows;
	const int wide_blocks = wide * ranks_of<shape<T, WGS, TILES>>(workspace, wide, N, K);
	const int narrow_blocks = narrow * ranks_of<shape<T, 2, 1>>(workspace, narrow, N, K);
	if (narrow_blocks <= wide_blocks || wide_blocks >= processor_count())
		launch<T, WGS, TILES>(x, workspace, y, M, N, K);
	else
		launch<T, 2, 1>(x, workspace, y, M, N, K);
}

// Of all lengths of a ring two was the fastest at K = 4096 and 8192. The attribute is the same for all sizes.
template <int CT>
static void launch_few(const __half *x, const void *workspace, __half *y, int M, int N, int K)
{
	const int length = 2, bytes = WARPS * length * CT * TILE + M * (2 * K + 16);
	cudaFuncSetAttribute(few<CT>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_LIMIT);
	few<CT><<<(N + 16 * CT - 1) / (16 * CT), 32 * WARPS, bytes>>>(x, static_cast<const uint8_t *>(workspace), y, M, N, K, length);
}

// The widest block that keeps the busiest SM no busier than narrower ones would.
static void few_tokens(const __half *x, const void *workspace, __half *y, int M, int N, int K)
{
	const int tiles = (N + 15) / 16, processors = processor_count();
	auto busiest = [&](int width) { return (tiles + width * processors - 1) / (width * processors) * width; };
	if (busiest(4) <= busiest(2))
		launch_few<4>(x, workspace, y, M, N, K);
	else
		launch_few<2>(x, workspace, y, M, N, K);
}

extern "C" void solve(const __half *x, const uint32_t *Wq, const __half *scales, const __half *zeros, __half *y,
		      void *workspace, int M, int N, int K)
{
	if (M <= 8 && M * K <= 32768)		// more of x takes longer than the weights do
		few_tokens(x, workspace, y, M, N, K);
	else if (M <= 16)
		many_tokens<16, 4, 1>(x, workspace, y, M, N, K);
	else if (M <= 32)
		many_tokens<32, 4, 1>(x, workspace, y, M, N, K);
	else if (M <= 64)
		many_tokens<64, 4, 1>(x, workspace, y, M, N, K);
	else
		many_tokens<128, 2, 2>(x, workspace, y, M, N, K);
}
