// Step 6: tensor cores take pairs as they come from the table.
//
// Against step 5: a lookup gives two neighbouring weights of a row as two FP16 numbers in a register, and that is just what
// mma.m16n8k16 wants for its matrix A. Sixteen rows are the M side. So a byte is a shift, a mask, an addition and a lookup, and
// there is no conversion and no fma: the tensor core multiplies FP16 exactly, and adds in FP32.
//
// Which k stands in which column of A is free, as long as x is in the same order. Lane (g, t), g = lane / 4, t = lane % 4, loads 32 codes
// of rows g and g + 8, and feeds them to eight mma, four at a time; the quad has 128 codes of a row, two blocks.
//
// Two blocks have two absmax, and their sums must be kept apart. There are eight columns of B, and x is one vector: column 0
// holds the x of the first block and zeros for the second, column 1 the other way round. Three more pairs of columns
// serve three more sets of 128. After 512 columns of W each lane has four sums, of two rows and two blocks, and multiplies
// each by its absmax: no lane idles, no sum is shared out.
//
// Eight warps share the columns of 16 rows; each has 4 KB under way while it computes the piece before. The first loads are ordered
// before the table is filled.
//
// For K that is no multiple of 64 a plain kernel does the work.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int WARPS = 8, BLOCKS = 2, ROWS = 16, SETS = 4, SET = 128, UNIT = SETS * SET;
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

__device__ __forceinline__ void multiply(float c[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
	    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

struct piece {				// what a lane needs of rows g and g + 8 for one unit
	uint4 words[SETS][2];
	int index[2][2];		// [row][block]: of the lane's pair of columns
	float scale[2][2];
};

// Eight codes of two rows: two mma.
__device__ __forceinline__ void dot8(float c[4], uint32_t top, uint32_t bottom, uint32_t bank, uint4 x)
{
	multiply(c, look_up<0>(top, bank), look_up<0>(bottom, bank), look_up<1>(top, bank), look_up<1>(bottom, bank), x.x, x.y);
	multiply(c, look_up<2>(top, bank), look_up<2>(bottom, bank), look_up<3>(top, bank), look_up<3>(bottom, bank), x.z, x.w);
}

__global__ void __launch_bounds__(32 * WARPS, BLOCKS)
gemv(const uint4 *__restrict__ Wq, const uint8_t *__restrict__ absmax_q, const float *__restrict__ absmax_map,
     const float *__restrict__ absmax_scale, const float *__restrict__ offset, const uint4 *__restrict__ x,
     __half *__restrict__ y, int N, int K)
{
	extern __shared__ uint32_t pairs[];			// [256][32]; then the map; then x
	__shared__ float parts[2][WARPS][ROWS];
	float *map = reinterpret_cast<float *>(pairs + 256 * 32);
	uint4 *xs = reinterpret_cast<uint4 *>(map + 256);
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
	const int items = (N + ROWS - 1) / ROWS, chunks = (K + WARPS * UNIT - 1) / (WARPS * UNIT);

	auto load = [&](int item, int chunk, piece &p) {
		const int k0 = (chunk * WARPS + warp) * UNIT;
#pragma unroll
		for (int r = 0; r < 2; r++) {			// past the last row: the last row again, never stored
			const size_t start = (size_t)min(item * ROWS + g + 8 * r, N - 1) * K;
#pragma unroll
			for (int s = 0; s < SETS; s++) {
				const int k = k0 + SET * s + 32 * t;
				p.words[s][r] = item < items && k < K ? __ldcs(Wq + (start + k) / 32) : make_uint4(0, 0, 0, 0);
			}
#pragma unroll
			for (int b = 0; b < 2; b++) {
				const int k = k0 + SET * t + 64 * b;
				const size_t block = item < items && k < K ? (start + k) / 64 : 0;
				p.index[r][b] = __ldg(absmax_q + block);
				p.scale[r][b] = __ldg(absmax_scale + block / 256);
			}
		}
	};

	piece next;
	load(blockIdx.x, 0, next);
	fill(pairs, threadIdx.x);
	map[threadIdx.x] = absmax_map[threadIdx.x];
	for (int i = threadIdx.x; i < chunks * WARPS * UNIT / 8; i += 32 * WARPS)	// past the last column x is 0
		xs[i] = i < K / 8 ? x[i] : make_uint4(0, 0, 0, 0);
	const float mean = *offset;
	const uint32_t bank = (uint32_t)__cvta_generic_to_shared(pairs + lane);
	__syncthreads();

	int parity = 0;
	for (int item = blockIdx.x; item < items; item += gridDim.x, parity ^= 1) {
		float sum[2] = {};
		for (int chunk = 0; chunk < chunks; chunk++) {
			const piece now = next;
			const bool more = chunk + 1 < chunks;
			load(more ? item : item + gridDim.x, more ? chunk + 1 : 0, next);
			const int k0 = (chunk * WARPS + warp) * UNIT;
			float c[4] = {};
			if (k0 < K) {
#pragma unroll
				for (int s = 0; s < SETS; s++) {
					const uint4 *from = xs + (k0 + SET * s + 32 * t) / 8;
					const bool mine = g == 2 * s + t / 2;	// the column of the lane's block; zeros elsewhere
					const uint4 none = make_uint4(0, 0, 0, 0);
					const uint4 top = now.words[s][0], bottom = now.words[s][1];
					dot8(c, top.x, bottom.x, bank, mine ? from[0] : none);
					dot8(c, top.y, bottom.y, bank, mine ? from[1] : none);
					dot8(c, top.z, bottom.z, bank, mine ? from[2] : none);
					dot8(c, top.w, bottom.w, bank, mine ? from[3] : none);
				}
			}
#pragma unroll
			for (int r = 0; r < 2; r++)
#pragma unroll
				for (int b = 0; b < 2; b++)
					sum[r] = fmaf(fmaf(map[now.index[r][b]], now.scale[r][b], mean), c[2 * r + b], sum[r]);
		}
#pragma unroll
		for (int r = 0; r < 2; r++) {
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 1);
			sum[r] += __shfl_xor_sync(0xffffffff, sum[r], 2);
			if (t == 0)			// parts has two halves: a slower warp may still read the other one
				parts[parity][warp][g + 8 * r] = sum[r];
		}
		__syncthreads();
		const int row = item * ROWS + threadIdx.x;
		if (threadIdx.x < ROWS && row < N) {
			float total = 0;
			for (int w = 0; w < WARPS; w++)
				total += parts[parity][w][threadIdx.x];
			y[row] = __float2half(total);
		}
	}
}

extern "C" void solve(const uint8_t *Wq, const uint8_t *absmax_q, const float *absmax_map, const float *absmax_scale,
		      const float *offset, const __half *x, __half *y, int N, int K)
{
	if (K % 64) {
		gemv_any<<<(N + 3) / 4, 128>>>(Wq, absmax_q, absmax_map, absmax_scale, offset, x, y, N, K);
		return;
	}
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int items = (N + ROWS - 1) / ROWS, most = BLOCKS * processors;
	const int columns = (K + WARPS * UNIT - 1) / (WARPS * UNIT) * WARPS * UNIT, shared = 256 * 32 * 4 + 256 * 4 + 2 * columns;
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < most ? items : most, 32 * WARPS, shared>>>((const uint4 *)Wq, absmax_q, absmax_map, absmax_scale, offset,
								  (const uint4 *)x, y, N, K);
}
