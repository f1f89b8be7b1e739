// Step 6: enough bytes under way at every moment, and one instruction to make a float of a code.
//
// Against step 5, three changes for memory:
// - As many blocks as the GPU holds at once (two a multiprocessor), and each block goes on to further rows: x is staged
//   once a block, not once for 32 rows, and there is no second, half-empty wave.
// - SPLIT warps share the columns of four rows, as many as it takes to give every block work: without it a matrix
//   of 4096 rows is 1024 warps, 8 on a multiprocessor; with SPLIT = 2 it is 2048, 16 on each.
// - The loads of the next piece, also across rows, are issued before this piece is computed; the first ones even before x is
//   staged. A warp always has 2 KB under way, 16 warps 32 KB, and memory needs 27 (0.8 us x 33 bytes a nanosecond).
//
// And one for arithmetic. (word & 0xf0), read as a float, is subnormal: 16 q x 2^-149, exactly. FFMA takes subnormals at
// full speed, so the mask alone makes a float of a code. What nibble it was is a power of two, and so is 2^-149: both go
// into x when it is staged (x 2^96, 2^92, 2^88, 2^84 by turns; right for |x| < 2^31). One lop3 and one fma a weight, and
// a shift for four: 2.25 instructions instead of 3.5. The zero point leaves the sum, s (sum(q x) - z sum(x)), and four rows
// share sum(x).
//
// Measured on an H200, us (in brackets, of the speed of a kernel that only reads the same bytes):
// 4096 x 4096 5.9 (66%), 8192 x 8192 13.9 (74%), 16384 x 16384 46.3 (78%), 28672 x 8192 43.1 (74%).
#include <cstdint>

constexpr int GROUP = 128, WARPS = 8, ROWS = 4, UNIT = 32;
constexpr int BLOCKS = 2;				// a multiprocessor

__device__ __forceinline__ float dot4(uint32_t word, float4 x, float sum)
{
	sum = fmaf(__uint_as_float(word & 0xf), x.x, sum);
	sum = fmaf(__uint_as_float(word & 0xf0), x.y, sum);
	sum = fmaf(__uint_as_float(word & 0xf00), x.z, sum);
	return fmaf(__uint_as_float(word & 0xf000), x.w, sum);
}

struct piece {			// what a lane needs of ROWS rows for one unit
	uint4 words[ROWS];
	float scale[ROWS], zero[ROWS];
};

// The sums of four rows over the 32 lanes, with 6 shuffles instead of 20: lanes give away the rows that they don't keep.
// Lane l ends up with row l / 8.
__device__ __forceinline__ float reduce4(const float s[4], int lane)
{
	const bool upper = lane & 16, odd = lane & 8;
	const float a = (upper ? s[2] : s[0]) + __shfl_xor_sync(0xffffffff, upper ? s[0] : s[2], 16);
	const float b = (upper ? s[3] : s[1]) + __shfl_xor_sync(0xffffffff, upper ? s[1] : s[3], 16);
	float sum = (odd ? b : a) + __shfl_xor_sync(0xffffffff, odd ? a : b, 8);
	for (int offset = 4; offset; offset /= 2)
		sum += __shfl_xor_sync(0xffffffff, sum, offset);
	return sum;
}

__global__ void __launch_bounds__(32 * WARPS, BLOCKS)
gemv(const uint4 *__restrict__ Wq, const float *__restrict__ scales, const float *__restrict__ zeros,
     const float4 *__restrict__ x, float *__restrict__ y, int N, int K, int split)
{
	static_assert(ROWS == 4, "reduce4");
	extern __shared__ float4 xs[];			// [8][K / UNIT + 1]
	__shared__ float parts[2][WARPS][ROWS];
	const int units = K / UNIT, pitch = units + 1, steps = (units + 32 * split - 1) / (32 * split);
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = warp % split;
	const int block_rows = WARPS / split * ROWS, items = (N + block_rows - 1) / block_rows;

	auto load = [&](int item, int step, piece &p) {
		const int row0 = item * block_rows + warp / split * ROWS, c = (step * split + part) * 32 + lane;
#pragma unroll
		for (int r = 0; r < ROWS; r++) {
			const size_t row = min(row0 + r, N - 1);
			const bool valid = item < items && c < units;
			p.words[r] = valid ? __ldcs(Wq + row * units + c) : make_uint4(0, 0, 0, 0);
			p.scale[r] = valid ? __ldg(scales + row * (K / GROUP) + c / 4) : 0.0f;
			p.zero[r] = valid ? __ldg(zeros + row * (K / GROUP) + c / 4) : 0.0f;
		}
	};

	piece next;
	load(blockIdx.x, 0, next);
	for (int i = threadIdx.x; i < K / 4; i += 32 * WARPS) {
		const float4 v = x[i];
		xs[i % 8 * pitch + i / 8] = make_float4(v.x * 0x1p96f, v.y * 0x1p92f, v.z * 0x1p88f, v.w * 0x1p84f);
	}
	__syncthreads();

	int parity = 0;
	for (int item = blockIdx.x; item < items; item += gridDim.x, parity ^= 1) {
		float sum[ROWS] = {};
		for (int step = 0; step < steps; step++) {
			const piece now = next;
			if (step + 1 < steps)
				load(item, step + 1, next);
			else
				load(item + gridDim.x, 0, next);
			const int c = min((step * split + part) * 32 + lane, units - 1);
			float qx[ROWS] = {}, sx = 0;
#pragma unroll
			for (int j = 0; j < 4; j++) {
				const float4 a = xs[2 * j * pitch + c], b = xs[(2 * j + 1) * pitch + c];
				sx = fmaf(a.y, 16.0f, sx + a.x);
				sx = fmaf(a.w, 4096.0f, fmaf(a.z, 256.0f, sx));
				sx = fmaf(b.y, 16.0f, sx + b.x);
				sx = fmaf(b.w, 4096.0f, fmaf(b.z, 256.0f, sx));
#pragma unroll
				for (int r = 0; r < ROWS; r++) {
					const uint32_t four[4] = {now.words[r].x, now.words[r].y, now.words[r].z, now.words[r].w};
					qx[r] = dot4(four[j] >> 16, b, dot4(four[j], a, qx[r]));
				}
			}
			sx *= 0x1p-96f;
#pragma unroll
			for (int r = 0; r < ROWS; r++)
				sum[r] = fmaf(now.scale[r], fmaf(-now.zero[r], sx, qx[r] * 0x1p53f), sum[r]);
		}
		float total = reduce4(sum, lane);
		const int row0 = item * block_rows;
		if (split == 1) {
			const int row = row0 + warp * ROWS + lane / 8;
			if (lane % 8 == 0 && row < N)
				y[row] = total;
			continue;
		}
		if (lane % 8 == 0)			// the other half of parts may still be read by a slower warp
			parts[parity][warp][lane / 8] = total;
		__syncthreads();
		if (threadIdx.x < block_rows && row0 + threadIdx.x < N) {
			total = 0;
			for (int p = 0; p < split; p++)
				total += parts[parity][threadIdx.x / ROWS * split + p][threadIdx.x % ROWS];
			y[row0 + threadIdx.x] = total;
		}
	}
}

extern "C" void solve(const uint32_t *Wq, const float *scales, const float *zeros, const float *x, float *y, int N, int K)
{
	int device, processors;
	cudaGetDevice(&device);
	cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
	const int blocks = BLOCKS * processors;

	// The split whose blocks are busiest: items over the next multiple of the blocks that run at once.
	int split = 1, items = 0, waves = 1;
	for (int s = 1; s <= WARPS && s * 32 * UNIT <= K + 32 * UNIT - 1; s *= 2) {
		const int rows = WARPS / s * ROWS, n = (N + rows - 1) / rows, w = (n + blocks - 1) / blocks;
		if (!items || (long)n * waves > (long)items * w) {	// n / w > items / waves
			split = s;
			items = n;
			waves = w;
		}
	}
	const int shared = 8 * (K / UNIT + 1) * (int)sizeof(float4);
	cudaFuncSetAttribute(gemv, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
	gemv<<<items < blocks ? items : blocks, 32 * WARPS, shared>>>((const uint4 *)Wq, scales, zeros, (const float4 *)x, y,
								      N, K, split);
}
