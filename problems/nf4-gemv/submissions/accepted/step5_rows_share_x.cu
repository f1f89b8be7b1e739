// Step 5: four rows share x, and the next loads are always under way.
//
// Against step 4: a lane loads 16 bytes, 32 codes, half a block. It does so for four rows at once: 32 activations are read from
// shared memory and converted to float once, and used for four rows; an absmax is undone once for 32 codes. x lies in shared memory
// so that lanes read neighbouring 16 bytes. The four loads of the next piece are ordered before this one is computed.
//
// A byte costs a lane now a shift, a mask and an addition for the address, a lookup, two conversions, two fma: nearly all that
// step 4 spent around these is gone.
//
// Rows must begin at multiples of 16 bytes, and no 32 codes may lie in two blocks: both are so where K is a multiple of 32. For
// other K a plain kernel does the work: a matrix that is not made of whole blocks is rare, and has to be right, not fast.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 8, BLOCKS = 2, ROWS = 4, UNIT = 32;
__constant__ float TABLE[16] = {
	-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
	-0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0.0f,
	0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
	0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f};

// Rows that don't begin at a block, or at a multiple of 16 bytes: one word a lane, the table as 16 floats.
__global__ void gemv_any(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
			 const float *offset, const __half *x, __half *y, int N, int K)
{
	__shared__ float table[16];
	if (threadIdx.x < 16)
		table[threadIdx.x] = TABLE[threadIdx.x];
	__syncthreads();

	const int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	if (row >= N)
		return;
	const size_t start = (size_t)row * K;
	const uint32_t *words = reinterpret_cast<const uint32_t *>(Wq + start / 2);
	float sum = 0;
	for (int c = lane; c < K / 8; c += 32) {
		const uint32_t word = words[c];
		const size_t block = (start + 8 * c) / 64;
		const float absmax = absmax_map[absmax_q[block]] * absmax_scale[block / 256] + *offset;
		float part = 0;
		for (int i = 0; i < 8; i++)
			part += table[word >> 4 * (i ^ 1) & 15] * __half2float(x[8 * c + i]);
		sum += absmax * part;
	}
	for (int lanes = 16; lanes; lanes /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, lanes);
	if (lane == 0)
		y[row] = __float2half(sum);
}

// Entry i of the table of pairs, 32 times: once in each bank. Eight stores of 16 bytes by thread i, each begins elsewhere, so
// that neighbouring threads don't meet in a bank.
__device__ __forceinline__ void fill(uint32_t *pairs, int i)
{
	const __half2 h = __floats2half2_rn(TABLE[i >> 4], TABLE[i & 15]);	// the high nibble comes first
	const uint32_t v = *reinterpret_cast<const uint32_t *>(&h);
#pragma unroll
	for (int j = 0; j < 8; j++)
		reinterpret_cast<uint4 *>(pairs)[8 * i + (i + j) % 8] = make_uint4(v, v, v, v);
}

// The pair of byte B of a word, from the lane's own bank; `bank` is the address of entry 0 there.
template <int B>
__device__ __forceinline__ uint32_t look_up(uint32_t word, uint32_t bank)
{
	const uint32_t at = B == 0 ? word << 7 & 0x7f80 : word >> (8 * B - 7) & 0x7f80;
	uint32_t v;
	asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at + bank));
	return v;
}

__device__ __forceinline__ float2 floats(uint32_t halves)
{
	return __half22float2(*reinterpret_cast<__half2 *>(&halves));
}

struct piece {				// what a lane needs of four rows for one unit
	uint4 words[ROWS];
	int index[ROWS];
	float scale[ROWS];
};

__device__ __forceinline__ float dot8(uint32_t word, uint32_t bank, const float2 a[4], float sum)
{
	const float2 w0 = floats(look_up<0>(word, bank)), w1 = floats(look_up<1>(word, bank));
	const float2 w2 = floats(look_up<2>(word, bank)), w3 = floats(look_up<3>(word, bank));
	sum = fmaf(w1.y, a[1].y, fmaf(w1.x, a[1].x, fmaf(w0.y, a[0].y, fmaf(w0.x, a[0].x, sum))));
	return fmaf(w3.y, a[3].y, fmaf(w3.x, a[3].x, fmaf(w2.y, a[2].y, fmaf(w2.x, a[2].x, sum))));
}

__global__ void __launch_bounds__(32 * WARPS, BLOCKS)
gemv(const uint4 *__restrict__ Wq, const uint8_t *__restrict__ absmax_q, const float *__restrict__ absmax_map,
     const float *__restrict__ absmax_scale, const float *__restrict__ offset, const uint4 *__restrict__ x,
     __half *__restrict__ y, int N, int K, int split)
{
	extern __shared__ uint32_t pairs[];			// [256][32]; then the map; then x, [4][units]
	__shared__ float parts[2][WARPS][ROWS];
	float *map = reinterpret_cast<float *>(pairs + 256 * 32);
	uint4 *xs = reinterpret_cast<uint4 *>(map + 256);
	const int units = K / UNIT, steps = (units + 32 * split - 1) / (32 * split);
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp % split;
	const int block_rows = WARPS / split * ROWS, items = (N + block_rows - 1) / block_rows;

	auto load = [&](int item, int step, piece &p) {
		const int row0 = item * block_rows + warp / split * ROWS, c = (step * split + part) * 32 + lane;
#pragma unroll
		for (int r = 0; r < ROWS; r++) {		// past the last row: the last row again, never stored
			const bool valid = item < items && c < units;
			const size_t unit = valid ? (size_t)min(row0 + r, N - 1) * units + c : 0;
			p.words[r] = __ldcs(Wq + unit);
			p.index[r] = __ldg(absmax_q + unit / 2);
			p.scale[r] = __ldg(absmax_scale + unit / 512);
		}
	};

	piece next;
	load(blockIdx.x, 0, next);
	fill(pairs, threadIdx.x);
	map[threadIdx.x] = absmax_map[threadIdx.x];
	for (int i = threadIdx.x; i < K / 8; i += 32 * WARPS)
		xs[i % 4 * units + i / 4] = x[i];
	const float mean = *offset;
	const uint32_t bank = (uint32_t)__cvta_generic_to_shared(pairs + lane);
	__syncthreads();

	int parity = 0;
	for (int item = blockIdx.x; item < items; item += gridDim.x, parity ^= 1) {
		float sum[ROWS] = {};
		for (int step = 0; step < steps; step++) {
			const piece now = next;
			const bool more = step + 1 < steps;
			load(more ? item : item + gridDim.x, more ? step + 1 : 0, next);
			const int c = (step * split + part) * 32 + lane;
			float dots[ROWS] = {};
#pragma unroll
			for (int j = 0; j < 4; j++) {		// past the last column x is 0
				const uint4 v = c < units ? xs[j * units + c] : make_uint4(0, 0, 0, 0);
				const float2 a[4] = {floats(v.x), floats(v.y), floats(v.z), floats(v.w)};
#pragma unroll
				for (int r = 0; r < ROWS; r++) {
					const uint32_t four[4] = {now.words[r].x, now.words[r].y, now.words[r].z, now.words[r].w};
					dots[r] = dot8(four[j], bank, a, dots[r]);
				}
			}
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				sum[r] = fmaf(fmaf(map[now.index[r]], now.scale[r], mean), dots[r], sum[r]);
		}
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			for (int lanes = 16; lanes; lanes /= 2)
				sum[r] += __shfl_xor_sync(0xffffffff, sum[r], lanes);
			if (lane == 0)
				parts[parity][warp][r] = sum[r];
		}
		__syncthreads();			// parts has two halves: a slower warp may still read the other one
		const int row = item * block_rows + threadIdx.x;
		if (threadIdx.x < block_rows && row < N) {
			float total = 0;
			for (int p = 0; p < split; p++)
				total += parts[parity][threadIdx.x / ROWS * split + p][threadIdx.x % ROWS];
			y[row] = __float2half(total);
		}
	}
}

extern "C" void solve(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		      const float *offset, const __half *x, __half *y, int N, int K)
{
	if (K % UNIT) {
		gemv_any<<<(N + 3) / 4, 128>>>(Wq, absmax_q, absmax_map, absmax_scale, offset, x, y, N, K);
		return;
	}
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int blocks = BLOCKS * processors;

	// The split whose blocks are busiest: items over the next multiple of the blocks that run at once.
	int split = 1, items = 0, waves = 1;
	for (int s = 1; s <= WARPS && (s == 1 || s * 32 * UNIT <= K); s *= 2) {
		const int rows = WARPS / s * ROWS, n = (N + rows - 1) / rows, w = (n + blocks - 1) / blocks;
		if (!items || (long)n * waves > (long)items * w) {	// n / w > items / waves
			split = s;
			items = n;
			waves = w;
		}
	}
	const int shared = 256 * 32 * 4 + 256 * 4 + 2 * K;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < blocks ? items : blocks, 32 * WARPS, shared>>>((const uint4 *)Wq, absmax_q, absmax_map, absmax_scale, offset,
								      (const uint4 *)x, y, N, K, split);
}
